use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use redb::{Builder, Database, ReadTransaction, ReadableDatabase, TableDefinition, WriteTransaction};

use super::IndexError;
use super::durable;

/// The format version that this program writes, and the newest that it reads.
pub(super) const FORMAT: u64 = 1;

/// The database's own page cache, in bytes.
pub const PAGE_CACHE: usize = 16 << 20;

/// "format" and "boot epoch". Read before any other table; its types never change between format versions.
pub(super) const META: TableDefinition<'_, &str, u64> = TableDefinition::new("meta");
/// Share name → volume id, whose first four bytes (big endian) are the volume's tag.
pub(super) const VOLUMES: TableDefinition<'_, &str, [u8; 16]> = TableDefinition::new("volumes");

/// The database file: opened, checked, and every failure of it given a meaning.
pub struct Store {
    path: PathBuf,
    database: Database,
}

impl Store {
    /// Opens the folder's `index.redb`, or makes it when there is none.
    pub(super) fn open(folder: &Path) -> Result<Self, IndexError> {
        durable::create_folder(folder).map_err(|error| IndexError::disk(folder, error))?;
        let path = folder.join("index.redb");
        match open_existing(&path)? {
            Some(database) => Self { path, database }.checked(),
            None => create(folder, &path).map(|database| Self { path, database }),
        }
    }

    /// Bytes that the database's page cache takes.
    pub(super) fn cached_bytes(&self) -> u64 {
        self.database.cache_stats().used_bytes() as u64
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What `look` finds in the newest committed state.
    pub fn read<T>(
        &self,
        look: impl FnOnce(&ReadTransaction) -> Result<T, redb::Error>,
    ) -> Result<T, IndexError> {
        guarded(&self.path, || look(&self.database.begin_read()?))
    }

    /// Makes the changes, all or none. They are on the disk on return.
    pub fn write<T>(
        &self,
        change: impl FnOnce(&WriteTransaction) -> Result<T, redb::Error>,
    ) -> Result<T, IndexError> {
        guarded(&self.path, || write(&self.database, change))
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
