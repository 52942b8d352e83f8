//! The 32-bit numbers by which clients identify files and folders.

use lock::Mutex;
use vfs::backend::Found;
use vfs::{Caller, Error, HostKey, Kind, Time};

use super::open_volume::OpenVolume;
use crate::catalogue::CatalogId;
use crate::ranks;
use crate::wire::ResultCode;

#[cfg(test)]
mod tests;

/// The time of the clients' last change in a share, as reported to clients.
#[derive(Default)]
pub(in crate::server) struct LastChangeTime(Mutex<Time, ranks::AfpIdsChanged>);

impl LastChangeTime {
    pub(in crate::server) fn last(&self) -> Time {
        *self.0.lock()
    }

    /// Notes a change at this time.
    pub(in crate::server) fn note(&self, at: Time) {
        let mut last = self.0.lock();
        *last = at.max(*last);
    }
}

/// The folder of a file or folder, and its stored name there.
#[derive(Clone)]
pub(in crate::server) struct EntryPlace {
    pub(in crate::server) folder: Found,
    pub(in crate::server) name: Vec<u8>,
}

impl OpenVolume {
    /// The number of a file or folder in this volume.
    pub(in crate::server) fn id_of(&self, key: &HostKey) -> Result<CatalogId, ResultCode> {
        if key == self.share.catalogue.root() { Ok(CatalogId::ROOT) } else { self.id_everywhere(key) }
    }

    /// The number of a file or folder in each volume of which it is not the root folder.
    pub(in crate::server) fn id_everywhere(&self, key: &HostKey) -> Result<CatalogId, ResultCode> {
        Ok(self.share.catalogue.catalog_id(&self.tree().lasting_key(key)?)?)
    }

    /// Exchanges the numbers of two files; they are on the disk when this returns.
    pub(in crate::server) async fn exchange_ids(
        &self,
        one: HostKey,
        other: HostKey,
    ) -> Result<(), ResultCode> {
        let (one, other) = (self.tree().lasting_key(&one)?, self.tree().lasting_key(&other)?);
        let catalogue = self.share.catalogue.clone();
        let exchanged = tokio::task::spawn_blocking(move || catalogue.exchange(&one, &other)).await;
        Ok(exchanged.map_err(|_| ResultCode::MISC_ERROR)??)
    }

    /// Removes the number of a deleted file.
    pub(in crate::server) fn forget_id(&self, key: &HostKey) -> Result<(), ResultCode> {
        Ok(self.share.catalogue.forget(&self.tree().lasting_key(key)?)?)
    }

    /// Removes a number if its file no longer exists anywhere on the host. False: it may be outside this volume.
    pub(in crate::server) fn forget_if_gone(&self, id: CatalogId) -> Result<bool, ResultCode> {
        let Some(file) = self.share.catalogue.resolve(id)? else { return Ok(false) };
        // The host finds a file by its handle wherever it is, but a file without a handle only inside the share.
        let keys = if file.file_system == 0 { Vec::new() } else { self.tree().keys_of(&file, true) };
        let is_gone = |key| matches!(self.tree().node(key), Err(Error::Stale));
        if keys.is_empty() || !keys.iter().all(is_gone) {
            return Ok(false);
        }
        self.share.catalogue.forget(&file)?;
        Ok(true)
    }

    /// The result of `run` for the file or folder with a number. A bind mount shows a file at a second place: `run` is
    /// repeated there if it does not find the first one in this volume. Numbers of other volumes' files are the same here,
    /// so `run` must check that.
    pub(in crate::server) fn with_id<T>(
        &self,
        id: CatalogId,
        run: impl Fn(Found) -> Result<T, ResultCode>,
    ) -> Result<T, ResultCode> {
        if id == CatalogId::ROOT {
            return run(self.tree().root()?);
        }
        let file = self.share.catalogue.resolve(id)?.ok_or(ResultCode::OBJECT_NOT_FOUND)?;
        let mut tried = Vec::new();
        for with_all_mounts in [false, true] {
            for key in self.tree().keys_of(&file, with_all_mounts) {
                if tried.contains(&key) {
                    continue;
                }
                match self.tree().node(&key).map_err(ResultCode::from).and_then(&run) {
                    Err(ResultCode::OBJECT_NOT_FOUND) => tried.push(key),
                    other => return other,
                }
            }
        }
        Err(ResultCode::OBJECT_NOT_FOUND)
    }

    /// The file or folder with a number. A file may be outside the volume.
    pub(in crate::server) fn found(&self, id: CatalogId) -> Result<Found, ResultCode> {
        self.with_id(id, |found| {
            if found.attributes.kind == Kind::Folder {
                self.check_inside(&found)?;
            }
            Ok(found)
        })
    }

    /// The folder with a number.
    pub(in crate::server) fn folder(&self, id: u32) -> Result<Found, ResultCode> {
        if id == 0 {
            return Err(ResultCode::PARAM_ERROR);
        }
        let found = self.found(CatalogId(id))?;
        if found.attributes.kind == Kind::Folder {
            return Ok(found);
        }
        self.tree().place_of(&found)?; // a file outside the volume does not exist here
        Err(ResultCode::OBJECT_TYPE_ERROR)
    }

    /// Whether this is the volume's own folder.
    pub(in crate::server) fn is_root(&self, found: &Found) -> bool {
        found.object.key() == *self.share.catalogue.root()
    }

    /// The place of a folder; `None` for the volume's root folder.
    pub(in crate::server) fn place_of_folder(&self, found: &Found) -> Result<Option<EntryPlace>, ResultCode> {
        if self.is_root(found) {
            return Ok(None);
        }
        let (folder, name) = self.tree().place_of(found)?;
        Ok(Some(EntryPlace { folder, name }))
    }

    /// The stored name of a file in a folder, found by listing the folder. A caller that has
    /// reached a folder may know its name, even if the caller may not list the folder above.
    pub(in crate::server) fn name_in(
        &self,
        folder: &Found,
        found: &Found,
    ) -> Result<Option<Vec<u8>>, ResultCode> {
        let mut name = None;
        let mut cookie = 0;
        loop {
            let page = self.tree().list(&Caller::root(), folder, cookie)?;
            for entry in page.named() {
                cookie = entry.cookie;
                if entry.id == found.object.id() {
                    name = Some(entry.name().to_vec());
                }
            }
            if page.complete || page.entries().is_empty() || name.is_some() {
                return Ok(name);
            }
        }
    }
}
