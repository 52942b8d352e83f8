//! An object of one of the trees, as the forest shows it.

use std::any::Any;
use std::sync::Arc;

use auth::Grant;

use super::gates::{Gate, GatePath, Hidden, TeamGate};
use super::table::{AttachedTree, ForestState};
use crate::backend::{
    Call, Found, Glance, ListEntry, NewKind, NewOwner, Object, RenameMode, XattrMode, first_step,
};
use crate::caller::server;
use crate::{Access, Attributes, Caller, Error, FileId, HostKey, Kind, Result, SetAttributes};

/// The cookie of the listed name of the offered trees, beyond all cookies of hosts.
const LISTED: u64 = u64::MAX - 1;

pub(super) struct ForestObject {
    pub(super) shared: Arc<ForestState>,
    /// The attached tree that it is in; `None` for the main one.
    pub(super) tree: Option<Arc<AttachedTree>>,
    pub(super) inner: Arc<dyn Object>,
    /// The gate that it is behind.
    pub(super) gate: Option<GatePath>,
}

impl ForestObject {
    /// The object in its own tree, if that is still attached.
    fn here(&self) -> Result<&dyn Object> {
        self.tree.as_ref().map_or(Ok(()), |tree| tree.is_here())?;
        Ok(&*self.inner)
    }

    /// The same, to be changed.
    fn to_change(&self) -> Result<&dyn Object> {
        self.tree.as_ref().map_or(Ok(()), |tree| tree.may_change())?;
        if self.is_locked() { Err(Error::ReadOnly) } else { Ok(&*self.inner) }
    }

    /// The same for a caller whom the gate may stop.
    fn to_change_as(&self, caller: &Caller) -> Result<&dyn Object> {
        match self.admits(caller) {
            None => Err(Error::AccessDenied),
            Some(Grant::ReadOnly) => Err(Error::ReadOnly),
            Some(Grant::ReadWrite) => self.to_change(),
        }
    }

    /// The same, to be read by a caller.
    fn here_for(&self, caller: &Caller) -> Result<&dyn Object> {
        if self.admits(caller).is_none() { Err(Error::AccessDenied) } else { self.here() }
    }

    fn is_locked(&self) -> bool {
        self.behind(|gate| gate.read_only).unwrap_or(false)
    }

    /// Something of the gate that it is behind.
    fn behind<T>(&self, of: impl FnOnce(&Gate) -> T) -> Option<T> {
        let gate = self.gate.as_ref()?;
        self.shared.table().gates.at(gate).map(of)
    }

    /// What was found under a name of this folder, if the caller may go there.
    fn entered(&self, caller: &Caller, name: &[u8], inner: Found) -> Result<Found> {
        let tree = self.tree.as_ref();
        let gate = self.shared.pass(caller, (tree, self.gate.as_ref()), name, &inner)?;
        self.shared.found_behind(tree, inner, gate)
    }

    /// Fails if an entry of this folder is a share of its own, or has one in it: clients must not move it away.
    fn check_no_gate(&self, name: &[u8]) -> Result<()> {
        if self.tree.is_some() || !self.shared.has_gates() {
            return Ok(());
        }
        let mut path = self.shared.path_of(&self.inner)?;
        path.push(name.to_vec());
        if self.shared.table().gates.is_at_or_below(&path) { Err(Error::Busy) } else { Ok(()) }
    }

    fn found(&self, inner: Found) -> Result<Found> {
        self.shared.found(self.tree.as_ref(), inner)
    }

    fn outer_key(&self, inner: HostKey) -> Result<HostKey> {
        self.tree.as_ref().map_or(Ok(inner), |tree| tree.outer_key(&inner))
    }

    fn outer_attributes(&self, inner: Attributes) -> Attributes {
        self.tree.as_ref().map_or(inner, |tree| tree.outer_attributes(inner))
    }

    /// What is attached under a name of this folder. Only folders of the main tree have such entries: an attached tree
    /// that has others attached to it is itself a forest.
    #[inline]
    fn attached(&self, caller: &Caller, name: &[u8]) -> Result<Option<Found>> {
        if self.tree.is_some() {
            return Ok(None);
        }
        let found = self.shared.attached_at(caller, &self.inner, name)?;
        if found.is_some() && self.admits(caller).is_none() { Err(Error::AccessDenied) } else { Ok(found) }
    }

    /// Whether something may be attached, or have a gate, under a name here or below.
    fn is_special(&self, name: &[u8]) -> bool {
        self.tree.is_none() && self.shared.may_be_attached(name)
            || self.shared.has_gates() && self.shared.table().gates.may_be(name)
    }

    fn is_attached(&self, name: &[u8]) -> bool {
        self.tree.is_none() && self.shared.is_attached(&*self.inner, name)
    }

    /// Fails for a name under which something is attached.
    fn check_free(&self, name: &[u8], otherwise: Error) -> Result<()> {
        if self.is_attached(name) { Err(otherwise) } else { Ok(()) }
    }

    /// An attached tree takes the place of the folder that it is attached at.
    fn list_main(&self, cookie: u64, sink: &mut dyn FnMut(ListEntry<'_>) -> bool) -> Result<bool> {
        let (key, table) = (self.inner.key(), self.shared.table());
        let mut attached: Vec<(&[u8], FileId)> = Vec::new();
        for (name, tree) in table.in_folder(&key) {
            attached.push((name, self.shared.root_of(tree)?.object.id()));
        }
        let offer = self.shared.offer.as_ref();
        let ended = cookie == LISTED
            || self.inner.list(cookie, &mut |entry| {
                if offer.is_some_and(|offer| offer.has(entry.name)) {
                    return true;
                }
                let tree = attached.iter().find(|(name, _)| *name == entry.name);
                let over = |&(_, id): &(&[u8], FileId)| ListEntry { id, kind: Some(Kind::Folder), ..entry };
                sink(tree.map_or(entry, over))
            })?;
        let listed = offer.and_then(|offer| offer.names.listed.as_deref());
        match listed.filter(|_| ended && cookie != LISTED && key == self.shared.root.0) {
            Some(name) => {
                let id = self.shared.offered_in(&self.inner)?.object.id();
                Ok(sink(ListEntry { name, id, kind: Some(Kind::Folder), cookie: LISTED }))
            }
            None => Ok(ended),
        }
    }

    fn list_tree(
        &self,
        tree: &AttachedTree,
        cookie: u64,
        sink: &mut dyn FnMut(ListEntry<'_>) -> bool,
    ) -> Result<bool> {
        let is_root = tree.is_root(&*self.inner);
        let above = if is_root { Some(self.shared.above(tree)?.object.id()) } else { None };
        self.inner.list(cookie, &mut |entry| {
            let above = above.filter(|_| entry.name == b"..");
            sink(ListEntry { id: above.unwrap_or_else(|| tree.outer_id(entry.id)), ..entry })
        })
    }
}

impl Object for ForestObject {
    fn id(&self) -> FileId {
        let id = self.inner.id();
        self.tree.as_ref().map_or(id, |tree| tree.outer_id(id))
    }

    fn key(&self) -> HostKey {
        self.outer_key(self.inner.key()).expect("checked when the object was found")
    }

    fn kind(&self) -> Kind {
        self.inner.kind()
    }

    fn attributes(&self) -> Result<Attributes> {
        Ok(self.outer_attributes(self.here()?.attributes()?))
    }

    fn access(&self, caller: &Caller, attributes: &Attributes, want: Access) -> Result<Access> {
        let granted = self.here()?.access(caller, attributes, want)?;
        Ok(match self.admits(caller) {
            None => Access::NONE,
            Some(Grant::ReadWrite) if !self.is_read_only() => granted,
            Some(_) => granted.difference(Access::WRITE),
        })
    }

    fn lookup(&self, caller: &Caller, name: &[u8]) -> Result<Found> {
        match self.attached(caller, name)? {
            Some(found) => Ok(found),
            None => self.entered(caller, name, self.here_for(caller)?.lookup(caller, name)?),
        }
    }

    fn glance(&self, caller: &Caller, name: &[u8]) -> Result<Glance> {
        if let Some(found) = self.attached(caller, name)? {
            return Glance::of(&found);
        }
        let Glance { key, attributes, xattrs } = self.here_for(caller)?.glance(caller, name)?;
        Ok(Glance { key: self.outer_key(key)?, attributes: self.outer_attributes(attributes), xattrs })
    }

    fn entry(&self, caller: &Caller, name: &[u8]) -> Result<(HostKey, Attributes)> {
        if let Some(found) = self.attached(caller, name)? {
            return Ok((found.object.key(), found.attributes));
        }
        let (key, attributes) = self.here_for(caller)?.entry(caller, name)?;
        Ok((self.outer_key(key)?, self.outer_attributes(attributes)))
    }

    fn entry_attributes(&self, caller: &Caller, name: &[u8]) -> Result<Attributes> {
        match self.attached(caller, name)? {
            Some(found) => Ok(found.attributes),
            None => Ok(self.outer_attributes(self.here_for(caller)?.entry_attributes(caller, name)?)),
        }
    }

    fn glance_xattr(&self, caller: &Caller, name: &[u8], xattr: &[u8]) -> Result<Vec<u8>> {
        match self.attached(caller, name)? {
            Some(found) => found.object.xattr(xattr),
            None => self.here_for(caller)?.glance_xattr(caller, name, xattr),
        }
    }

    fn may_have(&self, name: &[u8]) -> bool {
        self.is_attached(name) || self.inner.may_have(name)
    }

    fn lookup_path(&self, caller: &Caller, path: &[&[u8]]) -> Result<Found> {
        // The backend of one tree follows a path on which nothing can be attached.
        if path.iter().all(|name| !self.is_special(name)) {
            let found = self.here_for(caller)?.lookup_path(caller, path)?;
            return self.shared.found_behind(self.tree.as_ref(), found, self.gate.clone());
        }
        first_step(self, caller, path)
    }

    fn parent(&self) -> Result<Found> {
        match &self.tree {
            Some(tree) if tree.is_root(self.here()?) => self.shared.above(tree),
            _ => self.found(self.here()?.parent()?),
        }
    }

    fn create(&self, caller: &Caller, name: &[u8], new: NewKind<'_>, mode: u32) -> Result<Found> {
        self.check_free(name, Error::Exists)?;
        self.entered(caller, name, self.to_change_as(caller)?.create(caller, name, new, mode)?)
    }

    fn create_owned(&self, name: &[u8], new: NewKind<'_>, mode: u32, owner: NewOwner<'_>) -> Result<Found> {
        self.check_free(name, Error::Exists)?;
        self.entered(server(), name, self.to_change()?.create_owned(name, new, mode, owner)?)
    }

    fn link(&self, caller: &Caller, target: &dyn Object, name: &[u8]) -> Result<()> {
        self.check_free(name, Error::Exists)?;
        self.to_change_as(caller)?.link(caller, self.peer(target)?, name)
    }

    fn remove(&self, caller: &Caller, name: &[u8]) -> Result<()> {
        self.remove_found(caller, name, None)
    }

    fn remove_found(&self, caller: &Caller, name: &[u8], found: Option<&dyn Object>) -> Result<()> {
        self.check_free(name, Error::IsFolder)?;
        let found = found.and_then(|found| self.peer(found).ok());
        self.to_change_as(caller)?.remove_found(caller, name, found)
    }

    fn remove_folder(&self, caller: &Caller, name: &[u8]) -> Result<()> {
        self.check_free(name, Error::Busy)?;
        self.check_no_gate(name)?;
        self.to_change_as(caller)?.remove_folder(caller, name)
    }

    fn rename(
        &self,
        caller: &Caller,
        name: &[u8],
        to: &dyn Object,
        new_name: &[u8],
        mode: RenameMode,
    ) -> Result<()> {
        self.check_free(name, Error::Busy)?;
        if self.tree.is_none() && self.shared.is_attached(to, new_name) {
            return Err(Error::Busy);
        }
        self.check_no_gate(name)?;
        if mode == RenameMode::Exchange
            && let Some(to) = (to as &dyn Any).downcast_ref::<Self>()
        {
            to.check_no_gate(new_name)?;
        }
        match to.admits(caller) {
            None => return Err(Error::AccessDenied),
            Some(Grant::ReadOnly) => return Err(Error::ReadOnly),
            Some(Grant::ReadWrite) if to.is_read_only() => return Err(Error::ReadOnly),
            Some(Grant::ReadWrite) => {}
        }
        self.to_change_as(caller)?.rename(caller, name, self.peer(to)?, new_name, mode)
    }

    fn list(&self, cookie: u64, sink: &mut dyn FnMut(ListEntry<'_>) -> bool) -> Result<bool> {
        let here = self.here()?;
        match &self.tree {
            Some(tree) => self.list_tree(tree, cookie, sink),
            None if self.shared.has_trees() => self.list_main(cookie, sink),
            None => here.list(cookie, sink),
        }
    }

    fn unlisted_name(&self, entry: &dyn Object) -> Option<Vec<u8>> {
        if self.tree.is_some() {
            return self.inner.unlisted_name(self.peer(entry).ok()?);
        }
        let offer = self.shared.offer.as_ref()?;
        let is_offered = self.inner.key().on_mount(offer.number) == Some(entry.key());
        is_offered.then(|| offer.names.hidden.first().or(offer.names.listed.as_ref()).cloned()).flatten()
    }

    fn prepare(&self, caller: &Caller, attributes: &Attributes, want: Access, owner_may: bool) -> Result<()> {
        let changes = want.contains(Access::WRITE);
        let here = if changes { self.to_change_as(caller)? } else { self.here_for(caller)? };
        here.prepare(caller, attributes, want, owner_may)
    }

    fn is_heard(&self) -> bool {
        self.inner.is_heard()
    }

    fn is_remote(&self) -> bool {
        self.inner.is_remote()
    }

    fn is_read_only(&self) -> bool {
        self.tree.as_ref().is_some_and(|tree| tree.tree.read_only)
            || self.is_locked()
            || self.inner.is_read_only()
    }

    fn admits(&self, caller: &Caller) -> Option<Grant> {
        self.behind(|gate| gate.rules.grant(caller)).unwrap_or(Some(Grant::ReadWrite))
    }

    fn gate(&self) -> Option<TeamGate> {
        let gate = self.gate.as_ref()?;
        self.shared.table().gates.team_at(gate, self.id())
    }

    fn hidden(&self) -> Option<Arc<Hidden>> {
        self.behind(|gate| gate.hidden.clone())
    }

    fn set_attributes(&self, caller: &Caller, changes: &SetAttributes) -> Result<()> {
        self.to_change_as(caller)?.set_attributes(caller, changes)
    }

    fn set_xattr(&self, caller: &Caller, name: &[u8], value: &[u8], mode: XattrMode) -> Result<()> {
        self.to_change_as(caller)?.set_xattr(caller, name, value, mode)
    }

    fn remove_xattr(&self, caller: &Caller, name: &[u8]) -> Result<()> {
        self.to_change_as(caller)?.remove_xattr(caller, name)
    }

    fn through(&self, call: Call) -> Result<&dyn Object> {
        if call.is_change() { self.to_change() } else { self.here() }
    }

    fn peer<'a>(&self, other: &'a dyn Object) -> Result<&'a dyn Object> {
        match (&self.tree, other.as_any().downcast_ref::<Self>()) {
            (None, None) => Ok(other), // `as_any` of the main tree's objects is that of their backend
            (Some(mine), Some(Self { tree: Some(tree), inner, .. }))
                if Arc::ptr_eq(&mine.tree, &tree.tree) =>
            {
                Ok(&**inner)
            }
            _ => Err(Error::CrossVolume),
        }
    }

    /// The main tree's backend, and other volumes of it, must find their own kind of object.
    fn as_any(&self) -> &dyn Any {
        if self.tree.is_some() { self } else { self.inner.as_any() }
    }
}
