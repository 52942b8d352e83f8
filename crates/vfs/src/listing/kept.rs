//! Listings kept from one request to the next, and how events about their folders change them.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Instant;

use lock::Mutex;

use super::budget::CacheBudget;
use super::building::{Building, Buildings};
use super::names::{Name, Names};
use super::reading::{names_among, read_names, watch};
use super::state::{Folder, ListingState};
use super::{Listing, Most, PIECE, Page, PageRules, WORTH_KEEPING, collect};
use crate::backend::{Backend, DataNotice, Found, Node, WatchEvent, WatchId};
use crate::names::Folding;
use crate::ranks;
use crate::streams::Streams;
use crate::{Attributes, FileId, IdMap, Result};

/// After so many calls of [`Listings::tend`] a folder that was too large for the budget is tried again,
const RETRY: u64 = 20;
/// and a kept folder that no client has used is dropped for other volumes' folders when memory is
/// short.
const IDLE: u64 = 20;
/// What a call of [`Listings::tend`] adds to the clock.
const TENDED: u64 = 1 << 32;
/// Folders that are remembered as too large.
const MOST_REFUSED: usize = 256;

/// All kept listings of a volume.
///
/// Locks are taken in this order: `kept`, a folder's state, an entry's details.
pub(crate) struct Listings {
    kept: Mutex<FolderTable, ranks::KeptListings>,
    count: AtomicUsize,
    budget: Arc<CacheBudget>,
    /// Raised to forget all details at once.
    epoch: Arc<AtomicU64>,
    /// How many times [`Listings::tend`] was called, in the upper half, and how many listings and names were installed.
    clock: AtomicU64,
    /// Folders that were too large, and the age at which that was found.
    refused: Mutex<IdMap<(FileId, KeptListing), u64>, ranks::RefusedListings>,
    buildings: Buildings,
}

/// What can be kept of a folder.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum KeptListing {
    Entries,
    Names,
}

/// What was read of a folder.
enum FolderData {
    Listing(Arc<Listing>),
    Names(Names),
}

#[derive(Default)]
struct FolderTable {
    folders: IdMap<FileId, Arc<Folder>>,
    watched: IdMap<WatchId, FileId>,
}

impl Listings {
    /// `details` counts how often details were forgotten, which all volumes of a site do together.
    pub(crate) fn new(budget: Arc<CacheBudget>, details: Arc<AtomicU64>) -> Self {
        Self {
            kept: Mutex::default(),
            count: AtomicUsize::new(0),
            budget,
            epoch: details,
            clock: AtomicU64::new(0),
            refused: Mutex::default(),
            buildings: Buildings::default(),
        }
    }

    /// Entries of `folder` after `cookie`. The attributes are the fresh ones of the folder. The
    /// events of the backend were taken in.
    pub(crate) fn page(
        &self,
        backend: &dyn Backend,
        streams: Option<&Arc<Streams>>,
        folder: &Node,
        attributes: &Attributes,
        cookie: u64,
    ) -> Result<Page> {
        let epoch = self.epoch.load(Ordering::Acquire);
        let page = |listing, from, complete| Page {
            listing,
            from,
            complete,
            epoch,
            may_search: false,
            by_acl: false,
            inhibited: None,
            rules: PageRules::default(),
        };
        if let Some(listing) = self.find(folder.id(), attributes)
            && let Some(from) = listing.position(cookie)
        {
            if cookie == 0 {
                self.budget.hit(folder.id(), listing.bytes());
            }
            return Ok(page(listing, from, true));
        }
        let listing = if cookie == 0 { self.build(backend, streams, folder, attributes)? } else { None };
        if let Some(listing) = listing {
            return Ok(page(listing, 0, true));
        }
        let (collected, complete) = collect(streams, folder, cookie, Most::Entries(PIECE))?;
        Ok(page(Arc::new(Listing::new(folder, streams, attributes, collected, false)), 0, complete))
    }

    /// The stored names of a folder that are the same as `name` for this folding, in the order of their bytes.
    pub(crate) fn names_like(
        &self,
        backend: &dyn Backend,
        folder: &Found,
        name: &[u8],
        folding: Folding,
    ) -> Result<Vec<Name>> {
        if let Some(names) = self.known_names(backend, folder, name, folding) {
            return Ok(names);
        }
        match self.gather_names(backend, folder)? {
            Some(names) => Ok(names.like(name, folding)),
            None => match self.known_names(backend, folder, name, folding) {
                Some(names) => Ok(names),
                None => names_among(&folder.object, name, folding),
            },
        }
    }

    fn known_names(
        &self,
        backend: &dyn Backend,
        folder: &Found,
        name: &[u8],
        folding: Folding,
    ) -> Option<Vec<Name>> {
        let id = folder.object.id();
        let kept = self.folder(id)?;
        kept.use_at(self.now());
        let mut state = kept.state.lock();
        if !state.explains(&folder.attributes) {
            drop(state);
            self.drop_folders(backend, |other, _| other == id);
            return None;
        }
        let names = state.names()?;
        self.budget.hit(id, names.bytes());
        Some(names.like(name, folding))
    }

    /// Reads all names of a folder. Keeps them, and returns `None`; or returns them if they are too
    /// few to be kept. `None` as well if they cannot be watched or do not fit into the budget.
    fn gather_names(&self, backend: &dyn Backend, folder: &Found) -> Result<Option<Names>> {
        let (node, attributes) = (&folder.object, &folder.attributes);
        if self.is_refused(node.id(), KeptListing::Names) {
            return Ok(None);
        }
        let Some(watch) = watch(backend, node, attributes) else { return Ok(None) };
        let begun = Instant::now();
        let building = Building::start(&self.buildings, backend, watch);
        let listing = self.folder(node.id()).and_then(|kept| kept.state.lock().fresh().cloned());
        let names = match listing {
            Some(listing) => Names::of(listing.all_names()),
            None => match read_names(node, self.budget.limit())? {
                Some(names) => names,
                None => {
                    self.refuse(node.id(), KeptListing::Names);
                    self.budget.missed(node.id(), self.budget.limit(), false, begun);
                    return Ok(None);
                }
            },
        };
        if names.len() < WORTH_KEEPING {
            return Ok(Some(names));
        }
        self.budget.missed(node.id(), names.bytes(), false, begun);
        Ok(self
            .install(&building, node.id(), attributes, FolderData::Names(names))
            .err()
            .and_then(FolderData::names))
    }

    /// Whether anything is kept, so that events are needed.
    pub(crate) fn keeps_any(&self) -> bool {
        self.count.load(Ordering::Acquire) > 0
    }

    /// Forgets all details: something changed in a way that no watch sees.
    pub(crate) fn forget_details(&self) {
        self.epoch.fetch_add(1, Ordering::AcqRel);
    }

    /// Drops what is not used, when memory is short. Called every few seconds.
    pub(crate) fn tend(&self, backend: &dyn Backend) {
        let age = (self.clock.fetch_add(TENDED, Ordering::Relaxed) / TENDED) + 1;
        self.refused.lock().retain(|_, since| age - *since < RETRY);
        self.shrink(backend, self.budget.limit(), self.budget.used());
        if self.budget.free() < self.budget.limit() / 4 {
            let mut kept = self.kept.lock();
            let is_idle =
                |folder: &Folder| age.saturating_sub(folder.used.load(Ordering::Relaxed) / TENDED) > IDLE;
            self.budget.evicted(self.drop_from(&mut kept, backend, |_, folder| is_idle(folder)));
        }
    }

    /// The limit has changed. Folders that were too large are tried again, and what is over the limit is dropped: of each
    /// volume the same part, so `used` is what all volumes took together before the first one was asked.
    pub(crate) fn limited(&self, backend: &dyn Backend, used: usize) {
        self.refused.lock().clear();
        self.shrink(backend, self.budget.limit(), used);
    }

    /// Drops the folders that were not used for the longest time, until this volume takes its part of the limit.
    fn shrink(&self, backend: &dyn Backend, limit: usize, used: usize) {
        if used <= limit {
            return;
        }
        let mut kept = self.kept.lock();
        let folders = kept
            .folders
            .iter()
            .map(|(id, folder)| (folder.used.load(Ordering::Relaxed), folder.state.lock().bytes(), *id));
        let mut folders: Vec<(u64, usize, FileId)> = folders.collect();
        folders.sort_unstable_by_key(|(age, ..)| std::cmp::Reverse(*age));
        let own: usize = folders.iter().map(|(_, bytes, _)| bytes).sum();
        let mut left = (own as u128 * limit as u128 / used.max(1) as u128) as usize;
        let mut stays = HashSet::new();
        for (_, bytes, id) in folders {
            // A folder that does not fit goes. Smaller ones that were used before it may still fit.
            let Some(rest) = left.checked_sub(bytes) else { continue };
            left = rest;
            stays.insert(id);
        }
        self.budget.evicted(self.drop_from(&mut kept, backend, |id, _| !stays.contains(&id)));
    }

    /// Takes in an event of the backend.
    pub(crate) fn take_event(&self, backend: &dyn Backend, event: &WatchEvent) {
        self.buildings.take_event(event);
        match event {
            WatchEvent::Entry { watch, name, what, .. } => {
                self.with_watched(backend, *watch, |state| state.hear(name, *what));
            }
            WatchEvent::Folder(watch) => self.with_watched(backend, *watch, ListingState::spoil),
            WatchEvent::Over(watch) => self.drop_folders(backend, |_, folder| folder.watch == *watch),
            WatchEvent::Missed => self.drop_folders(backend, |_, _| true),
        }
    }

    fn with_watched(&self, backend: &dyn Backend, watch: WatchId, act: impl FnOnce(&mut ListingState)) {
        let folder = {
            let kept = self.kept.lock();
            kept.watched.get(&watch).and_then(|id| kept.folders.get(id)).cloned()
        };
        let Some(folder) = folder else { return };
        let mut state = folder.state.lock();
        act(&mut state);
        state.charge();
        let too_much = state.is_unused() || state.bytes() > self.budget.limit();
        drop(state);
        if too_much {
            self.drop_folders(backend, |_, folder| folder.watch == watch);
        }
    }

    fn now(&self) -> u64 {
        self.clock.load(Ordering::Relaxed)
    }

    fn is_refused(&self, folder: FileId, what: KeptListing) -> bool {
        self.refused.lock().contains_key(&(folder, what))
    }

    fn refuse(&self, folder: FileId, what: KeptListing) {
        let mut refused = self.refused.lock();
        if refused.len() < MOST_REFUSED {
            refused.insert((folder, what), self.now() / TENDED);
        }
    }

    fn folder(&self, id: FileId) -> Option<Arc<Folder>> {
        if !self.keeps_any() {
            return None;
        }
        self.kept.lock().folders.get(&id).cloned()
    }

    fn find(&self, folder: FileId, attributes: &Attributes) -> Option<Arc<Listing>> {
        let folder = self.folder(folder)?;
        folder.use_at(self.now());
        folder.state.lock().current(attributes)
    }

    /// How many entries a folder with these fresh attributes has, if its listing is kept.
    pub(crate) fn kept_count(&self, folder: FileId, attributes: &Attributes) -> Option<u32> {
        self.find(folder, attributes).map(|listing| listing.shown())
    }

    /// A kept folder that has this file among its entries, and the name.
    pub(crate) fn entry_of(&self, file: FileId) -> Option<(Node, Name)> {
        if !self.keeps_any() {
            return None;
        }
        let kept: Vec<Arc<Folder>> = self.kept.lock().folders.values().cloned().collect();
        let listings = kept.iter().filter_map(|folder| folder.state.lock().any_listing().cloned());
        let found = listings.into_iter().find_map(|listing| {
            let name = listing.entries.iter().find(|entry| entry.id == file)?.name.clone();
            Some((listing.folder.clone(), name))
        });
        found.filter(|(_, name)| !matches!(&**name, b"." | b".."))
    }

    /// Lists the whole folder and keeps it; `None` when it is too large for that.
    fn build(
        &self,
        backend: &dyn Backend,
        streams: Option<&Arc<Streams>>,
        folder: &Node,
        attributes: &Attributes,
    ) -> Result<Option<Arc<Listing>>> {
        let (id, begun) = (folder.id(), Instant::now());
        if self.is_refused(id, KeptListing::Entries) {
            return Ok(None);
        }
        let kept = self.folder(id);
        if kept.as_ref().is_some_and(|kept| !kept.state.lock().explains(attributes)) {
            self.drop_folders(backend, |other, _| other == id);
        }
        let most = Most::Bytes(self.budget.limit());
        let listed = |collected, watched| Listing::new(folder, streams, attributes, collected, watched);
        let Some(watch) = watch(backend, folder, attributes) else {
            let (collected, complete) = collect(streams, folder, 0, most)?;
            return Ok(complete.then(|| Arc::new(listed(collected, false))));
        };
        let building = Building::start(&self.buildings, backend, watch);
        let is_stale = kept.as_ref().is_some_and(|kept| kept.state.lock().any_listing().is_some());
        let old = kept.and_then(|kept| self.source_of_details(&kept));
        let (collected, complete) = collect(streams, folder, 0, most)?;
        if !complete {
            self.refuse(id, KeptListing::Entries);
            self.budget.missed(id, collected.bytes, is_stale, begun);
            return Ok(None);
        }
        let listing = Arc::new(listed(collected, true));
        if let Some(old) = old {
            listing.take_over(&old);
        }
        let worth = listing.entries.len() >= WORTH_KEEPING;
        if worth {
            self.budget.missed(id, listing.bytes(), is_stale, begun);
        }
        if !worth || self.install(&building, id, attributes, FolderData::Listing(listing.clone())).is_err() {
            listing.watched.store(false, Ordering::Release);
        }
        Ok(Some(listing))
    }

    /// The listing from which a newer one takes the details. If the budget has no room for both, it
    /// is dropped now.
    fn source_of_details(&self, kept: &Folder) -> Option<Arc<Listing>> {
        let mut state = kept.state.lock();
        let old = state.retire()?;
        if self.budget.free() < old.bytes() {
            state.drop_listing();
            return None;
        }
        Some(old)
    }

    /// Keeps what was read of a folder. Returns it if there is no room for it, or if events have
    /// spoilt it meanwhile.
    fn install(
        &self,
        building: &Building<'_>,
        id: FileId,
        version: &Attributes,
        gathered: FolderData,
    ) -> std::result::Result<(), FolderData> {
        let mut kept = self.kept.lock();
        let known = kept.folders.get(&id).cloned();
        if !self.make_room(&mut kept, building.backend, id, gathered.bytes()) {
            let listing = known.filter(|_| matches!(gathered, FolderData::Names(_)));
            drop(kept);
            match listing.filter(|folder| folder.state.lock().drop_listing()) {
                // Names are worth more than entries. There is no listing to drop the second time.
                Some(_) => return self.install(building, id, version, gathered),
                None => self.refuse(id, gathered.what()),
            }
            return Err(gathered);
        }
        // A new folder must not be found before the events since the start are repeated. A known
        // one takes in its events itself.
        let (folder, kept) = match known {
            Some(folder) => {
                drop(kept);
                (folder, None)
            }
            None => (Arc::new(Folder::new(building.watch, &self.budget, version)), Some(kept)),
        };
        folder.use_at(self.clock.fetch_add(1, Ordering::Relaxed) + 1);
        let mut state = folder.state.lock();
        if state.is_gone() {
            return Err(gathered);
        }
        let Some(heard) = building.close() else { return Err(gathered) };
        let old = match gathered {
            FolderData::Listing(listing) => state.put_listing(listing, version),
            FolderData::Names(names) => {
                state.put_names(names);
                None
            }
        };
        heard.iter().for_each(|(name, what)| state.hear(name, *what));
        state.charge();
        drop(state);
        if let Some(mut kept) = kept {
            building.kept.set(true);
            kept.watched.insert(building.watch, id);
            kept.folders.insert(id, folder);
            self.count.store(kept.folders.len(), Ordering::Release);
        }
        drop(old); // this may take a while: without any lock
        Ok(())
    }

    /// Drops other folders than this one, the longest unused ones first, until so many bytes are
    /// free. Returns whether they are.
    fn make_room(&self, kept: &mut FolderTable, backend: &dyn Backend, id: FileId, bytes: usize) -> bool {
        if bytes > self.budget.limit() {
            return false;
        }
        while self.budget.free() < bytes {
            let others = kept.folders.iter().filter(|(other, _)| **other != id);
            let oldest = others.min_by_key(|(_, folder)| folder.used.load(Ordering::Relaxed));
            match oldest.map(|(oldest, _)| *oldest) {
                Some(oldest) => {
                    self.budget.evicted(self.drop_from(kept, backend, |other, _| other == oldest));
                }
                None => return false,
            }
        }
        true
    }

    fn drop_folders(&self, backend: &dyn Backend, unwanted: impl Fn(FileId, &Folder) -> bool) {
        self.drop_from(&mut self.kept.lock(), backend, unwanted);
    }

    /// Returns how many were dropped.
    fn drop_from(
        &self,
        kept: &mut FolderTable,
        backend: &dyn Backend,
        unwanted: impl Fn(FileId, &Folder) -> bool,
    ) -> usize {
        let (watched, before) = (&mut kept.watched, kept.folders.len());
        kept.folders.retain(|id, folder| {
            let drop = unwanted(*id, folder);
            if drop {
                folder.state.lock().end();
                watched.remove(&folder.watch);
                backend.unwatch(folder.watch, DataNotice::EachWrite);
            }
            !drop
        });
        self.count.store(kept.folders.len(), Ordering::Release);
        before - kept.folders.len()
    }
}

impl FolderData {
    fn bytes(&self) -> usize {
        match self {
            Self::Listing(listing) => listing.bytes(),
            Self::Names(names) => names.bytes(),
        }
    }

    fn what(&self) -> KeptListing {
        match self {
            Self::Listing(_) => KeptListing::Entries,
            Self::Names(_) => KeptListing::Names,
        }
    }

    fn names(self) -> Option<Names> {
        match self {
            Self::Names(names) => Some(names),
            Self::Listing(_) => None,
        }
    }
}
