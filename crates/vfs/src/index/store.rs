//! The database file of the index: opened, checked, and opened again after the disk has failed or was full.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use lock::Mutex;
use redb::{Builder, Database, ReadTransaction, ReadableDatabase, TableDefinition, WriteTransaction};

use super::IndexError;
use super::durable;
use crate::ranks;

/// The format version that this program writes, and the newest that it reads.
pub(super) const FORMAT: u64 = 1;

/// The database's own page cache, in bytes.
pub const PAGE_CACHE: usize = 16 << 20;

/// "format" and "boot epoch". Read before any other table; its types never change between format versions.
pub(super) const META: TableDefinition<'_, &str, u64> = TableDefinition::new("meta");
/// Share name → volume id, whose first four bytes (big endian) are the volume's tag.
pub(super) const VOLUMES: TableDefinition<'_, &str, [u8; 16]> = TableDefinition::new("volumes");

/// After a failure of the disk the database is opened again, first after this time,
const FIRST_RETRY: Duration = Duration::from_millis(250);
/// then after twice as long, up to this.
const LAST_RETRY: Duration = Duration::from_secs(15);

/// The database file: opened, checked, and every failure of it given a meaning. The library refuses everything after one call
/// of the host has failed, also when the disk has space again: then the file is opened again.
pub struct DatabaseStore {
    path: PathBuf,
    open: Mutex<DatabaseState, ranks::IndexDatabase>,
}

/// The database, and what is wrong with it.
struct DatabaseState {
    /// `None`: it is to be opened again.
    database: Option<Arc<Database>>,
    /// From the first failure of the disk until something is written again.
    trouble: Option<StoreFailure>,
}

/// The disk has failed, or is full.
struct StoreFailure {
    why: String,
    /// When something is written again.
    next: Instant,
    wait: Duration,
}

/// What a call does with the database.
#[derive(Clone, Copy, PartialEq, Eq)]
enum DatabaseCall {
    Read,
    Write,
}

impl DatabaseState {
    fn note(&mut self, why: String) {
        let wait = self.trouble.as_ref().map_or(FIRST_RETRY, |trouble| (trouble.wait * 2).min(LAST_RETRY));
        self.trouble = Some(StoreFailure { why, next: Instant::now() + wait, wait });
    }
}

impl DatabaseStore {
    /// Opens the folder's `index.redb`, or makes it when there is none.
    pub(super) fn open(folder: &Path) -> Result<Self, IndexError> {
        durable::create_folder(folder).map_err(|error| IndexError::disk(folder, error))?;
        let path = folder.join("index.redb");
        match open_existing(&path)? {
            Some(database) => Self::of(path, database).checked(),
            None => create(folder, &path).map(|database| Self::of(path, database)),
        }
    }

    fn of(path: PathBuf, database: Database) -> Self {
        let open = Mutex::new(DatabaseState { database: Some(Arc::new(database)), trouble: None });
        Self { path, open }
    }

    /// Bytes that the database's page cache takes.
    pub(super) fn cached_bytes(&self) -> u64 {
        let database = self.open.lock().database.clone();
        database.map_or(0, |database| database.cache_stats().used_bytes() as u64)
    }

    /// Why rows cannot be written now. `None`: they can, as far as is known.
    pub(super) fn trouble(&self) -> Option<String> {
        self.open.lock().trouble.as_ref().map(|trouble| trouble.why.clone())
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The next write does not wait for its time after a failure.
    pub(super) fn try_now(&self) {
        if let Some(trouble) = &mut self.open.lock().trouble {
            trouble.next = Instant::now();
        }
    }

    /// What `look` finds in the newest committed state.
    pub fn read<T>(
        &self,
        look: impl FnOnce(&ReadTransaction) -> Result<T, redb::Error>,
    ) -> Result<T, IndexError> {
        self.using(DatabaseCall::Read, |database| look(&database.begin_read()?))
    }

    /// Makes the changes, all or none. They are on the disk on return.
    pub fn write<T>(
        &self,
        change: impl FnOnce(&WriteTransaction) -> Result<T, redb::Error>,
    ) -> Result<T, IndexError> {
        self.using(DatabaseCall::Write, |database| write(database, change))
    }

    /// The result of a call of the database. If the disk fails, the database is opened again for the next call.
    fn using<T>(
        &self,
        what: DatabaseCall,
        ask: impl FnOnce(&Database) -> Result<T, redb::Error>,
    ) -> Result<T, IndexError> {
        let database = self.database(what)?;
        let asked = guarded(&self.path, || ask(&database));
        let mut open = self.open.lock();
        match &asked {
            Err(IndexError::Disk { why, .. }) => {
                open.note(why.clone());
                // Another thread may have opened it again meanwhile.
                open.database.take_if(|current| Arc::ptr_eq(current, &database));
            }
            Ok(_) if what == DatabaseCall::Write => open.trouble = None,
            _ => {}
        }
        // The last user closes it. Its lock on the file is gone before another thread opens it.
        drop(database);
        asked
    }

    /// The database, which is opened again after a failure of the disk. Writing then waits for its time.
    fn database(&self, what: DatabaseCall) -> Result<Arc<Database>, IndexError> {
        let mut open = self.open.lock();
        if what == DatabaseCall::Write
            && let Some(trouble) = open.trouble.as_ref().filter(|trouble| Instant::now() < trouble.next)
        {
            return Err(IndexError::disk(&self.path, format!("{}; it is tried again soon", trouble.why)));
        }
        if let Some(database) = &open.database {
            return Ok(database.clone());
        }
        let gone = || IndexError::damaged(&self.path, "it was removed while the server ran");
        let opened = open_existing(&self.path).and_then(|opened| opened.ok_or_else(gone));
        let database = Arc::new(opened.inspect_err(|error| open.note(error.to_string()))?);
        open.database = Some(database.clone());
        Ok(database)
    }

    /// The store, unless its format is unknown. Nothing is written before this is known.
    fn checked(self) -> Result<Self, IndexError> {
        let format = self.read(|transaction| {
            let meta = transaction.open_table(META)?;
            Ok(meta.get("format")?.map(|version| version.value()))
        })?;
        match format {
            None | Some(0) => Err(IndexError::damaged(&self.path, "it does not say its format version")),
            Some(found) if found > FORMAT => Err(IndexError::Newer { path: self.path, found, known: FORMAT }),
            Some(_) => Ok(self),
        }
    }
}

/// The existing database, or `None` when there is no such file. A new one gets its name only when it is complete, so an
/// empty or cut one is damage, never a fresh start.
fn open_existing(path: &Path) -> Result<Option<Database>, IndexError> {
    let disk = |error: io::Error| IndexError::disk(path, error);
    let Some(file) = durable::open_existing(path).map_err(disk)? else {
        return Ok(None);
    };
    if file.metadata().map_err(disk)?.len() == 0 {
        return Err(IndexError::damaged(path, "it is empty"));
    }
    guarded(path, || Ok(builder().create_file(file)?)).map(Some)
}

/// A new database with the index's own tables, complete before it gets its name.
fn create(folder: &Path, path: &Path) -> Result<Database, IndexError> {
    let temporary = folder.join("index.redb.new");
    let database = match fresh(&temporary) {
        // Left by a crash while it was made: no id was ever given from it.
        Err(IndexError::Damaged { .. }) => {
            durable::remove_if_there(&temporary).map_err(|error| IndexError::disk(&temporary, error))?;
            fresh(&temporary)?
        }
        made => made?,
    };
    durable::publish(&temporary, path).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => IndexError::InUse { path: path.to_owned() },
        _ => IndexError::disk(path, error),
    })?;
    Ok(database)
}

fn fresh(path: &Path) -> Result<Database, IndexError> {
    let file = durable::open_or_create(path).map_err(|error| IndexError::disk(path, error))?;
    guarded(path, || {
        let database = builder().create_file(file)?;
        write(&database, make_tables)?;
        Ok(database)
    })
}

fn make_tables(transaction: &WriteTransaction) -> Result<(), redb::Error> {
    transaction.open_table(VOLUMES)?;
    transaction.open_table(META)?.insert("format", FORMAT)?;
    Ok(())
}

fn builder() -> Builder {
    let mut builder = Builder::new();
    builder.set_cache_size(PAGE_CACHE);
    builder
}

fn write<T>(
    database: &Database,
    change: impl FnOnce(&WriteTransaction) -> Result<T, redb::Error>,
) -> Result<T, redb::Error> {
    let mut transaction = database.begin_write()?;
    // After kill -9 a start must not walk millions of rows. This costs each commit a second sync,
    // for which no request waits.
    transaction.set_quick_repair(true);
    let done = change(&transaction)?;
    transaction.commit()?;
    Ok(done)
}

/// The result of a database call. The database trusts its own pages and panics on some damaged
/// ones. That is damage, too, and must not end the thread that met it. A transaction that panics is
/// rolled back.
fn guarded<T>(path: &Path, ask: impl FnOnce() -> Result<T, redb::Error>) -> Result<T, IndexError> {
    match catch_unwind(AssertUnwindSafe(ask)) {
        Ok(answer) => answer.map_err(|error| IndexError::database(path, error)),
        Err(_) => Err(IndexError::damaged(path, "its pages make no sense")),
    }
}
