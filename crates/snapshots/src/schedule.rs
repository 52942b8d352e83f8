//! Schedules: which snapshots are due, and how many of each period are kept.

use std::fmt;
use std::str::FromStr;
use std::time::{Duration, SystemTime};

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};

use crate::Refusal;

const MOST: u32 = 1000;
/// A snapshot of a later time than this was taken while the clock was wrong.
const AHEAD: Duration = Duration::from_secs(86_400);

/// How often a snapshot is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Period {
    /// At each full hour.
    Hourly,
    /// At midnight.
    Daily,
    /// At midnight, too: both words are in use.
    Nightly,
    /// At midnight before Monday.
    Weekly,
    /// At midnight before the first day of a month.
    Monthly,
}

const PERIODS: [(Period, &str); 5] = [
    (Period::Hourly, "hourly"),
    (Period::Daily, "daily"),
    (Period::Nightly, "nightly"),
    (Period::Weekly, "weekly"),
    (Period::Monthly, "monthly"),
];

/// The periods of a dataset, each with the number of snapshots to keep: `hourly:24 nightly:7`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Schedule {
    /// Each period once.
    pub rows: Vec<(Period, u32)>,
}

impl Period {
    /// The first part of its snapshots' names.
    #[must_use]
    pub fn name(self) -> &'static str {
        PERIODS.iter().find(|(period, _)| *period == self).map_or("", |(_, name)| name)
    }

    /// The period of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        PERIODS.iter().find(|(_, known)| *known == name).map(|(period, _)| *period)
    }

    /// The name of a snapshot; 0 is the newest.
    #[must_use]
    pub fn numbered(self, number: u32) -> String {
        format!("{}.{number}", self.name())
    }

    /// The number in the name of a snapshot of this period.
    #[must_use]
    pub fn number(self, snapshot: &str) -> Option<u32> {
        let number = snapshot.strip_prefix(self.name())?.strip_prefix('.')?;
        number.parse().ok().filter(|parsed: &u32| parsed.to_string() == number)
    }

    /// Whether a snapshot is due, if the last one was taken at this time: a period began since then.
    #[must_use]
    pub fn is_due(self, last: Option<SystemTime>, now: SystemTime, zone: &TimeZone) -> bool {
        let Some(last) = last else { return true };
        if last > now {
            return last > now + AHEAD;
        }
        self.began(now, zone).is_some_and(|began| last < began)
    }

    /// When the next period begins.
    #[must_use]
    pub fn next(self, now: SystemTime, zone: &TimeZone) -> Option<SystemTime> {
        let began: Zoned = Timestamp::try_from(self.began(now, zone)?).ok()?.to_zoned(zone.clone());
        let length = match self {
            Self::Hourly => jiff::Span::new().hours(1),
            Self::Daily | Self::Nightly => jiff::Span::new().days(1),
            Self::Weekly => jiff::Span::new().weeks(1),
            Self::Monthly => jiff::Span::new().months(1),
        };
        Some(began.checked_add(length).ok()?.timestamp().into())
    }

    /// When the period of this time began.
    fn began(self, now: SystemTime, zone: &TimeZone) -> Option<SystemTime> {
        let now: Zoned = Timestamp::try_from(now).ok()?.to_zoned(zone.clone());
        let midnight = |date: Date| date.to_zoned(zone.clone()).ok();
        let began = match self {
            Self::Hourly => now.with().minute(0).second(0).subsec_nanosecond(0).build().ok()?,
            Self::Daily | Self::Nightly => midnight(now.date())?,
            Self::Weekly => {
                let days = i64::from(now.weekday().to_monday_zero_offset());
                midnight(now.date().checked_sub(jiff::Span::new().days(days)).ok()?)?
            }
            Self::Monthly => midnight(now.date().first_of_month())?,
        };
        Some(began.timestamp().into())
    }
}

impl FromStr for Schedule {
    type Err = Refusal;

    fn from_str(text: &str) -> Result<Self, Refusal> {
        let mut rows: Vec<(Period, u32)> = Vec::new();
        for word in text.split_whitespace() {
            let refused = |why: &str| {
                Refusal::Other(format!(
                    "{word:?} in the schedule {text:?}: {why}; write for example hourly:24 nightly:7 weekly:4"
                ))
            };
            let (name, count) = word.split_once(':').ok_or_else(|| refused("it is not PERIOD:COUNT"))?;
            let (period, _) = PERIODS
                .iter()
                .find(|(_, known)| *known == name)
                .ok_or_else(|| refused("the periods are hourly, daily, nightly, weekly and monthly"))?;
            let count = count.parse().ok().filter(|count| (1..=MOST).contains(count));
            let count = count.ok_or_else(|| refused("the count is a number from 1 to 1000"))?;
            if rows.iter().any(|(known, _)| known == period) {
                return Err(refused("the period is there twice"));
            }
            rows.push((*period, count));
        }
        Ok(Self { rows })
    }
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words: Vec<String> =
            self.rows.iter().map(|(period, count)| format!("{}:{count}", period.name())).collect();
        f.write_str(&words.join(" "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(text: &str) -> SystemTime {
        text.parse::<Timestamp>().unwrap().into()
    }

    #[test]
    fn schedules_are_read_and_written() {
        let text = "hourly:24 daily:3 nightly:7 weekly:4 monthly:12";
        let schedule: Schedule = text.parse().unwrap();
        assert_eq!((schedule.rows.len(), schedule.to_string().as_str()), (5, text));
        assert_eq!("".parse::<Schedule>().unwrap(), Schedule::default());
        for bad in
            ["hourly", "hourly:", "hourly:0", "hourly:1001", "hourly:-1", "yearly:1", "daily:1 daily:2"]
        {
            let sentence = bad.parse::<Schedule>().unwrap_err().to_string();
            assert!(sentence.contains("; write for example"), "{sentence}");
        }
    }

    #[test]
    fn numbers_are_part_of_names() {
        assert_eq!(Period::Hourly.numbered(3), "hourly.3");
        assert_eq!(Period::Hourly.number("hourly.23"), Some(23));
        for other in ["hourly.", "hourly.03", "hourly.x", "hourly", "nightly.1", "hourly.new", "hourly.+1"] {
            assert_eq!(Period::Hourly.number(other), None, "{other}");
        }
    }

    #[test]
    fn the_next_snapshot_is_due_when_the_next_period_begins() {
        // 2026-11-23 is a Monday. In New York, 2026-11-01 has 25 hours.
        let next = |period: Period, now, zone: &TimeZone| period.next(time(now), zone).unwrap();
        let rows = [
            (Period::Hourly, "2026-11-23T01:59:59Z", "2026-11-23T02:00:00Z"),
            (Period::Nightly, "2026-11-23T00:00:00Z", "2026-11-24T00:00:00Z"),
            (Period::Weekly, "2026-11-23T12:00:00Z", "2026-11-30T00:00:00Z"),
            (Period::Monthly, "2026-12-31T12:00:00Z", "2027-01-01T00:00:00Z"),
        ];
        for (period, now, want) in rows {
            assert_eq!(next(period, now, &TimeZone::UTC), time(want), "{period:?} {now}");
        }
        let zone = TimeZone::posix("EST5EDT,M3.2.0,M11.1.0").unwrap();
        assert_eq!(next(Period::Daily, "2026-11-01T12:00:00Z", &zone), time("2026-11-02T05:00:00Z"));
    }

    #[test]
    fn a_snapshot_is_due_when_a_period_began_since_the_last() {
        // 2026-11-23 is a Monday.
        let rows = [
            (Period::Hourly, "2026-11-23T01:00:00Z", "2026-11-23T01:59:59Z", false),
            (Period::Hourly, "2026-11-23T01:59:59Z", "2026-11-23T02:00:00Z", true),
            (Period::Nightly, "2026-11-22T00:00:03Z", "2026-11-22T23:59:59Z", false),
            (Period::Nightly, "2026-11-22T23:00:00Z", "2026-11-23T00:00:00Z", true),
            (Period::Weekly, "2026-11-16T00:00:00Z", "2026-11-22T23:59:59Z", false),
            (Period::Weekly, "2026-11-22T23:59:59Z", "2026-11-23T00:00:01Z", true),
            (Period::Monthly, "2026-11-01T00:00:00Z", "2026-11-30T23:59:59Z", false),
            (Period::Monthly, "2026-11-30T12:00:00Z", "2026-12-01T00:00:00Z", true),
            // A machine that slept for days takes one, and the clock may be set back a little.
            (Period::Hourly, "2026-11-20T00:00:00Z", "2026-11-23T00:30:00Z", true),
            (Period::Hourly, "2026-11-23T02:00:01Z", "2026-11-23T01:59:59Z", false),
            (Period::Hourly, "2030-01-01T00:00:00Z", "2026-11-23T01:59:59Z", true),
        ];
        for (period, last, now, want) in rows {
            let is_due = period.is_due(Some(time(last)), time(now), &TimeZone::UTC);
            assert_eq!(is_due, want, "{period:?} {last} {now}");
        }
        assert!(Period::Monthly.is_due(None, time("2026-11-23T00:00:00Z"), &TimeZone::UTC));
    }

    #[test]
    fn nights_are_those_of_the_time_zone() {
        let zone = TimeZone::fixed(jiff::tz::offset(2));
        let due = |now| Period::Nightly.is_due(Some(time("2026-11-22T12:00:00Z")), time(now), &zone);
        assert!(!due("2026-11-22T21:59:59Z") && due("2026-11-22T22:00:00Z"));
    }
}
