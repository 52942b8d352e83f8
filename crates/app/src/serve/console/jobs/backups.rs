//! Work on the backups of Macs: verification, the way back, moves. One at a time: the server refuses another.

use std::sync::Arc;

use admin::control::{BackupName, BackupsAnswer, BackupsRequest, Progress, Report};
use serde_json::Value;
use web::jobs::NewJob;

use super::as_server;
use crate::serve::running::Running;

/// Verifies a bundle, or a restore point of it.
pub(super) fn verify(running: Arc<Running>, name: BackupName, snapshot: Option<String>) -> NewJob {
    let what = match &snapshot {
        Some(snapshot) => format!("verify {} in {snapshot}", name.bundle),
        None => format!("verify {}", name.bundle),
    };
    let request = BackupsRequest::Verify { name: name.clone(), snapshot };
    work(running, ("verify-backup", what), &name, request)
}

/// Any of the requests that take long.
pub(super) fn work(
    running: Arc<Running>,
    (kind, what): (&'static str, String),
    name: &BackupName,
    request: BackupsRequest,
) -> NewJob {
    let key = format!("backup {}/{}", name.share, name.bundle);
    let work = as_server(move |handle| {
        match running.backups(request, &|now: Progress| handle.progress(now.done, now.total))? {
            BackupsAnswer::Verified(found) => {
                found.problems.iter().for_each(|problem| handle.say(&problem.text));
                serde_json::to_value(found).map_err(|error| vec![error.to_string()])
            }
            BackupsAnswer::Done(lines) => {
                lines.iter().for_each(|line| handle.say(line));
                Ok(Value::Null)
            }
            BackupsAnswer::List(_) => Ok(Value::Null),
        }
    });
    NewJob { kind, what, unit: "bytes", key, work }
}
