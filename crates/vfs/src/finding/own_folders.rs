//! The folders at a share's root that are the server's own. No client sees or reaches them, over any protocol.

use crate::backend::{Backend, DistrustReason, Found, NewKind, Node, trust};
use crate::caller::server;
use crate::names::own::{OwnFolder, refuse_own};
use crate::streams::find_or_make;
use crate::{Error, Result, Volume};

/// An entry that has the name of one of the server's own folders and cannot be used as that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OwnFolderConflict {
    /// The name in the share's folder.
    pub name: &'static [u8],
    /// What is wrong with it.
    pub why: DistrustReason,
    /// What the server cannot do because of that.
    pub missing: &'static str,
}

/// The folders at a share's root that are the server's own.
pub struct OwnFolders<'a> {
    backend: &'a dyn Backend,
    read_only: bool,
}

impl Volume {
    /// The folders at the share's root that are the server's own.
    pub fn own_folders(&self) -> OwnFolders<'_> {
        OwnFolders { backend: self.backend.as_ref(), read_only: self.is_read_only() }
    }

    /// The file at this path of stored names, as the server itself sees it; no link is followed.
    pub fn file_at(&self, path: &[&[u8]]) -> Result<Found> {
        path.iter().try_for_each(|name| refuse_own(name))?;
        self.root()?.object.lookup_path(server(), path)
    }
}

impl OwnFolders<'_> {
    /// One of the server's own folders. `NotPermitted` if something else is in its place.
    pub fn find(&self, which: OwnFolder) -> Result<Node> {
        self.trusted(which, self.backend.root()?.object.lookup(server(), which.name())?)
    }

    /// The same folder, made if it is missing.
    pub fn make(&self, which: OwnFolder) -> Result<Node> {
        if self.read_only {
            return Err(Error::ReadOnly);
        }
        let root = self.backend.root()?.object;
        self.trusted(which, find_or_make(&*root, which.name(), NewKind::Folder, 0o700)?)
    }

    /// Any local user that may write to the share's folder can have made it.
    fn trusted(&self, which: OwnFolder, found: Found) -> Result<Node> {
        trust(self.backend, &found).map(|()| found.object).map_err(|why| {
            tracing::warn!(target: "metadata", name = %which.name().escape_ascii(), %why, "not used as the server's own folder");
            Error::NotPermitted
        })
    }

    /// What is in the place of the server's own folders and cannot be used. The share is served without them.
    pub fn conflicts(&self) -> Result<Vec<OwnFolderConflict>> {
        let root = self.backend.root()?.object;
        let mut conflicts = Vec::new();
        let all = [OwnFolder::STORE, OwnFolder::LUNS, OwnFolder::LOST, OwnFolder::IDS, OwnFolder::JOURNAL];
        for own in all {
            let (name, missing) = (own.name(), own.missing);
            match root.lookup(server(), name) {
                Ok(found) => {
                    let why = trust(self.backend, &found).err();
                    conflicts.extend(why.map(|why| OwnFolderConflict { name, why, missing }));
                }
                Err(Error::NotFound) => {}
                Err(other) => return Err(other),
            }
        }
        Ok(conflicts)
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

    const NAME: &[u8] = OwnFolder::LUNS.name();

    fn volume(sidecars: bool) -> Volume {
        Volume::new(Arc::new(Memory::ticking()), VolumeOptions { sidecars, ..VolumeOptions::default() })
    }

    #[test]
    fn an_own_folder_is_neither_listed_nor_reached_by_name() {
        for volume in [volume(true), volume(false)] {
            assert_eq!(volume.own_folders().find(OwnFolder::LUNS).err(), Some(Error::NotFound));
            let made = volume.own_folders().make(OwnFolder::LUNS).unwrap();
            assert_eq!(volume.own_folders().find(OwnFolder::LUNS).unwrap().id(), made.id());
            assert_eq!(volume.own_folders().make(OwnFolder::LUNS).unwrap().id(), made.id());
            made.create(server(), b"video.img", NewKind::File, 0o600).unwrap();
            let (root, caller) = (volume.root().unwrap(), Caller::root());
            let page = volume.list(&caller, &root, 0).unwrap();
            assert_eq!(page.named().count(), 0);
            assert_eq!(volume.mac_tree().offspring(&root).unwrap(), 0);
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
        assert_eq!(volume.own_folders().make(OwnFolder::LUNS).err(), Some(Error::NotPermitted));
        assert_eq!(volume.own_folders().find(OwnFolder::LUNS).err(), Some(Error::NotPermitted));
    }
}
