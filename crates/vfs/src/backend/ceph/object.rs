//! A file, folder or link of CephFS as an object of the tree.

use std::any::Any;
use std::sync::Arc;
use std::time::SystemTime;

use cephfs::{Changes, DataFile, Inode, NewTime, Stat};
use lock::Mutex;

use super::{CephVolume, failed};
use crate::acl::{POSIX_ACL, by_posix_acl};
use crate::backend::{Found, ListEntry, NewKind, Object, RenameMode, Stability, Wait, XattrMode};
use crate::permission::{by_mode, mode_is_exact};
use crate::ranks;
use crate::{Access, Attributes, Caller, Error, FileId, HostKey, Kind, Result, SetAttributes, SetTime, Time};

/// Set-user-id and set-group-id.
const SET_ID: u32 = 0o6000;

/// One file of the cluster.
pub(super) struct CephObject {
    pub(super) shared: Arc<CephVolume>,
    pub(super) inode: Inode,
    pub(super) opened: Mutex<DataHandle, ranks::HostFile>,
    key: HostKey,
    id: FileId,
    kind: Kind,
}

/// Its data, once opened.
#[derive(Default)]
pub(super) struct DataHandle {
    pub(super) file: Option<Arc<DataFile>>,
    pub(super) writes: bool,
}

impl CephObject {
    pub(super) fn new(shared: Arc<CephVolume>, inode: Inode, key: HostKey, attributes: &Attributes) -> Self {
        let (id, kind) = (attributes.id, attributes.kind);
        Self { shared, inode, opened: Mutex::default(), key, id, kind }
    }

    pub(super) fn of(object: &dyn Object) -> Result<&Self> {
        object.as_any().downcast_ref().ok_or(Error::CrossVolume)
    }

    /// An object on the same file system.
    pub(super) fn beside<'a>(&self, object: &'a dyn Object) -> Result<&'a Self> {
        let other = Self::of(object)?;
        let is_same = Arc::ptr_eq(&other.shared.mount, &self.shared.mount);
        if is_same && other.shared.snapshot == self.shared.snapshot {
            Ok(other)
        } else {
            Err(Error::CrossVolume)
        }
    }

    pub(super) fn own_key(&self) -> &HostKey {
        &self.key
    }

    /// Which of `want` the caller may do, by the mode where that is exact, else by the ACL.
    fn granted(&self, attributes: &Attributes, caller: &Caller, want: Access) -> Result<Access> {
        if mode_is_exact(attributes, caller) {
            return Ok(by_mode(attributes, caller).intersection(want));
        }
        let granted = match self.read_xattr(POSIX_ACL) {
            Ok(acl) => by_posix_acl(attributes, &acl, caller),
            Err(Error::NoSuchAttribute | Error::NotSupported) => by_mode(attributes, caller),
            Err(error) => return Err(error),
        };
        Ok(granted.intersection(want))
    }

    fn change(&self, caller: &Caller, changes: &SetAttributes) -> Result<()> {
        self.shared.to_change()?;
        if let Some(size) = changes.size {
            self.prepare(caller, &self.attributes()?, Access::WRITE, true)?;
            self.cut(size)?;
        }
        let rest = Changes {
            mode: changes.mode.filter(|_| self.kind != Kind::Link),
            uid: changes.uid,
            gid: changes.gid,
            size: None,
            accessed: new_time(changes.accessed),
            modified: new_time(changes.modified),
        };
        self.inode.change(&self.shared.who(caller), &rest).map_err(failed("ceph_ll_setattr"))
    }

    pub(super) fn cut(&self, size: u64) -> Result<()> {
        let changes = Changes { size: Some(size), ..Changes::default() };
        self.inode.change(&self.shared.mount.server(), &changes).map_err(failed("ceph_ll_setattr"))
    }

    pub(super) fn read_xattr(&self, name: &[u8]) -> Result<Vec<u8>> {
        self.inode.xattr(name).map_err(failed("ceph_ll_getxattr"))
    }

    fn has_xattrs(&self) -> Result<()> {
        if matches!(self.kind, Kind::File | Kind::Folder) { Ok(()) } else { Err(Error::NotSupported) }
    }
}

impl Object for CephObject {
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
        let stat = self.inode.stat().map_err(failed("ceph_ll_getattr"))?;
        Ok(self.shared.attributes(&stat))
    }

    fn set_attributes(&self, caller: &Caller, changes: &SetAttributes) -> Result<()> {
        self.change(caller, changes)
    }

    fn access(&self, caller: &Caller, attributes: &Attributes, want: Access) -> Result<Access> {
        let granted = self.granted(attributes, caller, want)?;
        Ok(if self.shared.read_only { granted.difference(Access::WRITE) } else { granted })
    }

    fn lookup(&self, caller: &Caller, name: &[u8]) -> Result<Found> {
        let (inode, stat) = self.find(caller, name)?;
        Ok(self.shared.adopt(inode, &stat))
    }

    fn entry(&self, caller: &Caller, name: &[u8]) -> Result<(HostKey, Attributes)> {
        let (_, stat) = self.find(caller, name)?;
        Ok((super::key_of(stat.inode), self.shared.attributes(&stat)))
    }

    fn entry_attributes(&self, caller: &Caller, name: &[u8]) -> Result<Attributes> {
        let (_, stat) = self.find(caller, name)?;
        Ok(self.shared.attributes(&stat))
    }

    fn parent(&self) -> Result<Found> {
        self.parent_folder()
    }

    fn create(&self, caller: &Caller, name: &[u8], new: NewKind<'_>, mode: u32) -> Result<Found> {
        self.make(caller, name, new, mode)
    }

    fn link(&self, caller: &Caller, target: &dyn Object, name: &[u8]) -> Result<()> {
        self.link_to(caller, self.beside(target)?, name)
    }

    fn remove(&self, caller: &Caller, name: &[u8]) -> Result<()> {
        self.remove_found(caller, name, None)
    }

    fn remove_found(&self, caller: &Caller, name: &[u8], found: Option<&dyn Object>) -> Result<()> {
        self.unlink(caller, name, found)
    }

    fn remove_folder(&self, caller: &Caller, name: &[u8]) -> Result<()> {
        self.rmdir(caller, name)
    }

    fn rename(
        &self,
        caller: &Caller,
        name: &[u8],
        to: &dyn Object,
        new_name: &[u8],
        mode: RenameMode,
    ) -> Result<()> {
        self.move_entry(caller, name, self.beside(to)?, new_name, mode)
    }

    fn list(&self, cookie: u64, sink: &mut dyn FnMut(ListEntry<'_>) -> bool) -> Result<bool> {
        self.list_from(cookie, sink)
    }

    fn read_link(&self) -> Result<Vec<u8>> {
        if self.kind != Kind::Link {
            return Err(Error::NotLink);
        }
        self.inode.read_link().map_err(failed("ceph_ll_readlink"))
    }

    fn prepare(&self, caller: &Caller, attributes: &Attributes, want: Access, owner_may: bool) -> Result<()> {
        match self.kind {
            Kind::File => {}
            Kind::Folder => return Err(Error::IsFolder),
            Kind::Link => return Err(Error::IsLink),
            _ => return Err(Error::Invalid),
        }
        let writes = want.contains(Access::WRITE);
        if writes {
            self.shared.to_change()?;
        }
        let owns = owner_may && caller.uid == attributes.uid;
        if !owns && !self.granted(attributes, caller, want)?.contains(want) {
            return Err(Error::AccessDenied);
        }
        // The library would take these bits away if the caller had opened the file, and not the server.
        if writes && attributes.mode & SET_ID != 0 && caller.uid != 0 {
            let changes = Changes { mode: Some(attributes.mode & !SET_ID), ..Changes::default() };
            self.inode.change(&self.shared.mount.server(), &changes).map_err(failed("ceph_ll_setattr"))?;
        }
        self.open_for(writes)
    }

    fn read_at(&self, offset: u64, length: usize, into: &mut Vec<u8>, wait: Wait) -> Result<usize> {
        self.read_data(offset, length, into, wait)
    }

    fn write_at(&self, _: &Caller, offset: u64, data: &[u8], stability: Stability) -> Result<()> {
        self.write_data(offset, data, stability)
    }

    fn truncate(&self, _: &Caller, size: u64) -> Result<()> {
        self.shared.to_change()?;
        self.cut(size)
    }

    fn allocate(&self, _: &Caller, length: u64) -> Result<()> {
        self.preallocate(0, length, libc::FALLOC_FL_KEEP_SIZE)
    }

    fn reserve(&self, _: &Caller, offset: u64, length: u64) -> Result<()> {
        self.preallocate(offset, length, 0)
    }

    fn sync(&self, stability: Stability) -> Result<()> {
        self.sync_to(stability)
    }

    fn punch(&self, _: &Caller, offset: u64, length: u64) -> Result<()> {
        self.punch_hole(offset, length)
    }

    fn seek(&self, offset: u64, data: bool) -> Result<Option<u64>> {
        self.seek_to(offset, data)
    }

    fn xattr(&self, name: &[u8]) -> Result<Vec<u8>> {
        self.has_xattrs()?;
        self.read_xattr(name)
    }

    fn set_xattr(&self, caller: &Caller, name: &[u8], value: &[u8], mode: XattrMode) -> Result<()> {
        self.has_xattrs()?;
        self.shared.to_change()?;
        let flags = match mode {
            XattrMode::Set => 0,
            XattrMode::Create => libc::XATTR_CREATE,
            XattrMode::Replace => libc::XATTR_REPLACE,
        };
        let who = self.shared.who(caller);
        self.inode.set_xattr(&who, name, value, flags).map_err(|errno| match errno {
            // The metadata server answers so for a file with more than `max_xattr_size` bytes of attributes.
            rustix::io::Errno::NOSPC => Error::NoRoomForAttribute,
            errno => failed("ceph_ll_setxattr")(errno),
        })
    }

    fn remove_xattr(&self, caller: &Caller, name: &[u8]) -> Result<()> {
        self.has_xattrs()?;
        self.shared.to_change()?;
        let who = self.shared.who(caller);
        self.inode.remove_xattr(&who, name).map_err(failed("ceph_ll_removexattr"))
    }

    fn list_xattrs(&self) -> Result<Vec<Vec<u8>>> {
        self.has_xattrs()?;
        self.inode.xattrs().map_err(failed("ceph_ll_listxattr"))
    }

    fn is_remote(&self) -> bool {
        true
    }

    fn is_read_only(&self) -> bool {
        self.shared.snapshot != cephfs::LIVE
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// The cluster's record as attributes.
pub(super) fn attributes_of(stat: &Stat, device: u32) -> Attributes {
    let time = |(secs, nanos): (i64, u32)| Time { secs, nanos };
    Attributes {
        id: FileId::new(device, stat.inode),
        kind: match stat.mode & libc::S_IFMT {
            libc::S_IFDIR => Kind::Folder,
            libc::S_IFLNK => Kind::Link,
            libc::S_IFIFO => Kind::Fifo,
            libc::S_IFSOCK => Kind::Socket,
            libc::S_IFCHR => Kind::CharDevice,
            libc::S_IFBLK => Kind::BlockDevice,
            _ => Kind::File,
        },
        mode: stat.mode & 0o7777,
        uid: stat.uid,
        gid: stat.gid,
        links: stat.links,
        size: stat.size,
        allocated: stat.blocks * 512,
        device: stat.device,
        accessed: time(stat.accessed),
        modified: time(stat.modified),
        changed: time(stat.changed),
        created: stat.created.map(time),
    }
}

fn new_time(set: SetTime) -> Option<NewTime> {
    match set {
        SetTime::Keep => None,
        SetTime::Now => {
            let now = Time::from(SystemTime::now());
            Some(((now.secs, now.nanos), true))
        }
        SetTime::To(at) => Some(((at.secs, at.nanos), false)),
    }
}
