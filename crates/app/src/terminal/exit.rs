//! Exit codes, and reports of failures.

use std::fmt;
use std::process::ExitCode;

use crate::terminal::color::{self, Tone};
use crate::terminal::out;

/// The settings or the command line were refused. clap uses the same for a malformed command line.
pub(crate) const REFUSED: u8 = 2;

/// No server runs with this state folder.
pub(crate) const NO_SERVER: u8 = 3;

/// The code that a shell reports for a program that SIGPIPE has ended: the reader of its output has
/// gone, and needs no message.
const READER_GONE: u8 = 128 + 13;

/// What was typed cannot be meant: the command did not begin.
#[derive(Debug)]
struct UsageError(String);

impl fmt::Display for UsageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for UsageError {}

/// An error of the command line, which ends the program with [`REFUSED`]. It says what to type instead.
pub(crate) fn usage_error(text: impl Into<String>) -> anyhow::Error {
    UsageError(text.into()).into()
}

/// Reports why a command failed; returns the program's exit code.
pub(crate) fn code(result: anyhow::Result<ExitCode>) -> ExitCode {
    result.unwrap_or_else(|error| {
        if error.downcast_ref().is_some_and(out::OutputError::reader_is_gone) {
            return ExitCode::from(READER_GONE);
        }
        out::error_line(format_args!("fourfold: {error:#}"));
        match error.downcast_ref::<UsageError>() {
            Some(_) => ExitCode::from(REFUSED),
            None => ExitCode::FAILURE,
        }
    })
}

/// Prints the requested help, or the error of the command line.
pub(crate) fn usage(error: &clap::Error) -> ExitCode {
    match error.print() {
        Err(failed) if !error.use_stderr() => code(Err(out::OutputError(failed).into())),
        _ => ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(REFUSED)),
    }
}

/// Reports all errors of the settings.
pub(crate) fn refused(diagnostics: &[admin::Diagnostic]) -> ExitCode {
    diagnostics.iter().for_each(|diagnostic| out::error_line(shown(diagnostic)));
    let errors = diagnostics.iter().filter(|d| d.severity == admin::settings::Severity::Error).count();
    let plural = if errors == 1 { "" } else { "s" };
    out::error_line(format_args!("fourfold: the settings are refused: {errors} error{plural}"));
    ExitCode::from(REFUSED)
}

/// A diagnostic, its `error:` in colour at a terminal.
fn shown(diagnostic: &admin::Diagnostic) -> String {
    let (word, tone) = match diagnostic.severity {
        admin::settings::Severity::Error => (": error: ", Tone::Bad),
        admin::settings::Severity::Note => (": note: ", Tone::Doubtful),
    };
    diagnostic.to_string().replacen(word, &color::painted(word, tone, &std::io::stderr()), 1)
}

/// Reports that no server runs.
pub(crate) fn no_server(error: &admin::control::AskError) -> ExitCode {
    out::error_line(format_args!("fourfold: {error}"));
    ExitCode::from(NO_SERVER)
}
