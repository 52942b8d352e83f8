//! Moving and renaming, Apple Filing Protocol Reference, FPRename and FPMoveAndRename. A moved file
//! or folder keeps its number, and stays open.

use vfs::backend::{Found, RenameMode};
use vfs::mac::FileBits;
use vfs::{Error, names as any_names};

use super::{refuse_inhibited, to_change};
use crate::catalogue::CatalogId;
use crate::server::reply::{Outcome, Reply};
use crate::server::request::Request;
use crate::server::volumes::ids::EntryPlace;
use crate::server::volumes::names;
use crate::server::volumes::open_volume::OpenVolume;
use crate::server::volumes::target::is_folder;
use crate::wire::file::{MoveAndRename, Rename};
use crate::wire::path::Step;
use crate::wire::{Path, ResultCode};

/// FPRename.
pub(super) async fn rename(request: &Request) -> Outcome {
    let Rename { place, new_name } = Rename::decode(&mut request.reader())?;
    let (volume, target) = to_change(request, &place)?;
    let found = target.found()?;
    let at = target.place(&volume)?.ok_or(ResultCode::CANT_RENAME)?;
    let name = single(&new_name)?.ok_or(ResultCode::PARAM_ERROR)?;
    relocate(request, &volume, (found, at), &at.folder, Some((new_name.kind, name))).await
}

/// FPMoveAndRename.
pub(super) async fn move_and_rename(request: &Request) -> Outcome {
    let MoveAndRename { from, to_folder, to_path, new_name } = MoveAndRename::decode(&mut request.reader())?;
    let (volume, target) = to_change(request, &from)?;
    let found = target.found()?;
    let at = target.place(&volume)?.ok_or(ResultCode::CANT_MOVE)?;
    let to = volume.resolve(request.caller(), to_folder, &to_path)?;
    let name = single(&new_name)?.map(|name| (new_name.kind, name));
    relocate(request, &volume, (found, at), to.folder()?, name).await
}

/// The only name of a path; `None` if the path is empty.
pub(super) fn single<'a>(path: &Path<'a>) -> Result<Option<&'a [u8]>, ResultCode> {
    let mut steps = path.steps();
    match (steps.next(), steps.next()) {
        (None, _) => Ok(None),
        (Some(Step::Down(name)), None) => Ok(Some(name)),
        _ => Err(ResultCode::PARAM_ERROR),
    }
}

/// Moves a file or folder into a folder; without a new name it keeps its name.
async fn relocate(
    request: &Request,
    volume: &OpenVolume,
    (found, at): (&Found, &EntryPlace),
    to: &Found,
    new_name: Option<(u8, &[u8])>,
) -> Outcome {
    refuse_inhibited(volume, found, at, FileBits::RENAME_INHIBIT)?;
    let stays_in = to.object.key() == at.folder.object.key();
    let name = match new_name {
        Some((kind, sent)) => free_name(request, volume, (found, stays_in), to, (kind, sent))?,
        None => None,
    };
    let name = name.as_deref().unwrap_or(&at.name);
    if stays_in && name == at.name {
        return Ok(Reply::empty());
    }
    if new_name.is_none() {
        refuse_taken(request, volume, to, name)?;
    }
    let (actor, tree) = (request.actor(), volume.tree());
    let moved = volume
        .once_recalled(|| tree.rename(&actor, (&at.folder, &at.name), (to, name), RenameMode::Keep))
        .await;
    let (from, to_change) = moved.map_err(|error| match error {
        // The host's error when a folder is moved into itself, or into a folder below it.
        Error::Invalid if is_folder(found) => ResultCode::CANT_MOVE,
        Error::ShareConflict => ResultCode::FILE_BUSY,
        other => other.into(),
    })?;
    volume.share.changed.note(from.after.modified.max(to_change.after.modified));
    if is_folder(found) {
        volume.tree().saw(found.object.id(), &to.object, name);
    }
    Ok(Reply::empty())
}

/// The stored form of the new name; `None` if it is an equivalent form of the current name. Refused
/// if another entry has the name, also if the names differ only in case and the volume ignores
/// case.
fn free_name(
    request: &Request,
    volume: &OpenVolume,
    (found, stays_in): (&Found, bool),
    to: &Found,
    (kind, sent): (u8, &[u8]),
) -> Result<Option<Vec<u8>>, ResultCode> {
    let there = volume.entry(request.caller(), to, kind, sent)?;
    let Some(taken) = there.found else { return Ok(Some(there.name)) };
    if !stays_in || taken.object.key() != found.object.key() {
        return Err(ResultCode::OBJECT_EXISTS);
    }
    if any_names::parse_mangled(sent).map(CatalogId) == Some(volume.id_of(&found.object.key())?) {
        return Ok(None);
    }
    Ok(Some(volume.tree().stored_form(names::stored(kind, sent)?)))
}

/// Refuses a stored name that exists in the folder.
pub(super) fn refuse_taken(
    request: &Request,
    volume: &OpenVolume,
    folder: &Found,
    name: &[u8],
) -> Result<(), ResultCode> {
    match volume.tree().mac_tree().lookup_folded(request.caller(), folder, name, volume.share.folding()) {
        Ok(_) => Err(ResultCode::OBJECT_EXISTS),
        Err(Error::NotFound) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
