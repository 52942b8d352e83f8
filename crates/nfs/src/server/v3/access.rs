//! ACCESS, RFC 1813 3.3.4.

use vfs::{Access, Kind};

use crate::server::call::Call;
use crate::wire::v3::access::{self as bits, Request, Res, ResOk};
use crate::wire::v3::types::Fail;

/// ACCESS, RFC 1813 3.3.4: the rights that the caller has, of those that it asks for.
pub(super) fn access(call: &Call<'_>, request: &Request<'_>) -> Res {
    let target = call.target(&request.object)?;
    let all = Access::READ.union(Access::WRITE).union(Access::EXECUTE);
    let granted = target.export.volume.access(&target.actor.caller, &target.found, all);
    let granted = granted.map_err(|error| Fail::new(error.into(), target.attributes()))?;
    let folder = target.found.attributes.kind == Kind::Folder;
    let mut access = 0;
    if granted.contains(Access::READ) {
        access |= bits::READ;
    }
    let is_locked = target.is_locked().map_err(|status| Fail::new(status, target.attributes()))?;
    if granted.contains(Access::WRITE) && target.writable && !is_locked {
        access |= bits::MODIFY | bits::EXTEND | if folder { bits::DELETE } else { 0 };
    }
    if granted.contains(Access::EXECUTE) {
        access |= if folder { bits::LOOKUP } else { bits::EXECUTE };
    }
    Ok(ResOk { attributes: target.attributes(), access: access & request.access })
}
