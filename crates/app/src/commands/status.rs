//! `fourfold status`: shows the state of a running server, once or again and again.

mod watch;

use std::process::ExitCode;

use admin::control::{self, AskError};

use crate::cli::Status;
use crate::host::here;
use crate::terminal::asking::patiently;
use crate::terminal::{exit, out};

/// Asks the server of the state folder and prints its answer.
pub(crate) fn run(arguments: &Status) -> anyhow::Result<ExitCode> {
    let state = match here::state(&arguments.state)? {
        Ok(state) => state,
        Err(diagnostics) => return Ok(exit::refused(&diagnostics)),
    };
    if let Some(seconds) = arguments.watch {
        return watch::run(&state, std::time::Duration::from_secs(seconds), arguments.json);
    }
    match patiently(|_| control::status(&state)) {
        Ok(status) if arguments.json => out::json(&status)?,
        Ok(status) => out::print(status)?,
        Err(error @ AskError::NoServer(_)) => return Ok(exit::no_server(&error)),
        Err(error) => return Err(error.into()),
    }
    Ok(ExitCode::SUCCESS)
}
