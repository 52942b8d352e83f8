//! Changes made by local processes, published to subscribers.
//!
//! ```text
//! any change ─► host's queue ─► Locals::hear ─┬─► listings
//!                                             └─► own? ─no─► heard ─► (thread) LocalNotices::tell ─► Hub
//! our change ─► own ring ─────────────────────────┘
//! ```
//!
//! A folder is watched at the host while there is a subscription through [`Volume::watch`] to it or
//! to a folder above it. The cache of listings shares the host's watch, which counts its users. One
//! thread per volume empties the queue while there is any subscription. A request that uses a kept
//! listing empties the queue, too. It leaves the events to the thread, which may have to ask the
//! disk for their result.
//!
//! The server publishes its own creations, removals and renamings where it makes them, with the
//! client's name. It does so with writes, too, if the open knows where its file is. The host's echo
//! of these changes is dropped ([`own`]). Other writes and changes of attributes are published only
//! when the host tells of them, because only the host knows the name then. This includes the
//! server's own, so they have no client (`by: None`). The server does not hear of writes through a
//! file that was opened by its handle and never looked up since (as after a restart of the server),
//! or by another of its names.
//!
//! An event of each write costs the host as much as a small write. An index of searches does without
//! ([`WatchedClosings`]): it hears of files that programs close. Clients' writes are published once,
//! until a subscriber takes an event (`coherence::events::deliveries`).
//!
//! Why inotify: see the host backend's `watch`.

mod listings;
mod own;
mod recalling;
mod tell;
mod tree;
mod watched;

use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use lock::Mutex;

pub(crate) use self::listings::CurrentListings;
use self::own::OwnChanges;
pub(crate) use self::own::{EchoKind, Own};
pub(crate) use self::recalling::Recalling;
use self::tell::LocalNotices;
pub(crate) use self::tell::{DATA, SIDECAR, owner_of_sidecar};
pub use self::tree::MAX_WATCHED;
use self::tree::{Tree, WatchUser};
use self::watched::WatchedFolders;
use super::{Access, Caller, Error, FileId, Kind, Result, Site, Volume};
use crate::backend::{Backend, Found, Heard, Object, WatchEvent};
use crate::events::{Above, Change, Depth, EventScope, Filter, Hub, HubCounts, Name, Subscription};
use crate::listing::Listings;
use crate::ranks;
use crate::state::ChangeNotice;

/// Most events that wait to be published. More events count as lost.
const MAX_HEARD: usize = 32_768;
/// How long the thread waits for events before it checks for subscriptions and for events that
/// requests heard.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// How long events may gather: the host merges equal events.
const GATHER: Duration = Duration::from_millis(10);

/// The changes that local processes make to the watched folders of a volume.
#[derive(Default)]
pub(crate) struct Locals {
    tree: Mutex<Tree, ranks::WatchedTree>,
    /// How many folders `tree` has. If it is zero, other threads do not lock `tree`.
    watched: AtomicUsize,
    /// What the hubs of the site count.
    counts: Arc<HubCounts>,
    own: OwnChanges,
    /// Held while the host's queue is emptied and shared out. So a thread that finds the queue
    /// empty knows that its events have been shared out.
    hearing: Mutex<(), ranks::Hearing>,
    heard: Mutex<HeardEvents, ranks::HeardChanges>,
    /// Whether the thread runs.
    listening: Mutex<bool, ranks::Listening>,
}

/// Events that were heard and not yet published.
#[derive(Default)]
struct HeardEvents {
    entries: Vec<HeardEntry>,
    lost: bool,
    /// The first half of a move whose other half was not there yet.
    waiting: Option<HeardEntry>,
}

/// Something that happened to an entry and that was not done by a client.
#[derive(Debug, Clone)]
struct HeardEntry {
    folder: FileId,
    name: Name,
    what: Heard,
    of_folder: bool,
}

impl Locals {
    pub(crate) fn of(counts: Arc<HubCounts>) -> Self {
        Self { counts, ..Self::default() }
    }

    fn any(&self) -> bool {
        self.watched.load(Ordering::Acquire) > 0
    }

    fn with_tree<R>(&self, act: impl FnOnce(&mut Tree) -> R) -> R {
        let mut tree = self.tree.lock();
        let answer = act(&mut tree);
        self.watched.store(tree.len(), Ordering::Release);
        answer
    }

    /// Where a folder lies, as far as subscriptions to subtrees need it.
    pub(crate) fn above(&self, folder: FileId) -> Above {
        if self.any() { self.tree.lock().above(folder) } else { Above::Unknown }
    }

    /// Tells the subscribers of this volume.
    pub(crate) fn publish(&self, events: &Hub, change: &Change) {
        events.publish(&|folder| self.above(folder), || change.clone());
    }

    /// Takes in what the host has heard, for the subscribers and for the kept listings.
    pub(crate) fn hear(&self, backend: &dyn Backend, listings: &Listings) {
        if !self.any() && !listings.keeps_any() {
            return;
        }
        let _hearing = self.hearing.lock();
        let finished = self.own.finished();
        let mut events = Vec::new();
        backend.watch_events(&mut |event| events.push(event));
        for event in events {
            self.take_event(&event);
            // Listings have been told of each write.
            if !matches!(event, WatchEvent::Entry { what: Heard::Closed, .. }) {
                listings.take_event(backend, &event);
            }
        }
        self.own.forget(&finished);
    }

    /// Ends the thread, unless a folder is watched.
    fn stop_listening(&self) -> bool {
        let mut listening = self.listening.lock();
        *listening = self.any();
        !*listening
    }

    fn push(&self, entries: impl IntoIterator<Item = HeardEntry>) {
        let mut queue = self.heard.lock();
        for entry in entries {
            if queue.entries.len() >= MAX_HEARD {
                queue.lost = true;
            }
            if queue.lost {
                queue.entries = Vec::new();
                return;
            }
            // A large write is one change for subscribers that read slower than it writes.
            let same = |last: &HeardEntry| {
                (last.folder, last.what, &last.name) == (entry.folder, entry.what, &entry.name)
            };
            if entry.what.is_about_names() || !queue.entries.last().is_some_and(same) {
                queue.entries.push(entry);
            }
        }
    }

    fn take_event(&self, event: &WatchEvent) {
        match event {
            WatchEvent::Entry { watch, name, what, of_folder } => {
                let folder = {
                    let tree = self.tree.lock();
                    let needed = |folder: &FileId| match what {
                        Heard::Data => tree.hears_writes(*folder),
                        Heard::Closed => !tree.hears_writes(*folder),
                        _ => true,
                    };
                    tree.folder_of(*watch).filter(needed)
                };
                let Some(folder) = folder else { return };
                let (name, what, of_folder) = (Name::from(&**name), *what, *of_folder);
                let entry = HeardEntry { folder, name, what, of_folder };
                self.push(self.own.take_echo(entry));
            }
            WatchEvent::Folder(_) => {}
            WatchEvent::Over(watch) => self.with_tree(|tree| tree.over(*watch)),
            WatchEvent::Missed => {
                let mut queue = self.heard.lock();
                (queue.entries, queue.lost) = (Vec::new(), true);
            }
        }
    }
}

impl Site {
    /// Announces a change by this server, so that its echo is recognised. [`Own::made`] ends it;
    /// otherwise it is called off.
    pub(crate) fn announce(&self, places: &[(FileId, &[u8], EchoKind)]) -> Own {
        let mut own = Own::default();
        if self.listens() {
            self.watched().iter().for_each(|volume| own.announce(&volume.locals, places));
        }
        own
    }
}

impl Volume {
    /// Tells the subscribers of all volumes that show a folder of a change in it. `change` is called only if there are any.
    pub(crate) fn publish(&self, folder: &dyn Object, change: impl FnOnce() -> Change) {
        if !self.site.listens() {
            return;
        }
        let change = change();
        for volume in self.site.watched() {
            if self.homes.is_shown_in(&volume.homes, folder) {
                volume.locals.publish(&volume.events, &change);
            }
        }
        self.site.state.tell(|| ChangeNotice { folder: folder.key(), change, is_going: false });
    }

    /// Tells the subscribers of those volumes that show a folder and do not hear of each write in it from the host.
    pub(crate) fn publish_unheard(&self, folder: &dyn Object, change: &Change) {
        for volume in self.site.watched() {
            let hears = volume.locals.any() && volume.locals.tree.lock().hears_writes(change.folder);
            if !hears && self.homes.is_shown_in(&volume.homes, folder) {
                volume.locals.publish(&volume.events, change);
            }
        }
    }

    /// Subscribes to changes that clients make; see [`Volume::watch`] for those of local processes.
    pub fn subscribe(
        self: &Arc<Self>,
        scope: EventScope,
        filter: Filter,
        queue: usize,
    ) -> Result<Subscription> {
        self.site.watch(self);
        self.events.subscribe(scope, filter, queue)
    }

    /// Subscribes to changes by clients and local processes in a folder, or in it and below. It may
    /// take a while if there are many folders below: do not call it on the thread that answers
    /// requests.
    ///
    /// The caller must be allowed to list the folder. A subscription to a subtree also gets the
    /// names in folders below that the caller may not list. Below a folder no more than
    /// [`MAX_WATCHED`] folders are watched. In the others only the changes that clients make are
    /// heard. If the host watches no folder at all, [`Watching::hears_local`] is false.
    pub fn watch(
        self: &Arc<Self>,
        caller: &Caller,
        folder: &Found,
        depth: Depth,
        filter: Filter,
        queue: usize,
    ) -> Result<Watching> {
        if folder.attributes.kind != Kind::Folder {
            return Err(Error::NotFolder);
        }
        if self.access(caller, folder, Access::READ)? != Access::READ {
            return Err(Error::AccessDenied);
        }
        let id = folder.object.id();
        let scope = match depth {
            Depth::Entries => EventScope::Folder(id),
            Depth::Below => EventScope::Subtree(id),
        };
        let subscription = self.subscribe(scope, filter, queue)?;
        let held = self.watched_folders().hold(folder, WatchUser::Subscription(depth));
        let hears_local = held && start_listening(self);
        let volume = Arc::downgrade(self);
        Ok(Watching { subscription, volume, folder: id, depth, held, hears_local })
    }

    pub(crate) fn watched_folders(&self) -> WatchedFolders<'_> {
        WatchedFolders { backend: self.backend.as_ref(), locals: &self.locals }
    }

    fn local_notices(&self) -> LocalNotices<'_> {
        LocalNotices {
            watched: self.watched_folders(),
            site: &self.site,
            events: &self.events,
            streams: self.streams.as_ref(),
            permissions: self.permissions(),
        }
    }
}

fn start_listening(volume: &Arc<Volume>) -> bool {
    let mut listening = volume.locals.listening.lock();
    if !*listening {
        let (volume, backend) = (Arc::downgrade(volume), volume.backend.clone());
        let thread = std::thread::Builder::new().name("changes".into());
        *listening = thread.spawn(move || listen(&volume, &*backend)).is_ok();
    }
    *listening
}

/// Hears and publishes events as long as the volume exists and has a subscription.
fn listen(volume: &Weak<Volume>, backend: &dyn Backend) {
    loop {
        if backend.wait_for_events(LOOK_EVERY) {
            std::thread::sleep(GATHER);
        }
        let Some(volume) = volume.upgrade() else { return };
        if volume.locals.stop_listening() {
            return;
        }
        volume.current_listings().hear();
        volume.local_notices().tell();
    }
}

/// A subscription to a folder, with the host's watches that it needs. Dropping it releases both.
#[derive(Debug)]
pub struct Watching {
    subscription: Subscription,
    volume: Weak<Volume>,
    folder: FileId,
    depth: Depth,
    /// Whether the folder is watched at the host.
    held: bool,
    hears_local: bool,
}

impl Watching {
    /// Whether changes by local processes are heard; those by clients are, in any case.
    pub fn hears_local(&self) -> bool {
        self.hears_local
    }
}

impl Deref for Watching {
    type Target = Subscription;

    fn deref(&self) -> &Subscription {
        &self.subscription
    }
}

impl DerefMut for Watching {
    fn deref_mut(&mut self) -> &mut Subscription {
        &mut self.subscription
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        if let Some(volume) = self.volume.upgrade() {
            volume.watched_folders().release(self.folder, WatchUser::Subscription(self.depth), self.held);
        }
    }
}

/// A folder whose local changes the subscriptions to the whole volume hear: those of data when a program closes the file.
/// Dropping it releases the host's watch.
#[derive(Debug)]
pub struct WatchedClosings {
    volume: Weak<Volume>,
    folder: FileId,
}

impl WatchedClosings {
    /// `None`: the host cannot watch the folder.
    pub fn of(volume: &Arc<Volume>, folder: &Found) -> Option<Self> {
        if !volume.watched_folders().hold(folder, WatchUser::Closings) {
            return None;
        }
        let watched = Self { volume: Arc::downgrade(volume), folder: folder.object.id() };
        start_listening(volume).then_some(watched)
    }
}

impl Drop for WatchedClosings {
    fn drop(&mut self) {
        if let Some(volume) = self.volume.upgrade() {
            volume.watched_folders().release(self.folder, WatchUser::Closings, true);
        }
    }
}
