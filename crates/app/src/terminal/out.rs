//! The output of commands. All output goes through here, so that a reader that has gone or a full
//! disk is an error and never a panic.

use std::fmt;
use std::io::{self, BufRead, IsTerminal, Write};

use crate::terminal::{exit, loudness};

/// The output could not be written to standard output.
#[derive(Debug)]
pub(crate) struct OutputError(pub(crate) io::Error);

impl OutputError {
    /// Whether the reader of the output has closed its end of the pipe, as `head` does.
    pub(crate) fn reader_is_gone(&self) -> bool {
        self.0.kind() == io::ErrorKind::BrokenPipe
    }
}

impl fmt::Display for OutputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the answer cannot be written to standard output: {}", self.0)
    }
}

impl std::error::Error for OutputError {}

/// Prints text unchanged.
pub(crate) fn print(text: impl fmt::Display) -> Result<(), OutputError> {
    let mut stdout = io::stdout().lock();
    write!(stdout, "{text}").and_then(|()| stdout.flush()).map_err(OutputError)
}

/// Prints bytes as they are.
pub(crate) fn bytes(bytes: &[u8]) -> Result<(), OutputError> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(bytes).and_then(|()| stdout.flush()).map_err(OutputError)
}

/// Prints one line.
pub(crate) fn line(text: impl fmt::Display) -> Result<(), OutputError> {
    print(format_args!("{text}\n"))
}

/// Prints lines.
pub(crate) fn lines<T: fmt::Display>(lines: impl IntoIterator<Item = T>) -> Result<(), OutputError> {
    lines.into_iter().try_for_each(line)
}

/// Rows in columns, the headings first.
pub(crate) fn table<const N: usize>(rows: impl IntoIterator<Item = [String; N]>) -> String {
    let rows: Vec<[String; N]> = rows.into_iter().collect();
    let widths: [usize; N] =
        std::array::from_fn(|column| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0));
    let line = |row: &[String; N]| {
        let cells = row.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}"));
        format!("{}\n", cells.collect::<Vec<_>>().join("  ").trim_end())
    };
    rows.iter().map(line).collect()
}

/// Prints one line about what was done. With --quiet it is not said.
pub(crate) fn done(text: impl fmt::Display) -> Result<(), OutputError> {
    if loudness::is_quiet() { Ok(()) } else { line(text) }
}

/// Whether somebody sits at the terminal.
pub(crate) fn is_asking_possible() -> bool {
    io::stdin().is_terminal()
}

/// Asks a question at the terminal. An error unless the answer is yes.
pub(crate) fn confirm(question: &str) -> anyhow::Result<()> {
    let input = io::stdin();
    if !input.is_terminal() {
        return Err(exit::usage_error(format!("{question} There is no terminal to ask at; add --yes")));
    }
    error(format_args!("{question} [y/N] "));
    let mut line = String::new();
    input.lock().read_line(&mut line)?;
    match line.trim().to_lowercase().as_str() {
        "y" | "yes" => Ok(()),
        _ => anyhow::bail!("nothing was changed"),
    }
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
