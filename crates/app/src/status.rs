//! `fourfold status`: what a running server is doing.

use std::process::ExitCode;

use admin::control::{self, AskError};

use crate::cli::Status;
use crate::{exit, here};

/// Asks the server of the state folder and prints its answer.
pub(crate) fn run(arguments: &Status) -> anyhow::Result<ExitCode> {
    let state = match here::state(&arguments.state)? {
        Ok(state) => state,
        Err(diagnostics) => return Ok(exit::refused(&diagnostics)),
    };
    match control::status(&state) {
        Ok(status) if arguments.json => println!("{}", serde_json::to_string_pretty(&status)?),
        Ok(status) => print!("{status}"),
        Err(error @ AskError::NoServer(_)) => {
            eprintln!("fourfold: {error}");
            return Ok(ExitCode::from(exit::NO_SERVER));
        }
        Err(error) => return Err(error.into()),
    }
    Ok(ExitCode::SUCCESS)
}
