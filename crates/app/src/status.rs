//! `fourfold status`: shows the state of a running server.

use std::process::ExitCode;

use admin::control::{self, AskError};

use crate::asking::patiently;
use crate::cli::Status;
use crate::{exit, here, out};

/// Asks the server of the state folder and prints its answer.
pub(crate) fn run(arguments: &Status) -> anyhow::Result<ExitCode> {
    let state = match here::state(&arguments.state)? {
        Ok(state) => state,
        Err(diagnostics) => return Ok(exit::refused(&diagnostics)),
    };
    match patiently(|_| control::status(&state)) {
        Ok(status) if arguments.json => out::json(&status)?,
        Ok(status) => out::print(status)?,
        Err(error @ AskError::NoServer(_)) => return Ok(exit::no_server(&error)),
        Err(error) => return Err(error.into()),
    }
    Ok(ExitCode::SUCCESS)
}
