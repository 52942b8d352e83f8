use crate::server::rpc::Call;
use crate::wire::v3::getattr::{Request, Res, ResOk};
use crate::wire::v3::types::Fail;

/// GETATTR, RFC 1813 3.3.1.
pub(super) fn getattr(call: &Call<'_>, request: Request<'_>) -> Res {
    let target = call.target(&request.object).map_err(|status| Fail::new(status, ()))?;
    Ok(ResOk { attributes: target.fattr(&target.found.attributes) })
}
