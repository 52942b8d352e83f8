//! Delegations that outlive their files. A removal recalls them first, but a local program does not ask, and a client may be too
//! slow. Such a delegation protects nothing, and must not stand against the file that gets the number of the old one next:
//!
//! ```text
//! removed ─► another operation on the number ─► recall ─► is the file gone? ─► the lease ends at once, and the client is told
//!        └─► PUTFH by the holder: succeeds ─► DELEGRETURN: succeeds · anything else: STALE ─► the delegation is forgotten
//! ```

use std::sync::Arc;

use super::client::Client;
use super::compound::Compound;
use super::delegations::{Delegation, release};
use super::place::HandleTarget;
use crate::server::Service;
use crate::server::handle::HandleContent;
use crate::wire::v4::types::Status;

/// The current handle of a COMPOUND, if its file is gone: the client that has a delegation of the file.
pub(super) struct OrphanedDelegation {
    client: Arc<Client>,
    pub(super) delegation: Arc<Delegation>,
}

impl Drop for OrphanedDelegation {
    /// The client knows by now that the file is gone.
    fn drop(&mut self) {
        self.client.forget_delegation(&self.delegation);
    }
}

/// Whether the file of a delegation does not exist any more. One that a client has open exists.
pub(super) fn is_gone(service: &Service, delegation: &Delegation) -> bool {
    let HandleContent { tag, key, .. } = delegation.named;
    let Some(volume) = service.export_tagged(tag).map(|export| export.volume.clone()) else { return false };
    let is_gone = volume.lasting_key(&key).is_ok_and(|key| volume.is_gone(&key));
    is_gone && service.locks.file(tag, key).is_none()
}

/// PUTFH.
pub(super) fn put_handle(compound: &mut Compound<'_>, handle: &[u8]) -> Result<(), Status> {
    let place = HandleTarget::of(compound.call, handle);
    compound.gone = match &place {
        Err(Status::STALE) => held(compound, handle),
        _ => None,
    };
    if let Some(gone) = &compound.gone {
        release(compound.call.service, &gone.delegation);
        compound.current = None;
        return Ok(());
    }
    compound.current = Some(Arc::new(place?));
    Ok(())
}

/// The delegation of a file that is gone, if the client of the request has it.
fn held(compound: &Compound<'_>, handle: &[u8]) -> Option<OrphanedDelegation> {
    let call = compound.call;
    let client = match &compound.sequenced {
        Some(sequenced) => sequenced.client().clone(),
        None => call.service.nfs4.back.client_of(call.origin)?,
    };
    let delegation = client.delegation_named(&HandleContent::open(&call.service.secret, handle).ok()?)?;
    Some(OrphanedDelegation { client, delegation })
}
