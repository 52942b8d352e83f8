//! Entries: made, changed, removed. What is right already is not touched, so a run that was cut off costs little the next time.

use std::fs::File;
use std::io::ErrorKind;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{
    AtFlags, FileType, Gid, Mode, OFlags, Stat, Uid, chmodat, chownat, fstat, linkat, mkdirat, mknodat,
    openat, readlinkat, symlinkat, unlinkat,
};
use snapshots::Dataset;

use super::{PARTIAL, Target};
use crate::content;
use crate::failure::{Failure, Result, shown};
use crate::host::{self, join, split};
use crate::keys::{ACL_OF_XFS, MOVING, OWNER, SIDECAR, STORE};
use crate::wire::entry::MAX_NAME;
use crate::wire::{Entry, Kind, Owner, Place, Stamp};

/// In the folder with the forks of a file: its sidecar.
const FORK_SIDECAR: &[u8] = b"sidecar";
/// The key that no file has.
const NO_KEY: &[u8] = &[0];
/// Names of the server's own folders.
const OWN: [&[u8]; 2] = [STORE, snapshots::FOLDER.as_bytes()];

/// Whether the data of an entry are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DataNeed {
    /// The entry is as it should be.
    Complete,
    /// Its data are wanted.
    Wanted { from: u64, is_delta: bool },
}

impl Target {
    /// A dataset with files of its own does not become a replica.
    pub(super) fn must_be_empty(&self, dataset: &Dataset) -> Result<()> {
        let mut names = host::names(&self.root).map_err(Failure::io("list", b""))?;
        names.retain(|name| !OWN.contains(&&**name));
        match names.first() {
            None => Ok(()),
            Some(name) => Err(Failure::Other(format!(
                "{} has files of its own ({}), and is no replica; replicate to an empty dataset: `fourfold create` makes one",
                dataset.folder().display(),
                shown(name).display()
            ))),
        }
    }

    /// Where an entry is in this tree.
    pub(super) fn place(&self, place: &Place) -> Result<Vec<u8>> {
        match place {
            Place::Tree(path)
                if OWN.contains(&path.split(|byte| *byte == b'/').next().unwrap_or_default()) =>
            {
                Err(Failure::Order("an entry in a folder of the server's own"))
            }
            Place::Tree(path) => Ok(path.clone()),
            Place::Fork(path, name) => Ok(join(&self.keys.fork_folder(path)?, name)),
            Place::SealKey => Ok(join(STORE, b"acl-key")),
        }
    }

    /// The folder that an entry is in.
    pub(super) fn parent(&self, path: &[u8]) -> Result<OwnedFd> {
        let above = split(path).0;
        let opened = host::folder(&self.root, above).map_err(|why| match why.kind() {
            ErrorKind::NotFound | ErrorKind::NotADirectory => Failure::Other(format!(
                "the destination has no folder {}: something else has changed it; run the command with --verify",
                shown(above).display()
            )),
            _ => Failure::io("open", above)(why),
        })?;
        if fstat(&opened).map_err(Failure::io("read", above))?.st_dev != self.device {
            return Err(Failure::Other(format!(
                "{} of the destination is another dataset or file system; move it away",
                shown(above).display()
            )));
        }
        Ok(opened)
    }

    /// Makes or changes an entry.
    pub(super) fn entry(&mut self, entry: &Entry) -> Result<DataNeed> {
        match &entry.place {
            Place::Tree(_) => {}
            Place::Fork(path, _) => self.own_folder(&self.keys.fork_folder(path)?)?,
            Place::SealKey => self.own_folder(STORE)?,
        }
        let path = self.place(&entry.place)?;
        let judged = self.judged(entry, &path)?;
        if let (Place::Tree(path), Some(forks)) = (&entry.place, &entry.forks) {
            self.forks(path, forks)?;
        }
        if let Place::Fork(path, name) = &entry.place
            && name == FORK_SIDECAR
        {
            let key = self.keys.key(&self.keys.fork_folder(path)?)?;
            let place = [&[key.len() as u8][..], &key, FORK_SIDECAR].concat();
            let parent = self.parent(path)?;
            host::set_xattr(&parent, split(path).1, MOVING, &place).map_err(Failure::io("change", path))?;
        }
        Ok(judged)
    }

    fn judged(&mut self, entry: &Entry, path: &[u8]) -> Result<DataNeed> {
        let (parent, name) = (self.parent(path)?, split(path).1);
        let failed = |what| Failure::io(what, path);
        let there = host::stat(&parent, name).map_err(failed("read"))?;
        match &entry.kind {
            Kind::Folder | Kind::Boundary => {
                let is_there = there.as_ref().is_some_and(host::is_folder);
                if !is_there {
                    self.make(&parent, path, there.as_ref(), |at| {
                        Ok(mkdirat(at, host::name(name), Mode::RWXU)?)
                    })?;
                }
                if is_there && entry.kind == Kind::Boundary {
                    return Ok(DataNeed::Complete);
                }
            }
            Kind::File { size, base, checksum } => {
                let base = base.as_ref().map(|(path, size, modified)| (&path[..], *size, *modified));
                return self.file(entry, (&parent, path), there.as_ref(), *size, base, checksum.as_ref());
            }
            Kind::Same(first) => {
                let from = self.parent(first)?;
                let of = host::stat(&from, split(first).1).map_err(Failure::io("find", first))?;
                let inode = |stat: &Stat| (stat.st_dev, stat.st_ino);
                if there.as_ref().map(inode) != of.as_ref().map(inode) {
                    let first = host::name(split(first).1);
                    self.make(&parent, path, there.as_ref(), |at| {
                        Ok(linkat(&from, first, at, host::name(name), AtFlags::empty())?)
                    })?;
                }
                return Ok(DataNeed::Complete);
            }
            Kind::Link(target) => {
                let is_there = there.as_ref().is_some_and(|stat| {
                    FileType::from_raw_mode(stat.st_mode) == FileType::Symlink
                        && readlinkat(&parent, host::name(name), Vec::new())
                            .is_ok_and(|there| there.as_bytes() == target)
                });
                if !is_there {
                    self.make(&parent, path, there.as_ref(), |at| {
                        Ok(symlinkat(host::name(target), at, host::name(name))?)
                    })?;
                }
            }
            Kind::Special { device } => {
                let kind = FileType::from_raw_mode(entry.mode);
                if ![FileType::Fifo, FileType::Socket, FileType::BlockDevice, FileType::CharacterDevice]
                    .contains(&kind)
                {
                    return Err(Failure::Order("a special file that is none"));
                }
                let is_there = there.as_ref().is_some_and(|stat| {
                    FileType::from_raw_mode(stat.st_mode) == kind && stat.st_rdev == *device
                });
                if !is_there {
                    self.make(&parent, path, there.as_ref(), |at| {
                        Ok(mknodat(at, host::name(name), kind, Mode::RUSR, *device)?)
                    })?;
                }
            }
        }
        self.metadata(entry, &parent, path)?;
        Ok(DataNeed::Complete)
    }

    /// Judges a file, and makes it if it is missing.
    fn file(
        &mut self,
        entry: &Entry,
        (parent, path): (&OwnedFd, &[u8]),
        there: Option<&Stat>,
        size: u64,
        base: Option<(&[u8], u64, Stamp)>,
        checksum: Option<&[u8; 32]>,
    ) -> Result<DataNeed> {
        let name = split(path).1;
        let failed = |what| Failure::io(what, path);
        let mut from = 0;
        match there.filter(|stat| host::is_file(stat) && (stat.st_nlink == 1 || entry.is_linked)) {
            Some(stat) => {
                let partial = host::xattr(parent, name, PARTIAL).map_err(failed("read"))?;
                let is_as_large =
                    stat.st_size.cast_unsigned() == size && host::modified(stat) == entry.modified;
                if partial.is_none() && is_as_large && self.has(path, size, checksum)? {
                    self.metadata(entry, parent, path)?;
                    return Ok(DataNeed::Complete);
                }
                if partial.is_some_and(|partial| partial == mark(size, entry.modified)) {
                    from = stat.st_size.cast_unsigned() / content::CHUNK as u64 * content::CHUNK as u64;
                }
            }
            None => self.make(parent, path, there, |at| {
                let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
                openat(at, host::name(name), flags, Mode::RUSR | Mode::WUSR)?;
                Ok(())
            })?,
        }
        let is_delta = from == 0 && base.is_some_and(|base| self.older(base).is_some());
        Ok(DataNeed::Wanted { from, is_delta })
    }

    /// The file of the base from which most of the content is, if it is the one that the source means.
    pub(super) fn older(&self, (path, size, modified): (&[u8], u64, Stamp)) -> Option<File> {
        let opened: OwnedFd = host::open(self.base.as_ref()?, path, OFlags::RDONLY).ok()?;
        let stat = fstat(&opened).ok()?;
        let is_meant =
            host::is_file(&stat) && stat.st_size.cast_unsigned() == size && host::modified(&stat) == modified;
        is_meant.then(|| opened.into())
    }

    /// Whether a file has this checksum, if it is known.
    fn has(&self, path: &[u8], size: u64, checksum: Option<&[u8; 32]>) -> Result<bool> {
        let Some(checksum) = checksum else { return Ok(true) };
        let file: File =
            host::open(&self.root, path, OFlags::RDONLY).map_err(Failure::io("open", path))?.into();
        Ok(content::checksum(&file, size).map_err(Failure::io("read", path))? == *checksum)
    }

    /// Makes an entry in the place of what is there.
    fn make(
        &mut self,
        parent: &OwnedFd,
        path: &[u8],
        there: Option<&Stat>,
        make: impl FnOnce(&OwnedFd) -> std::io::Result<()>,
    ) -> Result<()> {
        if there.is_some() {
            self.remove(path)?;
        }
        keeping_times(parent, path, || make(parent).map_err(Failure::io("make", path)))?;
        // The sidecar of the file that was there before, if it stays.
        let (above, name) = split(path);
        let sidecar = [b"._", name].concat();
        if sidecar.len() > MAX_NAME {
            return Ok(()); // no host has such a file
        }
        let owner = host::xattr(parent, &sidecar, OWNER).map_err(Failure::io("read", above))?;
        if owner.is_some_and(|owner| owner != NO_KEY) {
            let key = self.keys.key(path)?;
            host::set_xattr(parent, &sidecar, OWNER, &key).map_err(Failure::io("change", path))?;
        }
        Ok(())
    }

    /// Makes a folder of the server's own.
    fn own_folder(&mut self, path: &[u8]) -> Result<()> {
        let (above, _) = split(path);
        if !above.is_empty() {
            self.own_folder(above)?;
        }
        let parent = self.parent(path)?;
        keeping_times(&parent, path, || match mkdirat(&parent, host::name(split(path).1), Mode::RWXU) {
            Err(rustix::io::Errno::EXIST) => Ok(()),
            made => made.map_err(Failure::io("make", path)),
        })
    }

    /// Removes the forks of a file that it does not have any more.
    fn forks(&mut self, path: &[u8], forks: &[Vec<u8>]) -> Result<()> {
        if host::stat(&self.root, STORE).map_err(Failure::io("read", STORE))?.is_none() {
            return Ok(());
        }
        let folder = self.keys.fork_folder(path)?;
        if !forks.iter().any(|name| name == FORK_SIDECAR) {
            let parent = self.parent(path)?;
            host::remove_xattr(&parent, split(path).1, MOVING).map_err(Failure::io("change", path))?;
        }
        let Ok(opened) = host::folder(&self.root, &folder) else { return Ok(()) };
        if forks.is_empty() {
            return self.remove(&folder);
        }
        for name in host::names(&opened).map_err(Failure::io("list", &folder))? {
            if !forks.contains(&name) {
                self.remove(&join(&folder, &name))?;
            }
        }
        Ok(())
    }

    /// Removes an entry with all that is in it, and with the forks of the files.
    pub(super) fn remove(&self, path: &[u8]) -> Result<()> {
        let has_forks = !path.starts_with(STORE)
            && host::stat(&self.root, STORE).map_err(Failure::io("read", STORE))?.is_some();
        let mut waiting = vec![(path.to_vec(), false)];
        while let Some((path, is_empty)) = waiting.pop() {
            let (parent, name) = (self.parent(&path)?, split(&path).1);
            let Some(stat) = host::stat(&parent, name).map_err(Failure::io("read", &path))? else { continue };
            let is_folder = host::is_folder(&stat);
            if is_folder && !is_empty {
                waiting.push((path.clone(), true));
                let below = join(&path, b".");
                let opened = self.parent(&below)?;
                let names = host::names(&opened).map_err(Failure::io("list", &path))?;
                waiting.extend(names.into_iter().map(|name| (join(&path, &name), false)));
                continue;
            }
            if has_forks && (is_folder || stat.st_nlink == 1) {
                let folder = self.keys.fork_folder(&path)?;
                if host::folder(&self.root, &folder).is_ok() {
                    self.remove(&folder)?;
                }
            }
            let flags = if is_folder { AtFlags::REMOVEDIR } else { AtFlags::empty() };
            keeping_times(&parent, &path, || {
                unlinkat(&parent, host::name(name), flags).map_err(Failure::io("remove", &path))
            })?;
        }
        Ok(())
    }

    /// Gives an entry its metadata. The order matters: a new owner clears capabilities and set-user-id bits, an ACL changes
    /// the mode, and everything changes the times.
    pub(super) fn metadata(&self, entry: &Entry, parent: &OwnedFd, path: &[u8]) -> Result<()> {
        let name = split(path).1;
        let failed = |what| Failure::io(what, path);
        let there = host::stat(parent, name).map_err(failed("read"))?;
        let there = there.ok_or_else(|| failed("find")(ErrorKind::NotFound.into()))?;
        if (there.st_uid, there.st_gid) != (entry.uid, entry.gid) {
            let (uid, gid) = (Uid::from_raw(entry.uid), Gid::from_raw(entry.gid));
            chownat(parent, host::name(name), Some(uid), Some(gid), AtFlags::SYMLINK_NOFOLLOW)
                .map_err(|why| Failure::io("give (as root) to its owner", path)(why))?;
        }
        self.xattrs(entry, parent, path)?;
        self.owner(entry, parent, path)?;
        let is_link = FileType::from_raw_mode(there.st_mode) == FileType::Symlink;
        if !is_link {
            let mode = Mode::from_raw_mode(entry.mode & 0o7777);
            chmodat(parent, host::name(name), mode, AtFlags::empty()).map_err(Failure::io("change", path))?;
        }
        host::set_times(parent, name, entry.accessed, entry.modified).map_err(failed("change"))
    }

    fn xattrs(&self, entry: &Entry, parent: &OwnedFd, path: &[u8]) -> Result<()> {
        let name = split(path).1;
        let there = host::xattrs(parent, name).map_err(Failure::io("read", path))?;
        let stays = |key: &[u8]| [OWNER, MOVING, SIDECAR].contains(&key) || !is_needed(key);
        for (key, _) in &there {
            if !stays(key) && !entry.xattrs.iter().any(|(wanted, _)| wanted == key) {
                host::remove_xattr(parent, name, key).map_err(Failure::io("change", path))?;
            }
        }
        for (key, value) in entry.xattrs.iter().filter(|pair| !there.contains(pair)) {
            match host::set_xattr(parent, name, key, value) {
                Err(why) if is_needed(key) => {
                    return Err(Failure::Other(format!(
                        "{}: the destination cannot store the extended attribute {} of {} bytes ({why}); use a file system \
                         that can, or remove the attribute at the source",
                        shown(path).display(),
                        String::from_utf8_lossy(key),
                        value.len()
                    )));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// A sidecar names its file by a key, which is another one here.
    fn owner(&self, entry: &Entry, parent: &OwnedFd, path: &[u8]) -> Result<()> {
        let name = split(path).1;
        let key = match (entry.owner, &entry.place) {
            (Owner::Unset, _) => None,
            (Owner::Other, _) => Some(NO_KEY.to_vec()),
            (Owner::Sibling, Place::Fork(of, _)) => Some(self.keys.key(of)?),
            (Owner::Sibling, _) => {
                let of = join(split(path).0, name.strip_prefix(b"._").unwrap_or(name));
                // Without a key it belongs to the file after which it is named.
                self.keys.key(&of).ok()
            }
        };
        let changed = match key {
            Some(key) => host::set_xattr(parent, name, OWNER, &key),
            None => host::remove_xattr(parent, name, OWNER),
        };
        match changed {
            // Links and devices cannot have attributes.
            Err(why) if entry.owner != Owner::Unset => Err(Failure::io("change", path)(why)),
            _ => Ok(()),
        }
    }
}

/// What marks a file of which a part is there.
pub(super) fn mark(size: u64, modified: Stamp) -> Vec<u8> {
    let seconds = modified.seconds.to_be_bytes();
    [&size.to_be_bytes()[..], &seconds, &modified.nanoseconds.to_be_bytes()].concat()
}

/// Attributes of other kinds belong to the host, such as labels and the compression of btrfs.
fn is_needed(key: &[u8]) -> bool {
    let starts = [&b"user."[..], b"trusted.", b"system.posix_acl_", b"security.capability"];
    starts.iter().any(|start| key.starts_with(start)) && !key.starts_with(ACL_OF_XFS)
}

/// Does something with the entries of a folder without a change of its times.
pub(super) fn keeping_times<T>(
    folder: &OwnedFd,
    path: &[u8],
    change: impl FnOnce() -> Result<T>,
) -> Result<T> {
    let before = fstat(folder.as_fd()).map_err(Failure::io("read", path))?;
    let done = change()?;
    host::set_times(folder, b".", host::accessed(&before), host::modified(&before))
        .map_err(Failure::io("change", path))?;
    Ok(done)
}
