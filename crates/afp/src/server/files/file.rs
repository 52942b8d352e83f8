//! Files, and operations on both files and folders: Apple Filing Protocol Reference,
//! FPGetFileDirParms, FPCreateFile, FPDelete. Moving, copying and exchanging have their own files.

use std::sync::Arc;

use vfs::acl::NewPermissions;
use vfs::backend::{Found, NewKind};
use vfs::mac::FileBits;
use vfs::state::Cause;
use vfs::{Beside, Error, Kind, PermittedActor, Plan};
use wire::Writer;

use super::params::{RequestedParameters, put_target};
use super::{rights, set_parameters};
use crate::server::reply::{Outcome, Reply};
use crate::server::request::Request;
use crate::server::volumes::ids;
use crate::server::volumes::open_volume::OpenVolume;
use crate::server::volumes::target::{Target, is_folder, refuse_above};
use crate::wire::directory::{OfPlace, Place};
use crate::wire::file::{CreateFile, FileDirParms, GetFileDirParms};
use crate::wire::{DirBitmap, FileBitmap, ResultCode, command};

mod copying;
mod exchanging;
mod moving;
#[cfg(test)]
mod tests;

/// The most permissions of a new file; the folder may restrict them.
const FILE_MODE: u32 = 0o666;

/// Runs a command of this family.
pub(in crate::server) async fn run(request: &Request) -> Outcome {
    match request.command {
        command::GET_FILE_DIR_PARMS => parameters(request),
        command::SET_FILE_DIR_PARMS | command::SET_FILE_PARMS => set_parameters::run(request).await,
        command::CREATE_FILE => create(request).await,
        command::DELETE => delete(request).await,
        command::RENAME => moving::rename(request).await,
        command::MOVE_AND_RENAME => moving::move_and_rename(request).await,
        command::COPY_FILE => copying::copy(request).await,
        command::EXCHANGE_FILES => exchanging::exchange(request).await,
        _ => Err(ResultCode::CALL_NOT_SUPPORTED),
    }
}

/// FPGetFileDirParms.
fn parameters(request: &Request) -> Outcome {
    let GetFileDirParms { place, files, folders } = GetFileDirParms::decode(&mut request.reader())?;
    let volume = request.volume(place.volume)?;
    let target = volume.resolve(request.caller(), place.folder, &place.path)?;
    let is_folder = is_folder(target.found()?);
    // The other bitmap is ignored.
    let wanted = match is_folder {
        true => RequestedParameters { file: FileBitmap::empty(), dir: folders },
        false => RequestedParameters { file: files, dir: DirBitmap::empty() },
    };
    let wanted = wanted.check(request.version())?;
    let mut w = Writer::new();
    FileDirParms { files, folders, is_folder, parameters: &[] }.encode(&mut w);
    put_target(&volume, request.caller(), request.version(), &target, wanted, &mut w)?;
    Ok(Reply { head: w.into_bytes(), ..Reply::default() })
}

/// FPCreateFile. A hard create replaces an existing file, unless it is open or may not be removed.
async fn create(request: &Request) -> Outcome {
    let CreateFile { is_hard, place } = CreateFile::decode(&mut request.reader())?;
    refuse_above(place.folder, &place.path)?;
    let (volume, target) = to_change(request, &place)?;
    if let Some(there) = target.existing() {
        if is_folder(there) {
            return Err(ResultCode::OBJECT_TYPE_ERROR);
        }
        if !is_hard {
            return Err(ResultCode::OBJECT_EXISTS);
        }
        remove(request, &volume, &target).await?;
    }
    let at = target.place_below(&volume)?;
    let actor = request.actor();
    let tree = volume.tree();
    let mode = rights::mode_in(&at.folder, FILE_MODE);
    let new = NewPermissions { mode, ..NewPermissions::default() };
    let make = || tree.create_with_permissions(&actor, &at.folder, &at.name, NewKind::File, &new);
    let made = volume.once_recalled(make).await?;
    tree.mac_tree().give_header(&made, Beside { folder: &at.folder.object, name: &at.name });
    volume.share.changed.note(made.attributes.changed); // the folder has changed at the same moment
    Ok(Reply::empty())
}

/// FPDelete.
async fn delete(request: &Request) -> Outcome {
    let OfPlace { place } = OfPlace::decode(&mut request.reader())?;
    let (volume, target) = to_change(request, &place)?;
    remove(request, &volume, &target).await?;
    Ok(Reply::empty())
}

/// The volume and the target of the path, for a command that changes the target.
pub(in crate::server) fn to_change(
    request: &Request,
    place: &Place<'_>,
) -> Result<(Arc<OpenVolume>, Target), ResultCode> {
    let volume = request.volume(place.volume)?;
    volume.may_change()?;
    let target = volume.resolve(request.caller(), place.folder, &place.path)?;
    Ok((volume, target))
}

/// Removes a file that no client has open, or an empty folder. Its number is never used again.
async fn remove(request: &Request, volume: &OpenVolume, target: &Target) -> Result<(), ResultCode> {
    let found = target.found()?;
    let at = target.place_below(volume)?;
    refuse_inhibited(volume, found, at, FileBits::DELETE_INHIBIT)?;
    let (actor, tree) = (request.actor(), volume.tree());
    let permitted = tree.permit(&actor, Plan::Remove(&at.folder, &at.name, found))?;
    // What others have of it may make this request wait: then another file may be there.
    let mut known = Some(found).filter(|found| tree.state().quiet(found.object.id()));
    refuse_open(request, volume, found, &permitted).await?;
    let kind = if is_folder(found) { Kind::Folder } else { Kind::File };
    let gone = volume.once_recalled(|| match known.take() {
        Some(found) => tree.remove_found(&actor, (&at.folder, &at.name), found, kind),
        None => tree.remove(&actor, &at.folder, &at.name, kind),
    });
    let gone = gone.await;
    let gone = gone.map_err(|error| match error {
        Error::ShareConflict => ResultCode::FILE_BUSY,
        other => other.into(),
    })?;
    volume.share.changed.note(gone.after.modified);
    if is_folder(found) || found.attributes.links <= 1 {
        volume.forget_id(&found.object.key())?;
    }
    Ok(())
}

/// Refuses the operation if one of the attributes forbids it.
fn refuse_inhibited(
    volume: &OpenVolume,
    found: &Found,
    at: &ids::EntryPlace,
    bit: FileBits,
) -> Result<(), ResultCode> {
    let (tree, place) = (volume.tree(), Some(at.beside()));
    // What only the mode says binds writing: a folder's rights decide on its entries.
    let metadata = match bit {
        FileBits::WRITE_INHIBIT => tree.metadata(found, place)?,
        _ => tree.mac_tree().stored_metadata(found, place)?.unwrap_or_default(),
    };
    let bits = if is_folder(found) { metadata.bits } else { metadata.shown_bits() };
    if bits.contains(bit) { Err(ResultCode::OBJECT_LOCKED) } else { Ok(()) }
}

/// Refuses a file that another client has open and does not close on request.
async fn refuse_open(
    request: &Request,
    volume: &OpenVolume,
    found: &Found,
    by: &PermittedActor<'_>,
) -> Result<(), ResultCode> {
    let (tree, id) = (volume.tree(), found.object.id());
    if is_folder(found) || tree.state().quiet(id) {
        return Ok(());
    }
    let is_in_use = || {
        by.recall(id, Cause::Remove)?;
        tree.state().is_in_use(id, request.session.client)
    };
    if volume.once_recalled(is_in_use).await? { Err(ResultCode::FILE_BUSY) } else { Ok(()) }
}
