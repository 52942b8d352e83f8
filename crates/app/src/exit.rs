//! Exit codes, and how a failure is said.

use std::process::ExitCode;

/// The settings or the command line were refused. clap uses the same for a malformed command line.
pub(crate) const REFUSED: u8 = 2;

/// No server runs with this state folder.
pub(crate) const NO_SERVER: u8 = 3;

/// Says why a command failed, and with which code the program ends.
pub(crate) fn code(result: anyhow::Result<ExitCode>) -> ExitCode {
    result.unwrap_or_else(|error| {
        eprintln!("fourfold: {error:#}");
        ExitCode::FAILURE
    })
}

/// Says everything that is wrong with the settings.
pub(crate) fn refused(diagnostics: &[admin::Diagnostic]) -> ExitCode {
    for diagnostic in diagnostics {
        eprintln!("{diagnostic}");
    }
    let errors = diagnostics.iter().filter(|d| d.severity == admin::settings::Severity::Error).count();
    eprintln!("fourfold: the settings are refused: {errors} error{}", if errors == 1 { "" } else { "s" });
    ExitCode::from(REFUSED)
}
