//! `fourfold serve`: shares folders until told to stop.

use std::process::ExitCode;

use admin::Settings;

use crate::cli::Serve;
use crate::{exit, here, log};

/// Checks the settings as a whole, opens the listeners, and only then reads a byte.
pub(crate) fn run(serve: &Serve) -> anyhow::Result<ExitCode> {
    let arguments = serve.arguments(here::privileged(), here::folder()?);
    let settings = match Settings::load(&arguments) {
        Ok(settings) => settings,
        Err(diagnostics) => return Ok(exit::refused(&diagnostics)),
    };
    log::start(&settings.server)?;
    settings.notes.iter().for_each(|note| tracing::warn!("{note}"));
    anyhow::bail!("this build serves no protocol yet")
}
