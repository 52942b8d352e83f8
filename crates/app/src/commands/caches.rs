//! `fourfold caches`: shows the caches of a running server, and changes their limits.

mod read_ahead;
mod shown;
mod view;

use std::io::IsTerminal;
use std::process::ExitCode;
use std::time::Duration;

use admin::control::{self, AskError, CachesAnswer, CachesRequest, CachesStatus};
use admin::settings::{Edit, EditError};

use crate::cli::{Caches, CachesCommand, SetCaches, Where};
use crate::host::here;
use crate::terminal::asking::patiently;
use crate::terminal::{exit, out};

pub(crate) use shown::{percent, size};
pub(crate) use view::CachesView;

/// Clears the terminal.
const CLEAR: &str = "\x1b[2J\x1b[H";

/// The settings that keep the limits: the cache's name, and the key in `[server]`.
pub(crate) const KEYS: [(&str, &str); 3] =
    [("directory", "cache-size"), ("files", "cache-files"), ("buffers", "cache-buffers")];

/// Shows the caches, or executes the subcommand.
pub(crate) fn run(asked: &Caches) -> anyhow::Result<ExitCode> {
    match &asked.command {
        Some(CachesCommand::Set(asked)) => set(asked),
        None => show(asked),
    }
}

fn show(asked: &Caches) -> anyhow::Result<ExitCode> {
    let every = asked.watch.map(Duration::from_secs);
    loop {
        let status = match ask(&asked.place)? {
            Ok(status) => status,
            Err(code) => return Ok(code),
        };
        match (asked.json, every) {
            (true, None) => out::json(&status)?,
            (true, Some(_)) => out::line(serde_json::to_string(&status)?)?,
            (false, _) => {
                let clear = if every.is_some() && std::io::stdout().is_terminal() { CLEAR } else { "" };
                out::print(format_args!("{clear}{}", shown::table(&status)))?;
            }
        }
        let Some(every) = every else { return Ok(ExitCode::SUCCESS) };
        std::thread::sleep(every);
    }
}

/// The caches of the server of this place, or the exit code if there is no answer.
pub(crate) fn ask(place: &Where) -> anyhow::Result<Result<CachesStatus, ExitCode>> {
    let state = match here::state(place)? {
        Ok(state) => state,
        Err(diagnostics) => return Ok(Err(exit::refused(&diagnostics))),
    };
    match patiently(|_| control::caches(&state, CachesRequest::Show)) {
        Ok(CachesAnswer::Shown(status)) => Ok(Ok(*status)),
        Ok(_) => anyhow::bail!("the server answered something else; is it of another version?"),
        Err(error @ AskError::NoServer(_)) => Ok(Err(exit::no_server(&error))),
        Err(error) => Err(error.into()),
    }
}

fn set(asked: &SetCaches) -> anyhow::Result<ExitCode> {
    let limits: Vec<(String, String)> = match asked.limits.iter().map(|text| assignment(text)).collect() {
        Ok(limits) => limits,
        Err(error) => {
            out::error_line(format_args!("fourfold: {error}"));
            return Ok(ExitCode::from(exit::REFUSED));
        }
    };
    let state = match here::state(&asked.place)? {
        Ok(state) => state,
        Err(diagnostics) => return Ok(exit::refused(&diagnostics)),
    };
    let request = CachesRequest::Set { limits: limits.clone() };
    match patiently(|_| control::caches(&state, request)) {
        Ok(CachesAnswer::Done(lines)) => lines.into_iter().try_for_each(out::done)?,
        Ok(_) => anyhow::bail!("the server answered something else; is it of another version?"),
        Err(error @ AskError::NoServer(_)) => return Ok(exit::no_server(&error)),
        Err(AskError::Refused(lines)) => {
            lines.iter().for_each(|line| out::error_line(format_args!("fourfold: {line}")));
            return Ok(ExitCode::from(exit::REFUSED));
        }
        Err(error) => return Err(error.into()),
    }
    if asked.keep { keep(&asked.place, &limits) } else { Ok(ExitCode::SUCCESS) }
}

/// Writes the limits into the settings file.
fn keep(place: &Where, limits: &[(String, String)]) -> anyhow::Result<ExitCode> {
    let arguments = here::of_server(place)?;
    let written = Edit::open(&arguments).and_then(|mut edit| {
        for (name, limit) in limits {
            let key = KEYS.iter().find(|(cache, _)| cache == name).map(|(_, key)| *key);
            let unkept = || EditError::Failed(format!("the cache `{name}` has no setting"));
            edit.set_server(key.ok_or_else(unkept)?, limit)?;
        }
        edit.save(&arguments)
    });
    match written {
        Ok(_) => {
            out::done("the settings file has it, too")?;
            Ok(ExitCode::SUCCESS)
        }
        Err(EditError::Refused(diagnostics)) => Ok(exit::refused(&diagnostics)),
        Err(error) => anyhow::bail!("the running server has it, but the settings file has not: {error}"),
    }
}

fn assignment(text: &str) -> anyhow::Result<(String, String)> {
    let (name, limit) = text
        .split_once('=')
        .ok_or_else(|| anyhow::anyhow!("{text:?} is no cache with a limit: write directory=64M"))?;
    Ok((name.trim().to_owned(), limit.trim().to_owned()))
}
