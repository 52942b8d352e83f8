//! The tables of catalogue ids, compared with each other and with the files.

use redb::{ReadTransaction, TableError};
use vfs::LastingKey;
use vfs::index::{Index, IndexError, VolumeTag};

use super::ledger::{ALL, IDS, KEYS, Ledger};
use super::places::PLACES;
use super::{CatalogId, Limits};

/// Rows that are read together.
const PAGE: usize = 4096;

/// What is wrong with the rows of one id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CatalogFlaw {
    /// Its file does not exist any more.
    Gone,
    /// The two tables differ: a client that knows the file by its id may get another one.
    Differs,
    /// The row cannot be read.
    Damaged,
    /// A place is kept for it, and no file.
    PlaceAlone,
}

/// What is done with an id that is reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mend {
    /// Nothing.
    Leave,
    /// Its rows are put right, or removed.
    Repair,
}

/// One thing that is wrong.
#[derive(Debug, Clone, Copy)]
pub struct CatalogFinding {
    /// The id.
    pub id: CatalogId,
    /// What is wrong.
    pub flaw: CatalogFlaw,
}

/// Looks at all rows. `is_gone` says of a file whether it certainly does not exist any more. `found` is told what is wrong,
/// and answers what is to be done. Rows that differ are put right only if no server uses the index: it remembers rows.
/// `looked` is told of so many rows, and answers false to end. Returns whether all rows were looked at.
///
/// # Errors
/// The database fails.
pub fn check(
    index: &Index,
    is_gone: &mut dyn FnMut(&LastingKey) -> bool,
    found: &mut dyn FnMut(CatalogFinding) -> Mend,
    looked: &mut dyn FnMut(u64) -> bool,
) -> Result<bool, IndexError> {
    index.flush()?;
    let mut from = Some(0);
    while let Some(at) = from {
        let (rows, next) = index.store().read(|transaction| page(transaction, at))?;
        if !looked(rows.len() as u64) {
            return Ok(false);
        }
        for row in rows {
            let Some(flaw) = row.flaw(is_gone) else { continue };
            if found(CatalogFinding { id: row.id, flaw }) == Mend::Repair {
                row.mend(index, flaw)?;
            }
        }
        from = next;
    }
    lone_places(index, found)?;
    Ok(true)
}

/// A row of the table of keys, with what the other table says of the key.
struct KeyRow {
    id: CatalogId,
    key: Vec<u8>,
    /// The id that the file has by the other table.
    given: Option<u32>,
}

/// The rows from an id on, and where to go on.
fn page(transaction: &ReadTransaction, from: u32) -> Result<(Vec<KeyRow>, Option<u32>), redb::Error> {
    let Some(keys) = there(transaction.open_table(KEYS))? else { return Ok((Vec::new(), None)) };
    let ids = there(transaction.open_table(IDS))?;
    let mut rows = Vec::new();
    for row in keys.range((ALL, from)..=(ALL, u32::MAX))?.take(PAGE) {
        let (place, key) = row?;
        let key = key.value().to_vec();
        let given = match &ids {
            Some(ids) => ids.get((ALL, &key[..]))?.map(|id| id.value()),
            None => None,
        };
        rows.push(KeyRow { id: CatalogId(place.value().1), key, given });
    }
    let next = rows.last().filter(|_| rows.len() == PAGE).and_then(|row| row.id.0.checked_add(1));
    Ok((rows, next))
}

/// `None` for a table that was never made.
fn there<T>(table: Result<T, TableError>) -> Result<Option<T>, redb::Error> {
    match table {
        Err(TableError::TableDoesNotExist(_)) => Ok(None),
        other => Ok(Some(other?)),
    }
}

impl KeyRow {
    fn flaw(&self, is_gone: &mut dyn FnMut(&LastingKey) -> bool) -> Option<CatalogFlaw> {
        let Some(key) = LastingKey::from_bytes(&self.key) else { return Some(CatalogFlaw::Damaged) };
        if self.given != Some(self.id.0) {
            return Some(CatalogFlaw::Differs);
        }
        is_gone(&key).then_some(CatalogFlaw::Gone)
    }

    fn mend(&self, index: &Index, flaw: CatalogFlaw) -> Result<(), IndexError> {
        if flaw == CatalogFlaw::Gone
            && let Some(key) = LastingKey::from_bytes(&self.key)
        {
            let ledger = index.tenant(VolumeTag(ALL), |store| Ledger::open(store, Limits::default()))?;
            index.make_room()?;
            index.added(ledger.forget(index.store(), &key)?);
            return Ok(());
        }
        index.store().write(|transaction| {
            let mut keys = transaction.open_table(KEYS)?;
            let mut ids = transaction.open_table(IDS)?;
            if flaw == CatalogFlaw::Differs && self.given.is_none() {
                ids.insert((ALL, &self.key[..]), self.id.0)?;
            } else {
                keys.remove((ALL, self.id.0))?; // the id that the file has by the other table counts
            }
            Ok(())
        })
    }
}

/// Places of ids that no file has.
fn lone_places(index: &Index, found: &mut dyn FnMut(CatalogFinding) -> Mend) -> Result<(), IndexError> {
    let lone = index.store().read(|transaction| {
        let (Some(places), Some(keys)) =
            (there(transaction.open_table(PLACES))?, there(transaction.open_table(KEYS))?)
        else {
            return Ok(Vec::new());
        };
        let mut lone = Vec::new();
        for row in places.range((ALL, 0)..=(ALL, u32::MAX))? {
            let id = row?.0.value().1;
            if keys.get((ALL, id))?.is_none() {
                lone.push(CatalogId(id));
            }
            if lone.len() == PAGE {
                break; // the next scrub finds the others
            }
        }
        Ok(lone)
    })?;
    let wrong = lone.into_iter().map(|id| CatalogFinding { id, flaw: CatalogFlaw::PlaceAlone });
    let mend: Vec<CatalogId> = wrong.filter(|one| found(*one) == Mend::Repair).map(|one| one.id).collect();
    if mend.is_empty() {
        return Ok(());
    }
    index.store().write(|transaction| {
        let mut places = transaction.open_table(PLACES)?;
        for id in &mend {
            places.remove((ALL, id.0))?;
        }
        Ok(())
    })
}
