//! SETATTR, RFC 1813 3.3.2.

use super::target::{changes, nfs_time};
use crate::server::call::Call;
use crate::wire::v3::setattr::{Request, Res, ResOk};
use crate::wire::v3::types::Status;

/// SETATTR, RFC 1813 3.3.2. The guard compares with the time that the client was last shown, in the
/// precision of the wire.
pub(super) fn setattr(call: &Call<'_>, request: &Request<'_>) -> Res {
    let target = call.target_to_change(&request.object)?;
    let wanted = changes(&request.new_attributes).map_err(|status| target.fail(status))?;
    if request.guard.is_some_and(|guard| guard != nfs_time(target.found.attributes.changed)) {
        return Err(target.fail(Status::NOT_SYNC));
    }
    if !wanted.is_empty() && target.is_locked().map_err(|status| target.fail(status))? {
        return Err(target.fail(Status::PERM));
    }
    let volume = &target.export.volume;
    match volume.set_attributes(&target.actor, &target.found, &wanted) {
        Ok(change) => Ok(ResOk { wcc: target.wcc(&change) }),
        Err(error) => Err(target.fail(error)),
    }
}
