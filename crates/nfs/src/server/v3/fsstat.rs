use crate::server::call::Call;
use crate::wire::v3::fsstat::{Request, Res, ResOk};
use crate::wire::v3::types::Fail;

/// FSSTAT, RFC 1813 3.3.18.
pub(super) fn fsstat(call: &Call<'_>, request: &Request<'_>) -> Res {
    let target = call.target(&request.root)?;
    let space = target.export.volume.space(&target.found.object);
    let space = space.map_err(|error| Fail::new(error.into(), target.attributes()))?;
    Ok(ResOk {
        attributes: target.attributes(),
        total_bytes: space.total,
        free_bytes: space.free,
        available_bytes: space.available,
        total_files: space.files,
        free_files: space.files_free,
        available_files: space.files_free,
        invarsec: 0,
    })
}
