//! `fourfold backups`: the backups of Macs, and other disk images.

mod browse;
mod copy;
mod local;
mod points;

use std::process::ExitCode;

use admin::Settings;

use crate::cli::BackupsCommand;
use crate::host::here;
use crate::terminal::exit;

/// Executes a command.
pub(crate) fn run(command: &BackupsCommand) -> anyhow::Result<ExitCode> {
    let place = match command {
        BackupsCommand::Points(asked) => &asked.place,
        BackupsCommand::Browse(asked) => &asked.place,
        BackupsCommand::Cp(asked) => &asked.place,
    };
    let settings = match Settings::load(&here::of_server(place)?) {
        Ok(settings) => settings,
        Err(diagnostics) => return Ok(exit::refused(&diagnostics)),
    };
    match command {
        BackupsCommand::Points(asked) => points::run(&settings, asked),
        BackupsCommand::Browse(asked) => browse::run(&settings, asked),
        BackupsCommand::Cp(asked) => copy::run(&settings, asked),
    }
}
