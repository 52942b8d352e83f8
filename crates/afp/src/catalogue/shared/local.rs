//! What the index of this server has of the ids that servers share: the lineage, and how far each log was read.

use std::collections::HashMap;

use lock::Mutex;
use redb::{ReadableTable, TableDefinition, TableError, WriteTransaction};
use vfs::index::{DatabaseStore, IndexError};

use super::super::ledger::{ALL, IDS, KEYS};
use super::super::places::PLACES;
use crate::ranks;

/// [`NAME`] → the lineage of the ids. None: they are this server's own.
const LINEAGE: TableDefinition<'_, &str, [u8; 16]> = TableDefinition::new("lineage");
/// The share and the name of a log → where it was read to; and [`TURN`].
const SEEN: TableDefinition<'_, &str, u64> = TableDefinition::new("logs");
const NAME: &str = "ids";
/// The highest [`Record::turn`](super::record::Record::turn) that was read. No log has this name.
pub(in crate::catalogue) const TURN: &str = "turn";

/// The lineage of the ids in the index.
pub(super) fn lineage(store: &DatabaseStore) -> Result<Option<[u8; 16]>, IndexError> {
    store.read(|transaction| match transaction.open_table(LINEAGE) {
        Ok(table) => Ok(table.get(NAME)?.map(|lineage| lineage.value())),
        Err(TableError::TableDoesNotExist(_)) => Ok(None),
        Err(error) => Err(error.into()),
    })
}

/// The ids of the index are of this lineage from now on. `None`: they are this server's own.
pub(super) fn set_lineage(store: &DatabaseStore, lineage: Option<[u8; 16]>) -> Result<(), IndexError> {
    store.write(|transaction| {
        let mut table = transaction.open_table(LINEAGE)?;
        match lineage {
            Some(lineage) => _ = table.insert(NAME, lineage)?,
            None => _ = table.remove(NAME)?,
        }
        if lineage.is_none() {
            transaction.open_table(SEEN)?.retain(|_, _| false)?;
        }
        Ok(())
    })
}

/// Forgets all ids of the index. Returns how many those were.
pub(super) fn clear(store: &DatabaseStore) -> Result<u64, IndexError> {
    store.write(|transaction| {
        let mut count = 0;
        transaction.open_table(KEYS)?.retain_in((ALL, 0)..=(ALL, u32::MAX), |_, _| {
            count += 1;
            false
        })?;
        transaction.open_table(PLACES)?.retain_in((ALL, 0)..=(ALL, u32::MAX), |_, _| false)?;
        transaction.open_table(IDS)?.retain_in((ALL, &[][..])..(ALL + 1, &[][..]), |_, _| false)?;
        transaction.open_table(SEEN)?.retain(|_, _| false)?;
        Ok(count)
    })
}

/// How far each log was read, in bytes. It is written in one transaction with what was read.
#[derive(Default)]
pub(in crate::catalogue) struct LogProgress {
    known: Mutex<LogOffsets, ranks::CatalogPlaces>,
}

#[derive(Default)]
struct LogOffsets {
    all: HashMap<String, u64>,
    waiting: HashMap<String, u64>,
}

pub(in crate::catalogue) type SeenRows = Vec<(String, u64)>;

impl LogProgress {
    pub(in crate::catalogue) fn open(transaction: &WriteTransaction) -> Result<Self, redb::Error> {
        let mut all = HashMap::new();
        for row in transaction.open_table(SEEN)?.iter()? {
            let (log, end) = row?;
            all.insert(log.value().to_owned(), end.value());
        }
        Ok(Self { known: Mutex::new(LogOffsets { all, waiting: HashMap::new() }) })
    }

    pub(in crate::catalogue) fn of(&self, log: &str) -> Option<u64> {
        self.known.lock().all.get(log).copied()
    }

    /// Notes how far a log was read. Returns how many rows more wait to be written than before.
    pub(in crate::catalogue) fn note(&self, log: &str, end: u64) -> usize {
        let mut known = self.known.lock();
        known.all.insert(log.to_owned(), end);
        usize::from(known.waiting.insert(log.to_owned(), end).is_none())
    }

    /// Forgets all.
    pub(in crate::catalogue) fn clear(&self) {
        *self.known.lock() = LogOffsets::default();
    }

    pub(in crate::catalogue) fn rows(&self) -> SeenRows {
        self.known.lock().waiting.iter().map(|(log, end)| (log.clone(), *end)).collect()
    }

    pub(in crate::catalogue) fn write(
        rows: &SeenRows,
        transaction: &WriteTransaction,
    ) -> Result<(), redb::Error> {
        if rows.is_empty() {
            return Ok(());
        }
        let mut table = transaction.open_table(SEEN)?;
        for (log, end) in rows {
            table.insert(log.as_str(), *end)?;
        }
        Ok(())
    }

    /// The rows are in the database now: what did not change since no longer waits. Returns how many those are.
    pub(in crate::catalogue) fn written(&self, rows: &SeenRows) -> usize {
        let mut known = self.known.lock();
        let is_same = |(log, end): &&(String, u64)| known.waiting.get(log) == Some(end);
        let same: Vec<_> = rows.iter().filter(is_same).collect();
        same.iter().for_each(|(log, _)| _ = known.waiting.remove(log));
        same.len()
    }
}
