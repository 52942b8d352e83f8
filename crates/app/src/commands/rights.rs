//! `fourfold rights`: who may do what with a file or folder, changes of it, and what it is on the disk. A running server does the
//! work, because clients may have the files open; without one the command does it.

mod change;
mod effective;
mod names;
mod place;
mod record;
mod service;
mod shown;
mod top;
mod tree;
mod words;

use std::ffi::{OsStr, OsString};
use std::process::ExitCode;
use std::sync::Arc;

use admin::control::{self, AskError, RightsAnswer, RightsQuestion, RightsReport, RightsRequest};
use admin::{Settings, State};
use anyhow::{Context, bail};
use vfs::index::Index;

use crate::cli::{CheckRights, ResetRights, RightsCommand, Where};
use crate::host::here;
use crate::people::{accounts, groups};
use crate::serve::current::Current;
use crate::shares::volumes::Volumes;
use crate::terminal::asking::patiently;
use crate::terminal::looked_at_bar::LookedAtBar;
use crate::terminal::{exit, out};
pub(crate) use service::RightsService;
pub(crate) use top::{TopRights, top};

/// Executes the subcommand.
pub(crate) fn run(command: &RightsCommand) -> anyhow::Result<ExitCode> {
    let place = match command {
        RightsCommand::Show(asked) => &asked.place,
        RightsCommand::Of(asked) => &asked.at.place,
        RightsCommand::Set(asked) => &asked.place,
        RightsCommand::Unset(asked) => &asked.place,
        RightsCommand::Reset(asked) => &asked.place,
        RightsCommand::Check(asked) => &asked.place,
    };
    let settings = match settings(place)? {
        Ok(settings) => settings,
        Err(diagnostics) => return Ok(exit::refused(&diagnostics)),
    };
    let mut asker = Asker { settings: &settings, alone: None };
    match command {
        RightsCommand::Show(asked) => match asker.ask(&asked.path, RightsQuestion::Show)? {
            RightsAnswer::Shown(status) if asked.json => out::json(&status)?,
            RightsAnswer::Shown(status) => out::print(shown::status(&status))?,
            _ => bail!("{STRANGE}"),
        },
        RightsCommand::Of(asked) => {
            let question = RightsQuestion::Of { person: asked.person.clone() };
            match asker.ask(&asked.at.path, question)? {
                RightsAnswer::Of(answer) if asked.at.json => out::json(&answer)?,
                RightsAnswer::Of(answer) => out::print(shown::person(&answer))?,
                _ => bail!("{STRANGE}"),
            }
        }
        RightsCommand::Set(asked) => {
            let question = RightsQuestion::Set { who: asked.who.clone(), role: Some(asked.role.clone()) };
            return changed(&asker.report(&asked.path, question)?);
        }
        RightsCommand::Unset(asked) => {
            let question = RightsQuestion::Set { who: asked.who.clone(), role: None };
            return changed(&asker.report(&asked.path, question)?);
        }
        RightsCommand::Reset(asked) => return reset(&mut asker, asked),
        RightsCommand::Check(asked) => return check(&mut asker, asked),
    }
    Ok(ExitCode::SUCCESS)
}

const STRANGE: &str = "the server answered something else; is it of another version?";

fn settings(place: &Where) -> anyhow::Result<Result<Settings, Vec<admin::Diagnostic>>> {
    Ok(Settings::load(&here::of_server(place)?))
}

fn changed(report: &RightsReport) -> anyhow::Result<ExitCode> {
    out::print(shown::changes(report, false))?;
    Ok(if report.failed > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn reset(asker: &mut Asker<'_>, asked: &ResetRights) -> anyhow::Result<ExitCode> {
    let question = match &asked.undo {
        Some(record) => RightsQuestion::Undo { record: record.clone() },
        None => RightsQuestion::Reset { recursive: asked.recursive, all: asked.all, dry_run: asked.dry_run },
    };
    let report = asker.report(&asked.path, question)?;
    if asked.json {
        out::json(&report)?;
    } else {
        out::print(shown::changes(&report, asked.dry_run))?;
    }
    Ok(if report.failed > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn check(asker: &mut Asker<'_>, asked: &CheckRights) -> anyhow::Result<ExitCode> {
    let places: Vec<OsString> = match &asked.path {
        Some(path) => vec![path.clone()],
        None => {
            let teams = asker.settings.shares.iter().filter(|share| share.team.is_some());
            teams.map(|share| share.name.clone().into()).collect()
        }
    };
    let reports = places
        .iter()
        .map(|path| asker.report(path, RightsQuestion::Check))
        .collect::<anyhow::Result<Vec<_>>>()?;
    if asked.json {
        out::json(&serde_json::json!({ "reports": reports }))?;
    } else if reports.is_empty() {
        out::line("there is no team folder: no share has owners, editors, contributors, readers or drop")?;
    } else {
        reports.iter().try_for_each(|report| out::print(shown::findings(report)))?;
    }
    let is_fine = reports.iter().all(|report| report.found == 0 && report.failed == 0);
    Ok(if is_fine { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The running server, or this process in place of it.
struct Asker<'a> {
    settings: &'a Settings,
    alone: Option<Alone>,
}

/// The state folder and the volumes of a command that works without a server. The folder is locked meanwhile.
struct Alone {
    current: Current,
    volumes: Arc<Volumes>,
    _state: State,
    runtime: tokio::runtime::Runtime,
}

impl Alone {
    fn new(settings: &Settings) -> anyhow::Result<Self> {
        let state = State::open(&settings.server.state)?;
        let index = Index::open(state.path()).context("the index in the state folder cannot be used")?;
        let volumes = Volumes::new(index, state.path());
        let accounts = accounts::read(state.path(), settings)?;
        let settings = groups::resolved_for(settings.clone(), &accounts);
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let current = Current { settings, accounts, kerberos: None, logons: None };
        Ok(Self { current, volumes, _state: state, runtime })
    }
}

impl Asker<'_> {
    fn report(&mut self, path: &OsStr, question: RightsQuestion) -> anyhow::Result<RightsReport> {
        match self.ask(path, question)? {
            RightsAnswer::Done(report) => Ok(*report),
            _ => bail!("{STRANGE}"),
        }
    }

    fn ask(&mut self, path: &OsStr, question: RightsQuestion) -> anyhow::Result<RightsAnswer> {
        let (share, path) = place::of(path, self.settings)?;
        let request = RightsRequest { share, path, question };
        let shown = LookedAtBar::new();
        let answer = self.answer(&request, &shown);
        shown.end();
        answer
    }

    fn answer(&mut self, request: &RightsRequest, shown: &LookedAtBar) -> anyhow::Result<RightsAnswer> {
        if self.alone.is_none() {
            let answer = patiently(|heard| {
                control::rights(&self.settings.server.state, request.clone(), &mut |now| {
                    heard.something();
                    shown.show(&request.share, now);
                })
            });
            match answer {
                Err(AskError::NoServer(_)) => self.alone = Some(Alone::new(self.settings)?),
                other => return Ok(other?),
            }
        }
        let Some(alone) = &self.alone else { bail!("no server answers") };
        let _entered = alone.runtime.enter();
        RightsService { current: &alone.current, volumes: &alone.volumes }.answer(request.clone(), &|now| {
            shown.show(&request.share, now);
            true
        })
    }
}
