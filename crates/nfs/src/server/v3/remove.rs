use vfs::Kind;

use super::target::entry_name;
use crate::server::call::Call;
use crate::wire::v3::remove::{Request, Res, ResOk};

/// REMOVE, RFC 1813 3.3.12.
pub(super) fn remove(call: &Call<'_>, request: &Request<'_>) -> Res {
    let folder = call.target_to_change(&request.object.dir)?;
    let name = entry_name(&request.object.name).map_err(|status| folder.fail(status))?;
    let removed = folder.export.volume.remove(&folder.actor, &folder.found, name, Kind::File);
    match removed {
        Ok(change) => Ok(ResOk { dir_wcc: folder.wcc(&change) }),
        Err(error) => Err(folder.fail(error)),
    }
}
