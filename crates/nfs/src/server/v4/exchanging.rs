//! EXCHANGE_ID, CREATE_SESSION, BIND_CONN_TO_SESSION and their like, RFC 8881 18.33 to 18.37 and 18.50.

use std::sync::Arc;

use wire::Writer;

use super::backchannel::BackChannel;
use super::client::Client;
use super::compound::Compound;
use super::creation::CreationRequestState;
use super::fail::Fail;
use super::principal::{Principal, may_speak_for};
use super::sessions::allowed;
use crate::server::Service;
use crate::server::call::Call;
use crate::wire::v4::sessions::{
    BACK_CHANNEL, BackChannel as BackChannelControl, BindConnection, CONFIRMED, CREATE_SESSION_FLAGS,
    CreateSession, CreatedSession, EXCHANGE_FLAGS, ExchangeId, ExchangedId, FENCE, Implementation, NO_PNFS,
    SessionId, StateProtect, UPDATE_CONFIRMED,
};
use crate::wire::v4::types::{OwnerName, Status};
use crate::wire::xdr::Encode;

/// channel_dir_from_client4 and channel_dir_from_server4: CDFC4_FORE and CDFC4_BACK, which say the same as CDFS4_FORE and
/// CDFS4_BACK, then CDFC4_FORE_OR_BOTH and CDFC4_BACK_OR_BOTH.
const FORE: u32 = 1;
const BACK: u32 = 2;
const FORE_OR_BOTH: u32 = 3;
const BACK_OR_BOTH: u32 = 7;
/// CDFS4_BOTH.
const BOTH: u32 = 3;

/// EXCHANGE_ID.
pub(super) fn exchange_id(call: &Call<'_>, request: &ExchangeId<'_>, w: &mut Writer) -> Result<(), Fail> {
    let known = EXCHANGE_FLAGS | if call.minor > 1 { FENCE } else { 0 };
    if request.flags & !known != 0 {
        return Err(Status::INVAL.into());
    }
    // The other two kinds need RPCSEC_GSS, RFC 8881 18.35.3.
    if request.protect != StateProtect::None {
        return Err(Status::INVAL.into());
    }
    let clients = &call.service.nfs4;
    let update = request.flags & UPDATE_CONFIRMED != 0;
    let exchanged = clients.exchange((&request.name, request.verifier), Principal::of(call), update)?;
    if let Some(replaced) = &exchanged.replaced {
        call.service.end_client(replaced);
    }
    call.service.watch_leases();
    ExchangedId {
        client: exchanged.id,
        sequence: exchanged.sequence,
        flags: NO_PNFS | if exchanged.is_confirmed { CONFIRMED } else { 0 },
        protect: StateProtect::None,
        owner_minor: 0,
        owner_major: OwnerName::new(clients.identity.as_bytes()),
        scope: OwnerName::new(clients.scope.as_bytes()),
        implementation: Implementation,
    }
    .encode(w);
    Ok(())
}

/// CREATE_SESSION. The first one confirms the client, and a client that has restarted loses what it held before.
pub(super) fn create_session(call: &Call<'_>, request: &CreateSession, w: &mut Writer) -> Result<(), Fail> {
    let service: &Arc<Service> = call.service;
    let created = match created_in_order(call, request, w) {
        Err(Status::RESOURCE) if service.end_most_silent() => created_in_order(call, request, w),
        created => created,
    };
    if let Some(former) = created? {
        service.end_client(&former);
    }
    service.watch_leases();
    Ok(())
}

/// Creates a session if the request is the next one. Returns a former run of the client, whose end needs other locks.
fn created_in_order(
    call: &Call<'_>,
    request: &CreateSession,
    w: &mut Writer,
) -> Result<Option<Arc<Client>>, Status> {
    let creation = call.service.nfs4.creation(request.client)?;
    let creating = match creation.begin(request.sequence)? {
        CreationRequestState::New(creating) => creating,
        CreationRequestState::Repeated(reply) => {
            w.put(&reply);
            return Ok(None);
        }
    };
    let mut former = None;
    let start = w.len();
    let created = created(call, request, &mut former, w);
    creating.end(created.map(|()| &w.as_bytes()[start..]));
    // The former run has ended even if the session cannot be created.
    match (created, former) {
        (Err(status), Some(former)) => {
            call.service.end_client(&former);
            Err(status)
        }
        (created, former) => created.map(|()| former),
    }
}

fn created(
    call: &Call<'_>,
    request: &CreateSession,
    former: &mut Option<Arc<Client>>,
    w: &mut Writer,
) -> Result<(), Status> {
    if request.flags & !CREATE_SESSION_FLAGS != 0 {
        return Err(Status::INVAL);
    }
    let back = allowed(&request.back, usize::MAX)?;
    allowed(&request.fore, usize::MAX)?;
    let clients = &call.service.nfs4;
    let entered = clients.confirm_by_session(request.client, Principal::of(call))?;
    *former = entered.former;
    let is_there = || clients.known(request.client).is_some();
    let is_back = request.flags & BACK_CHANNEL != 0 && request.security.is_usable();
    let channel = BackChannel::new(back, request.program, request.security);
    let (channels, over) = ((&request.fore, channel), (call.origin, is_back));
    let session = clients.sessions.create((&entered.client, call.minor), channels, over, is_there)?;
    session.prove(call.service);
    // No session outlives the server.
    let flags = if is_back { BACK_CHANNEL } else { 0 };
    let (session, fore, sequence) = (session.id, session.fore, request.sequence);
    CreatedSession { session, sequence, flags, fore, back }.encode(w);
    Ok(())
}

/// DESTROY_SESSION: over a connection that uses the session.
pub(super) fn destroy_session(call: &Call<'_>, id: &SessionId) -> Result<(), Fail> {
    let sessions = &call.service.nfs4.sessions;
    let session = sessions.named(id)?;
    if !session.is_bound(call.origin) {
        return Err(Status::CONN_NOT_BOUND_TO_SESSION.into());
    }
    may_speak_for(call, &session.client)?;
    session.client.renew();
    sessions.end(&session);
    Ok(())
}

/// DESTROY_CLIENTID: of a client that has neither sessions nor state.
pub(super) fn destroy_client(call: &Call<'_>, id: u64) -> Result<(), Fail> {
    let (service, clients) = (call.service, &call.service.nfs4);
    if clients.forget_waiting(id, Principal::of(call))? {
        return Ok(());
    }
    let client = clients.known(id).filter(|client| client.minor > 0).ok_or(Status::STALE_CLIENTID)?;
    may_speak_for(call, &client)?;
    if client.has_sessions() || client.has_state() {
        return Err(Status::CLIENTID_BUSY.into());
    }
    service.end_client(&client);
    Ok(())
}

/// BIND_CONN_TO_SESSION. A connection that may have both directions gets both.
pub(super) fn bind(call: &Call<'_>, request: &BindConnection, w: &mut Writer) -> Result<(), Fail> {
    let session = call.service.nfs4.sessions.named(&request.session)?;
    may_speak_for(call, &session.client)?;
    let direction = match request.direction {
        FORE => FORE,
        BACK => BACK,
        FORE_OR_BOTH | BACK_OR_BOTH => BOTH,
        _ => return Err(Status::INVAL.into()),
    };
    session.bind(call.origin, direction != FORE);
    session.client.renew();
    session.prove(call.service);
    BindConnection { session: session.id, direction, rdma: false }.encode(w);
    Ok(())
}

/// BACKCHANNEL_CTL: which program the server calls, and how. It identifies itself by AUTH_NONE or AUTH_SYS only.
pub(super) fn back_channel(compound: &Compound<'_>, request: &BackChannelControl) -> Result<(), Fail> {
    let sequenced = compound.sequenced.as_ref().ok_or(Status::OP_NOT_IN_SESSION)?;
    may_speak_for(compound.call, sequenced.client())?;
    if !request.security.is_usable() {
        return Err(Status::INVAL.into());
    }
    sequenced.session().back.change(request.program, request.security);
    Ok(())
}
