use wire::Writer;

use crate::server::rpc::Call;
use crate::wire::v3::readlink::{Request, ResFail, ResOk};
use crate::wire::v3::types::{Fail, Path};
use crate::wire::xdr::Encode;

/// READLINK, RFC 1813 3.3.5. Clients follow links. The server never does.
pub(super) fn readlink(call: &Call<'_>, request: Request<'_>, w: &mut Writer) {
    let target = match call.target(&request.symlink) {
        Ok(target) => target,
        Err(status) => return ResFail::new(status, None).encode(w),
    };
    match target.found.object.read_link() {
        Ok(path) => {
            let ok = ResOk { attributes: target.attributes(), data: Path::new(&path) };
            Ok::<_, ResFail>(ok).encode(w);
        }
        Err(error) => Fail::new(error.into(), target.attributes()).encode(w),
    }
}
