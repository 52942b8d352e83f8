//! `fourfold check`: are the settings right?

use std::process::ExitCode;

use admin::settings::find_file;
use admin::{Arguments, Settings};

use crate::cli::Check;
use crate::{accounts, exit, here, who};

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
            accounts_of(&settings).iter().for_each(|line| println!("{line}"));
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// As whom each account acts, if the server runs as the user who asks.
fn accounts_of(settings: &Settings) -> Vec<String> {
    match accounts::read(&settings.server.state, settings) {
        Ok(directory) => directory.accounts().iter().map(|account| who::line(account, &directory)).collect(),
        Err(error) => vec![format!("the accounts cannot be read: {error:#}")],
    }
}
