use crate::server::rpc::Call;
use crate::wire::v3::getattr::{Request, Res, ResOk};
use crate::wire::v3::types::{Fail, Status};
use vfs::state::Cause;

/// GETATTR, RFC 1813 3.3.1. NFS clients rely on its answer when they open or lock a file. So
/// another client that may have data of the file in its cache must write them first.
pub(super) fn getattr(call: &Call<'_>, request: Request<'_>) -> Res {
    let target = call.target(&request.object).map_err(|status| Fail::new(status, ()))?;
    if target.sidecar.is_none() {
        let recalled = target.export.volume.recall(&target.actor, target.found.object.id(), Cause::Read);
        recalled.map_err(|error| Fail::new(Status::from(error), ()))?;
    }
    Ok(ResOk { attributes: target.shown(&target.found.object, &target.found.attributes) })
}
