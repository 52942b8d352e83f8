//! EXTENDED COPY(LID1), SPC-4 6.5: the server copies between its own disks, without data on the
//! network.
//!
//! ```text
//! parameter list ─► plan.rs: what is wrong with it as a whole ─► copies.rs: it is under way
//!                   └► segment.rs, one by one: disks, permissions, bytes ─► vfs::Open::copy_from
//! ```

mod plan;
mod segment;
#[cfg(test)]
mod tests;

use std::sync::atomic::Ordering;

use self::plan::CopyPlan;
use super::copies::{CONCURRENT, RunningCopy};
use super::{CommandContext, CommandDefinition, CommandRefusal, Conflict, Good, Needs, Outcome};
use crate::wire::Reader;
use crate::wire::scsi::{Asc, COPY_HEADER, CopyLimits, CopyTarget, Key, Segment, Sense, copy_list_length};

/// The limits that initiators can ask for.
pub(crate) static LIMITS: CopyLimits = CopyLimits {
    targets: 8,
    segments: 32,
    descriptors_length: 2048,
    segment_length: 32 << 20,
    concurrent: CONCURRENT,
    descriptors: &[Segment::BLOCKS, Segment::BYTES, CopyTarget::IDENTIFICATION],
    commands: &[(0x83, &[0x00]), (0x84, &[0x00, 0x03, 0x04])],
};

/// EXTENDED COPY(LID1).
pub(super) static EXTENDED_COPY: CommandDefinition = CommandDefinition::new(
    &[0x83, 0x00, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0, 0x04],
    Conflict::Writes,
    |command| Box::pin(extended_copy(command)),
)
.of_action(0x00)
.needing(needs);

/// An empty parameter list is no error.
fn needs(command: &CommandContext) -> Result<Needs, CommandRefusal> {
    let length = copy_list_length(&mut Reader::new(&command.cdb))? as usize;
    if length == 0 {
        return Ok(Needs::Nothing);
    }
    if length < COPY_HEADER || length > COPY_HEADER + LIMITS.descriptors_length as usize {
        return Err(Sense::illegal(Asc::PARAMETER_LIST_LENGTH_ERROR).into());
    }
    Ok(Needs::Parameters(length))
}

async fn extended_copy(command: &CommandContext) -> Outcome {
    let unit = command.unit()?;
    if command.data.is_empty() {
        return Ok(Good::nothing());
    }
    let plan = CopyPlan::of(&command.data)?;
    let (identifier, usage) = (plan.header.list_identifier, plan.header.usage);
    let copying = unit.copies.begin(&command.nexus.initiator, identifier, usage)?;
    match copy(command, &plan, &copying).await {
        Ok(()) => {
            copying.end(None);
            Ok(Good::nothing())
        }
        Err(sense) => {
            copying.end(Some(sense));
            Err(sense.into())
        }
    }
}

/// Copies segment by segment until one fails, SPC-4 5.17.7.4.
async fn copy(command: &CommandContext, plan: &CopyPlan<'_>, copying: &RunningCopy<'_>) -> Result<(), Sense> {
    for (number, segment) in plan.segments.iter().enumerate() {
        let number = number as u16; // LIMITS.segments at most
        copying.counts.segments.store(number + 1, Ordering::Relaxed);
        let copied = segment::copy(command, plan, segment, &copying.counts).await;
        copied.map_err(|wrong| Sense {
            information: wrong.left,
            segment: Some(number),
            field: wrong.byte.and_then(|byte| Sense::in_parameters(byte as u16).field),
            ..Sense::new(Key::COPY_ABORTED, wrong.asc)
        })?;
    }
    Ok(())
}
