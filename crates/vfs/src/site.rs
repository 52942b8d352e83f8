//! What all volumes of a server share.
//!
//! Volumes are views: a folder, what of it is shown, and whether it may be changed. A file's opens,
//! locks, leases and events depend on the file alone, by [`FileId`], and so they are here. Two
//! shares of one folder, a share inside another one, a bind mount, and a volume that a reload
//! replaced all use the same ones.

use std::pin::Pin;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};

use coherence::served::ServedTree;
use lock::Mutex;

use super::{FileId, Volume};
use crate::access::StoredAclCache;
use crate::backend::Node;
use crate::backups::BandJournals;
use crate::changing::busy::Busy;
use crate::changing::changed::ChangeTimeTable;
use crate::changing::coherence::Recalls;
use crate::changing::inhibited::InhibitedFileCache;
use crate::changing::stateless_writes::StatelessWrites;
use crate::changing::vacated::VacatedNameTable;
use crate::events::{ChangeKind, HubCounts};
use crate::homes::Homes;
use crate::local::Recalling;
use crate::open::{Holds, OpenBudget, OpenCounts, Places};
use crate::ranks;
use crate::state::{ChangeNotice, Elsewhere, Party, State};
use crate::traffic::{Traffic, TrafficCounters};
use resources::Pool;
use resources::caches::{Cache, CacheReport};
use resources::reserved::ReservedStreams;

/// What all volumes of a server share. One for each process; tests have as many as they want.
#[derive(Default)]
pub struct Site {
    pub(crate) state: State,
    pub(crate) recalls: Recalls,
    pub(crate) busy: Arc<Busy>,
    pub(crate) places: Places,
    pub(crate) opens: Arc<OpenBudget>,
    pub(crate) holds: Holds,
    pub(crate) pool: Pool,
    pub(crate) changed: ChangeTimeTable,
    pub(crate) journals: Arc<BandJournals>,
    pub(crate) acls: StoredAclCache,
    pub(crate) inhibited: Arc<InhibitedFileCache>,
    pub(crate) vacated: VacatedNameTable,
    /// Raised to forget what listings know of entries.
    pub(crate) details: Arc<AtomicU64>,
    /// How often streams in stores came or went.
    pub(crate) stored_changes: AtomicU64,
    /// How many subscriptions to changes there are, and how much they have taken.
    pub(crate) subscriptions: Arc<HubCounts>,
    pub(crate) stateless_writes: StatelessWrites,
    pub(crate) traffic: TrafficCounters,
    pub(crate) reserved: Arc<ReservedStreams>,
    /// The volumes that have had subscriptions.
    watched: Mutex<Vec<Weak<Volume>>, ranks::WatchedVolumes>,
    homes: Mutex<Vec<Weak<Homes>>, ranks::SiteHomes>,
    /// What is done about local processes that use what clients have in their caches.
    recalling: OnceLock<Arc<Recalling>>,
    views: AtomicU32,
}

impl Site {
    /// Every file is asked for the ACL that Samba has stored, not only where one is among the first files of a share.
    pub fn expect_acls_of_samba(&self) {
        self.acls.expect_sambas();
    }

    /// What the SIDs in ACLs of Samba are on this host. It is told once, before there are volumes.
    pub fn tell_sids(&self, sids: crate::acl::samba::SidMap) {
        self.acls.tell_sids(sids);
    }

    /// The site of a server that shares its files with other servers, which coordinate this state.
    pub fn joined(state: State) -> Self {
        Self { state, ..Self::default() }
    }

    /// What is done about local processes. `None` outside of a runtime, where nothing can wait for clients.
    pub(crate) fn recalling(&self) -> Option<Arc<Recalling>> {
        if let Some(recalling) = self.recalling.get() {
            return Some(recalling.clone());
        }
        let runtime = tokio::runtime::Handle::try_current().ok()?;
        let make = || Recalling::new(self, runtime);
        Some(self.recalling.get_or_init(make).clone())
    }

    /// A number for a new volume.
    pub(crate) fn new_view(&self) -> u32 {
        self.views.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Whether there is any subscription to changes, here or at other servers.
    #[inline]
    pub(crate) fn listens(&self) -> bool {
        self.subscriptions.listens() || self.state.tells()
    }

    /// Whether a subscription wants to know which file was removed. Other servers do.
    #[inline]
    pub(crate) fn identifies_removed(&self) -> bool {
        self.subscriptions.identifies_removed() || self.state.tells()
    }

    /// Notes that there is a subscription to changes of a volume.
    pub(crate) fn watch(&self, volume: &Arc<Volume>) {
        let mut watched = self.watched.lock();
        watched.retain(|known| known.strong_count() > 0);
        if !watched.iter().any(|known| std::ptr::eq(known.as_ptr(), Arc::as_ptr(volume))) {
            watched.push(Arc::downgrade(volume));
        }
    }

    /// The volumes that have subscriptions.
    pub(crate) fn watched(&self) -> Vec<Arc<Volume>> {
        self.watched.lock().iter().filter_map(Weak::upgrade).collect()
    }

    pub(crate) fn add_homes(&self, homes: &Arc<Homes>) {
        let mut all = self.homes.lock();
        all.retain(|known| known.strong_count() > 0);
        all.push(Arc::downgrade(homes));
    }

    /// The folders on a device that other volumes than this one share.
    pub(crate) fn roots_on(
        &self,
        device: u32,
        except: &Homes,
        wanted: impl Fn(&Homes, &Node) -> bool,
    ) -> Vec<Node> {
        let others: Vec<Arc<Homes>> = {
            let all = self.homes.lock();
            if all.len() < 2 {
                return Vec::new();
            }
            all.iter().filter_map(Weak::upgrade).filter(|homes| !std::ptr::eq(&**homes, except)).collect()
        };
        let is_wanted = |homes: &&Arc<Homes>| {
            homes.known_root().is_some_and(|root| root.id().device == device && wanted(homes, root))
        };
        let wanted = others.iter().filter(is_wanted);
        wanted.filter_map(|homes| Some(homes.backend.root().ok()?.object)).collect() // those that are still there
    }

    /// From now on, clients may have so many files open at once.
    pub fn limit_opens(&self, limit: usize) {
        self.opens.limit_to(limit);
    }

    /// How many files clients have open, and may have.
    pub fn open_counts(&self) -> OpenCounts {
        self.opens.counts()
    }

    /// What clients have read and written.
    pub fn traffic(&self) -> Traffic {
        self.traffic.sums()
    }

    /// The streams that are reserved, and what others leave them.
    pub fn reserved(&self) -> &Arc<ReservedStreams> {
        &self.reserved
    }

    /// The cache of stored ACLs.
    pub fn acl_cache(self: &Arc<Self>) -> Arc<dyn Cache> {
        Arc::new(AclCache(self.clone()))
    }

    /// The opens, locks and leases of all files.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// The name of a file that a client has open, for display.
    pub fn open_name(&self, file: FileId) -> Option<Arc<[u8]>> {
        self.places.name_of(file)
    }
}

impl ServedTree for Site {
    fn follow(&self, told: &ChangeNotice) {
        if let (ChangeKind::Renamed { old_folder, old_name }, Some(file)) =
            (&told.change.what, told.change.file)
        {
            let now = (told.change.folder, told.folder, &told.change.name);
            self.places.moved_elsewhere(file, (*old_folder, old_name), now);
            self.subscriptions.delivered();
        }
    }

    fn hear(&self, told: &ChangeNotice) {
        if told.is_going {
            let going = told.change.file.into_iter();
            return going.for_each(|folder| self.watched().iter().for_each(|v| v.events.going(folder)));
        }
        for volume in self.watched() {
            if volume.backend.by_key(&told.folder).is_ok() {
                volume.locals.publish(&volume.events, &told.change);
            }
        }
    }

    fn hear_of_loss(&self) {
        self.watched().iter().for_each(|volume| volume.events.lost());
    }

    fn files_open_below(&self, folder: FileId) -> Vec<FileId> {
        Self::files_open_below(self, folder, usize::MAX)
    }

    fn recall_opens<'a>(
        &'a self,
        by: Party,
        files: &'a [FileId],
    ) -> Pin<Box<dyn Future<Output = ()> + Send + 'a>> {
        Box::pin(Self::recall_opens(self, by, files))
    }

    fn hold_below(&self, folder: FileId) -> Option<Elsewhere> {
        Some(Box::new(Self::hold_below(self, folder)?))
    }
}

/// The ACLs that the site remembers, as a cache.
struct AclCache(Arc<Site>);

impl Cache for AclCache {
    fn report(&self) -> CacheReport {
        self.0.acls.report()
    }

    fn limit_to(&self, limit: u64) {
        self.0.acls.limit_to(limit);
    }
}
