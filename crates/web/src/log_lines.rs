//! The newest lines of the log, for the console.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use lock::Mutex;
use serde::Serialize;
use utoipa::ToSchema;

use crate::ranks;

/// Lines that are kept.
const MOST_LINES: usize = 1000;
/// Lines about metadata that are kept in addition, as the others would push them out.
const MOST_OF_METADATA: usize = 500;
/// The target of lines about metadata.
const METADATA: &str = "metadata";
/// The longest text of a line in bytes; the rest of a longer one is left out.
const LONGEST_TEXT: usize = 500;
/// The most fields of a line that are kept by themselves. Their values have no more bytes than the text.
const MOST_FIELDS: usize = 16;

/// The newest lines of the log: at most about 2.5 MiB. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct LogLines {
    kept: Arc<Mutex<LogBuffer, ranks::KeptLog>>,
}

#[derive(Debug, Default)]
struct LogBuffer {
    last: u64,
    lines: VecDeque<LogLine>,
    of_metadata: VecDeque<LogLine>,
}

/// What a line says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LogEvent {
    /// The message and its fields as `name=value`, with quotation marks around texts.
    pub text: String,
    /// The message alone.
    pub message: String,
    /// The fields, without quotation marks.
    pub fields: Vec<(&'static str, String)>,
}

/// A line of the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub(crate) struct LogLine {
    /// Its number; each line has the next one.
    number: u64,
    /// Seconds since 1970.
    at: u64,
    /// `error`, `warn` or `info`.
    level: &'static str,
    /// The part of the server that wrote it.
    target: &'static str,
    /// The message and its fields.
    text: String,
    /// The message alone.
    message: String,
    /// The fields, each a name and a value.
    #[schema(value_type = Vec<Vec<String>>)]
    fields: Vec<(&'static str, String)>,
}

/// Lines of the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub(crate) struct Log {
    /// The number of the newest line. With `after`, only later lines are sent.
    last: u64,
    /// The lines, the oldest first.
    lines: Vec<LogLine>,
}

impl LogLines {
    /// Keeps a line. `level` is `error`, `warn` or `info`.
    pub fn keep(&self, level: &'static str, target: &'static str, event: LogEvent) {
        let LogEvent { text, message, fields } = event;
        let (text, message, mut left) = (cut(text), cut(message), LONGEST_TEXT);
        let fits = |(_, value): &(&'static str, String)| {
            let fits = value.len() <= left;
            left -= value.len().min(left);
            fits
        };
        let fields = fields.into_iter().take(MOST_FIELDS).take_while(fits).collect();
        let at = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let mut kept = self.kept.lock();
        kept.last += 1;
        let line = LogLine { number: kept.last, at, level, target, text, message, fields };
        if target == METADATA {
            push(&mut kept.of_metadata, line.clone(), MOST_OF_METADATA);
        }
        push(&mut kept.lines, line, MOST_LINES);
    }

    /// The lines after the one with this number.
    pub(crate) fn since(&self, after: u64) -> Log {
        let kept = self.kept.lock();
        later(&kept.lines, after, kept.last)
    }

    /// Those about metadata.
    pub(crate) fn of_metadata(&self, after: u64) -> Log {
        let kept = self.kept.lock();
        later(&kept.of_metadata, after, kept.last)
    }
}

fn cut(mut text: String) -> String {
    if text.len() > LONGEST_TEXT {
        text.truncate(text.floor_char_boundary(LONGEST_TEXT));
        text.push('…');
    }
    text
}

fn push(lines: &mut VecDeque<LogLine>, line: LogLine, most: usize) {
    if lines.len() >= most {
        lines.pop_front();
    }
    lines.push_back(line);
}

fn later(lines: &VecDeque<LogLine>, after: u64, last: u64) -> Log {
    // A number from before a restart of the server asks for everything.
    let after = if after > last { 0 } else { after };
    Log { last, lines: lines.iter().filter(|line| line.number > after).cloned().collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(text: &str) -> LogEvent {
        LogEvent { text: text.into(), message: text.into(), fields: Vec::new() }
    }

    #[test]
    fn lines_about_metadata_are_not_pushed_out_by_others() {
        let log = LogLines::default();
        log.keep("info", METADATA, event("kept"));
        (0..2 * MOST_LINES).for_each(|_| log.keep("info", "login", event("accepted")));
        let all = log.of_metadata(0);
        assert_eq!((all.lines.len(), &*all.lines[0].text, all.last), (1, "kept", 2 * MOST_LINES as u64 + 1));
        assert_eq!(log.of_metadata(1).lines, []);
        assert!(log.since(0).lines.iter().all(|line| line.target == "login"));
        (0..2 * MOST_OF_METADATA).for_each(|_| log.keep("warn", METADATA, event("lost")));
        assert_eq!(log.of_metadata(0).lines.len(), MOST_OF_METADATA);
    }

    #[test]
    fn the_newest_lines_are_kept_and_long_ones_are_cut() {
        let log = LogLines::default();
        for number in 0..MOST_LINES + 5 {
            log.keep("info", "test", event(&format!("line {number}")));
        }
        let fields = vec![("by", "ada".into()), ("long", "x".repeat(LONGEST_TEXT))];
        log.keep("warn", "test", LogEvent { fields, ..event(&"ä".repeat(LONGEST_TEXT)) });
        let all = log.since(0);
        assert_eq!((all.lines.len(), all.last), (MOST_LINES, MOST_LINES as u64 + 6));
        assert_eq!(all.lines[0].text, "line 6");
        let new = log.since(all.last - 1).lines;
        assert_eq!((new.len(), new[0].level, new[0].text.chars().count()), (1, "warn", LONGEST_TEXT / 2 + 1));
        assert_eq!(new[0].fields, [("by", "ada".to_owned())], "the values are limited, too");
        assert_eq!(log.since(all.last).lines, []);
        assert_eq!(log.since(all.last + 1).lines.len(), MOST_LINES, "from before a restart");
    }
}
