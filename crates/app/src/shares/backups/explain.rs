//! Whether a Mac is safe, in words: its state, why the last attempt came to no end, when the next backup is expected, how fast
//! the bundle grows, and what to do.

use std::collections::VecDeque;

use admin::control::{BackupState, SessionEnd};
use admin::settings::units::format_size;

use super::record::BackupRecord;

/// Seconds of an hour and of a day.
const HOUR: i64 = 3600;
const DAY: i64 = 86_400;
/// The newest completed backups from which the usual time between two is taken.
const RECENT: usize = 12;
/// A Mac that backs up more seldom than this has no usual time.
const LONGEST_GAP: i64 = 14 * DAY;
/// The days of sizes from which the growth is taken, and the fewest that say something.
const GROWTH_DAYS: i64 = 30;
const LEAST_DAYS: i64 = 2;
/// What is full later than this is not said to become full: ten years.
const LATEST_FULL: u64 = 10 * 365 * 86_400;

/// What is known of the backups of a Mac.
#[derive(Debug, Clone, Default)]
pub(crate) struct BackupFacts {
    /// Seconds since 1970.
    pub(crate) now: i64,
    /// When backups were completed, the oldest first.
    pub(crate) completions: Vec<i64>,
    /// The Mac has found the bundle damaged.
    pub(crate) is_damaged_for_mac: bool,
    /// The share has `time-machine`.
    pub(crate) is_served: bool,
    pub(crate) is_retired: bool,
    /// How old the newest backup may become.
    pub(crate) most_age: Option<i64>,
    /// What is left for it.
    pub(crate) free: Option<u64>,
}

/// What is said of them.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Verdict {
    pub(crate) state: BackupState,
    /// Whether the Mac is safe, in one sentence.
    pub(crate) line: String,
    pub(crate) advice: Option<String>,
    /// When the next backup is expected.
    pub(crate) expected: Option<i64>,
    pub(crate) growth_per_day: Option<i64>,
    pub(crate) full_in_s: Option<u64>,
}

/// Judges the backups of a Mac.
pub(crate) fn judge(facts: &BackupFacts, record: &BackupRecord) -> Verdict {
    let state = state(facts, record);
    let expected = expected(&facts.completions).filter(|_| !facts.is_retired && facts.is_served);
    let growth_per_day = growth(&record.sizes, facts.now);
    let full_in_s = growth_per_day.zip(facts.free).and_then(|(growth, free)| {
        let growth = u64::try_from(growth).ok().filter(|growth| *growth > 0)?;
        Some(u64::try_from(u128::from(free) * 86_400 / u128::from(growth)).unwrap_or(u64::MAX))
            .filter(|seconds| *seconds < LATEST_FULL)
    });
    let line = line(state, facts, record, expected);
    Verdict { state, line, advice: advice(state, record), expected, growth_per_day, full_in_s }
}

fn state(facts: &BackupFacts, record: &BackupRecord) -> BackupState {
    let is_damaged = record.verification.as_ref().is_some_and(|verification| verification.is_damaged());
    let newest = facts.completions.last().copied();
    // A session that ended without a backup, and no backup since then.
    let has_stopped = record.last_end().is_some_and(|(session, end)| {
        end != SessionEnd::Completed && newest.is_none_or(|newest| newest < session.began)
    });
    match (&record.session, newest) {
        _ if !facts.is_served => BackupState::NotServed,
        _ if facts.is_damaged_for_mac || is_damaged => BackupState::Damaged,
        (Some(session), _) if session.lost.is_some() => BackupState::Interrupted,
        (Some(_), _) => BackupState::BackingUp,
        _ if facts.is_retired => BackupState::Retired,
        (None, None) => BackupState::Incomplete,
        (None, Some(newest)) if facts.most_age.is_some_and(|most| facts.now - newest > most) => {
            BackupState::Overdue
        }
        _ if has_stopped => BackupState::Stopped,
        _ => BackupState::Good,
    }
}

/// After the usual time between two backups, the middle of the last ones.
fn expected(completions: &[i64]) -> Option<i64> {
    let recent = &completions[completions.len().saturating_sub(RECENT)..];
    let mut gaps: Vec<i64> = recent.windows(2).map(|two| two[1] - two[0]).collect();
    gaps.sort_unstable();
    let middle = *gaps.get(gaps.len() / 2)?;
    (middle <= LONGEST_GAP).then(|| recent.last().map(|last| last + middle.max(HOUR)))?
}

/// Bytes in a day, between the first and the last size of the last weeks.
fn growth(sizes: &VecDeque<(i64, u64)>, now: i64) -> Option<i64> {
    let recent: Vec<&(i64, u64)> = sizes.iter().filter(|(at, _)| *at > now - GROWTH_DAYS * DAY).collect();
    let ((first, from), (last, to)) = (recent.first()?, recent.last()?);
    let seconds = last - first;
    if seconds < LEAST_DAYS * DAY {
        return None;
    }
    let grown = i128::from(*to) - i128::from(*from);
    i64::try_from(grown * i128::from(DAY) / i128::from(seconds)).ok()
}

fn line(state: BackupState, facts: &BackupFacts, record: &BackupRecord, expected: Option<i64>) -> String {
    let newest = facts.completions.last().copied();
    let age = newest.map(|newest| span(facts.now - newest));
    let last = attempt(record, facts.now);
    let then = |age: &Option<String>| match age {
        Some(age) => format!("the newest backup is {age} old"),
        None => "no backup has been completed".to_owned(),
    };
    match state {
        BackupState::Good => format!(
            "Safe: backed up {} ago{}.",
            age.unwrap_or_default(),
            next(expected, facts.now)
                .map(|next| format!("; the next backup is expected {next}"))
                .unwrap_or_default()
        ),
        BackupState::BackingUp => format!("Backing up now; {}.", then(&age)),
        BackupState::Interrupted => {
            let session = record.session.as_ref();
            let since = span(facts.now - session.and_then(|session| session.lost).unwrap_or(facts.now));
            match session.is_some_and(|session| session.is_asleep) {
                true => format!("Waiting for the Mac, which sleeps since {since}; {}.", then(&age)),
                false => {
                    format!("Waiting for the Mac, whose connection is lost since {since}; {}.", then(&age))
                }
            }
        }
        BackupState::Incomplete => format!("Not safe yet: no backup has been completed{last}."),
        BackupState::Overdue => format!(
            "Not safe: {}{}.",
            then(&age),
            if last.is_empty() { "; the Mac has not come since".to_owned() } else { last }
        ),
        BackupState::Stopped => format!("Safe until {} ago{last}.", age.unwrap_or_default()),
        BackupState::Damaged => format!("Not safe: the backups are damaged; {}.", then(&age)),
        BackupState::Retired => format!("Retired: the Mac backs up no longer; {}.", then(&age)),
        BackupState::NotServed => {
            format!(
                "Not safe: the share is not for Time Machine, so no Mac finds the bundle; {}.",
                then(&age)
            )
        }
    }
}

/// How the last session ended, if it ended without a backup.
fn attempt(record: &BackupRecord, now: i64) -> String {
    let Some((session, end)) = record.last_end() else { return String::new() };
    let why = match end {
        SessionEnd::Completed => return String::new(),
        SessionEnd::Cancelled => "was stopped on the Mac",
        SessionEnd::Slept => "stopped because the Mac slept",
        SessionEnd::Lost => "stopped because the Mac went to sleep, was shut down, or left the network",
        SessionEnd::DiskFull => "stopped because the disk was full",
        SessionEnd::Limit => "stopped because the limit was reached",
        SessionEnd::Permission => "stopped because files of the bundle belong to another user",
        SessionEnd::ServerStopped => "stopped because the server was stopped",
    };
    format!("; the last attempt, {} ago, {why}", span(now - session.ended.unwrap_or(session.began)))
}

fn advice(state: BackupState, record: &BackupRecord) -> Option<String> {
    let text = match (state, record.last_end().map(|(_, end)| end)) {
        (BackupState::Damaged, _) => {
            "Do not let the Mac begin a new backup. Roll the bundle back to the last restore point that verifies."
        }
        (BackupState::NotServed, _) => {
            "Turn `time-machine` on for the share, or move the bundle into a share that has it."
        }
        (BackupState::Overdue | BackupState::Stopped | BackupState::Incomplete, Some(end)) => match end {
            SessionEnd::DiskFull => {
                "Make room on the disk, or give the Mac a limit: it then removes its oldest backups."
            }
            SessionEnd::Limit => {
                "Raise the limit, or exclude large folders in the options of Time Machine on the Mac."
            }
            SessionEnd::Permission => {
                "Give all files of the bundle to the user of the bundle with `chown -R` on the server."
            }
            SessionEnd::Lost | SessionEnd::Slept => {
                "The Mac goes on by itself when it is awake and in the network. Leave it on and at the mains for a night."
            }
            SessionEnd::Cancelled => {
                "Look at Time Machine in the settings of the Mac, and begin a backup there."
            }
            SessionEnd::ServerStopped | SessionEnd::Completed => return None,
        },
        (BackupState::Overdue, None) => {
            "Turn the Mac on, and look at Time Machine in its settings. If it is gone for good, retire its backups."
        }
        (BackupState::Incomplete, None) => {
            "The first backup can take days. Leave the Mac on and at the mains."
        }
        _ => return None,
    };
    Some(text.to_owned())
}

/// `within 20 minutes`, or that it should have come.
fn next(expected: Option<i64>, now: i64) -> Option<String> {
    let left = expected? - now;
    Some(if left > 0 { format!("within {}", span(left)) } else { "now".to_owned() })
}

/// A time in its largest unit: `3 hours`.
pub(crate) fn span(seconds: i64) -> String {
    let seconds = seconds.max(0);
    let (count, unit) = match seconds {
        0..60 => (seconds, "second"),
        60..HOUR => (seconds / 60, "minute"),
        HOUR..172_800 => (seconds / HOUR, "hour"),
        _ => (seconds / DAY, "day"),
    };
    format!("{count} {unit}{}", if count == 1 { "" } else { "s" })
}

/// `1.2 GiB a day`.
pub(crate) fn growth_in_words(bytes: i64) -> String {
    let sign = if bytes < 0 { "-" } else { "" };
    format!("{sign}{} a day", format_size(bytes.unsigned_abs()))
}

#[cfg(test)]
mod tests {
    use admin::control::{BackupProblem, BackupSession, BackupVerification};

    use super::*;
    use crate::shares::backups::record::RunningSession;

    const NOW: i64 = 1_800_000_000;

    /// Backups every hour, the newest this old.
    fn facts(age: i64) -> BackupFacts {
        BackupFacts {
            now: NOW,
            completions: (0..5).rev().map(|hours| NOW - age - hours * HOUR).collect(),
            is_served: true,
            most_age: Some(7 * DAY),
            ..BackupFacts::default()
        }
    }

    fn ended(end: SessionEnd, began: i64) -> BackupRecord {
        let mut record = BackupRecord::default();
        let (ended, by) = (Some(began + 60), "ada".to_owned());
        record.sessions.push_back(BackupSession { began, ended, end: Some(end), by, grown: 0, away_s: 0 });
        record
    }

    #[test]
    fn a_safe_mac_is_told_with_its_next_backup() {
        let verdict = judge(&facts(40 * 60), &ended(SessionEnd::Completed, NOW - HOUR));
        assert_eq!(verdict.state, BackupState::Good);
        assert_eq!(
            verdict.line,
            "Safe: backed up 40 minutes ago; the next backup is expected within 20 minutes."
        );
        assert_eq!((verdict.expected, verdict.advice), (Some(NOW + 20 * 60), None));
    }

    #[test]
    fn a_backup_that_stopped_says_why() {
        let verdict = judge(&facts(2 * DAY), &ended(SessionEnd::DiskFull, NOW - HOUR));
        assert_eq!(verdict.state, BackupState::Stopped);
        assert_eq!(
            verdict.line,
            "Safe until 2 days ago; the last attempt, 59 minutes ago, stopped because the disk was full."
        );
        assert!(verdict.advice.unwrap().contains("Make room"));
        let later = judge(&facts(60), &ended(SessionEnd::DiskFull, NOW - HOUR));
        assert_eq!(later.state, BackupState::Good, "a backup has come since");
        let overdue = judge(&facts(8 * DAY), &ended(SessionEnd::Lost, NOW - 3 * HOUR));
        assert_eq!(overdue.state, BackupState::Overdue);
        assert!(
            overdue.line.contains("8 days old") && overdue.line.contains("left the network"),
            "{overdue:?}"
        );
    }

    #[test]
    fn a_backup_is_overdue_at_its_age_and_not_without_an_alert() {
        let state =
            |age, most_age| judge(&BackupFacts { most_age, ..facts(age) }, &BackupRecord::default()).state;
        assert_eq!(state(7 * DAY, Some(7 * DAY)), BackupState::Good);
        assert_eq!(state(7 * DAY + 1, Some(7 * DAY)), BackupState::Overdue);
        assert_eq!(state(700 * DAY, None), BackupState::Good);
    }

    #[test]
    fn damage_comes_first_and_a_session_before_age() {
        let record = BackupRecord::default();
        let damaged = BackupFacts { is_damaged_for_mac: true, ..facts(60) };
        assert_eq!(judge(&damaged, &record).state, BackupState::Damaged);
        let problem = BackupProblem { kind: "band-rotten".into(), text: String::new(), damage: true };
        let verification = BackupVerification { problems: vec![problem], ..BackupVerification::default() };
        let rotten = BackupRecord { verification: Some(verification), ..BackupRecord::default() };
        assert_eq!(judge(&facts(60), &rotten).state, BackupState::Damaged);
        let session = |lost| {
            let (by, size, changed, completed) = ("ada".into(), 0, 0, None);
            let (is_asleep, returns, away_s, was_full) = (false, 0, 0, false);
            Some(RunningSession {
                began: NOW,
                by,
                size,
                changed,
                completed,
                lost,
                is_asleep,
                returns,
                away_s,
                was_full,
            })
        };
        let writing = BackupRecord { session: session(None), ..BackupRecord::default() };
        assert_eq!(judge(&facts(80 * DAY), &writing).state, BackupState::BackingUp);
        let lost = BackupRecord { session: session(Some(NOW - 90)), ..BackupRecord::default() };
        let verdict = judge(&facts(60), &lost);
        assert_eq!(verdict.state, BackupState::Interrupted);
        assert!(verdict.line.contains("lost since 1 minute"), "{}", verdict.line);
        let retired = BackupFacts { is_retired: true, ..facts(800 * DAY) };
        assert_eq!(judge(&retired, &record).state, BackupState::Retired);
        let elsewhere = BackupFacts { is_served: false, ..facts(60) };
        assert_eq!(judge(&elsewhere, &record).state, BackupState::NotServed);
    }

    #[test]
    fn growth_tells_when_there_is_no_room() {
        let mut record = BackupRecord::default();
        for day in 0..10 {
            record.note_size(NOW - (10 - day) * DAY, 1000 + u64::try_from(day).unwrap() * 100);
        }
        let verdict = judge(&BackupFacts { free: Some(500), ..facts(60) }, &record);
        assert_eq!((verdict.growth_per_day, verdict.full_in_s), (Some(100), Some(5 * 86_400)));
        assert_eq!(judge(&facts(60), &BackupRecord::default()).growth_per_day, None);
    }

    #[test]
    fn two_backups_are_needed_to_expect_the_next() {
        assert_eq!(expected(&[]), None);
        assert_eq!(expected(&[NOW]), None);
        assert_eq!(expected(&[NOW - DAY, NOW]), Some(NOW + DAY));
        assert_eq!(expected(&[NOW - 60, NOW]), Some(NOW + HOUR), "no sooner than macOS backs up");
    }
}
