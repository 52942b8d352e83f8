//! `fourfold backups browse`: the files in an image as a hidden share of one person, which the running server serves.

use std::process::ExitCode;

use admin::Settings;
use admin::control::{self, BrowseAnswer, BrowseRequest, BrowsedStatus, NewBrowse, TypedPassphrase};
use anyhow::{Context, bail};
use jiff::Timestamp;

use crate::cli::BrowseBackup;
use crate::terminal::asking::patiently;
use crate::terminal::out;
use crate::terminal::password::{self, Source};

/// How often a passphrase is asked.
const TRIES: usize = 3;

/// Begins, shows or ends it.
pub(super) fn run(settings: &Settings, asked: &BrowseBackup) -> anyhow::Result<ExitCode> {
    let ask = |request: BrowseRequest| {
        patiently(|heard| {
            control::browse(&settings.server.state, request.clone(), &mut |_| heard.something())
        })
    };
    if asked.list {
        return shown(ask(BrowseRequest::List)?, asked.json);
    }
    if let Some(name) = &asked.end {
        return shown(ask(BrowseRequest::End { name: name.clone() })?, asked.json);
    }
    let place = asked.mac.clone().context("an image is named")?;
    let mut new = NewBrowse {
        place: place.clone(),
        account: asked.account.clone(),
        minutes: asked.hours * 60,
        passphrase: None,
    };
    let mut answer = ask(BrowseRequest::Begin(new.clone()))?;
    for attempt in 0..if asked.passphrase_stdin { 1 } else { TRIES } {
        if answer != BrowseAnswer::NeedsPassphrase {
            break;
        }
        if attempt > 0 {
            out::error_line("fourfold: the passphrase is wrong");
        }
        let from = Source::new(asked.passphrase_stdin, None);
        let typed = password::once(&format!("the encrypted image {place}"), from)?;
        new.passphrase = Some(TypedPassphrase(typed));
        answer = ask(BrowseRequest::Begin(new.clone()))?;
    }
    shown(answer, asked.json)
}

fn shown(answer: BrowseAnswer, json: bool) -> anyhow::Result<ExitCode> {
    match answer {
        BrowseAnswer::NeedsPassphrase => bail!("the passphrase does not open the image"),
        BrowseAnswer::Done(lines) => out::lines(lines)?,
        BrowseAnswer::Shown(all) if json => out::json(&all)?,
        BrowseAnswer::Shown(all) => out::lines(all.iter().map(line))?,
    }
    Ok(ExitCode::SUCCESS)
}

fn line(one: &BrowsedStatus) -> String {
    let until = i64::try_from(one.until).ok().and_then(|secs| Timestamp::from_second(secs).ok());
    let until = until.unwrap_or_default().strftime("%Y-%m-%dT%H:%M:%SZ");
    let snapshot = one.snapshot.as_ref().map(|name| format!("@{name}")).unwrap_or_default();
    format!(
        "{}: {}/{}{snapshot} ({}), for {} over {}, until {until}",
        one.name,
        one.share,
        one.path,
        one.format,
        one.account,
        one.protocols.join(", ")
    )
}
