//! A file, folder, link or device of the host as an object of the tree. Each method is one or a few system calls.

use std::any::Any;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use lock::Mutex;
use rustix::fs::{
    AtFlags, CWD, FileType, Gid, Mode, OFlags, Statx, StatxTimestamp, Timespec, Timestamps, UTIME_NOW,
    UTIME_OMIT, Uid,
};
use rustix::io::{Errno, IoSlice, ReadWriteFlags};

use super::descriptors::FileData;
use super::file::read_once;
use super::making::RefusedMaker;
use super::metered::Growth;
use super::{HostVolume, OpenMethod, failure, handle};
use crate::backend::{
    Against, Found, Glance, HearsLocal, Hold, ListEntry, NewKind, NewOwner, NextRead, Object, RenameMode,
    Stability, Wait, XattrMode,
};
use crate::permission::{by_mode, mode_is_exact};
use crate::quota::{Charge, Meter};
use crate::ranks;
use crate::{Access, Attributes, Caller, Error, FileId, HostKey, Kind, Result, SetAttributes, SetTime, Time};

/// No file system keeps its data in smaller pieces.
const SMALLEST_BLOCK: u64 = 512;

/// One file of the host, held by a path-only descriptor; data and listings open further ones when first needed.
pub(super) struct HostObject {
    pub(super) shared: Arc<HostVolume>,
    pub(super) fd: Arc<OwnedFd>,
    pub(super) data: Arc<FileData>,
    pub(super) reached: OpenMethod,
    /// Whether there is an ACL: when that was asked, as of which time of change, and the answer.
    acl: Mutex<Option<(Instant, Time, bool)>, ranks::HostFileAcl>,
    /// Of a folder.
    pub(super) refused: RefusedMaker,
    /// When it was opened, counted in files that were opened.
    pub(super) opened: u64,
    /// How many names it had when the host was asked last.
    links: AtomicU32,
    /// What it counts with in quotas, from its first change on.
    pub(super) charge: OnceLock<Arc<Charge>>,
    /// The meter that counts it, with its file system and the epoch in which that was found.
    pub(super) metered_by: OnceLock<(u64, u32, Arc<Meter>)>,
    key: HostKey,
    id: FileId,
    kind: Kind,
}

impl HostObject {
    pub(super) fn new(
        shared: Arc<HostVolume>,
        fd: Arc<OwnedFd>,
        key: HostKey,
        attributes: &Attributes,
        reached: OpenMethod,
    ) -> Self {
        let (data, acl) = (Arc::default(), Mutex::default());
        let (charge, metered_by, refused) = (OnceLock::new(), OnceLock::new(), RefusedMaker::default());
        let (id, kind) = (attributes.id, attributes.kind);
        let (opened, links) = (shared.objects.numbers().next(), attributes.links.into());
        Self { shared, fd, data, reached, acl, refused, opened, links, charge, metered_by, key, id, kind }
    }

    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    pub(super) fn saw_links(&self, attributes: &Attributes) {
        self.links.store(attributes.links, Ordering::Relaxed);
    }

    /// Whether it had one name when the host was asked last.
    pub(super) fn had_one_name(&self) -> bool {
        self.links.load(Ordering::Relaxed) <= 1
    }

    pub(super) fn path(&self) -> String {
        handle::as_path(self.fd())
    }

    fn of(object: &dyn Object) -> Result<&Self> {
        object.as_any().downcast_ref().ok_or(Error::CrossVolume)
    }

    /// Which of `want` the caller may do, given fresh attributes: from the mode where that is exact, else the kernel
    /// (which knows the ACL) is asked.
    pub(super) fn granted(&self, attributes: &Attributes, caller: &Caller, want: Access) -> Result<Access> {
        let caller = self.shared.effective(caller);
        if mode_is_exact(attributes, caller) {
            return Ok(by_mode(attributes, caller).intersection(want));
        }
        if !self.has_acl(attributes.changed) {
            return Ok(by_mode(attributes, caller).intersection(want));
        }
        self.shared.act_as(caller)?;
        let bits = [Access::READ, Access::WRITE, Access::EXECUTE];
        let granted = bits.into_iter().filter(|&bit| want.contains(bit) && self.kernel_grants(bit));
        Ok(granted.fold(Access::NONE, Access::union))
    }

    /// Whether the file has an ACL. While it stays unchanged the host is asked once a second at
    /// most. The question takes a path look-up, which every small read of a file of another user
    /// would pay (1.5 of 10 µs).
    fn has_acl(&self, changed: Time) -> bool {
        const BELIEVED_FOR: Duration = Duration::from_secs(1);
        let mut known = self.acl.lock();
        if let Some((asked, as_of, has)) = *known
            && as_of == changed
            && asked.elapsed() < BELIEVED_FOR
        {
            return has;
        }
        let asked = rustix::fs::getxattr_query(self.path(), "system.posix_acl_access");
        let has = asked.is_ok_and(|length| length > 0);
        *known = Some((Instant::now(), changed, has));
        has
    }

    fn kernel_grants(&self, bit: Access) -> bool {
        let access = rustix::fs::Access::from_bits_truncate(u32::from(bit.0));
        // By the descriptor's path: rustix answers INVAL to an empty one.
        rustix::fs::accessat(CWD, self.path(), access, AtFlags::EACCESS).is_ok()
    }

    fn change(&self, caller: &Caller, changes: &SetAttributes) -> Result<()> {
        self.shared.act_to_change(caller)?;
        if let Some(size) = changes.size {
            let attributes = self.attributes()?;
            self.prepare(caller, &attributes, Access::WRITE, true)?;
            self.shared.act_to_change(caller)?;
            self.metered(Growth::Resize(size), || self.cut(size))?;
        }
        if changes.uid.is_some() || changes.gid.is_some() {
            let (uid, gid) = (changes.uid.map(Uid::from_raw), changes.gid.map(Gid::from_raw));
            rustix::fs::chownat(&self.fd, c"", uid, gid, AtFlags::EMPTY_PATH)
                .map_err(failure::of("fchownat", self.fd()))?;
        }
        if let Some(mode) = changes.mode
            && self.kind != Kind::Link
        {
            rustix::fs::chmod(self.path(), Mode::from_raw_mode(mode & 0o7777))
                .map_err(failure::of("chmod", self.fd()))?;
        }
        if (changes.accessed, changes.modified) != (SetTime::Keep, SetTime::Keep) {
            let times = Timestamps {
                last_access: timespec(changes.accessed),
                last_modification: timespec(changes.modified),
            };
            rustix::fs::utimensat(&self.fd, c"", &times, AtFlags::EMPTY_PATH)
                .map_err(failure::of("utimensat", self.fd()))?;
        }
        Ok(())
    }
}

impl Object for HostObject {
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
        let attributes = attributes_of(&super::stat(self.fd.as_fd())?);
        self.saw_links(&attributes);
        Ok(attributes)
    }

    fn set_attributes(&self, caller: &Caller, changes: &SetAttributes) -> Result<()> {
        self.change(caller, changes)
    }

    fn access(&self, caller: &Caller, attributes: &Attributes, want: Access) -> Result<Access> {
        let granted = self.granted(attributes, caller, want)?;
        Ok(if self.shared.read_only { Access(granted.0 & !Access::WRITE.0) } else { granted })
    }

    fn lookup(&self, caller: &Caller, name: &[u8]) -> Result<Found> {
        self.find(caller, name)
    }

    fn entry(&self, caller: &Caller, name: &[u8]) -> Result<(HostKey, Attributes)> {
        if self.shared.by_handle() {
            let entry = self.narrowly(caller, || self.entry_at(caller, name))?;
            if !handle::is_by_birth(&entry.0) {
                return Ok(entry);
            }
        }
        // A file without a handle must leave a trace in its folder.
        let found = self.find(caller, name)?;
        Ok((found.object.key(), found.attributes))
    }

    fn glance(&self, caller: &Caller, name: &[u8]) -> Result<Glance> {
        self.glance_at(caller, name)
    }

    fn entry_attributes(&self, caller: &Caller, name: &[u8]) -> Result<Attributes> {
        self.narrowly(caller, || Ok(attributes_of(&super::stat_at(self.fd(), name)?)))
    }

    fn glance_xattr(&self, caller: &Caller, name: &[u8], xattr: &[u8]) -> Result<Vec<u8>> {
        self.xattr_at(caller, name, xattr)
    }

    fn may_have(&self, name: &[u8]) -> bool {
        self.may_have_entry(name)
    }

    fn lookup_path(&self, caller: &Caller, path: &[&[u8]]) -> Result<Found> {
        self.find_path(caller, path)
    }

    fn parent(&self) -> Result<Found> {
        self.parent_folder()
    }

    fn create(&self, caller: &Caller, name: &[u8], new: NewKind<'_>, mode: u32) -> Result<Found> {
        self.make(caller, name, new, mode)
    }

    fn create_owned(&self, name: &[u8], new: NewKind<'_>, mode: u32, owner: NewOwner<'_>) -> Result<Found> {
        self.make_owned(name, new, mode, owner)
    }

    fn link(&self, caller: &Caller, target: &dyn Object, name: &[u8]) -> Result<()> {
        self.link_to(caller, Self::of(target)?, name)
    }

    fn remove(&self, caller: &Caller, name: &[u8]) -> Result<()> {
        self.remove_found(caller, name, None)
    }

    fn remove_found(&self, caller: &Caller, name: &[u8], found: Option<&dyn Object>) -> Result<()> {
        self.unlink(caller, name, found, AtFlags::empty())
    }

    fn remove_folder(&self, caller: &Caller, name: &[u8]) -> Result<()> {
        self.unlink(caller, name, None, AtFlags::REMOVEDIR)
    }

    fn rename(
        &self,
        caller: &Caller,
        name: &[u8],
        to: &dyn Object,
        new_name: &[u8],
        mode: RenameMode,
    ) -> Result<()> {
        self.move_entry(caller, name, Self::of(to)?, new_name, mode)
    }

    fn list(&self, cookie: u64, sink: &mut dyn FnMut(ListEntry<'_>) -> bool) -> Result<bool> {
        self.list_from(cookie, sink)
    }

    fn read_link(&self) -> Result<Vec<u8>> {
        if self.kind != Kind::Link {
            return Err(Error::NotLink);
        }
        Ok(rustix::fs::readlinkat(&self.fd, c"", Vec::new())
            .map_err(failure::of("readlinkat", self.fd()))?
            .into_bytes())
    }

    fn prepare(&self, caller: &Caller, attributes: &Attributes, want: Access, owner_may: bool) -> Result<()> {
        match self.kind {
            Kind::File => {}
            Kind::Folder => return Err(Error::IsFolder),
            Kind::Link => return Err(Error::IsLink),
            _ => return Err(Error::Invalid),
        }
        if want.contains(Access::WRITE) && self.shared.read_only {
            return Err(Error::ReadOnly);
        }
        let owns = owner_may && self.shared.effective(caller).uid == attributes.uid;
        if !owns && !self.granted(attributes, caller, want)?.contains(want) {
            return Err(Error::AccessDenied);
        }
        self.open_for(want)
    }

    fn read_at(&self, offset: u64, length: usize, into: &mut Vec<u8>, wait: Wait) -> Result<usize> {
        let fd = self.readable()?;
        into.reserve(length);
        let before = into.len();
        while into.len() - before < length {
            let done = into.len() - before;
            match read_once(&fd, offset + done as u64, length - done, into, wait) {
                Ok(0) => break,
                // The page cache has whole blocks, so what stops elsewhere has come to the end of the file.
                Ok(_) if !(offset + (into.len() - before) as u64).is_multiple_of(SMALLEST_BLOCK) => break,
                Ok(_) => {}
                Err(error) => {
                    into.truncate(before);
                    return Err(error);
                }
            }
        }
        Ok(into.len() - before)
    }

    fn write_at(&self, caller: &Caller, offset: u64, data: &[u8], stability: Stability) -> Result<()> {
        self.shared.act_to_change(caller)?;
        let fd = self.writable()?;
        let flags = match stability {
            Stability::Unstable => ReadWriteFlags::empty(),
            Stability::Data => ReadWriteFlags::DSYNC,
            Stability::File => ReadWriteFlags::SYNC,
        };
        self.metered(Growth::Write { offset, length: data.len() as u64 }, || {
            let mut done = 0;
            while done < data.len() {
                let at = offset.checked_add(done as u64).ok_or(Error::FileTooLarge)?;
                match rustix::io::pwritev2(&fd, &[IoSlice::new(&data[done..])], at, flags) {
                    Ok(0) => return Err(Error::NoSpace),
                    Ok(count) => done += count,
                    Err(Errno::INTR) => {}
                    Err(error) => return Err(failure::of("pwritev2", &*fd)(error)),
                }
            }
            Ok(())
        })
    }

    fn has_room_for(&self, offset: u64, length: u64) -> Result<()> {
        self.metered(Growth::Write { offset, length }, || Ok(()))
    }

    fn truncate(&self, caller: &Caller, size: u64) -> Result<()> {
        self.shared.act_to_change(caller)?;
        self.metered(Growth::Resize(size), || self.cut(size))
    }

    fn allocate(&self, caller: &Caller, length: u64) -> Result<()> {
        self.shared.act_to_change(caller)?;
        self.metered(Growth::Allocate(length), || self.preallocate(length))
    }

    fn reserve(&self, caller: &Caller, offset: u64, length: u64) -> Result<()> {
        self.shared.act_to_change(caller)?;
        self.metered(Growth::Write { offset, length }, || self.reserve_range(offset, length))
    }

    fn copy_range(
        &self,
        caller: &Caller,
        source: &dyn Object,
        from: u64,
        to: u64,
        length: u64,
    ) -> Result<u64> {
        let source = Self::of(source)?;
        let input = source.readable()?; // as ourselves, if it has to be opened again
        self.shared.act_to_change(caller)?;
        let length = length.min(source.attributes()?.size.saturating_sub(from));
        self.metered(Growth::Write { offset: to, length }, || self.copy_from(&input, from, to, length))
    }

    fn clone_range(
        &self,
        caller: &Caller,
        source: &dyn Object,
        from: u64,
        to: u64,
        length: u64,
    ) -> Result<()> {
        let source = Self::of(source)?;
        let input = source.readable()?;
        self.shared.act_to_change(caller)?;
        let all = source.attributes()?.size.saturating_sub(from);
        let growth = Growth::Write { offset: to, length: if length == 0 { all } else { length } };
        self.metered(growth, || self.clone_from(&input, from, to, length))
    }

    fn resident(&self, offset: u64, length: u64) -> Option<Arc<OwnedFd>> {
        self.resident_range(offset, length)
    }

    fn write_out(&self, offset: u64, length: u64) {
        self.write_out_range(offset, length);
    }

    fn expect(&self, offset: u64, length: u64, next: NextRead) {
        self.expect_range(offset, length, next);
    }

    fn sync(&self, stability: Stability) -> Result<()> {
        self.sync_to(stability)
    }

    fn punch(&self, caller: &Caller, offset: u64, length: u64) -> Result<()> {
        self.shared.act_to_change(caller)?;
        self.metered(Growth::Punch, || self.punch_hole(offset, length))
    }

    fn seek(&self, offset: u64, data: bool) -> Result<Option<u64>> {
        self.seek_to(offset, data)
    }

    fn xattr(&self, name: &[u8]) -> Result<Vec<u8>> {
        self.read_xattr(name)
    }

    fn set_xattr(&self, caller: &Caller, name: &[u8], value: &[u8], mode: XattrMode) -> Result<()> {
        self.shared.act_to_change(caller)?;
        self.write_xattr(name, value, mode)
    }

    fn remove_xattr(&self, caller: &Caller, name: &[u8]) -> Result<()> {
        self.shared.act_to_change(caller)?;
        self.drop_xattr(name)
    }

    fn list_xattrs(&self) -> Result<Vec<Vec<u8>>> {
        self.xattr_names()
    }

    fn is_heard(&self) -> bool {
        self.reached == OpenMethod::ByName
    }

    fn lends_data(&self) -> bool {
        self.lends()
    }

    fn guard(&self, against: Against, at_once: bool, hears: &Arc<dyn HearsLocal>) -> Result<Hold> {
        self.guard_data(against, at_once, hears)
    }

    fn guard_entries(&self, hears: &Arc<dyn HearsLocal>) -> Result<Hold> {
        self.guard_folder(hears)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// The host's record as attributes.
pub(super) fn attributes_of(stat: &Statx) -> Attributes {
    let has_birth = stat.stx_mask & rustix::fs::StatxFlags::BTIME.bits() != 0;
    let device = FileId::device_of(stat.stx_dev_major, stat.stx_dev_minor);
    let time = |at: StatxTimestamp| Time { secs: at.tv_sec, nanos: at.tv_nsec };
    Attributes {
        id: FileId { device, inode: stat.stx_ino },
        kind: match FileType::from_raw_mode(stat.stx_mode.into()) {
            FileType::Directory => Kind::Folder,
            FileType::Symlink => Kind::Link,
            FileType::Fifo => Kind::Fifo,
            FileType::Socket => Kind::Socket,
            FileType::CharacterDevice => Kind::CharDevice,
            FileType::BlockDevice => Kind::BlockDevice,
            _ => Kind::File,
        },
        mode: u32::from(stat.stx_mode) & 0o7777,
        uid: stat.stx_uid,
        gid: stat.stx_gid,
        links: stat.stx_nlink,
        size: stat.stx_size,
        allocated: stat.stx_blocks * 512,
        device: (stat.stx_rdev_major, stat.stx_rdev_minor),
        accessed: time(stat.stx_atime),
        modified: time(stat.stx_mtime),
        changed: time(stat.stx_ctime),
        created: has_birth.then(|| time(stat.stx_btime)),
    }
}

fn timespec(set: SetTime) -> Timespec {
    match set {
        SetTime::Keep => Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT },
        SetTime::Now => Timespec { tv_sec: 0, tv_nsec: UTIME_NOW },
        SetTime::To(at) => Timespec { tv_sec: at.secs, tv_nsec: i64::from(at.nanos) },
    }
}

/// Flags with which every entry is opened: never through a link, never waiting for a FIFO's other end.
pub(super) const ENTRY: OFlags = OFlags::NOFOLLOW.union(OFlags::CLOEXEC).union(OFlags::NONBLOCK);
