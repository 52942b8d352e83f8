//! The ids of files: which file has which id, which ids are free, and the rows of the index that say so.

use lock::Mutex;
use redb::{ReadableTable, TableDefinition, WriteTransaction};
use vfs::LastingKey;
use vfs::index::{Batch, DatabaseStore, IndexError, Tenant};

use super::desktop::DESKTOP;
use super::places::{KeptPlace, PLACES, PendingRows, Rows};
use super::shards::{CachedRow, RowShard, Shards};
use super::shared::{LogProgress, SeenRows};
use super::{CatalogId, Limits};
use crate::ranks;

/// [`ALL`] → the first catalogue id that is not reserved yet; 2^32 when none is left.
pub(super) const RESERVED: TableDefinition<'_, u32, u64> = TableDefinition::new("reserved");
/// ([`ALL`], lasting key) → catalogue id.
pub(super) const IDS: TableDefinition<'_, (u32, &[u8]), u32> = TableDefinition::new("ids");
/// ([`ALL`], catalogue id) → lasting key.
pub(super) const KEYS: TableDefinition<'_, (u32, u32), &[u8]> = TableDefinition::new("keys");

/// The tag in the tables, which is no volume's. Earlier versions had ids for each volume, by its tag: see `earlier.rs`.
pub(super) const ALL: u32 = 0;

/// One past the last catalogue id.
pub(super) const END: u64 = 1 << 32;

/// The catalogue ids of all volumes: both directions of the mapping, and the numbers that may be given.
///
/// Locks are taken in the order ids, keys, numbers.
pub(super) struct Ledger {
    ids: Shards<LastingKey, CatalogId, ranks::CatalogIds>,
    keys: Shards<CatalogId, LastingKey, ranks::CatalogKeys>,
    places: PendingRows,
    /// How far the logs of other servers were read.
    pub(super) seen: LogProgress,
    numbers: Mutex<NumberRange, ranks::CatalogNumbers>,
}

/// What came of an attempt to change the ledger in memory.
pub(super) enum LedgerAttempt<T> {
    /// Done; so many rows more wait to be written than before.
    Done(T, usize),
    /// No number is reserved: one must be before a retry.
    NeedsNumbers,
}

impl Ledger {
    /// The ledger, with its first numbers reserved on the disk. Makes the tables of the catalogue.
    pub(super) fn open(store: &DatabaseStore, limits: Limits) -> Result<Self, IndexError> {
        let (block, mut seen) = (u64::from(limits.block), LogProgress::default());
        let found = store.write(|transaction| {
            transaction.open_table(IDS)?;
            transaction.open_table(PLACES)?;
            transaction.open_table(DESKTOP)?;
            seen = LogProgress::open(transaction)?;
            let keys = transaction.open_table(KEYS)?;
            let last = keys.range((ALL, 0)..=(ALL, u32::MAX))?.next_back().transpose()?;
            let last = last.map_or(0, |(key, _)| key.value().1);
            let mut table = transaction.open_table(RESERVED)?;
            let next = match table.get(ALL)?.map(|next| next.value()) {
                None if last == 0 => u64::from(CatalogId::FIRST.0),
                None => return Ok(None),
                Some(next) => next,
            };
            if u64::from(last) >= next {
                return Ok(Some((next, last)));
            }
            // An earlier version may have given any number below those it reserved for a volume.
            let earlier =
                table.iter()?.try_fold(0, |most, row| Ok::<_, redb::Error>(most.max(row?.1.value())));
            let next = next.max(earlier?);
            table.insert(ALL, END.min(next + block))?;
            Ok(Some((next, last)))
        })?;
        let damaged = |why| Err(IndexError::damaged(store.path(), why));
        match found {
            None => damaged("the count of catalogue ids is lost"),
            Some((next, last)) if next > END || u64::from(last) >= next => {
                damaged("the count of catalogue ids is behind the ids given")
            }
            Some((next, _)) => Ok(Self {
                ids: Shards::new(limits.cached),
                keys: Shards::new(limits.cached),
                places: PendingRows::default(),
                seen,
                numbers: Mutex::new(NumberRange { next, reserved: END.min(next + block), block }),
            }),
        }
    }

    /// The file's id; on first sight the next number.
    pub(super) fn id(
        &self,
        store: &DatabaseStore,
        key: &LastingKey,
    ) -> Result<LedgerAttempt<CatalogId>, IndexError> {
        let mut row = self.ids.lock(key);
        if let Some(id) = self.find(store, &mut row, key)? {
            return Ok(LedgerAttempt::Done(id, 0));
        }
        let Some(number) = self.numbers.lock().take()? else {
            return Ok(LedgerAttempt::NeedsNumbers);
        };
        let id = CatalogId(number);
        let waiting = row.change(*key, Some(id)) + self.keys.lock(&id).change(id, Some(*key));
        Ok(LedgerAttempt::Done(id, waiting))
    }

    /// The file's id, if it has one.
    pub(super) fn known(
        &self,
        store: &DatabaseStore,
        key: &LastingKey,
    ) -> Result<Option<CatalogId>, IndexError> {
        self.find(store, &mut self.ids.lock(key), key)
    }

    /// Files have these ids, which this server or another one has given on first sight. If two servers have given one to the
    /// same file, the lower one counts, and both lead to the file. No batch is written meanwhile. Returns how many rows more wait to be written than before.
    pub(super) fn learn(
        &self,
        store: &DatabaseStore,
        given: impl Iterator<Item = (CatalogId, LastingKey)>,
    ) -> Result<usize, IndexError> {
        store.read(|transaction| {
            let (table, mut waiting) = (transaction.open_table(IDS)?, 0);
            for (id, key) in given {
                let mut row = self.ids.lock(&key);
                let before = match row.look(&key) {
                    CachedRow::Here(id) => Some(id),
                    CachedRow::Gone => None,
                    CachedRow::AskDatabase => {
                        table.get((ALL, &key.to_bytes()[..]))?.map(|id| CatalogId(id.value()))
                    }
                };
                if before.is_none_or(|before| id < before) {
                    waiting += row.change(key, Some(id));
                }
                if before != Some(id) {
                    waiting += self.keys.lock(&id).change(id, Some(key));
                }
            }
            Ok(waiting)
        })
    }

    /// A file has this id from now on, which another one had. Returns how many rows more wait to be written than before.
    pub(super) fn give(&self, key: &LastingKey, id: CatalogId) -> usize {
        let waiting = self.ids.lock(key).change(*key, Some(id));
        waiting + self.keys.lock(&id).change(id, Some(*key))
    }

    /// This number was given by another server: this one never gives it.
    pub(super) fn pass(&self, id: CatalogId) {
        self.numbers.lock().pass(id);
    }

    /// One past the last number that may have been given.
    pub(super) fn next(&self) -> u64 {
        self.numbers.lock().next
    }

    /// Forgets what memory has of rows that were taken out of the database.
    pub(super) fn clear(&self) {
        self.ids.clear();
        self.keys.clear();
        self.seen.clear();
    }

    /// The file's id, when memory holds it.
    pub(super) fn remembered(&self, key: &LastingKey) -> Option<CatalogId> {
        match self.ids.lock(key).look(key) {
            CachedRow::Here(id) => Some(id),
            CachedRow::Gone | CachedRow::AskDatabase => None,
        }
    }

    /// The file that has the id.
    pub(super) fn key(&self, store: &DatabaseStore, id: CatalogId) -> Result<Option<LastingKey>, IndexError> {
        let mut row = self.keys.lock(&id);
        match row.look(&id) {
            CachedRow::Here(key) => return Ok(Some(key)),
            CachedRow::Gone => return Ok(None),
            CachedRow::AskDatabase => (),
        }
        let key = self.key_on_disk(store, id)?;
        key.inspect(|key| row.remember(id, *key));
        Ok(key)
    }

    /// Strikes the file out. Returns how many rows more wait to be written than before.
    pub(super) fn forget(&self, store: &DatabaseStore, key: &LastingKey) -> Result<usize, IndexError> {
        let mut row = self.ids.lock(key);
        let Some(id) = self.find(store, &mut row, key)? else { return Ok(0) };
        let rows = row.change(*key, None) + self.keys.lock(&id).change(id, None);
        Ok(rows + self.places.forget(store, id)?)
    }

    /// Keeps where a file is. Returns how many rows more wait to be written than before.
    pub(super) fn keep_place(
        &self,
        store: &DatabaseStore,
        id: CatalogId,
        place: KeptPlace,
    ) -> Result<usize, IndexError> {
        self.places.keep(store, id, place)
    }

    /// Where a file was, if that was kept.
    pub(super) fn kept_place(
        &self,
        store: &DatabaseStore,
        id: CatalogId,
    ) -> Result<Option<KeptPlace>, IndexError> {
        self.places.of(store, id)
    }

    /// Keeps it no longer. Returns how many rows more wait to be written than before.
    pub(super) fn forget_place(&self, store: &DatabaseStore, id: CatalogId) -> Result<usize, IndexError> {
        self.places.forget(store, id)
    }

    /// Gives each of two files the other's id. Returns how many rows more wait to be written than before.
    pub(super) fn exchange(
        &self,
        (one, other): (&LastingKey, &LastingKey),
        ids: (CatalogId, CatalogId),
    ) -> usize {
        self.give(one, ids.1) + self.give(other, ids.0)
    }

    /// Whether it is time to reserve more numbers.
    pub(super) fn is_low(&self) -> bool {
        self.numbers.lock().is_low()
    }

    fn find(
        &self,
        store: &DatabaseStore,
        row: &mut RowShard<LastingKey, CatalogId>,
        key: &LastingKey,
    ) -> Result<Option<CatalogId>, IndexError> {
        match row.look(key) {
            CachedRow::Here(id) => return Ok(Some(id)),
            CachedRow::Gone => return Ok(None),
            CachedRow::AskDatabase => (),
        }
        let id = store.read(|transaction| {
            let row = transaction.open_table(IDS)?.get((ALL, &key.to_bytes()[..]))?;
            Ok(row.map(|id| CatalogId(id.value())))
        })?;
        id.inspect(|id| row.remember(*key, *id));
        Ok(id)
    }

    fn key_on_disk(&self, store: &DatabaseStore, id: CatalogId) -> Result<Option<LastingKey>, IndexError> {
        store.read(|transaction| {
            let row = transaction.open_table(KEYS)?.get((ALL, id.0))?;
            let no_key = || redb::Error::Corrupted(format!("the key of {id:?} has a wrong length"));
            row.map(|key| LastingKey::from_bytes(key.value()).ok_or_else(no_key)).transpose()
        })
    }

    #[cfg(test)]
    pub(super) fn rows_remembered(&self) -> usize {
        self.ids.remembered() + self.keys.remembered()
    }
}

impl Tenant for Ledger {
    /// The ids are copied first: every id among them has its key in the batch too.
    fn batch(&self) -> Option<Box<dyn Batch + '_>> {
        let ids = self.ids.waiting();
        let keys = self.keys.waiting();
        let (places, reserve) = (self.places.rows(), self.numbers.lock().more());
        let seen = self.seen.rows();
        let is_empty = ids.is_empty() && keys.is_empty() && places.is_empty() && seen.is_empty();
        let changed = LedgerBatch { ledger: self, ids, keys, places, seen, reserve };
        (!is_empty || reserve.is_some()).then(|| Box::new(changed) as Box<dyn Batch>)
    }

    /// Gives the numbers back that were reserved and never given.
    fn close(&self, transaction: &WriteTransaction) -> Result<(), redb::Error> {
        let mut numbers = self.numbers.lock();
        numbers.reserved = numbers.next;
        transaction.open_table(RESERVED)?.insert(ALL, numbers.next)?;
        Ok(())
    }
}

/// What one transaction writes.
struct LedgerBatch<'a> {
    ledger: &'a Ledger,
    ids: Vec<(LastingKey, Option<CatalogId>)>,
    keys: Vec<(CatalogId, Option<LastingKey>)>,
    places: Rows,
    seen: SeenRows,
    reserve: Option<u64>,
}

impl Batch for LedgerBatch<'_> {
    fn write(&self, transaction: &WriteTransaction) -> Result<(), redb::Error> {
        if let Some(reserved) = self.reserve {
            transaction.open_table(RESERVED)?.insert(ALL, reserved)?;
        }
        let mut ids = transaction.open_table(IDS)?;
        for (key, id) in &self.ids {
            match id {
                Some(id) => ids.insert((ALL, &key.to_bytes()[..]), id.0)?,
                None => ids.remove((ALL, &key.to_bytes()[..]))?,
            };
        }
        let mut keys = transaction.open_table(KEYS)?;
        for (id, key) in &self.keys {
            match key {
                Some(key) => keys.insert((ALL, id.0), &key.to_bytes()[..])?,
                None => keys.remove((ALL, id.0))?,
            };
        }
        LogProgress::write(&self.seen, transaction)?;
        PendingRows::write(&self.places, transaction)
    }

    fn written(&self) -> usize {
        let Ledger { ids, keys, places, seen, numbers } = self.ledger;
        if let Some(reserved) = self.reserve {
            let mut numbers = numbers.lock();
            numbers.reserved = numbers.reserved.max(reserved);
        }
        ids.written(&self.ids)
            + keys.written(&self.keys)
            + places.written(&self.places)
            + seen.written(&self.seen)
    }
}

/// The numbers `next..reserved` may be given: the disk says that everything below `reserved` may have been.
struct NumberRange {
    next: u64,
    reserved: u64,
    block: u64,
}

impl NumberRange {
    /// The next number, or `None` when more must be reserved first.
    fn take(&mut self) -> Result<Option<u32>, IndexError> {
        let number = u32::try_from(self.next).map_err(|_| IndexError::Exhausted)?;
        if self.next >= self.reserved {
            return Ok(None);
        }
        self.next += 1;
        Ok(Some(number))
    }

    fn is_low(&self) -> bool {
        self.reserved < END && self.reserved.saturating_sub(self.next) <= self.block / 2
    }

    fn pass(&mut self, given: CatalogId) {
        self.next = self.next.max(u64::from(given.0) + 1);
    }

    /// Up to where to reserve, when it is time to.
    fn more(&self) -> Option<u64> {
        self.is_low().then(|| END.min(self.reserved.max(self.next) + self.block))
    }
}
