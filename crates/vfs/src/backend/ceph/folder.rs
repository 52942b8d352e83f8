//! Entries of a folder: found, made, moved, removed, listed.

use std::sync::Arc;

use cephfs::{Inode, New, Stat};

use super::object::{CephObject, DataHandle, attributes_of};
use super::{DEEPEST, failed, key_of, refuse_snapshots};
use crate::backend::{Found, ListEntry, NewKind, Object, RenameMode};
use crate::{Caller, Error, Kind, Result};

impl CephObject {
    /// The library would check the rights to search it first, which a file seldom gives.
    fn to_be_folder(&self) -> Result<()> {
        if self.kind() == Kind::Folder { Ok(()) } else { Err(Error::NotFolder) }
    }

    pub(super) fn find(&self, caller: &Caller, name: &[u8]) -> Result<(Inode, Stat)> {
        self.to_be_folder()?;
        if refuse_snapshots(name).is_err() {
            return Err(Error::NotFound);
        }
        self.inode.lookup(&self.shared.who(caller), name).map_err(failed("ceph_ll_lookup"))
    }

    /// The parent, if it is inside the share.
    pub(super) fn parent_folder(&self) -> Result<Found> {
        let own = Found { attributes: self.attributes()?, object: self.itself()? };
        if own.attributes.id.inode == self.shared.root_number {
            return Ok(own);
        }
        let parent = self.shared.folder_above(&own)?.ok_or(Error::Stale)?;
        let mut at = parent.clone();
        for _ in 0..DEEPEST {
            if at.attributes.id.inode == self.shared.root_number {
                return Ok(parent);
            }
            at = self.shared.folder_above(&at)?.ok_or(Error::Stale)?;
        }
        Err(Error::Stale)
    }

    /// This file as a shared object.
    fn itself(&self) -> Result<Arc<dyn Object>> {
        let inode = self.shared.mount.find(self.id().inode, self.shared.snapshot);
        Ok(self.shared.adopt_fresh(inode.map_err(failed("ceph_ll_lookup_vino"))?)?.object)
    }

    pub(super) fn make(&self, caller: &Caller, name: &[u8], new: NewKind<'_>, mode: u32) -> Result<Found> {
        self.shared.to_change()?;
        self.to_be_folder()?;
        refuse_snapshots(name)?;
        let who = self.shared.who(caller);
        let new = match new {
            NewKind::File => {
                let made = self.inode.create(&who, name, mode).map_err(failed("ceph_ll_create"))?;
                return Ok(self.new_file(made));
            }
            NewKind::Folder => New::Folder,
            NewKind::Link(target) => New::Link(target),
            NewKind::Fifo => New::Node(libc::S_IFIFO, (0, 0)),
            NewKind::Socket => New::Node(libc::S_IFSOCK, (0, 0)),
            NewKind::CharDevice(major, minor) => New::Node(libc::S_IFCHR, (major, minor)),
            NewKind::BlockDevice(major, minor) => New::Node(libc::S_IFBLK, (major, minor)),
        };
        let made = self.inode.make(&who, name, new, mode);
        let (inode, stat) = made.map_err(failed("ceph_ll_mkdir, ceph_ll_symlink or ceph_ll_mknod"))?;
        Ok(self.shared.adopt(inode, &stat))
    }

    /// A new file stays open for writing, as its maker will write it next.
    fn new_file(&self, (inode, stat, file): (Inode, Stat, cephfs::DataFile)) -> Found {
        let attributes = attributes_of(&stat, self.shared.device);
        let key = key_of(stat.inode);
        let object = self.shared.kept.keep(key, || Self::new(self.shared.clone(), inode, key, &attributes));
        *object.opened.lock() = DataHandle { file: Some(Arc::new(file)), writes: true };
        Found { object, attributes }
    }

    pub(super) fn link_to(&self, caller: &Caller, target: &Self, name: &[u8]) -> Result<()> {
        self.shared.to_change()?;
        self.to_be_folder()?;
        refuse_snapshots(name)?;
        let who = self.shared.who(caller);
        self.inode.link(&who, &target.inode, name).map_err(failed("ceph_ll_link"))
    }

    pub(super) fn unlink(&self, caller: &Caller, name: &[u8], found: Option<&dyn Object>) -> Result<()> {
        self.shared.to_change()?;
        self.to_be_folder()?;
        refuse_snapshots(name)?;
        self.inode.unlink(&self.shared.who(caller), name).map_err(failed("ceph_ll_unlink"))?;
        if let Some(found) = found.and_then(|found| found.as_any().downcast_ref::<Self>()) {
            found.forget_if_gone();
        }
        Ok(())
    }

    /// Closes a file without names, so that its space is free once no client uses it.
    fn forget_if_gone(&self) {
        if self.attributes().is_ok_and(|attributes| attributes.links == 0) {
            self.shared.kept.forget(self.own_key());
        }
    }

    pub(super) fn rmdir(&self, caller: &Caller, name: &[u8]) -> Result<()> {
        self.shared.to_change()?;
        self.to_be_folder()?;
        refuse_snapshots(name)?;
        self.inode.remove_folder(&self.shared.who(caller), name).map_err(failed("ceph_ll_rmdir"))
    }

    /// The cluster has no renames with flags. What must not be replaced is looked for first: clients of this server cannot make
    /// it meanwhile, those of the cluster can.
    pub(super) fn move_entry(
        &self,
        caller: &Caller,
        name: &[u8],
        to: &Self,
        new_name: &[u8],
        mode: RenameMode,
    ) -> Result<()> {
        self.shared.to_change()?;
        self.to_be_folder()?;
        to.to_be_folder()?;
        refuse_snapshots(name)?;
        refuse_snapshots(new_name)?;
        let who = self.shared.who(caller);
        // Ceph's library (16.2.15) marks the new name before it finds that the old one is missing, and leaves the mark: each
        // later look-up of the new name waits for the end of the rename, for ever.
        let moving =
            self.inode.lookup(&self.shared.mount.server(), name).map_err(failed("ceph_ll_lookup"))?.1;
        let replaced = match to.inode.lookup(&self.shared.mount.server(), new_name) {
            Ok((_, stat)) => Some(stat),
            Err(rustix::io::Errno::NOENT) => None,
            Err(errno) => return Err(failed("ceph_ll_lookup")(errno)),
        };
        match mode {
            RenameMode::Exchange => return Err(Error::NotSupported),
            RenameMode::Keep if replaced.is_some() => return Err(Error::Exists),
            RenameMode::Keep | RenameMode::Replace => {}
        }
        let is_folder = |stat: &Stat| stat.mode & libc::S_IFMT == libc::S_IFDIR;
        // The cluster looks first whether a folder that is to be replaced is empty.
        match replaced.as_ref().map(|there| (is_folder(&moving), is_folder(there))) {
            Some((false, true)) => return Err(Error::IsFolder),
            Some((true, false)) => return Err(Error::NotFolder),
            _ => {}
        }
        self.inode.rename(&who, name, &to.inode, new_name).map_err(failed("ceph_ll_rename"))?;
        if let Some(stat) = replaced
            && let Some(object) = self.shared.kept.find(&key_of(stat.inode))
        {
            object.forget_if_gone();
        }
        Ok(())
    }

    pub(super) fn list_from(&self, cookie: u64, sink: &mut dyn FnMut(ListEntry<'_>) -> bool) -> Result<bool> {
        self.to_be_folder()?;
        let mut folder = self.inode.list().map_err(failed("ceph_ll_opendir"))?;
        if cookie > 0 {
            folder.seek(cookie);
        }
        while let Some(entry) = folder.next_entry().map_err(failed("ceph_readdir_r"))? {
            let listed = ListEntry {
                name: &entry.name,
                id: self.id().with_inode(entry.inode),
                kind: kind_of(entry.kind),
                cookie: entry.next,
            };
            if !sink(listed) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

fn kind_of(listed: u8) -> Option<Kind> {
    Some(match listed {
        libc::DT_REG => Kind::File,
        libc::DT_DIR => Kind::Folder,
        libc::DT_LNK => Kind::Link,
        libc::DT_FIFO => Kind::Fifo,
        libc::DT_SOCK => Kind::Socket,
        libc::DT_CHR => Kind::CharDevice,
        libc::DT_BLK => Kind::BlockDevice,
        _ => return None,
    })
}
