//! `fourfold disks`: the health of the machine's disks and file systems.

use std::process::ExitCode;

use admin::State;
use admin::control::{DiskHealth, Health};

use crate::cli::Disks;
use crate::host::{health, here};
use crate::terminal::{exit, out};

/// Looks at them, and says what was seen.
pub(crate) fn run(arguments: &Disks) -> anyhow::Result<ExitCode> {
    let state = match here::state(&arguments.place)? {
        Ok(state) => state,
        Err(diagnostics) => return Ok(exit::refused(&diagnostics)),
    };
    let seen = health::look(&health::read(&state));
    if arguments.keep {
        State::folder(&state)?;
        health::write(&state, &seen)?;
    }
    let is_well = is_well(&seen);
    match (arguments.json, arguments.keep && is_well) {
        (true, _) => out::json(&seen)?,
        (false, true) => {}
        (false, false) => out::print(text(&seen))?,
    }
    // A timer that keeps has done its work; the server raises alerts.
    Ok(if is_well || arguments.keep { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn is_well(seen: &DiskHealth) -> bool {
    let unwell = |health: Health| health >= Health::Worn;
    let disks = seen.disks.iter().map(|disk| disk.health);
    seen.why.is_none() && !disks.chain(seen.filesystems.iter().map(|one| one.health)).any(unwell)
}

fn text(seen: &DiskHealth) -> String {
    let text = seen.to_string();
    match text.trim_start() {
        "" => "no disk of this machine says anything of itself\n".to_owned(),
        text => text.to_owned(),
    }
}
