//! The output of commands. All output goes through here, so that a reader that has gone or a full
//! disk is an error and never a panic.

use std::fmt;
use std::io::{self, Write};

/// The output could not be written to standard output.
#[derive(Debug)]
pub(crate) struct Failed(pub(crate) io::Error);

impl Failed {
    /// Whether the reader of the output has closed its end of the pipe, as `head` does.
    pub(crate) fn reader_is_gone(&self) -> bool {
        self.0.kind() == io::ErrorKind::BrokenPipe
    }
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the answer cannot be written to standard output: {}", self.0)
    }
}

impl std::error::Error for Failed {}

/// Prints text unchanged.
pub(crate) fn print(text: impl fmt::Display) -> Result<(), Failed> {
    let mut stdout = io::stdout().lock();
    write!(stdout, "{text}").and_then(|()| stdout.flush()).map_err(Failed)
}

/// Prints one line.
pub(crate) fn line(text: impl fmt::Display) -> Result<(), Failed> {
    print(format_args!("{text}\n"))
}

/// Prints lines.
pub(crate) fn lines<T: fmt::Display>(lines: impl IntoIterator<Item = T>) -> Result<(), Failed> {
    lines.into_iter().try_for_each(line)
}

/// Prints a value as JSON, for scripts.
pub(crate) fn json(value: &impl serde::Serialize) -> anyhow::Result<()> {
    Ok(line(serde_json::to_string_pretty(value)?)?)
}

/// Writes to standard error. If that fails, there is no other place to report it.
pub(crate) fn error(text: impl fmt::Display) {
    let mut stderr = io::stderr().lock();
    let _ = write!(stderr, "{text}").and_then(|()| stderr.flush());
}

/// Writes one line to standard error.
pub(crate) fn error_line(text: impl fmt::Display) {
    error(format_args!("{text}\n"));
}
