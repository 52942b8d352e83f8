use crate::server::call::Call;
use crate::wire::v3::getattr::{Request, Res, ResOk};
use crate::wire::v3::types::{Fail, Status};
use vfs::Plan;
use vfs::state::Cause;

/// GETATTR, RFC 1813 3.3.1. NFS clients rely on its answer when they open or lock a file. So
/// another client that may have data of the file in its cache must write them first.
pub(super) fn getattr(call: &Call<'_>, request: &Request<'_>) -> Res {
    let target = call.target(&request.object).map_err(|status| Fail::new(status, ()))?;
    if target.sidecar.is_none() {
        let (volume, id) = (&target.export.volume, target.found.object.id());
        let permitted = volume.permit(&target.actor, Plan::Look);
        let recalled = permitted.and_then(|permitted| permitted.recall(id, Cause::Read));
        recalled.map_err(|error| Fail::new(Status::from(error), ()))?;
    }
    Ok(ResOk { attributes: target.shown(&target.found.object, &target.found.attributes) })
}
