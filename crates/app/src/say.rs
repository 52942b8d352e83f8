//! `fourfold say`: a message to those who are logged in.

use std::process::ExitCode;

use admin::control::{self, AskError};

use crate::cli::Say;
use crate::{exit, here};

/// Asks the server of the state folder to show a message.
pub(crate) fn run(arguments: &Say) -> anyhow::Result<ExitCode> {
    let state = match here::state(&arguments.state)? {
        Ok(state) => state,
        Err(diagnostics) => return Ok(exit::refused(&diagnostics)),
    };
    match control::say(&state, &arguments.text) {
        Ok(lines) => lines.iter().for_each(|line| println!("{line}")),
        Err(error @ AskError::NoServer(_)) => {
            eprintln!("fourfold: {error}");
            return Ok(ExitCode::from(exit::NO_SERVER));
        }
        Err(error) => return Err(error.into()),
    }
    Ok(ExitCode::SUCCESS)
}
