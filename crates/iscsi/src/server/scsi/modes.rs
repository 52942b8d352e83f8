//! Mode parameters, SPC-4 7.5: what initiators may set of a logical unit.

use std::sync::atomic::AtomicBool;

/// The changeable ones of one logical unit, the same for all initiators.
#[derive(Debug, Default)]
pub(crate) struct Modes {
    /// D_SENSE of the control page: sense data in descriptor format.
    pub(crate) descriptor_sense: AtomicBool,
    /// SWP of the control page: nobody may write.
    pub(crate) write_protected: AtomicBool,
}
