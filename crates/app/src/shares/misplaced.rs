//! Objects in the place of the server's own folders in a share, which cannot be used.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use admin::ShareSettings;
use vfs::{DistrustReason, Volume};

/// Logs objects in the place of the server's own folders in a share that cannot be used. Clients do
/// not see these, so only a local user can correct the problem.
pub(crate) fn warn(share: &ShareSettings, volume: &Volume) {
    let misplaced = match volume.own_folders().conflicts() {
        Ok(misplaced) => misplaced,
        Err(error) => {
            tracing::warn!(share = share.name, %error, "the server's own folders in the share cannot be looked at");
            return;
        }
    };
    for found in misplaced {
        let path = share.path.join(OsStr::from_bytes(found.name));
        let remedy = match found.why {
            DistrustReason::NotAFolder => "move it away",
            DistrustReason::OwnedBy(_) => {
                "give it and what is in it to the user of the server, or move it away"
            }
            DistrustReason::WritableByOthers(_) => {
                "look at what is in it, then take the right to write from group and others"
            }
        };
        tracing::warn!(
            "{} has a name of the server's own, but {}: it is not used. The share {} is served without {}. \
             To put it right, {remedy}.",
            path.display(),
            found.why,
            share.name,
            found.missing,
        );
    }
}
