//! A folder of the host's file system.
//!
//! Everything is reached relative to the share's root descriptor, never through a link, so that
//! nothing outside the folder can be named. File systems that are mounted inside it are entered
//! (`mounts.rs`). This folder is the only place that calls the file system, and the only one with
//! `unsafe`: for calls that have no safe wrapper (file handles, file-system ids, cache residency).

mod cache;
mod descriptors;
pub(super) mod failure;
mod file;
mod file_system;
mod folder;
mod guards;
mod handle;
mod identity;
mod lost;
mod making;
mod metered;
mod mounts;
mod numbers;
mod object;
mod options;
mod private;
mod recount;
mod speed;
mod watch;
mod xattr;

pub use cache::{FILE_BYTES, KeptFiles, Resident};
pub use file::append;
pub(crate) use identity::links_are_protected;
pub(crate) use metered::number_in;
pub use options::{HostOptions, ReadAhead};
pub use recount::recount;
pub use speed::{ReadSpeed, read_speed};

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use rustix::fs::{AtFlags, CWD, Mode, OFlags, Statx, StatxFlags};

use self::cache::Objects;
use self::lost::Traces;
use self::mounts::Mounts;
use self::object::{HostObject, attributes_of};
use self::private::Private;
use self::watch::Watches;
use super::{Backend, DataNotice, Finds, Found, Limits, Object, Space, WatchEvent, WatchId};
use crate::quota::Meter;
use crate::{Caller, Error, FileId, HostKey, LastingKey, Result};

/// One shared folder. Cheap to clone.
#[derive(Clone)]
pub struct Host {
    shared: Arc<HostVolume>,
    /// The share's folder, once it was asked for.
    root: Arc<OnceLock<Arc<dyn Object>>>,
}

/// What all objects of one volume share.
struct HostVolume {
    root: OwnedFd,
    device: u32,
    /// The number of the root's file system, if files can be opened by handle.
    file_system: u64,
    /// Runs each call with the caller's ids.
    switches_ids: bool,
    /// No other machine has a say in who may open a file.
    is_local: bool,
    /// Where files can be opened by handle. Without it [`Traces`] and a search of the tree find them.
    mount: Option<OwnedFd>,
    /// The mount that the root is on, where the host has handles.
    mount_id: Option<i32>,
    /// The same if an inode number is that of one file of this mount.
    numbered_mount: Option<u64>,
    /// File systems that are mounted inside the share, which are part of it if `cross_mounts`.
    mounts: Mounts,
    cross_mounts: bool,
    /// Keys of a snapshot's files as those of the live ones.
    as_live: Option<handle::AsLive>,
    /// The server's own identity, if it cannot switch.
    ourselves: Caller,
    read_only: bool,
    private: Option<Private>,
    meter: Arc<Meter>,
    read_ahead: ReadAhead,
    limits: Limits,
    objects: Objects,
    traces: Traces,
    watches: Watches,
}

/// The access to a file that is needed.
const WANTED: StatxFlags = StatxFlags::BASIC_STATS.union(StatxFlags::BTIME);

/// How a file was opened. The kernel tells a folder's watchers of changes to files that were reached through it; one
/// opened by its handle may not know its folder.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OpenMethod {
    ByName,
    ByHandle,
}

impl Host {
    /// Opens the folder at `path`, which is followed once, now, if it is a link.
    pub fn open(path: &Path, options: &HostOptions) -> Result<Self> {
        if !options.keeps_umask {
            rustix::process::umask(Mode::empty());
        }
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = rustix::fs::openat(CWD, path, flags, Mode::empty()).map_err(failure::of_entry(
            "openat",
            CWD,
            path.as_os_str().as_encoded_bytes(),
        ))?;
        let stat = stat(root.as_fd())?;
        let root_user = rustix::process::geteuid().is_root();
        let mount = handle::mount_of(root.as_fd());
        let file_system = mount.as_ref().map_or(Ok(0), |mount| file_system::number(mount.as_fd()))?;
        let mount_id = handle::key_at(root.as_fd(), b"").ok().map(|(_, mount)| mount);
        let as_live = options.snapshot_of.and_then(|live| handle::AsLive::new(root.as_fd(), &live));
        let is_numbered = mount.is_some() && as_live.is_none() && file_system::is_numbered(root.as_fd());
        let numbered_mount = mount_id.filter(|_| is_numbered).and_then(|mount| u64::try_from(mount).ok());
        let shared = HostVolume {
            file_system,
            device: FileId::device_of(stat.stx_dev_major, stat.stx_dev_minor),
            mounts: Mounts::default(),
            cross_mounts: options.cross_mounts,
            switches_ids: root_user,
            is_local: file_system::is_local(root.as_fd()),
            mount,
            mount_id,
            numbered_mount,
            as_live,
            ourselves: ourselves(),
            read_only: options.read_only,
            private: options.private.as_ref().and_then(|path| Private::new(path, &root)),
            meter: options.meter.clone(),
            read_ahead: options.read_ahead,
            limits: file_system::limits(root.as_fd())?,
            objects: Objects::new(&options.open_files),
            traces: Traces::default(),
            watches: if options.snapshot_of.is_some() || options.shared {
                Watches::none()
            } else {
                Watches::new()
            },
            root,
        };
        Ok(Self { shared: Arc::new(shared), root: Arc::default() })
    }

    /// How many files are kept open.
    pub fn open_files(&self) -> usize {
        self.shared.objects.len()
    }
}

/// The kept objects hold the volume, and so would keep an unmounted disk in use.
impl Drop for Host {
    fn drop(&mut self) {
        self.shared.objects.clear();
    }
}

impl Backend for Host {
    fn root(&self) -> Result<Found> {
        let found = match self.root.get() {
            Some(object) => Found { object: object.clone(), attributes: object.attributes()? },
            None => {
                let found = self.shared.top()?;
                let _ = self.root.set(found.object.clone()); // the same as the faster thread's
                found
            }
        };
        // If another program has removed the folder, the server's descriptor still holds it, but it
        // cannot have entries any more.
        if found.attributes.links > 0 { Ok(found) } else { Err(Error::Stale) }
    }

    fn by_key(&self, key: &HostKey) -> Result<Found> {
        let found = match self.shared.objects.find(key) {
            Some(object) => {
                let attributes = object.attributes()?;
                Found { object, attributes }
            }
            None => self.shared.find_unkept(key)?,
        };
        if found.attributes.links == 0 {
            // Without a name it exists only while it is open.
            self.shared.objects.forget(key);
            return Err(Error::Stale);
        }
        Ok(found)
    }

    fn finds(&self, key: &HostKey) -> Finds {
        match (self.shared.mount.is_some(), handle::is_by_birth(key)) {
            (true, false) => Finds::Always,
            (false, true) => Finds::IfSeen,
            _ => Finds::Never,
        }
    }

    fn path_hint(&self, object: &dyn Object) -> Option<Vec<Vec<u8>>> {
        let object: &HostObject = object.as_any().downcast_ref()?;
        let of = |path: String| rustix::fs::readlink(path, Vec::new()).ok().map(|path| path.into_bytes());
        let (root, path) = (of(handle::as_path(self.shared.root.as_fd()))?, of(object.path())?);
        let below = match path.strip_prefix(root.strip_suffix(b"/").unwrap_or(&root))? {
            b"" => return Some(Vec::new()),
            below => below.strip_prefix(b"/")?,
        };
        Some(below.split(|byte| *byte == b'/').map(<[u8]>::to_vec).collect())
    }

    fn file_system(&self, file: FileId) -> u64 {
        if file.device == self.shared.device { 0 } else { self.shared.mounts.file_system(file.device) }
    }

    fn lasting_key(&self, key: &HostKey) -> Result<LastingKey> {
        self.shared.lasting_key(key)
    }

    fn keys_of(&self, file: &LastingKey, with_all_mounts: bool) -> Vec<HostKey> {
        self.shared.keys_of(file, with_all_mounts)
    }

    fn homes(&self, key: &HostKey) -> Result<Vec<Arc<dyn Object>>> {
        match key.mount() {
            None => Ok(vec![self.root()?.object]),
            Some(mount) => {
                self.shared.act_as_ourselves()?;
                let root = self.shared.root_of_mount(mount)?;
                let adopt = |root| Ok(self.shared.adopt(root, OpenMethod::ByName)?.object);
                root.into_iter().map(adopt).collect()
            }
        }
    }

    fn above(&self) -> Vec<Arc<dyn Object>> {
        self.shared.folders_above()
    }

    fn has_mounts(&self) -> bool {
        self.shared.mounts.are_entered()
    }

    fn space(&self, at: &dyn Object) -> Result<Space> {
        let at: &HostObject = at.as_any().downcast_ref().ok_or(Error::CrossVolume)?;
        let stat = rustix::fs::fstatvfs(at.fd()).map_err(failure::of("fstatvfs", at.fd()))?;
        let space = Space {
            total: stat.f_blocks * stat.f_frsize,
            free: stat.f_bfree * stat.f_frsize,
            available: stat.f_bavail * stat.f_frsize,
            files: stat.f_files,
            files_free: stat.f_ffree,
            block_size: u32::try_from(stat.f_frsize).unwrap_or(4096),
            quota: None,
        };
        let (device, meter) = at.place_of_meter();
        Ok(if at.id().device == device { meter.shown(space) } else { space })
    }

    fn sync(&self) -> Result<()> {
        self.shared.act_as_ourselves()?;
        let root = handle::reopen(self.shared.root.as_fd(), OFlags::RDONLY | OFlags::DIRECTORY)?; // ours only leads there
        rustix::fs::syncfs(&root).map_err(failure::of("syncfs", &root))
    }

    fn limits(&self) -> Limits {
        self.shared.limits
    }

    fn limits_of(&self, file: FileId) -> Limits {
        let other = (file.device != self.shared.device).then(|| self.shared.mounts.limits(file.device));
        other.flatten().unwrap_or(self.shared.limits)
    }

    fn watch(&self, folder: &dyn Object, data: DataNotice) -> Option<WatchId> {
        self.shared.act_as_ourselves().ok()?;
        self.shared.watches.add(folder.as_any().downcast_ref()?, data)
    }

    fn unwatch(&self, watch: WatchId, data: DataNotice) {
        self.shared.watches.remove(watch, data);
    }

    fn watch_events(&self, sink: &mut dyn FnMut(WatchEvent)) {
        self.shared.watches.take(sink);
    }

    fn wait_for_events(&self, most: Duration) -> bool {
        self.shared.watches.wait(most)
    }

    fn effective<'a>(&'a self, caller: &'a Caller) -> &'a Caller {
        self.shared.effective(caller)
    }

    fn own_user(&self) -> u32 {
        self.shared.ourselves.uid
    }

    /// Forgets files not used since the last call but one, so that a file removed by a local
    /// program frees its space.
    fn tend(&self) {
        self.shared.objects.forget_idle();
        self.shared.mounts.forget_idle();
    }
}

impl HostVolume {
    fn find_unkept(self: &Arc<Self>, key: &HostKey) -> Result<Found> {
        let Some(mount) = self.mount.as_ref().filter(|_| !handle::is_by_birth(key)) else {
            return self.find_lost(key);
        };
        self.act_as_ourselves()?;
        let opened = match key.mount() {
            None => handle::open(mount.as_fd(), &self.of_host(*key))?,
            Some(number) if self.cross_mounts => self.open_on_mount(number, key)?,
            Some(_) => return Err(Error::Stale),
        };
        self.adopt(opened, OpenMethod::ByHandle)
    }

    /// The key of the entry `name` of a folder (or of `at` itself when `name` is empty) by its handle. `NotSupported` if it
    /// has none, `CrossVolume` if it is on a mount that was not entered yet or must not be.
    fn key_at(&self, at: BorrowedFd<'_>, name: &[u8]) -> Result<HostKey> {
        if self.mount.is_none() {
            return Err(Error::NotSupported);
        }
        let (handle, mount) = handle::key_at(at, name)?;
        match self.mount_id == Some(mount) {
            true => Ok(self.as_live.as_ref().map_or(handle, |live| live.shown(handle))),
            false if !self.cross_mounts => Err(Error::CrossVolume),
            false => self.mounts.key(mount, &handle).ok_or(Error::CrossVolume),
        }
    }

    /// The host's own key of a file with this key.
    fn of_host(&self, key: HostKey) -> HostKey {
        self.as_live.as_ref().map_or(key, |live| live.of_host(key))
    }

    /// The key of an open file. A mount that it is on is entered.
    fn key_of(&self, fd: BorrowedFd<'_>, stat: &Statx) -> Result<HostKey> {
        match self.key_at(fd, b"") {
            Err(Error::NotSupported) => handle::key_by_birth(stat),
            Err(Error::CrossVolume) if self.cross_mounts => {
                let (handle, mount) = handle::key_at(fd, b"")?;
                self.act_as_ourselves()?;
                match self.mounts.enter(mount, fd, &handle) {
                    Err(Error::NotSupported) => handle::key_by_birth(stat),
                    other => other,
                }
            }
            other => other,
        }
    }

    /// The object for a path-only descriptor, the one already kept if there is one.
    fn adopt(self: &Arc<Self>, fd: OwnedFd, reached: OpenMethod) -> Result<Found> {
        let stat = stat(fd.as_fd())?;
        if let Some(private) = &self.private {
            private.refuse(fd.as_fd(), &stat, reached)?;
        }
        let key = self.key_of(fd.as_fd(), &stat)?;
        let attributes = attributes_of(&stat);
        if attributes.id.device != self.device {
            self.mounts.note_file_system(attributes.id.device, fd.as_fd());
        }
        let make = || HostObject::new(self.clone(), Arc::new(fd), key, &attributes, reached);
        let object = self.objects.keep(key, reached, make);
        Ok(Found { object, attributes })
    }

    /// The share's folder, by a descriptor of its own, which programs that are started do not get.
    fn top(self: &Arc<Self>) -> Result<Found> {
        let fd = rustix::io::fcntl_dupfd_cloexec(&self.root, 0).map_err(failure::of("dup", &self.root))?;
        self.adopt(fd, OpenMethod::ByName)
    }

    /// The folders above the share's folder on the same file system, the nearest first.
    fn folders_above(self: &Arc<Self>) -> Vec<Arc<dyn Object>> {
        const DEEPEST: usize = 256;
        let mut above: Vec<Arc<dyn Object>> = Vec::new();
        let Ok(mut below) = self.top() else {
            return above;
        };
        while above.len() < DEEPEST
            && let Some(object) = below.object.as_any().downcast_ref::<HostObject>()
            && let Ok(fd) =
                rustix::fs::openat(object.fd(), c"..", OFlags::PATH | OFlags::CLOEXEC, Mode::empty())
            && self.is_on_own_mount(fd.as_fd())
            && let Ok(found) = self.adopt(fd, OpenMethod::ByName)
            && (found.attributes.id.device, found.object.key().mount()) == (self.device, None)
            && found.attributes.id != below.attributes.id
        {
            above.push(found.object.clone());
            below = found;
        }
        above
    }

    /// Whether a folder is on the mount that the share's folder is on. Others outside the share must not be entered.
    fn is_on_own_mount(&self, folder: BorrowedFd<'_>) -> bool {
        let is_it = |own| handle::key_at(folder, b"").is_ok_and(|(_, mount)| mount == own);
        self.mount_id.is_none_or(is_it)
    }

    fn by_handle(&self) -> bool {
        self.mount.is_some()
    }

    fn act_as(&self, caller: &Caller) -> Result<()> {
        if self.switches_ids { identity::act_as(caller) } else { Ok(()) }
    }

    fn act_as_ourselves(&self) -> Result<()> {
        if self.switches_ids { identity::act_as_ourselves() } else { Ok(()) }
    }

    /// Switches to the caller's ids for a change.
    fn act_to_change(&self, caller: &Caller) -> Result<()> {
        if self.read_only {
            return Err(Error::ReadOnly);
        }
        self.act_as(caller)
    }

    /// The identity whose permissions count.
    fn effective<'a>(&'a self, caller: &'a Caller) -> &'a Caller {
        if self.switches_ids { caller } else { &self.ourselves }
    }
}

/// Runs `f` with the server's own ids: for code that touches other files than the share's (settings, state) on a
/// thread that may have served a caller.
pub fn as_ourselves<T>(f: impl FnOnce() -> T) -> Result<T> {
    if rustix::process::geteuid().is_root() {
        identity::act_as_ourselves()?;
    }
    Ok(f())
}

fn ourselves() -> Caller {
    let groups = rustix::process::getgroups().unwrap_or_default();
    let groups: Vec<u32> = groups.into_iter().map(rustix::process::Gid::as_raw).collect();
    Caller::new(rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw(), &groups)
}

fn stat(fd: BorrowedFd<'_>) -> Result<Statx> {
    rustix::fs::statx(fd, c"", AtFlags::EMPTY_PATH, WANTED).map_err(failure::of("statx", fd))
}

/// What [`stat`] says, of a folder's entry.
fn stat_at(folder: BorrowedFd<'_>, name: &[u8]) -> Result<Statx> {
    rustix::fs::statx(folder, name, AtFlags::SYMLINK_NOFOLLOW, WANTED)
        .map_err(failure::of_entry("statx", folder, name))
}
