//! RECEIVE COPY STATUS(LID1), FAILURE DETAILS(LID1) and OPERATING PARAMETERS, SPC-4 6.22, 6.23 and 6.25.

use super::extended_copy::LIMITS;
use super::{CommandContext, CommandDefinition, Conflict, Good, Outcome};
use crate::wire::scsi::{ReceiveCopyResults, Sense, encode_failure};
use crate::wire::{Reader, Writer};

/// RECEIVE COPY STATUS(LID1), SPC-4 6.25.
pub(super) static STATUS: CommandDefinition =
    supported(0x00, &[0x84, 0x00, 0xff, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0, 0x04]);
/// RECEIVE COPY OPERATING PARAMETERS, SPC-4 6.22.
pub(super) static OPERATING_PARAMETERS: CommandDefinition =
    supported(0x03, &[0x84, 0x03, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0, 0x04]);
/// RECEIVE COPY FAILURE DETAILS(LID1), SPC-4 6.23.
pub(super) static FAILURE_DETAILS: CommandDefinition =
    supported(0x04, &[0x84, 0x04, 0xff, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0, 0x04]);

const fn supported(action: u16, usage: &'static [u8]) -> CommandDefinition {
    CommandDefinition::new(usage, Conflict::Reserve, |command| Box::pin(std::future::ready(receive(command))))
        .of_action(action)
}

fn receive(command: &CommandContext) -> Outcome {
    let request = ReceiveCopyResults::decode(&mut Reader::new(&command.cdb))?;
    let (copies, me) = (&command.unit()?.copies, &command.nexus.initiator);
    let mut w = Writer::new();
    match request.action {
        ReceiveCopyResults::STATUS => {
            copies.progress(me, request.list_identifier).ok_or(Sense::in_cdb(2))?.encode(&mut w);
        }
        ReceiveCopyResults::FAILURE_DETAILS => {
            let failure = copies.failure(me, request.list_identifier).ok_or(Sense::in_cdb(2))?;
            encode_failure(failure.as_ref(), &mut w);
        }
        _ => LIMITS.encode_parameters(&mut w), // the table has no other
    }
    Ok(Good::cut(w.into_bytes(), request.allocation_length as usize))
}
