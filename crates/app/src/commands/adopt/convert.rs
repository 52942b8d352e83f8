//! `fourfold adopt --convert`: all metadata of a folder in one layout, and back.

use std::collections::HashSet;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use admin::control::Progress;
use anyhow::{Context as _, bail};
use serde::Serialize;
use vfs::backend::Found;
use vfs::mac::depot::DEPOT;
use vfs::mac::layout::{NETATALK2_FOLDER, SYNOLOGY_FOLDER, sidecar_owner};
use vfs::state::{ClientId, Party};
use vfs::streams::Style;
use vfs::{Actor, Beside, Caller, Error, Kind, Relayout, RelayoutOptions, Volume};

use super::converted::{Change, JournalWriter, Journals};
use crate::terminal::looked_at_bar::LookedAtBar;

/// Files of one kind that are named. Those beyond are counted.
const MOST_NAMED: usize = 1_000;
/// Folders in each other. A tree that is deeper has a loop of bind mounts.
const DEEPEST: usize = 1_000;

/// What is to be done.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ConversionOptions {
    /// The layout, by its name in the settings.
    pub(crate) to: &'static str,
    /// Of copies that differ, the one that clients see counts.
    pub(crate) shown_counts: bool,
    /// Change nothing.
    pub(crate) dry_run: bool,
}

/// Called with the number of files so far, and of all. False: it ends.
pub(crate) type GoOn<'a> = &'a dyn Fn(u64, u64) -> bool;

/// A file, and what is to be said of it.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct PathNote {
    pub(crate) path: String,
    pub(crate) what: String,
}

/// What was done.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Report {
    /// The layout.
    pub(crate) to: String,
    /// Files and folders that were looked at.
    pub(crate) looked: u64,
    /// Those that have the layout now, or would get it.
    pub(crate) converted: u64,
    /// Those that a client has open. They stay as they are.
    pub(crate) open: Vec<PathNote>,
    /// Those with copies that differ. They stay as they are.
    pub(crate) conflicts: Vec<PathNote>,
    /// Those that could not be changed, and are as they were.
    pub(crate) failed: Vec<PathNote>,
    /// It was ended before all were looked at.
    pub(crate) stopped: bool,
    /// The journal for `--undo`.
    pub(crate) journal: Option<PathBuf>,
}

impl Report {
    /// Whether something is left.
    pub(crate) fn is_whole(&self) -> bool {
        self.open.is_empty() && self.conflicts.is_empty() && self.failed.is_empty() && !self.stopped
    }
}

/// The layout of a name in the settings.
pub(crate) fn style(name: &str) -> anyhow::Result<(&'static str, Style)> {
    Ok(match name {
        "netatalk" => ("netatalk", Style::NETATALK),
        "samba" => ("samba", Style::SAMBA),
        "samba-streams" => ("samba-streams", Style::SAMBA_STREAMS),
        _ => bail!("there is no layout {name:?}: it is netatalk, samba or samba-streams"),
    })
}

/// Gives everything in a folder one layout. If a journal of the same folder has not come to its end, it is continued: the file
/// at which it was cut off becomes what it was first.
pub(crate) fn convert(
    volume: &Arc<Volume>,
    folder: &Path,
    journals: &Path,
    wanted: ConversionOptions,
    go_on: GoOn<'_>,
) -> anyhow::Result<Report> {
    let (to, style) = style(wanted.to)?;
    let options = RelayoutOptions { style, shown_counts: wanted.shown_counts, dry_run: wanted.dry_run };
    let folder = folder.canonicalize().with_context(|| format!("{} cannot be found", folder.display()))?;
    let mut journal = match wanted.dry_run {
        true => None,
        false => Some(Journals::at(journals)?.of(&folder, to)?),
    };
    if let Some(journal) = &mut journal {
        mend(volume, journal)?;
    }
    let mut walk = ConversionWalk { volume, options, journal, report: Report::default(), go_on, total: 0 };
    walk.report.to = to.into();
    walk.total = walk.count()?;
    walk.all()?;
    let ConversionWalk { mut report, journal, .. } = walk;
    if let Some(mut journal) = journal {
        if !report.stopped {
            journal.end()?;
        }
        report.journal = journal.keep()?;
    }
    Ok(report)
}

fn actor() -> Actor {
    Actor::new(Caller::root(), Party::client(ClientId::unused()))
}

/// Restores the file at which an earlier run was cut off.
fn mend(volume: &Arc<Volume>, journal: &mut JournalWriter) -> anyhow::Result<()> {
    let Some(change) = journal.unfinished()? else { return Ok(()) };
    if let Some((folder, name, found)) = find(volume, &change.path)? {
        let place = Beside { folder: &folder.object, name: &name };
        let is_back = volume.undo_relayout(&actor(), &found, place, &change.before, None);
        let is_back = is_back.with_context(|| format!("{} cannot be restored", shown(&change.path)))?;
        anyhow::ensure!(is_back, "{} is open; try again when it is closed", shown(&change.path));
    }
    journal.back()
}

/// The file at a path in the volume, with its folder and its name.
fn find(volume: &Volume, path: &[u8]) -> anyhow::Result<Option<(Found, Vec<u8>, Found)>> {
    let mut at = volume.root()?;
    let names: Vec<&[u8]> = path.split(|byte| *byte == b'/').filter(|name| !name.is_empty()).collect();
    let Some((last, above)) = names.split_last() else { return Ok(None) };
    for name in above {
        at = match volume.lookup(&Caller::root(), &at.object, name) {
            Err(Error::NotFound | Error::NotFolder) => return Ok(None),
            other => other?,
        };
    }
    match volume.lookup(&Caller::root(), &at.object, last) {
        Err(Error::NotFound | Error::NotFolder) => Ok(None),
        other => Ok(Some((at, last.to_vec(), other?))),
    }
}

/// A path for people.
fn shown(path: &[u8]) -> String {
    String::from_utf8_lossy(path).into_owned()
}

/// The look at a tree.
struct ConversionWalk<'a> {
    volume: &'a Arc<Volume>,
    options: RelayoutOptions,
    journal: Option<JournalWriter>,
    report: Report,
    go_on: GoOn<'a>,
    total: u64,
}

impl ConversionWalk<'_> {
    /// How many files and folders there are.
    fn count(&self) -> anyhow::Result<u64> {
        let mut count = 0;
        let mut folders = vec![(self.volume.root()?, 0)];
        while let Some((folder, depth)) = folders.pop() {
            for name in entries(&folder)? {
                count += 1;
                if let Ok(found) = self.volume.lookup(&Caller::root(), &folder.object, &name)
                    && found.attributes.kind == Kind::Folder
                    && depth < DEEPEST
                {
                    folders.push((found, depth + 1));
                }
            }
            if !(self.go_on)(0, 0) {
                break;
            }
        }
        Ok(count)
    }

    fn all(&mut self) -> anyhow::Result<()> {
        let mut folders = vec![(self.volume.root()?, Vec::new(), 0)];
        while let Some((folder, path, depth)) = folders.pop() {
            let names = match entries(&folder) {
                Ok(names) => names,
                Err(error) => {
                    note(&mut self.report.failed, &path, error.to_string());
                    continue;
                }
            };
            for name in names {
                if !(self.go_on)(self.report.looked, self.total) {
                    self.report.stopped = true;
                    return Ok(());
                }
                self.report.looked += 1;
                let inner = [&path[..], b"/", &name].concat();
                let inner = inner.strip_prefix(b"/").unwrap_or(&inner).to_vec();
                match self.volume.lookup(&Caller::root(), &folder.object, &name) {
                    Ok(found) => {
                        let kind = found.attributes.kind;
                        if matches!(kind, Kind::File | Kind::Folder) {
                            self.one(&folder, &name, &found, &inner)?;
                        }
                        if kind == Kind::Folder && depth < DEEPEST {
                            folders.push((found, inner, depth + 1));
                        }
                    }
                    Err(Error::NotFound) => {} // it was removed meanwhile
                    Err(error) => note(&mut self.report.failed, &inner, error.to_string()),
                }
            }
        }
        (self.go_on)(self.report.looked, self.total);
        Ok(())
    }

    fn one(&mut self, folder: &Found, name: &[u8], found: &Found, path: &[u8]) -> anyhow::Result<()> {
        let (journal, mut broken) = (&mut self.journal, None);
        let mut save = |raw: &vfs::streams::Raw| match journal {
            Some(journal) => {
                journal.begin(&Change { path: path.to_vec(), before: raw.clone() }).map_err(|error| {
                    broken = Some(error);
                    Error::Io
                })
            }
            None => Ok(()),
        };
        let place = Beside { folder: &folder.object, name };
        let outcome = self.volume.relayout(&actor(), found, place, self.options, &mut save);
        if let Some(error) = broken {
            return Err(error);
        }
        let report = &mut self.report;
        match outcome {
            Ok(Relayout::Nothing) => {}
            Ok(Relayout::Outside(_)) => report.converted += 1,
            Ok(Relayout::Done(after)) => {
                report.converted += 1;
                if let Some(journal) = &mut self.journal {
                    journal.done(after)?;
                }
            }
            Ok(Relayout::Open) => note(&mut report.open, path, "a client has it open"),
            Ok(Relayout::Conflict(parts)) => {
                note(&mut report.conflicts, path, format!("{}: two copies differ", parts.join(", ")));
            }
            Ok(Relayout::Differs) => {
                note(&mut report.failed, path, "clients would see something else; it is as it was");
                self.back()?;
            }
            Err(Error::TooMany) => {
                let most = vfs::streams::MOST_SAVED >> 20;
                note(
                    &mut report.failed,
                    path,
                    format!("more than {most} MiB would be moved; it stays as it is"),
                );
            }
            Err(error) => {
                note(&mut report.failed, path, error.to_string());
                self.back()?;
            }
        }
        Ok(())
    }

    /// The file that was begun last is what it was.
    fn back(&mut self) -> anyhow::Result<()> {
        match &mut self.journal {
            Some(journal) if journal.has_begun() => journal.back(),
            _ => Ok(()),
        }
    }
}

fn note(list: &mut Vec<PathNote>, path: &[u8], what: impl Into<String>) {
    if list.len() < MOST_NAMED {
        list.push(PathNote { path: shown(path), what: what.into() });
    }
}

/// The names in a folder that belong to users.
fn entries(folder: &Found) -> vfs::Result<Vec<Vec<u8>>> {
    let mut names = Vec::new();
    folder.object.list(0, &mut |entry| {
        names.push(entry.name.to_vec());
        true
    })?;
    let all: HashSet<Vec<u8>> = names.iter().cloned().collect();
    let books: [&[u8]; 7] =
        [b".", b"..", DEPOT, NETATALK2_FOLDER, SYNOLOGY_FOLDER, b".AppleDB", b".AppleDesktop"];
    names.retain(|name| {
        let is_sidecar = sidecar_owner(name).is_some_and(|owner| all.contains(owner));
        !books.contains(&&name[..]) && !vfs::is_own_name(name) && !is_sidecar
    });
    names.sort();
    Ok(names)
}

/// Takes the changes of a journal back, the last first. Returns how many, and what is left with the reason.
pub(crate) fn undo(
    volume: &Arc<Volume>,
    path: &Path,
    go_on: GoOn<'_>,
) -> anyhow::Result<(u64, Vec<PathNote>)> {
    let changes = JournalWriter::read(path)?;
    let total = changes.len() as u64;
    let (mut back, mut left) = (0, Vec::new());
    for (number, place) in changes.into_iter().rev().enumerate() {
        if !go_on(number as u64, total) {
            bail!("stopped after {back} files; the journal is kept");
        }
        let (change, after) = place.load(path)?;
        let Some((folder, name, found)) = find(volume, &change.path)? else {
            note(&mut left, &change.path, "it is gone");
            continue;
        };
        let beside = Beside { folder: &folder.object, name: &name };
        match volume.undo_relayout(&actor(), &found, beside, &change.before, after) {
            Ok(true) => back += 1,
            Ok(false) => note(&mut left, &change.path, "it was changed since, or is open; it stays as it is"),
            Err(error) => note(&mut left, &change.path, error.to_string()),
        }
    }
    go_on(total, total);
    Ok((back, left))
}

/// Shows the progress on a terminal: files, how fast, and the time that is left.
pub(crate) fn progress() -> impl Fn(u64, u64) -> bool {
    let bar = LookedAtBar::new();
    move |done, total| {
        bar.show("files", Progress { done, total });
        true
    }
}

/// The bytes of a path.
pub(super) fn path_bytes(path: &Path) -> Vec<u8> {
    path.as_os_str().as_bytes().to_vec()
}
