use std::fmt;
use std::sync::Arc;

use super::IndexError;
use super::desktop::Desktop;
use super::ledger::Ledger;
use super::places::KeptPlace;
use super::writer::Core;
use crate::HostKey;

/// A 32-bit number for a file or folder of a volume, never given to another one.
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

/// The catalogue ids of one volume. Cheap to clone; clones share all state.
///
/// Each method answers from memory, else from the database's pages (a read of the state disk at worst). No method
/// waits for a write, unless ids are first seen faster than the disk takes them: see [`Options`](super::Options).
#[derive(Clone)]
pub struct Catalogue {
    core: Arc<Core>,
    ledger: Arc<Ledger>,
    root: HostKey,
}

impl Catalogue {
    pub(super) fn new(core: Arc<Core>, ledger: Arc<Ledger>, root: HostKey) -> Self {
        Self { core, ledger, root }
    }

    /// The file's id, given on first sight. The same file has the same id ever after, with one exception: an id that
    /// was given less than [`Options::interval`](super::Options::interval) before a crash may be lost. Then the file
    /// gets a new one, and nobody the lost one.
    pub fn catalog_id(&self, key: &HostKey) -> Result<CatalogId, IndexError> {
        if *key == self.root {
            return Ok(CatalogId::ROOT);
        }
        self.core.books.id(&self.ledger, key)
    }

    /// The file's id when memory holds it: never touches the disk, so it suits a thread that must not wait.
    pub fn remembered(&self, key: &HostKey) -> Option<CatalogId> {
        if *key == self.root { Some(CatalogId::ROOT) } else { self.ledger.remembered(key) }
    }

    /// The file that has the id; `None` when no file has it. The file may be gone without [`forget`](Self::forget)
    /// having been called: the host knows.
    pub fn resolve(&self, id: CatalogId) -> Result<Option<HostKey>, IndexError> {
        match id {
            CatalogId::ROOT => Ok(Some(self.root)),
            id if id < CatalogId::FIRST => Ok(None),
            id => self.ledger.key(&self.core.books.store, id),
        }
    }

    /// The file is deleted: its id no longer resolves, and is never given again.
    pub fn forget(&self, key: &HostKey) -> Result<(), IndexError> {
        if *key == self.root { Ok(()) } else { self.core.books.forget(&self.ledger, key) }
    }

    /// The icons and applications of the volume. The first time it looks how many there are.
    pub fn desktop(&self) -> Result<Desktop, IndexError> {
        Ok(Desktop::new(Arc::clone(&self.core), self.core.books.desk(self.ledger.tag())?))
    }

    /// The two files change ids, on the disk before this returns: after their contents have changed places, so that to who
    /// knows files by their ids the contents moved, not the files.
    pub fn exchange(&self, one: &HostKey, other: &HostKey) -> Result<(), IndexError> {
        if [one, other].contains(&&self.root) || one == other {
            return Ok(());
        }
        self.core.books.exchange(&self.ledger, one, other)
    }

    /// Keeps where a file is that a client keeps by its id: on the disk within
    /// [`Options::interval`](super::Options::interval), until it moves or [`forget`](Self::forget) is called.
    pub fn keep_place(&self, id: CatalogId, folder: CatalogId, name: &[u8]) -> Result<(), IndexError> {
        self.core.books.keep_place(&self.ledger, id, KeptPlace { folder, name: name.into() })
    }

    /// Where a file was when that was kept last: a hint.
    pub fn kept_place(&self, id: CatalogId) -> Result<Option<KeptPlace>, IndexError> {
        self.ledger.kept_place(&self.core.books.store, id)
    }

    /// Nobody keeps the file by its id any more; it goes on to have it.
    pub fn forget_place(&self, id: CatalogId) -> Result<(), IndexError> {
        self.core.books.forget_place(&self.ledger, id)
    }

    #[cfg(test)]
    pub(super) fn rows_remembered(&self) -> usize {
        self.ledger.rows_remembered()
    }
}
