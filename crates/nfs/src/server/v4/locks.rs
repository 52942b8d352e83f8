//! LOCK, LOCKT, LOCKU and RELEASE_LOCKOWNER, RFC 7530 16.10 to 16.12 and 16.37. The locks are advisory, in the same table
//! as those of NLM, SMB and AFP.

use std::sync::Arc;

use vfs::state::{
    Cause, Flavour, Lock as TreeLock, LockKind, LockOwner as TreeOwner, LockRefusal, Modes, Party, Range,
    Stream,
};
use vfs::{Actor, PermittedActor, Plan};
use wire::{Reader, Writer};

use super::client::Client;
use super::compound::Compound;
use super::data::file;
use super::fail::Fail;
use super::opens::{end, in_its_time, settled};
use super::owners::{OwnerRequestState, StateOwner};
use super::place::HandleTarget;
use super::principal::may_end;
use super::states::{LockState, OpenState, SentStateId, State, StateSequence};
use crate::server::handle::HandleView;
use crate::server::recalling::LIMIT;
use crate::server::v3::Target;
use crate::wire::v4::OperationNumber;
use crate::wire::v4::locks::{Lock, LockDenied, LockTest, Locker, NewLocker, Unlock};
use crate::wire::v4::types::{LockType, OWNER_LIMIT, OwnerArgument, OwnerName, StateId, Status};
use crate::wire::xdr::Encode;

/// LOCK.
pub(super) async fn lock(compound: &Compound<'_>, request: &Lock<'_>, w: &mut Writer) -> Result<(), Fail> {
    let place = compound.current()?.clone();
    match &request.locker {
        Locker::New(new) => lock_first(compound, &place, request, new, w).await,
        Locker::Known(state, sequence) => lock_more(compound, &place, request, (state, *sequence), w).await,
    }
}

/// The first lock of an owner by an open: the owner of the open counts it.
async fn lock_first(
    compound: &Compound<'_>,
    place: &Arc<HandleTarget>,
    request: &Lock<'_>,
    new: &NewLocker<'_>,
    w: &mut Writer,
) -> Result<(), Fail> {
    let sent = compound.sent(&new.open);
    let (client, found) = compound.state(&sent)?;
    let opener = match &found {
        State::Open(open) => open.owner.clone(),
        State::Closed(owner) => owner.clone(),
        State::Lock(_) | State::Delegation(_) | State::Copy(_) => return Err(Status::BAD_STATEID.into()),
    };
    let turn = match opener.begin(OperationNumber::LOCK, compound.counted(new.open_sequence)).await? {
        OwnerRequestState::New(turn) => turn,
        OwnerRequestState::Repeated(repeated) => return repeated.answer(w),
    };
    let start = w.len();
    let result = async {
        let State::Open(open) = &found else { return Err(Status::BAD_STATEID.into()) };
        open.sequence.check(sent.sequence)?;
        if client.minor == 0 && new.owner.client != client.id() {
            return Err(Status::STALE_CLIENTID.into());
        }
        let (owner, is_new) = client.lock_owner(&new.owner.name)?;
        let own_turn = owner.begin(OperationNumber::LOCK, compound.counted(new.sequence)).await?;
        let OwnerRequestState::New(own_turn) = own_turn else {
            return Err(Status::BAD_SEQID.into());
        };
        let own_start = w.len();
        let locked = locked(compound, place, request, (&client, open, &owner), w).await;
        let locked = end(own_turn, locked, &w.as_bytes()[own_start..], None);
        if locked.is_err() && is_new {
            let _ = client.forget_lock_owner(&new.owner.name, |_| true);
        }
        locked
    };
    let result = result.await;
    end(turn, result, &w.as_bytes()[start..], None)
}

/// A further lock of an owner by the same open.
async fn lock_more(
    compound: &Compound<'_>,
    place: &Arc<HandleTarget>,
    request: &Lock<'_>,
    (state, sequence): (&StateId, u32),
    w: &mut Writer,
) -> Result<(), Fail> {
    let sent = compound.sent(state);
    let (client, found) = compound.state(&sent)?;
    let State::Lock(locks) = &found else { return Err(Status::BAD_STATEID.into()) };
    let turn = match locks.owner.begin(OperationNumber::LOCK, compound.counted(sequence)).await? {
        OwnerRequestState::New(turn) => turn,
        OwnerRequestState::Repeated(repeated) => return repeated.answer(w),
    };
    let start = w.len();
    let result = async {
        locks.sequence.check(sent.sequence)?;
        locked(compound, place, request, (&client, &locks.open, &locks.owner), w).await
    };
    let result = result.await;
    end(turn, result, &w.as_bytes()[start..], None)
}

/// Takes the lock and writes its stateid.
async fn locked(
    compound: &Compound<'_>,
    place: &Arc<HandleTarget>,
    request: &Lock<'_>,
    (client, open, owner): (&Arc<Client>, &Arc<OpenState>, &Arc<StateOwner>),
    w: &mut Writer,
) -> Result<(), Fail> {
    let target = file(place)?;
    let range = range(request.offset, request.length)?;
    if target.named != open.named || !open.owner.is_confirmed() {
        return Err(Status::BAD_STATEID.into());
    }
    let service = compound.call.service;
    let kind = kind(request.kind)?;
    let needed = if kind == LockKind::Exclusive { Modes::WRITE } else { Modes::READ };
    if request.reclaim || !is_covered(client, open, needed) {
        in_its_time(service, client, request.reclaim)?;
        if !request.reclaim {
            settled(service, target)?;
        }
    }
    if !open.modes().0.intersects(needed) {
        return Err(Status::OPENMODE.into());
    }
    service.nfs4.records.record(client).await?;
    let (volume, file, stream) = (&open.export.volume, open.file, stream(target));
    let actor = open.acting(&target.actor.caller);
    PermittedActor::by_open(volume, &actor).recall_within(LIMIT, file, Cause::Lock).await?;
    let in_tree = tree_owner(client, &owner.name);
    let wanted = TreeLock { owner: in_tree.clone(), range, kind, flavour: Flavour::Advisory };
    let known = client.locks_of(owner, open);
    if let Err(refused) = volume.state().lock(file, &stream, wanted) {
        return Err(refusal(compound, refused));
    }
    let is_first = known.is_none();
    let make = |numbers| {
        let (owner, open, sequence) = (owner.clone(), open.clone(), StateSequence::first());
        LockState { numbers, sequence, owner, open, in_tree: in_tree.clone() }
    };
    let locks = client.keep_locks(known, open, make).inspect_err(|_| {
        let state = volume.state();
        let _ = state.unlock(file, &stream, &in_tree, range, Flavour::Advisory); // taken just now
    })?;
    if !is_first {
        locks.sequence.advance();
    }
    volume.state().note_view(file, volume.view());
    locks.numbers.stateid(locks.sequence.now()).encode(w);
    Ok(())
}

/// Whether the client has a delegation by which no other client can have locked, and reclaim, what it locks: RFC 7530 9.6.2.
fn is_covered(client: &Client, open: &OpenState, needed: Modes) -> bool {
    let held = client.delegation_of(open.file, &open.named.key);
    held.is_some_and(|held| held.modes().intersects(needed) && held.check(None).is_ok())
}

/// LOCKT: fails with the lock that is in the way.
pub(super) async fn test(compound: &Compound<'_>, request: &LockTest<'_>) -> Result<(), Fail> {
    let place = compound.current()?.clone();
    let target = file(&place)?;
    let range = range(request.offset, request.length)?;
    let service = compound.call.service;
    let client = compound.client(request.owner.client)?;
    if !service.may_grant(target.export.volume.state(), target.found.object.id()) {
        return Err(Status::GRACE.into());
    }
    let (volume, file, stream) = (&target.export.volume, target.found.object.id(), stream(target));
    let actor = Actor::new(target.actor.caller.clone(), Party::client(client.party));
    let permitted = volume.permit(&actor, Plan::Test(&target.found))?;
    permitted.recall_within(LIMIT, file, Cause::Lock).await?;
    let owner = tree_owner(&client, &request.owner.name);
    let wanted = TreeLock { owner, range, kind: kind(request.kind)?, flavour: Flavour::Advisory };
    match volume.state().test(file, &stream, &wanted)? {
        Some(held) => Err(denied(compound, &held)),
        None => Ok(()),
    }
}

/// LOCKU. Unlocking a range without locks is no error.
pub(super) async fn unlock(compound: &Compound<'_>, request: &Unlock, w: &mut Writer) -> Result<(), Fail> {
    let place = compound.current()?.clone();
    let sent = compound.sent(&request.state);
    let (client, found) = compound.state(&sent)?;
    let State::Lock(locks) = &found else { return Err(Status::BAD_STATEID.into()) };
    may_end(compound, &client, locks.open.opener)?;
    let turn = match locks.owner.begin(OperationNumber::LOCKU, compound.counted(request.sequence)).await? {
        OwnerRequestState::New(turn) => turn,
        OwnerRequestState::Repeated(repeated) => return repeated.answer(w),
    };
    let start = w.len();
    let result = unlocked(&place, (locks, &sent), request, w).await;
    end(turn, result, &w.as_bytes()[start..], None)
}

async fn unlocked(
    place: &HandleTarget,
    (locks, sent): (&LockState, &SentStateId),
    request: &Unlock,
    w: &mut Writer,
) -> Result<(), Fail> {
    let target = file(place)?;
    let range = range(request.offset, request.length)?;
    locks.sequence.check(sent.sequence)?;
    if target.named != locks.open.named {
        return Err(Status::BAD_STATEID.into());
    }
    let (state, file) = (locks.open.export.volume.state(), locks.open.file);
    state.bring(file).await;
    state.unlock(file, &stream(target), &locks.in_tree, range, Flavour::Advisory)?;
    locks.sequence.advance();
    locks.numbers.stateid(locks.sequence.now()).encode(w);
    Ok(())
}

/// RELEASE_LOCKOWNER: the client will not use an owner any more.
pub(super) async fn release(compound: &Compound<'_>, owner: &OwnerArgument<'_>) -> Result<(), Fail> {
    let client = compound.client(owner.client)?;
    Ok(client.forget_lock_owner(&owner.name, holds_ranges)?)
}

/// Whether an owner has locked a range by an open.
pub(super) fn holds_ranges(locks: &LockState) -> bool {
    let (open, stream) = (&locks.open, stream_of(locks.open.named.view));
    open.export.volume.state().has_ranges(open.file, &stream, &locks.in_tree).unwrap_or(true)
}

/// Releases all ranges that an owner has locked by an open. If another server has the state of the file: when it comes.
pub(super) fn unlock_all(locks: &LockState) {
    let (open, state) = (&locks.open, locks.open.export.volume.state());
    state.release_owner(open.file, &stream_of(open.named.view), &locks.in_tree);
}

/// An owner as the tree knows it: the client's number, then the client's own name of the owner.
fn tree_owner(client: &Client, name: &[u8]) -> TreeOwner {
    TreeOwner::named(client.party, &[&client.id().to_be_bytes()[..], name].concat())
}

/// A length of all ones reaches to the end of every file, RFC 7530 16.10.4.
fn range(offset: u64, length: u64) -> Result<Range, Status> {
    match length {
        u64::MAX => Ok(Range::to_end(offset)),
        _ => Range::new(offset, length).ok_or(Status::INVAL),
    }
}

fn kind(kind: LockType) -> Result<LockKind, Status> {
    match kind {
        LockType::READ | LockType::READW => Ok(LockKind::Shared),
        LockType::WRITE | LockType::WRITEW => Ok(LockKind::Exclusive),
        _ => Err(Status::BADXDR),
    }
}

fn stream(target: &Target) -> Stream {
    stream_of(target.named.view)
}

/// A sidecar has locks of its own, whether or not it is on the disk.
fn stream_of(view: HandleView) -> Stream {
    match view {
        HandleView::File => Stream::Data,
        // Ranges of named attributes are not locked: `file` refuses them before.
        HandleView::Sidecar | HandleView::Attributes | HandleView::Attribute(_) => Stream::Named("._".into()),
    }
}

fn refusal(compound: &Compound<'_>, refused: LockRefusal) -> Fail {
    match refused {
        LockRefusal::Blocked(held) => denied(compound, &held),
        LockRefusal::TooMany => Status::RESOURCE.into(),
        LockRefusal::Elsewhere(_) => Status::DELAY.into(),
    }
}

/// LOCK4denied. Owners of other protocols have no name here.
fn denied(compound: &Compound<'_>, held: &TreeLock) -> Fail {
    let mut opaque = Reader::new(&held.owner.opaque);
    let own = opaque.u64_be().ok().filter(|&id| {
        let known = compound.call.service.nfs4.known(id);
        opaque.remaining() <= OWNER_LIMIT && known.is_some_and(|client| client.party == held.owner.client)
    });
    let (client, name) = own.map_or((0, &[][..]), |id| (id, opaque.rest()));
    let kind = if held.kind == LockKind::Exclusive { LockType::WRITE } else { LockType::READ };
    let (offset, length) = (held.range.start(), held.range.length().unwrap_or(u64::MAX));
    let mut body = Writer::new();
    let owner = OwnerArgument { client, name: OwnerName::new(name) };
    LockDenied { offset, length, kind, owner }.encode(&mut body);
    Fail::with(Status::DENIED, body.into_bytes())
}
