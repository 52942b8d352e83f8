//! `fourfold lun`: LUNs. A running server does the work; without one the command does it.

use std::path::Path;
use std::process::ExitCode;

use admin::control::{self, AskError, LunAnswer, LunRequest, LunStatus, NewLunRequest, Progress};
use admin::luns::split;
use admin::settings::units::{format_size, is_without_unit, parse_size};
use admin::settings::{candidates, find_file};
use admin::{Protocol, Settings, State, recipe};
use anyhow::{Context, bail};
use vfs::index::Index;

use crate::cli::{Create, LunCommand, LunSnapshot, Where};
use crate::gateway;
use crate::host::here;
use crate::shares::luns::{self, Desk, Work};
use crate::shares::quotas;
use crate::shares::volumes::Volumes;
use crate::terminal::asking::patiently;
use crate::terminal::progress::ProgressDisplay;
use crate::terminal::{exit, out};

mod snapshot;
mod table;

/// Makes, changes, removes and lists LUNs, with or without a running server.
pub(crate) fn run(command: &LunCommand) -> anyhow::Result<ExitCode> {
    let place = place(command);
    let state = match here::state(place)? {
        Ok(state) => state,
        Err(diagnostics) => return Ok(exit::refused(&diagnostics)),
    };
    let ask = |request| ask(&state, place, request);
    let done = match command {
        LunCommand::List { json, .. } => ask(LunRequest::List)?.map(|answer| list(&answer, *json)),
        LunCommand::Show { named, json } => {
            let (share, name) = names(&named.lun)?;
            ask(LunRequest::List)?.map(|answer| show(&one(answer, share, name)?, *json))
        }
        LunCommand::Create(create) => ask(LunRequest::Create(new(create)?))?.map(|answer| say(&answer)),
        LunCommand::Resize { named, size, shrink, caution } => {
            let (share, name) = names(&named.lun)?;
            let size = bytes(size)?;
            let (lun, shown) = (&named.lun, format_size(size));
            let what = match shrink {
                true => format!("what is behind {shown} of {lun} is lost"),
                false => format!("the LUN {lun} gets {shown}"),
            };
            if (*shrink || caution.dry_run) && !caution.permits(&what)? {
                return Ok(ExitCode::SUCCESS);
            }
            let (share, name) = (share.into(), name.into());
            ask(LunRequest::Resize { share, name, size, shrink: *shrink })?.map(|answer| say(&answer))
        }
        LunCommand::Remove { named, keep_file, force, caution } => {
            let (share, name) = names(&named.lun)?;
            let there = match ask(LunRequest::List)? {
                Ok(answer) => one(answer, share, name)?,
                Err(code) => return Ok(code),
            };
            if !caution.permits(&fate(&there, *keep_file))? {
                return Ok(ExitCode::SUCCESS);
            }
            let (share, name) = (share.into(), name.into());
            let request = LunRequest::Remove { share, name, keep_file: *keep_file, force: *force };
            ask(request)?.map(|answer| say(&answer))
        }
        LunCommand::Clone { named, new, copy } => {
            let (share, name) = any_names(&named.lun)?;
            let (share, name, new) = (share.into(), name, new.clone());
            ask(LunRequest::Clone { share, name, new, copy: *copy })?.map(|answer| say(&answer))
        }
        LunCommand::Snapshot(command) => snapshot::run(command, ask)?,
    };
    match done {
        Ok(said) => said.map(|()| ExitCode::SUCCESS),
        Err(code) => Ok(code),
    }
}

fn place(command: &LunCommand) -> &Where {
    match command {
        LunCommand::Create(create) => &create.named.state,
        LunCommand::List { state, .. } | LunCommand::Snapshot(LunSnapshot::List { state, .. }) => state,
        LunCommand::Snapshot(LunSnapshot::Create { named, .. } | LunSnapshot::Remove { named, .. }) => {
            &named.state
        }
        LunCommand::Show { named, .. }
        | LunCommand::Resize { named, .. }
        | LunCommand::Remove { named, .. }
        | LunCommand::Clone { named, .. } => &named.state,
    }
}

/// Sends the request to the server of the state folder; without one, executes it here. `Err`: the
/// settings are refused, which was reported.
fn ask(state: &Path, place: &Where, request: LunRequest) -> anyhow::Result<Result<LunAnswer, ExitCode>> {
    let progress = ProgressDisplay::default();
    let asked = patiently(|heard| {
        control::lun(state, request.clone(), &mut |now| {
            heard.something();
            progress.show(now);
        })
    });
    progress.end();
    match asked {
        Err(AskError::NoServer(_)) => {}
        other => return Ok(Ok(other?)),
    }
    let arguments = here::of_server(place)?;
    if arguments.config.is_none() && find_file(arguments.privileged, &arguments.folder).is_none() {
        return without_settings(state, &request).map(Ok);
    }
    let settings = match Settings::load(&arguments) {
        Ok(settings) => settings,
        Err(diagnostics) => return Ok(Err(exit::refused(&diagnostics))),
    };
    let answer = alone(&settings, request, &|now| {
        progress.show(now);
        true
    });
    progress.end();
    answer.map(Ok)
}

/// Without a server, and without settings that have the shares' folders: uses only the state
/// folder.
fn without_settings(state: &Path, request: &LunRequest) -> anyhow::Result<LunAnswer> {
    let share = match request {
        LunRequest::List if !state.exists() => return Ok(LunAnswer::Luns(Vec::new())),
        LunRequest::List => return Ok(LunAnswer::Luns(luns::remembered(&State::open(state)?)?)),
        LunRequest::Create(new) => &new.share,
        LunRequest::Resize { share, .. }
        | LunRequest::Snapshot { share, .. }
        | LunRequest::Remove { share, .. }
        | LunRequest::Clone { share, .. } => share,
    };
    bail!(
        "no server runs, and no settings file names the share {share:?}; start `fourfold serve`, or name the settings \
         with --config FILE"
    )
}

/// Executes a request without a server.
fn alone(
    settings: &Settings,
    request: LunRequest,
    progress: &dyn Fn(Progress) -> bool,
) -> anyhow::Result<LunAnswer> {
    if settings.server.cluster.is_some() && request != LunRequest::List {
        bail!(
            "the servers of a cluster have their LUNs in common: start the server, which changes them for all"
        );
    }
    let state = State::open(&settings.server.state)?;
    let index = Index::open(state.path()).context("the index in the state folder cannot be used")?;
    quotas::forget(state.path())?;
    let volumes = Volumes::new(index, state.path());
    let port = candidates(settings.server.ports.of(Protocol::Iscsi), Protocol::Iscsi, here::privileged())
        .into_iter()
        .next();
    let at = port.filter(|port| *port != 0).map(|port| (recipe::address(&settings.server.listen), port));
    let (work, served) = (Work::default(), None);
    let (server_id, table) = (state.server_id(), &gateway::luns::table(&volumes));
    let desk = Desk { table, server_id, settings, volumes: &volumes, work: &work, at, served };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(desk.answer(request, progress))
}

fn names(lun: &str) -> anyhow::Result<(&str, &str)> {
    split(lun).ok_or_else(|| {
        exit::usage_error(format!(
            "{lun:?} is no LUN: write SHARE/NAME, the name of 1 to 64 letters and digits of ASCII, `-`, `_` and `.`"
        ))
    })
}

/// The share and the LUN of SHARE/NAME, or of a snapshot SHARE/NAME@SNAPSHOT.
fn any_names(lun: &str) -> anyhow::Result<(&str, String)> {
    match lun.split_once('@') {
        Some(_) => snapshot::names(lun).map(|(share, name, of)| (share, snapshot::lun_name(name, of))),
        None => names(lun).map(|(share, name)| (share, name.to_owned())),
    }
}

fn bytes(size: &str) -> anyhow::Result<u64> {
    if is_without_unit(size) {
        let what = format!("{size:?} has no unit; write {size}G for GiB, or {size}B for bytes");
        return Err(exit::usage_error(what));
    }
    let no_size = || exit::usage_error(format!("{size:?} is no size; write one such as 500G or \"1.5 TiB\""));
    parse_size(size).ok_or_else(no_size)
}

fn new(create: &Create) -> anyhow::Result<NewLunRequest> {
    let (share, name) = names(&create.named.lun)?;
    let pattern = |name: &&String| name.is_empty() || name.contains(char::is_whitespace);
    if let Some(wrong) = create.initiators.iter().chain(&create.readers).find(pattern) {
        let what =
            format!("{wrong:?} is no name of initiators; write one such as 'iqn.1993-08.org.debian:*'");
        return Err(exit::usage_error(what));
    }
    Ok(NewLunRequest {
        share: share.into(),
        name: name.into(),
        size: create.size.as_deref().map(bytes).transpose()?,
        block_size: create.block_size.parse()?,
        file: create.file.clone(),
        read_only: create.read_only,
        initiators: create.initiators.clone(),
        readers: create.readers.clone(),
        target: create.target.clone(),
        number: create.number,
    })
}

fn say(answer: &LunAnswer) -> anyhow::Result<()> {
    if let LunAnswer::Done(lines) = answer {
        lines.iter().try_for_each(out::done)?;
    }
    Ok(())
}

fn list(answer: &LunAnswer, json: bool) -> anyhow::Result<()> {
    let LunAnswer::Luns(luns) = answer else { bail!("the server answered something else") };
    if json {
        out::json(luns)
    } else if luns.is_empty() {
        Ok(out::line("there are no LUNs; `fourfold lun create SHARE/NAME SIZE` makes one")?)
    } else {
        Ok(out::print(table::list(luns))?)
    }
}

fn show(lun: &LunStatus, json: bool) -> anyhow::Result<()> {
    if json { out::json(lun) } else { Ok(out::print(table::one(lun))?) }
}

fn one(answer: LunAnswer, share: &str, name: &str) -> anyhow::Result<LunStatus> {
    let LunAnswer::Luns(luns) = answer else { bail!("the server answered something else") };
    let missing = || format!("there is no LUN {share}/{name}; `fourfold lun list` shows them");
    luns.into_iter().find(|lun| lun.is(share, name)).with_context(missing)
}

fn fate(lun: &LunStatus, keep_file: bool) -> String {
    let (name, size) = (lun.full_name(), format_size(lun.size));
    let fate = match lun.own_file && !keep_file {
        true => format!("all {size} of it are lost"),
        false => format!("its file {} stays", lun.file.display()),
    };
    format!("the LUN {name} is removed, and {fate}")
}
