//! A stream of a file as a client has it open: for the protocols whose clients open files.
//!
//! An open is known to `state` for as long as it lives: what it does, what it denies to others, and what it has locked.
//! The data fork goes the way of every read and write ([`Volume::read`]); the resource fork and named streams are kept
//! by `streams`, which needs to know where the file is, so an open of one follows its file when a client moves it.

mod places;

use std::sync::Arc;

use bytes::Bytes;

use self::places::Place;
pub(crate) use self::places::Places;
use crate::backend::{Found, Stability, Wait};
use crate::coherence::{RECALL_DEADLINE, who};
use crate::state::{
    Cause, Flavour, Lock, LockKind, LockOwner, Locked, Modes, OpenGuard, OpenRequest, Range, Refused, Stream,
};
use crate::streams::{File, Streams};
use crate::volume::{Node, ReadData};
use crate::{Access, Actor, Attributes, Caller, Error, Kind, Payload, Result, SetAttributes, Volume};

/// What a client opens, and what for.
#[derive(Debug, Clone)]
pub struct OpenOptions<'a> {
    /// Which bytes.
    pub stream: Stream,
    /// What it will do.
    pub access: Modes,
    /// What nobody else may do meanwhile.
    pub deny: Modes,
    /// Makes a named stream that is not there.
    pub create: bool,
    /// The folder that the file is in and its stored name there. Not needed for the data fork.
    pub place: Option<Beside<'a>>,
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
        Self { stream: Stream::Data, access, deny: Modes::NONE, create: false, place: None }
    }
}

/// An open stream. Dropping it gives back its deny modes, its locks and the lease it keeps.
pub struct Open {
    volume: Arc<Volume>,
    node: Node,
    /// With `open` set to this one.
    actor: Actor,
    guard: OpenGuard,
    place: Option<Arc<Place>>,
}

impl Volume {
    /// Opens a stream of a file. Waits until those who have it in their caches have given back what stands against it.
    pub async fn open(
        self: &Arc<Self>,
        actor: &Actor,
        file: &Found,
        options: OpenOptions<'_>,
    ) -> Result<Open> {
        let OpenOptions { stream, access, deny, create, place } = options;
        self.may_open(&actor.caller, file, access)?;
        let (node, id) = (file.object.clone(), file.object.id());
        let place = match stream {
            Stream::Data => None,
            _ if self.streams.is_none() => return Err(Error::NotSupported),
            _ => Some(self.places.add(id, place.ok_or(Error::Invalid)?)),
        };
        let request = OpenRequest { party: actor.party, access, deny };
        let deadline = || tokio::time::sleep(RECALL_DEADLINE);
        let guard = self.state.open_and_recall(id, stream, request, deadline).await?;
        let actor = Actor { open: Some(guard.id()), ..actor.clone() };
        let open = Open { volume: self.clone(), node, actor, guard, place };
        if let Stream::Named(name) = open.guard.stream() {
            open.find_stream(name.clone(), create).await?;
        }
        Ok(open)
    }

    fn may_open(&self, caller: &Caller, file: &Found, access: Modes) -> Result<()> {
        if access.meets(Modes::WRITE.union(Modes::DELETE)) && self.is_read_only() {
            return Err(Error::ReadOnly);
        }
        let bit = |mode, bit| if access.meets(mode) { bit } else { Access::NONE };
        let want = bit(Modes::READ, Access::READ).union(bit(Modes::WRITE, Access::WRITE));
        if self.access(caller, file, want)? != want {
            return Err(Error::AccessDenied);
        }
        // Opens the host's file, so that what is wrong with it is said now. A folder is opened to be listed.
        match want == Access::NONE || file.attributes.kind == Kind::Folder {
            true => Ok(()),
            false => file.object.prepare(caller, &file.attributes, want, false),
        }
    }
}

impl Open {
    /// The open as `state` knows it: to change its modes, or to keep a lease with it.
    pub fn guard(&self) -> &OpenGuard {
        &self.guard
    }

    /// The same.
    pub fn guard_mut(&mut self) -> &mut OpenGuard {
        &mut self.guard
    }

    /// The file.
    pub fn node(&self) -> &Node {
        &self.node
    }

    /// What the host says of the file now. Its size is that of the data fork, see [`Open::size`].
    pub fn attributes(&self) -> Result<Attributes> {
        self.node.attributes()
    }

    /// The length of this stream.
    pub async fn size(&self) -> Result<u64> {
        match self.guard.stream() {
            Stream::Data => Ok(self.node.attributes()?.size),
            Stream::Resource => self.with_streams(|streams, _, file| streams.fork_len(file)).await,
            Stream::Named(name) => {
                let name = name.clone();
                self.with_streams(move |streams, caller, file| {
                    streams.stream_len(caller, file, name.as_bytes())
                })
                .await
            }
        }
    }

    /// Reads up to `length` bytes at `offset`; the attributes that come with them have the stream's size.
    pub async fn read_at(&self, offset: u64, length: usize) -> Result<ReadData> {
        self.require(Modes::READ)?;
        if *self.guard.stream() == Stream::Data {
            return self.volume.read(&self.actor, &self.found()?, offset, length).await;
        }
        self.may_touch(offset, length as u64, false)?;
        let mut attributes = self.node.attributes()?;
        let (bytes, size) = match self.guard.stream().clone() {
            Stream::Named(name) => {
                self.with_streams(move |streams, caller, file| {
                    let (name, mut bytes) = (name.as_bytes(), Vec::new());
                    let size = streams.stream_len(caller, file, name)?;
                    streams.read_stream(caller, file, name, (offset, length), &mut bytes)?;
                    Ok((bytes, size))
                })
                .await?
            }
            _ => {
                self.with_streams(move |streams, caller, file| {
                    let Some(fork) = streams.fork(caller, file)? else { return Ok((Vec::new(), 0)) };
                    let mut bytes = Vec::new();
                    fork.read_at(offset, length, &mut bytes, Wait::Allowed)?;
                    Ok((bytes, fork.len()))
                })
                .await?
            }
        };
        attributes.size = size;
        let end = offset.saturating_add(bytes.len() as u64) >= size;
        Ok(ReadData { payload: Payload::Bytes(bytes), end, attributes })
    }

    /// Writes all of `data` at `offset`.
    pub async fn write_at(&self, offset: u64, data: Bytes, stability: Stability) -> Result<()> {
        self.require(Modes::WRITE)?;
        self.recall(Cause::Write).await;
        if *self.guard.stream() == Stream::Data {
            return self.volume.write(&self.actor, &self.found()?, offset, data, stability).await.map(drop);
        }
        self.may_touch(offset, data.len() as u64, true)?;
        let written = match self.guard.stream().clone() {
            Stream::Named(name) => {
                self.with_streams(move |streams, caller, file| {
                    streams.write_stream(caller, file, name.as_bytes(), offset, &data, stability)
                })
                .await
            }
            _ => {
                self.with_streams(move |streams, caller, file| {
                    let mut fork = streams.fork_to_write(caller, file)?;
                    fork.write_at(offset, &data, stability)
                })
                .await
            }
        };
        self.recall_late(Cause::Write);
        written
    }

    /// Cuts the stream off, or lets zeros follow.
    pub async fn truncate(&self, size: u64) -> Result<()> {
        self.require(Modes::WRITE)?;
        self.recall(Cause::Truncate).await;
        if *self.guard.stream() == Stream::Data {
            let changes = SetAttributes { size: Some(size), ..SetAttributes::default() };
            return self.volume.set_attributes(&self.actor, &self.found()?, &changes).map(drop);
        }
        let (state, id) = (self.volume.state(), self.node.id());
        state.check_resize(id, self.guard.stream(), who(&self.actor), size.min(self.size().await?))?;
        let done = match self.guard.stream().clone() {
            Stream::Named(name) => {
                self.with_streams(move |streams, caller, file| {
                    streams.truncate_stream(caller, file, name.as_bytes(), size)
                })
                .await
            }
            _ => self.with_streams(move |streams, caller, file| cut_fork(streams, caller, file, size)).await,
        };
        self.recall_late(Cause::Truncate);
        done
    }

    /// Puts everything written to the stream on the disk.
    pub async fn sync(&self) -> Result<()> {
        match self.guard.stream().clone() {
            Stream::Data => self.volume.sync(&self.found()?).await.map(drop),
            // Writing nothing, for good, puts the stream where it is on the disk.
            Stream::Named(name) => {
                self.with_streams(move |streams, _, file| {
                    streams.write_stream(&Caller::root(), file, name.as_bytes(), 0, &[], Stability::File)
                })
                .await
            }
            Stream::Resource => {
                self.with_streams(move |streams, _, file| match streams.fork(&Caller::root(), file)? {
                    Some(fork) => fork.sync(Stability::File),
                    None => Ok(()),
                })
                .await
            }
        }
    }

    /// Locks a range against everybody else's reads and writes, or says at once what is in the way.
    pub async fn lock(&self, range: Range, kind: LockKind) -> std::result::Result<(), Refused> {
        self.recall(Cause::Lock).await;
        self.volume.state.lock(self.node.id(), self.guard.stream(), self.locked(range, kind))
    }

    /// The same, but waits for it.
    pub async fn wait_lock(&self, range: Range, kind: LockKind) -> std::result::Result<Locked, Refused> {
        self.recall(Cause::Lock).await;
        self.volume.state.wait_lock(self.node.id(), self.guard.stream(), self.locked(range, kind))
    }

    /// Gives back a range, named exactly as it was locked. Answers whether it was.
    pub fn unlock(&self, range: Range) -> Result<bool> {
        let Lock { owner, flavour, .. } = self.locked(range, LockKind::Shared);
        self.volume.state.unlock(self.node.id(), self.guard.stream(), &owner, range, flavour)
    }

    /// The lock that would refuse this one, if any.
    pub fn test(&self, range: Range, kind: LockKind) -> Option<Lock> {
        self.volume.state.test(self.node.id(), self.guard.stream(), &self.locked(range, kind))
    }

    fn locked(&self, range: Range, kind: LockKind) -> Lock {
        let owner = LockOwner::open(self.guard.client(), self.guard.id());
        Lock { owner, range, kind, flavour: Flavour::Mandatory }
    }

    fn require(&self, mode: Modes) -> Result<()> {
        if self.guard.modes().0.meets(mode) { Ok(()) } else { Err(Error::AccessDenied) }
    }

    fn found(&self) -> Result<Found> {
        Ok(Found { object: self.node.clone(), attributes: self.node.attributes()? })
    }

    /// Whether others' deny modes and locks let a part of this stream be read or written.
    fn may_touch(&self, offset: u64, length: u64, write: bool) -> Result<()> {
        let Some(range) = Range::new(offset, length) else { return Ok(()) };
        let (state, stream) = (self.volume.state(), self.guard.stream());
        state.check_io(self.node.id(), stream, who(&self.actor), range, write)
    }

    /// Waits for others' caches. Whoever has a file open can wait; a request without an open is sent away to come again.
    async fn recall(&self, cause: Cause) {
        let (state, stream) = (self.volume.state(), self.guard.stream());
        if let Some(recall) = state.break_for(self.node.id(), stream, cause, self.actor.party) {
            recall.within(tokio::time::sleep(RECALL_DEADLINE)).await;
        }
    }

    /// Once more after the change, for a lease granted while it was made.
    fn recall_late(&self, cause: Cause) {
        self.volume.recall_stream_late(&self.actor, self.node.id(), self.guard.stream(), cause);
    }

    /// A named stream must be there, or be made.
    async fn find_stream(&self, name: Arc<str>, create: bool) -> Result<()> {
        self.with_streams(move |streams, caller, file| {
            match streams.stream_len(&Caller::root(), file, name.as_bytes()) {
                Err(Error::NoSuchAttribute) if create => {
                    streams.truncate_stream(caller, file, name.as_bytes(), 0)
                }
                other => other.map(drop),
            }
        })
        .await
    }

    /// Does something with the file's streams while nobody else changes them, and where waiting holds up nobody.
    async fn with_streams<T: Send + 'static>(
        &self,
        act: impl FnOnce(&Streams, &Caller, &File<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let place = self.place.clone().ok_or(Error::Invalid)?;
        let (volume, node, caller) = (self.volume.clone(), self.node.clone(), self.actor.caller.clone());
        let pool = &self.volume.pool;
        let act = move || {
            let streams = volume.streams.as_ref().ok_or(Error::NotSupported)?;
            let (_changing, folder, name) = place.claim(&volume.busy);
            // Moved by a local process: who knows where to.
            let there = folder.lookup(&Caller::root(), &name).map_err(|_| Error::Stale)?;
            if there.object.key() != node.key() {
                return Err(Error::Stale);
            }
            act(streams, &caller, &File { folder: &*folder, name: &name, object: &*node })
        };
        pool.run(self.node.id(), act).await
    }
}

/// An empty fork needs no sidecar.
fn cut_fork(streams: &Streams, caller: &Caller, file: &File<'_>, size: u64) -> Result<()> {
    if size == 0 && streams.fork_len(file)? == 0 {
        return Ok(());
    }
    streams.fork_to_write(caller, file)?.truncate(size)?;
    if size == 0 { streams.settle(file) } else { Ok(()) }
}

impl std::fmt::Debug for Open {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", self.guard)
    }
}
