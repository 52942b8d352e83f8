//! The links of AppleTalk: whether they can be used.

use admin::{Settings, control};
use appletalk::links::{self, LinkName};

use super::DoctorFinding;

/// Opens each link, or asks the server that has it open.
pub(super) fn look(settings: &Settings) -> Vec<DoctorFinding> {
    let Some(appletalk) = &settings.appletalk else { return Vec::new() };
    let running = control::status(&settings.server.state).ok().and_then(|status| status.appletalk);
    let problem = |link: &LinkName| match &running {
        Some(status) => status.links.iter().find(|one| one.link == link.to_string())?.problem.clone(),
        None => links::open(link).and_then(|mut link| link.check()).err().map(|error| error.to_string()),
    };
    let finding = |link: &LinkName| {
        let about = format!("AppleTalk {link}");
        match problem(link) {
            None => DoctorFinding::fine(about, "it can be used"),
            // The reason says what to do.
            Some(problem) => DoctorFinding::problem(about, problem, "docs/appletalk.md"),
        }
    };
    appletalk.links.iter().map(finding).collect()
}
