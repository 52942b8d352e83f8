//! REPORT SUPPORTED OPERATION CODES, SPC-4 6.35: the table of commands, and the bits that they
//! evaluate.

use super::dispatch::NACA;
use super::{CommandContext, CommandDefinition, CommandRefusal, Conflict, Good, Outcome, table};
use crate::wire::scsi::{MaintenanceIn, OneCommand, Sense, SupportedCommand, SupportedCommands, Timeouts};
use crate::wire::{Reader, Writer};

/// REPORT SUPPORTED OPERATION CODES.
pub(crate) static REPORT_COMMANDS: CommandDefinition = CommandDefinition::new(
    &[0xa3, 0x0c, 0x87, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x00, 0x04],
    Conflict::Reads,
    |command| Box::pin(std::future::ready(report(command))),
)
.of_action(MaintenanceIn::OPERATION_CODES as u16);

/// RCTD: the initiator also asks for the commands' timeouts.
const TIMEOUTS: u8 = 0x80;

fn report(command: &CommandContext) -> Outcome {
    command.unit()?;
    let request = MaintenanceIn::decode(&mut Reader::new(&command.cdb))?;
    let timeouts = (request.options & TIMEOUTS != 0).then(Timeouts::default);
    let mut w = Writer::new();
    if request.options & 7 == 0 {
        let all = table::COMMANDS.iter().map(|supported| SupportedCommand {
            opcode: supported.opcode,
            action: supported.action,
            length: supported.usage.len() as u16, // some ten
            timeouts,
        });
        SupportedCommands(all.collect()).encode(&mut w);
    } else {
        let found = one(&request)?;
        let usage = found.map(usage);
        OneCommand { timeouts: timeouts.filter(|_| usage.is_some()), usage }.encode(&mut w);
    }
    Ok(Good::cut(w.into_bytes(), request.allocation_length as usize))
}

/// The bits that the server evaluates: NACA in all commands, because it must be 0.
fn usage(supported: &CommandDefinition) -> Vec<u8> {
    let mut usage = supported.usage.to_vec();
    let control = if supported.opcode == 0x7f { usage.get_mut(1) } else { usage.last_mut() };
    if let Some(control) = control {
        *control |= NACA;
    }
    usage
}

/// The command that is asked for, if it is supported: SPC-4 table 287. The first two options fail
/// if the operation code has service actions, or has none.
fn one(request: &MaintenanceIn) -> Result<Option<&'static CommandDefinition>, CommandRefusal> {
    let of_code = || table::COMMANDS.iter().copied().filter(|one| one.opcode == request.opcode);
    let has_actions = of_code().any(|one| one.action.is_some());
    let exactly = |action| of_code().find(|one| one.action == action);
    match request.options & 7 {
        1 if has_actions => Err(Sense::in_cdb(2).into()),
        1 => Ok(exactly(None)),
        2 if !has_actions && of_code().next().is_some() => Err(Sense::in_cdb(2).into()),
        2 => Ok(exactly(Some(request.of_action))),
        3 if has_actions => Ok(exactly(Some(request.of_action))),
        3 => Ok(exactly(None).filter(|_| request.of_action == 0)),
        _ => Err(Sense::in_cdb(2).into()),
    }
}

#[cfg(test)]
mod tests;
