//! RENAME, RFC 1813 3.3.14.

use vfs::Change;
use vfs::backend::RenameMode;

use super::target::{Target, entry_name};
use crate::server::call::Call;
use crate::wire::v3::rename::{Request, Res, ResFail, ResOk};
use crate::wire::v3::types::Status;

/// RENAME, RFC 1813 3.3.14.
pub(super) fn rename(call: &Call<'_>, request: &Request<'_>) -> Res {
    let from = call
        .target_to_change(&request.from.dir)
        .map_err(|fail| ResFail::new(fail.status, ResOk { from_dir_wcc: fail.body, ..Default::default() }))?;
    let to = match *request.to.dir == *request.from.dir {
        true => from.clone(),
        false => call.target_to_change(&request.to.dir).map_err(|fail| {
            ResFail::new(fail.status, ResOk { from_dir_wcc: from.wcc_now(), to_dir_wcc: fail.body })
        })?,
    };
    match moved(&from, &request.from.name, &to, &request.to.name) {
        Ok((source, target)) => Ok(ResOk { from_dir_wcc: from.wcc(&source), to_dir_wcc: to.wcc(&target) }),
        Err(status) => {
            let body = ResOk { from_dir_wcc: from.wcc_now(), to_dir_wcc: to.wcc_now() };
            Err(ResFail::new(status, body))
        }
    }
}

fn moved(from: &Target, name: &[u8], to: &Target, new_name: &[u8]) -> Result<(Change, Change), Status> {
    if from.export.tag != to.export.tag {
        return Err(Status::XDEV);
    }
    let (name, new_name) = (entry_name(name)?, entry_name(new_name)?);
    let volume = &from.export.volume;
    Ok(volume.rename(&from.actor, (&from.found, name), (&to.found, new_name), RenameMode::Replace)?)
}
