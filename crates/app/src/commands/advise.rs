//! `fourfold advise`: what would make a running server faster, in words with their numbers.

mod curve;
mod formats;
mod rules;
mod whatif;
mod words;

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read;
use std::path::PathBuf;
use std::process::ExitCode;

use admin::control::{
    self, Advice, AdviceRequest, AskError, CachesAnswer, CachesRequest, LoadCurve, Report, ShareMounts,
    Status,
};
use admin::settings::units::parse_size;
use anyhow::Context;
use vfs::backend::host::as_ourselves;

use self::curve::Curve;
use self::whatif::WhatIf;
use self::words::Facts;
use crate::cli::{Advise, Where};
use crate::host::here;
use crate::serve::running::Running;
use crate::terminal::asking::patiently;
use crate::terminal::{exit, out};

/// Bytes per second that each active user must have, if the question does not say it.
pub(crate) const USUAL_FLOOR: &str = "1MB";

/// Asks the server, with the measurements, and prints the advice.
pub(crate) fn run(asked: &Advise) -> anyhow::Result<ExitCode> {
    if asked.mount {
        return mount(asked);
    }
    match WhatIf::of(asked) {
        Ok(None) => {}
        Ok(Some(machine)) => return say(&machine.advice(), asked.json),
        Err(error) => return Ok(refused(&error)),
    }
    let typed = asked.floor.as_deref().unwrap_or(USUAL_FLOOR);
    let floor = match floor(typed) {
        Ok(floor) => floor,
        Err(error) => return Ok(refused(&format!("`--floor {typed}` {error}"))),
    };
    let mut curves = Vec::new();
    for path in &asked.bench {
        curves.extend(read(path)?);
    }
    let curves = curve::most_telling(&curves).into_iter().map(LoadCurve::from).collect();
    let request = CachesRequest::Advise(AdviceRequest { floor, curves });
    let advice = match ask(&asked.place, request)? {
        Ok(CachesAnswer::Advice(advice)) => advice,
        Ok(_) => anyhow::bail!(STRANGE),
        Err(code) => return Ok(code),
    };
    say(&advice, asked.json)
}

fn say(advice: &[Advice], is_json: bool) -> anyhow::Result<ExitCode> {
    if is_json {
        out::json(&advice)?;
    } else {
        out::print(text(advice))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn refused(why: &str) -> ExitCode {
    out::error_line(format_args!("fourfold: {why}"));
    ExitCode::from(exit::REFUSED)
}

const STRANGE: &str = "the server answered something else; is it of another version?";

/// The answer of the server of this place, or the exit code if there is no answer.
fn ask(place: &Where, request: CachesRequest) -> anyhow::Result<Result<CachesAnswer, ExitCode>> {
    let state = match here::state(place)? {
        Ok(state) => state,
        Err(diagnostics) => return Ok(Err(exit::refused(&diagnostics))),
    };
    match patiently(|_| control::caches(&state, request)) {
        Ok(answer) => Ok(Ok(answer)),
        Err(error @ AskError::NoServer(_)) => Ok(Err(exit::no_server(&error))),
        Err(error) => Err(error.into()),
    }
}

/// The speed that was typed: `1MB`, `15K`.
pub(crate) fn floor(text: &str) -> Result<u64, &'static str> {
    parse_size(text).filter(|floor| *floor > 0).ok_or("is no speed: write a size such as 1MB or 15K")
}

/// The advice of a running server.
pub(crate) fn answer(running: &Running, asked: AdviceRequest) -> Result<Vec<Advice>, Vec<String>> {
    if asked.floor == 0 {
        return Err(vec!["each active user must have more than 0 bytes per second".into()]);
    }
    let curves: Result<Vec<Curve>, String> = asked.curves.into_iter().map(Curve::try_from).collect();
    let curves = curves.map_err(|error| vec![error])?;
    let CachesAnswer::Shown(caches) = running.caches(CachesRequest::Show)? else {
        return Err(vec!["this server has no caches".into()]);
    };
    let status = running.status();
    let files = as_ourselves(|| files(&status)).ok().flatten();
    let facts = Facts { status: *caches, users: users(&status), files, curves, floor: asked.floor as f64 };
    Ok(words::all(&facts))
}

/// The curves of the raw data of a measurement.
pub(crate) fn curves(data: impl Read) -> std::io::Result<Vec<LoadCurve>> {
    let curves = curve::curves(&bench::record::read(data)?);
    Ok(curve::most_telling(&curves).into_iter().map(LoadCurve::from).collect())
}

fn read(path: &PathBuf) -> anyhow::Result<Vec<Curve>> {
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
        let above = || share.path.parent().map(rustix::fs::statvfs)?.ok(); // `%U` of homes is no folder
        let space = rustix::fs::statvfs(&share.path).ok().or_else(above)?;
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
        let mut title = advice.topic.clone();
        title[..1].make_ascii_uppercase();
        format!("{title}\n{}\n", advice.text.iter().map(|line| format!("  {line}\n")).collect::<String>())
    };
    advice.iter().map(block).collect::<String>().trim_end().to_owned() + "\n"
}

fn mount(asked: &Advise) -> anyhow::Result<ExitCode> {
    let mounts = match ask(&asked.place, CachesRequest::Mounts)? {
        Ok(CachesAnswer::Mounts(mounts)) => mounts,
        Ok(_) => anyhow::bail!(STRANGE),
        Err(code) => return Ok(code),
    };
    if asked.json {
        out::json(&mounts)?;
        return Ok(ExitCode::SUCCESS);
    }
    out::print(mounts.iter().map(mount_text).collect::<Vec<_>>().join("\n"))?;
    if let Ok(state) = here::state(&asked.place)?
        && let Ok(status) = control::status(&state)
        && !status.doctor.protocols.is_empty()
    {
        out::line("\nClients, by what they are and what they have done since the server began")?;
        for advice in &status.doctor.protocols {
            out::print(format_args!("  {}", advice.to_string().replace("\n    ", "\n      ")))?;
        }
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
