//! Mode parameters, SPC-4 7.5: what initiators may set of a logical unit.

use parking_lot::Mutex;

/// The changeable ones of one logical unit, the same for all initiators.
#[derive(Debug, Default)]
pub(crate) struct Modes {
    settings: Mutex<Settings>,
}

/// What can be set. It is not kept: a restart or a reset brings the defaults back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Settings {
    /// D_SENSE of the control page: sense data in descriptor format.
    pub(crate) descriptor_sense: bool,
    /// SWP of the control page: nobody may write.
    pub(crate) write_protected: bool,
    /// LBPERE of the read-write error recovery page: thresholds are reported.
    pub(crate) reports_thresholds: bool,
    /// ENABLED of the one threshold: that it is watched.
    pub(crate) watches_space: bool,
    /// Its count, in threshold sets; `None` until an initiator sets one: [`DEFAULT_SHARE`] of the volume.
    pub(crate) threshold: Option<u32>,
}

/// Less than this part of a volume's space, in percent, is worth a warning.
pub(crate) const DEFAULT_SHARE: u64 = 20;

impl Default for Settings {
    fn default() -> Self {
        Self {
            descriptor_sense: false,
            write_protected: false,
            reports_thresholds: true,
            watches_space: true,
            threshold: None,
        }
    }
}

impl Modes {
    /// As they are now.
    pub(crate) fn settings(&self) -> Settings {
        *self.settings.lock()
    }

    /// Other ones. Whether anything has changed.
    pub(crate) fn set(&self, settings: Settings) -> bool {
        std::mem::replace(&mut *self.settings.lock(), settings) != settings
    }

    /// D_SENSE: sense data in descriptor format.
    pub(crate) fn descriptor_sense(&self) -> bool {
        self.settings.lock().descriptor_sense
    }

    /// SWP: nobody may write.
    pub(crate) fn write_protected(&self) -> bool {
        self.settings.lock().write_protected
    }

    /// The defaults again, as after a reset of the unit.
    pub(crate) fn reset(&self) {
        self.set(Settings::default());
    }
}
