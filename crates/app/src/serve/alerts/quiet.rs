//! Alerts that people have made quiet: no message tells of them. A file in the state folder keeps that over a restart.

use std::collections::BTreeMap;
use std::path::Path;

use admin::control::{AlertStatus, Severity};
use auth::durable;
use serde::{Deserialize, Serialize};

use super::raised::News;

/// The file in the state folder.
const FILE: &str = "quiet-alerts.json";
/// The most quiet alerts.
const MOST: usize = 256;
/// The largest file that is read.
const LARGEST: u64 = 1 << 20;

/// An alert that is quiet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct QuietAlert {
    /// Its kind, and what it is about.
    pub(crate) name: String,
    pub(crate) about: String,
    /// The account that has made it quiet.
    pub(crate) by: String,
    /// When, in seconds since 1970.
    pub(crate) at: u64,
    /// Until when; `None`: until it is over, or becomes worse.
    pub(crate) until: Option<u64>,
    /// How bad it was then.
    severity: Severity,
}

/// The quiet alerts, by kind and what they are about.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct QuietTable(BTreeMap<(String, String), QuietAlert>);

impl QuietTable {
    /// Those that the state folder has. A file that cannot be read stands for none: all alerts are told.
    pub(crate) fn read(state: &Path) -> Self {
        let path = state.join(FILE);
        let is_small = std::fs::metadata(&path).is_ok_and(|found| found.len() <= LARGEST);
        let text = is_small.then(|| std::fs::read(&path).ok()).flatten().unwrap_or_default();
        let all: Vec<QuietAlert> = serde_json::from_slice(&text).unwrap_or_default();
        Self(all.into_iter().take(MOST).map(|one| ((one.name.clone(), one.about.clone()), one)).collect())
    }

    /// Writes them to the state folder.
    pub(crate) fn write(&self, state: &Path) -> std::io::Result<()> {
        let all: Vec<&QuietAlert> = self.0.values().collect();
        durable::replace(&state.join(FILE), &serde_json::to_vec(&all)?)
    }

    /// Makes an alert quiet. False: there are too many.
    pub(crate) fn add(
        &mut self,
        (name, about): (&str, &str),
        (by, at, until): (&str, u64, Option<u64>),
        severity: Option<Severity>,
    ) -> bool {
        self.forget_late(at);
        let key = (name.to_owned(), about.to_owned());
        if self.0.len() >= MOST && !self.0.contains_key(&key) {
            return false;
        }
        let severity = severity.unwrap_or(Severity::Warning);
        let quiet = QuietAlert { name: name.into(), about: about.into(), by: by.into(), at, until, severity };
        self.0.insert(key, quiet);
        true
    }

    /// It is told again. False: it was not quiet.
    pub(crate) fn remove(&mut self, name: &str, about: &str) -> bool {
        self.0.remove(&(name.to_owned(), about.to_owned())).is_some()
    }

    /// All that are quiet at this time.
    pub(crate) fn list(&self, now: u64) -> impl Iterator<Item = &QuietAlert> {
        self.0.values().filter(move |one| is_valid(one, now))
    }

    /// The alert, if it is quiet at this time.
    pub(crate) fn of(&self, alert: &AlertStatus, now: u64) -> Option<&QuietAlert> {
        let found = self.0.get(&(alert.name.clone(), alert.about.clone()))?;
        (is_valid(found, now) && !is_worse(found, alert)).then_some(found)
    }

    /// Whether the news is not to be told. What somebody has seen is told again when it comes back, or is worse.
    pub(super) fn silences(&mut self, news: &News, now: u64) -> bool {
        let is_quiet = self.of(&news.alert, now).is_some();
        let key = (news.alert.name.clone(), news.alert.about.clone());
        let ends =
            |quiet: &QuietAlert| quiet.until.is_none() && (!news.is_raised || is_worse(quiet, &news.alert));
        if self.0.get(&key).is_some_and(ends) {
            self.0.remove(&key);
        }
        is_quiet
    }

    fn forget_late(&mut self, now: u64) {
        self.0.retain(|_, one| is_valid(one, now));
    }
}

fn is_valid(quiet: &QuietAlert, now: u64) -> bool {
    quiet.until.is_none_or(|until| until > now)
}

/// Whether an alert is worse than when it was seen. One that is muted for a time is quiet however bad it is.
fn is_worse(quiet: &QuietAlert, alert: &AlertStatus) -> bool {
    quiet.until.is_none() && alert.severity > quiet.severity
}

#[cfg(test)]
mod tests {
    use super::*;

    fn news(severity: Severity, is_raised: bool) -> News {
        let alert = AlertStatus {
            name: "space".into(),
            about: "video".into(),
            severity,
            since: String::new(),
            text: String::new(),
        };
        News { alert, is_raised }
    }

    #[test]
    fn a_seen_alert_is_quiet_until_it_is_worse_or_comes_back() {
        let (warning, critical) = (Severity::Warning, Severity::Critical);
        let seen = || {
            let mut table = QuietTable::default();
            assert!(table.add(("space", "video"), ("ada", 100, None), Some(warning)));
            table
        };
        assert!(seen().silences(&news(warning, true), 200), "also after a restart");
        let mut worse = seen();
        assert!(!worse.silences(&news(critical, true), 200) && !worse.silences(&news(warning, true), 300));
        let mut over = seen();
        assert!(over.silences(&news(warning, false), 200), "its end is no news, either");
        assert!(!over.silences(&news(warning, true), 300));
        let other = News {
            alert: AlertStatus { about: "other".into(), ..news(warning, true).alert },
            is_raised: true,
        };
        assert!(!seen().silences(&other, 200));
    }

    #[test]
    fn a_muted_alert_is_quiet_for_its_time_however_often_it_comes() {
        let mut table = QuietTable::default();
        table.add(("space", "video"), ("ada", 100, Some(1000)), Some(Severity::Warning));
        for at in [200, 999] {
            assert!(table.silences(&news(Severity::Critical, true), at));
            assert!(table.silences(&news(Severity::Critical, false), at));
        }
        assert!(!table.silences(&news(Severity::Warning, true), 1000));
        assert_eq!(table.list(1000).count(), 0);
    }

    #[test]
    fn quiet_alerts_are_kept_in_the_state_folder_and_are_bounded() {
        let state = tempfile::tempdir().unwrap();
        let mut table = QuietTable::default();
        for number in 0..MOST {
            assert!(table.add(("backup", &number.to_string()), ("ada", 1, None), None));
        }
        assert!(!table.add(("backup", "one more"), ("ada", 1, None), None));
        assert!(table.add(("backup", "7"), ("grace", 2, None), None), "it is there already");
        table.write(state.path()).unwrap();
        assert_eq!(QuietTable::read(state.path()), table);
        std::fs::write(state.path().join(FILE), "no JSON").unwrap();
        assert_eq!(QuietTable::read(state.path()), QuietTable::default());
        assert!(table.remove("backup", "7") && !table.remove("backup", "7"));
    }
}
