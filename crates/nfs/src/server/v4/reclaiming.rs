//! RECLAIM_COMPLETE, FREE_STATEID and TEST_STATEID, RFC 8881 18.38, 18.48 and 18.51, and delegations from before a restart.

use std::sync::Arc;

use wire::Writer;

use super::attributes::change;
use super::client::Client;
use super::compound::Compound;
use super::delegations::{Delegation, Use, grant, grant_by};
use super::fail::Fail;
use super::locks::holds_ranges;
use super::states::{OpenState, State};
use super::wanting::WhyNoDelegation;
use crate::wire::v4::sessions::StateIds;
use crate::wire::v4::types::{DelegationType, StateId, Status};
use crate::wire::xdr::Encode;

/// RECLAIM_COMPLETE: the client reclaims nothing more, in all file systems or in the current one.
pub(super) fn complete(compound: &Compound<'_>, one_file_system: bool) -> Result<(), Fail> {
    let client = own_client(compound)?;
    if one_file_system {
        compound.current()?;
        return Ok(()); // file systems do not move between servers here
    }
    let service = compound.call.service;
    if service.monitor.is_common() && service.nfs4.records.has_reclaimed(&client.name) {
        service.monitor.has_reclaimed(&client.name);
        client.end_reclaiming();
        return Ok(()); // also if it was known here before its server was lost
    }
    if client.end_reclaiming() { Err(Status::COMPLETE_ALREADY.into()) } else { Ok(()) }
}

pub(super) fn own_client<'a>(compound: &'a Compound<'_>) -> Result<&'a Arc<Client>, Status> {
    let sequenced = compound.sequenced.as_ref();
    sequenced.map(super::sessions::SequencedCompound::client).ok_or(Status::OP_NOT_IN_SESSION)
}

/// FREE_STATEID: forgets the locks of an owner by an open, if none is left. An open is closed instead.
pub(super) fn free(compound: &Compound<'_>, state: &StateId) -> Result<(), Fail> {
    let sent = compound.sent(state);
    let (client, found) = compound.state(&sent)?;
    match found {
        State::Open(open) => {
            open.sequence.check(sent.sequence)?;
            Err(Status::LOCKS_HELD.into())
        }
        State::Lock(locks) => {
            locks.sequence.check(sent.sequence)?;
            Ok(client.free(&locks, || !holds_ranges(&locks))?)
        }
        State::Delegation(delegation) => Ok(super::delegations::free(&client, &delegation)?),
        State::Copy(_) | State::Closed(_) => Err(Status::BAD_STATEID.into()),
    }
}

/// TEST_STATEID: what each stateid is worth.
pub(super) fn test(compound: &Compound<'_>, states: &StateIds<'_>, w: &mut Writer) {
    (states.iter().len() as u32).encode(w); // at most TESTED_LIMIT
    for state in states.iter() {
        tested(compound, &state).err().unwrap_or(Status::OK).encode(w);
    }
}

fn tested(compound: &Compound<'_>, state: &StateId) -> Result<(), Status> {
    // The current stateid and the others with a meaning of their own cannot be tested, RFC 8881 18.48.3.
    if state.is_special() {
        return Err(Status::BAD_STATEID);
    }
    let sent = compound.sent(state);
    match compound.state(&sent)?.1 {
        State::Open(open) => open.sequence.check(sent.sequence),
        State::Lock(locks) => locks.sequence.check(sent.sequence),
        State::Delegation(delegation) => delegation.check(sent.sequence),
        State::Copy(_) => super::copying::AsyncCopy::check(sent.sequence),
        State::Closed(_) => Err(Status::BAD_STATEID),
    }
}

/// A delegation from before a restart, RFC 7530 10.2.1. The client gets it in any case: the opens and locks in its cache are
/// known to it alone, and Linux's client would forget them if it were refused. `true`: it has to return it now, because the
/// server cannot call it yet, or because another client uses the file by now.
pub(super) fn reclaimed(
    compound: &Compound<'_>,
    client: &Arc<Client>,
    open: &Arc<OpenState>,
    kind: DelegationType,
) -> Result<(Arc<Delegation>, bool), WhyNoDelegation> {
    let allows = if kind == DelegationType::WRITE { Use::Write } else { Use::Read };
    let (in_tree, wanted) = grant_by(open, allows)?;
    let service = compound.call.service;
    if let Some(held) = client.delegation_of(open.file, &open.named.key).filter(|held| held.allows == allows)
    {
        return Ok((held, !compound.is_callable(client)));
    }
    match grant(service, client, (&in_tree, None), &wanted) {
        Ok(delegation) => Ok((delegation, !compound.is_callable(client))),
        Err(_) => {
            let change = change(in_tree.attributes().map_err(|_| WhyNoDelegation::NoResource)?.changed);
            let handle = wanted.named.seal(&service.secret).as_bytes().to_vec();
            let made = client.add_delegation(|numbers| wanted.delegation(numbers, change, handle, None));
            Ok((made.map_err(|_| WhyNoDelegation::NoResource)?, true))
        }
    }
}
