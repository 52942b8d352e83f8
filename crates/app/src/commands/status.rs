//! `fourfold status`: shows the state of a running server, once or again and again.

mod watch;

use std::path::Path;
use std::process::ExitCode;

use admin::control::{self, AskError, RightsAnswer, RightsQuestion, RightsRequest};

use crate::cli::Status;
use crate::host::here;
use crate::terminal::asking::patiently;
use crate::terminal::color::{self, Tone};
use crate::terminal::{exit, out};

/// Asks the server of the state folder and prints its answer.
pub(crate) fn run(arguments: &Status) -> anyhow::Result<ExitCode> {
    let state = match here::state(&arguments.state)? {
        Ok(state) => state,
        Err(diagnostics) => return Ok(exit::refused(&diagnostics)),
    };
    if let Some(seconds) = arguments.watch {
        return watch::run(&state, std::time::Duration::from_secs(seconds), arguments.json);
    }
    match patiently(|_| control::status(&state)) {
        Ok(status) if arguments.json => out::json(&status)?,
        Ok(status) => {
            let refused = refused(&state, &status);
            match arguments.all {
                true => out::print(in_color(&status.to_string()))?,
                false => out::print(in_color(&status.brief().to_string()))?,
            }
            out::print(refused)?;
        }
        Err(error @ AskError::NoServer(_)) => return Ok(exit::no_server(&error)),
        Err(error) => return Err(error.into()),
    }
    Ok(ExitCode::SUCCESS)
}

/// The text with its headings in bold, and what needs attention in colour.
fn in_color(text: &str) -> String {
    let stdout = std::io::stdout();
    if !color::is_shown(&stdout) {
        return text.to_owned();
    }
    let line = |line: &str| {
        let tone = match line {
            _ if line.starts_with("  critical ") => Tone::Bad,
            _ if line.starts_with("  warning ") => Tone::Doubtful,
            _ if line.starts_with(' ') || !line.contains(": ") => return format!("{line}\n"),
            _ => Tone::Title,
        };
        format!("{}\n", color::painted(line, tone, &stdout))
    };
    text.lines().map(line).collect()
}

/// The shares that are asked.
const MOST_SHARES: usize = 100;

/// Users of a share that may do less in its folder than the share promises.
fn refused(state: &Path, status: &control::Status) -> String {
    let mut text = String::new();
    for share in status.shares.iter().take(MOST_SHARES) {
        let question = RightsQuestion::Show;
        let request = RightsRequest { share: share.name.clone(), path: Vec::new(), question };
        // A share of homes has no folder of its own to look at.
        let Ok(RightsAnswer::Shown(rights)) = control::rights(state, request, &mut |_| {}) else { continue };
        for one in rights.refused {
            text.push_str(&format!("  {}: {} may {} ({})\n", share.name, one.who, one.summary, one.why));
        }
    }
    if text.is_empty() {
        return text;
    }
    format!("\nLess than the share promises; `fourfold rights show SHARE` says more\n{text}")
}
