//! What changed between two trees, or all of one: folders before what is in them.

use std::collections::{BTreeMap, HashMap};

use rustix::fs::Stat;

use super::Tree;
use super::described::SIDECAR_PREFIX;
use crate::content;
use crate::failure::{Failure, Result};
use crate::host::{self, join};
use crate::keys::STORE;
use crate::native::ChangedPaths;
use crate::wire::{Entry, Kind, Place};

/// From this size on only the changed chunks of a file are sent.
const WORTH_COMPARING: i64 = 128 << 10;
/// The key that seals access control lists, in the server's own folder.
const SEAL_KEY: &[u8] = b"acl-key";
/// The most files of a removed folder that are remembered, to find their new names.
const MOST_MOVED: usize = 1 << 20;

/// The older paths of files that are no longer there, by inode number.
pub(crate) type MovedPaths = HashMap<u64, Vec<u8>>;

/// Takes what changed.
pub(crate) trait ChangeSink {
    /// An entry. `source` is its path in the newer tree, with the server's own folders.
    fn entry(&mut self, entry: Entry, source: &[u8]) -> Result<()>;
    /// All names of a folder.
    fn names(&mut self, folder: &[u8], names: &[Vec<u8>]) -> Result<()>;
}

/// Two trees.
pub(crate) struct TreeComparison<'a> {
    pub(crate) newer: &'a Tree,
    /// `None`: all of the newer tree has changed.
    pub(crate) older: Option<&'a Tree>,
    /// A file has the same inode in both.
    pub(crate) keeps_inodes: bool,
    /// Changes before this second have other times than changes after the older snapshot.
    pub(crate) settled: i64,
    /// Files get checksums.
    pub(crate) verify: bool,
    /// Older paths of files with new names.
    pub(crate) moved: &'a MovedPaths,
    /// Only these paths have changed. `None`: that is not known.
    pub(crate) only: Option<&'a ChangedPaths>,
}

/// The names of one file.
#[derive(Default)]
struct Group {
    paths: Vec<Vec<u8>>,
    links: u64,
    is_changed: bool,
}

/// Whether a path is that of a folder of the server, which is not copied as it is.
pub(crate) fn is_own(path: &[u8]) -> bool {
    path == STORE || path == snapshots::FOLDER.as_bytes()
}

impl<'a> TreeComparison<'a> {
    /// Tells the sink what changed. Returns whether all names of each changed file were seen: with `only` some may be
    /// elsewhere.
    pub(crate) fn walk(&self, sink: &mut dyn ChangeSink) -> Result<bool> {
        let mut groups: BTreeMap<u64, Group> = BTreeMap::new();
        self.seal_key(sink)?;
        let root = self.stat(self.newer, b"")?;
        let before = self.older.map(|older| self.stat(older, b"")).transpose()?;
        if self.is_changed(b"", &root, before.as_ref())? {
            self.tell(b"", &root, before.as_ref(), sink)?;
        }
        let mut folders = vec![(Vec::new(), self.only)];
        while let Some((folder, only)) = folders.pop() {
            self.folder(&folder, only, &mut folders, &mut groups, sink)?;
        }
        let mut is_complete = true;
        for group in groups.into_values().filter(|group| group.is_changed) {
            is_complete &= self.only.is_none() || group.paths.len() as u64 == group.links;
            self.group(&group, sink)?;
        }
        Ok(is_complete)
    }

    fn stat(&self, tree: &Tree, path: &[u8]) -> Result<Stat> {
        let gone = || Failure::io("find", path)(std::io::Error::from(std::io::ErrorKind::NotFound));
        tree.stat(path)?.ok_or_else(gone)
    }

    fn folder(
        &self,
        path: &[u8],
        only: Option<&'a ChangedPaths>,
        below: &mut Vec<(Vec<u8>, Option<&'a ChangedPaths>)>,
        groups: &mut BTreeMap<u64, Group>,
        sink: &mut dyn ChangeSink,
    ) -> Result<()> {
        let opened = self.newer.folder(path)?;
        let names = listed(&opened, path)?;
        let older = self.older.map(|older| older.folder_if_there(path)).transpose()?.flatten();
        let before = older.as_ref().map(|older| listed(older, path)).transpose()?;
        if before.as_ref() != Some(&names) {
            sink.names(path, &names)?;
        }
        let mut names = names;
        if let Some(only) = only {
            names.retain(|name| only.leads_to(&join(path, name)));
        }
        // A sidecar follows its file.
        let (sidecars, others): (Vec<_>, Vec<_>) =
            names.into_iter().partition(|name| name.starts_with(SIDECAR_PREFIX));
        for name in others.into_iter().chain(sidecars) {
            let inner = join(path, &name);
            let failed = || Failure::io("read", &inner);
            // In a live tree: it was removed meanwhile.
            let Some(now) = host::stat(&opened, &name).map_err(failed())? else { continue };
            let then = match &older {
                Some(older) => host::stat(older, &name).map_err(failed())?,
                None => None,
            };
            let is_changed = self.is_changed(&inner, &now, then.as_ref())?;
            if !host::is_folder(&now) && now.st_nlink > 1 {
                let group = groups.entry(now.st_ino).or_default();
                group.paths.push(inner);
                group.links = now.st_nlink;
                group.is_changed |= is_changed;
                continue;
            }
            if is_changed {
                self.tell(&inner, &now, then.as_ref(), sink)?;
            }
            if host::is_folder(&now) && !self.newer.is_boundary(&now) {
                // A folder that has another name, or is new: all that is in it is new at this path.
                let is_same = then.is_some_and(|then| then.st_ino == now.st_ino);
                below.push((inner, only.filter(|_| is_same)));
            }
        }
        Ok(())
    }

    fn is_changed(&self, path: &[u8], now: &Stat, then: Option<&Stat>) -> Result<bool> {
        let (Some(older), Some(then)) = (self.older, then) else { return Ok(true) };
        let facts =
            |stat: &Stat| (stat.st_mode, stat.st_uid, stat.st_gid, stat.st_rdev, host::modified(stat));
        let size = |stat: &Stat| if host::is_folder(stat) { 0 } else { stat.st_size };
        let links = |stat: &Stat| if host::is_folder(stat) { 0 } else { stat.st_nlink };
        if facts(now) != facts(then) || size(now) != size(then) || links(now) != links(then) {
            return Ok(true);
        }
        if self.keeps_inodes {
            let change = |stat: &Stat| (stat.st_ino, stat.st_ctime, stat.st_ctime_nsec);
            if change(now) != change(then) || now.st_ctime >= self.settled {
                return Ok(true);
            }
        } else if now.st_mtime >= self.settled && host::is_file(now)
            || self.attributes(self.newer, path)? != self.attributes(older, path)?
        {
            return Ok(true);
        }
        self.newer.has_other_forks(path, now, older, then)
    }

    fn attributes(&self, tree: &Tree, path: &[u8]) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
        let (above, name) = host::split(path);
        host::xattrs(&tree.folder(above)?, name).map_err(Failure::io("read", path))
    }

    /// Tells the sink of an entry and its forks.
    fn tell(&self, path: &[u8], now: &Stat, then: Option<&Stat>, sink: &mut dyn ChangeSink) -> Result<()> {
        let forks = self.newer.forks(path, now)?;
        let mut entry = self.newer.described(Place::Tree(path.to_vec()), path, now)?;
        entry.forks = Some(forks.names.clone());
        self.complete(&mut entry, path, then.map(|then| (path.to_vec(), *then)), now)?;
        sink.entry(entry, path)?;
        for name in &forks.names {
            let source = join(&forks.folder, name);
            let stat = self.stat(self.newer, &source)?;
            let place = Place::Fork(path.to_vec(), name.clone());
            let mut entry = self.newer.described(place, &source, &stat)?;
            self.complete(&mut entry, &source, None, &stat)?;
            sink.entry(entry, &source)?;
        }
        Ok(())
    }

    /// Adds the base and the checksum of a file.
    fn complete(
        &self,
        entry: &mut Entry,
        source: &[u8],
        then: Option<(Vec<u8>, Stat)>,
        now: &Stat,
    ) -> Result<()> {
        let Kind::File { size, base, checksum } = &mut entry.kind else { return Ok(()) };
        let then = match (then, self.older) {
            (Some(then), _) => Some(then),
            (None, Some(older)) if self.keeps_inodes => self.elsewhere(older, source, now)?,
            _ => None,
        };
        let then = then.filter(|(_, then)| host::is_file(then));
        // With the same size and time, only the content tells whether the destination has this version or the one before.
        let is_ambiguous = then.as_ref().is_some_and(|(_, then)| {
            (then.st_size, host::modified(then)) == (now.st_size, host::modified(now))
                && now.st_mtime >= self.settled
        });
        if self.verify || is_ambiguous {
            let file = self.newer.file(source)?;
            *checksum = Some(content::checksum(&file, *size).map_err(Failure::io("read", source))?);
        }
        if let Some((path, then)) = then.filter(|_| now.st_size >= WORTH_COMPARING) {
            *base = Some((path, then.st_size.cast_unsigned(), host::modified(&then)));
        }
        Ok(())
    }

    /// The older place of a file that is not at this path there.
    fn elsewhere(&self, older: &Tree, source: &[u8], now: &Stat) -> Result<Option<(Vec<u8>, Stat)>> {
        let path = self.moved.get(&now.st_ino).map_or(source, |path| path);
        let then = older.stat(path)?.filter(|then| then.st_ino == now.st_ino);
        Ok(then.map(|then| (path.to_vec(), then)))
    }

    /// Tells the sink of a file with several names.
    fn group(&self, group: &Group, sink: &mut dyn ChangeSink) -> Result<()> {
        let Some((first, others)) = group.paths.split_first() else { return Ok(()) };
        let now = self.stat(self.newer, first)?;
        let then = self.older.map(|older| older.stat(first)).transpose()?.flatten();
        self.tell(first, &now, then.as_ref(), sink)?;
        for path in others {
            let mut entry = self.newer.described(Place::Tree(path.clone()), path, &now)?;
            (entry.kind, entry.xattrs) = (Kind::Same(first.clone()), Vec::new());
            sink.entry(entry, path)?;
        }
        Ok(())
    }

    fn seal_key(&self, sink: &mut dyn ChangeSink) -> Result<()> {
        let path = join(STORE, SEAL_KEY);
        let Some(now) = self.newer.stat(&path)? else { return Ok(()) };
        let mut entry = self.newer.described(Place::SealKey, &path, &now)?;
        self.complete(&mut entry, &path, None, &now)?;
        sink.entry(entry, &path)
    }
}

fn listed(folder: &std::os::fd::OwnedFd, path: &[u8]) -> Result<Vec<Vec<u8>>> {
    let mut names = host::names(folder).map_err(Failure::io("list", path))?;
    if path.is_empty() {
        names.retain(|name| !is_own(name));
    }
    Ok(names)
}

/// The files of the older tree whose paths are not in the newer one. `only` says which paths have changed.
pub(crate) fn removed(newer: &Tree, older: &Tree, only: Option<&ChangedPaths>) -> Result<MovedPaths> {
    let mut moved = MovedPaths::new();
    let mut folders = vec![(Vec::new(), true)];
    if let Some(only) = only {
        folders.clear();
        for path in &only.before {
            let Some(then) = older.stat(path)? else { continue };
            let is_there = newer.stat(path)?.is_some_and(|now| now.st_ino == then.st_ino);
            if host::is_folder(&then) {
                folders.push((path.clone(), is_there));
            } else if !is_there && moved.len() < MOST_MOVED {
                moved.insert(then.st_ino, path.clone());
            }
        }
    }
    while let Some((path, is_in_both)) = folders.pop() {
        let Some(before) = older.folder_if_there(&path)? else { continue };
        let now = if is_in_both { newer.folder_if_there(&path)? } else { None };
        for name in listed(&before, &path)? {
            let inner = join(&path, &name);
            let failed = || Failure::io("read", &inner);
            let Some(then) = host::stat(&before, &name).map_err(failed())? else { continue };
            let there = match &now {
                Some(now) => host::stat(now, &name).map_err(failed())?,
                None => None,
            };
            if host::is_folder(&then) {
                if !older.is_boundary(&then) {
                    folders.push((inner, there.is_some()));
                }
            } else if there.is_none_or(|there| there.st_ino != then.st_ino) && moved.len() < MOST_MOVED {
                moved.insert(then.st_ino, inner);
            }
        }
    }
    Ok(moved)
}
