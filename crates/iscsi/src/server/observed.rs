//! What observers are told of a command.

use std::borrow::Cow;

use conn::observe::Outcome;

use super::connection::Connection;
use super::scsi;
use super::task::ScsiTask;
use crate::wire::scsi::{Sense, Status};

/// The command in this descriptor block.
pub(super) fn command_name(cdb: &[u8]) -> Cow<'static, str> {
    let unknown = || format!("operation code {:02x}h", cdb.first().copied().unwrap_or_default()).into();
    scsi::command_name(cdb).map_or_else(unknown, Cow::Borrowed)
}

/// Tells the observers of a command that has ended.
pub(super) fn end(
    connection: &Connection,
    task: &ScsiTask,
    (status, sense): (Status, Option<&Sense>),
    out: usize,
) {
    let Some(begun) = task.begun.get() else { return };
    let Some(session) = connection.joined.get().map(|joined| &joined.session) else { return };
    let mut result = status.name().map_or_else(|| format!("status {:02x}h", status.0), Into::into);
    if let Some(Sense { key, asc, .. }) = sense {
        let key = key.name().unwrap_or_default();
        result = format!("{result} {key} {:02x}h/{:02x}h", asc.0, asc.1);
    }
    begun.end(&Outcome {
        user: session.user.as_deref().unwrap_or(&session.nexus.initiator.name),
        share: task.unit.as_ref().map_or("", |unit| &unit.identity.name),
        result: &result,
        failed: !matches!(status, Status::GOOD | Status::CONDITION_MET),
        bytes_in: if task.reads { 0 } else { task.expects as usize },
        bytes_out: out,
    });
}
