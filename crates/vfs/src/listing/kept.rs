//! Listings kept from one request to the next, and what becomes of them when something is heard of their folders.

use std::cell::Cell;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use parking_lot::Mutex;

use super::names::{Name, Names};
use super::{Listing, MOST_KEPT, PIECE, Page, WORTH_KEEPING, collect};
use crate::backend::{Backend, Found, WatchEvent, WatchId};
use crate::names::{FoldedKey, Folding};
use crate::streams::Streams;
use crate::volume::Node;
use crate::{Attributes, FileId, Result};

/// Changes to a folder that nobody lists or looks up in any more, after which it is no longer kept. One that has many
/// entries is kept for as many changes.
const UNUSED: usize = 1_024;
/// How many times a change that was heard explains that the folder has another time: once for each request that
/// had asked for it before.
const EXPLAINS: u8 = 4;

/// All kept listings of a volume.
pub(crate) struct Listings {
    kept: Mutex<Kept>,
    count: AtomicUsize,
    budget: usize,
    /// Raised to forget all details at once.
    epoch: AtomicU64,
    /// Folders being listed to be kept, and whether something was heard of them meanwhile.
    building: Mutex<Vec<(WatchId, Arc<AtomicBool>)>>,
}

#[derive(Default)]
struct Kept {
    folders: HashMap<FileId, Arc<Folder>>,
    watched: HashMap<WatchId, FileId>,
}

/// A folder that is kept. No other lock is taken while its state is locked.
struct Folder {
    watch: WatchId,
    state: Mutex<State>,
}

struct State {
    listing: Arc<Listing>,
    /// Names have come or gone since: the listing is no more than a source of details for the next one.
    stale: bool,
    /// All names of the folder as of now, once somebody has looked for one that is not exact.
    names: Option<Names>,
    /// The folder's times of change, as of when everything was known.
    version: Attributes,
    /// How many times more may be put down to what was heard.
    explained: u8,
    /// Changes since the listing or the names were last used.
    unused: usize,
    /// No longer kept, nor watched.
    gone: bool,
}

impl State {
    fn new(listing: Arc<Listing>, version: &Attributes) -> Self {
        Self { listing, stale: false, names: None, version: *version, explained: 0, unused: 0, gone: false }
    }

    fn bytes(&self) -> usize {
        self.listing.bytes() + self.names.as_ref().map_or(0, Names::bytes)
    }

    /// Whether the folder is as what was heard made it: something that no watch hears may have changed it.
    fn explains(&mut self, folder: &Attributes) -> bool {
        if folder.changed <= self.version.changed && folder.modified <= self.version.modified {
            return true;
        }
        let explained = self.explained > 0;
        self.explained = self.explained.saturating_sub(1);
        self.version = *folder;
        explained
    }

    fn hear(&mut self, name: &[u8], what: crate::backend::Heard) {
        self.listing.note_changed(name, what.is_about_names());
        if !what.is_about_names() {
            return;
        }
        use crate::backend::Heard::{Created, MovedTo};
        match &mut self.names {
            Some(names) if matches!(what, Created | MovedTo(_)) => names.add(name.into()),
            Some(names) => names.remove(name),
            None => {}
        }
        self.spoil();
    }

    fn spoil(&mut self) {
        self.stale = true;
        self.explained = EXPLAINS;
        self.unused += 1;
        self.listing.watched.store(false, Ordering::Release);
    }

    fn is_unused(&self) -> bool {
        self.unused > UNUSED + self.listing.entries.len()
    }
}

impl Listings {
    pub(crate) fn new(budget: usize) -> Self {
        Self {
            kept: Mutex::default(),
            count: AtomicUsize::new(0),
            budget,
            epoch: AtomicU64::new(0),
            building: Mutex::default(),
        }
    }

    /// Entries of `folder`, whose fresh attributes these are, after `cookie`. What the backend has heard was taken in.
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
        };
        if let Some(listing) = self.find(folder.id(), attributes)
            && let Some(from) = listing.position(cookie)
        {
            return Ok(page(listing, from, true));
        }
        let listing = if cookie == 0 { self.build(backend, streams, folder, attributes)? } else { None };
        if let Some(listing) = listing {
            return Ok(page(listing, 0, true));
        }
        let (collected, complete) = collect(streams, folder, cookie, PIECE)?;
        Ok(page(Arc::new(Listing::new(folder, streams, attributes, collected, false)), 0, complete))
    }

    /// The stored names of a folder that fold to this key; `None` when that is not known without listing it.
    pub(crate) fn names_like(
        &self,
        backend: &dyn Backend,
        streams: Option<&Arc<Streams>>,
        folder: &Found,
        key: &FoldedKey,
        folding: Folding,
    ) -> Result<Option<Vec<Name>>> {
        for _ in 0..2 {
            if let Some(names) = self.known_names(backend, folder, key, folding) {
                return Ok(Some(names));
            }
            let page = self.page(backend, streams, &folder.object, &folder.attributes, 0)?;
            if !page.listing.watched.load(Ordering::Acquire) {
                return Ok(page.complete.then(|| names_among(&page.listing, key, folding)));
            }
        }
        Ok(None)
    }

    fn known_names(
        &self,
        backend: &dyn Backend,
        folder: &Found,
        key: &FoldedKey,
        folding: Folding,
    ) -> Option<Vec<Name>> {
        let id = folder.object.id();
        let kept = self.folder(id)?;
        let mut state = kept.state.lock();
        if !state.explains(&folder.attributes) {
            drop(state);
            self.drop_folders(backend, |other, _| other == id);
            return None;
        }
        if state.names.as_ref().is_none_or(|names| names.folding() != folding) {
            if state.stale {
                return None;
            }
            let names = Names::new(folding, state.listing.all_names());
            if state.listing.bytes() + names.bytes() > self.budget {
                return None;
            }
            state.names = Some(names);
        }
        state.unused = 0;
        state.names.as_ref().map(|names| names.like(key))
    }

    /// Whether events matter.
    pub(crate) fn keeps_any(&self) -> bool {
        self.count.load(Ordering::Acquire) > 0
    }

    /// Forgets all details: something changed in a way that no watch sees.
    pub(crate) fn forget_details(&self) {
        self.epoch.fetch_add(1, Ordering::AcqRel);
    }

    /// Takes in what the backend has heard.
    pub(crate) fn take_event(&self, backend: &dyn Backend, event: &WatchEvent) {
        match event {
            WatchEvent::Entry { watch, name, what, .. } => {
                if what.is_about_names() {
                    self.spoil_where(|id| id == *watch);
                }
                self.with_watched(backend, *watch, |state| state.hear(name, *what));
            }
            WatchEvent::Folder(watch) => {
                self.spoil_where(|id| id == *watch);
                self.with_watched(backend, *watch, State::spoil);
            }
            WatchEvent::Over(watch) => {
                self.spoil_where(|id| id == *watch);
                self.drop_folders(backend, |_, id| id == *watch);
            }
            WatchEvent::Missed => {
                self.spoil_where(|_| true);
                self.drop_folders(backend, |_, _| true);
            }
        }
    }

    fn with_watched(&self, backend: &dyn Backend, watch: WatchId, act: impl FnOnce(&mut State)) {
        let folder = {
            let kept = self.kept.lock();
            kept.watched.get(&watch).and_then(|id| kept.folders.get(id)).cloned()
        };
        let Some(folder) = folder else { return };
        let mut state = folder.state.lock();
        act(&mut state);
        let too_much = state.is_unused() || state.bytes() > self.budget;
        drop(state);
        if too_much {
            self.drop_folders(backend, |_, id| id == watch);
        }
    }

    /// Something was heard of folders that are being listed: maybe too late for the list.
    fn spoil_where(&self, which: impl Fn(WatchId) -> bool) {
        let building = self.building.lock();
        building
            .iter()
            .filter(|(id, _)| which(*id))
            .for_each(|(_, spoilt)| spoilt.store(true, Ordering::Release));
    }

    fn folder(&self, id: FileId) -> Option<Arc<Folder>> {
        if !self.keeps_any() {
            return None;
        }
        self.kept.lock().folders.get(&id).cloned()
    }

    fn find(&self, folder: FileId, attributes: &Attributes) -> Option<Arc<Listing>> {
        let folder = self.folder(folder)?;
        let mut state = folder.state.lock();
        if state.stale || !state.listing.is_version(attributes) {
            return None;
        }
        state.unused = 0;
        Some(state.listing.clone())
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
        let listings = kept.iter().map(|folder| folder.state.lock().listing.clone());
        let found = listings.into_iter().find_map(|listing| {
            let name = listing.entries.iter().find(|entry| entry.id == file)?.name.clone();
            Some((listing.folder.clone(), name))
        });
        found.filter(|(_, name)| !matches!(&**name, b"." | b".."))
    }

    /// Lists the whole folder and keeps it; `None` when it is too small or too large for that.
    fn build(
        &self,
        backend: &dyn Backend,
        streams: Option<&Arc<Streams>>,
        folder: &Node,
        attributes: &Attributes,
    ) -> Result<Option<Arc<Listing>>> {
        let id = folder.id();
        if self.folder(id).is_some_and(|kept| !kept.state.lock().explains(attributes)) {
            self.drop_folders(backend, |other, _| other == id);
        }
        let listed =
            |collected, watched| Arc::new(Listing::new(folder, streams, attributes, collected, watched));
        let watch = (attributes.size > 4096 || attributes.allocated == 0)
            .then(|| backend.watch(folder.as_ref()))
            .flatten();
        let Some(watch) = watch else {
            let (collected, complete) = collect(streams, folder, 0, MOST_KEPT)?;
            return Ok(complete.then(|| listed(collected, false)));
        };
        let building = Building::start(self, backend, watch);
        let (collected, complete) = collect(streams, folder, 0, MOST_KEPT)?;
        if !complete {
            return Ok(None);
        }
        let listing = listed(collected, true);
        let worth = listing.entries.len() >= WORTH_KEEPING && listing.bytes() <= self.budget;
        if !worth || !self.keep(&building, listing.clone(), attributes) {
            listing.watched.store(false, Ordering::Release);
        }
        Ok(Some(listing))
    }

    /// Keeps a listing, unless it was spoilt while it was made.
    fn keep(&self, building: &Building<'_>, listing: Arc<Listing>, version: &Attributes) -> bool {
        let mut kept = self.kept.lock();
        let id = listing.folder.id();
        let old = kept.folders.get(&id).cloned();
        let taken: usize = kept.folders.values().map(|folder| folder.state.lock().bytes()).sum();
        if taken + listing.bytes() > self.budget {
            // The one that is replaced as well: its place is taken anew below.
            self.drop_from(&mut kept, building.backend, |_, _| true);
        }
        if let Some(folder) = old.filter(|_| kept.folders.contains_key(&id)) {
            drop(kept);
            return replace(&folder, building, listing, version);
        }
        // Events are first looked for here, then among the kept: none falls between while `kept` is locked.
        if building.spoilt.load(Ordering::Acquire) {
            return false;
        }
        building.kept.set(true);
        let folder = Folder { watch: building.watch, state: Mutex::new(State::new(listing, version)) };
        kept.watched.insert(building.watch, id);
        kept.folders.insert(id, Arc::new(folder));
        self.count.store(kept.folders.len(), Ordering::Release);
        true
    }

    fn drop_folders(&self, backend: &dyn Backend, unwanted: impl Fn(FileId, WatchId) -> bool) {
        self.drop_from(&mut self.kept.lock(), backend, unwanted);
    }

    fn drop_from(&self, kept: &mut Kept, backend: &dyn Backend, unwanted: impl Fn(FileId, WatchId) -> bool) {
        let watched = &mut kept.watched;
        kept.folders.retain(|id, folder| {
            let drop = unwanted(*id, folder.watch);
            if drop {
                let mut state = folder.state.lock();
                state.spoil();
                (state.names, state.gone) = (None, true);
                watched.remove(&folder.watch);
                backend.unwatch(folder.watch);
            }
            !drop
        });
        self.count.store(kept.folders.len(), Ordering::Release);
    }
}

/// The names of a listing that fold to this key. Plain names are compared without allocation.
fn names_among(listing: &Listing, key: &FoldedKey, folding: Folding) -> Vec<Name> {
    let alike = |name: &&Name| match (name.is_ascii(), folding.case_sensitive) {
        (true, true) => &***name == key.as_bytes(),
        (true, false) => name.eq_ignore_ascii_case(key.as_bytes()),
        (false, _) => FoldedKey::new(name, folding) == *key,
    };
    let mut names: Vec<Name> = listing.all_names().filter(alike).cloned().collect();
    names.sort();
    names
}

/// Puts a newer listing in the place of the one that was kept, with what that knew and nothing was heard of since.
fn replace(folder: &Folder, building: &Building<'_>, new: Arc<Listing>, version: &Attributes) -> bool {
    let mut state = folder.state.lock();
    // Events are first looked for here, then told to the state.
    if state.gone || building.spoilt.load(Ordering::Acquire) {
        return false;
    }
    state.listing.watched.store(false, Ordering::Release);
    new.take_over(&state.listing);
    (state.listing, state.stale, state.version, state.unused) = (new, false, *version, 0);
    true
}

/// A folder is being listed to be kept. It is watched meanwhile, and on from there once it is kept.
struct Building<'a> {
    listings: &'a Listings,
    backend: &'a dyn Backend,
    watch: WatchId,
    spoilt: Arc<AtomicBool>,
    kept: Cell<bool>,
}

impl<'a> Building<'a> {
    fn start(listings: &'a Listings, backend: &'a dyn Backend, watch: WatchId) -> Self {
        let spoilt = Arc::new(AtomicBool::new(false));
        listings.building.lock().push((watch, spoilt.clone()));
        Self { listings, backend, watch, spoilt, kept: Cell::new(false) }
    }
}

impl Drop for Building<'_> {
    fn drop(&mut self) {
        self.listings.building.lock().retain(|(_, spoilt)| !Arc::ptr_eq(spoilt, &self.spoilt));
        if !self.kept.get() {
            self.backend.unwatch(self.watch);
        }
    }
}
