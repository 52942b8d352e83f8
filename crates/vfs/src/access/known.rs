//! What the site knows of stored ACLs: whether there are any, the keys of their seals, and the ACLs
//! read lately.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use lock::Mutex;

use crate::acl::Acl;
use crate::acl::samba::{self, NtAcl, SidMap};
use crate::acl::stored::{ATTRIBUTE, SealKey, StoredAcl};
use crate::backend::{Backend, FileKey, Found, NewKind, Object, Stability, Wait, file_key};
use crate::ranks;
use crate::streams::{STORE, find_or_make};
use crate::{Access, Attributes, Caller, Error, IdMap, Kind, Result, Time};
use resources::caches::CacheReport;

/// The file with the key, in the server's own folder at the root of a share or mount. If it is there, files of the file
/// system may have stored ACLs.
pub(crate) const KEY_FILE: &[u8] = b"acl-key";
const SHARDS: usize = 16;
/// Files remembered, of all shards, unless another limit is set.
const REMEMBERED: usize = 16 * 1_024;
/// Files and folders of a share that are asked for an ACL of Samba before the first is found.
const LOOKED_AT: usize = 500;
/// What a remembered file takes in bytes, with an ACL of ten entries for every fourth file.
const EACH: u64 = 240;

/// An ACL that was read, as of the file's time of change.
type Read = (Time, Option<Arc<ReadAcl>>);

struct ReadAcl {
    /// `None` if it is one of Samba's, for a file of this owner and group.
    stored: Option<StoredAcl>,
    ids: (u32, u32),
    acl: Arc<Acl>,
}

impl ReadAcl {
    fn is_fresh(&self, attributes: &Attributes) -> bool {
        match &self.stored {
            Some(stored) => stored.is_fresh(attributes),
            None => self.ids == (attributes.uid, attributes.gid),
        }
    }

    fn is_in_team(&self) -> bool {
        self.stored.as_ref().is_some_and(|stored| stored.in_team)
    }
}

/// The ACLs of some files.
#[derive(Default)]
struct Shard {
    read: IdMap<FileKey, Read>,
    hits: u64,
    misses: u64,
    evictions: u64,
}

/// What the site knows of stored ACLs.
pub(crate) struct StoredAclCache {
    any: AtomicBool,
    /// Whether files may have ACLs of Samba.
    sambas: AtomicBool,
    /// What the SIDs in them are here.
    sids: OnceLock<SidMap>,
    /// The keys of all file systems. An ACL is valid if one of them has sealed it.
    keys: Mutex<Vec<(FileKey, SealKey)>, ranks::AclKey>,
    read: [Mutex<Shard, ranks::KnownAcls>; SHARDS],
    /// Files remembered, per shard.
    per_shard: AtomicUsize,
    /// Raised with every ACL that is stored, so that what was read before is not remembered after.
    epoch: AtomicU64,
}

impl Default for StoredAclCache {
    fn default() -> Self {
        Self {
            any: AtomicBool::new(false),
            sambas: AtomicBool::new(false),
            sids: OnceLock::new(),
            keys: Mutex::default(),
            read: Default::default(),
            per_shard: AtomicUsize::new(REMEMBERED / SHARDS),
            epoch: AtomicU64::new(0),
        }
    }
}

impl StoredAclCache {
    /// How well the ACLs that are remembered serve.
    pub(crate) fn report(&self) -> CacheReport {
        let mut report = CacheReport::default();
        for shard in &self.read {
            let shard = shard.lock();
            report.entries += shard.read.len() as u64;
            report.hits += shard.hits;
            report.misses += shard.misses;
            report.evictions += shard.evictions;
        }
        report.bytes = report.entries * EACH;
        report
    }

    /// Remembers the ACLs of so many files from now on.
    pub(crate) fn limit_to(&self, limit: u64) {
        let per_shard = (limit as usize / SHARDS).max(1);
        self.per_shard.store(per_shard, Ordering::Relaxed);
        for shard in &self.read {
            let mut shard = shard.lock();
            if shard.read.len() > per_shard {
                shard.forget_all();
            }
        }
    }

    /// Whether any file may have a stored ACL.
    pub(super) fn any(&self) -> bool {
        self.any.load(Ordering::Acquire)
    }

    /// Whether any file may have an ACL of Samba.
    pub(super) fn has_sambas(&self) -> bool {
        self.sambas.load(Ordering::Acquire)
    }

    /// What the SIDs in ACLs of Samba are here, told once, before any is read.
    pub(crate) fn tell_sids(&self, sids: SidMap) {
        let _ = self.sids.set(sids); // the first counts
    }

    /// From now on files are asked for stored ACLs, whether one was ever seen or not.
    pub(crate) fn expect(&self) {
        self.any.store(true, Ordering::Release);
    }

    /// From now on files are asked for ACLs of Samba.
    pub(crate) fn expect_sambas(&self) {
        self.sambas.store(true, Ordering::Release);
        self.any.store(true, Ordering::Release);
    }

    /// Looks for an ACL of Samba at the root of a share or mount, and in the first folders and files there.
    pub(crate) fn look_for_sambas(&self, home: &Arc<dyn Object>) -> Result<()> {
        if !self.has_sambas() && has_sambas(home)? {
            self.expect_sambas();
        }
        Ok(())
    }

    /// Reads the key that is kept at the root of a share or mount, if there is one.
    pub(crate) fn look(&self, backend: &dyn Backend, home: &dyn Object) -> Result<()> {
        let mut keys = self.keys.lock();
        if let Some(key) = read_key(backend, home)? {
            self.add(&mut keys, home, key);
        }
        Ok(())
    }

    fn add(&self, keys: &mut Vec<(FileKey, SealKey)>, home: &dyn Object, key: SealKey) {
        let home = file_key(home);
        keys.retain(|(known, _)| *known != home);
        keys.push((home, key));
        self.any.store(true, Ordering::Release);
    }

    /// The stored ACL that applies to a file with these fresh attributes. `learn` looks for keys that another server has made
    /// lately.
    pub(super) fn of(
        &self,
        object: &dyn Object,
        attributes: &Attributes,
        learn: Option<&dyn Fn() -> Result<()>>,
    ) -> Result<Option<Arc<Acl>>> {
        let read = self.remembered(object, attributes, learn)?;
        Ok(read.filter(|read| read.is_fresh(attributes)).map(|read| read.acl.clone()))
    }

    /// The list of a file in a team folder, as it is stored. Samba's do not count there.
    pub(super) fn in_team(
        &self,
        object: &dyn Object,
        attributes: &Attributes,
        learn: Option<&dyn Fn() -> Result<()>>,
    ) -> Result<Option<StoredAcl>> {
        let read = self.remembered(object, attributes, learn)?;
        let counts = |stored: &&StoredAcl| stored.in_team || stored.is_fresh(attributes);
        Ok(read.and_then(|read| read.stored.as_ref().filter(counts).cloned()))
    }

    fn remembered(
        &self,
        object: &dyn Object,
        attributes: &Attributes,
        learn: Option<&dyn Fn() -> Result<()>>,
    ) -> Result<Option<Arc<ReadAcl>>> {
        let file = file_key(object);
        let remembered = self.shard(&file).lock().find(&file, attributes.changed);
        match remembered {
            Some(read) => Ok(read),
            None => self.read(object, (file, attributes), learn),
        }
    }

    fn open(&self, bytes: &[u8]) -> Option<StoredAcl> {
        self.keys.lock().iter().find_map(|(_, key)| StoredAcl::open(key, bytes))
    }

    fn read(
        &self,
        object: &dyn Object,
        (file, of): (FileKey, &Attributes),
        learn: Option<&dyn Fn() -> Result<()>>,
    ) -> Result<Option<Arc<ReadAcl>>> {
        let epoch = self.epoch.load(Ordering::Acquire);
        let stored = match (object.xattr(ATTRIBUTE), learn) {
            (Ok(bytes), None) => self.open(&bytes),
            (Ok(bytes), Some(learn)) => match self.open(&bytes) {
                None => learn().map(|()| self.open(&bytes))?,
                stored => stored,
            },
            (Err(Error::NoSuchAttribute | Error::NotSupported), _) => None,
            (Err(other), _) => return Err(other),
        };
        let ids = (of.uid, of.gid);
        let mut read = stored.map(|stored| {
            let acl = Arc::new(stored.clone().into_acl());
            Arc::new(ReadAcl { stored: Some(stored), ids, acl })
        });
        if self.has_sambas() && read.as_ref().is_none_or(|read| !read.is_fresh(of) && !read.is_in_team()) {
            let sambas = self.read_sambas(object, ids)?;
            read = sambas.map(|acl| Arc::new(ReadAcl { stored: None, ids, acl })).or(read);
        }
        let mut shard = self.shard(&file).lock();
        if shard.read.len() >= self.per_shard.load(Ordering::Relaxed) {
            shard.forget_all();
        }
        if self.epoch.load(Ordering::Acquire) == epoch {
            shard.read.insert(file, (of.changed, read.clone()));
        }
        Ok(read)
    }

    /// Whether one of the keys has sealed this value of the attribute.
    pub(crate) fn has_sealed(&self, value: &[u8]) -> bool {
        self.open(value).is_some()
    }

    /// What Samba has stored. A value that cannot be read says nothing: Samba takes the mode then, too.
    fn read_sambas(&self, object: &dyn Object, ids: (u32, u32)) -> Result<Option<Arc<Acl>>> {
        let value = match object.xattr(samba::ATTRIBUTE) {
            Ok(value) => value,
            Err(Error::NoSuchAttribute | Error::NotSupported) => return Ok(None),
            Err(other) => return Err(other),
        };
        match NtAcl::decode(&value) {
            Ok(acl) => {
                let sids = self.sids.get_or_init(SidMap::default);
                Ok(acl.map(|acl| Arc::new(acl.acl(ids, sids))))
            }
            Err(why) => {
                tracing::warn!(file = ?object.id(), %why, "the ACL that Samba has stored cannot be read; the mode applies");
                Ok(None)
            }
        }
    }

    /// The key that seals ACLs on the file system of this folder; made if there is none.
    pub(super) fn seal_key(&self, backend: &dyn Backend, home: &dyn Object) -> Result<SealKey> {
        // Held meanwhile: two threads would make two keys, of which the disk keeps one.
        let mut keys = self.keys.lock();
        let place = file_key(home);
        if let Some((_, key)) = keys.iter().find(|(known, _)| *known == place) {
            return Ok(*key);
        }
        let key = match read_key(backend, home)? {
            Some(key) => key,
            None => make_key(backend, home)?,
        };
        self.add(&mut keys, home, key);
        Ok(key)
    }

    /// After an ACL was stored or removed.
    pub(super) fn forget(&self, object: &dyn Object) {
        self.epoch.fetch_add(1, Ordering::AcqRel);
        let file = file_key(object);
        self.shard(&file).lock().read.remove(&file);
    }

    fn shard(&self, file: &FileKey) -> &Mutex<Shard, ranks::KnownAcls> {
        let bytes = file.1.as_bytes().iter();
        &self.read[bytes.fold(0_usize, |sum, &byte| sum.wrapping_mul(31).wrapping_add(byte.into())) % SHARDS]
    }
}

impl Shard {
    /// What is remembered of a file that changed last at this time.
    fn find(&mut self, file: &FileKey, changed: Time) -> Option<Option<Arc<ReadAcl>>> {
        let known = self.read.get(file).filter(|(then, _)| *then == changed).map(|(_, read)| read.clone());
        *(if known.is_some() { &mut self.hits } else { &mut self.misses }) += 1;
        known
    }

    fn forget_all(&mut self) {
        self.evictions += self.read.len() as u64;
        self.read = IdMap::default();
    }
}

/// Whether a folder, or one of the first files and folders in it, has an ACL of Samba.
fn has_sambas(home: &Arc<dyn Object>) -> Result<bool> {
    let is_it = |name: &Vec<u8>| name == samba::ATTRIBUTE;
    let own = match home.list_xattrs() {
        Err(Error::NotSupported) => return Ok(false),
        other => other?,
    };
    if own.iter().any(is_it) {
        return Ok(true);
    }
    let (mut folders, mut left) = (VecDeque::from([home.clone()]), LOOKED_AT);
    while let Some(folder) = folders.pop_front() {
        let mut names = Vec::new();
        let listed = folder.list(0, &mut |entry| {
            if !matches!(entry.name, b"." | b"..") {
                names.push((entry.name.to_vec(), entry.kind));
            }
            names.len() < left
        });
        if listed.is_err() {
            continue; // not for this server to read
        }
        left -= names.len();
        for (name, kind) in names {
            let Ok(entry) = folder.glance(&Caller::root(), &name) else { continue };
            if entry.xattrs.iter().any(is_it) {
                return Ok(true);
            }
            if kind.is_none_or(|kind| kind == Kind::Folder)
                && let Ok(inner) = folder.lookup(&Caller::root(), &name)
                && inner.attributes.kind == Kind::Folder
            {
                folders.push_back(inner.object);
            }
        }
        if left == 0 {
            break;
        }
    }
    Ok(false)
}

fn read_key(backend: &dyn Backend, home: &dyn Object) -> Result<Option<SealKey>> {
    let root = Caller::root();
    let there = home.lookup(&root, STORE);
    match there.and_then(|store| own(backend, store)?.lookup(&root, KEY_FILE)) {
        Ok(file) => own(backend, file.clone()).and_then(|_| read_file(&file)),
        Err(Error::NotFound | Error::NotFolder | Error::NameTooLong) => Ok(None),
        Err(other) => Err(other),
    }
    .or_else(|error| if error == Error::NotPermitted { Ok(None) } else { Err(error) })
}

/// A user that may write into the share could have made these before the server did, to know the
/// key of the seals.
fn own(backend: &dyn Backend, found: Found) -> Result<Arc<dyn Object>> {
    let Attributes { uid, mode, .. } = found.attributes;
    if (uid == 0 || uid == backend.own_user()) && mode & 0o077 == 0 {
        return Ok(found.object);
    }
    tracing::warn!(target: "metadata",
        file = ?found.object.id(),
        "the key that seals ACLs belongs to another user, or others can read it: stored ACLs have no effect"
    );
    Err(Error::NotPermitted)
}

/// `None` if a crash has left a file that was not finished: no ACL was sealed with it.
fn read_file(file: &Found) -> Result<Option<SealKey>> {
    let mut bytes = Vec::new();
    file.object.prepare(&Caller::root(), &file.attributes, Access::READ, true)?;
    file.object.read_at(0, size_of::<SealKey>(), &mut bytes, Wait::Allowed)?;
    Ok(bytes.try_into().ok())
}

fn make_key(backend: &dyn Backend, home: &dyn Object) -> Result<SealKey> {
    let root = Caller::root();
    let store = own(backend, find_or_make(home, STORE, NewKind::Folder, 0o700)?)?;
    let file = find_or_make(&*store, KEY_FILE, NewKind::File, 0o600)?;
    own(backend, file.clone())?;
    if let Some(seal) = read_file(&file)? {
        return Ok(seal);
    }
    let mut seal = SealKey::default();
    getrandom::fill(&mut seal).map_err(|error| {
        tracing::error!(%error, "the host gives no random numbers for the key of the ACLs");
        Error::Io
    })?;
    file.object.prepare(&root, &file.attributes, Access::WRITE, true)?;
    file.object.write_at(&root, 0, &seal, Stability::File)?;
    store.sync(Stability::File)?;
    Ok(seal)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::memory::Memory;

    #[test]
    fn threads_that_store_the_first_acl_together_make_one_key() {
        for _ in 0..50 {
            let (memory, known) = (Memory::ticking(), StoredAclCache::default());
            let home = memory.root().unwrap().object;
            let keys = std::thread::scope(|scope| {
                let make = || scope.spawn(|| known.seal_key(&memory, &*home).unwrap());
                let threads: Vec<_> = (0..4).map(|_| make()).collect();
                threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
            });
            let kept = read_key(&memory, &*home).unwrap();
            assert!(keys.iter().all(|key| Some(*key) == kept));
        }
    }
}
