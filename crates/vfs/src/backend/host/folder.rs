//! Entries of a folder: found, made, moved, removed, listed.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use rustix::fs::{AtFlags, FileType, Mode, OFlags, RawDir, RenameFlags, ResolveFlags, SeekFrom};
use rustix::io::Errno;

use super::descriptors::Descriptor;
use super::numbers::Named;
use super::object::{ENTRY, HostObject, attributes_of};
use super::{OpenMethod, failure, handle, identity, stat, stat_at};
use crate::backend::{Found, ListEntry, Object, RenameMode};
use crate::quota::QuotaTransfer;
use crate::{Attributes, Caller, Error, HostKey, Kind, Result};

/// How often the host is asked for the entries of a folder, as long as it lists nothing.
const LIST_TRIES: usize = 2;
/// A path of so many names is followed name by name if its folders are kept.
const MOST_STEPS: usize = 4;
/// Bytes of entries that one call to the host brings.
const LIST_BYTES: usize = 64 * 1024;

impl HostObject {
    /// Asks the host for an entry of this folder as the caller. What the server itself may ask is asked with the ids of the client
    /// that this thread has, if the host lets these: they are narrower, and the next request of the client needs them again. The
    /// question is repeated after a refusal. Nothing is changed so: what the host records of a change names who makes it.
    pub(super) fn narrowly<T>(&self, caller: &Caller, call: impl Fn() -> Result<T>) -> Result<T> {
        let is_here = self.shared.is_local && Object::id(self).device == self.shared.device;
        if is_here && identity::is_ourselves(caller) && identity::is_narrow() {
            match call() {
                Err(Error::AccessDenied | Error::NotPermitted) => {}
                other => return other,
            }
        }
        self.shared.act_as(caller)?;
        call()
    }

    pub(super) fn find(&self, caller: &Caller, name: &[u8]) -> Result<Found> {
        self.narrowly(caller, || self.find_now(name))
    }

    /// With the ids that this thread has.
    pub(super) fn find_now(&self, name: &[u8]) -> Result<Found> {
        match self.by_number(name)? {
            Some(Named::Kept(_, found)) => return Ok(found),
            Some(Named::Other) => {}
            None => {
                if self.shared.by_handle()
                    && let Some(object) = self.kept_by_key(name)?
                    && object.reached == OpenMethod::ByName
                {
                    let attributes = object.attributes()?;
                    return Ok(Found { object, attributes });
                }
            }
        }
        let found = self.open_entry(name)?;
        if let Some(object) = found.object.as_any().downcast_ref::<Self>() {
            self.shared.trace(object, self, name);
        }
        Ok(found)
    }

    /// The entry's object, if it is kept open; in one call to the host.
    fn kept(&self, name: &[u8]) -> Result<Option<Arc<Self>>> {
        match self.by_number(name)? {
            Some(Named::Kept(object, _)) => Ok(Some(object)),
            _ => self.kept_by_key(name),
        }
    }

    /// The same, found by its key alone.
    fn kept_by_key(&self, name: &[u8]) -> Result<Option<Arc<Self>>> {
        let key = match self.shared.key_at(self.fd(), name) {
            Err(Error::NotSupported) => stat_at(self.fd(), name).and_then(|stat| handle::key_by_birth(&stat)),
            other => other,
        };
        match key {
            Ok(key) => Ok(self.shared.objects.find(&key)),
            Err(Error::NotSupported) => Ok(None),
            Err(Error::CrossVolume) if self.shared.cross_mounts => Ok(None),
            Err(other) => Err(other),
        }
    }

    /// The key and attributes of the entry, by two look-ups of its name: this thread has the caller's ids. If another file
    /// takes the name in between, they are asked for again.
    pub(super) fn entry_at(&self, caller: &Caller, name: &[u8]) -> Result<(HostKey, Attributes)> {
        const MOST_TRIES: usize = 16;
        let mut before = None;
        for _ in 0..=MOST_TRIES {
            let key = match self.shared.key_at(self.fd(), name) {
                Err(Error::NotSupported) => {
                    let stat = stat_at(self.fd(), name)?;
                    return Ok((handle::key_by_birth(&stat)?, attributes_of(&stat)));
                }
                // The mount has to be entered.
                Err(Error::CrossVolume) if self.shared.cross_mounts => {
                    let found = self.find(caller, name)?;
                    return Ok((found.object.key(), found.attributes));
                }
                key => key?,
            };
            match before {
                Some((known, attributes)) if known == key => return Ok((key, attributes)),
                _ => before = Some((key, attributes_of(&stat_at(self.fd(), name)?))),
            }
        }
        Err(Error::Stale)
    }

    /// Whether there may be an entry of this name: asked with whatever ids this thread has.
    pub(super) fn may_have_entry(&self, name: &[u8]) -> bool {
        let asked =
            rustix::fs::statx(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW, rustix::fs::StatxFlags::empty());
        !matches!(asked, Err(rustix::io::Errno::NOENT | rustix::io::Errno::NAMETOOLONG))
    }

    /// A whole path in one call, or a short one in a call for each name if its folders are kept. No link is followed in it,
    /// whatever happens to its folders meanwhile.
    pub(super) fn find_path(&self, caller: &Caller, path: &[&[u8]]) -> Result<Found> {
        match path {
            [] => Err(Error::Invalid),
            [name] => self.find(caller, name),
            // Where there are no handles, an object must leave a trace in its own folder. A private folder is refused on
            // the way to what is in it.
            [name, rest @ ..] if !self.shared.by_handle() || self.shared.private.is_some() => {
                let found = self.find(caller, name)?;
                match found.attributes.kind {
                    Kind::Folder => found.object.lookup_path(caller, rest),
                    Kind::Link => Err(Error::IsLink),
                    _ => Err(Error::NotFolder),
                }
            }
            [above @ .., last] => match self.kept_folder(caller, above)? {
                Some(folder) => folder.find(caller, last),
                None => {
                    let path = path.join(&b'/');
                    self.narrowly(caller, || self.open_entry(&path))
                }
            },
        }
    }

    /// The folder at the end of a short path, if it and those on the way are kept.
    fn kept_folder(&self, caller: &Caller, path: &[&[u8]]) -> Result<Option<Arc<Self>>> {
        let mut at: Option<Arc<Self>> = None;
        if path.len() >= MOST_STEPS {
            return Ok(None);
        }
        for name in path {
            let here = at.as_deref().unwrap_or(self);
            at = match here.narrowly(caller, || here.by_number(name))? {
                Some(Named::Kept(object, found)) if found.attributes.kind == Kind::Folder => Some(object),
                _ => return Ok(None),
            };
        }
        Ok(at)
    }

    fn open_entry(&self, name: &[u8]) -> Result<Found> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let inside = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        let resolve = if self.shared.cross_mounts { inside } else { inside | ResolveFlags::NO_XDEV };
        let opened = rustix::fs::openat2(&self.fd, name, flags, Mode::empty(), resolve);
        self.shared.adopt(opened.map_err(failure::of_entry("openat2", &self.fd, name))?, OpenMethod::ByName)
    }

    /// The parent, if it is inside the share. A folder that was moved out of it meanwhile has no
    /// visible parent.
    pub(super) fn parent_folder(&self) -> Result<Found> {
        const DEEPEST: usize = 4096;
        self.shared.act_as_ourselves()?;
        let root = stat(self.shared.root.as_fd())?;
        let is_root = |at: &rustix::fs::Statx| {
            (at.stx_ino, at.stx_dev_major, at.stx_dev_minor)
                == (root.stx_ino, root.stx_dev_major, root.stx_dev_minor)
        };
        if is_root(&stat(self.fd())?) {
            return self.shared.top();
        }
        let up = |fd: std::os::fd::BorrowedFd<'_>| {
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
            rustix::fs::openat(fd, c"..", flags, Mode::empty())
                .map_err(failure::of_entry("openat", fd, b".."))
        };
        let parent = up(self.fd())?;
        let mut above = rustix::io::fcntl_dupfd_cloexec(&parent, 0).map_err(failure::of("dup", &parent))?;
        let mut below = None;
        for _ in 0..DEEPEST {
            let at = stat(above.as_fd())?;
            if is_root(&at) {
                return self.shared.adopt(parent, OpenMethod::ByName);
            }
            // The host's root folder is its own parent.
            if below.replace((at.stx_ino, at.stx_dev_major, at.stx_dev_minor)) == below {
                break;
            }
            above = up(above.as_fd())?;
        }
        Err(Error::Stale)
    }

    pub(super) fn link_to(&self, caller: &Caller, target: &Self, name: &[u8]) -> Result<()> {
        self.shared.act_to_change(caller)?;
        self.check_same_quotas(target)?;
        // AT_EMPTY_PATH would need a privilege that the caller's ids do not have.
        rustix::fs::linkat(rustix::fs::CWD, target.path(), &self.fd, name, AtFlags::SYMLINK_FOLLOW)
            .map_err(failure::of_entry("linkat", &self.fd, name))?;
        target.attributes().map(drop).or(Ok(())) // counts its names
    }

    /// Without `found` the host is asked which file of the kept ones is there.
    pub(super) fn unlink(
        &self,
        caller: &Caller,
        name: &[u8],
        found: Option<&dyn Object>,
        flags: AtFlags,
    ) -> Result<()> {
        self.shared.act_to_change(caller)?;
        let found = found.and_then(|found| found.as_any().downcast_ref::<Self>());
        let kept = if found.is_none() { self.kept(name)? } else { None };
        let going = if flags.is_empty() { self.going(name, found.or(kept.as_deref())) } else { None };
        let removed = rustix::fs::unlinkat(&self.fd, name, flags);
        going.into_iter().for_each(|going| going.settle(removed.is_ok()));
        removed.map_err(failure::of_entry("unlinkat", &self.fd, name))?;
        found.or(kept.as_deref()).into_iter().for_each(Self::forget_if_gone);
        Ok(())
    }

    /// Closes a file without names, so that its space is free once no client uses it.
    fn forget_if_gone(&self) {
        let is_gone = |attributes: Attributes| attributes.links == 0 || attributes.kind == Kind::Folder;
        if self.had_one_name() || self.attributes().is_ok_and(is_gone) {
            self.shared.objects.forget(&Object::key(self));
        }
    }

    pub(super) fn move_entry(
        &self,
        caller: &Caller,
        name: &[u8],
        to: &Self,
        new_name: &[u8],
        mode: RenameMode,
    ) -> Result<()> {
        self.shared.act_to_change(caller)?;
        if let Some(private) = &self.shared.private {
            private.refuse_to_move(self.fd(), name)?;
            private.refuse_to_move(to.fd(), new_name)?;
        }
        let replaced = if mode == RenameMode::Replace { to.kept(new_name).unwrap_or(None) } else { None };
        let flags = match mode {
            RenameMode::Replace => RenameFlags::empty(),
            RenameMode::Keep => RenameFlags::NOREPLACE,
            RenameMode::Exchange => RenameFlags::EXCHANGE,
        };
        let gone = if mode == RenameMode::Replace { to.going(new_name, replaced.as_deref()) } else { None };
        // A rename of one name of a file to another one changes nothing.
        let is_same = gone.is_some() && self.is_same_entry(name, to, new_name);
        let transfer = self.transferring(name, to, mode)?;
        let moving = [self.moving(name), to.moving(new_name)];
        let moved = match rustix::fs::renameat_with(&self.fd, name, &to.fd, new_name, flags) {
            Err(Errno::INVAL) if mode == RenameMode::Keep => self.rename_if_free(name, to, new_name),
            moved => moved,
        };
        gone.into_iter().for_each(|gone| gone.settle(moved.is_ok() && !is_same));
        moving.into_iter().flatten().for_each(|moving| moving.settle(false));
        moved.map_err(failure::of_entry("renameat2", &self.fd, name))?;
        transfer.into_iter().for_each(QuotaTransfer::commit);
        to.arrived(new_name);
        if mode == RenameMode::Exchange {
            self.arrived(name);
        }
        replaced.into_iter().for_each(|object| object.forget_if_gone());
        if !self.shared.by_handle() {
            let _ = to.find(caller, new_name); // leaves its new trace
        }
        Ok(())
    }

    /// For file systems that have no renames with flags, such as FUSE's: clients of this server cannot make the entry between
    /// the two calls, but local programs and other hosts can.
    fn rename_if_free(&self, name: &[u8], to: &Self, new_name: &[u8]) -> rustix::io::Result<()> {
        let flags = AtFlags::SYMLINK_NOFOLLOW;
        match rustix::fs::statx(&to.fd, new_name, flags, rustix::fs::StatxFlags::empty()) {
            Ok(_) => Err(Errno::EXIST),
            Err(Errno::NOENT) => rustix::fs::renameat(&self.fd, name, &to.fd, new_name),
            Err(errno) => Err(errno),
        }
    }

    fn is_same_entry(&self, name: &[u8], to: &Self, other: &[u8]) -> bool {
        let of = |folder: &Self, name| stat_at(folder.fd(), name).map(|found| attributes_of(&found).id).ok();
        of(self, name) == of(to, other)
    }

    pub(super) fn list_from(&self, cookie: u64, sink: &mut dyn FnMut(ListEntry<'_>) -> bool) -> Result<bool> {
        let mut opened = self.data.lock(); // the descriptor's position is shared
        if opened.read.is_none() {
            self.shared.act_as_ourselves()?;
            let fd = rustix::fs::openat(&self.fd, c".", OFlags::DIRECTORY | ENTRY, Mode::empty());
            let fd = Arc::new(fd.map_err(failure::of("openat", &self.fd))?);
            opened.read = Some(Descriptor::uncounted(fd));
        }
        let Some(fd) = opened.read.as_ref().map(Descriptor::fd) else { return Err(Error::Io) };
        // A folder has at least `.` and `..`, and ext4 of Linux 6.18 says at once that there is nothing in about one
        // of some thousand listings of a large folder that clients change. Asked again, it lists all of it.
        for _ in 0..LIST_TRIES {
            if let Some(complete) = self.list_once(fd, cookie, sink)? {
                return Ok(complete);
            }
        }
        Ok(true)
    }

    /// Lists from a cookie on, and returns whether `sink` has got everything. `None`: the host listed nothing.
    fn list_once(
        &self,
        fd: &OwnedFd,
        cookie: u64,
        sink: &mut dyn FnMut(ListEntry<'_>) -> bool,
    ) -> Result<Option<bool>> {
        rustix::fs::seek(fd, SeekFrom::Start(cookie)).map_err(failure::of("lseek", fd))?;
        let mut buffer: Vec<u8> = Vec::with_capacity(LIST_BYTES);
        let mut entries = RawDir::new(fd, buffer.spare_capacity_mut());
        let mut has_any = false;
        while let Some(entry) = entries.next() {
            let entry = entry.map_err(failure::of("getdents64", fd))?;
            has_any = true;
            if self.shared.private.as_ref().is_some_and(|private| private.is_listed_as(entry.ino())) {
                continue;
            }
            let listed = ListEntry {
                name: entry.file_name().to_bytes(),
                id: self.id().with_inode(entry.ino()),
                kind: kind_of(entry.file_type()),
                cookie: entry.next_entry_cookie(),
            };
            if !sink(listed) {
                return Ok(Some(false));
            }
        }
        Ok(has_any.then_some(true))
    }
}

fn kind_of(listed: FileType) -> Option<Kind> {
    Some(match listed {
        FileType::RegularFile => Kind::File,
        FileType::Directory => Kind::Folder,
        FileType::Symlink => Kind::Link,
        FileType::Fifo => Kind::Fifo,
        FileType::Socket => Kind::Socket,
        FileType::CharacterDevice => Kind::CharDevice,
        FileType::BlockDevice => Kind::BlockDevice,
        FileType::Unknown => return None,
    })
}
