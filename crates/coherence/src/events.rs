//! Subscriptions to changes: [`Hub`], one per volume.
//!
//! The code that makes a change, or hears of one by a local process, publishes it for all
//! protocols. Each subscription has a bounded queue. If it is not emptied in time, the changes that
//! do not fit are lost and [`Event::Overflowed`] takes their place: the subscriber must look at
//! everything again. While there is no subscription, publishing costs one atomic load and builds
//! nothing.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use lock::RwLock;

use crate::ranks;
use crate::state::ClientId;
use formats::{Error, FileId, IdMap, Kind, Result};

mod deliveries;
mod route;
mod subscription;
#[cfg(test)]
mod tests;

pub use deliveries::{Deliveries, HubCounts, PublishedMark};
use subscription::Sink;
pub use subscription::Subscription;

/// The most subscriptions to one volume.
pub const MAX_SUBSCRIPTIONS: usize = 65_536;
/// The most changes that one subscription keeps.
pub const MAX_QUEUE: usize = 4_096;
/// How far up the tree a change is carried. A folder deeper than this counts as one whose parents are not known.
pub const MAX_DEPTH: usize = 1_024;

/// A stored name.
pub type Name = Arc<[u8]>;

/// Something happened to an entry of a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The folder that the entry is in (now, if it was renamed).
    pub folder: FileId,
    /// The entry's name (now).
    pub name: Name,
    /// The file; `None` if it was removed before the server had looked at it.
    pub file: Option<FileId>,
    /// What the file is.
    pub of: Kind,
    /// What happened.
    pub what: ChangeKind,
    /// The client that made the change; `None` if it was not a client.
    pub by: Option<ClientId>,
}

/// What happened to an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChangeKind {
    /// It came.
    Created,
    /// It went.
    Removed,
    /// It was moved here.
    Renamed {
        /// The folder it was in.
        old_folder: FileId,
        /// The name it had.
        old_name: Name,
    },
    /// These aspects of it changed.
    Modified(Aspects),
}

/// Aspects of a file: the changed ones, or the ones that a subscriber wants to know of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Aspects(pub u16);

bitflags::bitflags! {
    impl Aspects: u16 {
        /// The name of what is not a folder: it came, went or moved.
        const FILE_NAME = 1;
        /// The name of a folder.
        const FOLDER_NAME = 2;
        /// Mode, owner, flags, Finder info.
        const ATTRIBUTES = 4;
        /// The size of the data fork.
        const SIZE = 8;
        /// Times of writing.
        const MODIFIED = 16;
        /// Times of access.
        const ACCESSED = 32;
        /// The time of creation.
        const CREATED = 64;
        /// The data fork's bytes.
        const DATA = 128;
        /// The resource fork or a named stream: that it is there, its size, or its bytes.
        const STREAM = 256;
        /// Extended attributes.
        const XATTR = 512;
        /// Permissions: what each user may do.
        const SECURITY = 1024;
        /// All of them.
        const ALL = 2047;
    }
}

impl Change {
    /// What of the file this concerns.
    pub fn aspects(&self) -> Aspects {
        match (&self.what, self.of) {
            (ChangeKind::Modified(aspects), _) => *aspects,
            (_, Kind::Folder) => Aspects::FOLDER_NAME,
            _ => Aspects::FILE_NAME,
        }
    }
}

/// Where changes are wanted from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EventScope {
    /// The whole volume. Costs no walk up the tree, and sees no paths.
    Volume,
    /// The entries of one folder.
    Folder(FileId),
    /// The entries of one folder and of all folders below it.
    Subtree(FileId),
}

/// How far down a folder is watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Depth {
    /// Its entries.
    Entries,
    /// Its entries, and those of all folders below it.
    Below,
}

/// Which changes are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Filter {
    /// Those that concern one of these.
    pub aspects: Aspects,
    /// Without the changes that this client made itself.
    pub except: Option<ClientId>,
    /// Whether the event of a removed file says which file it was. A removal over NFS then looks it up first.
    pub identifies_removed: bool,
}

impl Filter {
    /// Every change.
    pub const ALL: Self = Self { aspects: Aspects::ALL, except: None, identifies_removed: true };
}

/// What a folder lies in, as far as the publisher can tell without waiting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Above {
    /// It is the volume's root.
    Nothing,
    /// This folder, under this name.
    Folder(FileId, Name),
    /// It cannot tell: a subscriber that watches a subtree must look at everything again.
    Unknown,
}

/// What a subscription finds in its queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// A change.
    Changed(ScopedChange),
    /// Changes were lost: look at everything again.
    Overflowed,
    /// The watched folder itself is removed, or is going to be when no client has it open any more.
    Going,
}

/// A change as one subscription sees it. An entry that is renamed out of its scope has only the old
/// place: for this subscription it is removed. An entry that is renamed into its scope has only the
/// new place: for this subscription it is new.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScopedChange {
    /// What happened.
    pub change: Arc<Change>,
    /// The folders between the watched one and `change.folder`, outermost first, if that is in scope.
    pub at: Option<Vec<Name>>,
    /// The same for the folder that a renamed entry was in.
    pub was: Option<Vec<Name>>,
}

/// Where changes are published and subscribed to. Cheap to clone.
#[derive(Clone, Default)]
pub struct Hub {
    shared: Arc<SubscriptionTable>,
}

#[derive(Default)]
struct SubscriptionTable {
    /// The number of subscriptions. If it is zero, a publisher has nothing to do.
    count: AtomicUsize,
    /// What the hubs of all volumes of the site count together.
    counts: Arc<HubCounts>,
    next: AtomicU64,
    listeners: RwLock<Listeners, ranks::EventListeners>,
}

/// Subscriptions by their numbers.
type Sinks = BTreeMap<u64, Arc<Sink>>;

#[derive(Default)]
struct Listeners {
    volume: Sinks,
    folders: IdMap<FileId, Sinks>,
    /// How many of `folders` want changes below, too.
    subtrees: usize,
}

impl Hub {
    /// A hub that counts in `counts`, too.
    pub fn counted(counts: Arc<HubCounts>) -> Self {
        Self { shared: Arc::new(SubscriptionTable { counts, ..SubscriptionTable::default() }) }
    }

    /// Whether there is any subscription.
    #[inline]
    pub fn listens(&self) -> bool {
        self.shared.count.load(Ordering::Acquire) > 0
    }

    /// Tells the subscribers of a change that has been made. `change` is called only if there are any, and `above` only
    /// if one of them watches a subtree; it must not wait, as the table of subscriptions is locked for reading.
    #[inline]
    pub fn publish(&self, above: &dyn Fn(FileId) -> Above, change: impl FnOnce() -> Change) {
        if self.listens() {
            self.shared.listeners.read().publish(above, Arc::new(change()));
        }
    }

    /// Tells the subscribers that watch this folder, or the tree below it, that it is removed or
    /// about to be.
    pub fn going(&self, folder: FileId) {
        if self.listens() {
            self.shared.listeners.read().going(folder);
        }
    }

    /// Tells every subscriber that changes may have been missed, as when the host's own notices were lost.
    pub fn lost(&self) {
        if self.listens() {
            self.shared.listeners.read().all().for_each(|sink| sink.overflow());
        }
    }

    /// Subscribes, keeping up to `queue` changes (at most [`MAX_QUEUE`]) until they are asked for.
    pub fn subscribe(&self, scope: EventScope, filter: Filter, queue: usize) -> Result<Subscription> {
        let mut listeners = self.shared.listeners.write();
        if self.shared.count.load(Ordering::Relaxed) >= MAX_SUBSCRIPTIONS {
            return Err(Error::TooMany);
        }
        let id = self.shared.next.fetch_add(1, Ordering::Relaxed);
        let sink = Arc::new(Sink::new(id, scope, filter, queue.clamp(1, MAX_QUEUE)));
        listeners.add(Arc::clone(&sink));
        self.shared.count.fetch_add(1, Ordering::Release);
        self.shared.counts.subscribed(&filter);
        Ok(Subscription::new(self.clone(), sink))
    }

    fn unsubscribe(&self, sink: &Sink) {
        self.shared.listeners.write().remove(sink);
        self.shared.count.fetch_sub(1, Ordering::Release);
        self.shared.counts.unsubscribed(&sink.filter);
    }
}

impl fmt::Debug for Hub {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Hub with {} subscriptions", self.shared.count.load(Ordering::Relaxed))
    }
}

impl Listeners {
    fn all(&self) -> impl Iterator<Item = &Arc<Sink>> {
        self.volume.values().chain(self.folders.values().flat_map(BTreeMap::values))
    }

    fn add(&mut self, sink: Arc<Sink>) {
        let sinks = match sink.scope {
            EventScope::Volume => &mut self.volume,
            EventScope::Folder(folder) => self.folders.entry(folder).or_default(),
            EventScope::Subtree(folder) => {
                self.subtrees += usize::from(sink.wants_any());
                self.folders.entry(folder).or_default()
            }
        };
        sinks.insert(sink.id, sink);
    }

    fn remove(&mut self, sink: &Sink) {
        let folder = match sink.scope {
            EventScope::Volume => {
                self.volume.remove(&sink.id);
                return;
            }
            EventScope::Folder(folder) => folder,
            EventScope::Subtree(folder) => {
                self.subtrees -= usize::from(sink.wants_any());
                folder
            }
        };
        let Some(sinks) = self.folders.get_mut(&folder) else { return };
        sinks.remove(&sink.id);
        if sinks.is_empty() {
            self.folders.remove(&folder);
        }
    }
}
