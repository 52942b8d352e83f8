//! How much space there is for what is written to a thin unit, and who is told when it is little: SBC-3 4.7.3.7.

use std::sync::atomic::Ordering;

use super::LogicalUnit;
use super::limits::THRESHOLD_SET_BYTES;
use crate::wire::scsi::Asc;

/// Less than this part of a volume's space, in percent, is worth a warning.
const LITTLE: u64 = 20;
/// So much more of it, in percent, must be there before the next warning.
const STEP: u64 = 1;

/// What a volume has, in threshold sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Room {
    pub(super) total: u32,
    pub(super) available: u32,
}

impl LogicalUnit {
    /// What its volume has.
    pub(super) fn room(&self) -> vfs::Result<Room> {
        let space = self.open.volume().space()?;
        Ok(Room { total: sets(space.total), available: sets(space.available) })
    }

    /// How much of it this unit has, in threshold sets.
    pub(super) fn used(&self) -> vfs::Result<u32> {
        Ok(sets(self.open.attributes()?.allocated))
    }

    /// The threshold that nobody has set.
    pub(super) fn default_threshold(&self) -> u32 {
        self.room().map_or(0, |room| share(room.total, LITTLE))
    }

    /// Tells all initiators, once, when no more space is available than the threshold says. To be called now and then.
    pub fn look_at_space(&self) {
        let Ok(room) = self.room() else { return };
        let settings = self.settings();
        let was = self.modes.warned.load(Ordering::Acquire);
        let step = if was { share(room.total, STEP) } else { 0 };
        let is = settings.reports_thresholds
            && settings.watches_space
            && room.available <= settings.threshold.saturating_add(step);
        self.modes.warned.store(is, Ordering::Release);
        if is && !was {
            tracing::warn!(lun = %self.identity.name, available_mib = room.available, "little space for a thin LUN");
            self.tell_all(Asc::THIN_THRESHOLD_REACHED);
        }
    }
}

fn sets(bytes: u64) -> u32 {
    u32::try_from(bytes / THRESHOLD_SET_BYTES).unwrap_or(u32::MAX)
}

fn share(of: u32, percent: u64) -> u32 {
    (u64::from(of) * percent / 100) as u32 // less than `of`
}
