use vfs::Kind;

use super::target::entry_name;
use crate::server::call::Call;
use crate::wire::v3::rmdir::{Request, Res, ResOk};
use crate::wire::v3::types::Status;

/// RMDIR, RFC 1813 3.3.13: `.` is INVAL, `..` is EXIST.
pub(super) fn rmdir(call: &Call<'_>, request: &Request<'_>) -> Res {
    let folder = call.target_to_change(&request.object.dir)?;
    let name = match &*request.object.name {
        b".." => Err(Status::EXIST),
        name => entry_name(name),
    };
    let name = name.map_err(|status| folder.fail(status))?;
    match folder.export.volume.remove(&folder.actor, &folder.found, name, Kind::Folder) {
        Ok(change) => Ok(ResOk { dir_wcc: folder.wcc(&change) }),
        Err(error) => Err(folder.fail(error)),
    }
}
