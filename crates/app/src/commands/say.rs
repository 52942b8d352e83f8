//! `fourfold say`: shows a message to connected users.

use std::process::ExitCode;

use admin::control::{self, AskError};

use crate::cli::Say;
use crate::host::here;
use crate::terminal::asking::patiently;
use crate::terminal::{exit, out};

/// Sends the message to the server of the state folder.
pub(crate) fn run(arguments: &Say) -> anyhow::Result<ExitCode> {
    let state = match here::state(&arguments.state)? {
        Ok(state) => state,
        Err(diagnostics) => return Ok(exit::refused(&diagnostics)),
    };
    let to = control::Disconnect {
        user: arguments.user.clone(),
        client: arguments.client.map(|client| client.0),
        connection: arguments.connection.map(|connection| connection.0),
        file: None,
    };
    match patiently(|_| control::say(&state, &arguments.text, &to)) {
        Ok(lines) => lines.into_iter().try_for_each(out::done)?,
        Err(error @ AskError::NoServer(_)) => return Ok(exit::no_server(&error)),
        Err(error) => return Err(error.into()),
    }
    Ok(ExitCode::SUCCESS)
}
