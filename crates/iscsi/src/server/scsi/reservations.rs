//! Who has reserved a logical unit: RESERVE of SPC-2 and persistent reservations of SPC-4.

use super::{Conflict, Nexus, Refusal};

/// Those of one logical unit.
#[derive(Debug, Default)]
pub(crate) struct Reservations {}

impl Reservations {
    /// Whether a command of this kind may be done now.
    pub(crate) fn check(&self, _nexus: &Nexus, _conflict: Conflict, _cdb: &[u8]) -> Result<(), Refusal> {
        Ok(())
    }
}
