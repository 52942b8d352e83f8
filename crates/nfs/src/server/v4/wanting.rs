//! What a client hears of the delegation that it wants, and the two operations that ask for one without an OPEN:
//! WANT_DELEGATION and GET_DIR_DELEGATION, RFC 8881 18.16.3, 18.39 and 18.49.

use std::sync::Arc;

use vfs::state::Modes;
use vfs::{Actor, Beside, Kind, Open, OpenOptions};
use wire::Writer;

use super::client::Client;
use super::compound::Compound;
use super::data::file;
use super::delegations::{Delegation, Grant, Use, grant, grant_by};
use super::fail::Fail;
use super::notifying::{self, NoticeFilter, Watch};
use super::opens::in_its_time;
use super::place::HandleTarget;
use super::principal::Principal;
use super::pushing;
use super::reclaiming::{own_client, reclaimed};
use super::rights::permit;
use super::states::OpenState;
use crate::server::Service;
use crate::server::v3::Target;
use crate::wire::v4::opens::{self, Claim};
use crate::wire::v4::sessions::{DelegationClaim, DirectoryDelegation, WantDelegation};
use crate::wire::v4::types::{Bitmap, DelegationType, SHARE_WRITE, Status};
use crate::wire::xdr::{Encode, put_words};

/// OPEN4_SHARE_ACCESS_WANT_*: the bits that say which delegation a client wants.
pub(super) const WANT: u32 = 0xff00;
/// OPEN4_SHARE_ACCESS_WANT_SIGNAL_DELEG_WHEN_RESRC_AVAIL and _PUSH_DELEG_WHEN_UNCONTENDED: when the client is told of a
/// delegation that there is later.
pub(super) const WANT_SIGNAL: u32 = 0x1_0000;
pub(super) const WANT_PUSH: u32 = 0x2_0000;
pub(super) const WANT_LATER: u32 = WANT_SIGNAL | WANT_PUSH;
/// OPEN4_SHARE_ACCESS_WANT_DELEG_TIMESTAMPS and _OPEN_XOR_DELEGATION, RFC 9754: what a client understands. The server makes
/// no use of it.
pub(super) const HINTS: u32 = 0x30_0000;
const WANT_NOTHING_SAID: u32 = 0;
const WANT_READ: u32 = 0x100;
const WANT_WRITE: u32 = 0x200;
const WANT_ANY: u32 = 0x300;
const WANT_NONE: u32 = 0x400;
const WANT_CANCEL: u32 = 0x500;
/// gddrnf4_status: GDD4_OK and GDD4_UNAVAIL.
const GRANTED: u32 = 0;
const UNAVAILABLE: u32 = 1;

/// why_no_delegation4.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WhyNoDelegation {
    NotWanted = 0,
    /// Other clients use the file.
    Contention = 1,
    /// The server has none to give, or cannot recall it.
    NoResource = 2,
    /// Only files have delegations of this kind.
    NotOfThisType = 3,
    /// The client has one to read, and wants one to write.
    NoUpgrade = 5,
    NoDowngrade = 6,
    Cancelled = 7,
    IsFolder = 8,
}

/// Writes open_delegation4 for an OPEN or WANT_DELEGATION with these bits that gives none. A client that has said what it
/// wants learns why, and whether it `is_told` later, RFC 8881 18.16.3. INVAL: it wants something unknown.
pub(super) fn put_no_delegation(
    access: u32,
    why: WhyNoDelegation,
    is_told: bool,
    w: &mut Writer,
) -> Result<(), Status> {
    let why = match access & WANT {
        WANT_NOTHING_SAID => {
            DelegationType::NONE.encode(w);
            return Ok(());
        }
        WANT_READ..=WANT_ANY => why,
        WANT_NONE => WhyNoDelegation::NotWanted,
        WANT_CANCEL => WhyNoDelegation::Cancelled,
        _ => return Err(Status::INVAL),
    };
    put_words(w, &[DelegationType::NONE_EXT.0, why as u32]);
    if matches!(why, WhyNoDelegation::Contention | WhyNoDelegation::NoResource) {
        is_told.encode(w);
    }
    Ok(())
}

/// Whether a WANT_* is known: to be asked before anything is done.
pub(super) fn check_want(access: u32) -> Result<(), Status> {
    put_no_delegation(access, WhyNoDelegation::NotWanted, false, &mut Writer::new())
}

/// Writes open_delegation4 of an OPEN: a delegation if the client can get one and has not refused it, or reclaims it.
pub(super) fn put_delegation(
    compound: &Compound<'_>,
    client: &Arc<Client>,
    (open, target, at): (&Arc<OpenState>, &Target, Option<Beside<'_>>),
    request: &opens::OpenArgs<'_>,
    w: &mut Writer,
) -> Result<(), Status> {
    let service = compound.call.service;
    if let Claim::Previous(kind @ (DelegationType::READ | DelegationType::WRITE)) = request.claim {
        match reclaimed(compound, client, open, kind) {
            Ok((delegation, is_recalled)) => delegation.granted(is_recalled).encode(w),
            Err(why) => put_no_delegation(request.access, why, false, w)?,
        }
        return Ok(());
    }
    if request.access & WANT == WANT_CANCEL {
        service.nfs4.wishes.cancel(client, open.file);
    }
    let wanted = wanted(compound, client, request);
    let granted = wanted.and_then(|allows| {
        if !open.owner.is_confirmed() {
            return Err(WhyNoDelegation::NoResource); // RFC 7530 16.18.5
        }
        let (in_tree, wanted) = grant_by(open, allows)?;
        grant(service, client, (&in_tree, at), &wanted)
    });
    match (granted, wanted) {
        (Ok(delegation), _) => delegation.granted(false).encode(w),
        (Err(why), Ok(allows)) => {
            let is_told = pushing::wish(service, client, target, (allows, request.access), why);
            put_no_delegation(request.access, why, is_told, w)?;
        }
        (Err(why), Err(_)) => put_no_delegation(request.access, why, false, w)?,
    }
    Ok(())
}

/// Which delegation a client gets by this request, if it can get any.
fn wanted(
    compound: &Compound<'_>,
    client: &Client,
    request: &opens::OpenArgs<'_>,
) -> Result<Use, WhyNoDelegation> {
    if !compound.is_callable(client) {
        return Err(WhyNoDelegation::NoResource);
    }
    let opens_to_write = request.access & SHARE_WRITE != 0;
    let allows = match request.claim {
        Claim::Name(_) | Claim::File if opens_to_write => Use::Write,
        Claim::Name(_) | Claim::File => Use::Read,
        _ => return Err(WhyNoDelegation::NoResource),
    };
    match request.access & WANT {
        // Only this client could read a file that it has open for writing.
        WANT_READ if opens_to_write => Err(WhyNoDelegation::NoResource),
        WANT_NOTHING_SAID | WANT_READ..=WANT_ANY if request.deny == 0 => Ok(allows),
        _ => Err(WhyNoDelegation::NoResource),
    }
}

/// WANT_DELEGATION.
pub(super) async fn want(
    compound: &Compound<'_>,
    request: &WantDelegation,
    w: &mut Writer,
) -> Result<(), Fail> {
    let place = compound.current()?.clone();
    let (service, client) = (compound.call.service, own_client(compound)?.clone());
    let reclaims = matches!(request.claim, DelegationClaim::Previous(_));
    in_its_time(service, &client, reclaims)?;
    if !reclaims && service.monitor.is_common() && service.monitor.in_grace() {
        return Err(Status::GRACE.into());
    }
    let asked = request.want & WANT;
    if request.want & !(WANT | WANT_LATER) != 0 || asked == WANT_NOTHING_SAID {
        return Err(Status::INVAL.into());
    }
    check_want(request.want)?;
    let allows = match (request.claim, asked) {
        (DelegationClaim::PreviouslyDelegatedFile, _) => return Err(Status::NOTSUPP.into()),
        (_, WANT_NONE | WANT_CANCEL) => {
            if let (HandleTarget::File(target), WANT_CANCEL) = (&*place, asked) {
                service.nfs4.wishes.cancel(&client, target.found.object.id());
            }
            return Ok(put_no_delegation(request.want, WhyNoDelegation::NotWanted, false, w)?);
        }
        (DelegationClaim::Previous(DelegationType::WRITE), _) | (DelegationClaim::File, WANT_WRITE) => {
            Use::Write
        }
        _ => Use::Read,
    };
    if let Err(why) = of_type(&place, false) {
        return Ok(put_no_delegation(request.want, why, false, w)?);
    }
    let target = file(&place)?;
    match granted(compound, &client, target, allows).await? {
        Ok(delegation) => delegation.granted(false).encode(w),
        Err(why) => {
            let is_told = pushing::wish(service, &client, target, (allows, request.want), why);
            put_no_delegation(request.want, why, is_told, w)?;
        }
    }
    Ok(())
}

/// GET_DIR_DELEGATION. A client that asks for notices is told of changes of entries; otherwise they recall the delegation.
pub(super) async fn want_directory(
    compound: &Compound<'_>,
    request: &DirectoryDelegation,
    w: &mut Writer,
) -> Result<(), Fail> {
    let place = compound.current()?.clone();
    let client = own_client(compound)?.clone();
    let target = match &*place {
        HandleTarget::File(target) if of_type(&place, true).is_ok() => target,
        HandleTarget::File(_) | HandleTarget::Attributes(_) | HandleTarget::Attribute(_) => {
            return Err(Status::NOTDIR.into());
        }
        HandleTarget::Pseudo(_) => {
            put_words(w, &[UNAVAILABLE, 0]);
            return Ok(());
        }
    };
    let takes_notices = compound.sequenced.as_ref().is_some_and(|of| of.session().takes_notices());
    let wanted =
        NoticeFilter::of(&request.notifications, &request.child_attributes).filter(|_| takes_notices);
    // Nothing that happens after the grant is missed.
    let told = wanted.and_then(|wanted| Some((wanted, notifying::watch(&client, target)?)));
    let allows = if told.is_some() { Use::ToldFolder } else { Use::Folder };
    let Ok(delegation) = granted(compound, &client, target, allows).await? else {
        UNAVAILABLE.encode(w);
        (request.signal && compound.call.service.nfs4.wishes.signal(compound.call.service, &client))
            .encode(w);
        return Ok(());
    };
    GRANTED.encode(w);
    compound.call.service.verifier.encode(w); // of cookies, which stay good as long as this run
    delegation.stateid().encode(w);
    let (kinds, attributes) =
        told.as_ref().map(|(wanted, _)| (wanted.kinds, wanted.attributes)).unwrap_or_default();
    kinds.encode(w);
    attributes.encode(w);
    Bitmap::default().encode(w); // of the folder
    if let Some((wanted, watching)) = told {
        let (service, client) = (Arc::downgrade(compound.call.service), Arc::downgrade(&client));
        let volume = target.export.volume.clone();
        Watch { service, client, delegation, volume, wanted }.begin(watching);
    }
    Ok(())
}

/// Whether the place is a folder, or else a file, of a share.
fn of_type(place: &HandleTarget, is_folder: bool) -> Result<(), WhyNoDelegation> {
    let kind = match place {
        HandleTarget::Pseudo(_) => return Err(WhyNoDelegation::IsFolder),
        HandleTarget::Attributes(_) | HandleTarget::Attribute(_) => {
            return Err(WhyNoDelegation::NotOfThisType);
        }
        HandleTarget::File(target) if target.sidecar.is_some() => return Err(WhyNoDelegation::NotOfThisType),
        HandleTarget::File(target) => target.found.attributes.kind,
    };
    match kind {
        Kind::Folder if is_folder => Ok(()),
        Kind::File if !is_folder => Ok(()),
        Kind::Folder => Err(WhyNoDelegation::IsFolder),
        _ => Err(WhyNoDelegation::NotOfThisType),
    }
}

async fn granted(
    compound: &Compound<'_>,
    client: &Arc<Client>,
    target: &Target,
    allows: Use,
) -> Result<Result<Arc<Delegation>, WhyNoDelegation>, Fail> {
    match compound.is_callable(client) {
        true => {
            let holder = Some(Principal::of(compound.call));
            try_grant(compound.call.service, client, target, (allows, holder)).await
        }
        false => Ok(Err(WhyNoDelegation::NoResource)),
    }
}

/// Opens the file for the moment, if no other client has to give back anything for that, and grants a delegation.
pub(super) async fn try_grant(
    service: &Arc<Service>,
    client: &Arc<Client>,
    target: &Target,
    (allows, holder): (Use, Option<Principal>),
) -> Result<Result<Arc<Delegation>, WhyNoDelegation>, Fail> {
    let access = if allows == Use::Write { Modes::READ.union(Modes::WRITE) } else { Modes::READ };
    permit(target, access)?;
    let (volume, party) = (&target.export.volume, vfs::state::Party::client(client.party));
    let actor = Actor { party, ..target.actor.clone() };
    if volume.stateless().is_written_behind(&actor, target.found.object.id()) {
        return Ok(Err(WhyNoDelegation::Contention));
    }
    service.nfs4.records.record(client).await?;
    let options = OpenOptions { granted: true, ..OpenOptions::data(Modes::READ) };
    let open: Open = match volume.open(&actor, &target.found, options).await {
        Ok(open) => open,
        Err(vfs::Error::ShareConflict) => return Ok(Err(WhyNoDelegation::Contention)),
        Err(error) => return Err(error.into()),
    };
    let wanted = Grant { named: target.named, file: target.found.object.id(), party, allows, holder };
    Ok(grant(service, client, (&open, None), &wanted))
}
