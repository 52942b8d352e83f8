//! The 32-bit numbers by which AFP clients know files (catalogue ids), and the desktop databases of volumes: tenants of the
//! index in the state folder.
//!
//! * **Catalogue ids** belong to files: all volumes of a server have one ledger of them, and a file has the same id in each
//!   volume that shows it. Only the volume's root folder is always 2 there. Ids are given on first sight and never twice. They come from blocks that the disk knows to be taken *before*
//!   the first number of a block is given; which file has which is written behind. A crash loses at most the assignments of
//!   the last [`vfs::index::Options::interval`], never the fact that their numbers are used: such a file gets a new number.
//! * **Places** of files that clients keep by their ids: hints, written behind as well.
//! * **Desktops**: icons and applications of each volume, as Macs before OS X want them kept.
//!
//! ```text
//! catalog_id ─► remembered? ──► id
//!                   │ no
//!                   └─► in the database? ──► id
//!                           │ no
//!                           └─► next of the block ──► id, and two rows wait ─► the index's writer ─► one commit
//! ```
//!
//! In a cluster all servers have the same ids: [`shared`].

pub mod check;
pub mod desktop;
mod earlier;
mod ledger;
mod places;
mod shards;
pub mod shared;
#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;

use vfs::index::{Index, IndexError, VolumeIdentity, VolumeTag};
use vfs::{HostKey, LastingKey};

use desktop::Desk;
use ledger::{ALL, Ledger, LedgerAttempt};

pub use desktop::Desktop;
pub use places::KeptPlace;
pub use shared::SharedIds;

/// The limits of a catalogue.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// So many ids are reserved at a time, the next block when half of one is left. A crash wastes at most two blocks.
    pub block: u32,
    /// At most so many rows per direction are remembered beside those that wait to be written.
    pub cached: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { block: 65_536, cached: 131_072 }
    }
}

/// A 32-bit number for a file or folder, never given to another one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CatalogId(pub u32);

impl CatalogId {
    /// What stands above the root.
    pub const PARENT_OF_ROOT: Self = Self(1);
    /// The volume's root folder.
    pub const ROOT: Self = Self(2);
    /// The first that is given to a file; those before it have fixed meanings or none.
    pub const FIRST: Self = Self(17);
}

impl fmt::Debug for CatalogId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "catalog #{}", self.0)
    }
}

/// The catalogue ids of all files, as one volume shows them. Cheap to clone; clones share all state.
///
/// Each method answers from memory, else from the database's pages (a read of the state disk at worst). No method
/// waits for a write, unless ids are first seen faster than the disk takes them: see [`vfs::index::Options`].
#[derive(Clone)]
pub struct Catalogue {
    index: Index,
    ledger: Arc<Ledger>,
    volume: VolumeTag,
    root: HostKey,
    shared: Option<Arc<SharedIds>>,
}

impl Catalogue {
    /// The catalogue of a volume whose root folder is `root`. Waits for the disk the first time, to reserve ids.
    pub fn open(index: &Index, volume: VolumeIdentity, root: HostKey) -> Result<Self, IndexError> {
        Self::open_with(index, volume, root, Limits::default())
    }

    /// The same with other limits, which count when the first catalogue is opened.
    pub fn open_with(
        index: &Index,
        volume: VolumeIdentity,
        root: HostKey,
        limits: Limits,
    ) -> Result<Self, IndexError> {
        let ledger = index.tenant(VolumeTag(ALL), |store| Ledger::open(store, limits))?;
        Ok(Self { index: index.clone(), ledger, volume: volume.tag, root, shared: None })
    }

    /// The same in a cluster, whose servers have the same ids.
    #[must_use]
    pub fn shared(self, shared: Option<Arc<SharedIds>>) -> Self {
        Self { shared, ..self }
    }

    /// How many files it is best to ask for at a time, before their ids are asked for one by one: see
    /// [`learn`](Self::learn).
    pub fn at_a_time(&self) -> usize {
        if self.shared.is_some() { shared::AT_A_TIME } else { 1 }
    }

    /// Gives ids to those of these files that have none, all at once. Only in a cluster does this save time: the others are
    /// told of them once.
    pub fn learn(&self, keys: &[LastingKey]) -> Result<(), IndexError> {
        self.shared.as_ref().map_or(Ok(()), |shared| shared.give(keys))
    }

    /// The volume's root folder, whose id in this volume is [`CatalogId::ROOT`].
    pub fn root(&self) -> &HostKey {
        &self.root
    }

    /// The file's id, given on first sight. The same file has the same id ever after, with one exception: an id that
    /// was given less than [`vfs::index::Options::interval`] before a crash may be lost. Then the file
    /// gets a new id, and no file gets the lost id.
    pub fn catalog_id(&self, key: &LastingKey) -> Result<CatalogId, IndexError> {
        if let Some(id) = self.ledger.remembered(key) {
            return Ok(id);
        }
        if let Some(shared) = &self.shared {
            return shared.id(key);
        }
        loop {
            self.index.make_room()?;
            match self.ledger.id(self.index.store(), key)? {
                LedgerAttempt::Done(id, rows) => {
                    self.index.added(rows);
                    if rows > 0 && self.ledger.is_low() {
                        self.index.write_soon();
                    }
                    return Ok(id);
                }
                // Waits for the disk: more ids are asked for than it can keep up with.
                LedgerAttempt::NeedsNumbers => self.index.write_if(|| self.ledger.is_low())?,
            }
        }
    }

    /// The file that has the id, in whichever volume; `None` when no file has it. The file may be gone without
    /// [`forget`](Self::forget) having been called: the host knows.
    pub fn resolve(&self, id: CatalogId) -> Result<Option<LastingKey>, IndexError> {
        if id < CatalogId::FIRST {
            return Ok(None);
        }
        match (self.ledger.key(self.index.store(), id)?, &self.shared) {
            (None, Some(shared)) => {
                shared.catch_up()?; // another server may have given it
                self.ledger.key(self.index.store(), id)
            }
            (known, _) => Ok(known),
        }
    }

    /// The file is deleted: its id no longer resolves, and is never given again.
    pub fn forget(&self, key: &LastingKey) -> Result<(), IndexError> {
        self.index.make_room()?;
        self.index.added(self.ledger.forget(self.index.store(), key)?);
        Ok(())
    }

    /// The icons and applications of the volume. The first time it looks how many there are.
    pub fn desktop(&self) -> Result<Desktop, IndexError> {
        let desk = self.index.tenant(self.volume, |store| Desk::open(store, self.volume))?;
        Ok(Desktop::new(self.index.clone(), desk))
    }

    /// The two files change ids, on the disk before this returns: after their contents have changed places, so that to who
    /// knows files by their ids the contents moved, not the files.
    pub fn exchange(&self, one: &LastingKey, other: &LastingKey) -> Result<(), IndexError> {
        if one == other {
            return Ok(());
        }
        if let Some(shared) = &self.shared {
            return shared.exchange(one, other);
        }
        let ids = (self.catalog_id(one)?, self.catalog_id(other)?);
        self.index.between_batches(|| self.index.added(self.ledger.exchange((one, other), ids)));
        self.index.flush()
    }

    /// Keeps where a file is that a client keeps by its id: on the disk within
    /// [`vfs::index::Options::interval`], until it moves or [`forget`](Self::forget) is called.
    pub fn keep_place(&self, id: CatalogId, folder: CatalogId, name: &[u8]) -> Result<(), IndexError> {
        self.index.make_room()?;
        let place = KeptPlace { folder, name: name.into() };
        self.index.added(self.ledger.keep_place(self.index.store(), id, place)?);
        Ok(())
    }

    /// Where a file was when that was kept last: a hint.
    pub fn kept_place(&self, id: CatalogId) -> Result<Option<KeptPlace>, IndexError> {
        self.ledger.kept_place(self.index.store(), id)
    }

    /// Forgets the place of a file that no client keeps by its id any more. The file keeps its id.
    pub fn forget_place(&self, id: CatalogId) -> Result<(), IndexError> {
        self.index.make_room()?;
        self.index.added(self.ledger.forget_place(self.index.store(), id)?);
        Ok(())
    }

    #[cfg(test)]
    fn rows_remembered(&self) -> usize {
        self.ledger.rows_remembered()
    }
}
