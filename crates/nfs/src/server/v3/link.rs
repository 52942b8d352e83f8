//! LINK, RFC 1813 3.3.15.

use vfs::Change;

use super::target::{Target, entry_name};
use crate::server::call::Call;
use crate::wire::v3::link::{Request, Res, ResFail, ResOk};
use crate::wire::v3::types::Status;

/// LINK, RFC 1813 3.3.15.
pub(super) fn link(call: &Call<'_>, request: &Request<'_>) -> Res {
    let file = call.target(&request.file)?;
    let folder = call.target_to_change(&request.link.dir).map_err(|fail| {
        ResFail::new(fail.status, ResOk { attributes: file.attributes(), link_dir_wcc: fail.body })
    })?;
    let linked = linked(&file, &folder, &request.link.name);
    let now = file.found.object.attributes().ok();
    let attributes = now.and_then(|now| file.current(&file.found.object, &now));
    match linked {
        Ok(change) => Ok(ResOk { attributes, link_dir_wcc: folder.wcc(&change) }),
        Err(status) => Err(ResFail::new(status, ResOk { attributes, link_dir_wcc: folder.wcc_now() })),
    }
}

fn linked(file: &Target, folder: &Target, name: &[u8]) -> Result<Change, Status> {
    if file.export.tag != folder.export.tag {
        return Err(Status::XDEV);
    }
    if file.is_locked()? {
        return Err(Status::PERM);
    }
    let volume = &file.export.volume;
    Ok(volume.link(&file.actor, &file.found, &folder.found, entry_name(name)?)?)
}
