//! `fourfold disconnect`: ends sessions, or closes a file that they have open.

use std::process::ExitCode;

use admin::control::{self, AskError};
use anyhow::Context;

use crate::cli;
use crate::host::here;
use crate::terminal::asking::patiently;
use crate::terminal::{exit, out};

/// Sends the request to the server of the state folder.
pub(crate) fn run(arguments: &cli::Disconnect) -> anyhow::Result<ExitCode> {
    let state = match here::state(&arguments.state)? {
        Ok(state) => state,
        Err(diagnostics) => return Ok(exit::refused(&diagnostics)),
    };
    let file = arguments
        .file
        .as_ref()
        .map(|file| std::path::absolute(file).with_context(|| format!("{} is no path", file.display())));
    let what = control::Disconnect {
        user: arguments.user.clone(),
        client: arguments.client.map(|client| client.0),
        connection: arguments.connection.map(|connection| connection.0),
        file: file.transpose()?,
    };
    match patiently(|_| control::disconnect(&state, &what)) {
        Ok(lines) => lines.into_iter().try_for_each(out::done)?,
        Err(error @ AskError::NoServer(_)) => return Ok(exit::no_server(&error)),
        Err(error) => return Err(error.into()),
    }
    Ok(ExitCode::SUCCESS)
}
