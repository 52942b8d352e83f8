//! How much space the files of a folder may take together.
//!
//! ```text
//! a change of a file ─► reserve the most that it can take ─► (change) ─► ask the host for the file's space
//!                        └─ too much: QuotaExceeded                       └─► the difference is counted
//! ```
//!
//! A file counts with its space on the disk, but never with more than its length in whole blocks: what the host
//! reserves behind the end of a file comes and goes by itself. Folders, links and extended attributes do not count. A
//! file with several names counts once, and not at all after its last name is removed.
//!
//! The space of each changed file is remembered while the file is in use (`Charge`), so that two clients that write to
//! one file are not counted twice. A write inside a file without holes changes nothing: it costs two atomic loads.
//!
//! In a cluster, servers may count together (`quota/shared.rs`).

mod charge;
mod recount;
mod shared;
mod transfer;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};

use lock::{Mutex, RwLock};

use crate::backend::host::number_in;
use crate::backend::{Allowance, Space};
use crate::ranks;
use crate::{Error, FileId, Result};

pub use coherence::recount::{Changes, Others, RecountResult};

pub use self::charge::Charges;
pub(crate) use self::charge::{Charge, Footprint};
pub(crate) use self::recount::MovedFolder;
use self::recount::Recount;
pub(crate) use self::transfer::QuotaTransfer;

/// The unit in which growth is counted: the block of most file systems.
pub(crate) const BLOCK: u64 = 4096;

/// The quota of one folder, with what is below it.
#[derive(Debug)]
pub struct Quota {
    /// In bytes; `u64::MAX`: none.
    limit: AtomicU64,
    /// No change is made that would take more than this together, whatever the limit is.
    cap: AtomicU64,
    /// What is used is `elsewhere` and `own` together. What clients of this server have changed since it counts:
    own: AtomicI64,
    /// What all files took when this server began to count, and what other servers have changed since.
    elsewhere: AtomicI64,
    /// Other servers change files of the folder, too.
    is_shared: AtomicBool,
    /// What changes that are being made can take at most.
    reserved: AtomicU64,
    exact: AtomicBool,
    /// The host keeps the quota itself, and says in these files how many bytes are used: the largest number counts.
    by_host: Option<[PathBuf; 2]>,
    /// Whether `recount` has a value.
    recounting: AtomicBool,
    recount: Mutex<Option<Recount>, ranks::QuotaRecount>,
}

impl Quota {
    /// A quota that the server counts. `used` is what was known before, and whether that was exact.
    #[must_use]
    pub fn counted(limit: u64, used: Option<(u64, bool)>) -> Self {
        let (used, exact) = used.unwrap_or((0, false));
        Self {
            limit: AtomicU64::new(limit),
            cap: AtomicU64::new(u64::MAX),
            own: AtomicI64::new(0),
            elsewhere: AtomicI64::new(i64::try_from(used).unwrap_or(i64::MAX)),
            is_shared: AtomicBool::new(false),
            reserved: AtomicU64::new(0),
            exact: AtomicBool::new(exact),
            by_host: None,
            recounting: AtomicBool::new(false),
            recount: Mutex::new(None),
        }
    }

    /// A quota that the host keeps. The largest number in the files `used` is that of the bytes that are used.
    #[must_use]
    pub fn by_host(limit: u64, used: [PathBuf; 2]) -> Self {
        Self { by_host: Some(used), ..Self::counted(limit, None) }
    }

    /// Changes the limit. It is in force for the next change of a file.
    pub fn set_limit(&self, limit: u64) {
        self.limit.store(limit, Ordering::Relaxed);
    }

    /// The limit in bytes.
    #[must_use]
    pub fn limit(&self) -> u64 {
        self.limit.load(Ordering::Relaxed)
    }

    /// The bytes that are used. `None` if the host does not say.
    #[must_use]
    pub fn used(&self) -> Option<u64> {
        match &self.by_host {
            Some(files) => files.iter().filter_map(|file| number_in(file)).max(),
            None => Some(self.sum()),
        }
    }

    /// Whether all files were counted. Otherwise [`Self::used`] is an estimate.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        self.exact.load(Ordering::Relaxed)
    }

    /// Whether the server counts it.
    #[must_use]
    pub fn is_counted(&self) -> bool {
        self.by_host.is_none()
    }

    fn reserve(&self, bytes: u64) -> bool {
        let reserved = self.reserved.fetch_add(bytes, Ordering::AcqRel).saturating_add(bytes);
        let fits = self.sum().saturating_add(reserved) <= self.limit().min(self.cap.load(Ordering::Relaxed));
        if !fits {
            self.release(bytes);
        }
        fits
    }

    fn sum(&self) -> u64 {
        let sum = self.own.load(Ordering::Acquire) + self.elsewhere.load(Ordering::Acquire);
        u64::try_from(sum).unwrap_or(0)
    }

    fn add(&self, bytes: i64) {
        self.own.fetch_add(bytes, Ordering::AcqRel);
    }

    fn release(&self, bytes: u64) {
        self.reserved.fetch_sub(bytes, Ordering::AcqRel);
    }

    fn shown(&self, space: Space) -> Space {
        let limit = self.limit();
        let used = self.used();
        let left = used.map_or(limit, |used| limit.saturating_sub(used));
        let own = Allowance { left, used: used.unwrap_or(0) };
        let quota = space.quota.filter(|other| other.left <= left).or(Some(own));
        Space {
            quota,
            total: space.total.min(limit),
            free: space.free.min(left),
            available: space.available.min(left),
            ..space
        }
    }
}

/// The quotas that count for the files of a folder: its own, and those of the shares above it.
#[derive(Debug, Default)]
pub struct Meter {
    charges: Arc<Charges>,
    arranged: RwLock<MeterScope, ranks::MeterQuotas>,
    /// Whether any of the quotas is counted by the server.
    counts: AtomicBool,
    /// Whether there are any.
    limits: AtomicBool,
    /// Whether servers count one of them together.
    is_shared: AtomicBool,
    /// Grows with each change of `MeterScope::inside`. 0: there was never anything inside.
    epoch: AtomicU64,
}

/// What a meter counts for.
#[derive(Debug, Clone, Default)]
struct MeterScope {
    quotas: Arc<[Arc<Quota>]>,
    /// The innermost folders first.
    inside: Arc<[Inside]>,
}

/// A folder inside the folder of a meter that has a meter of its own, which counts for all files in it.
#[derive(Debug, Clone)]
pub struct Inside {
    /// Its absolute path, as the host tells it.
    pub path: PathBuf,
    /// The file system that it is on.
    pub device: u32,
    /// It counts for the quotas above it, too.
    pub meter: Arc<Meter>,
}

impl Meter {
    /// Without quotas. All meters of a server have the same charges.
    #[must_use]
    pub fn new(charges: &Arc<Charges>) -> Self {
        Self { charges: charges.clone(), ..Self::default() }
    }

    /// Replaces the quotas, also while files are being changed.
    pub fn set(&self, quotas: Vec<Arc<Quota>>) {
        let counts = quotas.iter().any(|quota| quota.is_counted());
        let is_shared = quotas.iter().any(|quota| quota.is_shared());
        self.limits.store(!quotas.is_empty(), Ordering::Release);
        self.arranged.write().quotas = quotas.into();
        self.is_shared.store(is_shared, Ordering::Release);
        self.counts.store(counts, Ordering::Release);
    }

    /// Whether other servers change the files, too: what a file takes is then known only while it is being changed here.
    fn is_shared(&self) -> bool {
        self.is_shared.load(Ordering::Acquire)
    }

    /// Replaces the folders inside that have meters of their own. Files that are in use are counted by the new ones with
    /// their next change.
    pub fn set_inside(&self, mut inside: Vec<Inside>) {
        inside.sort_by(|one, other| one.path.cmp(&other.path).reverse());
        let mut arranged = self.arranged.write();
        let is_same = arranged.inside.iter().map(Inside::identity).eq(inside.iter().map(Inside::identity));
        if !is_same {
            arranged.inside = inside.into();
            self.epoch.fetch_add(1, Ordering::AcqRel);
        }
    }

    /// Which folders are inside. 0: none ever was.
    #[inline]
    pub(crate) fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::Acquire)
    }

    /// Whether a folder inside has a meter that counts.
    pub(crate) fn counts_inside(&self) -> bool {
        self.epoch() != 0 && self.inside().iter().any(|inside| inside.meter.counts())
    }

    /// The meter for a file at a path, if that is in a folder inside.
    pub(crate) fn inside_at(&self, path: &Path) -> Option<(u32, Arc<Meter>)> {
        let inside = self.inside();
        let found = inside.iter().find(|inside| path.starts_with(&inside.path))?;
        Some((found.device, found.meter.clone()))
    }

    /// A file has changed that may be in a folder inside: all files there are counted again.
    pub(crate) fn spoil_inside(&self) {
        self.inside().iter().for_each(|inside| inside.meter.spoil());
    }

    fn inside(&self) -> Arc<[Inside]> {
        self.arranged.read().inside.clone()
    }

    /// Whether the same quotas are counted.
    pub(crate) fn counts_as(&self, other: &Self) -> bool {
        let [mine, others] = [self, other].map(|meter| {
            let quotas = meter.quotas();
            let counted = quotas.iter().filter(|quota| quota.is_counted());
            counted.map(Arc::as_ptr).collect::<std::collections::BTreeSet<_>>()
        });
        mine == others
    }

    /// Whether changes of files are counted.
    #[inline]
    pub(crate) fn counts(&self) -> bool {
        self.counts.load(Ordering::Acquire)
    }

    pub(crate) fn charge(&self, file: FileId) -> Arc<Charge> {
        self.charges.of(file)
    }

    pub(crate) fn is_recounting(&self) -> bool {
        self.counts() && self.quotas().iter().any(|quota| quota.recounting.load(Ordering::Acquire))
    }

    fn quotas(&self) -> Arc<[Arc<Quota>]> {
        self.arranged.read().quotas.clone()
    }

    /// The space that clients see.
    pub(crate) fn shown(&self, space: Space) -> Space {
        if !self.limits.load(Ordering::Acquire) {
            return space;
        }
        self.quotas().iter().fold(space, |space, quota| quota.shown(space))
    }

    /// Reserves space in all quotas, until the answer is dropped.
    pub(crate) fn reserve(&self, bytes: u64) -> Result<SpaceReservation> {
        let mut reserved = SpaceReservation { quotas: Vec::new(), bytes };
        if bytes > 0 {
            for quota in self.quotas().iter().filter(|quota| quota.is_counted()) {
                if !quota.reserve(bytes) {
                    return Err(Error::QuotaExceeded);
                }
                reserved.quotas.push(quota.clone());
            }
        }
        Ok(reserved)
    }

    /// A file is about to change, or has changed: what it counted with before.
    fn touch(&self, file: FileId, before: u64) {
        self.quotas().iter().for_each(|quota| quota.touch(file, before));
    }

    fn add(&self, bytes: i64) {
        for quota in self.quotas().iter().filter(|quota| quota.is_counted()) {
            quota.add(bytes);
        }
    }

    /// Something has changed that cannot be counted: all files are counted again.
    pub(crate) fn spoil(&self) {
        self.quotas().iter().for_each(|quota| quota.spoil());
    }

    /// A folder with all below it is in another place now.
    pub(crate) fn moved(&self, make: impl Fn() -> Option<MovedFolder>) {
        self.quotas().iter().for_each(|quota| quota.moved(&make));
    }
}

impl Inside {
    fn identity(&self) -> (&Path, u32, *const Meter) {
        (&self.path, self.device, Arc::as_ptr(&self.meter))
    }
}

/// Space that a change may take.
#[must_use]
pub(crate) struct SpaceReservation {
    quotas: Vec<Arc<Quota>>,
    bytes: u64,
}

impl Drop for SpaceReservation {
    fn drop(&mut self) {
        self.quotas.iter().for_each(|quota| quota.release(self.bytes));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: FileId = FileId::new(1, 7);

    fn space() -> Space {
        Space { total: 1000, free: 900, available: 800, files: 5, files_free: 4, block_size: 1, quota: None }
    }

    fn meter(quotas: &[&Arc<Quota>]) -> Meter {
        let meter = Meter::default();
        meter.set(quotas.iter().map(|quota| Arc::clone(quota)).collect());
        meter
    }

    #[test]
    fn the_smallest_of_all_quotas_is_reserved_and_shown() {
        let (inner, outer) = (Arc::new(Quota::counted(100, None)), Arc::new(Quota::counted(500, None)));
        let meter = meter(&[&inner, &outer]);
        let reserved = meter.reserve(60).unwrap();
        assert_eq!(meter.reserve(60).err(), Some(Error::QuotaExceeded));
        assert_eq!(outer.reserved.load(Ordering::Relaxed), 60, "a refused change reserves nothing");
        drop(reserved);
        meter.add(70);
        let shown = meter.shown(space());
        assert_eq!((shown.total, shown.free, shown.available, shown.files), (100, 30, 30, 5));
        assert_eq!(shown.quota, Some(Allowance { left: 30, used: 70 }), "the one that leaves least");
        assert!(meter.reserve(30).is_ok() && meter.reserve(31).is_err());
        inner.set_limit(50);
        assert_eq!(meter.shown(space()).available, 0, "used is more than the new limit");
        assert!(meter.reserve(0).is_ok(), "what takes no space is never refused");
    }

    #[test]
    fn two_writers_of_one_file_are_counted_once() {
        let quota = Arc::new(Quota::counted(1 << 20, None));
        let meter = meter(&[&quota]);
        let charge = meter.charge(FILE);
        let now =
            |blocks: u64| move || Ok(Footprint { size: blocks * BLOCK, bytes: blocks * BLOCK, links: 1 });
        charge.begin(&meter, false, now(0)).unwrap();
        meter.charge(FILE).begin(&meter, false, now(0)).unwrap();
        charge.settle(&meter, false, now(2));
        charge.settle(&meter, false, now(2));
        assert_eq!(quota.used(), Some(2 * BLOCK));
        assert!(charge.is_dense_to(2 * BLOCK) && !charge.is_dense_to(2 * BLOCK + 1));
        charge.begin(&meter, true, now(2)).unwrap();
        assert!(!charge.is_dense_to(1), "while it is being cut");
        charge.settle(&meter, true, now(0));
        assert_eq!(quota.used(), Some(0));
    }

    #[test]
    fn a_recount_is_exact_while_files_change_move_and_go() {
        let quota = Arc::new(Quota::counted(u64::MAX, Some((999, false))));
        let meter = meter(&[&quota]);
        let id = |inode| FileId::new(1, inode);
        quota.begin_recount();
        meter.touch(id(1), 10); // grows before it is visited
        meter.add(5);
        quota.visit(id(1), 15);
        quota.visit(id(2), 20);
        meter.touch(id(2), 20); // shrinks after it was visited
        meter.add(-20);
        meter.touch(id(3), 30); // is removed before it is visited
        meter.add(-30);
        quota.visit(id(4), 40);
        quota.visit(id(4), 40); // its other name
        assert!(quota.finish_recount().is_exact);
        assert_eq!(quota.used(), Some(10 + 5 + 40));
        assert!(quota.is_exact());
    }
}
