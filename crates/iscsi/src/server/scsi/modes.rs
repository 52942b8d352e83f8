//! Mode parameters, SPC-4 7.5: the settings of a logical unit that initiators can change.
//! [`super::mode_pages`] encodes them.

use std::sync::atomic::{AtomicBool, Ordering};

use lock::Mutex;

use super::LogicalUnit;
use crate::ranks;

/// The changeable parameters of one logical unit, the same for all initiators. They are not stored:
/// a restart or a reset restores the defaults.
#[derive(Debug)]
pub(crate) struct Modes {
    /// `None` while they are the defaults.
    changed: Mutex<Option<Settings>, ranks::ModePages>,
    /// Copies of the settings that every command needs.
    descriptor_sense: AtomicBool,
    write_protected: AtomicBool,
    write_through: AtomicBool,
    /// WCE is 0 and cannot be changed.
    always_through: bool,
    /// Initiators have been warned that there is little space left, and that is still so.
    pub(super) warned: AtomicBool,
}

/// The changeable settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Settings {
    /// D_SENSE of the control page: sense data in descriptor format.
    pub(crate) descriptor_sense: bool,
    /// SWP of the control page: all writes are refused.
    pub(crate) write_protected: bool,
    /// WCE of the caching page: written data need not be on the disk before SYNCHRONIZE CACHE.
    pub(crate) write_cache: bool,
    /// LBPERE of the read-write error recovery page: thresholds are reported.
    pub(crate) reports_thresholds: bool,
    /// ENABLED of the only threshold of the logical block provisioning page: the space is watched.
    pub(crate) watches_space: bool,
    /// The threshold, in threshold sets.
    pub(crate) threshold: u32,
}

impl Settings {
    /// The settings with all changeable bits 0.
    pub(super) const ZEROS: Self = Self {
        descriptor_sense: false,
        write_protected: false,
        write_cache: false,
        reports_thresholds: false,
        watches_space: false,
        threshold: 0,
    };
    /// The settings with all changeable bits 1.
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
    /// The defaults. `always_through`: there is no write cache, and initiators cannot change that.
    pub(super) fn new(always_through: bool) -> Self {
        Self {
            changed: Mutex::default(),
            descriptor_sense: AtomicBool::new(false),
            write_protected: AtomicBool::new(false),
            write_through: AtomicBool::new(always_through),
            always_through,
            warned: AtomicBool::new(false),
        }
    }

    /// D_SENSE: sense data in descriptor format.
    pub(crate) fn descriptor_sense(&self) -> bool {
        self.descriptor_sense.load(Ordering::Acquire)
    }

    /// SWP: all writes are refused.
    pub(crate) fn write_protected(&self) -> bool {
        self.write_protected.load(Ordering::Acquire)
    }

    /// WCE is 0: written data are on the disk when the command ends.
    pub(crate) fn write_through(&self) -> bool {
        self.write_through.load(Ordering::Acquire)
    }

    /// Restores the defaults, for a reset of the unit.
    pub(crate) fn reset(&self) {
        self.set(None);
    }

    fn set(&self, settings: Option<Settings>) {
        let mut changed = self.changed.lock();
        *changed = settings;
        let is = |what: fn(&Settings) -> bool| settings.as_ref().is_some_and(what);
        self.descriptor_sense.store(is(|settings| settings.descriptor_sense), Ordering::Release);
        self.write_protected.store(is(|settings| settings.write_protected), Ordering::Release);
        let is_through = self.always_through || is(|settings| !settings.write_cache);
        self.write_through.store(is_through, Ordering::Release);
    }
}

impl LogicalUnit {
    /// The current settings.
    pub(crate) fn settings(&self) -> Settings {
        let changed = *self.modes.changed.lock();
        changed.unwrap_or_else(|| self.default_settings())
    }

    /// The settings until an initiator changes them. The threshold is a share of the volume's
    /// capacity.
    pub(crate) fn default_settings(&self) -> Settings {
        Settings {
            descriptor_sense: false,
            write_protected: false,
            write_cache: !self.is_shared,
            reports_thresholds: true,
            watches_space: true,
            threshold: self.default_threshold(),
        }
    }

    /// Sets the settings. Answers whether anything has changed.
    pub(crate) fn set_settings(&self, settings: Settings) -> bool {
        let is_other = self.settings() != settings;
        if is_other {
            self.modes.set(Some(settings));
        }
        is_other
    }
}
