//! Where files are that clients keep by their ids (aliases do): the folder's id and the name, as of when somebody looked.
//! Hints, so that such a file is found after a restart without a search; whoever uses one looks whether it is still true.

use std::collections::HashMap;

use lock::Mutex;
use redb::{TableDefinition, WriteTransaction};
use vfs::index::{DatabaseStore, IndexError};

use super::CatalogId;
use super::ledger::ALL;
use crate::ranks;

/// ([`ALL`], catalogue id) → (the folder's id, name): where a file was.
pub(super) const PLACES: TableDefinition<'_, (u32, u32), (u32, &[u8])> = TableDefinition::new("places");

/// Where a file was: the folder that it was in, and its name there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptPlace {
    /// The folder's id, which is an ordinary one even of a folder that is the root of a volume.
    pub folder: CatalogId,
    /// The stored name.
    pub name: Box<[u8]>,
}

/// The longest name that is kept, in bytes.
const NAME_MAX: usize = 1024;

/// Rows that wait to be written; `None` is one to be removed.
#[derive(Default)]
pub(super) struct PendingRows {
    waiting: Mutex<HashMap<CatalogId, Option<KeptPlace>>, ranks::CatalogPlaces>,
}

pub(super) type Rows = Vec<(CatalogId, Option<KeptPlace>)>;

impl PendingRows {
    /// Keeps a place. Returns how many rows more wait than before. Nothing is written when it is known already.
    pub(super) fn keep(
        &self,
        store: &DatabaseStore,
        id: CatalogId,
        place: KeptPlace,
    ) -> Result<usize, IndexError> {
        if place.name.len() > NAME_MAX {
            return Err(IndexError::TooLong);
        }
        if self.of(store, id)?.as_ref() == Some(&place) {
            return Ok(0);
        }
        Ok(usize::from(self.waiting.lock().insert(id, Some(place)).is_none()))
    }

    /// Forgets one. Returns how many rows more wait than before.
    pub(super) fn forget(&self, store: &DatabaseStore, id: CatalogId) -> Result<usize, IndexError> {
        if self.of(store, id)?.is_none() {
            return Ok(0);
        }
        Ok(usize::from(self.waiting.lock().insert(id, None).is_none()))
    }

    /// The place that was kept last.
    pub(super) fn of(&self, store: &DatabaseStore, id: CatalogId) -> Result<Option<KeptPlace>, IndexError> {
        if let Some(place) = self.waiting.lock().get(&id) {
            return Ok(place.clone());
        }
        store.read(|transaction| {
            let row = transaction.open_table(PLACES)?.get((ALL, id.0))?;
            Ok(row.map(|row| {
                let (folder, name) = row.value();
                KeptPlace { folder: CatalogId(folder), name: name.into() }
            }))
        })
    }

    /// A copy of all rows that wait.
    pub(super) fn rows(&self) -> Rows {
        self.waiting.lock().iter().map(|(id, place)| (*id, place.clone())).collect()
    }

    pub(super) fn write(rows: &Rows, transaction: &WriteTransaction) -> Result<(), redb::Error> {
        if rows.is_empty() {
            return Ok(());
        }
        let mut table = transaction.open_table(PLACES)?;
        for (id, place) in rows {
            match place {
                Some(place) => table.insert((ALL, id.0), (place.folder.0, &*place.name))?,
                None => table.remove((ALL, id.0))?,
            };
        }
        Ok(())
    }

    /// The rows are in the database now: what did not change since no longer waits. Returns how many those are.
    pub(super) fn written(&self, rows: &Rows) -> usize {
        let mut waiting = self.waiting.lock();
        rows.iter()
            .filter(|(id, place)| waiting.get(id) == Some(place) && waiting.remove(id).is_some())
            .count()
    }
}
