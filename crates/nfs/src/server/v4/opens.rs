//! OPEN, OPEN_CONFIRM, OPEN_DOWNGRADE and CLOSE, RFC 7530 16.16, 16.18, 16.19 and 16.2, RFC 8881 18.2, 18.16 and 18.18.

use std::sync::Arc;

use lock::Mutex;
use vfs::state::{Cause, Modes, OpenRequest, Party, Stream};
use vfs::{Actor, Beside, OpenOptions, PermittedActor, Plan};
use wire::Writer;

use super::client::Client;
use super::compound::Compound;
use super::creating::{self, Opening};
use super::data::file;
use super::delegations::Delegation;
use super::fail::Fail;
use super::named;
use super::owners::{OwnerRequestState, OwnerTurn, StateOwner};
use super::place::HandleTarget;
use super::principal::{Principal, may_end};
use super::rights::{permit, runs, wanted};
use super::states::{OpenState, SentStateId, ShareCombinations, State, StateSequence, TreeOpen};
use super::wanting::{
    HINTS, WANT, WANT_LATER, WhyNoDelegation, check_want, put_delegation, put_no_delegation,
};
use crate::server::handle::HandleView;
use crate::server::recalling::LIMIT;
use crate::server::v3::Target;
use crate::server::{Phase, Service};
use crate::wire::v4::OperationNumber;
use crate::wire::v4::opens::{Claim, Close, OpenArgs, OpenConfirm, OpenDowngrade, OpenHow};
use crate::wire::v4::types::{StateId, Status};
use crate::wire::xdr::Encode;

/// OPEN4_RESULT_CONFIRM: the client has to confirm the open.
const CONFIRM: u32 = 2;
/// OPEN4_RESULT_LOCKTYPE_POSIX: locks of one owner replace each other.
const POSIX_LOCKS: u32 = 4;
/// How long an open waits for the caches of other clients before its client is told to ask again.
const RECALL_LIMIT: std::time::Duration = LIMIT;

/// OPEN.
pub(super) async fn open(
    compound: &mut Compound<'_>,
    request: &OpenArgs<'_>,
    w: &mut Writer,
) -> Result<(), Fail> {
    let service = compound.call.service.clone();
    compound.current()?;
    let client = compound.client(request.owner.client)?;
    let (owner, unconfirmed) = client.open_owner(&request.owner.name)?;
    unconfirmed.iter().for_each(|state| release(&service, &client, state));
    let turn = match owner.begin(OperationNumber::OPEN, compound.counted(request.sequence)).await? {
        OwnerRequestState::New(turn) => turn,
        OwnerRequestState::Repeated(repeated) => {
            if let Some(handle) = &repeated.handle {
                compound.current = Some(Arc::new(HandleTarget::of(compound.call, handle)?));
            }
            return repeated.answer(w);
        }
    };
    let start = w.len();
    let result = opened(compound, &client, &owner, request, w).await;
    // A session repeats the whole reply by itself.
    let is_counted = compound.minor == 0;
    let handle = result.as_ref().ok().filter(|()| is_counted).and_then(|()| handle_now(compound));
    end(turn, result, &w.as_bytes()[start..], handle)
}

fn handle_now(compound: &Compound<'_>) -> Option<Vec<u8>> {
    compound.current.as_ref()?.with_handle(compound.call, |handle| handle.to_vec()).ok()
}

/// Ends the turn of an owner with a result. The owner counts it, so it is not tried again.
pub(super) fn end(
    turn: OwnerTurn<'_>,
    result: Result<(), Fail>,
    body: &[u8],
    handle: Option<Vec<u8>>,
) -> Result<(), Fail> {
    let result = result.map_err(|fail| Fail { recalling: None, ..fail });
    turn.end(&result, body, handle);
    result
}

/// Executes a request that does not wait in its owner's order, or repeats its reply.
pub(super) async fn in_turn(
    owner: &StateOwner,
    (operation, sequence): (OperationNumber, Option<u32>),
    w: &mut Writer,
    execute: impl FnOnce(&mut Writer) -> Result<(), Fail>,
) -> Result<(), Fail> {
    let turn = match owner.begin(operation, sequence).await? {
        OwnerRequestState::New(turn) => turn,
        OwnerRequestState::Repeated(repeated) => return repeated.answer(w),
    };
    let start = w.len();
    let result = execute(w);
    end(turn, result, &w.as_bytes()[start..], None)
}

/// Opens the file and writes OPEN4resok.
async fn opened(
    compound: &mut Compound<'_>,
    client: &Arc<Client>,
    owner: &Arc<StateOwner>,
    request: &OpenArgs<'_>,
    w: &mut Writer,
) -> Result<(), Fail> {
    let (access, deny) = (modes(compound.without_wants(request.access))?, modes(request.deny)?);
    if access == Modes::NONE {
        return Err(Status::INVAL.into());
    }
    check_want(request.access)?;
    let service = compound.call.service;
    let reclaims = matches!(request.claim, Claim::Previous(_));
    // No other client can have held, and reclaim, what a delegation covers: RFC 7530 9.6.2. Its stateid is checked below.
    if !matches!(request.claim, Claim::DelegatedName(..) | Claim::DelegatedFile(_)) {
        in_its_time(service, client, reclaims)?;
    }
    let opening = claimed(compound, request)?;
    let place = opening.place.clone();
    let target = creating::opened(&place)?;
    if !reclaims && !opening.is_new {
        settled(service, target)?;
    }
    service.nfs4.records.record(client).await?;
    let state = match client.open_of(owner, target.found.object.id(), target.named.view) {
        Some(known) => widened(known, target, access, deny).await?,
        None => {
            let opener = Principal::of(compound.call);
            new_open(service, client, (owner, opener), target, &opening, (access, deny)).await?
        }
    };
    if let Err(fail) = creating::empty(&opening, target, &state).await {
        if state.sequence.now() == 1 {
            client.close(&state).iter().for_each(|state| release(service, client, state));
        }
        return Err(fail);
    }
    state.shares.add(access, deny);
    state.stateid().encode(w);
    opening.change.encode(w);
    if reclaims {
        owner.confirm(); // RFC 7530 9.1.11: a reclaim needs no confirmation
    }
    let confirm = if owner.is_confirmed() { 0 } else { CONFIRM };
    (confirm | POSIX_LOCKS).encode(w);
    opening.set.encode(w);
    match target.named.view {
        HandleView::Attribute(_) => {
            put_no_delegation(request.access, WhyNoDelegation::NotOfThisType, false, w)?
        }
        _ => {
            let at = opening.beside.as_ref().map(|(folder, name)| Beside { folder, name });
            put_delegation(compound, client, (&state, target, at), request, w)?;
        }
    }
    compound.current = Some(place);
    Ok(())
}

/// The file that an OPEN means, made if it has to be.
fn claimed(compound: &mut Compound<'_>, request: &OpenArgs<'_>) -> Result<Opening, Fail> {
    let is_existing = matches!(request.how, OpenHow::Existing);
    match &request.claim {
        Claim::Name(name) => {
            let folder = compound.refreshed()?.clone();
            creating::by_name(compound.call, &folder, name, &request.how)
        }
        Claim::File | Claim::DelegatedFile(_) | Claim::PreviouslyDelegatedFile if compound.minor == 0 => {
            Err(Status::BADXDR.into()) // of minor version 1
        }
        Claim::Previous(_) | Claim::File if is_existing => creating::same(compound.current()?),
        Claim::Previous(_) | Claim::File => Err(Status::INVAL.into()),
        Claim::DelegatedName(state, name) => {
            let delegation = delegated(compound, state)?;
            let folder = compound.refreshed()?.clone();
            let opening = creating::by_name(compound.call, &folder, name, &OpenHow::Existing)?;
            match file(&opening.place)?.named == delegation.named {
                true => Ok(opening),
                false => Err(Status::BAD_STATEID.into()),
            }
        }
        Claim::DelegatedFile(state) => {
            let delegation = delegated(compound, state)?;
            match file(compound.current()?)?.named == delegation.named {
                true => creating::same(compound.current()?),
                false => Err(Status::BAD_STATEID.into()),
            }
        }
        Claim::PreviouslyDelegatedName(_) | Claim::PreviouslyDelegatedFile => Err(Status::NOTSUPP.into()),
    }
}

/// The delegation by which a client opens a file that it has opened in its cache only.
fn delegated(compound: &Compound<'_>, state: &StateId) -> Result<Arc<Delegation>, Status> {
    let sent = compound.sent(state);
    match compound.state(&sent)?.1 {
        State::Delegation(delegation) => delegation.check(sent.sequence).map(|()| delegation),
        _ => Err(Status::BAD_STATEID),
    }
}

impl Compound<'_> {
    /// The access of OPEN and its like without what minor version 1 has added: wishes for delegations.
    fn without_wants(&self, access: u32) -> u32 {
        match self.minor {
            0 => access,
            1 => access & !(WANT | WANT_LATER),
            _ => access & !(WANT | WANT_LATER | HINTS),
        }
    }
}

/// In the grace period clients only reclaim, and after it they do not. RFC 7530 9.6.2. A client of minor version 1 says when it
/// has nothing more to reclaim, RFC 8881 18.51.3. If several servers have one grace period, what is not reclaimed has to be
/// [`settled`], too.
pub(super) fn in_its_time(service: &Service, client: &Client, reclaim: bool) -> Result<(), Status> {
    let is_common = service.monitor.is_common();
    // A client of a lost server may have been a client of this one before, and said it then.
    let may_have_more = client.minor == 0 || client.is_reclaiming() || is_common;
    match (service.monitor.phase(), reclaim) {
        (Phase::Beginning, true) => Err(Status::DELAY),
        (Phase::Reclaiming, true) if may_have_more && service.nfs4.records.is_former(&client.name) => {
            service.monitor.note_reclaim();
            Ok(())
        }
        (_, true) => Err(Status::NO_GRACE),
        (_, false) if client.is_reclaiming() => Err(Status::GRACE),
        (Phase::Over, false) => Ok(()),
        (_, false) if is_common => Ok(()),
        (_, false) => Err(Status::GRACE),
    }
}

/// Succeeds if no client of a lost server can have something of the file to reclaim.
pub(super) fn settled(service: &Service, target: &Target) -> Result<(), Status> {
    let (state, file) = (target.export.volume.state(), target.found.object.id());
    if service.monitor.is_common() && !service.may_grant(state, file) { Err(Status::GRACE) } else { Ok(()) }
}

/// OPEN4_SHARE_ACCESS_* and OPEN4_SHARE_DENY_* number their bits as the tree does.
fn modes(bits: u32) -> Result<Modes, Status> {
    match bits {
        0..=3 => Ok(Modes(bits as u8)),
        _ => Err(Status::INVAL),
    }
}

/// A second OPEN of the same owner adds to the first one, RFC 7530 9.10.
async fn widened(
    state: Arc<OpenState>,
    target: &Target,
    access: Modes,
    deny: Modes,
) -> Result<Arc<OpenState>, Fail> {
    match target.named.view {
        HandleView::Attribute(_) => named::permit(target, access)?,
        _ => permit(target, access)?,
    }
    let (own_access, own_deny) = state.modes();
    // RFC 7530 9.9: the owner's own denials count, too.
    if access.intersects(own_deny) || deny.intersects(own_access) {
        return Err(Status::SHARE_DENIED.into());
    }
    let (access, deny) = (own_access.union(access), own_deny.union(deny));
    if (access, deny) != (own_access, own_deny) {
        let (volume, actor) = (&target.export.volume, state.acting(&target.actor.caller));
        let cause = if access.intersects(Modes::WRITE) { Cause::OpenWrite } else { Cause::OpenRead };
        if access.intersects(Modes::WRITE) {
            state.count_as_writing()?;
        }
        let permitted = PermittedActor::by_open(volume, &actor);
        permitted.recall_within(RECALL_LIMIT, state.file, cause).await?;
        volume.once_recalled(RECALL_LIMIT, || state.change(access, deny)).await?;
    }
    state.sequence.advance();
    Ok(state)
}

async fn new_open(
    service: &Arc<Service>,
    client: &Arc<Client>,
    (owner, opener): (&Arc<StateOwner>, Principal),
    target: &Target,
    opening: &Opening,
    (access, deny): (Modes, Modes),
) -> Result<Arc<OpenState>, Fail> {
    let party = Party::client(client.party);
    let (volume, file) = (&target.export.volume, target.found.object.id());
    let actor = Actor { party, open: None, ..target.actor.clone() };
    if access.intersects(Modes::WRITE) && !target.writable {
        return Err(Status::ROFS.into());
    }
    let held = if let HandleView::Attribute(name) = target.named.view {
        TreeOpen::Open(named::open(target, &actor, &name, (access, deny, opening.is_new)).await?)
    } else if target.named.view == HandleView::Sidecar {
        sidecar_permit(target, access)?;
        let permit = volume.permit_open(&actor)?;
        let request = OpenRequest::new(party, access, deny);
        let guard = volume.state().open(file, Stream::Named("._".into()), request)?;
        volume.state().note_view(file, volume.view());
        TreeOpen::Sidecar { guard, _permit: permit }
    } else {
        if !opening.is_new && !volume.state().quiet(file) {
            // `open` would wait for as long as the holder of a lease has time, while the client waits for its reply.
            permit(target, access)?;
            let cause = if access.intersects(Modes::WRITE) { Cause::OpenWrite } else { Cause::OpenRead };
            let permitted = volume.permit(&actor, Plan::Use(&target.found, wanted(access)))?;
            permitted.recall_within(RECALL_LIMIT, file, cause).await?;
        }
        let place = opening.beside.as_ref().map(|(folder, name)| Beside { folder, name });
        let granted = opening.is_new || runs(target, access)?;
        let empties = opening.size == Some(0) && !opening.is_new;
        let options = OpenOptions { deny, place, granted, empties, ..OpenOptions::data(access) };
        TreeOpen::Open(Arc::new(volume.open(&actor, &target.found, options).await?))
    };
    service.locks.hold(target.named.tag, &target.found, client.party);
    let (export, named, owner) = (target.export.clone(), target.named, owner.clone());
    let (sequence, shares) = (StateSequence::first(), ShareCombinations::default());
    let id = held.guard().id();
    let held = Mutex::new(Some(held));
    let make = |numbers| OpenState {
        numbers,
        sequence,
        owner,
        opener,
        export,
        named,
        file,
        id,
        party,
        held,
        shares,
    };
    let added = client.add_open(make);
    if added.is_err() {
        // The open is dropped by now.
        let (state, key) = (volume.state(), target.named.key);
        service.locks.let_go(target.named.tag, key, client.party, || state.concerns(file, client.party));
    }
    Ok(added?)
}

/// Who may read a file may read its sidecar, and who may change the file may change it.
fn sidecar_permit(target: &Target, access: Modes) -> Result<(), Fail> {
    if target.actor.caller.uid == target.found.attributes.uid { Ok(()) } else { permit(target, access) }
}

/// OPEN_CONFIRM.
pub(super) async fn confirm(
    compound: &Compound<'_>,
    request: &OpenConfirm,
    w: &mut Writer,
) -> Result<(), Fail> {
    let place = compound.current()?;
    let sent = compound.sent(&request.state);
    let (_, found) = compound.state(&sent)?;
    let owner = owner_of(&found)?;
    in_turn(&owner, (OperationNumber::OPEN_CONFIRM, compound.counted(request.sequence)), w, |w| {
        confirmed(place, &found, &sent, w)
    })
    .await
}

fn confirmed(place: &HandleTarget, found: &State, sent: &SentStateId, w: &mut Writer) -> Result<(), Fail> {
    let open = the_open(place, found, sent)?;
    if open.owner.is_confirmed() {
        return Err(Status::BAD_STATEID.into());
    }
    open.owner.confirm();
    open.sequence.advance();
    open.stateid().encode(w);
    Ok(())
}

/// The owner whose turn an operation on a state waits for.
fn owner_of(state: &State) -> Result<Arc<StateOwner>, Status> {
    match state {
        State::Open(open) => Ok(open.owner.clone()),
        State::Closed(owner) => Ok(owner.clone()),
        State::Lock(_) | State::Delegation(_) | State::Copy(_) => Err(Status::BAD_STATEID),
    }
}

/// The open of a stateid, if it is of the current file.
fn the_open<'a>(
    place: &HandleTarget,
    found: &'a State,
    sent: &SentStateId,
) -> Result<&'a Arc<OpenState>, Status> {
    let State::Open(open) = found else { return Err(Status::BAD_STATEID) };
    match place {
        HandleTarget::File(target) | HandleTarget::Attribute(target) if target.named == open.named => {}
        _ => return Err(Status::BAD_STATEID),
    }
    open.sequence.check(sent.sequence)?;
    Ok(open)
}

/// Whether the user of a request may change or end an open.
fn may_change(compound: &Compound<'_>, client: &Client, found: &State) -> Result<(), Status> {
    if let State::Open(open) = found { may_end(compound, client, open.opener) } else { Ok(()) }
}

/// OPEN_DOWNGRADE.
pub(super) async fn downgrade(
    compound: &Compound<'_>,
    request: &OpenDowngrade,
    w: &mut Writer,
) -> Result<(), Fail> {
    let place = compound.current()?;
    let sent = compound.sent(&request.state);
    let (client, found) = compound.state(&sent)?;
    may_change(compound, &client, &found)?;
    let owner = owner_of(&found)?;
    let wanted = (compound.without_wants(request.access), request.deny);
    in_turn(&owner, (OperationNumber::OPEN_DOWNGRADE, compound.counted(request.sequence)), w, |w| {
        downgraded(place, (&found, &sent), wanted, w)
    })
    .await
}

fn downgraded(
    place: &HandleTarget,
    (found, sent): (&State, &SentStateId),
    (access, deny): (u32, u32),
    w: &mut Writer,
) -> Result<(), Fail> {
    let open = the_open(place, found, sent)?;
    let (access, deny) = (modes(access)?, modes(deny)?);
    if !open.owner.is_confirmed() {
        return Err(Status::BAD_STATEID.into());
    }
    if access == Modes::NONE || !open.shares.allows(access, deny) {
        return Err(Status::INVAL.into());
    }
    open.change(access, deny)?;
    open.shares.keep(access, deny);
    open.sequence.advance();
    open.stateid().encode(w);
    Ok(())
}

/// CLOSE. The locks by the open are released with it.
pub(super) async fn close(compound: &Compound<'_>, request: &Close, w: &mut Writer) -> Result<(), Fail> {
    compound.current()?;
    let sent = compound.sent(&request.state);
    let (client, found) = compound.state(&sent)?;
    may_change(compound, &client, &found)?;
    let owner = owner_of(&found)?;
    in_turn(&owner, (OperationNumber::CLOSE, compound.counted(request.sequence)), w, |w| {
        closed(compound, &client, (&found, &sent), w)
    })
    .await?;
    if let State::Open(open) = &found {
        open.export.volume.closed_everywhere(open.file).await;
    }
    Ok(())
}

fn closed(
    compound: &Compound<'_>,
    client: &Client,
    (found, sent): (&State, &SentStateId),
    w: &mut Writer,
) -> Result<(), Fail> {
    let open = the_open(compound.current()?, found, sent)?;
    if !open.owner.is_confirmed() {
        return Err(Status::BAD_STATEID.into());
    }
    let open = open.clone();
    for state in client.close(&open) {
        release(compound.call.service, client, &state);
    }
    open.sequence.advance();
    // RFC 8881 18.2.4: no stateid that could be used any more.
    let state = if client.minor > 0 { StateId::INVALID } else { open.stateid() };
    state.encode(w);
    Ok(())
}

/// Releases what a state that is gone held in the tree.
pub(super) fn release(service: &Service, client: &Client, state: &State) {
    match state {
        State::Lock(lock) => super::locks::unlock_all(lock),
        State::Open(open) => {
            open.shut();
            let (state, party) = (open.export.volume.state(), client.party);
            service.locks.let_go(open.named.tag, open.named.key, party, || state.concerns(open.file, party));
        }
        State::Delegation(delegation) => super::delegations::release(service, delegation),
        State::Copy(copying) => copying.cancel(),
        State::Closed(_) => {}
    }
}
