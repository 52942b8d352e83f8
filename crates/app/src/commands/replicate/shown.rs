//! The progress, for people and for scripts.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use admin::settings::units::format_size;
use replicate::Progress;
use serde::Serialize;

use crate::terminal::out;

/// How often a terminal is told, and how often a script is.
const TERMINAL: Duration = Duration::from_millis(250);
const SCRIPT: Duration = Duration::from_secs(1);
/// An estimate is shown after this time.
const ESTIMATE: Duration = Duration::from_secs(2);

/// How a snapshot was sent.
#[derive(Debug, Clone, Serialize)]
pub(super) struct SnapshotTransfer {
    snapshot: String,
    /// `send`: the stream of `btrfs send` or `zfs send`; `files`: changed files.
    method: &'static str,
    /// Why it was not the stream.
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
}

/// What was shown.
pub(super) struct ReplicationDisplay {
    json: bool,
    is_terminal: bool,
    snapshot: String,
    sent: Vec<SnapshotTransfer>,
    begun: Instant,
    last: Option<Instant>,
}

impl ReplicationDisplay {
    pub(super) fn new(json: bool) -> Self {
        let is_terminal = std::io::stderr().is_terminal();
        let sent = Vec::new();
        Self { json, is_terminal, snapshot: String::new(), sent, begun: Instant::now(), last: None }
    }

    pub(super) fn show(&mut self, now: &Progress) {
        if now.snapshot != self.snapshot {
            self.snapshot.clone_from(&now.snapshot);
            self.sent.push(SnapshotTransfer {
                snapshot: now.snapshot.clone(),
                method: if now.native.is_ok() { "send" } else { "files" },
                why: now.native.clone().err(),
            });
            (self.begun, self.last) = (Instant::now(), None);
        }
        let every = if self.json { SCRIPT } else { TERMINAL };
        if self.last.is_some_and(|last| last.elapsed() < every) || !(self.json || self.is_terminal) {
            return;
        }
        self.last = Some(Instant::now());
        let left = left(now, self.begun.elapsed());
        if self.json {
            let Progress { snapshot, done, total, entries, native } = now;
            let method = if native.is_ok() { "send" } else { "files" };
            let seconds = left.map(|left| left.as_secs());
            let line = serde_json::json!({
                "event": "progress", "snapshot": snapshot, "done": done, "total": total, "entries": entries,
                "method": method,
                "seconds_left": seconds,
            });
            // The result is the line that counts: a reader that has gone is noticed there.
            let _ = out::line(line);
            return;
        }
        let left = left.map(|left| format!(", {} left", time(left.as_secs()))).unwrap_or_default();
        let percent = (u128::from(now.done) * 100 / u128::from(now.total.max(1))).min(100);
        let (done, total) = (format_size(now.done), format_size(now.total));
        out::error(format_args!("\r\x1b[K{}: {percent} %, {done} of {total}{left}", now.snapshot));
    }

    /// How the snapshots were sent.
    pub(super) fn sent(self) -> Vec<SnapshotTransfer> {
        self.sent
    }

    pub(super) fn end(&mut self) {
        if self.last.take().is_some() && self.is_terminal && !self.json {
            out::error("\r\x1b[K");
        }
    }
}

/// The time until the end, if the rest goes as fast as what is done.
fn left(now: &Progress, since: Duration) -> Option<Duration> {
    if since < ESTIMATE || now.done == 0 {
        return None;
    }
    let rest = now.total.saturating_sub(now.done) as f64 / now.done as f64;
    Some(Duration::from_secs_f64((since.as_secs_f64() * rest).min(1e9)))
}

fn time(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min", seconds.div_ceil(60)),
        _ => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rest_takes_as_long_as_what_is_done() {
        let now = |done| Progress { done, total: 400, ..Progress::default() };
        assert_eq!(left(&now(100), Duration::from_secs(10)), Some(Duration::from_secs(30)));
        assert_eq!(left(&now(500), Duration::from_secs(10)), Some(Duration::ZERO));
        assert_eq!(left(&now(0), Duration::from_secs(10)), None);
        assert_eq!(left(&now(1), Duration::from_secs(1)), None);
        assert_eq!([time(59), time(61), time(3700)], ["59 s", "2 min", "1 h 1 min"]);
    }
}
