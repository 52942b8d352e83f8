//! Listings of folders, kept while nothing in the folders changes.
//!
//! A listing is kept only while the backend watches its folder. Every change, by a client or a
//! local program, reaches the backend's queue of events before the call that made it returns. The
//! queue is emptied before a kept listing is used. After an event about an entry's attributes, the
//! host is asked for that entry anew. When a name comes or goes, the next listing is read from the
//! host again, as only the host knows the order and the cookies. It takes over the details of
//! entries that no event was about. The names by which entries are looked up are not listed again:
//! each event brings them up to date. Changes that a watch cannot see (of files with several names,
//! or through a file opened by its handle) are not kept, or make the server forget everything.
//!
//! How much is kept is limited by memory ([`CacheBudget`]), in steps. A folder whose entries fit is
//! kept whole, with the details of its entries. Of a larger folder the names are kept, at a fifth
//! of the memory, and it is listed piece by piece. If the names do not fit either, a look-up of a
//! name that is not exact walks through the folder.

mod budget;
mod building;
mod kept;
mod known;
mod names;
mod offspring;
mod reading;
mod rich;
mod state;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use lock::Mutex;

pub use self::budget::CacheBudget;
pub(crate) use self::kept::Listings;
use self::known::CachedDetails;
pub(crate) use self::names::Name;
use self::rich::Facts;
use super::{Attributes, Caller, Error, FileId, HostKey, Kind, Result};
use crate::backend::ListEntry;
use crate::backend::Node;
use crate::caller::server;
use crate::changing::inhibited::InhibitedFileCache;
use crate::mac::layout::{is_sidecar_name, sidecar_owner};
use crate::names::own::is_own_name;
use crate::ranks;
use crate::streams::Streams;

/// Folders with fewer entries are not worth a watch.
const WORTH_KEEPING: usize = 32;
/// Entries of one piece of a folder that is not kept.
const PIECE: usize = 2_000;
/// What one entry costs beyond its name, in bytes.
const ENTRY_COST: usize = size_of::<Entry>() + 16;
/// What a sidecar costs beyond its entry.
const SIDECAR_COST: usize = 48;
/// What a cookie costs where cookies do not grow from entry to entry.
const COOKIE_COST: usize = 32;
/// Changed names that are remembered for each listing, beside one for every fourth entry. After
/// more changes, little is left that is worth keeping.
const MOST_CHANGED: usize = 1_024;

/// One entry of a folder.
pub struct Entry {
    name: Name,
    /// The file's identity.
    pub id: FileId,
    /// What it is, where the host says so in listings.
    pub kind: Option<Kind>,
    /// The cookie with which a listing goes on after this entry.
    pub cookie: u64,
    details: Mutex<Option<CachedDetails>, ranks::EntryDetails>,
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
    after: After,
    /// Watched, so that details stay true until an event says otherwise.
    watched: AtomicBool,
    /// Names that events were about.
    changed: Mutex<HashSet<Box<[u8]>>, ranks::ListingChanges>,
    any_changed: AtomicBool,
    /// Names of the form of sidecars', shown or not.
    sidecars: HashSet<Name>,
    /// Sidecars that are not shown.
    hidden: Vec<Name>,
    /// Whether all of the folder is here.
    whole: bool,
    /// How many of the entries are `.` and `..`.
    dots: u32,
    streams: Option<Arc<Streams>>,
    bytes: usize,
    /// Bytes of details of entries that do not fit into the entries.
    more_bytes: AtomicUsize,
}

/// How an entry is found by its cookie.
enum After {
    /// Cookies grow from entry to entry.
    Growing,
    /// Index of the entry after the one with this cookie.
    Index(HashMap<u64, u32>),
    /// Not at all: a piece is read once.
    Nothing,
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
    /// The site's table of locked files, which learns of the locked files that this page finds.
    inhibited: Option<Arc<InhibitedFileCache>>,
    rules: PageRules,
}

/// What the modes of a folder's entries mean.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct PageRules {
    /// Files that their mode locks are shown as read-only.
    pub(crate) heeds_mode: bool,
    /// The folder is in a team folder, whose roles decide and not modes.
    pub(crate) in_team: bool,
}

impl Page {
    /// The entries.
    pub fn entries(&self) -> &[Entry] {
        &self.listing.entries[self.from..]
    }

    /// The entries without `.` and `..`, for protocols that make those up.
    pub fn named(&self) -> impl Iterator<Item = &Entry> {
        self.entries().iter().filter(|entry| !matches!(&*entry.name, b"." | b".."))
    }

    /// The page without the entries that a caller does not see. It is not kept.
    pub(crate) fn only(self, sees: impl Fn(&[u8]) -> Result<bool>) -> Result<Self> {
        let mut collected = HostListing { whole: false, ..HostListing::default() };
        for entry in self.entries() {
            if matches!(entry.name(), b"." | b"..") || sees(entry.name())? {
                let Entry { id, kind, cookie, .. } = *entry;
                let name = entry.name().into();
                collected.entries.push(Entry { name, id, kind, cookie, details: Mutex::default() });
            }
        }
        let Listing { folder, streams, version, .. } = &*self.listing;
        let listing = Listing::new(folder, streams.as_ref(), version, collected, false);
        Ok(Self { listing: Arc::new(listing), from: 0, ..self })
    }

    /// The page for a caller that may (or may not) pass through the folder, and so ask about its
    /// entries.
    pub(crate) fn for_searcher(self, may_search: bool, by_acl: bool) -> Self {
        Self { may_search, by_acl, ..self }
    }

    /// The page of a volume, whose site learns of locked files.
    pub(crate) fn of_volume(self, inhibited: &Arc<InhibitedFileCache>, rules: PageRules) -> Self {
        Self { inhibited: Some(inhibited.clone()), rules, ..self }
    }

    /// The key and attributes of an entry of this page; asks the host when they are not known.
    pub fn details(&self, caller: &Caller, entry: &Entry) -> Result<Details> {
        if !self.may_search {
            return Err(Error::AccessDenied);
        }
        let listing = &*self.listing;
        let mut known = entry.details.lock();
        self.forget_changed(caller, entry, &mut known);
        if let Some(known) = &*known {
            return Ok(known.details(entry.id));
        }
        let (key, attributes) = match &*entry.name {
            b"." => (listing.folder.key(), listing.folder.attributes()?),
            // The parent may be outside the share.
            b".." => return Err(Error::NotSupported),
            name if self.by_acl => listing.folder.entry(server(), name)?,
            name => listing.folder.entry(caller, name)?,
        };
        let details = Details { key, attributes };
        *known = self.to_keep(entry, details, None);
        Ok(details)
    }

    /// Forgets the details of an entry if they may have changed. Returns whether there was an event
    /// about it.
    fn forget_changed(&self, caller: &Caller, entry: &Entry, known: &mut Option<CachedDetails>) -> bool {
        let changed = self.listing.take_changed(&entry.name);
        let watched = self.listing.watched.load(Ordering::Acquire);
        if changed || !watched || known.as_ref().is_some_and(|known| !known.is_of(self.epoch)) {
            *known = None;
        }
        if let Some(of_folder) = known.as_mut().filter(|known| known.kind() == Kind::Folder)
            && !self.refresh(caller, entry, of_folder)
        {
            *known = None;
        }
        changed || !watched
    }

    /// A folder's times and links change with its entries. A watch on the folder above does not
    /// tell of that. `false` if the host cannot be asked, or if the entry is another folder.
    fn refresh(&self, caller: &Caller, entry: &Entry, known: &mut CachedDetails) -> bool {
        let caller = if self.by_acl { server() } else { caller };
        let asked = self.listing.folder.entry_attributes(caller, &entry.name);
        asked.is_ok_and(|now| known.renew(entry.id, &now))
    }

    /// The details of an entry that are kept from now on. A file with several names can change
    /// without an event.
    fn to_keep(&self, entry: &Entry, details: Details, facts: Option<Facts>) -> Option<CachedDetails> {
        let one_name = details.attributes.links == 1 || details.attributes.kind == Kind::Folder;
        let keeps = one_name && &*entry.name != b".";
        keeps.then(|| CachedDetails::new(entry.id, &details, self.epoch, facts)).flatten()
    }
}

impl Listing {
    fn new(
        folder: &Node,
        streams: Option<&Arc<Streams>>,
        version: &Attributes,
        collected: HostListing,
        watched: bool,
    ) -> Self {
        let HostListing { entries, sidecars, hidden, whole, bytes } = collected;
        let after = if watched { After::of(&entries) } else { After::Nothing };
        let bytes = bytes + if let After::Index(index) = &after { index.len() * COOKIE_COST } else { 0 };
        let dots = entries.iter().filter(|entry| matches!(&*entry.name, b"." | b"..")).count() as u32;
        Self {
            folder: folder.clone(),
            version: *version,
            entries,
            after,
            watched: AtomicBool::new(watched),
            changed: Mutex::default(),
            any_changed: AtomicBool::new(false),
            sidecars,
            hidden,
            whole,
            dots,
            streams: streams.cloned(),
            bytes,
            more_bytes: AtomicUsize::new(0),
        }
    }

    fn bytes(&self) -> usize {
        self.bytes + self.more_bytes.load(Ordering::Relaxed)
    }

    /// All names in the folder, those of hidden sidecars included.
    fn all_names(&self) -> impl Iterator<Item = &Name> {
        let shown = self.entries.iter().map(|entry| &entry.name);
        shown.filter(|name| !matches!(&***name, b"." | b"..")).chain(&self.hidden)
    }

    /// Notes that an event was about this name. An event about a sidecar is about its file as well.
    /// After an event about names (`spoils`) the listing is no longer true, and this is known
    /// before another thread can take the event. `false` if so much has changed that the listing is
    /// not worth keeping.
    fn note_changed(&self, name: &[u8], spoils: bool) -> bool {
        let mut changed = self.changed.lock();
        changed.insert(name.into());
        changed.extend(sidecar_owner(name).map(Box::from));
        self.any_changed.store(true, Ordering::Release);
        if spoils {
            self.watched.store(false, Ordering::Release);
        }
        changed.len() <= MOST_CHANGED + self.entries.len() / 4
    }

    /// Whether an event was about this name. The event is forgotten, because the caller holds the entry's details and
    /// asks the host before it releases them. When the listing is no longer watched, the event stays for `take_over`:
    /// the name may have become another file's, and the old entry's details then say nothing about that file.
    fn take_changed(&self, name: &[u8]) -> bool {
        if !self.any_changed.load(Ordering::Acquire) {
            return false;
        }
        let mut changed = self.changed.lock();
        if self.watched.load(Ordering::Acquire) { changed.remove(name) } else { changed.contains(name) }
    }

    fn is_version(&self, folder: &Attributes) -> bool {
        (self.version.changed, self.version.modified) == (folder.changed, folder.modified)
    }

    fn position(&self, cookie: u64) -> Option<usize> {
        match &self.after {
            _ if cookie == 0 => Some(0),
            After::Growing => {
                let at = self.entries.binary_search_by_key(&cookie, |entry| entry.cookie).ok()?;
                Some(at + 1)
            }
            After::Index(index) => index.get(&cookie).map(|&index| index as usize),
            After::Nothing => None,
        }
    }

    /// Takes the details of an older listing's entries that no event was about. The details of a file that has come to
    /// have another name are not taken, whichever of its names the entry has. The caller keeps new events away, and has
    /// marked the old listing as not watched, so that its events are not taken either.
    ///
    /// This thread holds the folder, so it does not wait for an entry that a client is asking the host about just now:
    /// the new listing asks for that entry again.
    fn take_over(&self, old: &Self) {
        // Released before the first entry: `Page::details` holds an entry and then takes the changes.
        let changed = old.changed.lock().clone();
        let is_changed = |entry: &&Entry| changed.contains(&*entry.name);
        let came: HashSet<FileId> = self.entries.iter().filter(is_changed).map(|entry| entry.id).collect();
        for entry in &self.entries {
            let Some(next) = old.position(entry.cookie).filter(|next| *next > 0) else { continue };
            let before = &old.entries[next - 1];
            if before.name != entry.name || before.id != entry.id || came.contains(&entry.id) {
                continue;
            }
            let known = before.details.try_lock().and_then(|mut known| known.take());
            if known.is_some() {
                *entry.details.lock() = known;
            }
        }
        self.more_bytes.store(old.more_bytes.load(Ordering::Relaxed), Ordering::Relaxed);
    }
}

impl After {
    fn of(entries: &[Entry]) -> Self {
        if entries.is_sorted_by(|a, b| a.cookie < b.cookie) {
            return Self::Growing;
        }
        Self::Index(entries.iter().zip(1..).map(|(entry, next)| (entry.cookie, next)).collect())
    }
}

/// Entries as the host lists them.
#[derive(Default)]
struct HostListing {
    entries: Vec<Entry>,
    sidecars: HashSet<Name>,
    hidden: Vec<Name>,
    whole: bool,
    /// Memory that they take.
    bytes: usize,
}

/// How much to collect.
#[derive(Clone, Copy)]
enum Most {
    Entries(usize),
    Bytes(usize),
}

/// Entries after `cookie`, up to `most`, without what listings hide; and whether the end was reached.
fn collect(
    streams: Option<&Arc<Streams>>,
    folder: &Node,
    cookie: u64,
    most: Most,
) -> Result<(HostListing, bool)> {
    let mut found = HostListing::default();
    let (mut from, mut complete) = (cookie, false);
    // A piece of nothing but hidden entries would look like the end: then the next one is taken, too.
    while found.entries.is_empty() && !complete {
        complete = folder.list(from, &mut |entry: ListEntry<'_>| {
            from = entry.cookie;
            found.bytes += entry.name.len() + ENTRY_COST;
            found.entries.push(Entry {
                name: entry.name.into(),
                id: entry.id,
                kind: entry.kind,
                cookie: entry.cookie,
                details: Mutex::new(None),
            });
            match most {
                Most::Entries(most) => found.entries.len() < most,
                Most::Bytes(most) => found.bytes < most,
            }
        })?;
        found.entries.retain(|entry| !is_own_name(&entry.name));
        if let Some(streams) = streams {
            let HostListing { entries, sidecars, hidden, bytes, .. } = &mut found;
            entries.retain(|entry| {
                if is_sidecar_name(&entry.name) {
                    *bytes += entry.name.len() + SIDECAR_COST;
                    sidecars.insert(entry.name.clone());
                }
                let hide = is_hidden(streams, folder, &entry.name);
                if hide {
                    hidden.push(entry.name.clone());
                }
                !hide
            });
        }
    }
    found.entries.shrink_to_fit();
    found.whole = complete && cookie == 0;
    Ok((found, complete))
}

/// Whether an entry is a sidecar that is hidden. If this cannot be told, the entry is shown.
fn is_hidden(streams: &Streams, folder: &Node, name: &[u8]) -> bool {
    is_sidecar_name(name) && streams.sidecar_files().hidden(folder.as_ref(), name).unwrap_or(false)
}
