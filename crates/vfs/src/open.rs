//! A stream of a file as a client has it open: for the protocols whose clients open files.
//!
//! `state` knows an open as long as it lives: its access, what it denies to others, and what it has
//! locked. Its rights were decided when it was opened. A later change of mode, owner or ACL does
//! not stop it, and is not looked at. An open that was told where its file is follows the file's
//! moves. It can move, link and remove the file, and use its resource fork and named streams, which
//! `streams` keeps.
//!
//! Opening and waiting for a lock are futures. Dropping such a future takes back everything it did.

mod below;
mod budget;
mod caching;
mod data;
mod describing;
mod early;
mod info;
mod moving;
mod places;
mod removal;
mod restored;
mod space;
mod streams;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use lock::Mutex;

pub(crate) use self::below::Holds;
pub use self::below::{Hold, Still};
pub(crate) use self::budget::OpenBudget;
pub use self::budget::{Holder, OpenCounts, OpenPermit};
pub use self::data::ReadBytes;
pub(crate) use self::info::forget_info;
use self::places::Place;
pub(crate) use self::places::Places;
pub use self::restored::TakenOver;
pub use self::space::AllocatedRanges;
use super::{Access, Actor, Attributes, Caller, Error, Kind, Result, Volume};
use crate::acl::Rights;
use crate::backend::Found;
use crate::backend::Node;
use crate::caller::server;
use crate::changing::coherence::who;
use crate::changing::permitted::PermittedActor;
use crate::events::PublishedMark;
use crate::mac::FileBits;
use crate::noted::Act;
use crate::ranks;
use crate::state::{
    Cause, Concern, Flavour, Lock, LockKind, LockOutcome, LockOwner, LockRefusal, Modes, OpenGuard,
    OpenRequest, Range, State, Stream,
};
use crate::streams::Fork;

/// What a client opens, and for which access.
#[derive(Debug, Clone)]
pub struct OpenOptions<'a> {
    /// The stream.
    pub stream: Stream,
    /// The access that the open has.
    pub access: Modes,
    /// The access that other opens may not have meanwhile.
    pub deny: Modes,
    /// Makes a named stream that is not there.
    pub create: bool,
    /// The folder that the file is in and its stored name there. Needed for all but the data fork's bytes.
    pub place: Option<Beside<'a>>,
    /// The protocol has found that the actor may do this, by rights that say more than the mode
    /// does. The server opens (and moves, and removes) the file as itself.
    pub granted: bool,
    /// The file (or the stream, if it is not the data fork) is removed once this open and all
    /// others of it are closed. Needs `place`, and `Modes::DELETE` in `access`.
    pub remove_on_close: bool,
    /// What other clients' caches collide with; `None`: what `access` says.
    pub concern: Option<Concern>,
    /// The protocol is going to empty the stream: other clients' caches of it end before that.
    pub empties: bool,
}

/// Where a file is.
#[derive(Clone, Copy)]
pub struct Beside<'a> {
    /// The folder.
    pub folder: &'a Node,
    /// The stored name.
    pub name: &'a [u8],
}

impl std::fmt::Debug for Beside<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} in {:?}", self.name.escape_ascii(), self.folder.id())
    }
}

impl OpenOptions<'_> {
    /// The data fork, denying nothing.
    pub fn data(access: Modes) -> Self {
        Self {
            stream: Stream::Data,
            access,
            deny: Modes::NONE,
            create: false,
            place: None,
            granted: false,
            remove_on_close: false,
            concern: None,
            empties: false,
        }
    }
}

/// An open stream. Dropping it releases its deny modes, its locks and the lease it keeps.
/// [`Open::close`] does the same and returns the result.
pub struct Open {
    volume: Arc<Volume>,
    node: Node,
    /// With `open` set to this one.
    actor: Actor,
    guard: OpenGuard,
    is_data: bool,
    granted: bool,
    /// Removes the file at the latest when this open is closed.
    remove_on_close: bool,
    /// Whether the file was changed through this open.
    changed: AtomicBool,
    /// Whether subscribers have a change of the data by this open in their queues.
    published: PublishedMark,
    place: Option<Arc<Place>>,
    /// Of a resource fork: where it was found last.
    fork: Mutex<Option<Arc<Fork>>, ranks::OpenFork>,
    /// Its place among the opens of all clients. The last field: it is free when the descriptors are.
    permit: OpenPermit,
}

impl Volume {
    /// Opens a stream of a file. Waits until clients that have it in their caches have given back
    /// the leases that collide with it. While it is pending a protocol may tell its client so.
    /// Dropping it calls it off.
    pub async fn open(
        self: &Arc<Self>,
        actor: &Actor,
        file: &Found,
        options: OpenOptions<'_>,
    ) -> Result<Open> {
        let OpenOptions { stream, access, deny, create, place, granted, remove_on_close, concern, empties } =
            options;
        let permit = permit_for(&self.site.opens, (actor, file), &stream, access)?; // before anything takes a descriptor
        let changes = access.intersects(Modes::WRITE.union(Modes::DELETE));
        self.notes().file(if changes { Act::OpenToChange } else { Act::Open }, &file.object);
        self.may_open(&actor.caller, file, access, granted)?;
        if remove_on_close {
            may_remove(self.is_read_only(), place.is_some(), access)?;
        }
        let (node, id, is_data) = (file.object.clone(), file.object.id(), stream == Stream::Data);
        if !is_data {
            self.streams.as_ref().ok_or(Error::NotSupported)?;
            // A share's own folder has no place. Its metadata is kept with itself.
            place.map(drop).or((stream == Stream::Info).then_some(())).ok_or(Error::Invalid)?;
        }
        let place = match place {
            Some(place) => Some(self.site.place(id, place, &self.backend).await?),
            None => None,
        };
        let concern = concern.unwrap_or(OpenRequest::new(actor.party, access, deny).concern);
        let link = place.as_ref().map(|place| place.link());
        let request = OpenRequest { party: actor.party, access, deny, concern, empties, link };
        let guard = self.site.state.open_and_recall(id, stream, request, tokio::time::sleep).await?;
        self.site.state.note_view(id, self.view());
        let actor = Actor { open: Some(guard.id()), ..actor.clone() };
        let (volume, changed) = (self.clone(), AtomicBool::new(false));
        let (remove, fork) = (false, Mutex::default());
        let mut open = Open {
            volume,
            node,
            actor,
            guard,
            is_data,
            granted,
            remove_on_close: remove,
            changed,
            published: PublishedMark::default(),
            place,
            fork,
            permit,
        };
        match open.guard.stream() {
            Stream::Named(name) => open.find_stream(name, create).await?,
            Stream::Info if !create => open.find_info()?,
            _ => {}
        }
        if remove_on_close {
            open.recall(Cause::Remove).await;
        }
        open.remove_on_close = remove_on_close;
        Ok(open)
    }

    /// Counts a file that a protocol keeps for the actor's client without an open of the tree. `TooMany`: the client has as
    /// many as it may have.
    pub fn permit_open(&self, actor: &Actor) -> Result<OpenPermit> {
        self.site.opens.take(actor.holder)
    }

    fn may_open(&self, caller: &Caller, file: &Found, access: Modes, granted: bool) -> Result<()> {
        if access.intersects(Modes::WRITE.union(Modes::DELETE))
            && self.permissions().refuses_changes(&file.object)
        {
            return Err(Error::ReadOnly);
        }
        if access.intersects(Modes::WRITE) && !granted {
            self.inhibitions().may_despite(&file.object, FileBits::WRITE_INHIBIT)?;
        }
        let bit = |mode, bit| if access.intersects(mode) { bit } else { Access::NONE };
        let want = bit(Modes::READ, Access::READ).union(bit(Modes::WRITE, Access::WRITE));
        if !granted && self.access(caller, file, want)? != want {
            return Err(Error::AccessDenied);
        }
        // Opens the host's file, so that an error is reported now, and nothing need be asked for
        // each read. A folder is opened to be listed. A link is opened to be read as such, moved or
        // removed.
        if want == Access::NONE || matches!(file.attributes.kind, Kind::Folder | Kind::Link) {
            return Ok(());
        }
        let by = if granted { server() } else { self.permissions().acting(caller, file, Rights::NONE)? };
        file.object.prepare(by, &file.attributes, want, false)
    }
}

/// The permit for an open of a stream with this access.
fn permit_for(
    opens: &Arc<OpenBudget>,
    (actor, file): (&Actor, &Found),
    stream: &Stream,
    access: Modes,
) -> Result<OpenPermit> {
    let only_reads = !access.intersects(Modes::WRITE) && *stream == Stream::Data;
    match only_reads && file.object.lends_data() {
        true => opens.take_half(actor.holder),
        false => opens.take(actor.holder),
    }
}

/// Whether an open may remove its file: it has the access for that, and the volume is not `read_only`.
fn may_remove(read_only: bool, has_place: bool, access: Modes) -> Result<()> {
    if read_only {
        return Err(Error::ReadOnly);
    }
    if !access.intersects(Modes::DELETE) {
        return Err(Error::AccessDenied);
    }
    if has_place { Ok(()) } else { Err(Error::Invalid) }
}

impl Open {
    /// The open as `state` knows it: to change its modes, or to keep a lease with it.
    pub fn guard(&self) -> &OpenGuard {
        &self.guard
    }

    /// As [`Open::guard`], for changes.
    pub fn guard_mut(&mut self) -> &mut OpenGuard {
        &mut self.guard
    }

    /// The volume that the file is in.
    pub fn volume(&self) -> &Arc<Volume> {
        &self.volume
    }

    /// The file.
    pub fn node(&self) -> &Node {
        &self.node
    }

    /// The actor that opened it, acting through it.
    pub fn actor(&self) -> &Actor {
        &self.actor
    }

    /// Counts it as one that writes, which takes one descriptor more. `TooMany`: the client has as many as it may have.
    pub fn count_as_writing(&self) -> Result<()> {
        self.permit.become_whole()
    }

    /// Whether this is the data fork.
    pub fn is_data(&self) -> bool {
        self.is_data
    }

    /// What the host says of the file now. Its size is that of the data fork, see [`Open::size`].
    pub fn attributes(&self) -> Result<Attributes> {
        self.node.attributes()
    }

    /// The folder that the file is in and its stored name there, as of now: clients' moves are followed. `None` when
    /// it was opened without.
    pub fn place(&self) -> Option<(Node, Arc<[u8]>)> {
        Some(self.place.as_ref()?.now())
    }

    /// Locks a range against reads and writes of all other owners, or returns at once which lock is
    /// in the way.
    pub async fn lock(&self, range: Range, kind: LockKind) -> std::result::Result<(), LockRefusal> {
        self.recall(Cause::Lock).await;
        let lock = || self.state().lock(self.node.id(), &self.guard.stream(), self.locked(range, kind));
        self.once_here(lock).await
    }

    /// As [`Open::lock`], but waits for the range. Dropping this, or the waiter it returns, calls
    /// it off.
    pub async fn wait_lock(
        &self,
        range: Range,
        kind: LockKind,
    ) -> std::result::Result<LockOutcome, LockRefusal> {
        self.recall(Cause::Lock).await;
        let lock = || self.state().wait_lock(self.node.id(), &self.guard.stream(), self.locked(range, kind));
        self.once_here(lock).await
    }

    /// Takes a lock. If the state of the file is at another server, waits for it and tries again.
    async fn once_here<T>(
        &self,
        mut lock: impl FnMut() -> std::result::Result<T, LockRefusal>,
    ) -> std::result::Result<T, LockRefusal> {
        let lock = || match lock() {
            Err(LockRefusal::Elsewhere(file)) => Err(Error::LeaseRecall(file)),
            other => Ok(other),
        };
        self.volume.settled(lock).await.unwrap_or_else(|error| Err(error.into()))
    }

    /// Gives back a range, named exactly as it was locked. Answers whether it was.
    pub async fn unlock(&self, range: Range) -> Result<bool> {
        let Lock { owner, flavour, .. } = self.locked(range, LockKind::Shared);
        let unlock = || self.state().unlock(self.node.id(), &self.guard.stream(), &owner, range, flavour);
        self.volume.settled(unlock).await
    }

    pub(crate) fn state(&self) -> &State {
        &self.volume.site.state
    }

    fn locked(&self, range: Range, kind: LockKind) -> Lock {
        let owner = LockOwner::open(self.guard.client(), self.guard.id());
        Lock { owner, range, kind, flavour: Flavour::Mandatory }
    }

    fn require(&self, mode: Modes) -> Result<()> {
        match self.guard.modes().0.intersects(mode) {
            true => Ok(()),
            false if mode == Modes::WRITE && self.volume.permissions().refuses_changes(&self.node) => {
                Err(Error::ReadOnly)
            }
            false => Err(Error::AccessDenied),
        }
    }

    /// The actor, whose modes of the open were asked.
    fn permitted(&self) -> PermittedActor<'_> {
        PermittedActor::by_open(&self.volume, &self.actor)
    }

    /// The actor whose permissions count for what the open does to folders.
    fn doer(&self) -> Actor {
        let caller = if self.granted { Caller::root() } else { self.actor.caller.clone() };
        Actor { caller, ..self.actor.clone() }
    }

    /// Whether others' deny modes and locks let a part of this stream be read or written.
    pub(crate) async fn may_touch(
        &self,
        by: &PermittedActor<'_>,
        offset: u64,
        length: u64,
        write: bool,
    ) -> Result<()> {
        let Some(range) = Range::new(offset, length) else { return Ok(()) };
        let (file, stream, who) = (self.node.id(), self.guard.stream(), who(by));
        match self.state().check_io(file, &stream, who, range, write) {
            Err(Error::LeaseRecall(_)) => {
                let check = || self.state().check_io(file, &stream, who, range, write);
                self.volume.settled(check).await?;
            }
            other => other?,
        }
        match self.is_data {
            true => by.may_touch_fork(&self.node, (offset, length), write).await,
            false => Ok(()),
        }
    }

    /// Waits for leases of other clients. A client that has a file open can wait. A request without
    /// an open is refused, so that the client tries again.
    async fn recall(&self, cause: Cause) {
        self.recall_of(&self.node, &self.guard.stream(), cause).await;
    }

    async fn recall_of(&self, node: &Node, stream: &Stream, cause: Cause) {
        self.permitted().recall_and_wait(node.id(), stream, cause).await;
    }

    pub(crate) fn published(&self) -> &PublishedMark {
        &self.published
    }

    /// Notes that the file was changed through this open.
    pub(crate) fn note_changed(&self) {
        self.changed.store(true, Ordering::Relaxed);
    }
}

impl std::fmt::Debug for Open {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", self.guard)
    }
}
