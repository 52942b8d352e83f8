//! What a volume knows of its stored ACLs: whether there is any, what they are sealed with, and those read lately.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

use lock::{Mutex, rank};

use super::Acl;
use super::stored::{ATTRIBUTE, SealKey, Stored};
use crate::backend::{Backend, Found, NewKind, Object, Stability, Wait};
use crate::streams::{STORE, find_or_make};
use crate::{Access, Attributes, Caller, Error, HostKey, Kind, Result, Time};

/// The file with the key, in the volume's own folder. That it is there says that the volume may have stored ACLs.
const KEY_FILE: &[u8] = b"acl-key";
const SHARDS: usize = 16;
/// Files remembered, per shard.
const REMEMBERED: usize = 1_024;

const UNKNOWN: u8 = 0;
const NO: u8 = 1;
const YES: u8 = 2;

/// An ACL read, as of the file's time of change.
type Read = (Time, Option<Arc<ReadAcl>>);

struct ReadAcl {
    stored: Stored,
    acl: Arc<Acl>,
}

#[derive(Default)]
pub(crate) struct Known {
    any: AtomicU8,
    key: Mutex<Option<SealKey>, rank::AclKey>,
    read: [Mutex<HashMap<HostKey, Read>, rank::KnownAcls>; SHARDS],
    /// Raised with every ACL that is stored, so that what was read before is not remembered after.
    epoch: AtomicU64,
}

impl Known {
    /// Whether any file of the volume may have a stored ACL. Asks the host once.
    pub(super) fn any(&self, backend: &dyn Backend) -> Result<bool> {
        match self.any.load(Ordering::Acquire) {
            NO => Ok(false),
            YES => Ok(true),
            _ => {
                let mut key = self.key.lock();
                if self.any.load(Ordering::Acquire) == UNKNOWN {
                    *key = read_key(backend)?;
                    self.any.store(if key.is_some() { YES } else { NO }, Ordering::Release);
                }
                Ok(key.is_some())
            }
        }
    }

    /// The stored ACL that counts for a file with these fresh attributes.
    pub(super) fn of(
        &self,
        backend: &dyn Backend,
        object: &dyn Object,
        attributes: &Attributes,
    ) -> Result<Option<Arc<Acl>>> {
        if !matches!(attributes.kind, Kind::File | Kind::Folder) || !self.any(backend)? {
            return Ok(None);
        }
        let key = object.key();
        let remembered = self.shard(&key).lock().get(&key).cloned();
        let read = match remembered {
            Some((changed, read)) if changed == attributes.changed => read,
            _ => self.read(object, key, attributes.changed)?,
        };
        Ok(read.filter(|read| read.stored.is_fresh(attributes)).map(|read| read.acl.clone()))
    }

    fn read(&self, object: &dyn Object, key: HostKey, changed: Time) -> Result<Option<Arc<ReadAcl>>> {
        let epoch = self.epoch.load(Ordering::Acquire);
        let seal = *self.key.lock();
        let stored = match object.xattr(ATTRIBUTE) {
            Ok(bytes) => seal.and_then(|seal| Stored::open(&seal, &bytes)),
            Err(Error::NoSuchAttribute | Error::NotSupported) => None,
            Err(other) => return Err(other),
        };
        let read = stored.map(|stored| {
            let acl = Arc::new(stored.clone().into_acl());
            Arc::new(ReadAcl { stored, acl })
        });
        let mut shard = self.shard(&key).lock();
        if shard.len() >= REMEMBERED {
            shard.clear();
        }
        if self.epoch.load(Ordering::Acquire) == epoch {
            shard.insert(key, (changed, read.clone()));
        }
        Ok(read)
    }

    /// What ACLs are sealed with; made when there is none.
    pub(super) fn seal_key(&self, backend: &dyn Backend) -> Result<SealKey> {
        self.any(backend)?;
        let mut key = self.key.lock();
        let seal = match *key {
            Some(seal) => seal,
            None => make_key(backend)?,
        };
        *key = Some(seal);
        self.any.store(YES, Ordering::Release);
        Ok(seal)
    }

    /// After an ACL was stored or removed.
    pub(super) fn forget(&self, key: &HostKey) {
        self.epoch.fetch_add(1, Ordering::AcqRel);
        self.shard(key).lock().remove(key);
    }

    fn shard(&self, key: &HostKey) -> &Mutex<HashMap<HostKey, Read>, rank::KnownAcls> {
        let sum =
            key.as_bytes().iter().fold(0_usize, |sum, &byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
        &self.read[sum % SHARDS]
    }
}

fn read_key(backend: &dyn Backend) -> Result<Option<SealKey>> {
    let root = Caller::root();
    let there = backend.root()?.object.lookup(&root, STORE);
    match there.and_then(|store| own(backend, store)?.lookup(&root, KEY_FILE)) {
        Ok(file) => own(backend, file.clone()).and_then(|_| read_file(&file)),
        Err(Error::NotFound | Error::NotFolder | Error::NameTooLong) => Ok(None),
        Err(other) => Err(other),
    }
    .or_else(|error| if error == Error::NotPermitted { Ok(None) } else { Err(error) })
}

/// A user who may write into the share could have made these before the server, to know what ACLs are sealed with.
fn own(backend: &dyn Backend, found: Found) -> Result<Arc<dyn Object>> {
    let Attributes { uid, mode, .. } = found.attributes;
    if (uid == 0 || uid == backend.own_user()) && mode & 0o077 == 0 {
        return Ok(found.object);
    }
    tracing::warn!(
        file = ?found.object.id(),
        "the key that seals ACLs belongs to another user, or others can read it: stored ACLs have no effect"
    );
    Err(Error::NotPermitted)
}

/// `None` where a crash has left a file that was not finished: nothing was sealed with it.
fn read_file(file: &Found) -> Result<Option<SealKey>> {
    let mut bytes = Vec::new();
    file.object.prepare(&Caller::root(), &file.attributes, Access::READ, true)?;
    file.object.read_at(0, size_of::<SealKey>(), &mut bytes, Wait::Allowed)?;
    Ok(bytes.try_into().ok())
}

fn make_key(backend: &dyn Backend) -> Result<SealKey> {
    let root = Caller::root();
    let store = own(backend, find_or_make(&*backend.root()?.object, STORE, NewKind::Folder, 0o700)?)?;
    let file = find_or_make(&*store, KEY_FILE, NewKind::File, 0o600)?;
    own(backend, file.clone())?;
    if let Some(seal) = read_file(&file)? {
        return Ok(seal);
    }
    let mut seal = SealKey::default();
    getrandom::fill(&mut seal).map_err(|_| Error::Io)?;
    file.object.prepare(&root, &file.attributes, Access::WRITE, true)?;
    file.object.write_at(&root, 0, &seal, Stability::File)?;
    store.sync(Stability::File)?;
    Ok(seal)
}
