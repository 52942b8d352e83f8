//! Reading contents in a process of its own, one for each file.

mod conversation;

use std::ffi::OsString;
use std::io::Error;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use wire::Malformed;

use self::conversation::Conversation;
use crate::extracted::{Extracted, MOST_FACTS, MOST_TEXT};
use crate::messages::{MOST_BYTES, MOST_MESSAGES, Saying, Task, with_length};
use crate::source::Source;

/// How long a file may take.
const LONGEST: Duration = Duration::from_secs(20);

/// Reads the contents of files.
pub trait Extractor: Send + Sync {
    /// Facts and text of a file of this name.
    ///
    /// # Errors
    /// There are none, for this reason. A file that fails costs nothing but itself.
    fn extract(&self, name: &str, source: &mut dyn Source) -> Result<Extracted, Failure>;
}

/// Why nothing was found.
#[derive(Debug)]
pub enum Failure {
    /// The process did not begin.
    Start(Error),
    /// The bytes of the file cannot be had.
    Read(Error),
    /// It took longer than a file may take.
    Time,
    /// The process ended before it said so: it had no more memory or time, or a bug.
    Ended(Option<ExitStatus>),
    /// It said what it cannot say.
    Malformed(Malformed),
    /// The pipe to the process failed.
    Pipe(Error),
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Start(error) => write!(f, "the process that reads contents did not begin: {error}"),
            Self::Read(error) => write!(f, "the file cannot be read: {error}"),
            Self::Time => write!(f, "its contents take longer than {} s", LONGEST.as_secs()),
            Self::Ended(Some(status)) => write!(f, "the process that reads contents ended: {status}"),
            Self::Ended(None) => write!(f, "the process that reads contents ended"),
            Self::Malformed(what) => write!(f, "the process that reads contents sent a {what}"),
            Self::Pipe(error) => write!(f, "the process that reads contents: {error}"),
        }
    }
}

impl std::error::Error for Failure {}

/// Reads each file in a process of its own.
pub struct Worker {
    program: PathBuf,
    words: Vec<OsString>,
    longest: Duration,
}

impl Worker {
    /// Starts `program` with these words for each file; it calls [`crate::child::run`].
    pub fn new(program: impl Into<PathBuf>, words: impl IntoIterator<Item = OsString>) -> Self {
        Self { program: program.into(), words: words.into_iter().collect(), longest: LONGEST }
    }

    /// Starts this program itself, also if its file was replaced meanwhile.
    #[must_use]
    pub fn of_this_program() -> Self {
        Self::new("/proc/self/exe", [OsString::from(crate::child::WORD)])
    }

    /// The same with another limit of time.
    #[must_use]
    pub fn with_longest(mut self, longest: Duration) -> Self {
        self.longest = longest;
        self
    }

    fn start(&self) -> Result<RunningChild, Failure> {
        let mut command = Command::new(&self.program);
        command.args(&self.words).env_clear().current_dir("/");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        command.spawn().map(RunningChild).map_err(Failure::Start)
    }
}

impl Extractor for Worker {
    fn extract(&self, name: &str, source: &mut dyn Source) -> Result<Extracted, Failure> {
        let mut child = self.start()?;
        let until = Instant::now() + self.longest;
        let talked = match (child.0.stdin.take(), child.0.stdout.take()) {
            (Some(input), Some(output)) => {
                let conversation = Conversation::new(input, output, until).map_err(Failure::Pipe)?;
                talk(conversation, name, source)
            }
            _ => Err(Failure::Ended(None)),
        };
        match talked {
            Err(Failure::Ended(_)) => Err(Failure::Ended(child.0.wait().ok())), // its output ended: it is ending
            other => other,
        }
    }
}

/// A process that ends with its file.
struct RunningChild(Child);

impl Drop for RunningChild {
    fn drop(&mut self) {
        let _ = self.0.kill(); // it has ended, unless something failed
        let _ = self.0.wait();
    }
}

fn talk(mut with: Conversation, name: &str, source: &mut dyn Source) -> Result<Extracted, Failure> {
    let mut found = Extracted::default();
    for _ in 0..MOST_MESSAGES {
        let message = with.hear()?;
        match Saying::decode(&message).map_err(Failure::Malformed)? {
            Saying::Ready => with.say(&Task { name: name.to_owned(), length: source.length() }.encode())?,
            Saying::Needs { place, count } => {
                let count = (count as usize).min(MOST_BYTES);
                let bytes = source.bytes_at(place, count).map_err(Failure::Read)?;
                with.say(&with_length(&bytes))?;
            }
            Saying::Fact(attribute, value) => {
                if found.facts.len() < MOST_FACTS {
                    found.facts.push((attribute, value));
                }
            }
            Saying::Text(text) => {
                if found.text.len() + text.len() > MOST_TEXT {
                    return Err(Failure::Malformed(Malformed("text without an end")));
                }
                found.text.push_str(&text);
            }
            Saying::End { is_cut, .. } => {
                found.is_cut = is_cut;
                return Ok(found);
            }
        }
    }
    Err(Failure::Malformed(Malformed("conversation without an end")))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// More than any process here takes on a busy machine.
    const LONG: Duration = Duration::from_secs(60);

    fn failure(program: &str, words: &[&str], longest: Duration) -> Failure {
        let worker = Worker::new(program, words.iter().map(OsString::from));
        worker.with_longest(longest).extract("a.txt", &mut &b"text"[..]).unwrap_err()
    }

    #[test]
    fn a_process_that_says_nothing_is_ended_after_its_time() {
        assert!(matches!(failure("/bin/sleep", &["600"], Duration::from_millis(100)), Failure::Time));
    }

    #[test]
    fn a_process_that_ends_says_why() {
        let Failure::Ended(Some(status)) = failure("/bin/false", &[], LONG) else { panic!("it goes on") };
        assert_eq!(status.code(), Some(1));
        assert!(matches!(failure("/nowhere/at/all", &[], LONG), Failure::Start(_)));
    }

    #[test]
    fn what_is_no_message_ends_the_process() {
        assert!(matches!(failure("/bin/echo", &["too long a message"], LONG), Failure::Malformed(_)));
        assert!(matches!(
            failure("/usr/bin/printf", &["\\001\\000\\000\\000\\011"], LONG),
            Failure::Malformed(_)
        ));
    }
}
