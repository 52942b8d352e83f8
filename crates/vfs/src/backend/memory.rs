//! A volume in memory, for tests: what a POSIX file system does, permissions included, without a disk.
//!
//! One lock guards the whole tree; an object is a number in it. As on a host, inode numbers of
//! deleted files are used again (with a new [`HostKey`]), and a file without names exists as long
//! as its object is held.

mod file;
mod folder;
mod inode;
mod object;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU32, Ordering};

use lock::{Mutex, MutexGuard};

use self::file::PAGE;
use self::folder::Folder;
use self::inode::{InodeContent, MemoryInode};
use self::object::MemoryObject;
use super::{Backend, Found, Limits, Object, Space};
use crate::ranks;
use crate::{Error, FileId, HostKey, Kind, LastingKey, Result, Time};

/// Inode number of the root folder, as in ext4.
const ROOT: u64 = 2;
const KEY_LEN: usize = 16;

/// What a host with large extended attributes (XFS, btrfs) can do.
pub const LIMITS: Limits =
    Limits { name: 255, file_size: i64::MAX as u64, links: 65_000, xattr: 65_536, time_step_ns: 1 };

/// A volume in memory. The root folder belongs to root, and all users may write there.
#[derive(Clone)]
pub struct Memory {
    store: Arc<MemoryStore>,
}

impl Memory {
    /// An empty volume with this clock.
    pub fn new(clock: impl Fn() -> Time + Send + Sync + 'static) -> Self {
        Self::with_limits(LIMITS, clock)
    }

    /// An empty volume on a host with other limits.
    pub fn with_limits(limits: Limits, clock: impl Fn() -> Time + Send + Sync + 'static) -> Self {
        // Each volume has a device number of its own, as file systems of a host have.
        static DEVICES: AtomicU32 = AtomicU32::new(1);
        let id = FileId::new(DEVICES.fetch_add(1, Ordering::Relaxed), ROOT);
        let mut root =
            MemoryInode::new(Kind::Folder, id, key_of(id, 1), clock(), InodeContent::Folder(Folder::new(id)));
        (root.mode, root.links) = (0o777, 2);
        let tree = Tree {
            inodes: HashMap::from([(id, root)]),
            free: Vec::new(),
            next: id.with_inode(ROOT + 1),
            lives: 1,
            nameless: Vec::new(),
            pages: 0,
            capacity: None,
            xattr_room: usize::MAX,
            read_only: false,
            limits,
        };
        Self { store: Arc::new(MemoryStore { root: id, clock: Box::new(clock), tree: Mutex::new(tree) }) }
    }

    /// An empty volume whose clock goes on by a millisecond each time it is read.
    pub fn ticking() -> Self {
        let ticks = AtomicI64::new(1_600_000_000_000);
        Self::new(move || {
            let ms = ticks.fetch_add(1, Ordering::Relaxed);
            Time { secs: ms.div_euclid(1000), nanos: ms.rem_euclid(1000) as u32 * 1_000_000 }
        })
    }

    /// Lets file data take at most this many bytes (whole pages of 4 KiB).
    pub fn set_capacity(&self, bytes: Option<u64>) {
        self.store.lock().capacity = bytes;
    }

    /// Gives the extended attributes of each file so many bytes together, names included, as ext4 does.
    pub fn set_xattr_room(&self, bytes: usize) {
        self.store.lock().xattr_room = bytes;
    }

    /// Refuses all changes, as after `mount -o remount,ro`.
    pub fn set_read_only(&self, on: bool) {
        self.store.lock().read_only = on;
    }

    /// How many files, folders, links and devices there are, nameless ones included.
    pub fn files(&self) -> usize {
        self.store.lock().inodes.len()
    }
}

impl Backend for Memory {
    fn root(&self) -> Result<Found> {
        self.store.found(&self.store.lock(), self.store.root)
    }

    fn by_key(&self, key: &HostKey) -> Result<Found> {
        let id = key.as_bytes().get(..8).and_then(|bytes| bytes.try_into().ok()).map(u64::from_be_bytes);
        let id = self.store.root.with_inode(id.ok_or(Error::Stale)?);
        let tree = self.store.lock();
        let inode = tree.inodes.get(&id).filter(|inode| inode.key == *key && inode.links > 0);
        inode.ok_or(Error::Stale)?;
        self.store.found(&tree, id)
    }

    /// Each store has a device number of its own.
    fn lasting_key(&self, key: &HostKey) -> Result<LastingKey> {
        Ok(LastingKey { file_system: u64::from(self.store.root.device), key: *key })
    }

    fn keys_of(&self, file: &LastingKey, _with_all_mounts: bool) -> Vec<HostKey> {
        let is_here = file.file_system == u64::from(self.store.root.device);
        is_here.then_some(file.key).into_iter().collect()
    }

    fn space(&self, _at: &dyn Object) -> Result<Space> {
        let tree = self.store.lock();
        let total = tree.capacity.unwrap_or(1 << 44);
        let free = total.saturating_sub(tree.pages * PAGE);
        let (files, used) = (1 << 20, tree.inodes.len() as u64);
        Ok(Space {
            total,
            free,
            available: free,
            files,
            files_free: files - used,
            block_size: PAGE as u32,
            quota: None,
        })
    }

    fn sync(&self) -> Result<()> {
        Ok(())
    }

    fn limits(&self) -> Limits {
        self.store.lock().limits
    }
}

/// What all objects of a volume share.
struct MemoryStore {
    root: FileId,
    clock: Box<dyn Fn() -> Time + Send + Sync>,
    tree: Mutex<Tree, ranks::MemoryTree>,
}

impl MemoryStore {
    fn lock(&self) -> MutexGuard<'_, Tree, ranks::MemoryTree> {
        let mut tree = self.tree.lock();
        tree.sweep();
        tree
    }

    fn found(self: &Arc<Self>, tree: &Tree, id: FileId) -> Result<Found> {
        let inode = tree.inode(id)?;
        let (key, kind, held) = (inode.key, inode.kind, inode.held.clone());
        let object = Arc::new(MemoryObject { store: self.clone(), id, key, kind, _held: held });
        Ok(Found { object, attributes: inode.attributes() })
    }
}

/// All inodes, and what is counted over them.
struct Tree {
    inodes: HashMap<FileId, MemoryInode>,
    /// Numbers to use again.
    free: Vec<FileId>,
    next: FileId,
    /// Inodes ever made; tells two lives of a number apart.
    lives: u64,
    /// Files without names that were held when last looked at.
    nameless: Vec<FileId>,
    /// Pages of all files.
    pages: u64,
    capacity: Option<u64>,
    /// Bytes that names and values of one file's extended attributes may have together.
    xattr_room: usize,
    read_only: bool,
    limits: Limits,
}

impl Tree {
    fn inode(&self, id: FileId) -> Result<&MemoryInode> {
        self.inodes.get(&id).ok_or(Error::Stale)
    }

    fn inode_mut(&mut self, id: FileId) -> Result<&mut MemoryInode> {
        self.inodes.get_mut(&id).ok_or(Error::Stale)
    }

    fn writable(&self) -> Result<()> {
        if self.read_only { Err(Error::ReadOnly) } else { Ok(()) }
    }

    /// Whether this many more pages fit.
    fn room_for(&self, pages: u64) -> Result<()> {
        match self.capacity {
            Some(capacity) if (self.pages + pages) * PAGE > capacity => Err(Error::NoSpace),
            _ => Ok(()),
        }
    }

    fn add(&mut self, make: impl FnOnce(FileId, HostKey) -> MemoryInode) -> FileId {
        let id = self.free.pop().unwrap_or_else(|| {
            self.next.inode += 1;
            self.next.with_inode(self.next.inode - 1)
        });
        self.lives += 1;
        self.inodes.insert(id, make(id, key_of(id, self.lives)));
        id
    }

    /// Deletes files that have no name and whose object is not held.
    fn sweep(&mut self) {
        for id in std::mem::take(&mut self.nameless) {
            match self.inodes.get(&id) {
                Some(inode) if inode.links > 0 => {}
                Some(inode) if Arc::strong_count(&inode.held) > 1 => self.nameless.push(id),
                Some(inode) => {
                    self.pages -= inode.pages();
                    self.inodes.remove(&id);
                    self.free.push(id);
                }
                None => {}
            }
        }
    }
}

fn key_of(id: FileId, life: u64) -> HostKey {
    let mut bytes = [0; KEY_LEN];
    bytes[..8].copy_from_slice(&id.inode.to_be_bytes());
    bytes[8..].copy_from_slice(&life.to_be_bytes());
    HostKey::new(&bytes).expect("16 bytes are few enough")
}
