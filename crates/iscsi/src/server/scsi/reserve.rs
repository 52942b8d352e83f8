//! RESERVE and RELEASE, SPC-2 7.20 to 7.23: the whole unit for one session.

use super::{CommandContext, CommandDefinition, CommandRefusal, Conflict, Good, Needs, Outcome, RunCommand};
use crate::wire::Reader;
use crate::wire::scsi::{Reserve, Sense};

/// RESERVE (6), SPC-2 7.20.
pub(super) static RESERVE_6: CommandDefinition =
    supported(&[0x16, 0x00, 0x00, 0x00, 0x00, 0x04], |command| Box::pin(reserve(command)));
/// RELEASE (6), SPC-2 7.22.
pub(super) static RELEASE_6: CommandDefinition =
    supported(&[0x17, 0x00, 0x00, 0x00, 0x00, 0x04], |command| Box::pin(release(command)));
/// RESERVE (10), SPC-2 7.21.
pub(super) static RESERVE_10: CommandDefinition =
    supported(&[0x56, 0, 0, 0, 0, 0, 0, 0, 0, 0x04], |command| Box::pin(reserve(command)));
/// RELEASE (10), SPC-2 7.23.
pub(super) static RELEASE_10: CommandDefinition =
    supported(&[0x57, 0, 0, 0, 0, 0, 0, 0, 0, 0x04], |command| Box::pin(release(command)));

const fn supported(usage: &'static [u8], run: RunCommand) -> CommandDefinition {
    CommandDefinition::new(usage, Conflict::Never, run).needing(needs)
}

/// Reserves for the sender, and the whole unit: the other options are obsolete.
fn needs(command: &CommandContext) -> Result<Needs, CommandRefusal> {
    let mut r = Reader::new(&command.cdb);
    let is_short = command.cdb.first().is_some_and(|opcode| opcode >> 5 == 0);
    let request = if is_short { Reserve::decode_6(&mut r)? } else { Reserve::decode_10(&mut r)? };
    if request.third_party || request.extent {
        return Err(Sense::in_cdb(1).into());
    }
    if request.parameter_list_length > 0 {
        return Err(Sense::in_cdb(if is_short { 3 } else { 7 }).into());
    }
    Ok(Needs::Nothing)
}

async fn reserve(command: &CommandContext) -> Outcome {
    command.may_reserve()?;
    command.unit()?.reservations.reserve(&command.nexus)?;
    Ok(Good::nothing())
}

async fn release(command: &CommandContext) -> Outcome {
    command.unit()?.reservations.release(&command.nexus)?;
    Ok(Good::nothing())
}
