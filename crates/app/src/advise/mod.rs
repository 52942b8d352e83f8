//! `fourfold advise`: what would make a running server faster, in words with their numbers.

mod curve;
mod formats;
mod rules;
mod words;

use std::collections::BTreeSet;
use std::fs::File;
use std::path::PathBuf;
use std::process::ExitCode;

use admin::control::{self, AskError, CachesAnswer, CachesRequest, ShareMounts, Status};
use admin::settings::units::parse_size;
use anyhow::Context;

use self::words::{Advice, Facts};
use crate::asking::patiently;
use crate::cli::Advise;
use crate::{caches, exit, here, out};

/// Asks the server, reads the measurements and prints the advice.
pub(crate) fn run(asked: &Advise) -> anyhow::Result<ExitCode> {
    if asked.mount {
        return mount(asked);
    }
    let Some(floor) = parse_size(&asked.floor).filter(|floor| *floor > 0) else {
        out::error_line(format_args!(
            "fourfold: `--floor {}` is no speed: write a size such as 1MB or 15K",
            asked.floor
        ));
        return Ok(ExitCode::from(exit::REFUSED));
    };
    let status = match caches::ask(&asked.place)? {
        Ok(status) => status,
        Err(code) => return Ok(code),
    };
    let server = here::state(&asked.place)?.ok().map(|state| control::status(&state)).transpose()?;
    let mut curves = Vec::new();
    for path in &asked.bench {
        curves.extend(read(path)?);
    }
    let users = server.as_ref().map_or(0, users);
    let files = server.as_ref().and_then(files);
    let advice = words::all(&Facts { status, users, files, curves, floor: floor as f64 });
    if asked.json {
        out::json(&advice)?;
    } else {
        out::print(text(&advice))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn read(path: &PathBuf) -> anyhow::Result<Vec<curve::Curve>> {
    let shown = || format!("the measurement {} cannot be read", path.display());
    let records = bench::record::read(File::open(path).with_context(shown)?).with_context(shown)?;
    let curves = curve::curves(&records);
    anyhow::ensure!(
        !curves.is_empty(),
        "{} has no speed in bytes: it is made by `fourfold bench --output NAME --workload seq-read`",
        path.display()
    );
    Ok(curves)
}

/// The users who are connected; a client without one counts by its address.
fn users(status: &Status) -> usize {
    let name = |session: &admin::control::SessionStatus| {
        session.user.clone().unwrap_or_else(|| session.peer.ip().to_string())
    };
    status.sessions.iter().map(name).collect::<BTreeSet<String>>().len()
}

/// Files and folders of the shares' file systems, each counted once. `None`: one of them does not tell.
fn files(status: &Status) -> Option<u64> {
    let mut seen = BTreeSet::new();
    let mut sum = 0;
    for share in &status.shares {
        let space = rustix::fs::statvfs(&share.path).ok()?;
        if space.f_files == 0 {
            return None;
        }
        if seen.insert(space.f_fsid) {
            sum += space.f_files.saturating_sub(space.f_ffree);
        }
    }
    Some(sum)
}

fn text(advice: &[Advice]) -> String {
    let block = |advice: &Advice| {
        let mut title = advice.topic.to_owned();
        title[..1].make_ascii_uppercase();
        format!("{title}\n{}\n", advice.text.iter().map(|line| format!("  {line}\n")).collect::<String>())
    };
    advice.iter().map(block).collect::<String>().trim_end().to_owned() + "\n"
}

fn mount(asked: &Advise) -> anyhow::Result<ExitCode> {
    let state = match here::state(&asked.place)? {
        Ok(state) => state,
        Err(diagnostics) => return Ok(exit::refused(&diagnostics)),
    };
    let mounts = match patiently(|_| control::caches(&state, CachesRequest::Mounts)) {
        Ok(CachesAnswer::Mounts(mounts)) => mounts,
        Ok(_) => anyhow::bail!("the server answered something else; is it of another version?"),
        Err(error @ AskError::NoServer(_)) => return Ok(exit::no_server(&error)),
        Err(error) => return Err(error.into()),
    };
    if asked.json {
        out::json(&mounts)?;
    } else {
        out::print(mounts.iter().map(mount_text).collect::<Vec<_>>().join("\n"))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn mount_text(share: &ShareMounts) -> String {
    let mut text = format!("{}\n", share.share);
    for mount in &share.mounts {
        text.push_str(&format!("\n  {}\n    {}\n", mount.client, mount.command));
        let widest = mount.reasons.iter().map(|(option, _)| option.chars().count()).max().unwrap_or(0);
        for (option, reason) in &mount.reasons {
            text.push_str(&format!("      {option:<widest$}  {reason}\n"));
        }
    }
    text
}
