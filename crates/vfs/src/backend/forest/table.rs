//! The trees that are attached now, and where.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use lock::RwLock;
use siphasher::sip::SipHasher24;

use super::gates::{Gate, GatePath, Gates};
use super::object::ForestObject;
use super::offered::OfferedFolder;
use super::{Offer, Tree, free_device};
use crate::backend::{Backend, Found, Object};
use crate::backend::{MAX_PATH_DEPTH, name_in};
use crate::caller::server;
use crate::ranks;
use crate::{Access, Attributes, Caller, Error, FileId, HostKey, Kind, Result, Time};

/// The place of an attached tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Place {
    /// Instead of the folder of this name in a folder of the main tree.
    Folder(HostKey, Box<[u8]>),
    /// Under this name in the offered folders.
    Offered(Box<[u8]>),
}

/// A tree that is attached.
pub(super) struct AttachedTree {
    pub(super) tree: Arc<Tree>,
    pub(super) place: Place,
    /// The root of the tree, as the tree's backend knows it.
    root: (HostKey, FileId),
    /// The cookie of the tree in listings of offered folders.
    pub(super) cookie: u64,
    detached: AtomicBool,
}

impl AttachedTree {
    pub(super) fn new(tree: Arc<Tree>, place: Place, cookie: u64) -> Result<Self> {
        let root = tree.backend.root()?.object;
        let root = (root.key(), root.id());
        Ok(Self { tree, place, root, cookie, detached: AtomicBool::new(false) })
    }

    pub(super) fn is_here(&self) -> Result<()> {
        if self.detached.load(Ordering::Acquire) { Err(Error::Stale) } else { Ok(()) }
    }

    pub(super) fn may_change(&self) -> Result<()> {
        self.is_here()?;
        if self.tree.read_only { Err(Error::ReadOnly) } else { Ok(()) }
    }

    pub(super) fn detach(&self) {
        self.detached.store(true, Ordering::Release);
    }

    pub(super) fn is_root(&self, object: &dyn Object) -> bool {
        object.key() == self.root.0
    }

    /// The device number that clients' files of this tree have.
    fn device(&self) -> u32 {
        self.tree.device.unwrap_or(self.root.1.device)
    }

    pub(super) fn outer_id(&self, inner: FileId) -> FileId {
        self.tree.device.map_or(inner, |device| FileId::new(device, inner.inode))
    }

    fn inner_id(&self, outer: FileId) -> FileId {
        self.tree.device.map_or(outer, |_| self.root.1.with_inode(outer.inode))
    }

    pub(super) fn outer_key(&self, inner: &HostKey) -> Result<HostKey> {
        inner.on_mount(self.tree.number.get()).ok_or(Error::NotSupported)
    }

    pub(super) fn outer_attributes(&self, inner: Attributes) -> Attributes {
        Attributes { id: self.outer_id(inner.id), ..inner }
    }
}

/// All attached trees.
#[derive(Clone, Default)]
pub(super) struct Table {
    /// In the order of their cookies.
    pub(super) all: Vec<Arc<AttachedTree>>,
    by_number: HashMap<u64, Arc<AttachedTree>>,
    by_device: HashMap<u32, Arc<AttachedTree>>,
    offered: HashMap<Box<[u8]>, Arc<AttachedTree>>,
    pub(super) gates: Arc<Gates>,
    /// When an offered tree was last attached or detached.
    pub(super) changed: Time,
}

impl Table {
    pub(super) fn of(all: Vec<Arc<AttachedTree>>, main_device: u32, changed: Time) -> Self {
        let mut table = Self { changed, ..Self::default() };
        for attached in &all {
            table.by_number.insert(attached.tree.number.get(), attached.clone());
            if let Place::Offered(name) = &attached.place {
                table.offered.insert(name.clone(), attached.clone());
            }
            // Trees on one device have one number space. The choice must not depend on the order of attaching.
            let smallest = |known: &Arc<AttachedTree>| known.tree.number <= attached.tree.number;
            let device = attached.device();
            if device != main_device && !table.by_device.get(&device).is_some_and(smallest) {
                table.by_device.insert(device, attached.clone());
            }
        }
        table.all = all;
        table
    }

    pub(super) fn numbered(&self, number: u64) -> Option<&Arc<AttachedTree>> {
        self.by_number.get(&number)
    }

    pub(super) fn offered(&self, name: &[u8]) -> Option<&Arc<AttachedTree>> {
        self.offered.get(name)
    }

    /// The trees that are attached in a folder of the main tree, with their names.
    pub(super) fn in_folder<'a>(
        &'a self,
        folder: &'a HostKey,
    ) -> impl Iterator<Item = (&'a [u8], &'a Arc<AttachedTree>)> {
        self.all.iter().filter_map(move |attached| match &attached.place {
            Place::Folder(at, name) if at == folder => Some((&**name, attached)),
            _ => None,
        })
    }

    /// The tree that a file is in, and the file's id there.
    pub(super) fn tree_of(&self, file: FileId) -> Option<(&Arc<AttachedTree>, FileId)> {
        let attached = self.by_device.get(&file.device)?;
        Some((attached, attached.inner_id(file)))
    }
}

/// What all objects of a forest have in common.
pub(super) struct ForestState {
    pub(super) main: Arc<dyn Backend>,
    pub(super) root: (HostKey, FileId),
    pub(super) offer: Option<OfferedNames>,
    /// For each name under which there may be a tree, the bit [`bit_of`] it. Other names need no search.
    names: AtomicU64,
    table: RwLock<Arc<Table>, ranks::AttachedTrees>,
    /// Whether there are gates.
    gated: AtomicBool,
    /// Whether one of them is a team folder.
    teamed: AtomicBool,
    /// Whether any folder was watched. Otherwise no listing is kept.
    pub(super) watched: AtomicBool,
    /// A tree was attached or detached at a folder since, so kept listings may be wrong.
    pub(super) rearranged: AtomicBool,
}

/// An [`Offer`] with its identity.
pub(super) struct OfferedNames {
    pub(super) names: Offer,
    pub(super) number: u64,
    pub(super) device: u32,
}

impl OfferedNames {
    pub(super) fn has(&self, name: &[u8]) -> bool {
        self.names.listed.as_deref() == Some(name) || self.names.hidden.iter().any(|hidden| hidden == name)
    }

    fn all(&self) -> impl Iterator<Item = &Vec<u8>> {
        self.names.listed.iter().chain(&self.names.hidden)
    }
}

/// One of 64 bits. The names of trees set few of them.
fn bit_of(name: &[u8]) -> u64 {
    let (first, last) = (name.first().copied().unwrap_or(0), name.last().copied().unwrap_or(0));
    1 << ((usize::from(first) * 7 + usize::from(last) * 3 + name.len()) & 63)
}

impl ForestState {
    pub(super) fn new(main: Arc<dyn Backend>, offer: Offer) -> Result<Self> {
        let root = main.root()?.object;
        let offer = (!offer.hidden.is_empty() || offer.listed.is_some()).then(|| OfferedNames {
            number: SipHasher24::new().hash(b"offered trees").max(1),
            device: free_device(),
            names: offer,
        });
        let root = (root.key(), root.id());
        let (names, table) = (AtomicU64::new(0), RwLock::default());
        let (gated, teamed, watched, rearranged) = Default::default();
        let shared = Self { main, root, offer, names, table, gated, teamed, watched, rearranged };
        shared.change(|all| Ok(std::mem::take(all)), Time::default())?;
        Ok(shared)
    }

    /// Whether there can be any tree but the main one.
    pub(super) fn has_trees(&self) -> bool {
        self.names.load(Ordering::Acquire) != 0
    }

    pub(super) fn table(&self) -> Arc<Table> {
        self.table.read().clone()
    }

    /// Replaces the list of attached trees.
    pub(super) fn change(
        &self,
        change: impl FnOnce(&mut Vec<Arc<AttachedTree>>) -> Result<Vec<Arc<AttachedTree>>>,
        now: Time,
    ) -> Result<()> {
        let mut table = self.table.write();
        let all = change(&mut table.all.clone())?;
        let mut names =
            self.offer.iter().flat_map(OfferedNames::all).fold(0, |bits, name| bits | bit_of(name));
        for attached in &all {
            if let Place::Folder(_, name) = &attached.place {
                names |= bit_of(name);
            }
        }
        let gates = table.gates.clone();
        *table = Arc::new(Table { gates, ..Table::of(all, self.root.1.device, now) });
        self.names.store(names, Ordering::Release);
        Ok(())
    }

    pub(super) fn set_gates(&self, gates: Vec<Gate>) {
        let gates = Arc::new(Gates::new(&*self.main, gates));
        let mut table = self.table.write();
        self.gated.store(!gates.is_empty(), Ordering::Release);
        self.teamed.store(gates.have_teams(), Ordering::Release);
        *table = Arc::new(Table { gates, ..Table::clone(&table) });
    }

    #[inline]
    pub(super) fn has_team_gates(&self) -> bool {
        self.teamed.load(Ordering::Acquire)
    }

    #[inline]
    pub(super) fn has_gates(&self) -> bool {
        self.gated.load(Ordering::Acquire)
    }

    /// The gate that an object is behind that was reached by its key.
    fn gate_of(&self, tree: Option<&Arc<AttachedTree>>, object: &Arc<dyn Object>) -> Option<GatePath> {
        let backend = tree.map_or(&*self.main, |tree| &*tree.tree.backend);
        self.has_gates().then(|| self.table().gates.of_object(backend, object)).flatten()
    }

    /// The gate of what was found under a name in a folder, and whether the caller may pass it.
    pub(super) fn pass(
        &self,
        caller: &Caller,
        (tree, above): (Option<&Arc<AttachedTree>>, Option<&GatePath>),
        name: &[u8],
        found: &Found,
    ) -> Result<Option<GatePath>> {
        if !self.has_gates() {
            return Ok(None);
        }
        let gates = &self.table().gates;
        if found.attributes.kind != Kind::Folder || !gates.may_be(name) {
            return Ok(above.cloned());
        }
        let backend = tree.map_or(&*self.main, |tree| &*tree.tree.backend);
        let gate = gates.of_object(backend, &found.object);
        match gate.as_ref().and_then(|gate| gates.at(gate)) {
            Some(gate) if gate.rules.grant(caller).is_none() => Err(Error::AccessDenied),
            _ => Ok(gate),
        }
    }

    /// A folder has other entries, of which no watch tells.
    pub(super) fn rearrange(&self) {
        if self.watched.load(Ordering::SeqCst) {
            self.rearranged.store(true, Ordering::Release);
        }
    }

    pub(super) fn object(
        self: &Arc<Self>,
        tree: Option<&Arc<AttachedTree>>,
        inner: Arc<dyn Object>,
        gate: Option<GatePath>,
    ) -> Arc<dyn Object> {
        Arc::new(ForestObject { shared: self.clone(), tree: tree.cloned(), inner, gate })
    }

    /// What a tree's backend has found by its key or as a parent (the main one's for `None`), as the forest shows it.
    pub(super) fn found(self: &Arc<Self>, tree: Option<&Arc<AttachedTree>>, inner: Found) -> Result<Found> {
        let gate = self.gate_of(tree, &inner.object);
        self.found_behind(tree, inner, gate)
    }

    /// The same of something whose gate is known.
    pub(super) fn found_behind(
        self: &Arc<Self>,
        tree: Option<&Arc<AttachedTree>>,
        inner: Found,
        gate: Option<GatePath>,
    ) -> Result<Found> {
        let mut attributes = inner.attributes;
        if let Some(tree) = tree {
            tree.outer_key(&inner.object.key())?; // which must be short enough
            attributes = tree.outer_attributes(attributes);
        }
        Ok(Found { object: self.object(tree, inner.object, gate), attributes })
    }

    pub(super) fn root_of(self: &Arc<Self>, tree: &Arc<AttachedTree>) -> Result<Found> {
        self.found_behind(Some(tree), tree.tree.backend.root()?, None)
    }

    /// What is attached under this name in a folder of the main tree.
    #[inline]
    pub(super) fn attached_at(
        self: &Arc<Self>,
        caller: &Caller,
        folder: &Arc<dyn Object>,
        name: &[u8],
    ) -> Result<Option<Found>> {
        if !self.may_be_attached(name) || folder.kind() != Kind::Folder {
            return Ok(None);
        }
        let found = match self.is_offered(name) {
            true => self.offered_in(folder)?,
            false => match self.table().in_folder(&folder.key()).find(|(at, _)| *at == name) {
                Some((_, tree)) => self.root_of(tree)?,
                None => return Ok(None),
            },
        };
        let passes = folder.access(caller, &folder.attributes()?, Access::EXECUTE)?;
        if passes.contains(Access::EXECUTE) { Ok(Some(found)) } else { Err(Error::AccessDenied) }
    }

    #[inline]
    pub(super) fn may_be_attached(&self, name: &[u8]) -> bool {
        self.names.load(Ordering::Acquire) & bit_of(name) != 0
    }

    /// Whether a tree or an offered folder has this name in a folder of the main tree.
    pub(super) fn is_attached(&self, folder: &dyn Object, name: &[u8]) -> bool {
        self.may_be_attached(name)
            && (self.is_offered(name) || self.table().in_folder(&folder.key()).any(|(at, _)| at == name))
    }

    pub(super) fn is_offered(&self, name: &[u8]) -> bool {
        self.offer.as_ref().is_some_and(|offer| offer.has(name))
    }

    /// The folder of offered trees in a folder of the main tree.
    pub(super) fn offered_in(self: &Arc<Self>, folder: &Arc<dyn Object>) -> Result<Found> {
        let offer = self.offer.as_ref().ok_or(Error::Stale)?;
        let object = OfferedFolder::new(self.clone(), folder.clone(), offer)?;
        let attributes = object.attributes()?;
        Ok(Found { object: Arc::new(object), attributes })
    }

    /// The folder that the root of a tree is in.
    pub(super) fn above(self: &Arc<Self>, tree: &AttachedTree) -> Result<Found> {
        match &tree.place {
            Place::Folder(folder, _) => self.found(None, self.main.by_key(folder)?),
            Place::Offered(_) => self.offered_in(&self.main.root()?.object),
        }
    }

    /// The stored names from the root of the main tree down to a folder of it.
    pub(super) fn path_of(&self, folder: &Arc<dyn Object>) -> Result<Vec<Vec<u8>>> {
        let key = folder.key();
        if key == self.root.0 {
            return Ok(Vec::new());
        }
        if let Some(hint) = self.main.path_hint(&**folder) {
            let names: Vec<&[u8]> = hint.iter().map(Vec::as_slice).collect();
            let there = self.main.root()?.object.lookup_path(server(), &names);
            if there.is_ok_and(|found| found.object.key() == key) {
                return Ok(hint);
            }
        }
        climbed(folder, &self.root.0)
    }
}

/// The stored names from a root down to a folder, found by going up.
pub(super) fn climbed(folder: &Arc<dyn Object>, root: &HostKey) -> Result<Vec<Vec<u8>>> {
    let (mut path, mut at) = (Vec::new(), folder.clone());
    while at.key() != *root {
        if path.len() >= MAX_PATH_DEPTH {
            return Err(Error::NameTooLong);
        }
        let above = at.parent()?.object;
        path.push(name_in(&above, &at)?);
        at = above;
    }
    path.reverse();
    Ok(path)
}
