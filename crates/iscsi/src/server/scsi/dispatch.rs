//! The checks before every command, and the work after it.

use super::{CommandContext, CommandDefinition, CommandRefusal, Conflict, Needs, Outcome, table};
use crate::wire::scsi::{Asc, Key, Sense};

/// NACA in the last byte of a command, SAM-5 5.2.
pub(super) const NACA: u8 = 0x04;
const EXTENDED_COPY: u8 = 0x83;

/// Reports pending unit attentions and reservation conflicts before it evaluates the command
/// itself; then returns the data that the command needs.
pub(crate) fn needs(command: &CommandContext) -> Result<(&'static CommandDefinition, Needs), CommandRefusal> {
    let found = table::find(&command.cdb);
    if !is_for_anything(command.cdb.first().copied()) {
        tell(command)?;
    }
    let supported = found.ok_or_else(|| unknown(&command.cdb))?;
    refuse_naca(&command.cdb, supported)?;
    if let Some(unit) = &command.unit {
        if unit.is_standby() && !is_for_standby(supported) {
            return Err(Sense::new(Key::NOT_READY, Asc::PORT_IN_STANDBY_STATE).into());
        }
        unit.reservations.check(&command.nexus, supported.conflict, &command.cdb)?;
    }
    Ok((supported, (supported.needs)(command)?))
}

/// Facts that the initiator must learn first: that there is no unit, or a unit attention.
fn tell(command: &CommandContext) -> Result<(), CommandRefusal> {
    let Some(what) = command.unit()?.attentions.take(&command.nexus) else { return Ok(()) };
    if what == Asc::REPORTED_LUNS_CHANGED {
        // LUICLR of the extended INQUIRY data: one unit reports for all units.
        for seen in command.seen.iter() {
            seen.unit.attentions.withdraw(&command.nexus.initiator, what);
        }
    }
    Err(Sense::attention(what).into())
}

/// NORMACA is 0 in the INQUIRY data: commands cannot ask for an auto contingent allegiance (SAM-5 5.2).
fn refuse_naca(cdb: &[u8], supported: &CommandDefinition) -> Result<(), CommandRefusal> {
    let at = if supported.opcode == 0x7f { 1 } else { supported.usage.len() - 1 };
    match cdb.get(at) {
        Some(control) if control & NACA != 0 => Err(Sense::in_cdb(at as u16).into()),
        _ => Ok(()),
    }
}

/// Executes the command once its data are there. If there is no write cache, it then flushes the
/// written data to the disk. EXTENDED COPY writes to other units and flushes them itself.
pub(crate) async fn run(supported: &CommandDefinition, command: &CommandContext) -> Outcome {
    let good = (supported.run)(command).await?;
    if supported.conflict == Conflict::Writes
        && supported.opcode != EXTENDED_COPY
        && let Some(unit) = command.unit.as_ref().filter(|unit| unit.modes.write_through())
    {
        unit.sync(&command.nexus).await?;
    }
    Ok(good)
}

/// The error of a command that is not in the table: its service action is wrong or, if there is no
/// other service action, the operation code, SPC-4 4.2.5.
fn unknown(cdb: &[u8]) -> Sense {
    match cdb.first() {
        Some(0x7f) if table::knows(0x7f) => Sense::in_cdb(8),
        Some(&opcode) if table::knows(opcode) => Sense::in_cdb(1),
        _ => Sense::illegal(Asc::INVALID_OPERATION_CODE),
    }
}

/// INQUIRY, REPORT LUNS and REQUEST SENSE also answer without a unit, and do not report unit
/// attentions as errors, SAM-5 5.14.1 and 4.7.2.
fn is_for_anything(opcode: Option<u8>) -> bool {
    matches!(opcode, Some(0x12 | 0xa0 | 0x03))
}

/// What a unit in the standby state answers: what identifies and describes it, PERSISTENT RESERVE IN,
/// and PERSISTENT RESERVE OUT (`relayed.rs`). SPC-4 5.16.2.4 also wants MODE SELECT, LOG SENSE and SEND
/// DIAGNOSTIC, whose effects are at the server that serves the unit.
fn is_for_standby(supported: &CommandDefinition) -> bool {
    let is_capacity = supported.opcode == 0x9e && supported.action == Some(0x10);
    is_capacity || matches!(supported.opcode, 0x03 | 0x12 | 0x1a | 0x25 | 0x5a | 0x5e | 0x5f | 0xa0 | 0xa3)
}

#[cfg(test)]
mod tests {
    use crate::server::scsi::CommandRefusal;
    use crate::server::scsi::testing::Disk;
    use crate::wire::scsi::{Asc, Sense};

    #[tokio::test]
    async fn an_auto_contingent_allegiance_cannot_be_asked_for() {
        let disk = Disk::new(8).await;
        let refused = disk.send(&disk.nexus("iqn.2026-11.test:ada"), &[0, 0, 0, 0, 0, 4], b"").await;
        assert_eq!(refused.unwrap_err(), CommandRefusal::Check(Sense::in_cdb(5)));
    }

    #[tokio::test]
    async fn where_no_unit_is_that_is_what_any_command_is_told() {
        let disk = Disk::new(8).await;
        let refused = disk.send_to(None, &disk.nexus("iqn.2026-11.test:ada"), &[0xff; 16], b"").await;
        assert_eq!(
            refused.unwrap_err(),
            CommandRefusal::Check(Sense::illegal(Asc::LOGICAL_UNIT_NOT_SUPPORTED))
        );
    }

    #[tokio::test]
    async fn a_new_size_is_told_to_everybody_who_has_a_session() {
        let disk = Disk::new(8).await;
        let ada = disk.nexus("iqn.2026-11.test:ada");
        let _session = disk.session(&ada);
        disk.unit.set_size(16 * 512);
        let told = disk.send(&ada, &[0; 6], b"").await.unwrap_err();
        assert_eq!(told, CommandRefusal::Check(Sense::attention(Asc::CAPACITY_CHANGED)));
        disk.unit.set_size(16 * 512);
        assert!(disk.send(&ada, &[0; 6], b"").await.is_ok());
    }
}
