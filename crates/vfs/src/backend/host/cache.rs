//! Files kept open between requests, so that most of them need no look-up at the host.

use std::collections::hash_map::Entry;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

use lock::Mutex;

use super::OpenMethod;
use super::descriptors::DataDescriptors;
use super::numbers::KeysByNumber;
use super::object::HostObject;
use crate::backend::Object;
use crate::ranks;
use crate::{HostKey, IdMap};
use resources::caches::{Cache, CacheReport, Ghost};

const SHARDS: usize = 16;
/// With so many volumes, a new one takes its part of the limit only. The others give theirs up with the next
/// [`KeptFiles::tend`]: a thousand shares would divide it a thousand times at the start.
const DIVIDED_AT_ONCE: usize = 64;
/// What an open file takes in bytes: here some 300, and in the host a struct file of 232 for each of its one or two
/// descriptors and the dentry and inode that it holds (measured: 700 to 1,100 on ext4 and btrfs).
pub const FILE_BYTES: u64 = 1_500;

/// The open files of all shares: how many are kept, and how well they serve. The shares have equal parts of the limit.
#[derive(Debug)]
pub struct KeptFiles {
    limit: AtomicUsize,
    /// The number of tables among which the limit is divided.
    divided: AtomicUsize,
    tables: Mutex<Vec<Weak<Table>>, ranks::HostFileTables>,
    /// Those of the files' data, also of files that clients have open.
    pub(super) data: DataDescriptors,
}

/// What of the files that clients have used lately is in the host's memory.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Resident {
    /// Files that were looked at.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// The bytes of them that are in the page cache.
    pub cached: u64,
}

impl KeptFiles {
    /// Keeps at most so many files.
    #[must_use]
    pub fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self {
            limit: AtomicUsize::new(limit),
            divided: AtomicUsize::new(0),
            tables: Mutex::default(),
            data: DataDescriptors::new(limit),
        })
    }

    /// How much of up to `most` open files is in the page cache. The files are those that come first in the tables, which
    /// have no order: a random sample. `None` if the host cannot tell.
    #[must_use]
    pub fn resident(&self, most: usize) -> Option<Resident> {
        let (mut sum, mut is_known) = (Resident::default(), false);
        let objects: Vec<_> =
            self.tables().iter().flat_map(|table| table.some_files(most)).take(most).collect();
        for object in objects {
            let Some((bytes, cached)) = object.cached() else { continue };
            is_known = true;
            sum.files += 1;
            sum.bytes += bytes;
            sum.cached += cached.min(bytes);
        }
        is_known.then_some(sum)
    }

    fn tables(&self) -> Vec<Arc<Table>> {
        self.tables.lock().iter().filter_map(Weak::upgrade).collect()
    }

    /// How many tables there are.
    fn count(&self) -> usize {
        let mut tables = self.tables.lock();
        tables.retain(|known| known.strong_count() > 0);
        tables.len()
    }

    /// Volumes that have ended leave their part to the others.
    fn tend(&self) {
        if self.count() != self.divided.load(Ordering::Relaxed) {
            self.divide();
        }
    }

    /// Divides the limit among the tables that are there.
    fn divide(&self) {
        let tables = self.tables();
        self.divided.store(tables.len(), Ordering::Relaxed);
        let each = self.limit.load(Ordering::Relaxed) / tables.len().max(1);
        tables.iter().for_each(|table| table.limit_to(each));
    }
}

impl Cache for KeptFiles {
    fn report(&self) -> CacheReport {
        let mut report = CacheReport::default();
        self.tables().iter().for_each(|table| report.add(&table.report()));
        report.bytes = report.entries * FILE_BYTES;
        report
    }

    fn limit_to(&self, limit: u64) {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        self.limit.store(limit, Ordering::Relaxed);
        self.data.limit_to(limit);
        self.divide();
    }
}

struct CachedObject {
    object: Arc<HostObject>,
    /// Used since the last sweep.
    used: AtomicBool,
}

impl CachedObject {
    /// Whether it was used since the last sweep, or a client has it open. An open file that is found by a second object
    /// has a second descriptor, and with two the host gives no lease (`guards`).
    fn stays(&self) -> bool {
        self.used.swap(false, Ordering::Relaxed) || Arc::strong_count(&self.object) > 1
    }
}

/// A part of the files, chosen by the hash of their keys.
#[derive(Default)]
struct ObjectShard {
    files: IdMap<HostKey, CachedObject>,
    hits: u64,
    misses: u64,
    evictions: u64,
    /// One shard has a list: its files are a sample of all.
    ghost: Option<Ghost>,
}

/// Objects by key.
struct Table {
    shards: [Mutex<ObjectShard, ranks::HostFiles>; SHARDS],
    hasher: RandomState,
    per_shard: AtomicUsize,
    numbers: KeysByNumber,
}

/// The kept objects of one volume.
pub(super) struct Objects {
    table: Arc<Table>,
    all: Arc<KeptFiles>,
}

impl Objects {
    /// With a part of the limit of `all`.
    pub(super) fn new(all: &Arc<KeptFiles>) -> Self {
        let table = Table {
            shards: Default::default(),
            hasher: RandomState::new(),
            per_shard: AtomicUsize::new(1),
            numbers: KeysByNumber::default(),
        };
        table.shards[0].lock().ghost = Some(Ghost::new(1));
        let table = Arc::new(table);
        all.tables.lock().push(Arc::downgrade(&table));
        let count = all.count();
        if count <= DIVIDED_AT_ONCE {
            all.divide();
        } else {
            table.limit_to(all.limit.load(Ordering::Relaxed) / count);
        }
        Self { table, all: all.clone() }
    }

    /// The open files of all volumes.
    pub(super) fn all(&self) -> &KeptFiles {
        &self.all
    }

    /// The keys of the kept files by their numbers.
    pub(super) fn numbers(&self) -> &KeysByNumber {
        &self.table.numbers
    }

    pub(super) fn find(&self, key: &HostKey) -> Option<Arc<HostObject>> {
        let hash = self.table.hasher.hash_one(key);
        let mut shard = self.table.shards[hash as usize % SHARDS].lock();
        let shard = &mut *shard;
        if let Some(ghost) = &mut shard.ghost {
            ghost.look_up(hash, 1, false);
        }
        let Some(kept) = shard.files.get(key) else {
            shard.misses += 1;
            return None;
        };
        shard.hits += 1;
        kept.used.store(true, Ordering::Relaxed);
        Some(kept.object.clone())
    }

    /// The kept object of this key, or the new one from `make`, which is then kept.
    /// One reached by name takes the place of one reached by its handle.
    pub(super) fn keep(
        &self,
        key: HostKey,
        reached: OpenMethod,
        make: impl FnOnce() -> HostObject,
    ) -> Arc<HostObject> {
        let mut shard = self.table.shard(&key).lock();
        let most = self.table.per_shard.load(Ordering::Relaxed);
        if shard.files.len() >= most && !shard.files.contains_key(&key) {
            shard.make_room();
        }
        let object = match shard.files.entry(key) {
            Entry::Occupied(kept)
                if kept.get().object.reached == reached || reached == OpenMethod::ByHandle =>
            {
                kept.get().object.clone()
            }
            Entry::Occupied(mut kept) => {
                kept.get_mut().object = Arc::new(make());
                kept.get().object.clone()
            }
            Entry::Vacant(free) => {
                let object = Arc::new(make());
                free.insert(CachedObject { object: object.clone(), used: AtomicBool::new(true) });
                object
            }
        };
        drop(shard);
        // A mount inside the share may show the same file, which has another key there.
        if object.reached == OpenMethod::ByName && !key.is_on_mount() {
            self.table.numbers.note(object.id(), key, most);
        }
        object
    }

    pub(super) fn forget(&self, key: &HostKey) {
        let forgotten = self.table.shard(key).lock().files.remove(key);
        if let Some(forgotten) = &forgotten {
            self.table.numbers.forget(forgotten.object.id());
        }
        drop(forgotten); // closes descriptors outside the lock
    }

    pub(super) fn clear(&self) {
        for shard in &self.table.shards {
            let kept = std::mem::take(&mut shard.lock().files);
            drop(kept); // closes descriptors outside the lock
        }
    }

    pub(super) fn forget_idle(&self) {
        self.all.tend();
        for shard in &self.table.shards {
            let mut idle = Vec::new();
            shard.lock().files.retain(|_, kept| {
                let stays = kept.stays();
                if !stays {
                    idle.push(kept.object.clone());
                }
                stays
            });
        }
    }

    pub(super) fn len(&self) -> usize {
        self.table.shards.iter().map(|shard| shard.lock().files.len()).sum()
    }
}

impl Table {
    fn shard(&self, key: &HostKey) -> &Mutex<ObjectShard, ranks::HostFiles> {
        &self.shards[self.hasher.hash_one(key) as usize % SHARDS]
    }

    fn limit_to(&self, limit: usize) {
        let per_shard = (limit / SHARDS).max(1);
        self.per_shard.store(per_shard, Ordering::Relaxed);
        for shard in &self.shards {
            let mut dropped = Vec::new();
            let mut shard = shard.lock();
            if let Some(ghost) = &mut shard.ghost {
                ghost.limit_to(per_shard as u64);
            }
            let excess = shard.files.len().saturating_sub(per_shard);
            let keys: Vec<HostKey> = shard.files.keys().take(excess).copied().collect();
            dropped.extend(keys.iter().filter_map(|key| shard.files.remove(key)));
            shard.evictions += excess as u64;
            drop(shard);
            drop(dropped); // closes descriptors outside the lock
        }
    }

    fn report(&self) -> CacheReport {
        let mut report = CacheReport::default();
        for shard in &self.shards {
            let shard = shard.lock();
            report.add(&CacheReport {
                entries: shard.files.len() as u64,
                hits: shard.hits,
                misses: shard.misses,
                evictions: shard.evictions,
                predicted: shard.ghost.as_ref().and_then(Ghost::predicted),
                ..CacheReport::default()
            });
        }
        report
    }

    fn some_files(&self, most: usize) -> Vec<Arc<HostObject>> {
        let each = most.div_ceil(SHARDS);
        let of = |shard: &Mutex<ObjectShard, ranks::HostFiles>| -> Vec<Arc<HostObject>> {
            let shard = shard.lock();
            let files = shard.files.values().filter(|kept| kept.object.has_data());
            files.take(each).map(|kept| kept.object.clone()).collect()
        };
        self.shards.iter().flat_map(of).collect()
    }
}

impl ObjectShard {
    /// Drops what was not used since the last sweep, else an eighth of everything, whichever comes first in the table.
    fn make_room(&mut self) {
        let before = self.files.len();
        self.files.retain(|_, kept| kept.stays());
        if self.files.len() == before {
            let excess: Vec<HostKey> = self.files.keys().take(before.div_ceil(8)).copied().collect();
            for key in excess {
                self.files.remove(&key);
            }
        }
        self.evictions += (before - self.files.len()) as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(volumes: &[Objects]) -> Vec<usize> {
        volumes.iter().map(|one| one.table.per_shard.load(Ordering::Relaxed) * SHARDS).collect()
    }

    #[test]
    fn many_volumes_share_one_limit() {
        let all = KeptFiles::new(6400);
        let mut volumes: Vec<Objects> = (0..4).map(|_| Objects::new(&all)).collect();
        assert_eq!(parts(&volumes), [1600; 4]);
        volumes.extend((4..200).map(|_| Objects::new(&all)));
        assert_eq!(parts(&volumes)[199], 32, "its part, as soon as it is there");
        all.tend();
        assert_eq!(parts(&volumes), [32; 200]);
        volumes.truncate(100);
        all.tend();
        assert_eq!(parts(&volumes), [64; 100]);
    }
}
