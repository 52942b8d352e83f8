//! What changed between two snapshots, or since one, by path.
//!
//! A file is unchanged if it has the same inode, size, time of modification and time of change as
//! before, where the engine keeps inodes and it was not changed just before the snapshot. It is modified if its size, time of modification, mode,
//! owners or extended attributes differ. Otherwise its content decides. Times of folders, and times
//! of access, are no changes. What the server keeps beside a file (`stored.rs`) is a part of it: a
//! change of a fork is a change of its file, and sidecars and the store are not told themselves.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::{self, File, Metadata};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use rustix::fs::{lgetxattr, llistxattr};

use crate::engine::tree::{c_strings, grown};
use crate::stored::{BOOKKEEPING, STORE, TreeStore, owner_of_sidecar};
use crate::{Dataset, EngineKind, FOLDER, Refusal};

/// Two changes in this time can have the same time: zfs-fuse counts whole seconds.
const COARSE_S: i64 = 2;

/// One change.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Change {
    /// The path in the newer tree; of what was removed, in the older one.
    pub path: PathBuf,
    /// What happened.
    pub what: What,
}

/// What happened to a file or folder.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum What {
    /// It is only in the newer tree.
    Added,
    /// It is only in the older tree.
    Removed,
    /// It has another name or folder. It may be modified as well.
    Renamed {
        /// The path in the older tree.
        from: PathBuf,
    },
    /// Its content or metadata differ.
    Modified,
}

impl Dataset {
    /// The changes from a snapshot to a later one, or to the live tree, in the order of paths.
    ///
    /// # Errors
    /// A snapshot is missing, or a file cannot be read.
    pub fn diff(&self, older: &str, newer: Option<&str>) -> Result<Vec<Change>, Refusal> {
        let taken = self.snapshot(older)?.created.duration_since(UNIX_EPOCH).unwrap_or_default();
        let settled = i64::try_from(taken.as_secs()).unwrap_or(0) - COARSE_S;
        let older = self.mount(older)?;
        let newer = newer.map_or_else(|| Ok(self.folder().to_owned()), |newer| self.mount(newer))?;
        let keeps_inodes = matches!(self.engine(), EngineKind::Btrfs | EngineKind::Zfs);
        let device =
            |tree: &Path| tree.metadata().map(|facts| facts.dev()).map_err(Refusal::io("read", tree));
        let devices = (device(&older)?, device(&newer)?);
        let stores = (TreeStore::of(&older), TreeStore::of(&newer));
        let mut trees =
            TreePair { older, newer, devices, keeps_inodes, settled, stores, ..TreePair::default() };
        trees.waiting.push(PathBuf::new());
        while let Some(inner) = trees.waiting.pop() {
            trees.folder(&inner)?;
        }
        trees.changes()
    }
}

#[derive(Default)]
struct TreePair {
    older: PathBuf,
    newer: PathBuf,
    /// The file systems of both. Datasets and mounts below them are not entered.
    devices: (u64, u64),
    /// Whether a file has the same inode in both.
    keeps_inodes: bool,
    /// Changes before this second have other times than changes after the older snapshot.
    settled: i64,
    /// What the server keeps of the files of both.
    stores: (TreeStore, TreeStore),
    removed: BTreeMap<PathBuf, Metadata>,
    added: BTreeMap<PathBuf, Metadata>,
    modified: Vec<PathBuf>,
    /// Folders of both trees that are still to be compared.
    waiting: Vec<PathBuf>,
}

impl TreePair {
    /// Compares a folder that both trees have.
    fn folder(&mut self, inner: &Path) -> Result<(), Refusal> {
        let (mut before, mut after) = (entries(&self.older, inner)?, entries(&self.newer, inner)?);
        if inner.as_os_str().is_empty() && self.stores.0.is_known && self.stores.1.is_known {
            before.remove(Path::new(STORE));
            after.remove(Path::new(STORE));
        }
        for (path, now) in after {
            let Some(then) = before.remove(&path) else {
                collect(&self.newer, self.devices.1, path, now, &mut self.added)?;
                continue;
            };
            if now.is_dir() && now.dev() != self.devices.1 {
                continue; // a snapshot shows such a folder as an empty one
            }
            if self.is_another(&then, &now) {
                collect(&self.older, self.devices.0, path.clone(), then, &mut self.removed)?;
                collect(&self.newer, self.devices.1, path, now, &mut self.added)?;
                continue;
            }
            if self.is_modified((&path, &then), (&path, &now))? {
                self.modified.push(path.clone());
            }
            if now.is_dir() {
                self.waiting.push(path);
            }
        }
        for (path, then) in before {
            collect(&self.older, self.devices.0, path, then, &mut self.removed)?;
        }
        Ok(())
    }

    /// Whether the name has another kind of entry now, or a folder that took the place of another.
    fn is_another(&self, then: &Metadata, now: &Metadata) -> bool {
        let is_other_folder = self.keeps_inodes && now.is_dir() && now.ino() != then.ino();
        then.file_type() != now.file_type() || is_other_folder
    }

    fn is_modified(
        &self,
        (old_path, then): (&Path, &Metadata),
        (new_path, now): (&Path, &Metadata),
    ) -> Result<bool, Refusal> {
        let times = |facts: &Metadata| {
            (facts.mtime(), facts.mtime_nsec(), facts.ctime(), facts.ctime_nsec(), facts.size())
        };
        let (stored, now_stored) = &self.stores;
        let is_same = stored.is_same(then.ino(), now_stored, now.ino());
        if !is_same.map_err(Refusal::io("compare", new_path))? {
            return Ok(true);
        }
        let is_settled = self.keeps_inodes && then.ctime() < self.settled;
        if is_settled && then.ino() == now.ino() && times(then) == times(now) {
            return Ok(false);
        }
        let (old, new) = (self.older.join(old_path), self.newer.join(new_path));
        let described = |facts: &Metadata| (facts.mode(), facts.uid(), facts.gid(), facts.rdev());
        if described(then) != described(now) {
            return Ok(true);
        }
        let modified = |facts: &Metadata| (facts.size(), facts.mtime(), facts.mtime_nsec());
        if !now.is_dir() && modified(then) != modified(now) {
            return Ok(true);
        }
        if attributes(&old) != attributes(&new) {
            return Ok(true);
        }
        let is_same = if now.is_file() {
            same_content(&old, &new).map_err(Refusal::io("compare", &new))?
        } else if now.is_symlink() {
            fs::read_link(&old).ok() == fs::read_link(&new).ok()
        } else {
            true
        };
        Ok(!is_same)
    }

    /// Finds renames among what was added and removed.
    fn changes(mut self) -> Result<Vec<Change>, Refusal> {
        let renamed = self.renamed();
        for (to, from) in &renamed {
            let (Some(then), Some(now)) = (self.removed.get(from), self.added.get(to)) else { continue };
            if self.is_modified((from, then), (to, now))? {
                self.modified.push(to.clone());
            }
        }
        let mut all = Vec::new();
        for (to, from) in &renamed {
            self.removed.remove(from);
            self.added.remove(to);
            // What moved with its folder is not told again.
            let moved_with = to.parent().and_then(|above| renamed.get(above));
            if moved_with
                .is_none_or(|above| from.parent() != Some(above) || from.file_name() != to.file_name())
            {
                all.push(Change { path: to.clone(), what: What::Renamed { from: from.clone() } });
            }
        }
        all.extend(self.removed.into_keys().map(|path| Change { path, what: What::Removed }));
        all.extend(self.added.into_keys().map(|path| Change { path, what: What::Added }));
        all.extend(self.modified.into_iter().map(|path| Change { path, what: What::Modified }));
        let mut all = with_sidecars_as_files(&self.older, &self.newer, all);
        all.sort();
        Ok(all)
    }

    /// From new paths to old ones. Inodes that are in both sets, of the same kind, and born at the
    /// same time where the host knows it, as some file systems use numbers again.
    fn renamed(&self) -> BTreeMap<PathBuf, PathBuf> {
        if !self.keeps_inodes {
            return BTreeMap::new();
        }
        let mut before: HashMap<u64, Vec<&PathBuf>> = HashMap::new();
        for (path, then) in self.removed.iter().rev() {
            before.entry(then.ino()).or_default().push(path);
        }
        let mut renamed = BTreeMap::new();
        for (path, now) in &self.added {
            let Some(from) = before.get_mut(&now.ino()).and_then(Vec::pop) else { continue };
            let is_same = self.removed.get(from).is_some_and(|then| {
                then.file_type() == now.file_type() && then.created().ok() == now.created().ok()
            });
            if is_same {
                renamed.insert(path.clone(), from.clone());
            }
        }
        renamed
    }
}

/// The changes, with those of sidecars as changes of their files.
fn with_sidecars_as_files(older: &Path, newer: &Path, all: Vec<Change>) -> Vec<Change> {
    let (mut kept, mut owners) = (Vec::new(), BTreeSet::new());
    for change in all {
        let tree = if change.what == What::Removed { older } else { newer };
        match owner_of_sidecar(tree, &change.path) {
            Some(owner) => _ = owners.insert(owner),
            None => kept.push(change),
        }
    }
    for change in &kept {
        owners.remove(&change.path); // told already
    }
    // The sidecar of a file that is gone, or that moved, went with it.
    let is_in_both =
        |path: &PathBuf| [older, newer].iter().all(|tree| tree.join(path).symlink_metadata().is_ok());
    kept.extend(owners.into_iter().filter(is_in_both).map(|path| Change { path, what: What::Modified }));
    kept
}

/// The entries of a folder by path in the tree. What is removed meanwhile is left out.
fn entries(tree: &Path, inner: &Path) -> Result<BTreeMap<PathBuf, Metadata>, Refusal> {
    let folder = tree.join(inner);
    let listed = match fs::read_dir(&folder) {
        Err(why) if why.kind() == ErrorKind::NotFound => return Ok(BTreeMap::new()),
        listed => listed.map_err(Refusal::io("list", &folder))?,
    };
    let is_own = |path: &Path| inner.as_os_str().is_empty() && path == Path::new(FOLDER);
    let mut all = BTreeMap::new();
    for entry in listed.flatten() {
        let path = inner.join(entry.file_name());
        if is_own(&path) {
            continue;
        }
        if let Ok(facts) = entry.metadata() {
            all.insert(path, facts);
        }
    }
    Ok(all)
}

/// Adds an entry, and of a folder all that is below it.
fn collect(
    tree: &Path,
    device: u64,
    path: PathBuf,
    facts: Metadata,
    into: &mut BTreeMap<PathBuf, Metadata>,
) -> Result<(), Refusal> {
    let mut waiting = vec![(path, facts)];
    while let Some((path, facts)) = waiting.pop() {
        if facts.is_dir() && facts.dev() == device {
            waiting.extend(entries(tree, &path)?);
        }
        into.insert(path, facts);
    }
    Ok(())
}

fn attributes(path: &Path) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let mut names = Vec::with_capacity(4096);
    if !grown(&mut names, |buffer| llistxattr(path, buffer)).unwrap_or(false) {
        return BTreeMap::new();
    }
    let value = |name: &std::ffi::CStr| {
        let mut value = Vec::with_capacity(256);
        grown(&mut value, |buffer| lgetxattr(path, name, buffer)).ok()?;
        Some((name.to_bytes().to_vec(), value))
    };
    let is_own = |name: &&std::ffi::CStr| BOOKKEEPING.contains(&name.to_bytes());
    c_strings(&names).filter(|name| !is_own(name)).filter_map(value).collect()
}

pub(crate) fn same_content(one: &Path, other: &Path) -> io::Result<bool> {
    const PART: u64 = 1 << 20;
    let (mut one, mut other) = (File::open(one)?, File::open(other)?);
    let (mut a, mut b) = (Vec::new(), Vec::new());
    loop {
        a.clear();
        b.clear();
        one.by_ref().take(PART).read_to_end(&mut a)?;
        other.by_ref().take(PART).read_to_end(&mut b)?;
        if a != b || a.is_empty() {
            return Ok(a == b);
        }
    }
}
