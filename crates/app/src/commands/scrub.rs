//! `fourfold scrub`. A running server does the work, because clients may have the files open; without one the command does it.

mod catalogue;
mod luns;
mod quota;
mod shown;
mod work;

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use admin::control::{self, AskError, ScrubReport, ScrubRequest};
use admin::{Settings, ShareSettings, State};
use anyhow::{Context, bail};
use vfs::index::Index;

use crate::cli::Scrub;
use crate::host::here;
use crate::shares::volumes::Volumes;
use crate::terminal::asking::patiently;
use crate::terminal::looked_at_bar::LookedAtBar;
use crate::terminal::{exit, out};
pub(crate) use work::Place;

/// The exit code if something could not be looked at.
const UNREADABLE: u8 = exit::REFUSED;

/// What is to be looked at.
enum ScrubTarget {
    /// What a server is asked for.
    Asked(ScrubRequest),
    /// A folder in no share.
    Folder(PathBuf),
}

pub(crate) fn run(asked: &Scrub) -> anyhow::Result<ExitCode> {
    let settings = match Settings::load(&here::of_server(&asked.place)?) {
        Ok(settings) => settings,
        Err(diagnostics) => return Ok(exit::refused(&diagnostics)),
    };
    let shown = LookedAtBar::new();
    let reports = scrub(asked, &settings, &shown);
    shown.end();
    match reports {
        Ok(reports) => tell(&reports, asked),
        Err(error) => {
            out::error_line(format_args!("fourfold: {error:#}"));
            Ok(ExitCode::from(UNREADABLE))
        }
    }
}

fn scrub(asked: &Scrub, settings: &Settings, shown: &LookedAtBar) -> anyhow::Result<Vec<ScrubReport>> {
    let mut alone = None;
    let mut reports = Vec::new();
    for wanted in wanted(asked, settings)? {
        let report = match wanted {
            ScrubTarget::Folder(folder) => {
                work::folder(&folder, &settings.server.state, asked.repair, &|now| {
                    shown.show(&folder.display().to_string(), now);
                    true
                })
            }
            ScrubTarget::Asked(request) => by_server(settings, &request, shown, &mut alone),
        };
        reports.push(report?);
    }
    Ok(reports)
}

/// What the command line names.
fn wanted(asked: &Scrub, settings: &Settings) -> anyhow::Result<Vec<ScrubTarget>> {
    let of = |share: Option<&ShareSettings>, path: &[u8]| {
        ScrubTarget::Asked(ScrubRequest {
            share: share.map(|share| share.name.clone()),
            path: path.to_vec(),
            repair: asked.repair,
        })
    };
    if asked.places.is_empty() {
        return Ok(settings.shares.iter().map(|share| of(Some(share), b"")).chain([of(None, b"")]).collect());
    }
    asked
        .places
        .iter()
        .map(|name| {
            if !name.as_bytes().starts_with(b"/") && !name.as_bytes().starts_with(b".") {
                let share = settings.shares.iter().find(|share| OsStr::new(&share.name) == name);
                let share = share.with_context(|| unknown(name, settings))?;
                return Ok(of(Some(share), b""));
            }
            let folder = here::folder()?.join(name);
            let folder =
                folder.canonicalize().with_context(|| format!("{} is not there", folder.display()))?;
            let in_share = settings.shares.iter().filter_map(|share| {
                let top = share.path.canonicalize().ok()?;
                let below = folder.strip_prefix(&top).ok()?.as_os_str().as_bytes().to_vec();
                Some((top.components().count(), share, below))
            });
            match in_share.max_by_key(|(depth, ..)| *depth) {
                Some((_, share, below)) => Ok(of(Some(share), &below)),
                None if !folder.is_dir() => bail!("{} is no folder, and in no share", folder.display()),
                None => Ok(ScrubTarget::Folder(folder)),
            }
        })
        .collect()
}

fn unknown(name: &OsStr, settings: &Settings) -> String {
    let names: Vec<&str> = settings.shares.iter().map(|share| &*share.name).collect();
    let (name, names) = (name.display(), names.join(", "));
    format!("there is no share {name}; the shares are: {names}. A folder begins with / or .")
}

/// The state folder and the volumes of a command that works without a server. The folder is locked meanwhile.
struct Alone {
    volumes: std::sync::Arc<Volumes>,
    _state: State,
    runtime: tokio::runtime::Runtime,
}

impl Alone {
    fn new(state: &Path) -> anyhow::Result<Self> {
        let state = State::open(state)?;
        let index = Index::open(state.path()).context("the index in the state folder cannot be used")?;
        let volumes = Volumes::new(index, state.path());
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        Ok(Self { volumes, _state: state, runtime })
    }
}

fn by_server(
    settings: &Settings,
    request: &ScrubRequest,
    shown: &LookedAtBar,
    alone: &mut Option<Alone>,
) -> anyhow::Result<ScrubReport> {
    let what = request.share.as_deref().unwrap_or("the state folder");
    if alone.is_none() {
        let answer = patiently(|heard| {
            control::scrub(&settings.server.state, request.clone(), &mut |now| {
                heard.something();
                shown.show(what, now);
            })
        });
        match answer {
            Err(AskError::NoServer(_)) => *alone = Some(Alone::new(&settings.server.state)?),
            other => return Ok(other?),
        }
    }
    let Some(alone) = alone else { bail!("no server answers") };
    let _entered = alone.runtime.enter();
    let place = Place { settings, volumes: &alone.volumes, is_served: false };
    place.scrub(request, &|now| {
        shown.show(what, now);
        true
    })
}

fn tell(reports: &[ScrubReport], asked: &Scrub) -> anyhow::Result<ExitCode> {
    let left: u64 = reports.iter().map(ScrubReport::left).sum();
    let unreadable: u64 = reports.iter().map(|report| report.unreadable).sum();
    if asked.json {
        out::json(&serde_json::json!({ "repair": asked.repair, "left": left, "reports": reports }))?;
    } else {
        reports.iter().try_for_each(|report| out::print(shown::text(report)))?;
    }
    Ok(match (unreadable, left) {
        (1.., _) => ExitCode::from(UNREADABLE),
        (0, 1..) => ExitCode::FAILURE,
        (0, 0) => ExitCode::SUCCESS,
    })
}
