//! Restoring: files of a snapshot, made again in the share with their forks and all metadata.
//!
//! ```text
//! for each file:   compare ─┬─► the same: unchanged
//!                           └─► copy into the server's own folder ─► write to the disk ─► move to its place
//! for each folder: make it if it is missing ─► its entries ─► remove the others (if asked) ─► its metadata
//! ```
//!
//! A copy is made with its fork, streams and metadata in the server's own folder. When it is whole,
//! one move puts it to its place, in the same way as a client's move: deny modes of opens count,
//! leases are recalled, subscribers are told, and the sidecar follows. So a crash leaves the old or
//! the new file. The next restore removes what a crash left in the own folder, and goes on with what
//! is not the same yet. A client that has the old file open keeps it until it closes it.
//!
//! All of this blocks. It runs on a thread of a tokio runtime that may block.

mod file;
mod parts;
mod same;
#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};

use crate::backend::MAX_PATH_DEPTH;
use crate::backend::{Found, NewKind};
use crate::caller::server;
use crate::names::own::refuse_own;
use crate::state::{ClientId, Party};
use crate::streams::STORE;
use crate::streams::stores::Stores;
use crate::{Actor, Caller, Error, HostKey, Kind, Node, Result, Time, Volume};

pub(crate) use self::file::STAGING;

/// Files with several names that are remembered, so that their names stay one file.
const MOST_LINKED: usize = 100_000;

/// What a restore does besides making files again.
#[derive(Debug, Clone, Copy, Default)]
pub struct RestoreOptions {
    /// Removes from restored folders what the snapshot does not have.
    pub delete: bool,
    /// Changes nothing, and reports what would be done.
    pub dry_run: bool,
    /// An existing file that differs is refused as `Exists`.
    pub keep: bool,
    /// A file that cannot be read is refused, and the rest is restored.
    pub past_damage: bool,
    /// The snapshot has the keys and times of creation of the live files. A file whose time of change is
    /// the same in both, and is before this time, has the same data.
    pub settled: Option<Time>,
}

/// What a restore did with a file or folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RestoreOutcome {
    /// It is again what it is in the snapshot.
    Restored,
    /// It was the same already.
    Unchanged,
    /// The snapshot does not have it.
    Removed,
    /// It stays as it is.
    Refused(Error),
    /// It is the root of another file system inside the share, which has snapshots of its own.
    OtherTree,
}

/// A caller that is told what a restore does.
pub trait RestoreObserver {
    /// A file or folder is done. `path` is its path in the share.
    fn done(&mut self, path: &[u8], what: RestoreOutcome);
    /// So many bytes of files were compared or copied since the last call. The restore ends after
    /// this file if the answer is false.
    fn bytes(&mut self, count: u64) -> bool;
}

/// A restore from a volume that shows a snapshot to the live volume.
pub struct Restore<'a> {
    from: &'a Volume,
    to: &'a Volume,
    options: RestoreOptions,
    observer: &'a mut dyn RestoreObserver,
    actor: Actor,
    /// The server's own folder for unfinished copies.
    staging: Option<Node>,
    /// Files with several names that were restored, by their key in the snapshot: where they are now.
    linked: HashMap<HostKey, (Node, Vec<u8>)>,
    /// The file that the one being restored takes the place of.
    replaced: Option<Found>,
    goes_on: bool,
}

/// A file in one of the two volumes, at its place.
struct FileAtPlace {
    folder: Node,
    name: Vec<u8>,
    found: Found,
}

/// A folder that is being restored.
struct RestoredFolder {
    source: Found,
    /// `None` in a dry run, if it does not exist.
    target: Option<Found>,
    path: Vec<u8>,
    /// Its place in both volumes; not of the share's own folder.
    places: Option<(FileAtPlace, FileAtPlace)>,
    made: bool,
    /// Names in the snapshot that are to be restored yet.
    left: Vec<Vec<u8>>,
    /// All of them.
    names: HashSet<Vec<u8>>,
}

impl<'a> Restore<'a> {
    /// Prepares a restore from the snapshot that `from` shows.
    pub fn new(
        from: &'a Volume,
        to: &'a Volume,
        options: RestoreOptions,
        observer: &'a mut dyn RestoreObserver,
    ) -> Self {
        let actor = Actor::new(Caller::root(), Party::client(ClientId::unused()));
        let linked = HashMap::new();
        Self { from, to, options, observer, actor, staging: None, linked, replaced: None, goes_on: true }
    }

    /// Restores the file or folder at the path `source` of the snapshot to the path `target` of the
    /// share. An empty path is the share's own folder, which keeps its own metadata. Returns whether
    /// all was done: the observer may end it early. What cannot be restored while the rest can is reported as
    /// [`RestoreOutcome::Refused`].
    ///
    /// # Errors
    /// `NotFound`: the snapshot has no such file. `NotFolder`: the folder of the target is not in
    /// the share. Others: the disk is full or fails; what was restored until then stays.
    pub fn run(&mut self, source: &[&[u8]], target: &[&[u8]]) -> Result<bool> {
        if self.to.is_read_only() {
            return Err(Error::ReadOnly);
        }
        if !self.options.dry_run {
            self.open_staging()?;
        }
        let mut levels = Vec::new();
        match (source.split_last(), target.split_last()) {
            (None, None) => {
                let (source, target) = (self.from.root()?, self.to.root()?);
                levels.push(self.level(source, Some(target), Vec::new(), None)?);
            }
            (Some((source_name, above)), Some((target_name, target_above))) => {
                let source_folder = folder_at(self.from, above)?;
                let target_folder = folder_at(self.to, target_above).map_err(|_| Error::NotFolder)?;
                refuse_own(source_name)?;
                refuse_own(target_name)?;
                let found = self.from.lookup(server(), &source_folder.object, source_name)?;
                let source = FileAtPlace { folder: source_folder.object, name: source_name.to_vec(), found };
                let path = target.join(&b'/');
                levels.extend(self.entry(source, Some(&target_folder), target_name, path)?);
            }
            _ => return Err(Error::Invalid),
        }
        self.walk(levels)?;
        if !self.options.dry_run {
            self.to.backend.sync()?;
        }
        Ok(self.goes_on)
    }

    /// Removes the folder for copies, if nothing is left in it: for a folder that is no share.
    pub fn remove_staging(self) {
        let remove = || -> Result<()> {
            let root = self.to.root()?;
            let homes = self.to.homes.of(&root.object.key())?;
            let store = homes.first().ok_or(Error::Stale)?.lookup(server(), STORE)?;
            store.object.remove_folder(server(), STAGING)?;
            homes.first().ok_or(Error::Stale)?.remove_folder(server(), STORE)
        };
        if let Err(error) = remove() {
            tracing::debug!(%error, "the folder for copies stays");
        }
    }

    fn walk(&mut self, mut levels: Vec<RestoredFolder>) -> Result<()> {
        while let Some(level) = levels.last_mut() {
            if !self.goes_on {
                return Ok(());
            }
            let Some(name) = level.left.pop() else {
                if let Some(level) = levels.pop() {
                    self.end(level)?;
                }
                continue;
            };
            let path = joined(&level.path, &name);
            let found = match level.source.object.lookup(server(), &name) {
                Err(Error::NotFound) => continue,
                Err(error) if !self.ends_by(error) => {
                    self.observer.done(&path, RestoreOutcome::Refused(error));
                    continue;
                }
                found => found?,
            };
            let source = FileAtPlace { folder: level.source.object.clone(), name: name.clone(), found };
            let target = level.target.clone();
            if levels.len() >= MAX_PATH_DEPTH {
                self.observer.done(&path, RestoreOutcome::Refused(Error::TooMany));
                continue;
            }
            levels.extend(self.entry(source, target.as_ref(), &name, path)?);
        }
        Ok(())
    }

    /// Restores an entry of a folder. Returns a folder that exists now, whose entries come next.
    fn entry(
        &mut self,
        source: FileAtPlace,
        folder: Option<&Found>,
        name: &[u8],
        path: Vec<u8>,
    ) -> Result<Option<RestoredFolder>> {
        let done = match source.found.attributes.kind {
            Kind::Folder => match self.folder(source, folder, name, &path) {
                Ok(Ok(level)) => return Ok(Some(level)),
                Ok(Err(what)) => Ok(what),
                Err(error) => Err(error),
            },
            _ => self.file(&source, folder, name),
        };
        let what = match done {
            Err(error) if self.ends_by(error) => return Err(error),
            Err(error) => RestoreOutcome::Refused(error),
            Ok(what) => what,
        };
        self.observer.done(&path, what);
        Ok(None)
    }

    /// Whether the rest cannot be restored either.
    fn ends_by(&self, error: Error) -> bool {
        let is_of_source = matches!(error, Error::Io | Error::NotSupported | Error::Stale);
        is_of_the_disk(error) && !(self.options.past_damage && is_of_source)
    }

    /// The entry of a live folder that has this name, if there is one.
    fn there(&self, folder: Option<&Found>, name: &[u8]) -> Result<Option<FileAtPlace>> {
        let Some(folder) = folder else { return Ok(None) };
        match self.to.lookup(server(), &folder.object, name) {
            Err(Error::NotFound) => Ok(None),
            found => {
                Ok(Some(FileAtPlace { folder: folder.object.clone(), name: name.to_vec(), found: found? }))
            }
        }
    }

    fn folder(
        &mut self,
        source: FileAtPlace,
        folder: Option<&Found>,
        name: &[u8],
        path: &[u8],
    ) -> Result<std::result::Result<RestoredFolder, RestoreOutcome>> {
        let mut there = self.there(folder, name)?;
        if let (Some(at), Some(folder)) = (&there, folder)
            && is_other_tree(folder, &at.found)
        {
            return Ok(Err(RestoreOutcome::OtherTree));
        }
        let is_in_the_way = there.as_ref().is_some_and(|at| at.found.attributes.kind != Kind::Folder);
        if is_in_the_way && !self.options.delete {
            return Err(Error::NotFolder);
        }
        if is_in_the_way && let (Some(at), Some(folder)) = (there.take(), folder) {
            self.remove(folder, &at.name, &at.found, path)?;
        }
        let made = there.is_none();
        if made
            && !self.options.dry_run
            && let Some(folder) = folder
        {
            let (to, actor) = (self.to, &self.actor);
            let make = || to.create(actor, &fresh(folder)?, name, NewKind::Folder, 0o700);
            let found = settled(to, make)?.found;
            there = Some(FileAtPlace { folder: folder.object.clone(), name: name.to_vec(), found });
        }
        let target = there.as_ref().map(|at| at.found.clone());
        let (found, path) = (source.found.clone(), path.to_vec());
        let mut level = self.level(found, target, path, there.map(|there| (source, there)))?;
        level.made = made;
        Ok(Ok(level))
    }

    fn level(
        &self,
        source: Found,
        target: Option<Found>,
        path: Vec<u8>,
        places: Option<(FileAtPlace, FileAtPlace)>,
    ) -> Result<RestoredFolder> {
        let left = entries(self.from, &source)?;
        let names = left.iter().cloned().collect();
        Ok(RestoredFolder { source, target, path, places, made: false, left, names })
    }

    /// After the entries of a folder: removes the others, and puts its metadata right.
    fn end(&mut self, level: RestoredFolder) -> Result<()> {
        let RestoredFolder { target, path, places, made, names, .. } = level;
        if let Some(target) = &target
            && self.options.delete
        {
            self.remove_others(target, &names, &path)?;
        }
        let what = match (&places, made) {
            (None, false) => return Ok(()), // the share's own folder
            (None, true) => RestoreOutcome::Restored,
            (Some((source, there)), _) => match self.describe_folder(source, there, made) {
                Ok(changed) if changed || made => RestoreOutcome::Restored,
                Ok(_) => RestoreOutcome::Unchanged,
                Err(error) if self.ends_by(error) => return Err(error),
                Err(error) => RestoreOutcome::Refused(error),
            },
        };
        self.observer.done(&path, what);
        Ok(())
    }

    fn remove_others(&mut self, folder: &Found, names: &HashSet<Vec<u8>>, path: &[u8]) -> Result<()> {
        for name in entries(self.to, folder)? {
            if names.contains(&name) {
                continue;
            }
            let found = match folder.object.lookup(server(), &name) {
                Err(Error::NotFound) => continue,
                found => found?,
            };
            if is_other_tree(folder, &found) {
                continue;
            }
            let path = joined(path, &name);
            match self.remove(folder, &name, &found, &path) {
                Err(error) if is_of_the_disk(error) => return Err(error),
                Err(error) => self.observer.done(&path, RestoreOutcome::Refused(error)),
                Ok(()) => {}
            }
        }
        Ok(())
    }

    /// Removes an entry of a live folder, and of a folder all that is in it. Stops at the first entry
    /// that cannot be removed.
    fn remove(&mut self, folder: &Found, name: &[u8], found: &Found, path: &[u8]) -> Result<()> {
        let mut waiting = vec![(folder.clone(), name.to_vec(), found.clone(), path.to_vec(), false)];
        while let Some((folder, name, found, path, is_listed)) = waiting.pop() {
            let is_folder = found.attributes.kind == Kind::Folder;
            if is_folder && !is_listed {
                waiting.push((folder, name, found.clone(), path.clone(), true));
                for name in entries(self.to, &found)? {
                    let inner = found.object.lookup(server(), &name)?;
                    if is_other_tree(&found, &inner) {
                        return Err(Error::CrossVolume);
                    }
                    let path = joined(&path, &name);
                    waiting.push((found.clone(), name, inner, path, false));
                }
                continue;
            }
            self.may_replace(&folder, &name, &found)?;
            if !self.options.dry_run {
                let (to, actor) = (self.to, &self.actor);
                let kind = if is_folder { Kind::Folder } else { Kind::File };
                settled(to, || to.remove(actor, &fresh(&folder)?, &name, kind))?;
            }
            self.observer.done(&path, RestoreOutcome::Removed);
        }
        Ok(())
    }

    /// Fails if an open or a lock of a client denies the removal of a live file.
    fn may_replace(&self, folder: &Found, name: &[u8], there: &Found) -> Result<()> {
        self.to.inhibitions().may_take_away(&self.actor, folder, name)?;
        let who = crate::changing::coherence::who(&self.actor);
        self.to.site.state.check_remove(there.object.id(), who)
    }
}

/// Runs an operation of the live volume until leases of clients are returned.
pub(crate) fn settled<T>(volume: &Volume, run: impl FnMut() -> Result<T>) -> Result<T> {
    tokio::runtime::Handle::current().block_on(volume.settled(run))
}

fn fresh(found: &Found) -> Result<Found> {
    Ok(Found { object: found.object.clone(), attributes: found.object.attributes()? })
}

/// Whether an entry of a folder is in another tree, or on another file system.
fn is_other_tree(folder: &Found, entry: &Found) -> bool {
    entry.object.id().device != folder.object.id().device
        || entry.object.is_read_only() != folder.object.is_read_only()
}

/// Whether the rest cannot be restored either.
fn is_of_the_disk(error: Error) -> bool {
    use Error::{Exhausted, Io, NoSpace, NotSupported, QuotaExceeded, ReadOnly, Stale, TooMany};
    matches!(error, Io | NoSpace | NotSupported | QuotaExceeded | ReadOnly | Stale | TooMany | Exhausted)
}

fn folder_at(volume: &Volume, path: &[&[u8]]) -> Result<Found> {
    let mut at = volume.root()?;
    for name in path {
        refuse_own(name)?;
        at = volume.lookup(server(), &at.object, name)?;
        if at.attributes.kind != Kind::Folder {
            return Err(Error::NotFolder);
        }
    }
    Ok(at)
}

/// The names in a folder, without sidecars and the server's own folders. The first is the last of the list.
fn entries(volume: &Volume, folder: &Found) -> Result<Vec<Vec<u8>>> {
    let (mut names, mut cookie) = (Vec::new(), 0);
    loop {
        let page = volume.list(server(), folder, cookie)?;
        names.extend(page.named().map(|entry| entry.name().to_vec()));
        match page.entries().last() {
            Some(last) if !page.complete => cookie = last.cookie,
            _ => break,
        }
    }
    names.sort();
    names.dedup();
    names.reverse();
    Ok(names)
}

fn joined(path: &[u8], name: &[u8]) -> Vec<u8> {
    if path.is_empty() { name.to_vec() } else { [path, b"/", name].concat() }
}
