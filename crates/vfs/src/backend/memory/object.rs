//! An object of the volume: takes the lock, and asks the tree.

use std::any::Any;
use std::sync::Arc;

use lock::MutexGuard;

use super::file::{PAGE, check_end};
use super::inode::InodeContent;
use super::{MemoryStore, Tree};
use crate::backend::{Found, ListEntry, NewKind, Object, RenameMode, Stability, Wait, XattrMode};
use crate::ranks;
use crate::{Access, Attributes, Caller, Error, FileId, HostKey, Kind, Result, SetAttributes, Time};

pub(super) struct MemoryObject {
    pub(super) store: Arc<MemoryStore>,
    pub(super) id: FileId,
    pub(super) key: HostKey,
    pub(super) kind: Kind,
    /// Keeps the inode.
    pub(super) _held: Arc<()>,
}

impl MemoryObject {
    /// The time before the lock, so that a clock may ask the volume itself.
    fn begin(&self) -> (Time, MutexGuard<'_, Tree, ranks::MemoryTree>) {
        ((self.store.clock)(), self.store.lock())
    }

    fn of<'a>(&self, other: &'a dyn Object) -> Result<&'a Self> {
        let other: &Self = other.as_any().downcast_ref().ok_or(Error::CrossVolume)?;
        if Arc::ptr_eq(&self.store, &other.store) { Ok(other) } else { Err(Error::CrossVolume) }
    }

    fn resize(&self, tree: &mut Tree, caller: &Caller, size: u64, now: Time) -> Result<()> {
        let inode = tree.inode_mut(self.id)?;
        inode.file()?;
        if inode.require_owner(caller).is_err() {
            inode.require(caller, Access::WRITE)?;
        }
        self.cut(tree, caller, size, now)
    }

    fn cut(&self, tree: &mut Tree, caller: &Caller, size: u64, now: Time) -> Result<()> {
        check_end(size, 0, tree.limits.file_size)?;
        let inode = tree.inode_mut(self.id)?;
        let before = inode.file()?.count();
        inode.file()?.truncate(size);
        inode.drop_set_id(caller);
        inode.was_modified(now);
        let freed = before - inode.pages();
        tree.pages -= freed;
        Ok(())
    }
}

impl Object for MemoryObject {
    fn id(&self) -> FileId {
        self.id
    }

    fn key(&self) -> HostKey {
        self.key
    }

    fn kind(&self) -> Kind {
        self.kind
    }

    fn attributes(&self) -> Result<Attributes> {
        Ok(self.store.lock().inode(self.id)?.attributes())
    }

    fn set_attributes(&self, caller: &Caller, changes: &SetAttributes) -> Result<()> {
        let (now, mut tree) = self.begin();
        tree.writable()?;
        if let Some(size) = changes.size {
            self.resize(&mut tree, caller, size, now)?;
        }
        let rest = SetAttributes { size: None, ..*changes };
        if rest.is_empty() {
            return Ok(());
        }
        tree.inode_mut(self.id)?.set(caller, &rest, now)
    }

    fn parent(&self) -> Result<Found> {
        let tree = self.store.lock();
        let above = tree.inode(self.id)?.folder()?.parent;
        self.store.found(&tree, above)
    }

    fn access(&self, caller: &Caller, _attributes: &Attributes, want: Access) -> Result<Access> {
        let tree = self.store.lock();
        let granted = tree.inode(self.id)?.grants(caller).intersection(want);
        Ok(if tree.read_only { Access(granted.0 & !Access::WRITE.0) } else { granted })
    }

    fn lookup(&self, caller: &Caller, name: &[u8]) -> Result<Found> {
        let tree = self.store.lock();
        let id = tree.find(caller, self.id, name)?;
        self.store.found(&tree, id)
    }

    fn create(&self, caller: &Caller, name: &[u8], new: NewKind<'_>, mode: u32) -> Result<Found> {
        let (now, mut tree) = self.begin();
        let id = tree.create(caller, self.id, name, new, mode, now)?;
        self.store.found(&tree, id)
    }

    fn link(&self, caller: &Caller, target: &dyn Object, name: &[u8]) -> Result<()> {
        let target = self.of(target)?.id;
        let (now, mut tree) = self.begin();
        tree.link(caller, self.id, target, name, now)
    }

    fn remove(&self, caller: &Caller, name: &[u8]) -> Result<()> {
        let (now, mut tree) = self.begin();
        tree.remove(caller, self.id, name, false, now)
    }

    fn remove_folder(&self, caller: &Caller, name: &[u8]) -> Result<()> {
        let (now, mut tree) = self.begin();
        tree.remove(caller, self.id, name, true, now)
    }

    fn rename(
        &self,
        caller: &Caller,
        name: &[u8],
        to: &dyn Object,
        new_name: &[u8],
        mode: RenameMode,
    ) -> Result<()> {
        let to = self.of(to)?.id;
        let (now, mut tree) = self.begin();
        tree.rename(caller, (self.id, name), (to, new_name), mode, now)
    }

    fn list(&self, cookie: u64, sink: &mut dyn FnMut(ListEntry<'_>) -> bool) -> Result<bool> {
        // The sink may ask this volume, so it is called without the lock.
        let mut entries: Vec<(Vec<u8>, FileId, Option<Kind>, u64)> = Vec::new();
        self.store.lock().list(self.id, cookie, &mut |entry| {
            entries.push((entry.name.to_vec(), entry.id, entry.kind, entry.cookie));
            true
        })?;
        Ok(entries
            .iter()
            .all(|(name, id, kind, cookie)| sink(ListEntry { name, id: *id, kind: *kind, cookie: *cookie })))
    }

    fn read_link(&self) -> Result<Vec<u8>> {
        match &self.store.lock().inode(self.id)?.content {
            InodeContent::Link(target) => Ok(target.clone()),
            _ => Err(Error::NotLink),
        }
    }

    fn prepare(&self, caller: &Caller, attributes: &Attributes, want: Access, owner_may: bool) -> Result<()> {
        let mut tree = self.store.lock();
        tree.inode_mut(self.id)?.file()?;
        if want.contains(Access::WRITE) {
            tree.writable()?;
        }
        if owner_may && caller.uid == attributes.uid {
            return Ok(());
        }
        tree.inode(self.id)?.require(caller, want)
    }

    fn read_at(&self, offset: u64, length: usize, into: &mut Vec<u8>, _: Wait) -> Result<usize> {
        let (now, mut tree) = self.begin();
        let inode = tree.inode_mut(self.id)?;
        let count = inode.file()?.read(offset, length, into);
        inode.was_read(now);
        Ok(count)
    }

    fn write_at(&self, caller: &Caller, offset: u64, data: &[u8], _: Stability) -> Result<()> {
        let (now, mut tree) = self.begin();
        tree.writable()?;
        check_end(offset, data.len() as u64, tree.limits.file_size)?;
        let added = tree.inode_mut(self.id)?.file()?.added_by(offset, data.len() as u64);
        tree.room_for(added)?;
        tree.pages += added;
        let inode = tree.inode_mut(self.id)?;
        inode.file()?.write(offset, data);
        inode.drop_set_id(caller);
        inode.was_modified(now);
        Ok(())
    }

    fn truncate(&self, caller: &Caller, size: u64) -> Result<()> {
        let (now, mut tree) = self.begin();
        tree.writable()?;
        self.cut(&mut tree, caller, size, now)
    }

    /// Checks whether there is room, and reserves none.
    fn allocate(&self, _: &Caller, length: u64) -> Result<()> {
        let (_, mut tree) = self.begin();
        tree.writable()?;
        check_end(length, 0, tree.limits.file_size)?;
        let added = length.div_ceil(PAGE).saturating_sub(tree.inode_mut(self.id)?.file()?.count());
        tree.room_for(added)
    }

    /// Checks whether there is room, and reserves none.
    fn reserve(&self, caller: &Caller, offset: u64, length: u64) -> Result<()> {
        let (now, mut tree) = self.begin();
        tree.writable()?;
        check_end(offset, length, tree.limits.file_size)?;
        let file = tree.inode_mut(self.id)?.file()?;
        let (added, size, end) = (file.added_by(offset, length), file.size, offset + length);
        tree.room_for(added)?;
        if end > size { self.cut(&mut tree, caller, end, now) } else { Ok(()) }
    }

    fn sync(&self, _: Stability) -> Result<()> {
        self.store.lock().inode(self.id).map(drop)
    }

    fn punch(&self, caller: &Caller, offset: u64, length: u64) -> Result<()> {
        let (now, mut tree) = self.begin();
        tree.writable()?;
        let inode = tree.inode_mut(self.id)?;
        let before = inode.file()?.count();
        inode.file()?.punch(offset, length);
        inode.drop_set_id(caller);
        inode.was_modified(now);
        let freed = before - inode.pages();
        tree.pages -= freed;
        Ok(())
    }

    fn seek(&self, offset: u64, data: bool) -> Result<Option<u64>> {
        self.store.lock().inode_mut(self.id)?.file()?.seek(offset, data)
    }

    fn xattr(&self, name: &[u8]) -> Result<Vec<u8>> {
        self.store.lock().inode(self.id)?.xattr(name)
    }

    fn set_xattr(&self, caller: &Caller, name: &[u8], value: &[u8], mode: XattrMode) -> Result<()> {
        let (now, mut tree) = self.begin();
        tree.writable()?;
        let limits = (tree.limits.xattr, tree.xattr_room);
        let inode = tree.inode_mut(self.id)?;
        inode.set_xattr(caller, name, value, mode, limits)?;
        inode.was_changed(now);
        Ok(())
    }

    fn remove_xattr(&self, caller: &Caller, name: &[u8]) -> Result<()> {
        let (now, mut tree) = self.begin();
        tree.writable()?;
        let inode = tree.inode_mut(self.id)?;
        inode.remove_xattr(caller, name)?;
        inode.was_changed(now);
        Ok(())
    }

    fn list_xattrs(&self) -> Result<Vec<Vec<u8>>> {
        Ok(self.store.lock().inode(self.id)?.xattr_names())
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
