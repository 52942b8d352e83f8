//! `fourfold replicate`: a dataset follows another one, on this machine or over ssh.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::SystemTime;

use admin::Settings;
use admin::control;
use anyhow::{Context, bail};
use jiff::Zoned;
use jiff::tz::TimeZone;
use replicate::{Failure, Link, Options, Plan, Progress};
use serde::Serialize;
use snapshots::{Dataset, Refusal};

use crate::cli::{Replicate, Where};
use crate::commands::snapshot;
use crate::host::here;
use crate::shares::overlap;
use crate::terminal::{exit, out};

mod remote;
mod shown;

use remote::Remote;
use shown::ReplicationDisplay;

/// Before the names of the snapshots that the command takes.
const PREFIX: &str = "replicate-";

/// One end.
enum End {
    Here(PathBuf),
    There(Remote),
}

/// Why a command ends without having done anything: the settings are refused, which was reported, or another reason.
type ReplicationResult<T> = anyhow::Result<Result<T, ExitCode>>;

/// The result, for scripts.
#[derive(Serialize)]
struct Outcome<'a> {
    event: &'static str,
    source: &'a str,
    destination: &'a str,
    snapshots: Vec<String>,
    /// How they were sent; empty: nothing was sent.
    methods: Vec<shown::SnapshotTransfer>,
    warnings: Vec<String>,
}

/// Replicates, or does the part of the other side.
pub(crate) fn run(asked: &Replicate) -> anyhow::Result<ExitCode> {
    let done = match asked {
        Replicate { promote: Some(name), .. } => promote(name, asked),
        Replicate { receive: Some(name), .. } => receive(name, asked),
        Replicate { send: Some(name), .. } => send(name, asked),
        Replicate { source: Some(source), destination: Some(destination), .. } => {
            replicate(source, destination, asked)
        }
        _ => bail!("name a source and a destination"),
    };
    // Also after a failure: snapshots may have been taken before it.
    if let Ok(Ok(state)) = here::state(&asked.place) {
        snapshot::show(&state);
    }
    done.map(|done| done.err().unwrap_or(ExitCode::SUCCESS))
}

/// The name and the newest snapshot to send.
fn split(source: &str) -> (&str, Option<&str>) {
    match source.rsplit_once('@') {
        // In ssh://ada@host/share it is another one.
        Some((name, snapshot)) if !snapshot.contains('/') => (name, Some(snapshot)),
        _ => (source, None),
    }
}

/// The folder of a share, or the folder itself.
fn folder(name: &str, place: &Where) -> ReplicationResult<PathBuf> {
    if name.starts_with(['/', '.']) {
        return Ok(Ok(here::folder()?.join(name)));
    }
    let settings = match Settings::load(&here::of_server(place)?) {
        Ok(settings) => settings,
        Err(diagnostics) => return Ok(Err(exit::refused(&diagnostics))),
    };
    let found = settings.shares.iter().find(|share| share.name == name).with_context(|| {
        let names: Vec<&str> = settings.shares.iter().map(|share| &*share.name).collect();
        format!(
            "there is no share {name:?}; the shares are: {}. `fourfold create` makes one, and a folder begins with / or .",
            names.join(", ")
        )
    })?;
    Ok(Ok(found.path.clone()))
}

fn end(name: &str, place: &Where) -> ReplicationResult<End> {
    match name.strip_prefix("ssh://") {
        Some(rest) => Ok(Ok(End::There(Remote::new(name, rest)?))),
        None => Ok(folder(name, place)?.map(End::Here)),
    }
}

/// The dataset of a folder. Some engines show snapshots by mounting them in the state folder.
fn dataset(path: &Path, place: &Where) -> anyhow::Result<Dataset> {
    let found = Dataset::find(path)?;
    Ok(match here::state(place)? {
        Ok(state) => found.with_mounts(&state.join("snapshots")),
        Err(_) => found, // a folder needs no settings
    })
}

/// The dataset that receives.
struct Destination {
    dataset: Dataset,
    /// This run has made it.
    is_new: bool,
}

impl Destination {
    /// If only its last folder is missing, it is made.
    fn find(path: &Path, place: &Where) -> anyhow::Result<Self> {
        if path.symlink_metadata().is_err()
            && let (Some(above), Some(name)) = (path.parent(), path.file_name())
        {
            let made = Dataset::find(above)?.make_subdataset(Path::new(name))?;
            return Ok(Self { dataset: dataset(&made, place)?, is_new: true });
        }
        Ok(Self { dataset: dataset(path, place)?, is_new: false })
    }

    /// A new one is removed again if nothing comes, for example because it overlaps with the source.
    fn receive(&self, link: Link, progress: &mut dyn FnMut(&Progress)) -> Result<Vec<String>, Failure> {
        let received = ::replicate::receive(&self.dataset, link, progress);
        if self.is_new && received.is_err() {
            ::replicate::unmake(&self.dataset);
        }
        received
    }
}

fn replicate(source: &str, target: &str, asked: &Replicate) -> ReplicationResult<()> {
    let (name, until) = split(source);
    let (from, to) = match (end(name, &asked.place)?, end(target, &asked.place)?) {
        (Ok(from), Ok(to)) => (from, to),
        (Err(code), _) | (_, Err(code)) => return Ok(Err(code)),
    };
    let mut shown = ReplicationDisplay::new(asked.json);
    let (snapshots, warnings) = match (from, to) {
        (End::Here(from), to) if asked.dry_run => return dry_run(&from, &to, asked).map(Ok),
        (End::Here(from), End::Here(to)) => local(&from, &to, name, until, asked, &mut shown)?,
        (End::Here(from), End::There(to)) => {
            let (child, link) = to.start("--receive", None, asked)?;
            let sent = from_here(&from, name, until, asked, link, &mut |now| shown.show(now));
            shown.end();
            child.end(sent)?
        }
        (End::There(from), _) if asked.dry_run => {
            bail!("a dry run needs the source on this machine; run it on {}", from.host())
        }
        (End::There(from), End::Here(to)) => {
            let destination = Destination::find(&to, &asked.place)?;
            let (child, link) = from.start("--send", until, asked)?;
            let mut reload = Reload::of(&destination.dataset, &asked.place);
            let mut snapshots = Vec::new();
            let received = destination.receive(link, &mut |now| {
                reload.once();
                shown.show(now);
                if snapshots.last() != Some(&now.snapshot) {
                    snapshots.push(now.snapshot.clone());
                }
            });
            shown.end();
            (snapshots, child.end(received.map_err(Into::into))?)
        }
        (End::There(_), End::There(_)) => {
            bail!("one of the two must be on this machine; run the command on one of the hosts")
        }
    };
    let methods = shown.sent();
    let outcome = Outcome { event: "done", source, destination: target, snapshots, methods, warnings };
    tell(&outcome, asked.json).map(Ok)
}

fn tell(outcome: &Outcome<'_>, json: bool) -> anyhow::Result<()> {
    if json {
        return Ok(out::line(serde_json::to_string(outcome)?)?);
    }
    outcome.warnings.iter().for_each(|warning| out::error_line(format_args!("fourfold: {warning}")));
    let (count, to) = (outcome.snapshots.len(), outcome.destination);
    let line = match outcome.snapshots.last() {
        None => format!("{to} has all of {} already", outcome.source),
        Some(last) if count == 1 => format!("{to} has {last} now"),
        Some(last) => format!("{to} has {count} snapshots more, up to {last}"),
    };
    Ok(out::done(line)?)
}

/// Between two datasets of this machine.
fn local(
    from: &Path,
    to: &Path,
    name: &str,
    until: Option<&str>,
    asked: &Replicate,
    shown: &mut ReplicationDisplay,
) -> anyhow::Result<(Vec<String>, Vec<String>)> {
    refuse_overlap(from, to)?;
    let target = Destination::find(to, &asked.place)?;
    refuse_overlap(from, target.dataset.folder())?; // the dataset that the folder is in
    let (ours, theirs) = std::os::unix::net::UnixStream::pair().context("no pair of sockets can be made")?;
    let link = Link::new(ours.try_clone()?, ours);
    let other = Link::new(theirs.try_clone()?, theirs);
    let mut reload = Reload::of(&target.dataset, &asked.place);
    std::thread::scope(|scope| {
        let received = scope.spawn(move || target.receive(other, &mut |_| reload.once()));
        let sent = from_here(from, name, until, asked, link, &mut |now| shown.show(now));
        shown.end();
        match received.join() {
            // It has the reason, if the other one only saw the connection end.
            Ok(Err(failure)) if !matches!(failure, Failure::Ended(_) | Failure::Remote(_)) => {
                Err(failure.into())
            }
            Ok(_) => sent,
            Err(_) => bail!("a thread ended early"),
        }
    })
}

/// A destination gets what the source has, and loses the rest: so it must not be the source, nor around it, nor inside of it.
fn refuse_overlap(from: &Path, to: &Path) -> anyhow::Result<()> {
    // One that is not there yet is made in the folder above.
    let place = if to.exists() { to } else { to.parent().unwrap_or(to) };
    if overlap::is_in(place, from) || overlap::is_in(from, to) {
        bail!(
            "{} and {} are one folder, or one is inside the other: nothing was changed; replicate to another place",
            from.display(),
            to.display()
        );
    }
    Ok(())
}

/// Sends a dataset of this machine. Without a snapshot to send it takes one first.
fn from_here(
    from: &Path,
    name: &str,
    until: Option<&str>,
    asked: &Replicate,
    link: Link,
    progress: &mut dyn FnMut(&Progress),
) -> anyhow::Result<(Vec<String>, Vec<String>)> {
    let dataset = dataset(from, &asked.place)?;
    let options = Options {
        name: name.to_owned(),
        until: until.map(str::to_owned),
        verify: asked.verify,
        method: asked.method.into(),
        keep: asked.keep,
        take: until.is_none().then_some(take),
        // The next run sends the difference to the newest.
        passing: until.is_none().then(|| PREFIX.to_owned()),
    };
    Ok(::replicate::send(&dataset, &options, link, progress)?)
}

fn take(dataset: &Dataset) -> Result<(), Refusal> {
    let name = Zoned::now().with_time_zone(TimeZone::UTC).strftime("replicate-%Y%m%dT%H%M%SZ").to_string();
    match dataset.create(&name, SystemTime::now()) {
        // An earlier run of this second took it.
        Err(Refusal::Exists { .. }) => {
            dataset.create(&format!("{name}-{}", std::process::id()), SystemTime::now())
        }
        taken => taken,
    }
}

/// Receives what the other host sends to the standard input.
fn receive(name: &str, asked: &Replicate) -> ReplicationResult<()> {
    let path = match folder(name, &asked.place)? {
        Ok(path) => path,
        Err(code) => return Ok(Err(code)),
    };
    let destination = Destination::find(&path, &asked.place)?;
    let mut reload = Reload::of(&destination.dataset, &asked.place);
    let received = destination.receive(stdio(), &mut |_| reload.once());
    reported(received.map(drop).map_err(Into::into))
}

/// Sends to the standard output.
fn send(name: &str, asked: &Replicate) -> ReplicationResult<()> {
    let (name, until) = split(name);
    let path = match folder(name, &asked.place)? {
        Ok(path) => path,
        Err(code) => return Ok(Err(code)),
    };
    reported(from_here(&path, name, until, asked, stdio(), &mut |_| {}).map(drop))
}

fn stdio() -> Link {
    Link::new(std::io::stdin(), std::io::stdout())
}

/// The other host has been told of most failures, and shows them.
fn reported(done: anyhow::Result<()>) -> ReplicationResult<()> {
    match done {
        Err(error) if error.downcast_ref().is_none_or(|failure| matches!(failure, Failure::Ended(_))) => {
            Err(error)
        }
        Err(_) => Ok(Err(ExitCode::FAILURE)),
        Ok(()) => Ok(Ok(())),
    }
}

fn promote(name: &str, asked: &Replicate) -> ReplicationResult<()> {
    let path = match folder(name, &asked.place)? {
        Ok(path) => path,
        Err(code) => return Ok(Err(code)),
    };
    let dataset = dataset(&path, &asked.place)?;
    let newest = ::replicate::promote(&dataset)?;
    reload(&asked.place);
    out::done(format_args!("{name} is a share of its own now, with the content of {newest}"))?;
    Ok(Ok(()))
}

fn dry_run(from: &Path, to: &End, asked: &Replicate) -> anyhow::Result<()> {
    let dataset = dataset(from, &asked.place)?;
    let since = match to {
        // Which snapshot the other side has last is known after a run only; the command's own is the best guess.
        End::There(_) => {
            dataset.list()?.into_iter().map(|one| one.name).find(|name| name.starts_with(PREFIX))
        }
        End::Here(to) => ::replicate::common(&dataset, to)?,
    };
    let Plan { entries, bytes } = ::replicate::plan(&dataset, since.as_deref())?;
    if asked.json {
        let plan = serde_json::json!({ "event": "plan", "since": since, "entries": entries, "bytes": bytes });
        return Ok(out::line(plan)?);
    }
    let size = admin::settings::units::format_size(bytes);
    let since = since.map_or_else(|| "all of it".to_owned(), |since| format!("what changed since {since}"));
    Ok(out::line(format_args!(
        "{since} would be sent: {entries} files and folders; the changed files have {size}"
    ))?)
}

/// Has a running server make a new replica read-only, as soon as it is one.
struct Reload<'a> {
    place: Option<&'a Where>,
}

impl<'a> Reload<'a> {
    fn of(dataset: &Dataset, place: &'a Where) -> Self {
        Self { place: (!snapshots::is_replica(dataset.folder())).then_some(place) }
    }

    fn once(&mut self) {
        if let Some(place) = self.place.take() {
            reload(place);
        }
    }
}

/// Has a running server read which shares are replicas. Without a server, or settings, there is nothing to do.
fn reload(place: &Where) {
    if let Ok(Ok(state)) = here::state(place)
        && let Err(error) = control::reload(&state)
        && !matches!(error, control::AskError::NoServer(_))
    {
        out::error_line(format_args!("fourfold: the running server has not applied it: {error}"));
    }
}
