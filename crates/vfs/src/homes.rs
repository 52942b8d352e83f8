//! Where the server keeps what it cannot store beside a file: the server's own folders at the roots
//! of shares.
//!
//! The server must find what belongs to a file through each share that reaches the file. So it
//! looks at the roots of the shares that overlap, and at the folders above the share's folder, too:
//! streams that were stored through a share of the folder above stay where they are. New streams are
//! stored in the highest of these folders.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use lock::Mutex;

use super::{HostKey, Result};
use crate::backend::{Backend, Node, Object};
use crate::ranks;
use crate::site::Site;
use crate::streams::stores::{Above, Stores, each_once};

/// The folders of one volume, and of others on its file system.
pub(crate) struct Homes {
    pub(crate) backend: Arc<dyn Backend>,
    pub(crate) site: Arc<Site>,
    /// The share's folder.
    root: OnceLock<Node>,
    /// The folders above the share's folder.
    above: Above,
    /// Whether the server has read from the share's own folders what the whole site must know.
    learned: AtomicBool,
    /// The same of mounts inside the share.
    learned_mounts: Mutex<HashSet<u64>, ranks::LearnedMounts>,
}

/// How the folder of one volume lies to that of another.
enum Relation {
    /// It is the same folder, or below it.
    Inside,
    /// It may contain the other one, or parts of it.
    Around,
    /// They have nothing in common.
    Apart,
}

impl Homes {
    pub(crate) fn new(backend: Arc<dyn Backend>, site: Arc<Site>) -> Arc<Self> {
        let (above, learned) = (Above::new(backend.clone()), AtomicBool::new(false));
        let (root, learned_mounts) = (OnceLock::new(), Mutex::default());
        let homes = Arc::new(Self { backend, site, root, above, learned, learned_mounts });
        homes.site.add_homes(&homes);
        homes
    }

    /// The share's folder, which may have been removed since. The host is asked once: each of a thousand shares looks at all
    /// others.
    pub(crate) fn known_root(&self) -> Option<&Node> {
        if self.root.get().is_none() {
            let _ = self.root.set(self.backend.root().ok()?.object); // the same as the faster thread's
        }
        self.root.get()
    }

    /// Whether the share's folder is below this one, on the same file system.
    fn is_below(&self, folder: &Node) -> bool {
        self.above.has(folder)
    }

    /// How this volume's folder lies to another one's.
    fn place_in(&self, other: &Self) -> Relation {
        let (Ok(own), Ok(theirs)) = (self.backend.root(), other.backend.root()) else {
            return Relation::Apart;
        };
        if own.object.id() == theirs.object.id() || self.is_below(&theirs.object) {
            return Relation::Inside;
        }
        let has_mounts = self.backend.has_mounts() || other.backend.has_mounts();
        if has_mounts || other.is_below(&own.object) { Relation::Around } else { Relation::Apart }
    }

    /// Whether a folder of this volume is in another one, too.
    pub(crate) fn is_shown_in(&self, other: &Self, folder: &dyn Object) -> bool {
        std::ptr::eq(self, other)
            || match self.place_in(other) {
                Relation::Inside => true,
                Relation::Apart => false,
                Relation::Around => other.backend.path_hint(folder).is_some(),
            }
    }

    /// As [`Homes::learn`], for the share's folder.
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
        let above = if key.mount().is_none() { self.above.folders() } else { &[] };
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

impl Stores for Homes {
    fn of(&self, key: &HostKey) -> Result<Vec<Node>> {
        let own = self.backend.homes(key)?;
        let Some(first) = own.first() else { return Ok(own) };
        let on_mount = key.mount().is_some();
        let overlaps = |other: &Self, root: &Node| {
            on_mount || root.id() == first.id() || self.is_below(root) || other.is_below(first)
        };
        let others = self.site.roots_on(first.id().device, self, overlaps);
        let stores =
            if on_mount { Vec::new() } else { self.above.with_store(self.changes().load(Ordering::Acquire)) };
        if others.is_empty() && stores.is_empty() {
            return Ok(own);
        }
        let is_above = |root: &Node| !on_mount && self.is_below(root);
        let (higher, beside): (Vec<Node>, Vec<Node>) = others.into_iter().partition(is_above);
        Ok(each_once(stores.into_iter().chain(higher).chain(own).chain(beside)))
    }

    fn changes(&self) -> &AtomicU64 {
        &self.site.stored_changes
    }
}
