//! A tree of several backends: a main one, and others that are attached to it.
//!
//! ```text
//! main ─┬─ a folder ─► Tree        a dataset, the library of another file system
//!       └─ any folder/OFFERED/NAME ─► the counterpart of the folder in Tree NAME: a snapshot
//! ```
//!
//! A file of an attached tree has the tree's number in its [`HostKey`], so that its key is found
//! again after a restart if the tree is attached with the same number. Its [`FileId`] has the
//! device of the tree. Changes do not cross from one tree to another: they fail with
//! `CrossVolume`. Space, limits and the number of the file system are those of the tree. No folder
//! of an attached tree is watched, so its local changes cause no events. Listings of a snapshot
//! are kept all the same; those of others are not.
//!
//! Folders of the main tree that are shares of their own have [`Gate`]s: their rules bind all callers.
//!
//! Objects of the main tree are its backend's objects, wrapped. A look-up whose name is not that of
//! a tree costs the wrapper and one comparison more than without.

mod gates;
mod object;
mod offered;
mod table;
mod watches;

use std::num::NonZeroU64;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

pub use self::gates::{Admission, Gate, Hidden, TeamGate};
use self::object::ForestObject;
use self::offered::{FIRST_TREE, OfferedFolder};
use self::table::{AttachedTree, ForestState, Place};
use self::watches::SnapshotWatches;
use super::{Backend, DataNotice, Finds, Found, Limits, Object, Snapshot, Space, WatchEvent, WatchId};
use crate::caller::server;
use crate::{Error, FileId, HostKey, Kind, LastingKey, Result, Time};

/// A backend that can be attached to others.
pub struct Tree {
    number: NonZeroU64,
    backend: Arc<dyn Backend>,
    read_only: bool,
    /// When the snapshot that it is was taken.
    taken: Option<Time>,
    device: Option<u32>,
}

impl Tree {
    /// A tree with this number in the keys of its files. The number must stay the same over restarts, and must never be
    /// that of another tree. Files have the device numbers of `backend`, which are those of this machine.
    #[must_use]
    pub fn new(number: NonZeroU64, backend: Arc<dyn Backend>) -> Self {
        Self { number, backend, read_only: false, taken: None, device: None }
    }

    /// The same tree; all changes are refused.
    #[must_use]
    pub fn read_only(self) -> Self {
        Self { read_only: true, ..self }
    }

    /// The same tree as a snapshot, taken at this time: it is read-only, and nothing changes it otherwise.
    #[must_use]
    pub fn taken(self, at: Time) -> Self {
        Self { read_only: true, taken: Some(at), ..self }
    }

    /// The same tree with a device number of its own, which no file system of this machine has. For a backend that numbers
    /// files in its own way, all on one device.
    #[must_use]
    pub fn with_own_device(self) -> Self {
        Self { device: Some(free_device()), ..self }
    }
}

/// A device number that Linux gives to no file system: its major numbers end far below.
pub(super) fn free_device() -> u32 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    FileId::device_of(0xfff, NEXT.fetch_add(1, Ordering::Relaxed) & 0xf_ffff)
}

/// The names of the folder that leads, in every folder of the main tree, to its counterparts in offered trees.
#[derive(Debug, Clone, Default)]
pub struct Offer {
    /// Names that no listing shows.
    pub hidden: Vec<Vec<u8>>,
    /// A name that the listing of the share's folder shows.
    pub listed: Option<Vec<u8>>,
}

/// A main backend and the trees that are attached to it.
pub struct Forest {
    shared: Arc<ForestState>,
    next: AtomicU64,
    snapshot_watches: SnapshotWatches,
}

impl Forest {
    /// A tree of which nothing but `main` is there yet. Entries of `main` with a name of the offer are hidden.
    pub fn new(main: Arc<dyn Backend>, offer: Offer) -> Result<Self> {
        let shared = Arc::new(ForestState::new(main, offer)?);
        Ok(Self { shared, next: AtomicU64::new(FIRST_TREE), snapshot_watches: SnapshotWatches::new() })
    }

    /// Attaches a tree at the folder `name` of a folder of the main tree, which it hides.
    pub fn attach(&self, folder: &dyn Object, name: &[u8], tree: Arc<Tree>) -> Result<()> {
        if folder.as_any().is::<ForestObject>() || folder.as_any().is::<OfferedFolder>() {
            return Err(Error::CrossVolume);
        }
        if folder.lookup(server(), name)?.attributes.kind != Kind::Folder {
            return Err(Error::NotFolder);
        }
        let changed = self.shared.table().changed;
        self.add(tree, Place::Folder(folder.key(), name.into()), changed)?;
        self.shared.rearrange();
        Ok(())
    }

    /// Attaches a tree under a name in the offered folders.
    pub fn offer(&self, name: &[u8], tree: Arc<Tree>, now: Time) -> Result<()> {
        self.add(tree, Place::Offered(name.into()), now)
    }

    /// Sets the rules of folders of the main tree that are shares of their own. Replaces those of the last call.
    pub fn set_gates(&self, gates: Vec<Gate>) {
        self.shared.set_gates(gates);
    }

    fn add(&self, tree: Arc<Tree>, place: Place, changed: Time) -> Result<()> {
        let cookie = self.next.fetch_add(1, Ordering::Relaxed);
        let attached = Arc::new(AttachedTree::new(tree, place, cookie)?);
        let is_taken = |other: &Arc<AttachedTree>| {
            other.tree.number == attached.tree.number || other.place == attached.place
        };
        self.shared.change(
            |all| {
                if all.iter().any(is_taken) {
                    return Err(Error::Exists);
                }
                all.push(attached.clone());
                all.sort_by_key(|attached| attached.cookie);
                Ok(std::mem::take(all))
            },
            changed,
        )
    }

    /// Detaches the tree with this number. Files of it that are still held are stale from now on.
    pub fn detach(&self, number: NonZeroU64, now: Time) -> Result<()> {
        let table = self.shared.table();
        let attached = table.numbered(number.get()).ok_or(Error::NotFound)?;
        self.shared.change(
            |all| {
                all.retain(|other| !Arc::ptr_eq(other, attached));
                Ok(std::mem::take(all))
            },
            now,
        )?;
        attached.detach();
        self.snapshot_watches.end(number);
        if matches!(attached.place, Place::Folder(..)) {
            self.shared.rearrange(); // nothing that is kept of it counts any more
        }
        Ok(())
    }

    /// The attached tree that a key leads to, and the key in it.
    fn tree_of(&self, key: &HostKey) -> Option<(Arc<AttachedTree>, HostKey)> {
        if !self.shared.has_trees() {
            return None;
        }
        let (number, inner) = key.split_mount()?;
        Some((self.shared.table().numbered(number)?.clone(), inner))
    }

    /// The folder of the main tree whose offered folder has this key.
    fn offered_by(&self, key: &HostKey) -> Option<HostKey> {
        let offer = self.shared.offer.as_ref()?;
        key.split_mount().filter(|(number, _)| *number == offer.number).map(|(_, of)| of)
    }

    /// The attached tree that an object is in, and the object there.
    fn attached<'a>(&self, object: &'a dyn Object) -> Option<(&'a Arc<AttachedTree>, &'a dyn Object)> {
        let object: &ForestObject = object.as_any().downcast_ref()?;
        Some((object.tree.as_ref()?, &*object.inner)).filter(|_| Arc::ptr_eq(&object.shared, &self.shared))
    }

    fn is_offered(&self, file: FileId) -> Option<u64> {
        let offer = self.shared.offer.as_ref()?;
        (offer.device == file.device).then_some(offer.number)
    }
}

impl Backend for Forest {
    fn behind(&self) -> Option<&dyn Backend> {
        Some(&*self.shared.main)
    }

    fn root(&self) -> Result<Found> {
        self.shared.found(None, self.shared.main.root()?)
    }

    fn by_key(&self, key: &HostKey) -> Result<Found> {
        if let Some((tree, inner)) = self.tree_of(key) {
            return self.shared.found(Some(&tree), tree.tree.backend.by_key(&inner)?);
        }
        match self.offered_by(key) {
            Some(of) => self.shared.offered_in(&self.shared.main.by_key(&of)?.object),
            None => self.shared.found(None, self.shared.main.by_key(key)?),
        }
    }

    fn finds(&self, key: &HostKey) -> Finds {
        match self.tree_of(key) {
            Some((tree, inner)) => tree.tree.backend.finds(&inner),
            None => self.shared.main.finds(key),
        }
    }

    fn path_hint(&self, object: &dyn Object) -> Option<Vec<Vec<u8>>> {
        let Some((tree, inner)) = self.attached(object) else { return self.shared.main.path_hint(object) };
        let mut path = match &tree.place {
            Place::Folder(folder, name) => {
                let folder = self.shared.main.by_key(folder).ok()?.object;
                let mut path = self.shared.path_of(&folder).ok()?;
                path.push(name.to_vec());
                path
            }
            Place::Offered(name) => {
                let offer = &self.shared.offer.as_ref()?.names;
                vec![offer.hidden.first().or(offer.listed.as_ref())?.clone(), name.to_vec()]
            }
        };
        path.extend(tree.tree.backend.path_hint(inner)?);
        Some(path)
    }

    fn file_system(&self, file: FileId) -> u64 {
        if !self.shared.has_trees() {
            return self.shared.main.file_system(file);
        }
        if let Some((tree, inner)) = self.shared.table().tree_of(file) {
            return tree.tree.number.get() ^ tree.tree.backend.file_system(inner);
        }
        self.is_offered(file).unwrap_or_else(|| self.shared.main.file_system(file))
    }

    fn lasting_key(&self, key: &HostKey) -> Result<LastingKey> {
        if let Some((tree, inner)) = self.tree_of(key) {
            return tree.tree.backend.lasting_key(&inner);
        }
        match (self.offered_by(key), &self.shared.offer) {
            (Some(of), Some(offer)) => {
                let of = self.shared.main.lasting_key(&of)?;
                Ok(LastingKey { file_system: of.file_system ^ offer.number, ..of })
            }
            _ => self.shared.main.lasting_key(key),
        }
    }

    fn keys_of(&self, file: &LastingKey, with_all_mounts: bool) -> Vec<HostKey> {
        let mut keys = Vec::new();
        // First: the main tree may open files of a snapshot by the same handles.
        for tree in &self.shared.table().all {
            let inner = tree.tree.backend.keys_of(file, with_all_mounts);
            keys.extend(inner.iter().filter_map(|key| tree.outer_key(key).ok()));
        }
        keys.extend(self.shared.main.keys_of(file, with_all_mounts));
        if let Some(offer) = &self.shared.offer {
            let of = LastingKey { file_system: file.file_system ^ offer.number, ..*file };
            let folders = self.shared.main.keys_of(&of, with_all_mounts);
            keys.extend(folders.iter().filter_map(|folder| folder.on_mount(offer.number)));
        }
        keys
    }

    fn homes(&self, key: &HostKey) -> Result<Vec<Arc<dyn Object>>> {
        let (tree, homes) = match self.tree_of(key) {
            Some((tree, inner)) => (Some(tree.clone()), tree.tree.backend.homes(&inner)?),
            None if self.offered_by(key).is_some() => return Ok(Vec::new()),
            None => (None, self.shared.main.homes(key)?),
        };
        Ok(homes.into_iter().map(|home| self.shared.object(tree.as_ref(), home, None)).collect())
    }

    fn above(&self) -> Vec<Arc<dyn Object>> {
        self.shared.main.above()
    }

    fn has_gates(&self) -> bool {
        self.shared.has_gates()
    }

    fn has_team_gates(&self) -> bool {
        self.shared.has_team_gates()
    }

    fn has_mounts(&self) -> bool {
        self.shared.has_trees() || self.shared.main.has_mounts()
    }

    fn space(&self, at: &dyn Object) -> Result<Space> {
        if let Some((tree, inner)) = self.attached(at) {
            tree.is_here()?;
            return tree.tree.backend.space(inner);
        }
        match at.as_any().is::<OfferedFolder>() {
            true => self.shared.main.space(&*self.shared.main.root()?.object),
            false => self.shared.main.space(at),
        }
    }

    fn snapshots(&self) -> Vec<Snapshot> {
        let Some(offer) = &self.shared.offer else { return Vec::new() };
        let Some(folder) = offer.names.hidden.first().or(offer.names.listed.as_ref()) else {
            return Vec::new();
        };
        let of = |attached: &Arc<AttachedTree>| match (&attached.place, attached.tree.taken) {
            (Place::Offered(name), Some(taken)) => {
                Some(Snapshot { path: [folder.clone(), name.to_vec()], taken })
            }
            _ => None,
        };
        let mut all: Vec<Snapshot> = self.shared.table().all.iter().filter_map(of).collect();
        all.sort_by_key(|snapshot| std::cmp::Reverse(snapshot.taken));
        all
    }

    fn limits(&self) -> Limits {
        self.shared.main.limits()
    }

    fn limits_of(&self, file: FileId) -> Limits {
        if self.shared.has_trees()
            && let Some((tree, inner)) = self.shared.table().tree_of(file)
        {
            return tree.tree.backend.limits_of(inner);
        }
        self.shared.main.limits_of(file)
    }

    fn watch(&self, folder: &dyn Object, data: DataNotice) -> Option<WatchId> {
        self.shared.watched.store(true, Ordering::SeqCst);
        match self.attached(folder) {
            Some((tree, _)) if tree.tree.taken.is_some() => self.snapshot_watches.add(tree.tree.number),
            Some(_) => None,
            None if folder.as_any().is::<OfferedFolder>() => None,
            None => self.shared.main.watch(folder, data),
        }
    }

    fn unwatch(&self, watch: WatchId, data: DataNotice) {
        if watch.0 >= 0 {
            self.shared.main.unwatch(watch, data);
        } else {
            self.snapshot_watches.remove(watch);
        }
    }

    fn watch_events(&self, sink: &mut dyn FnMut(WatchEvent)) {
        if self.shared.rearranged.swap(false, Ordering::AcqRel) {
            sink(WatchEvent::Missed);
        }
        self.snapshot_watches.ended().into_iter().for_each(|watch| sink(WatchEvent::Over(watch)));
        self.shared.main.watch_events(sink);
    }

    fn sync(&self) -> Result<()> {
        for tree in self.shared.table().all.iter().filter(|tree| !tree.tree.read_only) {
            tree.tree.backend.sync()?;
        }
        self.shared.main.sync()
    }

    fn tend(&self) {
        self.shared.table().all.iter().for_each(|tree| tree.tree.backend.tend());
        self.shared.main.tend();
    }
}
