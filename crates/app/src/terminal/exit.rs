//! Exit codes, and reports of failures.

use std::process::ExitCode;

use crate::terminal::out;

/// The settings or the command line were refused. clap uses the same for a malformed command line.
pub(crate) const REFUSED: u8 = 2;

/// No server runs with this state folder.
pub(crate) const NO_SERVER: u8 = 3;

/// The code that a shell reports for a program that SIGPIPE has ended: the reader of its output has
/// gone, and needs no message.
const READER_GONE: u8 = 128 + 13;

/// Reports why a command failed; returns the program's exit code.
pub(crate) fn code(result: anyhow::Result<ExitCode>) -> ExitCode {
    result.unwrap_or_else(|error| {
        if error.downcast_ref().is_some_and(out::OutputError::reader_is_gone) {
            return ExitCode::from(READER_GONE);
        }
        out::error_line(format_args!("fourfold: {error:#}"));
        ExitCode::FAILURE
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
    diagnostics.iter().for_each(out::error_line);
    let errors = diagnostics.iter().filter(|d| d.severity == admin::settings::Severity::Error).count();
    let plural = if errors == 1 { "" } else { "s" };
    out::error_line(format_args!("fourfold: the settings are refused: {errors} error{plural}"));
    ExitCode::from(REFUSED)
}

/// Reports that no server runs.
pub(crate) fn no_server(error: &admin::control::AskError) -> ExitCode {
    out::error_line(format_args!("fourfold: {error}"));
    ExitCode::from(NO_SERVER)
}
