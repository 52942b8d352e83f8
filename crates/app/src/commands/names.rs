//! `fourfold names`: names that will hurt some client, and their fix, which can be taken back.

mod fix;
mod journal;
mod links;

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use admin::Settings;
use admin::control::Progress;
use anyhow::Context as _;
use serde::Serialize;
use vfs::mac::layout::{NETATALK2_FOLDER, SYNOLOGY_FOLDER, is_sidecar_name};
use vfs::names::long::{self, Problem};
use vfs::names::{FoldedKey, Trouble, report};

use crate::cli::Names;
use crate::host::here;
use crate::terminal::looked_at_bar::LookedAtBar;
use crate::terminal::out;
use journal::NameJournal;

/// Folders in each other. A tree that is deeper has a loop of bind mounts.
const DEEPEST: usize = 1_000;
/// The longest attribute of a long name that is read. Linux has no longer ones.
const LONGEST_ATTRIBUTE: usize = 65_536;

/// A name with troubles.
#[derive(Debug, Serialize)]
pub(crate) struct NameProblem {
    /// The folder.
    pub(crate) folder: PathBuf,
    /// The name; what is not UTF-8 is replaced here.
    pub(crate) name: String,
    /// What is wrong with it.
    pub(crate) why: Vec<String>,
    /// The name that it gets, if it can be fixed.
    pub(crate) fixed: Option<String>,
    /// Why it could not be renamed.
    pub(crate) error: Option<String>,
    #[serde(skip)]
    change: Option<(OsString, OsString)>,
}

pub(crate) fn run(names: &Names) -> anyhow::Result<ExitCode> {
    if let Some(file) = &names.undo {
        return undo(file, names.json);
    }
    let Some(folder) = &names.folder else { return Ok(ExitCode::from(crate::terminal::exit::REFUSED)) };
    let folder = &of_share(folder, names)?;
    let bar = LookedAtBar::new();
    let watch = |done: u64, _: usize| {
        bar.show(&folder.display().to_string(), Progress { done, total: 0 });
        true
    };
    let mut survey = Survey::new(names.windows, &watch);
    let looked = survey.look(folder);
    bar.end();
    looked?;
    let Survey { mut found, unreadable, .. } = survey;
    let renamed = match (&names.journal, names.fix) {
        (Some(file), true) => rename(folder, &mut found, file, &|_| true)?,
        _ => RenameSummary::default(),
    };
    let failed =
        !unreadable.is_empty() || !renamed.failed.is_empty() || found.iter().any(|one| one.error.is_some());
    if names.json {
        out::json(&serde_json::json!({
            "names": found, "unreadable": unreadable, "fixed": names.fix, "links": renamed.links, "links_failed": renamed.failed,
        }))?;
    } else {
        tell(&found, &unreadable, names.fix)?;
        renamed.failed.iter().for_each(out::error_line);
        if renamed.links > 0 {
            out::line(format_args!("{} links lead to the new names", renamed.links))?;
        }
    }
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// The folder, or that of the share of this name.
fn of_share(named: &Path, names: &Names) -> anyhow::Result<PathBuf> {
    let is_name = named.to_str().filter(|name| !name.starts_with(['/', '.']) && !named.exists());
    let Some(name) = is_name else { return Ok(named.to_owned()) };
    let Ok(settings) = Settings::load(&here::of_server(&names.place)?) else { return Ok(named.to_owned()) };
    let share = settings.shares.iter().find(|share| share.name == name);
    Ok(share.map_or_else(|| named.to_owned(), |share| share.path.clone()))
}

/// A look at the names of a tree.
pub(crate) struct Survey<'a> {
    windows: bool,
    /// Called with the names so far, and with those that have troubles. False: the look ends.
    go_on: &'a dyn Fn(u64, usize) -> bool,
    /// Names that were looked at.
    pub(crate) looked: u64,
    /// Those with troubles.
    pub(crate) found: Vec<NameProblem>,
    /// Folders that could not be read, and why.
    pub(crate) unreadable: Vec<String>,
}

impl<'a> Survey<'a> {
    /// With `windows`, names that Windows forbids get a fix, too.
    pub(crate) fn new(windows: bool, go_on: &'a dyn Fn(u64, usize) -> bool) -> Self {
        Self { windows, go_on, looked: 0, found: Vec::new(), unreadable: Vec::new() }
    }

    /// Looks at a folder with all below it.
    ///
    /// # Errors
    /// The folder itself cannot be read.
    pub(crate) fn look(&mut self, folder: &Path) -> anyhow::Result<()> {
        let unreadable = || format!("{} cannot be read", folder.display());
        let folder = folder.canonicalize().with_context(unreadable)?;
        fs::read_dir(&folder).with_context(unreadable)?;
        self.below(&folder, 0);
        Ok(())
    }

    /// The names in a folder come after those below it: in this order they can be changed.
    fn below(&mut self, folder: &Path, depth: usize) {
        if !(self.go_on)(self.looked, self.found.len()) {
            return;
        }
        let entries = match fs::read_dir(folder).and_then(Iterator::collect::<Result<Vec<_>, _>>) {
            Ok(entries) if depth < DEEPEST => entries,
            Ok(_) => return self.unreadable.push(format!("{}: too deep", folder.display())),
            Err(error) => return self.unreadable.push(format!("{}: {error}", folder.display())),
        };
        let mut names: Vec<OsString> = Vec::new();
        for entry in entries {
            let name = entry.file_name();
            if vfs::is_own_name(name.as_bytes()) {
                continue;
            }
            // Files in folders of other servers have the names of those to which they belong.
            let is_others = [NETATALK2_FOLDER, SYNOLOGY_FOLDER].contains(&name.as_bytes());
            if !is_others && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                self.below(&entry.path(), depth + 1);
            }
            names.push(name);
        }
        names.sort();
        self.judge(folder, &names);
    }

    /// Looks at the names of one folder.
    fn judge(&mut self, folder: &Path, names: &[OsString]) {
        self.looked += names.len() as u64;
        // Clients see the whole name of a file with a long one.
        let whole = |name: &OsString| whole_name(&folder.join(name), name.as_bytes());
        let all: Vec<(Option<Vec<u8>>, Option<Problem>)> = names.iter().map(whole).collect();
        let shown = names.iter().zip(&all);
        let plain: Vec<&[u8]> =
            shown.map(|(name, (whole, _))| whole.as_deref().unwrap_or(name.as_bytes())).collect();
        let mut taken: HashSet<FoldedKey> = plain.iter().map(|name| fix::key(name)).collect();
        let troubles = report(&plain);
        for (at, name) in plain.iter().enumerate() {
            let own: Vec<&Trouble> = troubles.iter().filter(|trouble| trouble.name == at).collect();
            let has_file = is_sidecar_name(name) && plain.contains(&name.get(2..).unwrap_or_default());
            let (whole, problem) = &all[at];
            let stale = problem.and_then(fix::why_stale);
            if own.is_empty() && stale.is_none() || has_file {
                continue; // a sidecar has the name of its file
            }
            // A new name for the host would lose the whole one.
            let fixed = match whole {
                None => fix::name(name, &own, self.windows, &mut taken),
                Some(_) => None,
            };
            self.found.push(NameProblem {
                folder: folder.into(),
                name: String::from_utf8_lossy(name).into_owned(),
                why: own
                    .iter()
                    .map(|trouble| fix::why(trouble, &plain))
                    .chain(stale.map(Into::into))
                    .collect(),
                fixed: fixed.as_ref().map(|fixed| String::from_utf8_lossy(fixed).into_owned()),
                error: None,
                change: fixed.map(|fixed| (OsStr::from_bytes(name).to_owned(), OsString::from_vec(fixed))),
            });
        }
    }
}

/// The whole name of a file with a long one, and what is wrong with its attribute. What cannot be read counts as missing.
fn whole_name(file: &Path, name: &[u8]) -> (Option<Vec<u8>>, Option<Problem>) {
    let mut value = vec![0; LONGEST_ATTRIBUTE];
    let length = rustix::fs::lgetxattr(file, OsStr::from_bytes(long::ATTRIBUTE), &mut value[..]).ok();
    let value = length.map(|length| &value[..length]);
    let whole = value.and_then(|value| long::whole_name(name, value));
    (whole.map(<[u8]>::to_vec), long::check(name, value))
}

/// What has changed.
#[derive(Debug, Default)]
pub(crate) struct RenameSummary {
    /// Files and folders that have new names.
    pub(crate) names: u64,
    /// Symbolic links whose targets follow them.
    pub(crate) links: u64,
    /// Links that do not.
    pub(crate) failed: Vec<String>,
}

/// Renames all below a folder that have a fix, lets links follow, and writes a new journal. `go_on` is called with the number of
/// changes; false ends it.
pub(crate) fn rename(
    folder: &Path,
    found: &mut [NameProblem],
    journal: &Path,
    go_on: &dyn Fn(u64) -> bool,
) -> anyhow::Result<RenameSummary> {
    let root = folder.canonicalize().with_context(|| format!("{} cannot be read", folder.display()))?;
    let mut journal = NameJournal::new(journal)?;
    let links = match found.iter().any(|one| one.change.is_some()) {
        true => links::below(&root),
        false => Vec::new(),
    };
    let (mut renamed, mut changed) = (0, links::RenameMap::new());
    for one in found {
        let Some((from, to)) = &one.change else { continue };
        if !go_on(renamed) {
            break;
        }
        one.error = journal.rename(&one.folder, from, to).err().map(|error| format!("{error:#}"));
        if one.error.is_none() {
            renamed += 1;
            changed.insert((one.folder.clone(), from.clone()), to.clone());
        }
    }
    let (links, failed) = links::follow(&root, &links, &changed, &mut journal);
    go_on(renamed);
    Ok(RenameSummary { names: renamed, links, failed })
}

/// Takes the changes of a journal back. `go_on` is called with the changes so far, and with all; false ends it, and the journal
/// stays good. Returns how many were taken back, and what failed.
pub(crate) fn take_back(
    journal: &Path,
    go_on: &dyn Fn(u64, u64) -> bool,
) -> anyhow::Result<(usize, Vec<String>)> {
    journal::undo(journal, go_on)
}

fn tell(found: &[NameProblem], unreadable: &[String], fixed: bool) -> anyhow::Result<()> {
    for one in found {
        let place = one.folder.join(&one.name);
        out::line(format_args!("{:?}: {}", place, one.why.join("; ")))?;
        match (&one.fixed, &one.error) {
            (_, Some(error)) => out::error_line(format_args!("{place:?}: {error}")),
            (Some(name), None) if fixed => out::line(format_args!("  is now {name:?}"))?,
            (Some(name), None) => out::line(format_args!("  would become {name:?}"))?,
            (None, None) => {}
        }
    }
    unreadable.iter().for_each(out::error_line);
    let many = found.iter().filter(|one| one.fixed.is_some()).count();
    match (fixed, many) {
        (false, 1..) => out::line(format_args!(
            "{} names, {many} with a fix. Rename them with --fix --journal FILE",
            found.len()
        ))?,
        _ => out::line(format_args!("{} names", found.len()))?,
    }
    Ok(())
}

fn undo(file: &Path, json: bool) -> anyhow::Result<ExitCode> {
    let (back, failed) = journal::undo(file, &|_, _| true)?;
    match json {
        true => out::json(&serde_json::json!({ "back": back, "failed": failed }))?,
        false => {
            failed.iter().for_each(out::error_line);
            out::line(format_args!("{back} names are as they were"))?;
        }
    }
    Ok(if failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
