//! What is kept of one folder.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use lock::Mutex;

use super::Listing;
use super::budget::{CacheBudget, Charge};
use super::names::Names;
use crate::Attributes;
use crate::backend::{Heard, WatchId};
use crate::ranks;

/// Changes to a folder that no client lists or looks up in any more, after which it is no longer kept. One that has many
/// entries is kept for as many changes.
const UNUSED: usize = 1_024;
/// How many times an event explains that the folder has another time: once for each request that
/// had asked for the time before.
const EXPLAINS: u8 = 4;

/// A folder that is kept. While its state is locked, only the details of entries and the events of
/// a [`super::building::Building`] are locked.
pub(super) struct Folder {
    pub(super) watch: WatchId,
    /// When it was last used, by the clock of [`super::Listings`].
    pub(super) used: AtomicU64,
    pub(super) state: Mutex<ListingState, ranks::FolderListing>,
}

impl Folder {
    pub(super) fn new(watch: WatchId, budget: &Arc<CacheBudget>, version: &Attributes) -> Self {
        let state = ListingState {
            listing: None,
            stale: false,
            names: None,
            version: *version,
            explained: 0,
            unused: 0,
            gone: false,
            charge: Charge::new(budget),
        };
        Self { watch, used: AtomicU64::new(0), state: Mutex::new(state) }
    }

    pub(super) fn use_at(&self, now: u64) {
        self.used.store(now, Ordering::Relaxed);
    }
}

pub(super) struct ListingState {
    /// The folder as last listed, where its entries fit into the budget.
    listing: Option<Arc<Listing>>,
    /// Names have come or gone since: the listing is no more than a source of details for the next one.
    stale: bool,
    /// All names of the folder as of now, once a client has looked for one that is not exact.
    names: Option<Names>,
    /// The folder's times of change, as of when everything was known.
    version: Attributes,
    /// How many more times events can explain another time of the folder.
    explained: u8,
    /// Changes since the listing or the names were last used.
    unused: usize,
    /// No longer kept, nor watched.
    gone: bool,
    charge: Charge,
}

impl ListingState {
    /// The listing, while it is true for a folder with these attributes.
    pub(super) fn current(&mut self, attributes: &Attributes) -> Option<Arc<Listing>> {
        let current = self.fresh().filter(|listing| listing.is_version(attributes)).cloned();
        if current.is_some() {
            self.unused = 0;
        }
        current
    }

    /// The listing, while no name has come or gone.
    pub(super) fn fresh(&self) -> Option<&Arc<Listing>> {
        self.listing.as_ref().filter(|_| !self.stale)
    }

    /// The listing, true or not.
    pub(super) fn any_listing(&self) -> Option<&Arc<Listing>> {
        self.listing.as_ref()
    }

    /// The names. They count as used.
    pub(super) fn names(&mut self) -> Option<&Names> {
        self.unused = 0;
        self.names.as_ref()
    }

    /// Whether the folder is in the state that the events explain. Otherwise a change that no watch
    /// reports may have been made.
    pub(super) fn explains(&mut self, folder: &Attributes) -> bool {
        if folder.changed <= self.version.changed && folder.modified <= self.version.modified {
            return true;
        }
        let explained = self.explained > 0;
        self.explained = self.explained.saturating_sub(1);
        self.version = *folder;
        explained
    }

    /// Takes in an event about a name.
    pub(super) fn hear(&mut self, name: &[u8], what: Heard) {
        let about_names = what.is_about_names();
        if let Some(listing) = &self.listing
            && !listing.note_changed(name, about_names)
        {
            self.drop_listing();
        }
        if !about_names {
            return;
        }
        match &mut self.names {
            Some(names) if matches!(what, Heard::Created | Heard::MovedTo(_)) => names.add(name),
            Some(names) => names.remove(name),
            None => {}
        }
        self.spoil();
    }

    /// Something has changed that makes the listing untrue.
    pub(super) fn spoil(&mut self) {
        self.explained = EXPLAINS;
        self.unused += 1;
        self.retire();
    }

    /// The listing is now used only as a source of details.
    pub(super) fn retire(&mut self) -> Option<Arc<Listing>> {
        self.stale = true;
        let listing = self.listing.as_ref()?;
        listing.watched.store(false, Ordering::Release);
        Some(listing.clone())
    }

    /// Drops the listing; returns whether there was one.
    pub(super) fn drop_listing(&mut self) -> bool {
        let had = self.retire().is_some();
        self.listing = None;
        self.charge();
        had
    }

    /// Replaces the listing that was kept by a newer one. Returns the old one, to be dropped
    /// without the lock.
    pub(super) fn put_listing(
        &mut self,
        listing: Arc<Listing>,
        version: &Attributes,
    ) -> Option<Arc<Listing>> {
        self.retire();
        (self.stale, self.version, self.unused) = (false, *version, 0);
        let old = self.listing.replace(listing);
        self.charge();
        old
    }

    pub(super) fn put_names(&mut self, names: Names) {
        self.names = Some(names);
        self.charge();
    }

    /// Not kept any more.
    pub(super) fn end(&mut self) {
        self.retire();
        (self.listing, self.names, self.gone) = (None, None, true);
        self.charge();
    }

    pub(super) fn is_gone(&self) -> bool {
        self.gone
    }

    /// Whether it is changed much and used little.
    pub(super) fn is_unused(&self) -> bool {
        let entries = self.listing.as_ref().map_or(0, |listing| listing.entries.len());
        self.unused > UNUSED + entries.max(self.names.as_ref().map_or(0, Names::len))
    }

    /// Bytes charged to the budget.
    pub(super) fn bytes(&self) -> usize {
        self.charge.bytes()
    }

    /// Charges the budget with what the folder takes now.
    pub(super) fn charge(&mut self) {
        let (listing, entries) =
            self.listing.as_ref().map_or((0, 0), |listing| (listing.bytes(), listing.entries.len()));
        let (names, count) = self.names.as_ref().map_or((0, 0), |names| (names.bytes(), names.len()));
        self.charge.set(listing + names, entries + count);
    }
}
