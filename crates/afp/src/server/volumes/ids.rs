//! The 32-bit numbers by which clients identify files and folders.

use lock::{Mutex, rank};
use vfs::backend::Found;
use vfs::{Caller, HostKey, Kind, Time};

use super::open_volume::OpenVolume;
use crate::catalogue::CatalogId;
use crate::wire::ResultCode;

/// The time of the clients' last change in a share, as reported to clients.
#[derive(Default)]
pub(in crate::server) struct Changed(Mutex<Time, rank::AfpIdsChanged>);

impl Changed {
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
pub(in crate::server) struct Place {
    pub(in crate::server) folder: Found,
    pub(in crate::server) name: Vec<u8>,
}

impl OpenVolume {
    /// The number of a file or folder.
    pub(in crate::server) fn id_of(&self, key: &HostKey) -> Result<CatalogId, ResultCode> {
        match self.share.catalogue.remembered(key) {
            Some(id) => Ok(id),
            None => Ok(self.share.catalogue.catalog_id(key)?),
        }
    }

    /// Exchanges the numbers of two files; they are on the disk when this returns.
    pub(in crate::server) async fn exchange_ids(
        &self,
        one: HostKey,
        other: HostKey,
    ) -> Result<(), ResultCode> {
        let catalogue = self.share.catalogue.clone();
        let exchanged = tokio::task::spawn_blocking(move || catalogue.exchange(&one, &other)).await;
        Ok(exchanged.map_err(|_| ResultCode::MISC_ERROR)??)
    }

    /// The file or folder with a number.
    pub(in crate::server) fn found(&self, id: CatalogId) -> Result<Found, ResultCode> {
        let key = self.share.catalogue.resolve(id)?.ok_or(ResultCode::OBJECT_NOT_FOUND)?;
        Ok(self.tree().node(&key)?)
    }

    /// The folder with a number.
    pub(in crate::server) fn folder(&self, id: u32) -> Result<Found, ResultCode> {
        if id == 0 {
            return Err(ResultCode::PARAM_ERROR);
        }
        let found = self.found(CatalogId(id))?;
        if found.attributes.kind == Kind::Folder { Ok(found) } else { Err(ResultCode::OBJECT_TYPE_ERROR) }
    }

    /// Whether this is the volume's own folder.
    pub(in crate::server) fn is_root(&self, found: &Found) -> bool {
        matches!(self.share.catalogue.remembered(&found.object.key()), Some(CatalogId::ROOT))
    }

    /// The place of a folder; `None` for the volume's root folder.
    pub(in crate::server) fn place_of_folder(&self, found: &Found) -> Result<Option<Place>, ResultCode> {
        if self.is_root(found) {
            return Ok(None);
        }
        let (folder, name) = self.tree().place_of(found)?;
        Ok(Some(Place { folder, name }))
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
