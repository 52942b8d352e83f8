//! Before and after every command.

use super::{Command, Needs, Outcome, Refusal, Supported, table};
use crate::wire::scsi::{Asc, Sense};

/// What must be told, and who stands in the way, before the command itself is looked at; then what it wants of the initiator.
pub(crate) fn needs(command: &Command) -> Result<(&'static Supported, Needs), Refusal> {
    let found = table::find(&command.cdb);
    if let Some(unit) = &command.unit
        && !is_told_nothing(command.cdb.first().copied())
        && let Some(what) = unit.attentions.take(&command.nexus)
    {
        return Err(Sense::attention(what).into());
    }
    let supported = found.ok_or_else(|| unknown(&command.cdb))?;
    if let Some(unit) = &command.unit {
        unit.reservations.check(&command.nexus, supported.conflict, &command.cdb)?;
    }
    Ok((supported, (supported.needs)(command)?))
}

/// Does it, once what it wanted is there.
pub(crate) async fn run(supported: &Supported, command: &Command) -> Outcome {
    (supported.run)(command).await
}

/// What is wrong with a command that is not in the table: its service action or, if there is no other, all of it,
/// SPC-4 4.2.5.
fn unknown(cdb: &[u8]) -> Sense {
    match cdb.first() {
        Some(0x7f) if table::knows(0x7f) => Sense::in_cdb(8),
        Some(&opcode) if table::knows(opcode) => Sense::in_cdb(1),
        _ => Sense::illegal(Asc::INVALID_OPERATION_CODE),
    }
}

/// INQUIRY, REPORT LUNS and REQUEST SENSE do not report unit attentions this way, SAM-5 5.14.1.
fn is_told_nothing(opcode: Option<u8>) -> bool {
    matches!(opcode, Some(0x12 | 0xa0 | 0x03))
}
