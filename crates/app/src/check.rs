//! `fourfold check`: checks the settings.

use std::process::ExitCode;

use admin::settings::find_file;
use admin::{Arguments, Settings};

use crate::cli::Check;
use crate::{accounts, exit, here, out, who};

/// Prints all errors, or the accepted settings.
pub(crate) fn run(check: &Check) -> anyhow::Result<ExitCode> {
    let arguments = check.serve.arguments(here::privileged(), here::folder()?);
    let file = arguments.config.clone().or_else(|| find_file(arguments.privileged, &arguments.folder));
    if file.is_none() && arguments.shares.is_empty() {
        out::error_line("fourfold: there is no fourfold.toml here; name a settings file with --config FILE");
        return Ok(ExitCode::from(exit::REFUSED));
    }
    let arguments = Arguments { may_make_folders: true, ..arguments };
    let (settings, explained) = match Settings::load_explained(&arguments) {
        Ok(loaded) => loaded,
        Err(diagnostics) => return Ok(exit::refused(&diagnostics)),
    };
    let unknown = accounts::unknown(&settings.server.state, &settings);
    let notes = settings.notes.iter().chain(&unknown);
    if check.print {
        notes.for_each(out::error_line); // standard output is a settings file
        out::print(explained.text)?;
        return Ok(ExitCode::SUCCESS);
    }
    out::lines(notes)?;
    let shares = settings.shares.len() + settings.absent.len();
    let (what, plural) =
        (file.map_or("the command line".into(), |file| file.display().to_string()), plural(shares));
    out::line(format_args!("{what}: accepted, {shares} share{plural}"))?;
    out::lines(accounts_of(&settings))?;
    Ok(ExitCode::SUCCESS)
}

fn plural(many: usize) -> &'static str {
    if many == 1 { "" } else { "s" }
}

/// A line for each account with its Unix user, if the server runs as the current user.
fn accounts_of(settings: &Settings) -> Vec<String> {
    match accounts::read(&settings.server.state, settings) {
        Ok(directory) => directory.accounts().iter().map(|account| who::line(account, &directory)).collect(),
        Err(error) => vec![format!("the accounts cannot be read: {error:#}")],
    }
}
