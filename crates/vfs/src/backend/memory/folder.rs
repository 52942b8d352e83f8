//! Folders: entries, and what changes them.

use std::collections::{BTreeMap, HashMap};

use super::Tree;
use super::file::Pages;
use super::inode::{InodeContent, MemoryInode};
use crate::backend::{ListEntry, NewKind, RenameMode};
use crate::{Access, Caller, Error, FileId, Kind, Result, Time};

/// Entries in the order they were made; the cookie of one is its number in that order.
pub(super) struct Folder {
    pub(super) parent: FileId,
    next: u64,
    listed: BTreeMap<u64, (Vec<u8>, FileId)>,
    named: HashMap<Vec<u8>, u64>,
}

/// Cookies of `.` and `..`.
const SELF: u64 = 1;
const PARENT: u64 = 2;

impl Folder {
    pub(super) fn new(parent: FileId) -> Self {
        Self { parent, next: PARENT + 1, listed: BTreeMap::new(), named: HashMap::new() }
    }

    pub(super) fn len(&self) -> usize {
        self.listed.len()
    }

    fn find(&self, name: &[u8]) -> Option<FileId> {
        Some(self.listed.get(self.named.get(name)?)?.1)
    }

    /// Puts an entry in place of the one with this name, if there is one: a replaced entry keeps its cookie.
    fn put(&mut self, name: &[u8], id: FileId) {
        let cookie = self.named.get(name).copied().unwrap_or_else(|| {
            self.next += 1;
            self.next - 1
        });
        self.named.insert(name.to_vec(), cookie);
        self.listed.insert(cookie, (name.to_vec(), id));
    }

    fn take(&mut self, name: &[u8]) {
        if let Some(cookie) = self.named.remove(name) {
            self.listed.remove(&cookie);
        }
    }
}

impl Tree {
    pub(super) fn find(&self, caller: &Caller, folder: FileId, name: &[u8]) -> Result<FileId> {
        let inode = self.inode(folder)?;
        let entries = inode.folder()?;
        inode.require(caller, Access::EXECUTE)?;
        self.check_name(name)?;
        entries.find(name).ok_or(Error::NotFound)
    }

    fn check_name(&self, name: &[u8]) -> Result<()> {
        if name.len() > self.limits.name as usize { Err(Error::NameTooLong) } else { Ok(()) }
    }

    /// The folder's entry, when the caller may change entries there.
    fn entry(&self, caller: &Caller, folder: FileId, name: &[u8]) -> Result<Option<FileId>> {
        let found = match self.find(caller, folder, name) {
            Ok(id) => Some(id),
            Err(Error::NotFound) => None,
            Err(other) => return Err(other),
        };
        self.writable()?;
        let inode = self.inode(folder)?;
        if inode.links == 0 {
            return Err(Error::NotFound);
        }
        inode.require(caller, Access::WRITE)?;
        if let Some(id) = found
            && inode.sticks(caller, self.inode(id)?.uid)
        {
            return Err(Error::NotPermitted);
        }
        Ok(found)
    }

    /// Fails unless the caller may make an entry of this name, and there is none.
    fn vacant(&self, caller: &Caller, folder: FileId, name: &[u8]) -> Result<()> {
        match self.find(caller, folder, name) {
            Ok(_) => Err(Error::Exists),
            Err(Error::NotFound) => self.entry(caller, folder, name).map(drop),
            Err(other) => Err(other),
        }
    }

    pub(super) fn create(
        &mut self,
        caller: &Caller,
        folder: FileId,
        name: &[u8],
        new: NewKind<'_>,
        mode: u32,
        now: Time,
    ) -> Result<FileId> {
        self.vacant(caller, folder, name)?;
        let (kind, device) = kind_of(new);
        if matches!(kind, Kind::CharDevice | Kind::BlockDevice) && caller.uid != 0 {
            return Err(Error::NotPermitted);
        }
        let parent = self.inode(folder)?;
        let inherits = parent.mode & 0o2000 != 0;
        let gid = if inherits { parent.gid } else { caller.gid };
        let is_folder = kind == Kind::Folder;
        let mode = mode & 0o7777 | if inherits && is_folder { 0o2000 } else { 0 };
        let mode = if kind == Kind::Link { 0o777 } else { mode };
        let links = if is_folder { 2 } else { 1 };
        let id = self.add(|id, key| {
            let mut inode = MemoryInode::new(kind, id, key, now, content(new, folder));
            (inode.uid, inode.gid, inode.mode) = (caller.uid, gid, mode);
            (inode.links, inode.device) = (links, device);
            inode
        });
        self.put(folder, name, id, now)?;
        Ok(id)
    }

    /// Puts an entry into a folder, where the name is free.
    fn put(&mut self, folder: FileId, name: &[u8], id: FileId, now: Time) -> Result<()> {
        let is_folder = self.inode(id)?.kind == Kind::Folder;
        let inode = self.inode_mut(folder)?;
        inode.folder_mut()?.put(name, id);
        inode.was_modified(now);
        inode.links += u32::from(is_folder);
        if let Ok(moved) = self.inode_mut(id)?.folder_mut() {
            moved.parent = folder;
        }
        Ok(())
    }

    /// Takes an entry out of its folder; the file stays.
    fn take(&mut self, folder: FileId, name: &[u8], id: FileId, now: Time) -> Result<()> {
        let is_folder = self.inode(id)?.kind == Kind::Folder;
        let inode = self.inode_mut(folder)?;
        inode.folder_mut()?.take(name);
        inode.was_modified(now);
        inode.links -= u32::from(is_folder);
        self.inode_mut(id)?.was_changed(now);
        Ok(())
    }

    pub(super) fn link(
        &mut self,
        caller: &Caller,
        folder: FileId,
        target: FileId,
        name: &[u8],
        now: Time,
    ) -> Result<()> {
        self.vacant(caller, folder, name)?;
        let most = self.limits.links;
        let inode = self.inode_mut(target)?;
        match inode.links {
            _ if inode.kind == Kind::Folder => return Err(Error::NotPermitted),
            0 => return Err(Error::NotFound),
            links if links >= most => return Err(Error::TooManyLinks),
            _ => inode.links += 1,
        }
        inode.was_changed(now);
        self.put(folder, name, target, now)
    }

    pub(super) fn remove(
        &mut self,
        caller: &Caller,
        folder: FileId,
        name: &[u8],
        is_folder: bool,
        now: Time,
    ) -> Result<()> {
        let id = self.entry(caller, folder, name)?.ok_or(Error::NotFound)?;
        match self.inode(id)?.folder() {
            Ok(_) if !is_folder => Err(Error::IsFolder),
            Ok(entries) if entries.len() > 0 => Err(Error::NotEmpty),
            Err(_) if is_folder => Err(Error::NotFolder),
            _ => self.unlink(folder, name, id, now),
        }
    }

    fn unlink(&mut self, folder: FileId, name: &[u8], id: FileId, now: Time) -> Result<()> {
        self.take(folder, name, id, now)?;
        let inode = self.inode_mut(id)?;
        inode.links = if inode.kind == Kind::Folder { 0 } else { inode.links - 1 };
        if inode.links == 0 {
            self.nameless.push(id);
        }
        Ok(())
    }

    pub(super) fn rename(
        &mut self,
        caller: &Caller,
        from: (FileId, &[u8]),
        to: (FileId, &[u8]),
        mode: RenameMode,
        now: Time,
    ) -> Result<()> {
        let old = self.entry(caller, from.0, from.1)?.ok_or(Error::NotFound)?;
        let target = self.entry(caller, to.0, to.1)?;
        self.may_move(caller, old, from.0, to.0)?;
        match (mode, target) {
            (RenameMode::Keep, Some(_)) => return Err(Error::Exists),
            (RenameMode::Exchange, None) => return Err(Error::NotFound),
            (_, Some(target)) if target == old => return Ok(()),
            (RenameMode::Exchange, Some(target)) => {
                return self.exchange(caller, (from, old), (to, target), now);
            }
            (_, Some(target)) => self.may_replace(old, target)?,
            (_, None) => {}
        }
        if let Some(target) = target {
            self.unlink(to.0, to.1, target, now)?;
        }
        self.take(from.0, from.1, old, now)?;
        self.put(to.0, to.1, old, now)
    }

    fn exchange(
        &mut self,
        caller: &Caller,
        (from, old): ((FileId, &[u8]), FileId),
        (to, target): ((FileId, &[u8]), FileId),
        now: Time,
    ) -> Result<()> {
        self.may_move(caller, target, to.0, from.0)?;
        self.take(from.0, from.1, old, now)?;
        self.take(to.0, to.1, target, now)?;
        self.put(from.0, from.1, target, now)?;
        self.put(to.0, to.1, old, now)
    }

    /// A folder's `..` changes when it moves, and it must not move into itself.
    fn may_move(&self, caller: &Caller, id: FileId, from: FileId, to: FileId) -> Result<()> {
        let inode = self.inode(id)?;
        if inode.kind != Kind::Folder || from == to {
            return Ok(());
        }
        inode.require(caller, Access::WRITE)?;
        let mut above = to;
        loop {
            if above == id {
                return Err(Error::Invalid);
            }
            let parent = self.inode(above)?.folder()?.parent;
            if parent == above {
                return Ok(());
            }
            above = parent;
        }
    }

    fn may_replace(&self, old: FileId, target: FileId) -> Result<()> {
        match (self.inode(old)?.kind == Kind::Folder, self.inode(target)?.folder()) {
            (true, Err(_)) => Err(Error::NotFolder),
            (false, Ok(_)) => Err(Error::IsFolder),
            (true, Ok(entries)) if entries.len() > 0 => Err(Error::NotEmpty),
            _ => Ok(()),
        }
    }

    pub(super) fn list(
        &self,
        id: FileId,
        cookie: u64,
        sink: &mut dyn FnMut(ListEntry<'_>) -> bool,
    ) -> Result<bool> {
        let folder = self.inode(id)?.folder()?;
        for (at, name, of) in [(SELF, &b"."[..], id), (PARENT, b"..", folder.parent)] {
            let entry = ListEntry { name, id: of, kind: Some(Kind::Folder), cookie: at };
            if at > cookie && !sink(entry) {
                return Ok(false);
            }
        }
        for (&at, (name, of)) in folder.listed.range(cookie.saturating_add(1).max(PARENT + 1)..) {
            let kind = Some(self.inode(*of)?.kind);
            if !sink(ListEntry { name, id: *of, kind, cookie: at }) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

fn kind_of(new: NewKind<'_>) -> (Kind, (u32, u32)) {
    match new {
        NewKind::File => (Kind::File, (0, 0)),
        NewKind::Folder => (Kind::Folder, (0, 0)),
        NewKind::Link(_) => (Kind::Link, (0, 0)),
        NewKind::Fifo => (Kind::Fifo, (0, 0)),
        NewKind::Socket => (Kind::Socket, (0, 0)),
        NewKind::CharDevice(major, minor) => (Kind::CharDevice, (major, minor)),
        NewKind::BlockDevice(major, minor) => (Kind::BlockDevice, (major, minor)),
    }
}

fn content(new: NewKind<'_>, parent: FileId) -> InodeContent {
    match new {
        NewKind::File => InodeContent::File(Pages::default()),
        NewKind::Folder => InodeContent::Folder(Folder::new(parent)),
        NewKind::Link(target) => InodeContent::Link(target.to_vec()),
        _ => InodeContent::Nothing,
    }
}
