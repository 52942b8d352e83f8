//! Where the server keeps what it cannot store beside a file: the server's own folders at the roots
//! of shares.
//!
//! The server must find what belongs to a file through each share that reaches the file. So it
//! looks at the roots of the shares that overlap, and at the folders above the share's folder, too:
//! streams that were stored through a share of the folder above stay where they are. New streams are
//! stored in the highest of these folders.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use lock::{Mutex, rank};

use super::{HostKey, Result};
use crate::acl::server;
use crate::backend::Backend;
use crate::finding::own_folders::trust;
use crate::site::Site;
use crate::streams::STORE;
use crate::volume::Node;

/// The folders of one volume, and of others on its file system.
pub(crate) struct Homes {
    pub(crate) backend: Arc<dyn Backend>,
    pub(crate) site: Arc<Site>,
    /// The folders above the share's folder, on the same file system, the highest first.
    above: OnceLock<Vec<Node>>,
    /// Those of them that have a store, as of this count of changes to stores.
    stores: Mutex<Option<(u64, Vec<Node>)>, rank::StoresAbove>,
    /// Whether the server has read from the share's own folders what the whole site must know.
    learned: AtomicBool,
    /// The same of mounts inside the share.
    learned_mounts: Mutex<HashSet<u64>, rank::LearnedMounts>,
}

/// How the folder of one volume lies to that of another.
pub(crate) enum Relation {
    /// It is the same folder, or below it.
    Inside,
    /// It may contain the other one, or parts of it.
    Around,
    /// They have nothing in common.
    Apart,
}

impl Homes {
    pub(crate) fn new(backend: Arc<dyn Backend>, site: Arc<Site>) -> Arc<Self> {
        let (above, learned) = (OnceLock::new(), AtomicBool::new(false));
        let (stores, learned_mounts) = (Mutex::default(), Mutex::default());
        let homes = Arc::new(Self { backend, site, above, stores, learned, learned_mounts });
        homes.site.add_homes(&homes);
        homes
    }

    /// Folders in which the store for a file may be. The first one is for new streams.
    pub(crate) fn of(&self, key: &HostKey) -> Result<Vec<Node>> {
        let own = self.backend.homes(key)?;
        let Some(first) = own.first() else { return Ok(own) };
        let on_mount = key.mount().is_some();
        let overlaps = |other: &Self, root: &Node| {
            on_mount || root.id() == first.id() || self.is_below(root) || other.is_below(first)
        };
        let others = self.site.roots_on(first.id().device, self, overlaps);
        let stores = if on_mount { Vec::new() } else { self.stores_above() };
        if others.is_empty() && stores.is_empty() {
            return Ok(own);
        }
        let is_above = |root: &Node| !on_mount && self.is_below(root);
        let (higher, beside): (Vec<Node>, Vec<Node>) = others.into_iter().partition(is_above);
        let mut all: Vec<Node> = Vec::new();
        for home in stores.into_iter().chain(higher).chain(own).chain(beside) {
            if all.iter().all(|known| known.id() != home.id()) {
                all.push(home);
            }
        }
        Ok(all)
    }

    /// Whether the share's folder is below this one, on the same file system.
    fn is_below(&self, folder: &Node) -> bool {
        self.above().iter().any(|above| above.id() == folder.id())
    }

    fn above(&self) -> &[Node] {
        self.above.get_or_init(|| {
            let mut above = self.backend.above();
            above.reverse();
            above
        })
    }

    /// The folders above that have a store. The host is asked again after each change to a store.
    fn stores_above(&self) -> Vec<Node> {
        if self.above().is_empty() {
            return Vec::new();
        }
        let changes = self.site.stored_changes.load(Ordering::Acquire);
        if let Some((as_of, stores)) = &*self.stores.lock()
            && *as_of == changes
        {
            return stores.clone();
        }
        let has_store = |folder: &&Node| {
            let store = folder.lookup(server(), STORE);
            store.is_ok_and(|store| trust(self.backend.as_ref(), &store).is_ok())
        };
        let stores: Vec<Node> = self.above().iter().filter(has_store).cloned().collect();
        *self.stores.lock() = Some((changes, stores.clone()));
        stores
    }

    /// How this volume's folder lies to another one's.
    pub(crate) fn place_in(&self, other: &Self) -> Relation {
        let (Ok(own), Ok(theirs)) = (self.backend.root(), other.backend.root()) else {
            return Relation::Apart;
        };
        if own.object.id() == theirs.object.id() || self.is_below(&theirs.object) {
            return Relation::Inside;
        }
        let has_mounts = self.backend.has_mounts() || other.backend.has_mounts();
        if has_mounts || other.is_below(&own.object) { Relation::Around } else { Relation::Apart }
    }

    /// The same for the share's folder.
    #[inline]
    pub(crate) fn learn_root(&self) -> Result<()> {
        if self.learned.load(Ordering::Acquire) {
            Ok(())
        } else {
            self.learn(&self.backend.root()?.object.key())
        }
    }

    /// What binds the site is looked for again: another server may have made it.
    pub(crate) fn forget(&self) {
        self.learned.store(false, Ordering::Release);
    }

    /// Looks, the first time a file of this file system is used, for what binds the site: the notes on the shared folder and
    /// those above it, and the keys that ACLs are sealed with.
    #[inline]
    pub(crate) fn learn(&self, key: &HostKey) -> Result<()> {
        if self.learned.load(Ordering::Acquire) && !key.is_on_mount() {
            return Ok(());
        }
        if key.mount().is_some_and(|mount| self.learned_mounts.lock().contains(&mount)) {
            return Ok(());
        }
        for home in &self.backend.homes(key)? {
            self.site.inhibited.look(&**home)?;
            self.site.acls.look(self.backend.as_ref(), &**home)?;
            self.site.acls.look_for_sambas(home)?;
        }
        // The server may not be permitted to read folders outside the share: then they say nothing.
        let above = if key.mount().is_none() { self.above() } else { &[] };
        above.iter().for_each(|folder| _ = self.site.inhibited.look(&**folder));
        for home in &self.of(key)? {
            let _ = self.site.acls.look(self.backend.as_ref(), &**home);
        }
        match key.mount() {
            None => self.learned.store(true, Ordering::Release),
            Some(mount) => _ = self.learned_mounts.lock().insert(mount),
        }
        Ok(())
    }
}
