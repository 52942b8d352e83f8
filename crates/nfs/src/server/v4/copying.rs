//! COPY, OFFLOAD_STATUS and OFFLOAD_CANCEL, RFC 7862 4, 15.2, 15.8 and 15.9: copies inside this server.
//!
//! ```text
//! COPY ─► short, or the client wants to wait ─► copied ─► its reply
//!   └─► the reply with the stateid of the copy; a task copies ─► CB_OFFLOAD until the client has heard it ─► forgotten
//!             OFFLOAD_CANCEL, and the end of the client, end the task ─┘
//! ```

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use tokio::sync::OwnedSemaphorePermit;
use tokio::time::sleep;
use vfs::state::Modes;
use vfs::{Actor, Beside, Open, OpenOptions, Volume};
use wire::Writer;

use super::backchannel::CallbackOutcome;
use super::client::Client;
use super::compound::Compound;
use super::data::file;
use super::delegations::call_back;
use super::fail::Fail;
use super::place::HandleTarget;
use super::ranges::{CopyPair, pair};
use super::reclaiming::own_client;
use super::states::{State, StateidNumbers};
use crate::server::Service;
use crate::server::handle::HandleContent;
use crate::server::v3::Target;
use crate::wire::v4::callbacks::{Callback, Offload};
use crate::wire::v4::ranges::{CopyRange, CopyReply, Servers};
use crate::wire::v4::types::{FileHandle, StableHow, StateId, Status};
use crate::wire::xdr::Encode;

/// A longer copy goes on after its reply, if the client allows it; in tests a shorter one.
const AT_ONCE: u64 = if cfg!(test) { 64 << 10 } else { 64 << 20 };
/// The most bytes of a copy that is done when it is answered: the client asks for the rest, and no request takes long.
const MOST_COPIED: u64 = 256 << 20;
/// What is copied between two looks whether the copy is cancelled.
const PIECE: u64 = if cfg!(test) { 16 << 10 } else { 16 << 20 };
/// The most copies of one client that go on, or of whose end it has not heard. A further one is done when it is answered.
pub(super) const COPIES_OF_CLIENT: usize = 8;
/// The most of all clients that go on.
pub(super) const COPIES: usize = 32;
/// How often a client is told of the end of a copy, and the pause in between. After that it has to ask.
const MOST_CALLS: usize = 10;
const PAUSE: Duration = Duration::from_secs(2);

/// A copy that goes on after its reply.
pub(super) struct AsyncCopy {
    pub(super) numbers: StateidNumbers,
    /// The file that is written.
    pub(super) named: HandleContent,
    handle: Vec<u8>,
    count: AtomicU64,
    /// How it has ended.
    ended: OnceLock<Status>,
    is_cancelled: AtomicBool,
}

impl AsyncCopy {
    fn stateid(&self) -> StateId {
        self.numbers.stateid(1)
    }

    /// Whether a request that names it may: it never changes.
    pub(super) fn check(sent: Option<u32>) -> Result<(), Status> {
        if matches!(sent, None | Some(1)) { Ok(()) } else { Err(Status::BAD_STATEID) }
    }

    /// Nobody waits for it any more.
    pub(super) fn cancel(&self) {
        self.is_cancelled.store(true, Ordering::Release);
    }

    fn is_cancelled(&self) -> bool {
        self.is_cancelled.load(Ordering::Acquire)
    }
}

/// What is copied.
struct CopyWork {
    pair: CopyPair,
    from: u64,
    to: u64,
    /// Of a whole file that is copied into an empty one: the forks and the rest go along.
    besides: Option<CopiedMetadata>,
}

/// COPY inside this server. One that is done when it is answered may be shorter than the client has asked for.
pub(super) async fn copy(compound: &Compound<'_>, request: &CopyRange, w: &mut Writer) -> Result<(), Fail> {
    if request.servers != Servers(0) {
        return Err(Status::PARTNER_NOTSUPP.into());
    }
    let (from, to) = ((&request.from_state, request.from), (&request.to_state, request.to));
    let pair = pair(compound, from, to, request.count).await?;
    let besides = CopiedMetadata::of(compound, request, &pair).await?;
    let mut work = CopyWork { pair, from: request.from, to: request.to, besides };
    if !request.synchronous && work.pair.length > AT_ONCE {
        work = match begin(compound, work)? {
            CopyStart::Apart(state) => return put(compound, Some(state), 0, w),
            CopyStart::Here(work) => work,
        };
    }
    let length = work.pair.length.min(MOST_COPIED);
    let count = work.pair.target.copy_from(&work.pair.source, work.from, work.to, length).await?;
    work.take_besides(count).await?;
    put(compound, None, count, w)
}

fn put(compound: &Compound<'_>, callback: Option<StateId>, count: u64, w: &mut Writer) -> Result<(), Fail> {
    let (stable, verifier, synchronous) =
        (StableHow::UNSTABLE, compound.call.service.verifier, callback.is_none());
    CopyReply { callback, count, stable, verifier, consecutive: true, synchronous }.encode(w);
    Ok(())
}

enum CopyStart {
    /// A task copies: this is the stateid of the copy.
    Apart(StateId),
    /// It is to be done now.
    Here(CopyWork),
}

/// Begins to copy in a task, if the client can be told of the end, and not too many copies go on.
fn begin(compound: &Compound<'_>, work: CopyWork) -> Result<CopyStart, Fail> {
    let (service, client) = (compound.call.service, own_client(compound)?.clone());
    let Ok(runtime) = tokio::runtime::Handle::try_current() else { return Ok(CopyStart::Here(work)) };
    if !compound.is_callable(&client) {
        return Ok(CopyStart::Here(work));
    }
    let Ok(permit) = service.nfs4.copies.clone().try_acquire_owned() else {
        return Ok(CopyStart::Here(work));
    };
    let place: Arc<HandleTarget> = compound.current()?.clone();
    let named = file(&place)?.named;
    let handle = named.seal(&service.secret).as_bytes().to_vec();
    let (count, ended, is_cancelled) = (AtomicU64::new(0), OnceLock::new(), AtomicBool::new(false));
    let copying = client.add_copy(|numbers| AsyncCopy { numbers, named, handle, count, ended, is_cancelled });
    let Ok(copying) = copying else { return Ok(CopyStart::Here(work)) };
    let state = copying.stateid();
    runtime.spawn(run(Arc::downgrade(service), client, copying, work, permit));
    Ok(CopyStart::Apart(state))
}

/// Copies, and tells the client of the end.
async fn run(
    service: Weak<Service>,
    client: Arc<Client>,
    copying: Arc<AsyncCopy>,
    work: CopyWork,
    permit: OwnedSemaphorePermit,
) {
    let status = work.done(&copying).await.err().map_or(Status::OK, Status::from);
    drop((work, permit));
    let _ = copying.ended.set(status); // it ends once
    for _ in 0..MOST_CALLS {
        let Some(service) = service.upgrade().filter(|_| !copying.is_cancelled()) else { return };
        let offload = Offload {
            handle: FileHandle::new(&copying.handle),
            state: copying.stateid(),
            status,
            count: copying.count.load(Ordering::Acquire),
            stable: StableHow::UNSTABLE,
            verifier: service.verifier,
        };
        if call_back(&service, &client, Callback::Offload(offload)).await == CallbackOutcome::Accepted {
            client.forget_copy(&copying);
            return;
        }
        drop(service);
        sleep(PAUSE).await;
    }
}

impl CopyWork {
    /// Copies piece by piece until all is copied, or the copy is cancelled.
    async fn done(&self, copying: &AsyncCopy) -> vfs::Result<()> {
        let CopyPair { source, target, length } = &self.pair;
        let mut done = 0;
        while done < *length && !copying.is_cancelled() {
            let now = (length - done).min(PIECE);
            match target.copy_from(source, self.from + done, self.to + done, now).await? {
                0 => break, // the source was cut meanwhile
                count => done += count,
            }
            copying.count.store(done, Ordering::Release);
            tokio::task::yield_now().await;
        }
        if copying.is_cancelled() { Ok(()) } else { self.take_besides(done).await }
    }

    async fn take_besides(&self, copied: u64) -> vfs::Result<()> {
        match &self.besides {
            Some(besides) if copied == self.pair.length => besides.take().await,
            _ => Ok(()),
        }
    }
}

/// The two files of a copy, for what they are besides their data.
struct CopiedMetadata {
    volume: Arc<Volume>,
    actor: Actor,
    from: Arc<HandleTarget>,
    to: Arc<HandleTarget>,
}

impl CopiedMetadata {
    /// `None` unless a whole file is copied into an empty one. A locked file is copied without its metadata: the client could
    /// not go on with a copy that is locked.
    async fn of(compound: &Compound<'_>, request: &CopyRange, pair: &CopyPair) -> Result<Option<Self>, Fail> {
        let (from, to): (Arc<HandleTarget>, Arc<HandleTarget>) =
            (compound.saved()?.clone(), compound.current()?.clone());
        let (source, target) = (file(&from)?, file(&to)?);
        let volume = target.export.volume.clone();
        let is_whole = request.from == 0
            && request.to == 0
            && pair.length == pair.source.size().await?
            && pair.target.size().await? == 0
            && source.named != target.named;
        if !is_whole || !volume.keeps_streams() || volume.is_locked(&source.found.object)? {
            return Ok(None);
        }
        let actor = target.actor.clone();
        Ok(Some(Self { volume, actor, from, to }))
    }

    /// Copies the forks, streams, metadata and extended attributes, if both files still have names.
    async fn take(&self) -> vfs::Result<()> {
        let (Ok(from), Ok(to)) = (file(&self.from), file(&self.to)) else { return Ok(()) };
        let Some(source) = self.open(from, Modes::READ).await? else { return Ok(()) };
        let Some(target) = self.open(to, Modes::WRITE).await? else { return Ok(()) };
        target.copy_streams_from(&source).await
    }

    /// Opens a file with its place, which its forks may depend on. The data have shown that the user may.
    async fn open(&self, target: &Target, mode: Modes) -> vfs::Result<Option<Open>> {
        let Ok((folder, name)) = self.volume.place_of(&target.found) else { return Ok(None) };
        let place = Some(Beside { folder: &folder.object, name: &name });
        let options = OpenOptions { place, granted: true, ..OpenOptions::data(mode) };
        self.volume.open(&self.actor, &target.found, options).await.map(Some)
    }
}

/// The copy of a stateid, if it writes the current file.
fn found(compound: &Compound<'_>, state: &StateId) -> Result<(Arc<Client>, Arc<AsyncCopy>), Status> {
    let place = compound.current()?;
    let sent = compound.sent(state);
    let (client, found) = compound.state(&sent)?;
    let State::Copy(copying) = found else { return Err(Status::BAD_STATEID) };
    AsyncCopy::check(sent.sequence)?;
    match &**place {
        HandleTarget::File(target) if target.named == copying.named => Ok((client, copying)),
        _ => Err(Status::BAD_STATEID),
    }
}

/// OFFLOAD_STATUS: how much is copied, and how the copy has ended.
pub(super) fn status(compound: &Compound<'_>, state: &StateId, w: &mut Writer) -> Result<(), Fail> {
    let (_, copying) = found(compound, state)?;
    let ended = copying.ended.get().copied(); // before the count, which is the last one then
    copying.count.load(Ordering::Acquire).encode(w);
    ended.encode(w); // an array of at most one, which has the form of optional data
    Ok(())
}

/// OFFLOAD_CANCEL. What is copied stays.
pub(super) fn cancel(compound: &Compound<'_>, state: &StateId) -> Result<(), Fail> {
    let (client, copying) = found(compound, state)?;
    copying.cancel();
    client.forget_copy(&copying);
    Ok(())
}
