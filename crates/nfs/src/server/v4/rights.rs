//! What users may do with the data of files: when they open one, and through an open of another user.

use vfs::Access;
use vfs::state::Modes;

use super::fail::Fail;
use crate::server::v3::Target;
use crate::wire::v4::types::Status;

/// The access of the host's file that an open needs.
pub(super) fn wanted(access: Modes) -> Access {
    let read = if access.intersects(Modes::READ) { Access::READ } else { Access::NONE };
    let write = if access.intersects(Modes::WRITE) { Access::WRITE } else { Access::NONE };
    read.union(write)
}

/// Whether the caller may use a file so. The mode does not limit the user who has just made the file.
pub(super) fn permit(target: &Target, access: Modes) -> Result<(), Fail> {
    let want = wanted(access);
    if want.contains(Access::WRITE) && !target.writable {
        return Err(Status::ROFS.into());
    }
    match target.export.volume.access(&target.actor.caller, &target.found, want)? {
        granted if granted.contains(want) => Ok(()),
        _ if runs(target, access)? => Ok(()),
        _ => Err(Status::ACCESS.into()),
    }
}

/// Whether this is to read a program that the user may run.
pub(super) fn runs(target: &Target, access: Modes) -> Result<bool, Fail> {
    let reads = access == Modes::READ && target.sidecar.is_none();
    Ok(reads && target.export.volume.stateless().may_run(&target.actor, &target.found)?)
}

/// A user that has not opened the file needs the right, as for READ and WRITE. The owner of the file always has it, unless the file
/// is in a team folder, and who may run a program may read it.
pub(super) fn permit_through(target: &Target, mode: Modes) -> Result<(), Fail> {
    let owns = target.actor.caller.uid == target.found.attributes.uid;
    let has_roles = || target.export.volume.roles_at(&target.found);
    if owns && has_roles()?.is_none() { Ok(()) } else { permit(target, mode) }
}
