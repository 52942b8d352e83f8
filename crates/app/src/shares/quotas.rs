//! The quotas of shares: those that the host keeps, and those that the server counts.
//!
//! ```text
//! btrfs subvolume ─► the keeper sets the limit of a quota group; the kernel refuses, and says how much is used
//! ZFS dataset     ─► the keeper sets `quota`; the host's own numbers of the disk are right
//! anything else   ─► `vfs::quota` counts. The sums are in quotas.json, and are exact if the last stop was clean
//! ```
//!
//! The servers of a cluster count together: see `in_cluster.rs`.

mod in_cluster;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use admin::Settings;
use cluster::{Cluster, Elsewhere};
use lock::Mutex;
use serde::{Deserialize, Serialize};
use snapshots::{Dataset, EngineKind};
use vfs::FileId;
use vfs::backend::host;
use vfs::quota::{Charges, Inside, Meter, Quota};

use crate::ranks;

/// The file in the state folder.
const FILE: &str = "quotas.json";
/// How long the host may take to keep a limit. Afterwards the server counts.
const HOST_WITHIN: Duration = Duration::from_secs(30);
/// How often the host is asked meanwhile.
const ASK_EVERY: Duration = Duration::from_millis(200);
/// Programs of the host change files, too: all files are counted again after this time.
const COUNTED_FOR: Duration = Duration::from_secs(24 * 3600);
/// After a recount that failed.
const AGAIN_AFTER: Duration = Duration::from_secs(60);
/// After one that was not exact or was interrupted, so many times as long as it took: within these limits.
const AGAIN_TIMES: u32 = 10;
const AGAIN_WITHIN: (Duration, Duration) = (Duration::from_secs(5), AGAIN_AFTER);

/// A folder by its device and inode number.
type Place = (u64, u64);

/// The quotas of all shares.
pub(crate) struct Quotas {
    state: PathBuf,
    charges: Arc<Charges>,
    cluster: OnceLock<Arc<Cluster>>,
    table: Mutex<QuotaTable, ranks::ShareQuotas>,
    /// Whether a thread counts.
    is_counting: AtomicBool,
    /// Whether a thread waits for the host to keep a limit.
    is_asking: AtomicBool,
}

#[derive(Default)]
struct QuotaTable {
    meters: HashMap<Place, Arc<Meter>>,
    kept: BTreeMap<PathBuf, QuotaEntry>,
    /// The share folders that quotas may count for.
    folders: Vec<(PathBuf, Place)>,
    stored: Option<StoredSums>,
    written: Option<StoredSums>,
}

/// The quota of one share.
struct QuotaEntry {
    place: Place,
    quota: Arc<Quota>,
    limit: u64,
    way: Way,
    /// What the other servers of the cluster have told last.
    told: Option<Elsewhere>,
    counted: Arc<Mutex<CountTimes, ranks::QuotaCounted>>,
}

/// Who keeps it.
enum Way {
    Counted,
    /// The host is to keep it, since then.
    Asked(Dataset, Instant),
    Host,
}

/// When all files were counted last, and from when on that may be tried again.
#[derive(Debug, Clone, Copy, Default)]
struct CountTimes {
    done: Option<SystemTime>,
    again: Option<Instant>,
}

/// The sums, as they are in the state folder.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct StoredSums {
    /// The server has stopped, and nothing was counted afterwards.
    clean: bool,
    folders: BTreeMap<PathBuf, Sum>,
}

/// What one folder takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Sum {
    pub(crate) used: u64,
    pub(crate) exact: bool,
    /// When all files were counted, in seconds since 1970.
    counted: u64,
}

/// The sums that a running server wrote some seconds ago, or the last one before it stopped.
pub(crate) fn sums(state: &Path) -> BTreeMap<PathBuf, Sum> {
    StoredSums::read(state).folders
}

/// Files are changed without a server: the next one counts all of them.
pub(crate) fn forget(state: &Path) -> io::Result<()> {
    let stored = StoredSums::read(state);
    if stored.clean { StoredSums { clean: false, ..stored }.write(state) } else { Ok(()) }
}

/// What a folder took when the last server stopped, if that was exact and nothing was counted since.
pub(crate) fn exact_sum(state: &Path, folder: &Path) -> Option<u64> {
    let stored = StoredSums::read(state);
    let sum = stored.folders.get(folder).filter(|sum| stored.clean && sum.exact)?;
    Some(sum.used)
}

impl StoredSums {
    fn read(state: &Path) -> Self {
        let text = fs::read(state.join(FILE)).unwrap_or_default();
        serde_json::from_slice(&text).unwrap_or_default()
    }

    fn write(&self, state: &Path) -> io::Result<()> {
        let (file, new) = (state.join(FILE), state.join(format!("{FILE}.new")));
        fs::write(&new, serde_json::to_vec(self)?)?;
        if self.clean {
            File::open(&new)?.sync_all()?;
        }
        fs::rename(&new, &file)?;
        if self.clean { File::open(state)?.sync_all() } else { Ok(()) }
    }
}

impl Quotas {
    /// Without quotas. `state` is the state folder.
    pub(crate) fn new(state: &Path) -> Self {
        let (charges, table) = (Arc::default(), Mutex::default());
        Self {
            state: state.into(),
            charges,
            cluster: OnceLock::new(),
            table,
            is_counting: AtomicBool::new(false),
            is_asking: AtomicBool::new(false),
        }
    }

    /// What counts for the files of a share's folder.
    pub(crate) fn meter(&self, place: Place) -> Arc<Meter> {
        self.table.lock().meter(place, &self.charges)
    }

    /// Puts the quotas of the settings in force.
    pub(crate) fn apply(self: &Arc<Self>, settings: &Settings) {
        let mut table = self.table.lock();
        if table.stored.is_none() {
            table.stored = Some(StoredSums::read(&self.state));
            table.written = table.stored.clone();
        }
        let place = |path: &Path| fs::metadata(path).map(|found| (found.dev(), found.ino())).ok();
        let shares = settings.shares.iter();
        let folders = shares.filter_map(|share| Some((share.path.canonicalize().ok()?, place(&share.path)?)));
        table.folders = folders.collect();
        let mut wanted: BTreeMap<PathBuf, (Place, u64)> = BTreeMap::new();
        for share in &settings.shares {
            let (Some(limit), Ok(path)) = (share.quota, share.path.canonicalize()) else { continue };
            let Some(place) = place(&path) else { continue };
            let known = wanted.entry(path).or_insert((place, limit));
            known.1 = known.1.min(limit); // two shares of one folder
        }
        table.kept.retain(|path, kept| wanted.get(path).is_some_and(|(place, _)| *place == kept.place));
        for (path, (place, limit)) in wanted {
            table.keep(path, place, limit);
        }
        table.arrange(&self.charges);
        self.write(&mut table, false);
        let is_asked = table.is_asked();
        drop(table);
        self.tend();
        if is_asked && !self.is_asking.swap(true, Ordering::AcqRel) {
            let quotas = self.clone();
            let ask = move || {
                // Clients see a new limit at once, and not with the next call of `tend`.
                while quotas.table.lock().is_asked() {
                    std::thread::sleep(ASK_EVERY);
                    quotas.take_over();
                }
                quotas.is_asking.store(false, Ordering::Release);
            };
            if let Err(error) = std::thread::Builder::new().name("quotas".into()).spawn(ask) {
                self.is_asking.store(false, Ordering::Release);
                tracing::warn!(%error, "the host's quotas are looked at some seconds later");
            }
        }
    }

    /// Takes over what the host keeps by now.
    fn take_over(&self) {
        let mut table = self.table.lock();
        if table.settle() {
            table.arrange(&self.charges);
        }
    }

    /// Called regularly: counts what is due, and stores the sums.
    pub(crate) fn tend(self: &Arc<Self>) {
        self.take_over();
        // In a cluster one server counts all files.
        let is_counter = self.cluster.get().map(|cluster| cluster.is_counter());
        let mut table = self.table.lock();
        self.write(&mut table, false);
        let is_here =
            |kept: &QuotaEntry| is_counter.is_none_or(|is_counter| is_counter && kept.quota.is_shared());
        let due = table.kept.iter().find(|(_, kept)| kept.is_due() && is_here(kept));
        let due =
            due.map(|(path, kept)| (path.clone(), kept.folder(), kept.quota.clone(), kept.counted.clone()));
        drop(table);
        let Some((path, at, quota, counted)) = due else { return };
        if self.is_counting.swap(true, Ordering::AcqRel) {
            return;
        }
        let quotas = self.clone();
        let count = move || {
            let began = Instant::now();
            let result = quotas.recount((&path, at), &quota);
            let pause = match &result {
                // Busy: a server has come or gone, or does not answer.
                Ok(_) | Err(vfs::Error::Busy) => {
                    (began.elapsed() * AGAIN_TIMES).clamp(AGAIN_WITHIN.0, AGAIN_WITHIN.1)
                }
                Err(_) => AGAIN_AFTER,
            };
            let mut counted = counted.lock();
            counted.again = Some(Instant::now() + pause);
            let folder = path.display();
            match result {
                Ok(true) => {
                    counted.done = Some(SystemTime::now());
                    tracing::info!(%folder, used = quota.used(), "the files were counted for the quota");
                }
                Ok(false) => {
                    tracing::info!(%folder, "too much changed while the files were counted: again later")
                }
                Err(error) => tracing::warn!(%folder, %error, "the files cannot be counted for the quota"),
            }
            drop(counted);
            quotas.is_counting.store(false, Ordering::Release);
            quotas.tend(); // the next one
        };
        if let Err(error) = std::thread::Builder::new().name("recount".into()).spawn(count) {
            self.is_counting.store(false, Ordering::Release);
            tracing::warn!(%error, "the files cannot be counted for the quota");
        }
    }

    /// What a folder takes, if the server counts that and knows it.
    pub(crate) fn counted_sum(&self, folder: &Path) -> Option<u64> {
        let table = self.table.lock();
        let kept = table.kept.get(folder).filter(|kept| matches!(kept.way, Way::Counted))?;
        kept.quota.used().filter(|_| kept.quota.is_exact())
    }

    /// Counts all files of a folder, with the other servers of a cluster. Whether the result is exact.
    fn recount(&self, (path, at): (&Path, FileId), quota: &Quota) -> vfs::Result<bool> {
        let state = Some(&*self.state);
        let counted = match self.cluster.get() {
            None => host::recount(path, state, quota, None),
            Some(cluster) => {
                cluster.count_files(at, |others| host::recount(path, state, quota, Some(others)))
            }
        };
        counted.map(|counted| counted.is_exact)
    }

    /// Counts the files of a folder now.
    pub(crate) fn count_now(&self, folder: &Path) -> anyhow::Result<()> {
        let kept = self.table.lock().kept.get(folder).map(|kept| (kept.folder(), kept.quota.clone()));
        let Some((at, quota)) = kept else { anyhow::bail!("the server does not count it any more") };
        if self.is_counting.swap(true, Ordering::AcqRel) {
            anyhow::bail!("the files of a share are being counted now");
        }
        let done = self.recount((folder, at), &quota);
        self.is_counting.store(false, Ordering::Release);
        anyhow::ensure!(done?, "too much changed while the files were counted");
        Ok(())
    }

    /// The server stops, and no file is changed any more: the sums stay exact.
    pub(crate) fn stop(&self) {
        self.write(&mut self.table.lock(), true);
    }

    fn write(&self, table: &mut QuotaTable, clean: bool) {
        let folders: BTreeMap<PathBuf, Sum> = table.kept.iter().filter_map(QuotaEntry::sum).collect();
        let now = StoredSums { clean: clean && !self.is_counting.load(Ordering::Acquire), folders };
        let is_new = table.written.as_ref() != Some(&now);
        if !is_new || (now.folders.is_empty() && !self.state.join(FILE).exists()) {
            return;
        }
        match now.write(&self.state) {
            Ok(()) => table.written = Some(now),
            Err(error) => tracing::warn!(%error, "the sums of the quotas cannot be stored"),
        }
    }
}

impl QuotaEntry {
    /// The servers of the cluster know this. Returns whether something has changed here that could not be counted.
    fn told(&mut self, now: Elsewhere) -> bool {
        if !self.quota.is_shared() {
            return false; // it begins to be
        }
        let before = self.told.replace(now);
        if now.is_exact && before.is_none_or(|before| before.version != now.version) {
            self.counted.lock().done = Some(SystemTime::now());
        }
        let was_exact = before.is_some_and(|before| before.is_exact);
        if was_exact && !now.is_exact {
            self.counted.lock().again = None; // a server was lost: the next count is due now
        }
        let is_spoiled = was_exact && !self.quota.is_exact();
        self.quota.set_elsewhere(now.bytes, now.is_exact && !is_spoiled);
        is_spoiled && now.is_exact
    }

    fn sum((path, kept): (&PathBuf, &Self)) -> Option<(PathBuf, Sum)> {
        let counted = kept.counted.lock().done.and_then(|done| done.duration_since(UNIX_EPOCH).ok());
        let counted = counted.map_or(0, |since| since.as_secs());
        let is_counted = matches!(kept.way, Way::Counted);
        let sum = Sum { used: kept.quota.used()?, exact: kept.quota.is_exact(), counted };
        is_counted.then(|| (path.clone(), sum))
    }

    fn is_due(&self) -> bool {
        let counted = *self.counted.lock();
        let is_old = counted.done.is_none_or(|done| done.elapsed().is_ok_and(|since| since > COUNTED_FOR));
        let is_soon = counted.again.is_some_and(|again| Instant::now() < again);
        matches!(self.way, Way::Counted) && (is_old || !self.quota.is_exact()) && !is_soon
    }
}

impl QuotaTable {
    fn is_asked(&self) -> bool {
        self.kept.values().any(|kept| matches!(kept.way, Way::Asked(..)))
    }

    fn meter(&mut self, place: Place, charges: &Arc<Charges>) -> Arc<Meter> {
        self.meters.entry(place).or_insert_with(|| Arc::new(Meter::new(charges))).clone()
    }

    fn keep(&mut self, path: PathBuf, place: Place, limit: u64) {
        if let Some(kept) = self.kept.get_mut(&path)
            && (kept.limit == limit || matches!(kept.way, Way::Counted))
        {
            kept.limit = limit;
            kept.quota.set_limit(limit);
            return;
        }
        let dataset = Dataset::find(&path).ok().filter(|dataset| dataset.has_quotas());
        let dataset = dataset.filter(|_| rustix::process::geteuid().is_root());
        let kept = match dataset {
            Some(dataset) => QuotaEntry {
                place,
                quota: Arc::new(Quota::counted(u64::MAX, None)),
                limit,
                way: if dataset.engine() == EngineKind::Zfs {
                    Way::Host
                } else {
                    Way::Asked(dataset, Instant::now())
                },
                told: None,
                counted: Arc::default(),
            },
            None => self.counted(&path, place, limit),
        };
        self.kept.insert(path, kept);
    }

    fn counted(&mut self, path: &Path, place: Place, limit: u64) -> QuotaEntry {
        let stored = self.stored.as_mut();
        let known = stored.and_then(|stored| Some((stored.folders.remove(path)?, stored.clean)));
        let sum = known.map(|(sum, clean)| (sum.used, sum.exact && clean));
        let done = known.map(|(sum, _)| UNIX_EPOCH + Duration::from_secs(sum.counted));
        let quota = Arc::new(Quota::counted(limit, sum));
        QuotaEntry {
            place,
            quota,
            limit,
            way: Way::Counted,
            told: None,
            counted: Arc::new(Mutex::new(CountTimes { done, again: None })),
        }
    }

    /// Takes over the limits that the host keeps by now. Where it has not done so in time, the server counts.
    fn settle(&mut self) -> bool {
        let asked = |(path, kept): (&PathBuf, &QuotaEntry)| match &kept.way {
            Way::Asked(dataset, since) => match dataset.quota_in_force(kept.limit) {
                None if since.elapsed() < HOST_WITHIN => None,
                used => Some((path.clone(), used)),
            },
            _ => None,
        };
        let settled: Vec<(PathBuf, Option<[PathBuf; 2]>)> = self.kept.iter().filter_map(asked).collect();
        let changed = !settled.is_empty();
        for (path, used) in settled {
            let Some(kept) = self.kept.remove(&path) else { continue };
            let kept = match used {
                Some(used) => {
                    QuotaEntry { quota: Arc::new(Quota::by_host(kept.limit, used)), way: Way::Host, ..kept }
                }
                None => {
                    let folder = path.display();
                    tracing::warn!(%folder, "the host does not keep the quota, so the server counts");
                    self.counted(&path, kept.place, kept.limit)
                }
            };
            self.kept.insert(path, kept);
        }
        changed
    }

    /// Gives each share's folder the quotas of the folders above it, as far as they are on its file system.
    fn arrange(&mut self, charges: &Arc<Charges>) {
        let mut folders = self.folders.clone();
        folders.sort_unstable(); // the folders in a folder follow it
        let served: HashSet<Place> = folders.iter().map(|(_, place)| *place).collect();
        for (_, meter) in self.meters.iter().filter(|(place, _)| !served.contains(*place)) {
            meter.set(Vec::new());
            meter.set_inside(Vec::new());
        }
        for (folder, place) in &folders {
            let counts = |(path, kept): &(&PathBuf, &QuotaEntry)| match kept.way {
                Way::Counted => folder.starts_with(path) && kept.place.0 == place.0,
                Way::Host => folder.starts_with(path) && !kept.quota.is_counted(),
                Way::Asked(..) => false,
            };
            let quotas = self.kept.iter().filter(counts).map(|(_, kept)| kept.quota.clone()).collect();
            self.meter(*place, charges).set(quotas);
        }
        // Clients of a share come to the folders of shares inside of it.
        for (at, (folder, place)) in folders.iter().enumerate() {
            let below = folders[at..].iter().take_while(|(other, _)| other.starts_with(folder));
            let inside = below.filter(|(other, _)| other != folder).map(|(path, place)| {
                let device = FileId::device_of(rustix::fs::major(place.0), rustix::fs::minor(place.0));
                Inside { path: path.clone(), device, meter: self.meter(*place, charges) }
            });
            let inside = inside.collect();
            self.meter(*place, charges).set_inside(inside);
        }
    }
}
