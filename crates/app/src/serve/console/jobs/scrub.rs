//! The scrub of a share.

use std::sync::Arc;

use admin::control::{Progress, Report, ScrubRequest};
use vfs::names::from_text_view;
use web::jobs::NewJob;

use super::as_server;
use crate::serve::running::Running;

/// Findings that are kept in the result of a job.
const MOST_SHOWN: usize = 1000;

/// Scrubs a share, or the state folder.
pub(super) fn job(running: Arc<Running>, share: Option<String>, path: &str, repair: bool) -> NewJob {
    let place = match (&share, path) {
        (None, _) => "the state folder".to_owned(),
        (Some(share), "") => share.clone(),
        (Some(share), path) => format!("{path:?} of {share}"),
    };
    let what = format!("{} {place}", if repair { "scrub and mend" } else { "scrub" });
    let request = ScrubRequest { share, path: from_text_view(path), repair };
    let work = as_server(move |handle| {
        let mut report = running.scrub(request, &|now: Progress| handle.progress(now.done, now.total))?;
        if report.ended {
            let mended = report.mended;
            return Err(vec![format!(
                "cancelled after {} files; {mended} findings are mended",
                report.looked
            )]);
        }
        report.findings.truncate(MOST_SHOWN);
        handle.progress(report.looked, report.looked);
        serde_json::to_value(report).map_err(|error| vec![error.to_string()])
    });
    // One scrub runs at a time.
    NewJob { kind: "scrub", what, unit: "files", key: "scrub".into(), work }
}
