//! `fourfold test-alert`: a message by the ways of alerts.

use std::process::ExitCode;

use admin::Settings;

use crate::cli::TestAlert;
use crate::host::here;
use crate::serve::alerts::sending;
use crate::terminal::{exit, out};

/// Sends it, and says what was accepted.
pub(crate) fn run(arguments: &TestAlert) -> anyhow::Result<ExitCode> {
    let settings = match Settings::load(&here::of_server(&arguments.place)?) {
        Ok(settings) => settings,
        Err(diagnostics) => return Ok(exit::refused(&diagnostics)),
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (accepted, failed) = runtime.block_on(sending::test(&settings.server.told));
    accepted.iter().try_for_each(out::done)?;
    failed.iter().for_each(|line| out::error_line(format_args!("fourfold: {line}")));
    Ok(if failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
