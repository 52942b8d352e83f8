//! What must outlive the server and is not in the files themselves: one embedded database (redb) in the state folder,
//! `index.redb`. It says its format version in its table `meta`, row "format".
//!
//! * **Catalogue ids**: 32-bit numbers for files, given on first sight and never twice. They come from blocks that the
//!   disk knows to be taken *before* the first number of a block is given; which file has which is written behind, by
//!   one thread, in batches. A crash loses at most the assignments of the last [`Options::interval`], never the fact
//!   that their numbers are used: such a file gets a new number.
//! * **Places** of files that clients keep by their ids: hints, written behind as well.
//! * **Volumes**: the identity of each share, by its name.
//! * **Desktops**: icons and applications of each volume, as Macs before OS X want them kept.
//! * **Peers**: the hosts to be told of a restart.
//! * **Boot epoch**: how often this index was opened.
//!
//! ```text
//! catalog_id ─► remembered? ──► id                                   Index, Catalogue, Peers ─► Core ─► Books ─► Store
//!                   │ no                                                                          └─► the writer's thread
//!                   └─► in the database? ──► id
//!                           │ no
//!                           └─► next of the block ──► id, and two rows wait ─► writer ─► one commit
//! ```

mod catalogue;
pub mod desktop;
pub mod durable;
mod error;
mod ledger;
mod peers;
mod places;
mod shards;
mod store;
#[cfg(test)]
mod tests;
mod volumes;
mod writer;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use redb::ReadableTable;

use crate::HostKey;
use store::{DESKTOP, META, Store};
use writer::Core;

pub use catalogue::{CatalogId, Catalogue};
pub use desktop::Desktop;
pub use error::IndexError;
pub use peers::{Peer, Peers};
pub use places::KeptPlace;
pub use volumes::{VOLUME_NAME_MAX, Volume, VolumeTag};

/// The limits of an index, and what it takes from outside.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// So many ids are reserved at a time, the next block when half of one is left. A crash wastes at most two blocks.
    pub block: u32,
    /// At most so many rows wait to be written (each first sight is two); a caller that finds the queue full writes it.
    pub queue: usize,
    /// The writer does not wait for its time when so many rows wait.
    pub batch: usize,
    /// At most so many rows per volume and direction are remembered beside those that wait.
    pub cached: usize,
    /// How often the writer writes what waits.
    pub interval: Duration,
    /// Where volumes' identities come from.
    pub random: fn() -> [u8; 16],
}

impl Default for Options {
    fn default() -> Self {
        Self {
            block: 65_536,
            queue: 131_072,
            batch: 16_384,
            cached: 65_536,
            interval: Duration::from_secs(1),
            random: from_the_host,
        }
    }
}

/// The open index. Cheap to clone; the last of its clones, catalogues and peers to go writes everything that waits and
/// closes the file.
#[derive(Clone)]
pub struct Index {
    core: Arc<Core>,
    options: Options,
    boot_epoch: u64,
}

impl Index {
    /// Opens the index of a state folder, or makes both.
    pub fn open(folder: &Path) -> Result<Self, IndexError> {
        Self::open_with(folder, Options::default())
    }

    /// The same with other limits.
    pub fn open_with(folder: &Path, options: Options) -> Result<Self, IndexError> {
        let store = Store::open(folder)?;
        let boot_epoch = count_boot(&store)?;
        Ok(Self { core: Arc::new(Core::start(store, options)?), options, boot_epoch })
    }

    /// How often this index was opened, this time included: on the disk before `open` returns, so no two lives of a
    /// server share one. It begins at 1 again when the index is moved away.
    pub fn boot_epoch(&self) -> u64 {
        self.boot_epoch
    }

    /// The identity of the volume that is shared under this name, made on first sight: then it waits for the disk.
    pub fn volume(&self, name: &str) -> Result<Volume, IndexError> {
        volumes::volume(&self.core.books.store, name, self.options.random)
    }

    /// The catalogue ids of a volume whose root folder is `root`. Waits for the disk the first time, to reserve ids.
    pub fn catalogue(&self, volume: Volume, root: HostKey) -> Result<Catalogue, IndexError> {
        let ledger = self.core.books.ledger(volume.tag)?;
        Ok(Catalogue::new(Arc::clone(&self.core), ledger, root))
    }

    /// The monitored hosts.
    pub fn peers(&self) -> Peers {
        Peers::new(Arc::clone(&self.core))
    }

    /// Writes everything that waits; it is on the disk on return.
    pub fn flush(&self) -> Result<(), IndexError> {
        self.core.books.flush()
    }
}

fn count_boot(store: &Store) -> Result<u64, IndexError> {
    store.write(|transaction| {
        transaction.open_table(DESKTOP)?; // an older program's index has none
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
