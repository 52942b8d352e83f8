//! The keys of kept files by their inode numbers: one question of the host for a name finds its kept file, with fresh attributes.
//!
//! A kept file is open, so its number belongs to no other file. It is found by its number only if it was opened before the host
//! was asked which number is behind the name.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use lock::Mutex;
use rustix::fs::{AtFlags, StatxFlags};

use super::object::{HostObject, attributes_of};
use super::{OpenMethod, WANTED, failure};
use crate::backend::{Found, Object};
use crate::ranks;
use crate::{FileId, HostKey, IdMap, Result};

const SHARDS: usize = 16;

/// The keys of kept files. A key that is missing, or is one of a file that is not kept any more, costs a look-up.
pub(super) struct KeysByNumber {
    shards: [Mutex<IdMap<FileId, HostKey>, ranks::HostFileNumbers>; SHARDS],
    /// How many files were opened.
    opened: AtomicU64,
}

impl Default for KeysByNumber {
    fn default() -> Self {
        Self { shards: Default::default(), opened: AtomicU64::new(1) }
    }
}

impl KeysByNumber {
    /// Now, counted in files that were opened.
    pub(super) fn now(&self) -> u64 {
        self.opened.load(Ordering::Acquire)
    }

    /// The number of a file that is open now.
    pub(super) fn next(&self) -> u64 {
        self.opened.fetch_add(1, Ordering::AcqRel)
    }

    fn shard(&self, id: FileId) -> &Mutex<IdMap<FileId, HostKey>, ranks::HostFileNumbers> {
        &self.shards[id.inode as usize % SHARDS]
    }

    fn find(&self, id: FileId) -> Option<HostKey> {
        self.shard(id).lock().get(&id).copied()
    }

    /// Notes a file that is kept from now on. So many are kept in each of as many parts.
    pub(super) fn note(&self, id: FileId, key: HostKey, per_shard: usize) {
        let mut keys = self.shard(id).lock();
        if keys.len() > per_shard.saturating_mul(2).saturating_add(SHARDS) {
            keys.clear();
        }
        keys.insert(id, key);
    }

    pub(super) fn forget(&self, id: FileId) {
        self.shard(id).lock().remove(&id);
    }
}

/// What the host says of a name.
pub(super) enum Named {
    /// A file that is kept.
    Kept(Arc<HostObject>, Found),
    /// A file that is not known to be kept.
    Other,
}

impl HostObject {
    /// The entry of this name by one call, with the ids that this thread has. `None`: this file system cannot be asked so.
    pub(super) fn by_number(&self, name: &[u8]) -> Result<Option<Named>> {
        let shared = &self.shared;
        let Some(mount) = shared.numbered_mount.filter(|_| Object::id(self).device == shared.device) else {
            return Ok(None);
        };
        let keys = shared.objects.numbers();
        let began = keys.now();
        let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT;
        let stat = rustix::fs::statx(self.fd(), name, flags, WANTED | StatxFlags::MNT_ID)
            .map_err(failure::of_entry("statx", self.fd(), name))?;
        let attributes = attributes_of(&stat);
        let is_here = stat.stx_mask & StatxFlags::MNT_ID.bits() != 0 && stat.stx_mnt_id == mount;
        if !is_here || attributes.id.device != shared.device {
            return Ok(None);
        }
        let kept = keys.find(attributes.id).and_then(|key| shared.objects.find(&key));
        let Some(object) = kept.filter(|kept| {
            Object::id(&**kept) == attributes.id && kept.opened < began && kept.reached == OpenMethod::ByName
        }) else {
            return Ok(Some(Named::Other));
        };
        object.saw_links(&attributes);
        let found = Found { object: object.clone(), attributes };
        Ok(Some(Named::Kept(object, found)))
    }
}
