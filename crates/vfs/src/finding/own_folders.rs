//! The folders at a share's root that are the server's own. No client sees or reaches them, over any protocol.

use crate::acl::server;
use crate::backend::{Backend, Found, NewKind};
use crate::mac::layout::SIDECAR_PREFIX;
use crate::names::{Folding, folds_alike};
use crate::streams::{STORE, find_or_make};
use crate::{Error, Kind, Node, Result, Volume};

/// One of the server's own folders at a share's root.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OwnFolder {
    name: &'static [u8],
    /// What the server cannot do without it.
    missing: &'static str,
}

impl OwnFolder {
    /// Files that are served block by block.
    pub const LUNS: Self = Self { name: b".fourfold-luns", missing: "disks" };
    /// The snapshots of the share that engines without a place of their own keep.
    pub const SNAPSHOTS: Self = Self { name: b".fourfold-snapshots", missing: "snapshots" };
    /// What scrubs have taken away, and what may be the only copy of something.
    pub const LOST: Self = Self { name: b".fourfold-lost", missing: "repairs by `fourfold scrub`" };
    /// The ids of files that several servers of the tree share.
    pub const IDS: Self =
        Self { name: b".fourfold-ids", missing: "ids of files that are the same at all servers" };
    /// The store of `streams`.
    const STORE: Self =
        Self { name: STORE, missing: "access control lists, and streams too large for the file system" };

    /// Its name in the share's folder.
    #[must_use]
    pub const fn name(self) -> &'static [u8] {
        self.name
    }
}

/// Earlier versions kept a server's state in the current folder by default, and may have left it there.
const STATE: &[u8] = b".fourfold";

/// Names begin so that files have until they are finished.
pub(crate) const UNFINISHED: &[u8] = b".fourfold-new-";

/// Whether a name is reserved for the server itself, anywhere in a share. So is the name of such a folder in
/// other case, which a file system without case takes for the same, and the name of its sidecar.
#[must_use]
pub fn is_own_name(name: &[u8]) -> bool {
    let name = name.strip_prefix(SIDECAR_PREFIX).unwrap_or(name);
    // All reserved names begin so. This is checked for each name of each request.
    let [b'.', b'f' | b'F', ..] = name else { return false };
    if name.get(..UNFINISHED.len()).is_some_and(|beginning| beginning.eq_ignore_ascii_case(UNFINISHED)) {
        return true;
    }
    [STORE, OwnFolder::LUNS.name, OwnFolder::SNAPSHOTS.name, OwnFolder::LOST.name, OwnFolder::IDS.name, STATE]
        .iter()
        .any(|own| folds_alike(name, own, Folding::default()))
}

/// Fails for a name that is reserved for the server itself.
pub(crate) fn refuse_own(name: &[u8]) -> Result<()> {
    if is_own_name(name) { Err(Error::AccessDenied) } else { Ok(()) }
}

/// An entry that has the name of one of the server's own folders and cannot be used as that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Misplaced {
    /// The name in the share's folder.
    pub name: &'static [u8],
    /// What is wrong with it.
    pub why: Untrusted,
    /// What the server cannot do because of that.
    pub missing: &'static str,
}

/// Why something is not used as the server's own folder: a local user could have made it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Untrusted {
    /// It is a file, a link or a device.
    NotAFolder,
    /// It belongs to this user, which is neither root nor the user that the server runs as.
    OwnedBy(u32),
    /// Others than its owner may write to it, says its mode.
    WritableByOthers(u32),
}

impl std::fmt::Display for Untrusted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NotAFolder => f.write_str("it is not a folder"),
            Self::OwnedBy(uid) => write!(f, "it belongs to user {uid}"),
            Self::WritableByOthers(mode) => {
                write!(f, "its mode {:o} lets others than its owner write to it", mode & 0o7777)
            }
        }
    }
}

/// Whether an entry with the name of one of the server's own folders can be used as that.
pub(crate) fn trust(backend: &dyn Backend, found: &Found) -> std::result::Result<(), Untrusted> {
    let attributes = &found.attributes;
    match attributes.kind {
        Kind::Folder if attributes.mode & 0o022 != 0 => Err(Untrusted::WritableByOthers(attributes.mode)),
        Kind::Folder if attributes.uid == 0 || attributes.uid == backend.own_user() => Ok(()),
        Kind::Folder => Err(Untrusted::OwnedBy(attributes.uid)),
        _ => Err(Untrusted::NotAFolder),
    }
}

impl Volume {
    /// One of the server's own folders. `NotPermitted` if something else is in its place.
    pub fn own_folder(&self, which: OwnFolder) -> Result<Node> {
        self.really_own(which, self.root()?.object.lookup(server(), which.name)?)
    }

    /// The same folder, made if it is missing.
    pub fn make_own_folder(&self, which: OwnFolder) -> Result<Node> {
        if self.is_read_only() {
            return Err(Error::ReadOnly);
        }
        let root = self.root()?.object;
        self.really_own(which, find_or_make(&*root, which.name, NewKind::Folder, 0o700)?)
    }

    /// The file at this path of stored names, as the server itself sees it; no link is followed.
    pub fn file_at(&self, path: &[&[u8]]) -> Result<Found> {
        path.iter().try_for_each(|name| refuse_own(name))?;
        self.root()?.object.lookup_path(server(), path)
    }

    /// Any local user that may write to the share's folder can have made it.
    fn really_own(&self, which: OwnFolder, found: Found) -> Result<Node> {
        trust(self.backend.as_ref(), &found).map(|()| found.object).map_err(|why| {
            tracing::warn!(target: "metadata", name = %which.name.escape_ascii(), %why, "not used as the server's own folder");
            Error::NotPermitted
        })
    }

    /// What is in the place of the server's own folders and cannot be used. The share is served without them.
    pub fn misplaced(&self) -> Result<Vec<Misplaced>> {
        let root = self.root()?.object;
        let mut misplaced = Vec::new();
        for OwnFolder { name, missing } in
            [OwnFolder::STORE, OwnFolder::LUNS, OwnFolder::LOST, OwnFolder::IDS]
        {
            match root.lookup(server(), name) {
                Ok(found) => {
                    let why = trust(self.backend.as_ref(), &found).err();
                    misplaced.extend(why.map(|why| Misplaced { name, why, missing }));
                }
                Err(Error::NotFound) => {}
                Err(other) => return Err(other),
            }
        }
        Ok(misplaced)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::backend::RenameMode;
    use crate::backend::memory::Memory;
    use crate::state::{ClientId, Party};
    use crate::{Actor, Caller, VolumeOptions};

    const NAME: &[u8] = OwnFolder::LUNS.name;

    fn volume(sidecars: bool) -> Volume {
        Volume::new(Arc::new(Memory::ticking()), VolumeOptions { sidecars, ..VolumeOptions::default() })
    }

    #[test]
    fn an_own_folder_is_neither_listed_nor_reached_by_name() {
        for volume in [volume(true), volume(false)] {
            assert_eq!(volume.own_folder(OwnFolder::LUNS).err(), Some(Error::NotFound));
            let made = volume.make_own_folder(OwnFolder::LUNS).unwrap();
            assert_eq!(volume.own_folder(OwnFolder::LUNS).unwrap().id(), made.id());
            assert_eq!(volume.make_own_folder(OwnFolder::LUNS).unwrap().id(), made.id());
            made.create(server(), b"video.img", NewKind::File, 0o600).unwrap();
            let (root, caller) = (volume.root().unwrap(), Caller::root());
            let page = volume.list(&caller, &root, 0).unwrap();
            assert_eq!(page.named().count(), 0);
            assert_eq!(volume.offspring(&root).unwrap(), 0);
            assert_eq!(volume.lookup(&caller, &root.object, NAME).err(), Some(Error::AccessDenied));
            let ada = Actor::new(caller, Party::client(ClientId(1)));
            let made = volume.create(&ada, &root, NAME, NewKind::Folder, 0o777);
            assert_eq!(made.err(), Some(Error::AccessDenied));
            let moved = volume.rename(&ada, (&root, NAME), (&root, b"mine"), RenameMode::Replace);
            assert_eq!(moved.err(), Some(Error::AccessDenied));
            assert_eq!(volume.file_at(&[NAME, b"video.img"]).err(), Some(Error::AccessDenied));
        }
    }

    #[test]
    fn a_folder_that_others_may_write_to_is_not_trusted() {
        let volume = volume(true);
        volume.root().unwrap().object.create(server(), NAME, NewKind::Folder, 0o777).unwrap();
        assert_eq!(volume.make_own_folder(OwnFolder::LUNS).err(), Some(Error::NotPermitted));
        assert_eq!(volume.own_folder(OwnFolder::LUNS).err(), Some(Error::NotPermitted));
    }
}
