//! RECLAIM_COMPLETE, FREE_STATEID, TEST_STATEID, and the requests for delegations that are not given: RFC 8881 18.38, 18.39,
//! 18.48, 18.49 and 18.51.

use std::sync::Arc;

use wire::Writer;

use super::Compound;
use super::client::Client;
use super::fail::Fail;
use super::locks::holds_ranges;
use super::opens::in_its_time;
use super::states::State;
use crate::wire::v4::sessions::{DelegationClaim, DirectoryDelegation, StateIds, WantDelegation};
use crate::wire::v4::types::{DelegationType, StateId, Status};
use crate::wire::xdr::{Encode, put_words};

/// OPEN4_SHARE_ACCESS_WANT_*: the bits that say which delegation a client wants.
pub(super) const WANT: u32 = 0xff00;
/// The bits that say when the client is told of a delegation that there is later.
pub(super) const WANT_LATER: u32 = 0x3_0000;
pub(super) const WANT_NOTHING_SAID: u32 = 0;
pub(super) const WANT_READ: u32 = 0x100;
pub(super) const WANT_ANY: u32 = 0x300;
const WANT_NONE: u32 = 0x400;
const WANT_CANCEL: u32 = 0x500;
/// why_no_delegation4.
const NOT_WANTED: u32 = 0;
const NO_RESOURCE: u32 = 2;
const CANCELLED: u32 = 7;
/// gddrnf4_status: GDD4_UNAVAIL.
const UNAVAILABLE: u32 = 1;

/// RECLAIM_COMPLETE: the client reclaims nothing more, in all file systems or in the current one.
pub(super) fn complete(compound: &Compound<'_>, one_file_system: bool) -> Result<(), Fail> {
    let client = own_client(compound)?;
    if one_file_system {
        compound.current()?;
        return Ok(()); // file systems do not move between servers here
    }
    if client.end_reclaiming() { Err(Status::COMPLETE_ALREADY.into()) } else { Ok(()) }
}

fn own_client<'a>(compound: &'a Compound<'_>) -> Result<&'a Arc<Client>, Status> {
    let sequenced = compound.sequenced.as_ref();
    sequenced.map(super::sequencing::Sequenced::client).ok_or(Status::OP_NOT_IN_SESSION)
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
        State::Closed(_) => Err(Status::BAD_STATEID.into()),
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
        State::Closed(_) => Err(Status::BAD_STATEID),
    }
}

/// Writes open_delegation4 for an OPEN or WANT_DELEGATION with these bits: none is given. A client that has said what it
/// wants learns why, RFC 8881 18.16.3.
pub(super) fn put_no_delegation(access: u32, w: &mut Writer) -> Result<(), Status> {
    let none = DelegationType::NONE_EXT.0;
    match access & WANT {
        WANT_NOTHING_SAID => DelegationType::NONE.encode(w),
        WANT_READ..=WANT_ANY => put_words(w, &[none, NO_RESOURCE, 0]), // the client is not told later
        WANT_NONE => put_words(w, &[none, NOT_WANTED]),
        WANT_CANCEL => put_words(w, &[none, CANCELLED]),
        _ => return Err(Status::INVAL),
    }
    Ok(())
}

/// WANT_DELEGATION.
pub(super) fn want(compound: &Compound<'_>, request: &WantDelegation, w: &mut Writer) -> Result<(), Fail> {
    compound.current()?;
    let service = compound.call.service;
    in_its_time(service, own_client(compound)?, matches!(request.claim, DelegationClaim::Previous(_)))?;
    match request.claim {
        DelegationClaim::PreviouslyDelegatedFile => Err(Status::NOTSUPP.into()),
        _ if request.want & !(WANT | WANT_LATER) != 0 || request.want & WANT == WANT_NOTHING_SAID => {
            Err(Status::INVAL.into())
        }
        _ => Ok(put_no_delegation(request.want, w)?),
    }
}

/// GET_DIR_DELEGATION: there is none now, and the client is not told later.
pub(super) fn want_directory(
    compound: &Compound<'_>,
    _: &DirectoryDelegation,
    w: &mut Writer,
) -> Result<(), Fail> {
    compound.current()?;
    put_words(w, &[UNAVAILABLE, 0]);
    Ok(())
}
