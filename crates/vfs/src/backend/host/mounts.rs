//! File systems that are mounted inside a share.
//!
//! A look-up of a name enters them, as it does for local programs. What differs is identity: handles of two file systems may
//! be equal, so a key from a mount begins with the number of that mount. The number is made of the file system's number and the
//! folder of it that is mounted, so it stays the same over restarts.

use std::collections::HashMap;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use formats::mountinfo::{self, MountInfo};
use lock::Mutex;
use rustix::fs::{Mode, OFlags, ResolveFlags};
use siphasher::sip::SipHasher24;

use super::{HostVolume, failure, file_system, handle};
use crate::backend::Limits;
use crate::ranks;
use crate::{Error, HostKey, LastingKey, Result};

/// Most mounts inside a share that are used at a time.
const MOST_MOUNTS: usize = 1_024;
/// The longest list of mounts that is read.
const MOST_LISTED: u64 = 4 << 20;

/// One mount inside the share.
struct InnerMount {
    /// The host's number of the mount, which ends with it.
    id: i32,
    /// The number in the keys of its files.
    number: u64,
    /// The number of its file system.
    file_system: u64,
    /// A file on it, at which handles are opened: the folder that is mounted, if `is_root`.
    folder: OwnedFd,
    is_root: bool,
    /// Used since the last sweep.
    used: AtomicBool,
}

/// The mounts that were entered, and the numbers of file systems.
#[derive(Default)]
pub(super) struct Mounts {
    entered: Mutex<Vec<Arc<InnerMount>>, ranks::HostMounts>,
    /// By device number.
    file_systems: Mutex<HashMap<u32, (u64, Limits)>, ranks::HostFileSystems>,
}

impl Mounts {
    pub(super) fn are_entered(&self) -> bool {
        !self.entered.lock().is_empty()
    }

    fn find(&self, is_it: impl Fn(&InnerMount) -> bool) -> Option<Arc<InnerMount>> {
        let mount = self.entered.lock().iter().find(|mount| is_it(mount)).cloned()?;
        mount.used.store(true, Ordering::Relaxed);
        Some(mount)
    }

    /// The key of a file whose handle was found on this mount. `None` if the mount was not entered yet.
    pub(super) fn key(&self, mount: i32, handle: &HostKey) -> Option<HostKey> {
        handle.on_mount(self.find(|entered| entered.id == mount)?.number)
    }

    /// Enters the mount that `at` is on, and gives the key of a file on it with this handle. This thread acts as the server.
    pub(super) fn enter(&self, mount: i32, at: BorrowedFd<'_>, handle: &HostKey) -> Result<HostKey> {
        if let Some(key) = self.key(mount, handle) {
            return Ok(key);
        }
        let listed = listed()?.into_iter().find(|listed| listed.id == mount).ok_or(Error::Stale)?;
        let (folder, is_root) = match root_of(&listed) {
            Some(root) => (root, true),
            // A file can be mounted, too: it is the only one that its handle is opened for.
            None => (handle::reopen(at, OFlags::RDONLY | OFlags::NONBLOCK)?, false),
        };
        let file_system = file_system::number(folder.as_fd())?;
        let number = number_of(file_system, listed.root.as_os_str().as_encoded_bytes());
        let mut entered = self.entered.lock();
        if entered.len() >= MOST_MOUNTS {
            return Err(Error::TooMany);
        }
        if entered.iter().all(|known| known.id != mount) {
            tracing::debug!(place = %listed.point.display(), "entering a file system that is mounted inside the share");
            let used = AtomicBool::new(true);
            entered.push(Arc::new(InnerMount { id: mount, number, file_system, folder, is_root, used }));
        }
        drop(entered);
        handle.on_mount(number).ok_or(Error::NotSupported)
    }

    /// Notes the number and the limits of the file system that `at` is on.
    pub(super) fn note_file_system(&self, device: u32, at: BorrowedFd<'_>) {
        let mut known = self.file_systems.lock();
        if !known.contains_key(&device)
            && let (Ok(id), Ok(limits)) = (file_system::reported(at, device), file_system::limits(at))
        {
            known.insert(device, (number_of(id, b""), limits));
        }
    }

    pub(super) fn file_system(&self, device: u32) -> u64 {
        let known = self.file_systems.lock().get(&device).map(|(number, _)| *number);
        known.unwrap_or_else(|| nonzero(SipHasher24::new().hash(&device.to_be_bytes())))
    }

    pub(super) fn limits(&self, device: u32) -> Option<Limits> {
        self.file_systems.lock().get(&device).map(|(_, limits)| *limits)
    }

    /// Closes what was not used since the last call, so that it can be unmounted.
    pub(super) fn forget_idle(&self) {
        self.entered.lock().retain(|mount| mount.used.swap(false, Ordering::Relaxed));
    }
}

impl HostVolume {
    /// A descriptor on the mount with this number, at which handles of its files are opened.
    pub(super) fn open_on_mount(&self, number: u64, key: &HostKey) -> Result<OwnedFd> {
        handle::open(self.mount_numbered(number)?.folder.as_fd(), key)
    }

    fn mount_numbered(&self, number: u64) -> Result<Arc<InnerMount>> {
        let find = || self.mounts.find(|mount| mount.number == number);
        match find() {
            Some(mount) => Ok(mount),
            None => {
                self.act_as_ourselves()?;
                self.enter_all()?;
                find().ok_or(Error::Stale)
            }
        }
    }

    /// The key of a file that is the same in each share. A key made of the birth time has the device number in it.
    pub(super) fn lasting_key(&self, key: &HostKey) -> Result<LastingKey> {
        let (file_system, key) = match key.split_mount() {
            _ if handle::is_by_birth(key) => (0, key.local()),
            None => (self.file_system, self.of_host(*key)),
            Some((number, key)) => (self.mount_numbered(number)?.file_system, key),
        };
        Ok(LastingKey { file_system, key })
    }

    /// The keys that a file may have here. On the root's file system only the first one counts, unless all mounts are asked
    /// for: most files have no other one.
    pub(super) fn keys_of(&self, file: &LastingKey, with_all_mounts: bool) -> Vec<HostKey> {
        if let Some(live) = &self.as_live {
            return live.shown_alone(file.key).into_iter().collect(); // it has no mounts
        }
        let is_of_root = [0, self.file_system].contains(&file.file_system);
        if is_of_root && (!with_all_mounts || file.file_system == 0) {
            return vec![file.key];
        }
        if with_all_mounts && self.cross_mounts {
            let _ = self.act_as_ourselves().and_then(|()| self.enter_all()); // then those that are known count
        }
        let mounts = self.mounts.entered.lock();
        let there = mounts.iter().filter(|mount| mount.file_system == file.file_system);
        let on_mounts = there.filter_map(|mount| file.key.on_mount(mount.number));
        is_of_root.then_some(file.key).into_iter().chain(on_mounts).collect()
    }

    /// Enters all mounts inside the share: after a restart, clients have keys of files on them.
    fn enter_all(&self) -> Result<()> {
        let root = rustix::fs::readlink(handle::as_path(self.root.as_fd()), Vec::new())
            .map_err(failure::of("readlink", &self.root))?;
        let root = Path::new(root.to_str().map_err(|_| Error::Invalid)?).to_owned();
        for listed in listed()? {
            let Ok(below) = listed.point.strip_prefix(&root) else { continue };
            if below.as_os_str().is_empty() {
                continue;
            }
            let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
            let Ok(at) = rustix::fs::openat2(&self.root, below, flags, Mode::empty(), resolve) else {
                continue;
            };
            if let Ok((handle, mount)) = handle::key_at(at.as_fd(), b"")
                && mount == listed.id
            {
                let _ = self.mounts.enter(mount, at.as_fd(), &handle); // one that cannot be entered hides no other
            }
        }
        Ok(())
    }

    /// The folder that is mounted with this number. `None` if a file is mounted.
    pub(super) fn root_of_mount(&self, number: u64) -> Result<Option<OwnedFd>> {
        let mount = self.mount_numbered(number)?;
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let open = || {
            let root = rustix::fs::openat(&mount.folder, c".", flags, Mode::empty());
            root.map_err(failure::of("openat", &mount.folder))
        };
        mount.is_root.then(open).transpose()
    }
}

/// The folder that is mounted, unless another mount hides it.
fn root_of(listed: &MountInfo) -> Option<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let root = rustix::fs::open(&listed.point, flags, Mode::empty()).ok()?;
    handle::key_at(root.as_fd(), b"").is_ok_and(|(_, mount)| mount == listed.id).then_some(root)
}

/// The number of a folder that is mounted: its file system's number, and the folder there.
fn number_of(file_system: u64, root: &[u8]) -> u64 {
    nonzero(SipHasher24::new().hash(&[&file_system.to_be_bytes(), root].concat()))
}

/// 0 stands for the file system of the share's folder.
fn nonzero(number: u64) -> u64 {
    number.max(1)
}

/// The mounts of this process.
fn listed() -> Result<Vec<MountInfo>> {
    use std::io::Read as _;
    let mut list = Vec::new();
    let file = std::fs::File::open("/proc/self/mountinfo").map_err(|_| Error::Io)?;
    file.take(MOST_LISTED).read_to_end(&mut list).map_err(|_| Error::Io)?;
    Ok(mountinfo::mounts(&list).collect())
}

/// Where file systems with this device number are mounted.
pub(super) fn places_of(device: u32) -> Result<Vec<PathBuf>> {
    let on_it = listed()?.into_iter().filter(|listed| listed.device == device);
    Ok(on_it.map(|listed| listed.point).collect())
}
