//! Files kept open between requests, so that most of them need no look-up at the host.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use lock::{Mutex, rank};

use super::Reached;
use super::object::HostObject;
use crate::HostKey;

const SHARDS: usize = 16;

struct Kept {
    object: Arc<HostObject>,
    /// Used since the last sweep.
    used: AtomicBool,
}

/// Objects by key, at most `limit` of them.
pub(super) struct Objects {
    shards: [Mutex<HashMap<HostKey, Kept>, rank::HostFiles>; SHARDS],
    hasher: RandomState,
    per_shard: usize,
}

impl Objects {
    pub(super) fn new(limit: usize) -> Self {
        Self { shards: Default::default(), hasher: RandomState::new(), per_shard: (limit / SHARDS).max(1) }
    }

    fn shard(&self, key: &HostKey) -> &Mutex<HashMap<HostKey, Kept>, rank::HostFiles> {
        &self.shards[self.hasher.hash_one(key) as usize % SHARDS]
    }

    pub(super) fn find(&self, key: &HostKey) -> Option<Arc<HostObject>> {
        let shard = self.shard(key).lock();
        let kept = shard.get(key)?;
        kept.used.store(true, Ordering::Relaxed);
        Some(kept.object.clone())
    }

    /// The kept object of this key, or the new one from `make`, which is then kept.
    /// One reached by name takes the place of one reached by its handle.
    pub(super) fn keep(
        &self,
        key: HostKey,
        reached: Reached,
        make: impl FnOnce() -> HostObject,
    ) -> Arc<HostObject> {
        let mut shard = self.shard(&key).lock();
        if shard.len() >= self.per_shard && !shard.contains_key(&key) {
            make_room(&mut shard);
        }
        match shard.entry(key) {
            Entry::Occupied(kept) if kept.get().object.reached == reached || reached == Reached::ByHandle => {
                kept.get().object.clone()
            }
            Entry::Occupied(mut kept) => {
                kept.get_mut().object = Arc::new(make());
                kept.get().object.clone()
            }
            Entry::Vacant(free) => {
                let object = Arc::new(make());
                free.insert(Kept { object: object.clone(), used: AtomicBool::new(true) });
                object
            }
        }
    }

    pub(super) fn forget(&self, key: &HostKey) {
        let forgotten = self.shard(key).lock().remove(key);
        drop(forgotten); // closes descriptors outside the lock
    }

    pub(super) fn clear(&self) {
        for shard in &self.shards {
            let kept = std::mem::take(&mut *shard.lock());
            drop(kept); // closes descriptors outside the lock
        }
    }

    pub(super) fn forget_idle(&self) {
        for shard in &self.shards {
            let mut idle = Vec::new();
            shard.lock().retain(|_, kept| {
                let used = kept.used.swap(false, Ordering::Relaxed);
                if !used {
                    idle.push(kept.object.clone());
                }
                used
            });
        }
    }

    pub(super) fn len(&self) -> usize {
        self.shards.iter().map(|shard| shard.lock().len()).sum()
    }
}

/// Drops what was not used since the last sweep, else an eighth of everything, whichever comes first in the table.
fn make_room(shard: &mut HashMap<HostKey, Kept>) {
    let before = shard.len();
    shard.retain(|_, kept| kept.used.swap(false, Ordering::Relaxed));
    if shard.len() == before {
        let excess: Vec<HostKey> = shard.keys().take(before.div_ceil(8)).copied().collect();
        for key in excess {
            shard.remove(&key);
        }
    }
}
