//! Symbolic links that lead through names which are changed: their targets are changed, too.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Component, Path, PathBuf};

use super::DEEPEST;
use super::journal::NameJournal;

/// The names that were changed: the folder and the name before, and the name now.
pub(super) type RenameMap = HashMap<(PathBuf, OsString), OsString>;

/// A link and its target, as they were before any name was changed.
pub(super) struct LinkTarget {
    folder: PathBuf,
    name: OsString,
    target: PathBuf,
    steps: Vec<Step>,
}

/// A part of a target.
enum Step {
    /// `/`, `.` or `..`
    AsIs(OsString),
    /// A name in a folder.
    Name(PathBuf, OsString),
}

/// All links below a folder. Its path has no links in it.
pub(super) fn below(folder: &Path) -> Vec<LinkTarget> {
    let (mut all, mut folders) = (Vec::new(), vec![(folder.to_path_buf(), 0)]);
    while let Some((folder, depth)) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            match entry.file_type() {
                Ok(kind) if kind.is_dir() && depth < DEEPEST => folders.push((entry.path(), depth + 1)),
                Ok(kind) if kind.is_symlink() => {
                    all.extend(fs::read_link(entry.path()).ok().map(|target| LinkTarget {
                        steps: steps(&folder, &target),
                        folder: folder.clone(),
                        name: entry.file_name(),
                        target,
                    }));
                }
                _ => {}
            }
        }
    }
    all
}

fn steps(folder: &Path, target: &Path) -> Vec<Step> {
    let (mut at, mut steps) = (folder.to_path_buf(), Vec::new());
    for part in target.components() {
        match part {
            Component::Normal(name) => {
                steps.push(Step::Name(at.clone(), name.to_owned()));
                let next = at.join(name);
                at = next.canonicalize().unwrap_or(next);
            }
            Component::ParentDir => {
                steps.push(Step::AsIs(part.as_os_str().to_owned()));
                at.pop();
            }
            Component::RootDir | Component::CurDir | Component::Prefix(_) => {
                steps.push(Step::AsIs(part.as_os_str().to_owned()));
                if part == Component::RootDir {
                    at = "/".into();
                }
            }
        }
    }
    steps
}

impl LinkTarget {
    /// Its target now. `None`: it is what it was.
    fn now(&self, changed: &RenameMap) -> Option<PathBuf> {
        let mut is_changed = false;
        let parts = self.steps.iter().map(|step| match step {
            Step::AsIs(part) => part.as_os_str(),
            Step::Name(folder, name) => match changed.get(&(folder.clone(), name.clone())) {
                Some(now) => {
                    is_changed = true;
                    now
                }
                None => name,
            },
        });
        let target: PathBuf = parts.collect();
        is_changed.then_some(target)
    }
}

/// Changes the targets of links; returns how many, and what failed.
pub(super) fn follow(
    root: &Path,
    links: &[LinkTarget],
    changed: &RenameMap,
    journal: &mut NameJournal,
) -> (u64, Vec<String>) {
    let (mut count, mut failed) = (0, Vec::new());
    for link in links {
        let Some(target) = link.now(changed) else { continue };
        let folder = place(root, &link.folder, changed);
        let name = name_now(changed, &link.folder, &link.name);
        match journal.lead(&folder, name, (&link.target, &target)) {
            Ok(()) => count += 1,
            Err(error) => {
                failed.push(format!("{:?}: the link leads nowhere now: {error:#}", folder.join(name)))
            }
        }
    }
    (count, failed)
}

fn name_now<'a>(changed: &'a RenameMap, folder: &Path, name: &'a OsStr) -> &'a OsStr {
    changed.get(&(folder.to_path_buf(), name.to_owned())).map_or(name, OsString::as_os_str)
}

/// Where a folder below `root` is now.
fn place(root: &Path, folder: &Path, changed: &RenameMap) -> PathBuf {
    let (mut before, mut now) = (root.to_path_buf(), root.to_path_buf());
    for name in folder.strip_prefix(root).into_iter().flat_map(Path::iter) {
        now.push(name_now(changed, &before, name));
        before.push(name);
    }
    now
}
