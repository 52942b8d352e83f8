//! The free space for thin units, and the warning to initiators when it is low: SBC-3 4.7.3.7.

use std::sync::atomic::Ordering;

use super::LogicalUnit;
use super::limits::THRESHOLD_SET_BYTES;
use crate::wire::scsi::Asc;

/// Below this share of a volume's space, in percent, initiators are warned.
const LITTLE: u64 = 20;
/// By this much, in percent, the space must grow before the next warning.
const STEP: u64 = 1;

/// The space of a volume, in threshold sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Room {
    pub(super) total: u32,
    pub(super) available: u32,
}

impl LogicalUnit {
    /// The space of its volume.
    pub(super) fn room(&self) -> vfs::Result<Room> {
        let open = self.open()?;
        let space = open.volume().space(open.node())?;
        Ok(Room { total: sets(space.total), available: sets(space.available) })
    }

    /// The space that this unit uses, in threshold sets.
    pub(super) fn used(&self) -> vfs::Result<u32> {
        Ok(sets(self.open()?.attributes()?.allocated))
    }

    /// The threshold until an initiator sets it: no more than the whole unit could ever use.
    pub(super) fn default_threshold(&self) -> u32 {
        let size = sets(self.blocks() * u64::from(self.block_size()));
        self.room().map_or(0, |room| share(room.total, LITTLE).min(size))
    }

    /// Warns all initiators, once, when the free space reaches the threshold. It is called
    /// regularly.
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use vfs::backend::memory::Memory;

    use crate::server::scsi::testing::Disk;
    use crate::server::scsi::{CommandRefusal, UnitOptions};
    use crate::wire::scsi::{Asc, Sense};

    const ADA: &str = "iqn.2026-11.test:ada";
    const MIB: u64 = 1 << 20;

    /// A disk of 200 MiB on a volume of 100 MiB: the threshold is 20 MiB.
    async fn disk() -> Disk {
        let memory = Memory::ticking();
        memory.set_capacity(Some(100 * MIB));
        let options = UnitOptions { block_size: 512, read_only: false };
        Disk::on(Arc::new(memory), 200 * MIB / 512, options).await
    }

    async fn fill(disk: &Disk, from: u64, to: u64) {
        for at in from..to {
            disk.unit.write(at * MIB, vec![1; MIB as usize].into()).await.unwrap();
        }
        disk.unit.look_at_space();
    }

    async fn is_warned(disk: &Disk) -> bool {
        match disk.send(&disk.nexus(ADA), &[0; 6], b"").await {
            Ok(_) => false,
            Err(CommandRefusal::Check(sense)) => sense == Sense::attention(Asc::THIN_THRESHOLD_REACHED),
            Err(other) => panic!("{other:?}"),
        }
    }

    #[tokio::test]
    async fn each_nexus_is_told_once_of_each_shortage_of_space() {
        let disk = disk().await;
        let _session = disk.session(&disk.nexus(ADA));
        fill(&disk, 0, 79).await;
        assert!(!is_warned(&disk).await);
        fill(&disk, 79, 80).await;
        assert!(is_warned(&disk).await);
        fill(&disk, 80, 81).await;
        assert!(!is_warned(&disk).await);
        disk.unit.open().unwrap().punch(0, 3 * MIB).await.unwrap();
        disk.unit.look_at_space();
        fill(&disk, 0, 3).await;
        assert!(is_warned(&disk).await);
    }

    #[tokio::test]
    async fn the_threshold_is_no_more_than_the_unit_could_take() {
        let memory = Memory::ticking();
        memory.set_capacity(Some(100 * MIB));
        let options = UnitOptions { block_size: 512, read_only: false };
        let disk = Disk::on(Arc::new(memory), 8 * MIB / 512, options).await;
        assert_eq!(disk.unit.default_threshold(), 8);
    }

    #[tokio::test]
    async fn an_initiator_sets_the_threshold_or_turns_the_warning_off() {
        let disk = disk().await;
        let ada = disk.nexus(ADA);
        let _session = disk.session(&ada);
        // SBC-3 table 209: ENABLED, resource 1, 90 threshold sets; then not enabled.
        let mut page = [&[0; 4][..], &[0x5c, 2, 0, 20], &[0; 12], &[0x80, 1, 0, 0, 0, 0, 0, 90]].concat();
        disk.send(&ada, &[0x15, 0x10, 0, 0, 28, 0], &page).await.unwrap();
        fill(&disk, 0, 10).await;
        assert!(is_warned(&disk).await);
        page[20] = 0;
        disk.send(&ada, &[0x15, 0x10, 0, 0, 28, 0], &page).await.unwrap();
        fill(&disk, 10, 90).await;
        assert!(!is_warned(&disk).await);
    }
}
