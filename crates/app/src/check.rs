//! `fourfold check`: are the settings right?

use std::process::ExitCode;

use admin::settings::find_file;
use admin::{Arguments, Settings};

use crate::cli::Check;
use crate::{exit, here};

/// Prints everything that is wrong, or what is accepted.
pub(crate) fn run(check: &Check) -> anyhow::Result<ExitCode> {
    let (privileged, folder) = (here::privileged(), here::folder()?);
    let Some(file) = check.config.clone().or_else(|| find_file(privileged, &folder)) else {
        eprintln!("fourfold: there is no fourfold.toml here; name a settings file with --config FILE");
        return Ok(ExitCode::from(exit::REFUSED));
    };
    let arguments = Arguments { config: Some(file.clone()), ..Arguments::new(privileged, folder) };
    match Settings::load(&arguments) {
        Err(diagnostics) => Ok(exit::refused(&diagnostics)),
        Ok(settings) => {
            settings.notes.iter().for_each(|note| println!("{note}"));
            let shares = settings.shares.len();
            println!("{}: accepted, {shares} share{}", file.display(), if shares == 1 { "" } else { "s" });
            Ok(ExitCode::SUCCESS)
        }
    }
}
