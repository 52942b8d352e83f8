//! READLINK, RFC 1813 3.3.5.

use wire::Writer;

use super::put;
use crate::server::answer::Answer;
use crate::server::call::Call;
use crate::wire::v3::readlink::{Request, ResFail, ResOk};
use crate::wire::v3::types::{Fail, Path};

/// READLINK, RFC 1813 3.3.5. Clients follow links. The server never does.
pub(super) fn readlink(call: &Call<'_>, request: &Request<'_>, w: &mut Writer) -> Answer {
    let target = match call.target(&request.symlink) {
        Ok(target) => target,
        Err(status) => return put(w, &ResFail::from(status)),
    };
    match target.found.object.read_link() {
        Ok(path) => {
            let ok = ResOk { attributes: target.attributes(), data: Path::new(&path) };
            put(w, &Ok::<_, ResFail>(ok))
        }
        Err(error) => put(w, &Fail::new(error.into(), target.attributes())),
    }
}
