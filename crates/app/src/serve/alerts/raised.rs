//! The alerts that are raised. Each is raised once, and cleared once when its condition has been absent for a while.

use std::collections::BTreeMap;
use std::time::SystemTime;

use admin::control::{AlertStatus, Severity};

/// Looks without the condition after which an alert is cleared.
const ABSENT_LOOKS: u32 = 3;
/// The most alerts at a time.
const MOST: usize = 256;

/// What a rule has found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Condition {
    /// The kind of alert.
    pub(super) name: &'static str,
    /// The share, backup or file.
    pub(super) about: String,
    pub(super) severity: Severity,
    /// What is wrong, and what to do.
    pub(super) text: String,
}

/// An alert that was raised or cleared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct News {
    pub(super) alert: AlertStatus,
    pub(super) is_raised: bool,
}

#[derive(Debug)]
struct Alert {
    status: AlertStatus,
    number: u64,
    absent: u32,
}

/// The raised alerts, by kind and what they are about.
#[derive(Debug, Default)]
pub(super) struct AlertTable {
    alerts: BTreeMap<(String, String), Alert>,
    next: u64,
}

impl AlertTable {
    /// Whether this alert is raised.
    pub(super) fn has(&self, name: &str, about: &str) -> bool {
        self.alerts.contains_key(&(name.to_owned(), about.to_owned()))
    }

    /// The alerts, the oldest first.
    pub(super) fn list(&self) -> Vec<AlertStatus> {
        let mut alerts: Vec<&Alert> = self.alerts.values().collect();
        alerts.sort_by_key(|alert| alert.number);
        alerts.into_iter().map(|alert| alert.status.clone()).collect()
    }

    /// Raises and clears alerts by the conditions of one look. An alert that becomes worse is raised again.
    pub(super) fn update(&mut self, conditions: Vec<Condition>, now: SystemTime) -> Vec<News> {
        let mut news = Vec::new();
        self.alerts.values_mut().for_each(|alert| alert.absent += 1);
        for Condition { name, about, severity, text } in conditions {
            let key = (name.to_owned(), about.clone());
            if let Some(alert) = self.alerts.get_mut(&key) {
                alert.absent = 0;
                alert.status.text = text;
                let is_worse = severity > alert.status.severity;
                alert.status.severity = severity;
                if is_worse {
                    news.push(News { alert: alert.status.clone(), is_raised: true });
                }
                continue;
            }
            if self.alerts.len() >= MOST {
                continue;
            }
            let since = jiff::Timestamp::try_from(now).unwrap_or_default();
            let since = since.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
            let status = AlertStatus { name: name.to_owned(), about, severity, since, text };
            news.push(News { alert: status.clone(), is_raised: true });
            self.alerts.insert(key, Alert { status, number: self.next, absent: 0 });
            self.next += 1;
        }
        let cleared = self.alerts.extract_if(.., |_, alert| alert.absent >= ABSENT_LOOKS);
        news.extend(cleared.map(|(_, alert)| News { alert: alert.status, is_raised: false }));
        news
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn space(severity: Severity) -> Condition {
        Condition { name: "space", about: "video".into(), severity, text: "delete files".into() }
    }

    #[test]
    fn an_alert_is_raised_once_and_cleared_once() {
        let (mut raised, now) = (AlertTable::default(), SystemTime::UNIX_EPOCH);
        let mut look = |conditions| {
            let news = raised.update(conditions, now);
            news.into_iter().map(|news| (news.is_raised, news.alert.severity)).collect::<Vec<_>>()
        };
        let (warning, critical) = (Severity::Warning, Severity::Critical);
        assert_eq!(look(vec![space(warning)]), [(true, warning)]);
        assert_eq!(look(vec![space(warning)]), []);
        assert_eq!(look(vec![]), [], "it may come back at once");
        assert_eq!(look(vec![]), []);
        assert_eq!(look(vec![space(warning)]), [], "as here");
        assert_eq!(look(vec![space(critical)]), [(true, critical)], "it has become worse");
        assert_eq!(look(vec![space(warning)]), []);
        assert_eq!(look(vec![]), []);
        assert_eq!(look(vec![]), []);
        assert_eq!(look(vec![]), [(false, warning)]);
        assert_eq!(look(vec![]), []);
    }

    #[test]
    fn alerts_are_listed_in_their_order_and_are_bounded() {
        let mut raised = AlertTable::default();
        let about = |number: usize| Condition { about: format!("{number}"), ..space(Severity::Warning) };
        let news = raised.update((0..2 * MOST).rev().map(about).collect(), SystemTime::UNIX_EPOCH);
        assert_eq!((news.len(), raised.list().len()), (MOST, MOST));
        assert_eq!(raised.list()[0].about, (2 * MOST - 1).to_string());
        assert_eq!(raised.list()[0].since, "1970-01-01T00:00:00Z");
    }
}
