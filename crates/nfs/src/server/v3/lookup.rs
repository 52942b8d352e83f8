//! LOOKUP, RFC 1813 3.3.3.

use wire::Writer;

use super::put;
use super::target::{Target, entry_name};
use crate::server::answer::Answer;
use crate::server::call::Call;
use crate::server::handle::{HandleView, SealedHandle};
use crate::wire::v3::lookup::{Request, ResFail, ResOk};
use crate::wire::v3::types::{Fail, Fattr3, FileHandle, Status};
use vfs::{Kind, LookupResult};

/// LOOKUP, RFC 1813 3.3.3. `.` and `..` are the folder and its parent; the share's folder is its own parent.
pub(super) fn lookup(call: &Call<'_>, request: &Request<'_>, w: &mut Writer) -> Answer {
    let folder = match call.target(&request.what.dir) {
        Ok(folder) => folder,
        Err(status) => return put(w, &ResFail::from(status)),
    };
    match find(call, &folder, &request.what.name) {
        Ok((handle, attributes)) => {
            let ok = ResOk {
                object: FileHandle::new(handle.as_bytes()),
                attributes,
                dir_attributes: folder.attributes(),
            };
            put(w, &Ok::<_, ResFail>(ok))
        }
        Err(status) => put(w, &Fail::new(status, folder.attributes())),
    }
}

/// The handle of an entry of a folder, and the attributes if they are current.
fn find(call: &Call<'_>, folder: &Target, name: &[u8]) -> Result<(SealedHandle, Option<Fattr3>), Status> {
    match look(folder, name)? {
        LookupResult::File(found) => {
            let attributes = folder.current(&found.object, &found.attributes);
            Ok((call.seal(folder, &found), attributes))
        }
        LookupResult::Sidecar(sidecar) => {
            let handle = call.seal_view(folder, HandleView::Sidecar, sidecar.owner.key());
            Ok((handle, Some(folder.fattr(&sidecar.attributes))))
        }
    }
}

/// An entry of a folder, the folder itself, or its parent.
pub(in crate::server) fn look(folder: &Target, name: &[u8]) -> Result<LookupResult, Status> {
    let volume = &folder.export.volume;
    if folder.found.attributes.kind != Kind::Folder {
        return Err(Status::NOTDIR);
    }
    Ok(match name {
        b"." => LookupResult::File(folder.found.clone()),
        b".." => LookupResult::File(volume.parent(&folder.found)?),
        name => volume.stateless().look(&folder.actor.caller, &folder.found, entry_name(name)?)?,
    })
}
