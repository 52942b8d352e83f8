//! The answers of the name service that are kept.

use std::collections::HashMap;
use std::fmt;
use std::net::IpAddr;
use std::time::{Duration, Instant};

/// A look-up is repeated after this time, in the background; until then the answer is used as it is.
pub(super) const FRESH: Duration = Duration::from_secs(10 * 60);
/// A look-up that failed is repeated after this time.
pub(super) const RETRY: Duration = Duration::from_secs(15);
/// How long an answer counts while repeated look-ups fail, so that a name service that is down takes no share away from clients
/// that are known.
pub(super) const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);
/// Answers that are kept.
pub(super) const MOST: usize = 8192;

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Question {
    /// The addresses of an exact name.
    Name(String),
    /// The name of an address.
    Address(IpAddr),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Answer {
    Addresses(Vec<IpAddr>),
    /// `None`: the address has no name.
    Name(Option<String>),
}

struct Entry {
    answer: Option<(Answer, Instant)>,
    /// The end of the last look-up.
    ended: Option<Instant>,
    is_pending: bool,
    used: Instant,
}

#[derive(Default)]
pub(super) struct HostNameCache {
    entries: HashMap<Question, Entry>,
    pending: usize,
}

impl HostNameCache {
    /// The answer, if there is one that counts.
    pub(super) fn answer(&mut self, question: &Question, now: Instant) -> Option<Answer> {
        let entry = self.entries.get_mut(question)?;
        entry.used = now;
        let (answer, at) = entry.answer.as_ref()?;
        (now.saturating_duration_since(*at) < LONGEST).then(|| answer.clone())
    }

    /// Whether its look-up has not ended, or has not begun because others were in flight.
    pub(super) fn is_pending(&self, question: &Question) -> bool {
        self.entries.get(question).is_none_or(|entry| entry.is_pending && entry.ended.is_none())
    }

    /// Notes that a look-up begins; `false` if none is due, or too many are in flight.
    pub(super) fn begin(&mut self, question: &Question, now: Instant, most: usize) -> bool {
        if self.pending >= most || !self.is_due(question, now) {
            return false;
        }
        if !self.entries.contains_key(question) && self.entries.len() >= MOST {
            self.drop_oldest();
        }
        let new = || Entry { answer: None, ended: None, is_pending: false, used: now };
        self.entries.entry(question.clone()).or_insert_with(new).is_pending = true;
        self.pending += 1;
        true
    }

    fn is_due(&self, question: &Question, now: Instant) -> bool {
        let Some(entry) = self.entries.get(question) else { return true };
        let Some(ended) = entry.ended else { return !entry.is_pending };
        let has_failed = entry.answer.as_ref().is_none_or(|(_, at)| *at != ended);
        let after = if has_failed { RETRY } else { FRESH };
        !entry.is_pending && now.saturating_duration_since(ended) >= after
    }

    /// A look-up has ended; `None`: it failed, and an earlier answer goes on to count.
    pub(super) fn end(&mut self, question: &Question, answer: Option<Answer>, now: Instant) {
        self.pending = self.pending.saturating_sub(1);
        let Some(entry) = self.entries.get_mut(question) else { return };
        (entry.is_pending, entry.ended) = (false, Some(now));
        if let Some(answer) = answer {
            entry.answer = Some((answer, now));
        }
    }

    /// Makes room for another one: what was asked longest ago goes, and nothing that is in flight.
    fn drop_oldest(&mut self) {
        let idle = self.entries.iter().filter(|(_, entry)| !entry.is_pending);
        let oldest = idle.min_by_key(|(_, entry)| entry.used).map(|(question, _)| question.clone());
        oldest.and_then(|question| self.entries.remove(&question));
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }
}

impl fmt::Display for Question {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::Address(address) => address.fmt(f),
        }
    }
}
