//! A folder of CephFS, by Ceph's client library (the crate `cephfs`), without a mount of the host.
//!
//! Every call acts as the caller: the library compares the ids with modes and ACLs. Data is opened as the server after the
//! same check, so that one open file serves all callers. The cluster has no descriptors, no copies that share blocks and no
//! notices of other clients' changes: `resident`, `clone_range`, `copy_range` and `watch` have nothing, and listings are not
//! kept.
//!
//! The key of a file is its inode number, which Ceph never uses twice. Files in a snapshot have those of the live ones.

mod file;
mod folder;
mod kept;
mod object;
mod space;

use std::path::Path;
use std::sync::Arc;

use cephfs::{CephCaller, CephRefusal, Inode, LIVE, Mount, Place, SNAPSHOTS, Stat};
use lock::Mutex;
use rustix::io::Errno;

use self::kept::ObjectTable;
use self::object::{CephObject, attributes_of};
use super::forest::free_device;
use super::host::failure;
use super::{Backend, Found, Limits, Object, Space};
use crate::ranks;
use crate::{Attributes, Caller, Error, FileId, HostKey, LastingKey, Result};

/// The first byte of a key. Linux has no handles of this type, and it is not that of a mount.
const KEY: u8 = 0xce;
/// A value and its name must leave room for others within the 64 KiB of a file (`mds_max_xattr_pairs_size`).
const LARGEST_XATTR: u32 = 60 << 10;
/// The most folders between a file and the root of the file system.
const DEEPEST: usize = 4096;

/// The parameters of [`Ceph::open`].
#[derive(Debug, Clone, Copy, Default)]
pub struct CephOptions {
    /// Refuses every change.
    pub read_only: bool,
}

/// One shared folder. Cheap to clone.
#[derive(Clone)]
pub struct Ceph {
    shared: Arc<CephVolume>,
}

/// What all objects of one volume share.
struct CephVolume {
    mount: Arc<Mount>,
    root: Inode,
    root_number: u64,
    /// [`LIVE`], or the snapshot that all files are in.
    snapshot: u64,
    device: u32,
    read_only: bool,
    kept: ObjectTable,
}

/// A file system and a snapshot of it.
type Moment = (u64, u64);

/// The device numbers of file systems and their snapshots, as long as the process runs.
static DEVICES: Mutex<Vec<(Moment, u32)>, ranks::HostDevices> = Mutex::new(Vec::new());

/// The device number of the files of a snapshot, or of the live ones.
fn device(file_system: u64, snapshot: u64) -> u32 {
    let (mut known, wanted) = (DEVICES.lock(), (file_system, snapshot));
    match known.binary_search_by_key(&wanted, |(of, _)| *of) {
        Ok(at) => known[at].1,
        Err(at) => {
            let device = free_device();
            known.insert(at, (wanted, device));
            device
        }
    }
}

/// The result of a call of the library as a fact. Disk errors are in the log.
fn failed(call: &'static str) -> impl FnOnce(Errno) -> Error {
    move |errno| failure::of_call(call, errno)
}

impl Ceph {
    /// Opens a folder; a link on the way to it is refused.
    ///
    /// # Errors
    /// The library is missing, the cluster cannot be reached, or there is no such folder.
    pub fn open(place: &Place, options: &CephOptions) -> std::result::Result<Self, CephRefusal> {
        let mount = Mount::open(&place.source)?;
        let open = || {
            let mut root = mount.root()?;
            let mut stat = root.stat()?;
            for name in place.names()? {
                (root, stat) = root.lookup(&mount.server(), name)?;
            }
            match stat.mode & libc::S_IFMT {
                libc::S_IFDIR => Ok((root, stat)),
                _ => Err(Errno::NOTDIR),
            }
        };
        let (root, stat) = open().map_err(|why| CephRefusal::Folder {
            name: mount.name().into(),
            path: Path::new("/").join(&place.folder).display().to_string(),
            why,
        })?;
        Ok(Self::at(mount, root, &stat, options.read_only))
    }

    fn at(mount: Arc<Mount>, root: Inode, stat: &Stat, read_only: bool) -> Self {
        let device = device(mount.number(), stat.snapshot);
        let (root_number, snapshot, kept) = (stat.inode, stat.snapshot, ObjectTable::default());
        Self { shared: Arc::new(CephVolume { mount, root, root_number, snapshot, device, read_only, kept }) }
    }

    /// The folder as it was when a snapshot of it was taken. Its files have the keys of the live ones, by which what is kept
    /// apart from a file is found.
    ///
    /// # Errors
    /// There is no such snapshot.
    pub fn snapshot(&self, name: &[u8]) -> Result<Self> {
        let (mount, server) = (&self.shared.mount, self.shared.mount.server());
        let (all, _) = self.shared.root.lookup(&server, SNAPSHOTS).map_err(failed("ceph_ll_lookup"))?;
        let (root, stat) = all.lookup(&server, name).map_err(failed("ceph_ll_lookup"))?;
        Ok(Self::at(mount.clone(), root, &stat, true))
    }

    /// The folder of the share as a file: device and inode number.
    #[must_use]
    pub fn root_id(&self) -> FileId {
        FileId::new(self.shared.device, self.shared.root_number)
    }
}

/// The kept objects hold the volume, and so would keep the file system mounted.
impl Drop for Ceph {
    fn drop(&mut self) {
        self.shared.kept.clear();
    }
}

impl Backend for Ceph {
    fn root(&self) -> Result<Found> {
        let shared = &self.shared;
        let inode =
            shared.mount.find(shared.root_number, shared.snapshot).map_err(failed("ceph_ll_lookup_vino"))?;
        let found = shared.adopt_fresh(inode)?;
        if found.attributes.links > 0 { Ok(found) } else { Err(Error::Stale) }
    }

    fn by_key(&self, key: &HostKey) -> Result<Found> {
        let shared = &self.shared;
        if let Some(object) = shared.kept.find(key) {
            let attributes = object.attributes()?;
            if attributes.links > 0 {
                return Ok(Found { object, attributes });
            }
            shared.kept.forget(key);
            return Err(Error::Stale);
        }
        let number = number_of(key).ok_or(Error::Stale)?;
        let gone = |errno| match errno {
            Errno::NOENT | Errno::INVAL => Error::Stale,
            errno => failure::of_call("ceph_ll_lookup_vino", errno),
        };
        let inode = shared.mount.find(number, shared.snapshot).map_err(gone)?;
        match shared.adopt_fresh(inode) {
            Ok(found) if found.attributes.links > 0 => Ok(found),
            Ok(_) | Err(Error::NotFound) => Err(Error::Stale),
            Err(error) => Err(error),
        }
    }

    fn lasting_key(&self, key: &HostKey) -> Result<LastingKey> {
        Ok(LastingKey { file_system: self.shared.number(), key: *key })
    }

    fn keys_of(&self, file: &LastingKey, _with_all_mounts: bool) -> Vec<HostKey> {
        if file.file_system == self.shared.number() { vec![file.key] } else { Vec::new() }
    }

    fn above(&self) -> Vec<Arc<dyn Object>> {
        let mut above: Vec<Arc<dyn Object>> = Vec::new();
        let Ok(mut at) = self.root() else { return above };
        while above.len() < DEEPEST
            && let Ok(Some(up)) = self.shared.folder_above(&at)
        {
            above.push(up.object.clone());
            at = up;
        }
        above
    }

    fn space(&self, at: &dyn Object) -> Result<Space> {
        self.shared.space(CephObject::of(at)?)
    }

    fn sync(&self) -> Result<()> {
        self.shared.mount.sync().map_err(failed("ceph_sync_fs"))
    }

    fn limits(&self) -> Limits {
        Limits { name: 255, file_size: 1 << 40, links: 65_000, xattr: LARGEST_XATTR, time_step_ns: 1 }
    }

    /// Closes files that were not used since the last call but one: open data of this server keeps the other clients of the
    /// cluster from having it for themselves.
    fn tend(&self) {
        self.shared.kept.forget_idle();
    }
}

/// The inode number in a key.
fn number_of(key: &HostKey) -> Option<u64> {
    match key.as_bytes() {
        [KEY, number @ ..] => Some(u64::from_be_bytes(number.try_into().ok()?)),
        _ => None,
    }
}

fn key_of(inode: u64) -> HostKey {
    let mut bytes = [KEY; 9];
    bytes[1..].copy_from_slice(&inode.to_be_bytes());
    HostKey::of_padded(&bytes, 9)
}

impl CephVolume {
    /// The number of the file system, or of the snapshot.
    fn number(&self) -> u64 {
        match self.snapshot {
            LIVE => self.mount.number(),
            snapshot => (self.mount.number() ^ snapshot.wrapping_mul(0x9e37_79b9_7f4a_7c15)).max(1),
        }
    }

    fn who(&self, caller: &Caller) -> CephCaller<'_> {
        if caller.uid == 0 && caller.gid == 0 {
            return self.mount.server();
        }
        self.mount.who(caller.uid, caller.gid, &caller.groups)
    }

    fn attributes(&self, stat: &Stat) -> Attributes {
        attributes_of(stat, self.device)
    }

    /// The object of a file that was found: the kept one, if there is one.
    fn adopt(self: &Arc<Self>, inode: Inode, stat: &Stat) -> Found {
        let (key, attributes) = (key_of(stat.inode), self.attributes(stat));
        let make = || CephObject::new(self.clone(), inode, key, &attributes);
        Found { object: self.kept.keep(key, make), attributes }
    }

    fn adopt_fresh(self: &Arc<Self>, inode: Inode) -> Result<Found> {
        let stat = inode.stat().map_err(failed("ceph_ll_getattr"))?;
        Ok(self.adopt(inode, &stat))
    }

    /// The folder that a folder is in, `None` for the root of the file system.
    fn folder_above(self: &Arc<Self>, folder: &Found) -> Result<Option<Found>> {
        let (inode, stat) = CephObject::of(&*folder.object)?
            .inode
            .lookup(&self.mount.server(), b"..")
            .map_err(failed("ceph_ll_lookup"))?;
        Ok((stat.inode != folder.attributes.id.inode).then(|| self.adopt(inode, &stat)))
    }

    fn to_change(&self) -> Result<()> {
        if self.read_only { Err(Error::ReadOnly) } else { Ok(()) }
    }
}

/// Names that have a meaning of their own in Ceph: no client makes or removes snapshots by them.
fn refuse_snapshots(name: &[u8]) -> Result<()> {
    if name == SNAPSHOTS { Err(Error::InvalidName) } else { Ok(()) }
}
