//! Facts that must outlive the server and are not in the files themselves: one embedded database
//! (redb) in the state folder, `index.redb`. It has its format version in its table `meta`, row
//! "format".
//!
//! * **Volumes**: the identity of each share, by its name.
//! * **Boot epoch**: how often this index was opened.
//! * **Tenants**: tables of the protocols. A protocol reads and writes them through [`DatabaseStore`], or keeps the rows that changed
//!   in memory as a [`Tenant`], and one thread writes the rows of all tenants behind, in batches.
//!
//! ```text
//! Index ─► Core ─► Books ─► Store
//!            │       └─► tenants of the volumes
//!            └─► the writer's thread: batch of each tenant ─► one commit ─► they no longer wait
//! ```

pub mod durable;
mod error;
mod store;
#[cfg(test)]
mod tests;
mod volumes;
mod writer;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use redb::ReadableTable;

use resources::caches::{Cache, CacheReport};
use store::META;
use writer::Core;

pub use error::IndexError;
pub use store::{DatabaseStore, PAGE_CACHE};
pub use volumes::{VOLUME_NAME_MAX, VolumeIdentity, VolumeTag};
pub use writer::{Batch, Tenant};

/// The limits of an index, and what it takes from outside.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// At most so many rows wait to be written; a caller that finds the queue full writes it.
    pub queue: usize,
    /// The writer does not wait for its time when so many rows wait.
    pub batch: usize,
    /// How often the writer writes what waits.
    pub interval: Duration,
    /// Where volumes' identities come from.
    pub random: fn() -> [u8; 16],
}

impl Default for Options {
    fn default() -> Self {
        Self { queue: 131_072, batch: 16_384, interval: Duration::from_secs(1), random: from_the_host }
    }
}

/// The open index. Cheap to clone; the last of its clones to go writes everything that waits and closes the file.
#[derive(Clone)]
pub struct Index {
    core: Arc<Core>,
    boot_epoch: u64,
}

impl Index {
    /// Opens the index of a state folder, or makes both.
    pub fn open(folder: &Path) -> Result<Self, IndexError> {
        Self::open_with(folder, Options::default())
    }

    /// The same with other limits.
    pub fn open_with(folder: &Path, options: Options) -> Result<Self, IndexError> {
        let store = DatabaseStore::open(folder)?;
        let boot_epoch = count_boot(&store)?;
        Ok(Self { core: Arc::new(Core::start(store, options)?), boot_epoch })
    }

    /// How often this index was opened, this time included: on the disk before `open` returns, so no two lives of a
    /// server share one. It begins at 1 again when the index is moved away.
    pub fn boot_epoch(&self) -> u64 {
        self.boot_epoch
    }

    /// The identity of the volume that is shared under this name, made on first sight: then it waits for the disk.
    pub fn volume(&self, name: &str) -> Result<VolumeIdentity, IndexError> {
        Ok(self.volumes(&[name])?[0])
    }

    /// The identities of the volumes of these names, in their order. Those that are new wait for the disk once, not once for each.
    pub fn volumes(&self, names: &[&str]) -> Result<Vec<VolumeIdentity>, IndexError> {
        volumes::volumes(self.store(), names, self.core.books.options.random)
    }

    /// The database.
    pub fn store(&self) -> &DatabaseStore {
        &self.core.books.store
    }

    /// The one tenant of this type and volume. It is opened the first time, and stays as long as the index is open.
    pub fn tenant<T: Tenant>(
        &self,
        volume: VolumeTag,
        open: impl FnOnce(&DatabaseStore) -> Result<T, IndexError>,
    ) -> Result<Arc<T>, IndexError> {
        self.core.books.tenant(volume, open)
    }

    /// To be called before a tenant gets a new row: writes the rows that wait if they are too many.
    pub fn make_room(&self) -> Result<(), IndexError> {
        self.core.books.make_room()
    }

    /// So many rows more of a tenant wait to be written.
    pub fn added(&self, rows: usize) {
        self.core.books.added(rows);
    }

    /// How many rows of all tenants wait to be written.
    pub fn rows_waiting(&self) -> usize {
        self.core.books.rows_waiting()
    }

    /// Why rows cannot be written now: the disk of the state folder is full, or has failed. It is tried again.
    pub fn trouble(&self) -> Option<String> {
        self.store().trouble()
    }

    /// Makes a change in memory that no batch may contain by half.
    pub fn between_batches<T>(&self, change: impl FnOnce() -> T) -> T {
        self.core.books.between_batches(change)
    }

    /// Makes the writer write the waiting rows now rather than at its time.
    pub fn write_soon(&self) {
        self.core.books.alarm.ring();
    }

    /// Writes the waiting rows, unless another thread has done it meanwhile: `still_needed` is
    /// called when it is this thread's turn.
    pub fn write_if(&self, still_needed: impl Fn() -> bool) -> Result<(), IndexError> {
        self.core.books.write_if(still_needed)
    }

    /// Writes everything that waits; it is on the disk on return.
    pub fn flush(&self) -> Result<(), IndexError> {
        self.core.books.flush()
    }
}

/// The page cache of the database. The library counts its look-ups only in a special build, which counts with atomics that
/// all threads share, and has no call to change the limit.
impl Cache for Index {
    fn report(&self) -> CacheReport {
        CacheReport { bytes: self.store().cached_bytes(), ..CacheReport::default() }
    }

    fn limit_to(&self, _: u64) {}
}

fn count_boot(store: &DatabaseStore) -> Result<u64, IndexError> {
    store.write(|transaction| {
        let mut meta = transaction.open_table(META)?;
        let epoch = meta.get("boot epoch")?.map_or(0, |epoch| epoch.value()) + 1;
        meta.insert("boot epoch", epoch)?;
        Ok(epoch)
    })
}

fn from_the_host() -> [u8; 16] {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).expect("the kernel has random bytes on every system that we run on");
    bytes
}
