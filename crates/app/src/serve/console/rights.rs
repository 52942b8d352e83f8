//! The rights to files and folders, as `fourfold rights` shows and changes them.

use std::sync::Arc;

use admin::control::{
    PersonAnswer, Progress, Report, RightsAnswer, RightsQuestion, RightsRequest, RightsStatus,
};
use web::jobs::NewJob;

use super::jobs::as_server;
use super::snapshots::share;
use crate::serve::running::Running;

/// Who may do what with a file or folder.
pub(super) fn status(running: &Running, share: &str, path: &[u8]) -> Result<RightsStatus, Vec<String>> {
    match ask(running, share, path, RightsQuestion::Show)? {
        RightsAnswer::Shown(status) => Ok(*status),
        _ => Err(strange()),
    }
}

/// What one person may do with it.
pub(super) fn of_person(
    running: &Running,
    person: &str,
    share: &str,
    path: &[u8],
) -> Result<PersonAnswer, Vec<String>> {
    match ask(running, share, path, RightsQuestion::Of { person: person.into() })? {
        RightsAnswer::Of(answer) => Ok(*answer),
        _ => Err(strange()),
    }
}

fn ask(
    running: &Running,
    share: &str,
    path: &[u8],
    question: RightsQuestion,
) -> Result<RightsAnswer, Vec<String>> {
    running.rights(RightsRequest { share: share.into(), path: path.to_vec(), question }, &|_| true)
}

fn strange() -> Vec<String> {
    vec!["the rights cannot be told".into()]
}

/// A job that looks at the rights of a tree, or changes them.
pub(super) fn job(running: &Arc<Running>, request: RightsRequest) -> Result<NewJob, Vec<String>> {
    share(&running.current(), &request.share)?;
    let path = String::from_utf8_lossy(&request.path);
    let place =
        if path.is_empty() { request.share.clone() } else { format!("{path:?} of {}", request.share) };
    let (kind, what) = match &request.question {
        RightsQuestion::Set { who, role: Some(role) } => {
            ("set-rights", format!("make {who} {role} of {place}"))
        }
        RightsQuestion::Set { who, role: None } => {
            ("set-rights", format!("end the own role of {who} on {place}"))
        }
        RightsQuestion::Reset { dry_run: true, .. } => {
            ("reset-rights", format!("count what a reset of {place} changes"))
        }
        RightsQuestion::Reset { .. } => ("reset-rights", format!("reset the rights of {place}")),
        RightsQuestion::Undo { record } => ("undo-rights", format!("take {record} back")),
        RightsQuestion::Check => ("check-rights", format!("check the rights of {place}")),
        RightsQuestion::Show | RightsQuestion::Of { .. } => return Err(strange()),
    };
    let running = running.clone();
    let work = as_server(move |handle| {
        let answer = running.rights(request, &|now: Progress| handle.progress(now.done, now.total))?;
        let RightsAnswer::Done(report) = answer else { return Err(strange()) };
        handle.progress(report.looked, report.looked);
        if report.ended {
            return Err(vec![format!(
                "cancelled after {} files, of which {} were changed",
                report.looked, report.changed
            )]);
        }
        serde_json::to_value(report).map_err(|error| vec![error.to_string()])
    });
    // One at a time: they may change the same files.
    Ok(NewJob { kind, what, unit: "files", key: "rights".into(), work })
}
