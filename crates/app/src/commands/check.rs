//! `fourfold check`: checks the settings.

mod machine;

pub(crate) use machine::none_served;

use std::path::PathBuf;
use std::process::ExitCode;

use admin::settings::{Place, Severity, find_file};
use admin::{Arguments, Diagnostic, Settings};
use auth::AccountFile;
use serde::Serialize;

use crate::cli::Check;
use crate::gateway::certificates;
use crate::host::here;
use crate::people::{accounts, who};
use crate::terminal::{exit, out};

/// Prints all errors, or the accepted settings.
pub(crate) fn run(check: &Check) -> anyhow::Result<ExitCode> {
    let arguments = check.serve.arguments(here::privileged(), here::folder()?);
    let file = arguments.config.clone().or_else(|| find_file(arguments.privileged, &arguments.folder));
    if file.is_none() && arguments.shares.is_empty() {
        out::error_line("fourfold: there is no fourfold.toml here; name a settings file with --config FILE");
        return Ok(ExitCode::from(exit::REFUSED));
    }
    let arguments = Arguments { may_make_folders: true, ..arguments };
    let loaded = Settings::load_explained(&arguments).and_then(|(mut settings, explained)| {
        let refused = certificates::refused(settings.server.cluster.as_ref());
        let looked = refused.into_iter().chain(machine::look(&settings));
        let (refused, notes): (Vec<_>, Vec<_>) = looked.partition(|one| one.severity == Severity::Error);
        settings.notes.extend(notes);
        if refused.is_empty() { Ok((settings, explained)) } else { Err(refused) }
    });
    let (settings, explained) = match loaded {
        Ok(loaded) => loaded,
        Err(diagnostics) if check.json => {
            out::json(&CheckReport::refused(&diagnostics))?;
            return Ok(ExitCode::from(exit::REFUSED));
        }
        Err(diagnostics) => return Ok(exit::refused(&diagnostics)),
    };
    let stored = AccountFile::read(&settings.server.state).map_err(anyhow::Error::from);
    let unknown = stored.as_ref().map_or_else(|_| Vec::new(), |file| accounts::unknown(file, &settings));
    let notes = settings.notes.iter().chain(&unknown);
    if check.print {
        notes.for_each(out::error_line); // standard output is a settings file
        out::print(explained.text)?;
        return Ok(ExitCode::SUCCESS);
    }
    let shares = settings.shares.len() + settings.absent.len();
    if check.json {
        let diagnostics = notes.map(DiagnosticRecord::of).collect();
        let accounts = accounts_of(stored, &settings);
        out::json(&CheckReport { accepted: true, file, shares, diagnostics, accounts })?;
        return Ok(ExitCode::SUCCESS);
    }
    out::lines(notes)?;
    let (what, plural) =
        (file.map_or("the command line".into(), |file| file.display().to_string()), plural(shares));
    out::line(format_args!("{what}: accepted, {shares} share{plural}"))?;
    out::lines(accounts_of(stored, &settings))?;
    Ok(ExitCode::SUCCESS)
}

/// What `--json` prints. Scripts read it: fields may be added, never renamed or removed.
#[derive(Serialize)]
struct CheckReport {
    accepted: bool,
    /// The settings file, if there is one.
    file: Option<PathBuf>,
    shares: usize,
    diagnostics: Vec<DiagnosticRecord>,
    /// A line for each account.
    accounts: Vec<String>,
}

/// An error or a note.
#[derive(Serialize)]
struct DiagnosticRecord {
    severity: &'static str,
    /// In words.
    place: String,
    /// In a settings file, counted from 1.
    line: Option<usize>,
    column: Option<usize>,
    what: String,
    instead: String,
}

impl CheckReport {
    fn refused(diagnostics: &[Diagnostic]) -> Self {
        let diagnostics: Vec<DiagnosticRecord> = diagnostics.iter().map(DiagnosticRecord::of).collect();
        Self { accepted: false, file: None, shares: 0, diagnostics, accounts: Vec::new() }
    }
}

impl DiagnosticRecord {
    fn of(diagnostic: &Diagnostic) -> Self {
        let (line, column) = match diagnostic.place {
            Place::File { line, column, .. } => (Some(line), Some(column)),
            _ => (None, None),
        };
        Self {
            severity: match diagnostic.severity {
                Severity::Error => "error",
                Severity::Note => "note",
            },
            place: diagnostic.place.to_string(),
            line,
            column,
            what: diagnostic.what.clone(),
            instead: diagnostic.instead.clone(),
        }
    }
}

fn plural(many: usize) -> &'static str {
    if many == 1 { "" } else { "s" }
}

/// A line for each account with its Unix user, if the server runs as the current user.
fn accounts_of(stored: anyhow::Result<AccountFile>, settings: &Settings) -> Vec<String> {
    match stored.and_then(|file| accounts::of(&file, settings)) {
        Ok(directory) => directory.accounts().iter().map(|account| who::line(account, &directory)).collect(),
        Err(error) => vec![format!("the accounts cannot be read: {error:#}")],
    }
}
