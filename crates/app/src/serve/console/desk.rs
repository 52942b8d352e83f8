//! The alerts, as the console shows them and makes them quiet.

use std::time::SystemTime;

use admin::control::{AlertStatus, Severity};
use vfs::backend::host::as_ourselves;
use web::alerts::{AlertDesk, AlertMute, AlertName, AlertReport};
use web::manage::{Level, Note};

use super::Console;
use crate::serve::alerts::{Alerts, QuietAlert, seconds};

fn quiet(alert: &QuietAlert) -> AlertMute {
    AlertMute { by: alert.by.clone(), at: alert.at, until: alert.until }
}

fn report(alert: AlertStatus, quiet: Option<AlertMute>) -> AlertReport {
    let AlertStatus { name, about, severity, since, text } = alert;
    let severity = match severity {
        Severity::Critical => "critical",
        Severity::Warning => "warning",
    };
    AlertReport { name, about, raised: true, severity: severity.into(), since, text, quiet }
}

/// The notes and the alerts that say more than they do: notes have the space of shares by themselves.
pub(super) fn with_alerts(mut notes: Vec<Note>, alerts: &Alerts) -> Vec<Note> {
    let (raised, table) = alerts.table();
    let now = seconds(SystemTime::now());
    for alert in raised.into_iter().filter(|alert| alert.name != "space") {
        let level = match alert.severity {
            Severity::Critical => Level::Problem,
            Severity::Warning => Level::Warning,
        };
        let quiet = table.of(&alert, now).is_some();
        let AlertStatus { name, about, since, text, .. } = alert;
        let alert = Some(AlertName { name, about });
        notes.push(Note { level, text, hint: format!("Since {since}."), alert, quiet });
    }
    notes.sort_by_key(|note| note.level);
    notes
}

impl AlertDesk for Console {
    fn alerts(&self) -> Vec<AlertReport> {
        let (raised, table) = self.alerts.table();
        let now = seconds(SystemTime::now());
        let is_raised = |one: &&QuietAlert| {
            raised.iter().any(|alert| (&alert.name, &alert.about) == (&one.name, &one.about))
        };
        let others: Vec<AlertReport> = table
            .list(now)
            .filter(|one| !is_raised(one))
            .map(|one| AlertReport {
                name: one.name.clone(),
                about: one.about.clone(),
                raised: false,
                severity: String::new(),
                since: String::new(),
                text: String::new(),
                quiet: Some(quiet(one)),
            })
            .collect();
        let mut all: Vec<AlertReport> = Vec::new();
        for alert in &raised {
            let found = table.of(alert, now).map(quiet);
            all.push(report(alert.clone(), found));
        }
        all.extend(others);
        all
    }

    fn mute(&self, alert: &AlertName, seconds: Option<u64>, by: &str) -> Result<Vec<String>, Vec<String>> {
        let AlertName { name, about } = alert;
        let work = || self.alerts.mute((name, about), seconds, by);
        told(as_ourselves(work), "It is quiet.")
    }

    fn unmute(&self, alert: &AlertName, by: &str) -> Result<Vec<String>, Vec<String>> {
        let AlertName { name, about } = alert;
        told(as_ourselves(|| self.alerts.unmute((name, about), by)), "It is told again.")
    }

    fn test(&self) -> Result<Vec<String>, Vec<String>> {
        let (accepted, failed) = tokio::runtime::Handle::current().block_on(self.alerts.test());
        if failed.is_empty() { Ok(accepted) } else { Err([failed, accepted].concat()) }
    }
}

fn told(result: vfs::Result<Result<(), String>>, done: &str) -> Result<Vec<String>, Vec<String>> {
    match result.map_err(|error| error.to_string()).and_then(|inner| inner) {
        Ok(()) => Ok(vec![done.to_owned()]),
        Err(why) => Err(vec![why]),
    }
}
