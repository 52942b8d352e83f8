//! One inode: attributes, permissions and extended attributes.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::file::{PAGE, Pages};
use super::folder::Folder;
use crate::backend::XattrMode;
use crate::permission::by_mode;
use crate::{Access, Attributes, Caller, Error, FileId, HostKey, Kind, Result, SetAttributes, SetTime, Time};

/// What an inode is made of.
pub(super) enum InodeContent {
    File(Pages),
    Folder(Folder),
    Link(Vec<u8>),
    Nothing,
}

pub(super) struct MemoryInode {
    /// One clone is with each object.
    pub(super) held: Arc<()>,
    id: FileId,
    pub(super) key: HostKey,
    pub(super) kind: Kind,
    pub(super) mode: u32,
    pub(super) uid: u32,
    pub(super) gid: u32,
    pub(super) links: u32,
    pub(super) device: (u32, u32),
    accessed: Time,
    modified: Time,
    changed: Time,
    created: Time,
    xattrs: BTreeMap<Vec<u8>, Vec<u8>>,
    pub(super) content: InodeContent,
}

impl MemoryInode {
    pub(super) fn new(kind: Kind, id: FileId, key: HostKey, now: Time, content: InodeContent) -> Self {
        Self {
            held: Arc::new(()),
            id,
            key,
            kind,
            mode: 0,
            uid: 0,
            gid: 0,
            links: 1,
            device: (0, 0),
            accessed: now,
            modified: now,
            changed: now,
            created: now,
            xattrs: BTreeMap::new(),
            content,
        }
    }

    pub(super) fn attributes(&self) -> Attributes {
        let size = match &self.content {
            InodeContent::File(pages) => pages.size,
            InodeContent::Folder(folder) => folder.len() as u64 * 32,
            InodeContent::Link(target) => target.len() as u64,
            InodeContent::Nothing => 0,
        };
        Attributes {
            id: self.id,
            kind: self.kind,
            mode: self.mode,
            uid: self.uid,
            gid: self.gid,
            links: self.links,
            size,
            allocated: self.pages() * PAGE,
            device: self.device,
            accessed: self.accessed,
            modified: self.modified,
            changed: self.changed,
            created: Some(self.created),
        }
    }

    pub(super) fn pages(&self) -> u64 {
        if let InodeContent::File(pages) = &self.content { pages.count() } else { 0 }
    }

    /// The file's data; an error that says what it is instead.
    pub(super) fn file(&mut self) -> Result<&mut Pages> {
        match &mut self.content {
            InodeContent::File(pages) => Ok(pages),
            InodeContent::Folder(_) => Err(Error::IsFolder),
            InodeContent::Link(_) => Err(Error::IsLink),
            InodeContent::Nothing => Err(Error::Invalid),
        }
    }

    pub(super) fn folder(&self) -> Result<&Folder> {
        if let InodeContent::Folder(folder) = &self.content { Ok(folder) } else { Err(Error::NotFolder) }
    }

    pub(super) fn folder_mut(&mut self) -> Result<&mut Folder> {
        if let InodeContent::Folder(folder) = &mut self.content { Ok(folder) } else { Err(Error::NotFolder) }
    }

    pub(super) fn grants(&self, caller: &Caller) -> Access {
        by_mode(&self.attributes(), caller)
    }

    pub(super) fn require(&self, caller: &Caller, want: Access) -> Result<()> {
        if self.grants(caller).contains(want) { Ok(()) } else { Err(Error::AccessDenied) }
    }

    pub(super) fn require_owner(&self, caller: &Caller) -> Result<()> {
        if caller.uid == 0 || caller.uid == self.uid { Ok(()) } else { Err(Error::NotPermitted) }
    }

    /// Whether this folder's sticky bit keeps the caller from moving an entry of `owner`.
    pub(super) fn sticks(&self, caller: &Caller, owner: u32) -> bool {
        self.mode & 0o1000 != 0 && ![0, owner, self.uid].contains(&caller.uid)
    }

    pub(super) fn was_read(&mut self, now: Time) {
        // As with relatime, the default of Linux.
        if self.accessed <= self.modified || self.accessed <= self.changed {
            self.accessed = now;
        }
    }

    pub(super) fn was_changed(&mut self, now: Time) {
        self.changed = now;
    }

    pub(super) fn was_modified(&mut self, now: Time) {
        self.modified = now;
        self.changed = now;
    }

    /// A write by any user but root removes the set-user-id and set-group-id bits.
    pub(super) fn drop_set_id(&mut self, caller: &Caller) {
        if caller.uid != 0 && self.kind == Kind::File {
            let group = if self.mode & 0o010 != 0 { 0o2000 } else { 0 };
            self.mode &= !(0o4000 | group);
        }
    }

    /// Everything but the size: first all permissions, then all changes.
    pub(super) fn set(&mut self, caller: &Caller, changes: &SetAttributes, now: Time) -> Result<()> {
        self.may_set(caller, changes)?;
        if changes.uid.is_some() || changes.gid.is_some() {
            self.drop_set_id(caller);
        }
        self.uid = changes.uid.unwrap_or(self.uid);
        self.gid = changes.gid.unwrap_or(self.gid);
        if let Some(mode) = changes.mode {
            let drops_group = caller.uid != 0 && self.kind == Kind::File && !caller.in_group(self.gid);
            self.mode = mode & if drops_group { 0o5777 } else { 0o7777 };
        }
        self.accessed = time(changes.accessed, self.accessed, now);
        self.modified = time(changes.modified, self.modified, now);
        self.changed = now;
        Ok(())
    }

    fn may_set(&self, caller: &Caller, changes: &SetAttributes) -> Result<()> {
        if changes.uid.is_some_and(|uid| uid != self.uid) && caller.uid != 0 {
            return Err(Error::NotPermitted);
        }
        if changes.gid.is_some_and(|gid| gid != self.gid && caller.uid != 0 && !caller.in_group(gid)) {
            return Err(Error::NotPermitted);
        }
        let times = [changes.accessed, changes.modified];
        let sets_time = times.iter().any(|time| matches!(time, SetTime::To(_)));
        if changes.uid.is_some() || changes.gid.is_some() || changes.mode.is_some() || sets_time {
            self.require_owner(caller)?;
        }
        if times.contains(&SetTime::Now) && self.require_owner(caller).is_err() {
            self.require(caller, Access::WRITE)?;
        }
        Ok(())
    }

    /// There are no attributes of the host's own, such as POSIX ACLs.
    pub(super) fn xattr(&self, name: &[u8]) -> Result<Vec<u8>> {
        if name.starts_with(b"system.") {
            return Err(Error::NotSupported);
        }
        self.xattrs.get(name).cloned().ok_or(Error::NoSuchAttribute)
    }

    pub(super) fn set_xattr(
        &mut self,
        caller: &Caller,
        name: &[u8],
        value: &[u8],
        mode: XattrMode,
        (limit, room): (u32, usize),
    ) -> Result<()> {
        self.may_set_xattr(caller, name)?;
        let others = self.xattrs.iter().filter(|(known, _)| *known != name);
        let taken: usize = others.map(|(name, value)| name.len() + value.len()).sum();
        match (mode, self.xattrs.contains_key(name)) {
            (XattrMode::Create, true) => return Err(Error::Exists),
            (XattrMode::Replace, false) => return Err(Error::NoSuchAttribute),
            _ if name.len() > 255 => return Err(Error::NameTooLong),
            _ if limit == 0 => return Err(Error::NotSupported),
            _ if value.len() > limit as usize => return Err(Error::FileTooLarge),
            _ if taken + name.len() + value.len() > room => return Err(Error::NoRoomForAttribute),
            _ => self.xattrs.insert(name.to_vec(), value.to_vec()),
        };
        Ok(())
    }

    pub(super) fn remove_xattr(&mut self, caller: &Caller, name: &[u8]) -> Result<()> {
        self.may_set_xattr(caller, name)?;
        self.xattrs.remove(name).map(drop).ok_or(Error::NoSuchAttribute)
    }

    /// As xattr(7) says of each name space.
    fn may_set_xattr(&self, caller: &Caller, name: &[u8]) -> Result<()> {
        if name.starts_with(b"trusted.") || name.starts_with(b"security.") {
            return if caller.uid == 0 { Ok(()) } else { Err(Error::NotPermitted) };
        }
        if !name.starts_with(b"user.") {
            return Err(Error::NotSupported);
        }
        if !matches!(self.kind, Kind::File | Kind::Folder) {
            return Err(Error::NotPermitted);
        }
        if self.kind == Kind::Folder && self.mode & 0o1000 != 0 {
            self.require_owner(caller)?;
        }
        self.require(caller, Access::WRITE)
    }

    pub(super) fn xattr_names(&self) -> Vec<Vec<u8>> {
        self.xattrs.keys().cloned().collect()
    }
}

fn time(set: SetTime, old: Time, now: Time) -> Time {
    match set {
        SetTime::Keep => old,
        SetTime::Now => now,
        SetTime::To(at) => at,
    }
}
