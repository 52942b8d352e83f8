//! Folders as listed, kept while nothing in them changes.
//!
//! A listing is kept only while the backend watches its folder: every change by anybody reaches the backend's queue of
//! events before the call that made it returns, and the queue is emptied before a kept listing is used. An event about
//! an entry's attributes makes that entry be asked for anew; any other event drops the listing. What a watch cannot
//! see (files with several names, changes through a file opened by its handle) is not kept, or forgets everything.

use std::cell::Cell;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use parking_lot::Mutex;

use crate::acl::server;
use crate::backend::{Backend, ListEntry, WatchEvent, WatchId};
use crate::mac::layout::is_sidecar_name;
use crate::streams::{STORE, Streams};
use crate::volume::Node;
use crate::{Attributes, Caller, Error, FileId, HostKey, Kind, Result};

/// Folders with fewer entries are not worth a watch.
const WORTH_KEEPING: usize = 32;
/// Larger folders are listed piece by piece.
const MOST_KEPT: usize = 200_000;
/// Entries of one piece.
const PIECE: usize = 2_000;
/// What one entry costs beyond its name, in bytes.
const ENTRY_COST: usize = size_of::<Entry>() + 24;

/// One entry of a folder.
pub struct Entry {
    name: Box<[u8]>,
    /// Which file.
    pub id: FileId,
    /// What it is, where the host says so in listings.
    pub kind: Option<Kind>,
    /// Where to go on after this entry.
    pub cookie: u64,
    details: Mutex<Option<Known>>,
}

#[derive(Clone, Copy)]
struct Known {
    details: Details,
    epoch: u64,
}

/// What a listing knows of an entry beyond its name.
#[derive(Clone, Copy, Debug)]
pub struct Details {
    /// The file's key.
    pub key: HostKey,
    /// Its attributes.
    pub attributes: Attributes,
}

impl Entry {
    /// The stored name.
    pub fn name(&self) -> &[u8] {
        &self.name
    }
}

struct Listing {
    folder: Node,
    version: Attributes,
    entries: Vec<Entry>,
    /// Index of the entry after the one with this cookie. Empty for a piece, which is read once.
    after: HashMap<u64, u32>,
    /// Watched, so that details stay true until an event says otherwise.
    watched: AtomicBool,
    /// Names that events were about.
    changed: Mutex<HashSet<Box<[u8]>>>,
    any_changed: AtomicBool,
    bytes: usize,
}

/// Entries of a folder from some cookie on.
pub struct Page {
    listing: Arc<Listing>,
    from: usize,
    /// Whether the last entry of the page is the folder's last.
    pub complete: bool,
    epoch: u64,
    may_search: bool,
    /// The folder's ACL lets the caller pass, whatever its mode says.
    by_acl: bool,
}

impl Page {
    /// The entries.
    pub fn entries(&self) -> &[Entry] {
        &self.listing.entries[self.from..]
    }

    /// The page for a caller who may (or may not) pass through the folder, and so ask about its entries.
    pub(crate) fn for_searcher(self, may_search: bool, by_acl: bool) -> Self {
        Self { may_search, by_acl, ..self }
    }

    /// The key and attributes of an entry of this page; asks the host when they are not known.
    pub fn details(&self, caller: &Caller, entry: &Entry) -> Result<Details> {
        if !self.may_search {
            return Err(Error::AccessDenied);
        }
        let listing = &*self.listing;
        let mut known = entry.details.lock();
        if let Some(known) = *known
            && known.epoch == self.epoch
            && listing.watched.load(Ordering::Acquire)
            && !listing.take_changed(&entry.name)
        {
            return Ok(known.details);
        }
        let found = match &*entry.name {
            b"." => crate::backend::Found {
                object: listing.folder.clone(),
                attributes: listing.folder.attributes()?,
            },
            // The parent may be outside the share.
            b".." => return Err(Error::NotSupported),
            name if self.by_acl => listing.folder.lookup(server(), name)?,
            name => listing.folder.lookup(caller, name)?,
        };
        let details = Details { key: found.object.key(), attributes: found.attributes };
        let one_name = details.attributes.links == 1 || details.attributes.kind == Kind::Folder;
        *known = (one_name && &*entry.name != b".").then_some(Known { details, epoch: self.epoch });
        Ok(details)
    }
}

impl Listing {
    /// Whether an event was about this name; it is forgotten, as the caller will ask the host.
    fn take_changed(&self, name: &[u8]) -> bool {
        self.any_changed.load(Ordering::Acquire) && self.changed.lock().remove(name)
    }

    fn is_version(&self, folder: &Attributes) -> bool {
        (self.version.changed, self.version.modified) == (folder.changed, folder.modified)
    }

    fn position(&self, cookie: u64) -> Option<usize> {
        if cookie == 0 { Some(0) } else { self.after.get(&cookie).map(|&index| index as usize) }
    }
}

/// All kept listings of a volume.
pub(crate) struct Listings {
    kept: Mutex<HashMap<FileId, (WatchId, Arc<Listing>)>>,
    count: AtomicUsize,
    bytes: AtomicUsize,
    budget: usize,
    /// Raised to forget all details at once.
    epoch: AtomicU64,
    /// Folders being listed to be kept, and whether something was heard of them meanwhile.
    building: Mutex<Vec<(WatchId, Arc<AtomicBool>)>>,
}

impl Listings {
    pub(crate) fn new(budget: usize) -> Self {
        Self {
            kept: Mutex::default(),
            count: AtomicUsize::new(0),
            bytes: AtomicUsize::new(0),
            budget,
            epoch: AtomicU64::new(0),
            building: Mutex::default(),
        }
    }

    /// Entries of `folder`, whose fresh attributes these are, after `cookie`. What the backend has heard was taken in.
    pub(crate) fn page(
        &self,
        backend: &dyn Backend,
        streams: Option<&Streams>,
        folder: &Node,
        attributes: &Attributes,
        cookie: u64,
    ) -> Result<Page> {
        let epoch = self.epoch.load(Ordering::Acquire);
        if let Some(listing) = self.find(folder.id(), attributes)
            && let Some(from) = listing.position(cookie)
        {
            return Ok(Page { listing, from, complete: true, epoch, may_search: false, by_acl: false });
        }
        let listing = if cookie == 0 { self.build(backend, streams, folder, attributes)? } else { None };
        if let Some(listing) = listing {
            return Ok(Page { listing, from: 0, complete: true, epoch, may_search: false, by_acl: false });
        }
        let (entries, complete) = collect(streams, folder, cookie, PIECE)?;
        let listing = Arc::new(listing_of(folder, attributes, entries, false));
        Ok(Page { listing, from: 0, complete, epoch, may_search: false, by_acl: false })
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
            WatchEvent::Entry { watch, name, what, .. } if !what.is_about_names() => {
                let kept = self.kept.lock();
                for (_, listing) in kept.values().filter(|(id, _)| id == watch) {
                    listing.changed.lock().insert(name.clone());
                    listing.any_changed.store(true, Ordering::Release);
                }
            }
            WatchEvent::Entry { watch, .. } | WatchEvent::Folder(watch) | WatchEvent::Over(watch) => {
                self.spoil_where(|id| id == *watch);
                self.drop_where(backend, |id, _| id == *watch);
            }
            WatchEvent::Missed => {
                self.spoil_where(|_| true);
                self.drop_where(backend, |_, _| true);
            }
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

    fn find(&self, folder: FileId, attributes: &Attributes) -> Option<Arc<Listing>> {
        if !self.keeps_any() {
            return None;
        }
        let kept = self.kept.lock();
        let (_, listing) = kept.get(&folder)?;
        listing.is_version(attributes).then(|| listing.clone())
    }

    /// Lists the whole folder and keeps it; `None` when it is too small or too large for that.
    fn build(
        &self,
        backend: &dyn Backend,
        streams: Option<&Streams>,
        folder: &Node,
        attributes: &Attributes,
    ) -> Result<Option<Arc<Listing>>> {
        self.drop_where(backend, |_, listing| listing.folder.id() == folder.id());
        let watch = (attributes.size > 4096 || attributes.allocated == 0)
            .then(|| backend.watch(folder.as_ref()))
            .flatten();
        let Some(watch) = watch else {
            let (entries, complete) = collect(streams, folder, 0, MOST_KEPT)?;
            return Ok(complete.then(|| Arc::new(listing_of(folder, attributes, entries, false))));
        };
        let building = Building::start(self, backend, watch);
        let (entries, complete) = collect(streams, folder, 0, MOST_KEPT)?;
        if !complete {
            return Ok(None);
        }
        let listing = Arc::new(listing_of(folder, attributes, entries, true));
        if listing.entries.len() < WORTH_KEEPING
            || listing.bytes > self.budget
            || !self.keep(&building, listing.clone())
        {
            listing.watched.store(false, Ordering::Release);
        }
        Ok(Some(listing))
    }

    /// Keeps a listing, unless it was spoilt while it was made.
    fn keep(&self, building: &Building<'_>, listing: Arc<Listing>) -> bool {
        if self.bytes.load(Ordering::Relaxed) + listing.bytes > self.budget {
            self.drop_where(building.backend, |_, _| true);
        }
        let mut kept = self.kept.lock();
        // Events are first looked for here, then among the kept: none falls between while `kept` is locked.
        if building.spoilt.load(Ordering::Acquire) {
            return false;
        }
        building.kept.set(true);
        self.bytes.fetch_add(listing.bytes, Ordering::Relaxed);
        let other = kept.insert(listing.folder.id(), (building.watch, listing));
        self.count.store(kept.len(), Ordering::Release);
        drop(kept);
        if let Some((watch, other)) = other {
            // Two callers listed at once.
            self.bytes.fetch_sub(other.bytes, Ordering::Relaxed);
            other.watched.store(false, Ordering::Release);
            building.backend.unwatch(watch);
        }
        true
    }

    fn drop_where(&self, backend: &dyn Backend, unwanted: impl Fn(WatchId, &Listing) -> bool) {
        let mut kept = self.kept.lock();
        kept.retain(|_, (watch, listing)| {
            let drop = unwanted(*watch, listing);
            if drop {
                listing.watched.store(false, Ordering::Release);
                self.bytes.fetch_sub(listing.bytes, Ordering::Relaxed);
                backend.unwatch(*watch);
            }
            !drop
        });
        self.count.store(kept.len(), Ordering::Release);
    }
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

/// Entries after `cookie`, up to `most`, without what listings hide; and whether the end was reached.
fn collect(streams: Option<&Streams>, folder: &Node, cookie: u64, most: usize) -> Result<(Vec<Entry>, bool)> {
    let mut entries = Vec::new();
    let (mut from, mut complete) = (cookie, false);
    // A piece of nothing but hidden entries would look like the end: then the next one is taken, too.
    while entries.is_empty() && !complete {
        complete = folder.list(from, &mut |entry: ListEntry<'_>| {
            from = entry.cookie;
            entries.push(Entry {
                name: entry.name.into(),
                id: entry.id,
                kind: entry.kind,
                cookie: entry.cookie,
                details: Mutex::new(None),
            });
            entries.len() < most
        })?;
        if let Some(streams) = streams {
            entries.retain(|entry| !is_hidden(streams, folder, &entry.name));
        }
    }
    Ok((entries, complete))
}

/// Sidecars, and the server's own store. What cannot be told is shown.
fn is_hidden(streams: &Streams, folder: &Node, name: &[u8]) -> bool {
    name == STORE || (is_sidecar_name(name) && streams.hidden(folder.as_ref(), name).unwrap_or(false))
}

fn listing_of(folder: &Node, version: &Attributes, entries: Vec<Entry>, watched: bool) -> Listing {
    let after = match watched {
        true => entries.iter().zip(1..).map(|(entry, next)| (entry.cookie, next)).collect(),
        false => HashMap::new(),
    };
    let bytes = entries.iter().map(|entry| entry.name.len() + ENTRY_COST).sum();
    Listing {
        folder: folder.clone(),
        version: *version,
        entries,
        after,
        watched: AtomicBool::new(watched),
        changed: Mutex::default(),
        any_changed: AtomicBool::new(false),
        bytes,
    }
}
