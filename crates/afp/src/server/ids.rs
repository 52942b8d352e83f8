//! The 32-bit numbers by which clients know files and folders, and where folders are.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use vfs::backend::Found;
use vfs::index::CatalogId;
use vfs::{Caller, HostKey, Kind, Time};

use super::limits::MAX_PLACES;
use super::open_volume::OpenVolume;
use crate::wire::ResultCode;

/// Where folders were last seen: a hint, to be verified.
#[derive(Default)]
pub(super) struct Places {
    known: Mutex<Known>,
    /// When clients last changed anything, as far as they were told.
    changed: Mutex<Time>,
}

/// By a folder's number: that of the folder it was in, and its name there.
type Known = HashMap<u32, (u32, Arc<[u8]>)>;

impl Places {
    /// When clients last changed anything in the share.
    pub(super) fn changed(&self) -> Time {
        *self.changed.lock()
    }

    /// Something was changed at this time.
    pub(super) fn note_change(&self, at: Time) {
        let mut changed = self.changed.lock();
        *changed = at.max(*changed);
    }

    fn find(&self, id: CatalogId) -> Option<(CatalogId, Arc<[u8]>)> {
        self.known.lock().get(&id.0).map(|(parent, name)| (CatalogId(*parent), name.clone()))
    }

    fn note(&self, id: CatalogId, parent: CatalogId, name: &[u8]) {
        let mut known = self.known.lock();
        if known.get(&id.0).is_some_and(|(was, old)| (*was, &**old) == (parent.0, name)) {
            return;
        }
        if known.len() >= MAX_PLACES && !known.contains_key(&id.0) {
            let some: Vec<u32> = known.keys().take(MAX_PLACES / 8).copied().collect();
            some.iter().for_each(|id| drop(known.remove(id)));
        }
        known.insert(id.0, (parent.0, name.into()));
    }
}

/// The folder that something is in, and its stored name there.
#[derive(Clone)]
pub(super) struct Place {
    pub(super) folder: Found,
    pub(super) name: Vec<u8>,
}

impl OpenVolume {
    /// The number of a file or folder.
    pub(super) fn id_of(&self, key: &HostKey) -> Result<CatalogId, ResultCode> {
        match self.share.catalogue.remembered(key) {
            Some(id) => Ok(id),
            None => Ok(self.share.catalogue.catalog_id(key)?),
        }
    }

    /// Two files change numbers, on the disk when this is done.
    pub(super) async fn exchange_ids(&self, one: HostKey, other: HostKey) -> Result<(), ResultCode> {
        let catalogue = self.share.catalogue.clone();
        let exchanged = tokio::task::spawn_blocking(move || catalogue.exchange(&one, &other)).await;
        Ok(exchanged.map_err(|_| ResultCode::MISC_ERROR)??)
    }

    /// The file or folder with a number.
    pub(super) fn found(&self, id: CatalogId) -> Result<Found, ResultCode> {
        let key = self.share.catalogue.resolve(id)?.ok_or(ResultCode::OBJECT_NOT_FOUND)?;
        Ok(self.tree().node(&key)?)
    }

    /// The folder with a number.
    pub(super) fn folder(&self, id: u32) -> Result<Found, ResultCode> {
        if id == 0 {
            return Err(ResultCode::PARAM_ERROR);
        }
        let found = self.found(CatalogId(id))?;
        if found.attributes.kind == Kind::Folder { Ok(found) } else { Err(ResultCode::OBJECT_TYPE_ERROR) }
    }

    /// Whether this is the volume's own folder.
    pub(super) fn is_root(&self, found: &Found) -> bool {
        matches!(self.share.catalogue.remembered(&found.object.key()), Some(CatalogId::ROOT))
    }

    /// A folder was seen there.
    pub(super) fn saw_folder(&self, id: CatalogId, parent: CatalogId, name: &[u8]) {
        self.share.places.note(id, parent, name);
    }

    /// Where a folder is; `None` for the volume's own.
    pub(super) fn place_of_folder(&self, found: &Found) -> Result<Option<Place>, ResultCode> {
        if self.is_root(found) {
            return Ok(None);
        }
        let (key, folder) = (found.object.key(), self.tree().parent(found)?);
        let (id, parent) = (self.id_of(&key)?, self.id_of(&folder.object.key())?);
        if let Some((was, name)) = self.share.places.find(id)
            && was == parent
            && folder.object.lookup(&Caller::root(), &name).is_ok_and(|there| there.object.key() == key)
        {
            return Ok(Some(Place { folder, name: name.to_vec() }));
        }
        let name = self.name_in(&folder, found)?.ok_or(ResultCode::OBJECT_NOT_FOUND)?;
        self.saw_folder(id, parent, &name);
        Ok(Some(Place { folder, name }))
    }

    /// The stored name that something has in a folder, found by looking at all of them. Who has reached a folder may
    /// know what it is called, whether or not they may list the one it is in.
    pub(super) fn name_in(&self, folder: &Found, found: &Found) -> Result<Option<Vec<u8>>, ResultCode> {
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
