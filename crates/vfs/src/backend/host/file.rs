//! The bytes of a file.

use std::num::NonZeroU64;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::Arc;

use rustix::fs::{Advice, FallocateFlags, OFlags, SeekFrom};
use rustix::io::Errno;

use super::descriptors::{Descriptor, OpenDescriptors};
use super::failure::{self, last_fact};
use super::object::HostObject;
use super::{guards, handle};
use crate::backend::{NextRead, Object, Stability, Wait};
use crate::{Access, Error, Kind, Result};

/// Linux moves at most this many bytes in one call.
const MOST_IN_ONE_CALL: usize = 0x7fff_f000;
/// Linux reads at most a window of its own for each advice: a longer range is advised in pieces of this length.
const ADVISED: u64 = 256 * 1024;

impl HostObject {
    /// Opens the data for reading or writing, unless it is open. Permission has been checked: the server's own ids
    /// open, so that one descriptor serves every caller.
    pub(super) fn open_for(&self, want: Access) -> Result<()> {
        self.opened_for(want.contains(Access::WRITE)).map(drop)
    }

    fn opened_for(&self, writes: bool) -> Result<Arc<OwnedFd>> {
        let found = |opened: &OpenDescriptors| match opened.any() {
            Some((fd, can_write)) if can_write || !writes => Some(fd.clone()),
            _ => None,
        };
        if let Some(fd) = found(&self.data.lock()) {
            return Ok(fd);
        }
        let (all, lends) = (&self.shared.objects.all().data, self.lends());
        if lends && !writes {
            all.make_room();
        }
        let mut opened = self.data.lock();
        if let Some(fd) = found(&opened) {
            return Ok(fd); // another thread has opened it meanwhile
        }
        self.shared.act_as_ourselves()?;
        // The host would have this open wait for the server's own lease.
        let way = guards::way(self.id(), writes);
        let new = handle::reopen(self.fd(), if writes { OFlags::RDWR } else { OFlags::RDONLY }).map(Arc::new);
        if let Ok(new) = &new {
            self.shared.read_ahead.advise(new);
            // One descriptor for all: with two, the host gives no lease against readers.
            let descriptor = match (writes, lends) {
                (true, _) => all.writes(new.clone()),
                (false, true) => all.reads(new.clone()),
                (false, false) => Descriptor::uncounted(new.clone()),
            };
            opened.become_only(descriptor, writes);
        }
        if let Some(way) = way {
            way.end(self, opened.any());
        }
        drop(opened);
        if new.is_ok() && lends && !writes {
            self.data.note_use();
            all.lend(&self.data);
        }
        new
    }

    /// Whether the descriptor for reading may be closed while clients have the file open: it can be opened again whatever
    /// has become of the file's mode. Only root can do that, on file systems that do not ask another machine.
    pub(super) fn lends(&self) -> bool {
        let is_here = self.shared.is_local && self.id().device == self.shared.device;
        is_here && self.shared.switches_ids && self.kind() == Kind::File
    }

    pub(super) fn readable(&self) -> Result<Arc<OwnedFd>> {
        let opened = self.data.lock();
        match opened.any() {
            Some((fd, _)) => {
                self.data.note_use();
                Ok(fd.clone())
            }
            None if opened.is_given_up() => {
                drop(opened);
                self.opened_for(false)
            }
            None => Err(Error::Invalid),
        }
    }

    pub(super) fn writable(&self) -> Result<Arc<OwnedFd>> {
        let opened = self.data.lock();
        opened.write.as_ref().map(|write| write.fd().clone()).ok_or(Error::Invalid)
    }

    /// The descriptor of the data, if it is open now.
    fn opened_now(&self) -> Option<Arc<OwnedFd>> {
        self.data.lock().any().map(|(fd, _)| fd.clone())
    }

    pub(super) fn cut(&self, size: u64) -> Result<()> {
        rustix::fs::ftruncate(&*self.writable()?, size).map_err(failure::of("ftruncate", self.fd()))
    }

    pub(super) fn preallocate(&self, length: u64) -> Result<()> {
        let (fd, space) = (
            self.writable()?,
            rustix::fs::fstatvfs(&self.shared.root).map_err(failure::of("fstatvfs", self.fd()))?,
        );
        let missing = length.saturating_sub(self.attributes()?.allocated);
        if missing == 0 {
            return Ok(());
        }
        // The host would first take all the space there is, and keep it.
        if missing > space.f_bavail.saturating_mul(space.f_frsize) {
            return Err(Error::NoSpace);
        }
        rustix::fs::fallocate(&*fd, FallocateFlags::KEEP_SIZE, 0, length)
            .map_err(failure::of("fallocate", &*fd))
    }

    /// Takes the space of a range and makes the file longer if it ends before that.
    pub(super) fn reserve_range(&self, offset: u64, length: u64) -> Result<()> {
        let fd = self.writable()?;
        let space = rustix::fs::fstatvfs(&self.shared.root).map_err(failure::of("fstatvfs", self.fd()))?;
        let missing = length.saturating_sub(self.attributes()?.allocated);
        // The host would first take all the space there is, and keep it.
        if missing > space.f_bavail.saturating_mul(space.f_frsize) {
            return Err(Error::NoSpace);
        }
        rustix::fs::fallocate(&*fd, FallocateFlags::empty(), offset, length)
            .map_err(failure::of("fallocate", &*fd))
    }

    pub(super) fn copy_from(&self, input: &OwnedFd, mut from: u64, mut to: u64, length: u64) -> Result<u64> {
        let (output, end) = (self.writable()?, from.saturating_add(length));
        let start = from;
        while from < end {
            let most = usize::try_from(end - from).unwrap_or(usize::MAX).min(MOST_IN_ONE_CALL);
            match rustix::fs::copy_file_range(input, Some(&mut from), &output, Some(&mut to), most) {
                Ok(0) => break, // the end of the source
                Ok(_) | Err(Errno::INTR) => {}
                Err(_) if from > start => break, // said again when it is asked for the rest
                Err(error) => return Err(failure::of("copy_file_range", &*output)(error)),
            }
        }
        Ok(from - start)
    }

    /// FICLONERANGE, ioctl_ficlonerange(2).
    #[allow(unsafe_code)]
    pub(super) fn clone_from(&self, input: &OwnedFd, from: u64, to: u64, length: u64) -> Result<()> {
        let output = self.writable()?;
        let range = libc::file_clone_range {
            src_fd: i64::from(input.as_raw_fd()),
            src_offset: from,
            src_length: length,
            dest_offset: to,
        };
        // SAFETY: the kernel reads one struct file_clone_range, which lives until the call returns.
        let failed = unsafe { libc::ioctl(output.as_raw_fd(), libc::FICLONERANGE, &raw const range) != 0 };
        if !failed {
            return Ok(());
        }
        match std::io::Error::last_os_error().raw_os_error() {
            Some(libc::ENOTTY) => Err(Error::NotSupported),
            _ => Err(failure::last("FICLONERANGE", Some(output.as_fd()))),
        }
    }

    pub(super) fn sync_to(&self, stability: Stability) -> Result<()> {
        if stability == Stability::Unstable {
            return Ok(());
        }
        self.shared.act_as_ourselves()?;
        let fd = match self.opened_now() {
            Some(fd) => fd,
            None if self.kind() == Kind::File => self.opened_for(false)?,
            None => Arc::new(handle::reopen(self.fd(), OFlags::RDONLY | OFlags::NONBLOCK)?),
        };
        let synced =
            if stability == Stability::Data { rustix::fs::fdatasync(&fd) } else { rustix::fs::fsync(&fd) };
        synced.map_err(failure::of("fsync", &*fd))
    }

    pub(super) fn punch_hole(&self, offset: u64, length: u64) -> Result<()> {
        let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        rustix::fs::fallocate(&*self.writable()?, flags, offset, length)
            .map_err(failure::of("fallocate", self.fd()))
    }

    pub(super) fn seek_to(&self, offset: u64, data: bool) -> Result<Option<u64>> {
        let whence = if data { SeekFrom::Data(offset) } else { SeekFrom::Hole(offset) };
        match rustix::fs::seek(&*self.readable()?, whence) {
            Ok(at) => Ok(Some(at)),
            Err(Errno::NXIO) => Ok(None),
            Err(error) => Err(failure::of("lseek", self.fd())(error)),
        }
    }

    /// The data's descriptor when every page of the range is in memory (cachestat(2), Linux 6.5).
    /// Since 6.14 it answers only a caller that may write the file. Then it is asked again as the
    /// server itself.
    pub(super) fn resident_range(&self, offset: u64, length: u64) -> Option<Arc<OwnedFd>> {
        let fd = self.opened_now()?;
        self.data.note_use();
        let pages = (offset + length).div_ceil(4096) - offset / 4096;
        let cached = match cached_pages(&fd, offset, length) {
            Err(Error::NotPermitted) => {
                self.shared.act_as_ourselves().ok()?;
                cached_pages(&fd, offset, length)
            }
            other => other,
        };
        (cached.ok()? >= pages).then_some(fd)
    }
}

impl HostObject {
    /// Has the host read a range ahead, or lets it forget the range (posix_fadvise). Errors only cost time later.
    pub(super) fn expect_range(&self, offset: u64, length: u64, next: NextRead) {
        let Some(fd) = self.opened_now() else { return };
        let size = self.attributes().map_or(0, |attributes| attributes.size);
        let end = offset.saturating_add(length).min(size);
        let (piece, advice) = match next {
            NextRead::Soon => (ADVISED, Advice::WillNeed),
            NextRead::Never => (u64::MAX, Advice::DontNeed),
        };
        let mut from = offset;
        while let Some(left) = NonZeroU64::new(end.saturating_sub(from).min(piece)) {
            if rustix::fs::fadvise(&*fd, from, Some(left), advice).is_err() {
                return;
            }
            from += left.get();
        }
    }

    /// Has the kernel write a range to the disk, and waits for that (sync_file_range). An error is told by the next real sync.
    #[allow(unsafe_code)]
    pub(super) fn write_out_range(&self, offset: u64, length: u64) {
        const WHOLE: libc::c_uint = libc::SYNC_FILE_RANGE_WAIT_BEFORE
            | libc::SYNC_FILE_RANGE_WRITE
            | libc::SYNC_FILE_RANGE_WAIT_AFTER;
        let (Some(fd), Ok(offset), Ok(length)) =
            (self.opened_now(), i64::try_from(offset), i64::try_from(length))
        else {
            return;
        };
        // SAFETY: the call takes numbers only, and the descriptor is open.
        unsafe { libc::sync_file_range(fd.as_raw_fd(), offset, length, WHOLE) };
    }

    /// Whether its data is open. One that another thread opens just now counts as not open.
    pub(super) fn has_data(&self) -> bool {
        self.kind() == Kind::File && self.data.try_lock().is_some_and(|opened| opened.any().is_some())
    }

    /// The length of its data, and how many bytes of it the page cache has. `None` if the kernel cannot say.
    pub(super) fn cached(&self) -> Option<(u64, u64)> {
        let length = self.attributes().ok()?.size;
        let fd = self.opened_now()?;
        self.shared.act_as_ourselves().ok()?;
        let pages = if length == 0 { 0 } else { cached_pages(&fd, 0, length).ok()? };
        Some((length, pages.saturating_mul(4096).min(length)))
    }
}

/// Appends `length` bytes of an open file from `offset`, fewer where the file ends before that.
pub fn append(fd: &OwnedFd, mut offset: u64, length: usize, into: &mut Vec<u8>) -> Result<()> {
    let end = into.len() + length;
    into.reserve(length);
    while into.len() < end {
        match read_once(fd, offset, end - into.len(), into, Wait::Allowed)? {
            0 => break,
            count => offset += count as u64,
        }
    }
    Ok(())
}

/// Reads once into the spare room of `into`.
#[allow(unsafe_code)]
pub(super) fn read_once(
    fd: &OwnedFd,
    offset: u64,
    length: usize,
    into: &mut Vec<u8>,
    wait: Wait,
) -> Result<usize> {
    let room = into.spare_capacity_mut();
    let length = length.min(room.len()).min(MOST_IN_ONE_CALL);
    let to = libc::iovec { iov_base: room.as_mut_ptr().cast(), iov_len: length };
    let offset = i64::try_from(offset).map_err(|_| Error::Invalid)?;
    let flags = if wait == Wait::Never { libc::RWF_NOWAIT } else { 0 };
    // SAFETY: the kernel writes at most `length` bytes into the vector's spare room, and says how many.
    unsafe {
        let count = libc::preadv2(fd.as_fd().as_raw_fd(), &raw const to, 1, offset, flags);
        match usize::try_from(count) {
            Ok(count) => {
                into.set_len(into.len() + count);
                Ok(count)
            }
            Err(_) if wait == Wait::Never && last_fact() == Error::NotSupported => {
                read_once(fd, offset as u64, length, into, Wait::Allowed)
            }
            Err(_) => Err(failure::last("preadv2", Some(fd.as_fd()))),
        }
    }
}

/// How many pages of the range the page cache holds, where the kernel can say.
#[allow(unsafe_code)]
fn cached_pages(fd: &OwnedFd, offset: u64, length: u64) -> Result<u64> {
    /// The same number on every architecture (it is newer than their common table).
    const SYS_CACHESTAT: libc::c_long = 451;
    let range = [offset, length];
    let mut counts = [0_u64; 5]; // cached, dirty, under write-back, evicted, recently evicted
    // SAFETY: both arrays have the layout of struct cachestat_range and struct cachestat.
    let failed =
        unsafe { libc::syscall(SYS_CACHESTAT, fd.as_raw_fd(), range.as_ptr(), counts.as_mut_ptr(), 0) != 0 };
    if failed { Err(last_fact()) } else { Ok(counts[0]) }
}
