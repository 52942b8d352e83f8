//! The attributes of a file that another client may have changed in its cache: CB_GETATTR, RFC 7530 10.4.3 and RFC 8881 10.4.3.
//!
//! ```text
//! GETATTR, VERIFY, NVERIFY ─► a delegation to write of another client? ─► CB_GETATTR ─► its size; the server sets the times
//!                                                       └─ no answer in time, or a lease of SMB ─► recalled
//! ```

use std::sync::Arc;

use tokio::time::timeout;
use vfs::backend::Found;
use vfs::state::Cause;
use vfs::{Attributes as Facts, Caller, Plan, SetAttributes, SetTime};
use wire::Writer;

use super::attributes::{self, change};
use super::backchannel::CallbackOutcome;
use super::compound::Compound;
use super::delegations::{Delegation, call_back};
use super::fail::Fail;
use super::place::HandleTarget;
use crate::server::recalling::LIMIT;
use crate::server::v3::Target;
use crate::wire::v4::attributes::{CHANGE, SIZE, SPACE_USED, TIME_ACCESS, TIME_METADATA, TIME_MODIFY};
use crate::wire::v4::callbacks::{CachedAttributes, Callback};
use crate::wire::v4::types::{Bitmap, Fattr, Status};

/// The attributes that the holder of a delegation to write changes in its cache.
pub(super) const CACHED: &[u32] = &[CHANGE, SIZE, SPACE_USED, TIME_ACCESS, TIME_METADATA, TIME_MODIFY];

/// GETATTR.
pub(super) async fn get(compound: &mut Compound<'_>, wanted: &Bitmap, w: &mut Writer) -> Result<(), Fail> {
    let place = seen(compound, wanted).await?;
    Ok(attributes::put(compound.call, &place, wanted, w)?)
}

/// VERIFY and NVERIFY: fails unless the attributes are, or are not, the same.
pub(super) async fn compare(compound: &mut Compound<'_>, sent: &Fattr<'_>, wanted: bool) -> Result<(), Fail> {
    let place = seen(compound, &sent.which).await?;
    match (attributes::is_same(compound.call, &place, sent)?, wanted) {
        (true, false) => Err(Status::SAME.into()),
        (false, true) => Err(Status::NOT_SAME.into()),
        _ => Ok(()),
    }
}

/// The current place with its attributes as they are now, those in the cache of another client included.
async fn seen(compound: &mut Compound<'_>, wanted: &Bitmap) -> Result<Arc<HandleTarget>, Fail> {
    let place = compound.refreshed()?.clone();
    let HandleTarget::File(target) = &*place else { return Ok(place) };
    let (volume, file) = (&target.export.volume, target.found.object.id());
    let is_cached = CACHED.iter().any(|&number| wanted.has(number));
    if target.sidecar.is_some() || !is_cached || !volume.stateless().is_written_behind(&target.actor, file) {
        return Ok(place);
    }
    if let Some(now) = asked(compound, target).await {
        let found = Found { object: target.found.object.clone(), attributes: now };
        return Ok(Arc::new(HandleTarget::File(Box::new(target.sibling(found)))));
    }
    volume.permit(&target.actor, Plan::Look)?.recall(file, Cause::Read)?;
    let Some(fresh) = place.refreshed()? else { return Ok(place) };
    Ok(Arc::new(fresh))
}

/// Asks the client that has a delegation to write. `None`: no client has one, it is being recalled, or the client does not
/// answer in time.
async fn asked(compound: &Compound<'_>, target: &Target) -> Option<Facts> {
    let (service, file) = (compound.call.service.clone(), target.found.object.id());
    let (client, delegation) = service.nfs4.delegations.to_write(file, &target.named)?;
    if client.is_absent() || target.export.volume.stateless().is_recalling(file) {
        return None;
    }
    // In a task of its own: a call has its turn in a slot until it is answered.
    let asked = delegation.clone();
    let call =
        tokio::spawn(async move { call_back(&service, &client, Callback::GetAttr(asked.ask())).await });
    match timeout(LIMIT, call).await {
        Ok(Ok(CallbackOutcome::Attributes(known))) => merged(target, &delegation, known),
        _ => None,
    }
}

/// The attributes of the host with those of the client. What the client has changed is noted in the times of the file, so that
/// `change` differs from all that were told before. `None` if the client has given back its delegation meanwhile.
fn merged(target: &Target, delegation: &Delegation, known: CachedAttributes) -> Option<Facts> {
    let Target { found, export, .. } = target;
    let now = found.object.attributes().ok()?;
    if !delegation.is_held() {
        return None;
    }
    if known.size == now.size && [delegation.change, change(now.changed)].contains(&known.change) {
        return Some(now);
    }
    let by = delegation.acting(&Caller::root());
    let changes = SetAttributes { modified: SetTime::Now, ..SetAttributes::default() };
    let found = Found { object: found.object.clone(), attributes: now };
    let after = export.volume.set_attributes(&by, &found, &changes).ok()?.after;
    Some(Facts { size: known.size, ..after })
}
