//! Mode parameters, SPC-4 7.5: what initiators may set of a logical unit. [`super::mode_pages`] has how they travel.

use std::sync::atomic::{AtomicBool, Ordering};

use lock::{Mutex, rank};

use super::LogicalUnit;

/// The changeable ones of one logical unit, the same for all initiators. They are not kept: a restart or a reset brings the
/// defaults back.
#[derive(Debug, Default)]
pub(crate) struct Modes {
    /// `None` while they are the defaults.
    changed: Mutex<Option<Settings>, rank::ModePages>,
    /// Copies of what every command asks for.
    descriptor_sense: AtomicBool,
    write_protected: AtomicBool,
    write_through: AtomicBool,
    /// Initiators have been told that there is little space left, and there still is.
    pub(super) warned: AtomicBool,
}

/// What can be set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Settings {
    /// D_SENSE of the control page: sense data in descriptor format.
    pub(crate) descriptor_sense: bool,
    /// SWP of the control page: nobody may write.
    pub(crate) write_protected: bool,
    /// WCE of the caching page: what was written need not be on the disk before SYNCHRONIZE CACHE.
    pub(crate) write_cache: bool,
    /// LBPERE of the read-write error recovery page: thresholds are reported.
    pub(crate) reports_thresholds: bool,
    /// ENABLED of the one threshold of the logical block provisioning page: it is watched.
    pub(crate) watches_space: bool,
    /// Its count, in threshold sets.
    pub(crate) threshold: u32,
}

impl Settings {
    /// All that can be zero.
    pub(super) const ZEROS: Self = Self {
        descriptor_sense: false,
        write_protected: false,
        write_cache: false,
        reports_thresholds: false,
        watches_space: false,
        threshold: 0,
    };
    /// All that can be one.
    pub(super) const ONES: Self = Self {
        descriptor_sense: true,
        write_protected: true,
        write_cache: true,
        reports_thresholds: true,
        watches_space: true,
        threshold: u32::MAX,
    };
}

impl Modes {
    /// D_SENSE: sense data in descriptor format.
    pub(crate) fn descriptor_sense(&self) -> bool {
        self.descriptor_sense.load(Ordering::Acquire)
    }

    /// SWP: nobody may write.
    pub(crate) fn write_protected(&self) -> bool {
        self.write_protected.load(Ordering::Acquire)
    }

    /// WCE is 0: whatever was written is on the disk when the command ends.
    pub(crate) fn write_through(&self) -> bool {
        self.write_through.load(Ordering::Acquire)
    }

    /// The defaults again, as after a reset of the unit.
    pub(crate) fn reset(&self) {
        self.set(None);
    }

    fn set(&self, settings: Option<Settings>) {
        let mut changed = self.changed.lock();
        *changed = settings;
        let is = |what: fn(&Settings) -> bool| settings.as_ref().is_some_and(what);
        self.descriptor_sense.store(is(|settings| settings.descriptor_sense), Ordering::Release);
        self.write_protected.store(is(|settings| settings.write_protected), Ordering::Release);
        self.write_through.store(is(|settings| !settings.write_cache), Ordering::Release);
    }
}

impl LogicalUnit {
    /// What is set now.
    pub(crate) fn settings(&self) -> Settings {
        let changed = *self.modes.changed.lock();
        changed.unwrap_or_else(|| self.default_settings())
    }

    /// What is set until an initiator changes it. The threshold is a share of what the volume has.
    pub(crate) fn default_settings(&self) -> Settings {
        Settings {
            descriptor_sense: false,
            write_protected: false,
            write_cache: true,
            reports_thresholds: true,
            watches_space: true,
            threshold: self.default_threshold(),
        }
    }

    /// Sets this. Whether anything is other than before.
    pub(crate) fn set_settings(&self, settings: Settings) -> bool {
        let is_other = self.settings() != settings;
        if is_other {
            self.modes.set(Some(settings));
        }
        is_other
    }
}
