//! SETCLIENTID, SETCLIENTID_CONFIRM and RENEW, RFC 7530 16.33, 16.34 and 16.28.

use std::sync::Arc;

use wire::Writer;

use super::calling::CallPath;
use super::clients::SetClientIdError;
use super::fail::Fail;
use super::names::{Callback, CallbackAddress, ClientConfirmation};
use super::principal::Principal;
use crate::server::Service;
use crate::server::call::Call;
use crate::wire::v4::clients::{ClientAddress, SetClientId, SetClientIdConfirm};
use crate::wire::v4::types::{NetId, Status, UniversalAddress};
use crate::wire::xdr::Encode;

/// SETCLIENTID.
pub(super) fn set_client_id(call: &Call<'_>, request: &SetClientId<'_>, w: &mut Writer) -> Result<(), Fail> {
    let ClientAddress { net, address } = request.callback;
    let place = CallbackAddress { net: net.to_vec(), address: address.to_vec() };
    let path = CallPath::to(&place, request.program, request.callback_ident, call.origin);
    let callback = Callback { place, path };
    let (name, verifier, principal) = (&*request.id, request.verifier, Principal::of(call));
    match call.service.nfs4.claim((name, verifier), principal, callback) {
        Ok((client, verifier)) => {
            SetClientIdConfirm { client, verifier }.encode(w);
            Ok(())
        }
        Err(SetClientIdError::Status(status)) => Err(status.into()),
        Err(SetClientIdError::InUse(CallbackAddress { net, address })) => {
            let mut body = Writer::new();
            let (net, address) = (NetId::new(&net), UniversalAddress::new(&address));
            ClientAddress { net, address }.encode(&mut body);
            Err(Fail::with(Status::CLID_INUSE, body.into_bytes()))
        }
    }
}

/// SETCLIENTID_CONFIRM. A client that has restarted loses what it held before.
pub(super) fn confirm(call: &Call<'_>, request: &SetClientIdConfirm) -> Result<(), Fail> {
    let service: &Arc<Service> = call.service;
    let confirm = || service.nfs4.confirm(request.client, request.verifier, Principal::of(call));
    let entered = match confirm() {
        Err(Status::RESOURCE) if service.end_most_silent() => confirm()?,
        done => done?,
    };
    if let Some(ClientConfirmation { client, former }) = entered {
        if let Some(former) = former {
            service.end_client(&former);
        }
        service.nfs4.back.note_client(call.origin, &client);
        if let Some(path) = client.call_path() {
            path.prove(service);
        }
    }
    service.watch_leases();
    Ok(())
}

/// RENEW: CB_PATH_DOWN tells a client with delegations that it cannot be called, RFC 7530 16.28.4.
pub(super) fn renew(call: &Call<'_>, id: u64) -> Result<(), Fail> {
    let client = call.service.nfs4.renew(id)?;
    call.service.nfs4.back.note_client(call.origin, &client);
    if client.is_callable() {
        return Ok(());
    }
    if let Some(path) = client.call_path() {
        path.prove(call.service);
    }
    if client.has_delegations() { Err(Status::CB_PATH_DOWN.into()) } else { Ok(()) }
}
