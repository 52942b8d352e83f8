//! Restoring one file: a copy in the server's own folder, which is moved to its place when it is whole.

use super::{FileAtPlace, MOST_LINKED, Restore, RestoreOutcome, fresh, is_other_tree, settled};
use crate::backend::copying::{copy_data, keep_times};
use crate::backend::trust;
use crate::backend::{Found, NewKind, Object, RenameMode, Stability, XattrMode};
use crate::caller::server;
use crate::changing::notices::Notices;
use crate::described::metadata::file_at;
use crate::mac::FileBits;
use crate::streams::stores::Stores;
use crate::streams::{STORE, find_or_make};
use crate::{Beside, Error, Kind, Node, Result};

/// In the server's own folder for streams: copies of files that are not whole yet.
pub(crate) const STAGING: &[u8] = b"restoring";

impl FileAtPlace {
    pub(super) fn beside(&self) -> Beside<'_> {
        Beside { folder: &self.folder, name: &self.name }
    }
}

impl Restore<'_> {
    /// Makes the server's own folder for copies, and removes what a crash left there.
    pub(super) fn open_staging(&mut self) -> Result<()> {
        let root = self.to.root()?;
        let home = self.to.homes.of(&root.object.key())?.into_iter().next().ok_or(Error::Stale)?;
        let store = find_or_make(&*home, STORE, NewKind::Folder, 0o700)?;
        trust(self.to.backend.as_ref(), &store).map_err(|_| Error::NotPermitted)?;
        let staging = find_or_make(&*store.object, STAGING, NewKind::Folder, 0o700)?.object;
        let mut names = Vec::new();
        staging.list(0, &mut |entry| {
            names.push(entry.name.to_vec());
            true
        })?;
        for name in names.iter().filter(|name| !matches!(&name[..], b"." | b"..")) {
            match discard(self, &staging, name) {
                Err(Error::NotFound) => {} // a sidecar, which went with its file
                other => other?,
            }
        }
        self.staging = Some(staging);
        Ok(())
    }

    /// Restores what is not a folder.
    pub(super) fn file(
        &mut self,
        source: &FileAtPlace,
        folder: Option<&Found>,
        name: &[u8],
    ) -> Result<RestoreOutcome> {
        let there = self.there(folder, name)?;
        let Some(folder) = folder else { return Ok(RestoreOutcome::Restored) };
        if let Some(there) = &there {
            if is_other_tree(folder, &there.found) {
                return Ok(RestoreOutcome::OtherTree);
            }
            if there.found.attributes.kind == Kind::Folder {
                return Err(Error::IsFolder);
            }
            if self.is_same(source, there)? && self.is_the_linked(source, there) {
                self.remember(source, (&folder.object, name));
                return Ok(RestoreOutcome::Unchanged);
            }
            if self.options.keep {
                return Err(Error::Exists);
            }
            self.may_replace(folder, name, &there.found)?;
        }
        if !self.options.dry_run {
            let replaces = there.is_some();
            self.replaced = there.map(|there| there.found);
            let made = self.make(source, folder, name, replaces);
            self.replaced = None;
            made?;
            self.remember(source, (&folder.object, name));
        }
        Ok(RestoreOutcome::Restored)
    }

    /// Whether a file with several names is the one that has its first name now.
    fn is_the_linked(&self, source: &FileAtPlace, there: &FileAtPlace) -> bool {
        let Some((folder, first)) = self.linked.get(&source.found.object.key()) else { return true };
        folder.lookup(server(), first).is_ok_and(|first| first.object.id() == there.found.object.id())
    }

    fn remember(&mut self, source: &FileAtPlace, (folder, name): (&Node, &[u8])) {
        let found = &source.found;
        if found.attributes.links > 1 && self.linked.len() < MOST_LINKED {
            self.linked.entry(found.object.key()).or_insert_with(|| (folder.clone(), name.to_vec()));
        }
    }

    fn make(&mut self, source: &FileAtPlace, folder: &Found, name: &[u8], replaces: bool) -> Result<()> {
        let Some(staging) = self.staging.clone() else { return Err(Error::ReadOnly) };
        match discard(self, &staging, name) {
            Err(Error::NotFound) => {}
            other => other?,
        }
        if self.link(source, &staging, (folder, name), replaces).is_ok() {
            return Ok(());
        }
        let found = self.copy(source, &staging, name)?;
        let staged = FileAtPlace { folder: staging.clone(), name: name.to_vec(), found };
        let moved = self
            .complete(source, &staged, replaces)
            .and_then(|()| self.put((&staging, name), (folder, name), replaces));
        if moved.is_err() {
            let _ = discard(self, &staging, name); // the first error counts
        }
        moved?;
        self.lock_again(source, folder, name)
    }

    /// Moves a whole file to its place.
    fn put(&self, from: (&Node, &[u8]), place: (&Found, &[u8]), replaces: bool) -> Result<()> {
        let mode = if replaces { RenameMode::Replace } else { RenameMode::Keep };
        let own = Found { attributes: from.0.attributes()?, object: from.0.clone() };
        let put = || self.to.rename(&self.actor, (&own, from.1), (&fresh(place.0)?, place.1), mode);
        settled(self.to, put).map(drop)
    }

    /// Makes another name of a file that was restored under its first name. If that fails, a file of
    /// its own is right, too.
    fn link(
        &self,
        source: &FileAtPlace,
        staging: &Node,
        place: (&Found, &[u8]),
        replaces: bool,
    ) -> Result<()> {
        let first = self.linked.get(&source.found.object.key()).ok_or(Error::NotFound)?;
        let first = first.0.lookup(server(), &first.1)?;
        if !replaces {
            let link = || self.to.link(&self.actor, &first, &fresh(place.0)?, place.1);
            return settled(self.to, link).map(drop);
        }
        staging.link(server(), &*first.object, place.1)?;
        let moved = self.put((staging, place.1), place, replaces);
        if moved.is_err() {
            let _ = discard(self, staging, place.1); // the first error counts
        }
        moved
    }

    /// A copy of the data.
    fn copy(&mut self, source: &FileAtPlace, staging: &Node, name: &[u8]) -> Result<Found> {
        let from = &source.found;
        let (target, (major, minor)) = (from.object.clone(), from.attributes.device);
        let link = if from.attributes.kind == Kind::Link { target.read_link()? } else { Vec::new() };
        let kind = match from.attributes.kind {
            Kind::File => NewKind::File,
            Kind::Folder => return Err(Error::IsFolder),
            Kind::Link => NewKind::Link(&link),
            Kind::Fifo => NewKind::Fifo,
            Kind::Socket => NewKind::Socket,
            Kind::CharDevice => NewKind::CharDevice(major, minor),
            Kind::BlockDevice => NewKind::BlockDevice(major, minor),
        };
        let made = staging.create(server(), name, kind, 0o600)?;
        if from.attributes.kind == Kind::File {
            self.copy_data(from, &made)?;
        }
        Ok(made)
    }

    fn copy_data(&mut self, from: &Found, to: &Found) -> Result<()> {
        let Self { observer, goes_on, .. } = self;
        copy_data(from, to, &mut |count| *goes_on &= observer.bytes(count))
    }

    /// All that a copy is besides its data. On the disk, if it replaces a file.
    fn complete(&mut self, source: &FileAtPlace, staged: &FileAtPlace, replaces: bool) -> Result<()> {
        self.describe(source, staged, true)?;
        if !replaces || staged.found.attributes.kind != Kind::File {
            return Ok(());
        }
        if let Some((_, to)) = self.streams_of(source, staged)
            && to.streams.fork_len(&to.file)? > 0
        {
            to.streams.fork_to_write(server(), &to.file)?.sync(Stability::File)?;
        }
        staged.found.object.sync(Stability::File)
    }

    /// A file that may not be moved is locked after it was moved to its place.
    fn lock_again(&self, source: &FileAtPlace, folder: &Found, name: &[u8]) -> Result<()> {
        let metadata =
            self.from.metadata_reader().stored(&source.found, Some(source.beside()))?.unwrap_or_default();
        let bit = metadata.bits & FileBits::RENAME_INHIBIT;
        if bit == FileBits::default() {
            return Ok(());
        }
        let found = folder.object.lookup(server(), name)?;
        let place = Beside { folder: &folder.object, name };
        self.to.change_metadata(&self.actor, &found, Some(place), |metadata| metadata.bits |= bit)
    }
}

/// Removes an unfinished copy.
fn discard(restore: &Restore<'_>, staging: &Node, name: &[u8]) -> Result<()> {
    match &restore.to.streams {
        Some(streams) => streams.pairs().remove(server(), &**staging, name, None),
        None => staging.remove(server(), name),
    }
}

/// Gives a file the attributes of the host that no other part of it says: those of programs of the host.
pub(super) fn copy_host_xattrs(from: &dyn Object, to: &dyn Object, names: &[Vec<u8>]) {
    let is_other = |name: &&Vec<u8>| {
        [&b"security."[..], b"trusted.", b"system.posix_acl_default"]
            .iter()
            .any(|start| name.starts_with(start))
    };
    for name in names.iter().filter(is_other) {
        // Without the right to set them, or on another file system, the file is restored without them.
        if let Ok(value) = from.xattr(name)
            && to.xattr(name).ok().as_ref() != Some(&value)
            && let Err(error) = to.set_xattr(server(), name, &value, XattrMode::Set)
        {
            tracing::debug!(%error, name = %name.escape_ascii(), "an attribute of the host was not restored");
        }
    }
}

impl Restore<'_> {
    /// Puts the metadata of a live folder right. Returns whether something was different.
    pub(super) fn describe_folder(
        &mut self,
        source: &FileAtPlace,
        there: &FileAtPlace,
        made: bool,
    ) -> Result<bool> {
        let there = FileAtPlace {
            found: fresh(&there.found)?,
            folder: there.folder.clone(),
            name: there.name.clone(),
        };
        let differs = made || !self.is_described_alike(source, &there)?;
        if self.options.dry_run || !(differs || self.options.delete) {
            return Ok(differs);
        }
        let (to, place) = (self.to, there.beside());
        if differs {
            let pins = to.site.pin_and_wait(&[there.found.object.id()])?;
            let _changing = to.claim_pinned(&there.found, Some(place), pins);
            self.describe(source, &there, false)?;
        }
        keep_times(&source.found, &*there.found.object)?;
        let what = crate::events::ChangeKind::Modified(crate::events::Aspects::ALL);
        Notices::of(to, &self.actor).entry(&there.folder, &there.name, &fresh(&there.found)?, what);
        to.unheard(&there.found.object);
        Ok(differs)
    }

    /// The streams and metadata of both files.
    pub(super) fn streams_of<'b>(
        &'b self,
        source: &'b FileAtPlace,
        target: &'b FileAtPlace,
    ) -> Option<(super::parts::Side<'b>, super::parts::Side<'b>)> {
        let has_forks = matches!(source.found.attributes.kind, Kind::File | Kind::Folder);
        let (from, to) = (self.from.streams.as_deref()?, self.to.streams.as_deref()?);
        let side = |streams, at: &'b FileAtPlace| super::parts::Side {
            streams,
            file: file_at(&at.found, at.beside()),
        };
        has_forks.then(|| (side(from, source), side(to, target)))
    }
}
