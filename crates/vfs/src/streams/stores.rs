//! Where the stores of files may be.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use lock::Mutex;

use crate::backend::{Backend, Node, trust};
use crate::caller::server;
use crate::names::own::STORE;
use crate::ranks;
use crate::{HostKey, Result};

/// Where the stores of one volume's files may be.
pub(crate) trait Stores: Send + Sync {
    /// Folders in which the store for a file may be. The first one is for new streams.
    fn of(&self, key: &HostKey) -> Result<Vec<Node>>;

    /// The number of changes to stores up to now.
    fn changes(&self) -> &AtomicU64;
}

/// The folders above the folder of a share, on the same file system.
pub(crate) struct Above {
    backend: Arc<dyn Backend>,
    /// The highest first.
    folders: OnceLock<Vec<Node>>,
    /// Those of them that have a store, as of this count of changes to stores.
    stores: Mutex<Option<(u64, Vec<Node>)>, ranks::StoresAbove>,
}

impl Above {
    pub(crate) fn new(backend: Arc<dyn Backend>) -> Self {
        Self { backend, folders: OnceLock::new(), stores: Mutex::default() }
    }

    /// Whether the share's folder is below this one, on the same file system.
    pub(crate) fn has(&self, folder: &Node) -> bool {
        self.folders().iter().any(|above| above.id() == folder.id())
    }

    pub(crate) fn folders(&self) -> &[Node] {
        self.folders.get_or_init(|| {
            let mut above = self.backend.above();
            above.reverse();
            above
        })
    }

    /// Those that have a store. The host is asked again after each change to a store.
    pub(crate) fn with_store(&self, changes: u64) -> Vec<Node> {
        if self.folders().is_empty() {
            return Vec::new();
        }
        if let Some((as_of, stores)) = &*self.stores.lock()
            && *as_of == changes
        {
            return stores.clone();
        }
        let has_store = |folder: &&Node| {
            let store = folder.lookup(server(), STORE);
            store.is_ok_and(|store| trust(self.backend.as_ref(), &store).is_ok())
        };
        let stores: Vec<Node> = self.folders().iter().filter(has_store).cloned().collect();
        *self.stores.lock() = Some((changes, stores.clone()));
        stores
    }
}

/// These folders in their order, each once.
pub(crate) fn each_once(folders: impl Iterator<Item = Node>) -> Vec<Node> {
    let mut all: Vec<Node> = Vec::new();
    for home in folders {
        if all.iter().all(|known| known.id() != home.id()) {
            all.push(home);
        }
    }
    all
}

/// The stores of a volume that shares none with other volumes.
pub(super) struct OfOneVolume {
    backend: Arc<dyn Backend>,
    above: Above,
    changes: AtomicU64,
}

impl OfOneVolume {
    pub(super) fn new(backend: Arc<dyn Backend>) -> Self {
        Self { above: Above::new(backend.clone()), backend, changes: AtomicU64::new(0) }
    }
}

impl Stores for OfOneVolume {
    fn of(&self, key: &HostKey) -> Result<Vec<Node>> {
        let own = self.backend.homes(key)?;
        if own.is_empty() || key.mount().is_some() {
            return Ok(own);
        }
        let above = self.above.with_store(self.changes.load(Ordering::Acquire));
        Ok(each_once(above.into_iter().chain(own)))
    }

    fn changes(&self) -> &AtomicU64 {
        &self.changes
    }
}
