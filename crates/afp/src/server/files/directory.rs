//! Folders, Apple Filing Protocol Reference, FPCreateDir, FPOpenDir, FPCloseDir, FPSetDirParms. The
//! numbers of folders are permanent (as the volume's signature says), so opening and closing do
//! nothing.

use vfs::backend::NewKind;
use vfs::{Access, Beside};

use super::file::to_change;
use super::{rights, set_parameters};
use crate::server::reply::{Outcome, Reply};
use crate::server::request::Request;
use crate::server::volumes::target::refuse_above;
use crate::wire::directory::{CloseDir, DirId, OfPlace};
use crate::wire::{ResultCode, command};

/// The most permissions of a new folder; the folder above may restrict them.
const FOLDER_MODE: u32 = 0o777;

/// Runs a command of this family.
pub(in crate::server) async fn run(request: &Request) -> Outcome {
    match request.command {
        command::CREATE_DIR => create(request).await,
        command::OPEN_DIR => open(request),
        command::CLOSE_DIR => close(request),
        command::SET_DIR_PARMS => set_parameters::run(request).await,
        _ => Err(ResultCode::CALL_NOT_SUPPORTED),
    }
}

/// FPCreateDir.
async fn create(request: &Request) -> Outcome {
    let OfPlace { place } = OfPlace::decode(&mut request.reader())?;
    refuse_above(place.folder, &place.path)?;
    let (volume, target) = to_change(request, &place)?;
    if target.existing().is_some() {
        return Err(ResultCode::OBJECT_EXISTS);
    }
    let at = target.place_below(&volume)?;
    let (actor, tree) = (request.actor(), volume.tree());
    let mode = rights::mode_in(&at.folder, FOLDER_MODE);
    let made =
        volume.once_recalled(|| tree.create(&actor, &at.folder, &at.name, NewKind::Folder, mode)).await?;
    tree.mac_tree().give_header(&made.found, Beside { folder: &at.folder.object, name: &at.name });
    volume.share.changed.note(made.folder.after.modified);
    let id = volume.id_of(&made.found.object.key())?;
    tree.saw(made.found.object.id(), &at.folder.object, &at.name);
    Ok(Reply::encoded(|w| DirId(id.0).encode(w)))
}

/// FPOpenDir: the folder's number, for callers that may traverse it.
fn open(request: &Request) -> Outcome {
    let OfPlace { place } = OfPlace::decode(&mut request.reader())?;
    let volume = request.volume(place.volume)?;
    refuse_above(place.folder, &place.path)?;
    let target = volume.resolve(request.caller(), place.folder, &place.path)?;
    let folder = target.folder()?;
    if !volume.tree().access(request.caller(), folder, Access::EXECUTE)?.contains(Access::EXECUTE) {
        return Err(ResultCode::ACCESS_DENIED);
    }
    let id = target.id(&volume)?;
    if let Some(at) = target.place(&volume)? {
        volume.tree().saw(folder.object.id(), &at.folder.object, &at.name);
    }
    Ok(Reply::encoded(|w| DirId(id.0).encode(w)))
}

/// FPCloseDir.
fn close(request: &Request) -> Outcome {
    let CloseDir { volume, .. } = CloseDir::decode(&mut request.reader())?;
    request.volume(volume)?;
    Ok(Reply::empty())
}
