//! Files by their numbers, Apple Filing Protocol Reference, FPCreateID, FPResolveID, FPDeleteID.
//!
//! Every file has a permanent number; "creating" a number means that a client keeps it, as aliases
//! do. Then the number is also stored with the file, so that the file is found at once after a
//! restart.

use vfs::backend::Found;
use vfs::{Error, Kind};
use wire::Writer;

use super::ids::EntryPlace;
use super::open_volume::OpenVolume;
use super::target::Target;
use crate::catalogue::CatalogId;
use crate::server::config::Version;
use crate::server::files::params::{RequestedParameters, put_target};
use crate::server::reply::{Outcome, Reply};
use crate::server::request::Request;
use crate::wire::bitmap::DirBitmap;
use crate::wire::directory::OfPlace;
use crate::wire::id::{DeleteId, FileId, ResolveId};
use crate::wire::{ResultCode, command};

#[cfg(test)]
mod tests;

/// Runs a command of this family.
pub(in crate::server) async fn run(request: &Request) -> Outcome {
    match request.command {
        command::CREATE_ID => create(request),
        command::RESOLVE_ID => resolve(request),
        command::DELETE_ID => delete(request),
        _ => Err(ResultCode::CALL_NOT_SUPPORTED),
    }
}

/// FPCreateID. If the number was created before, the client gets an error with the number.
fn create(request: &Request) -> Outcome {
    let OfPlace { place } = OfPlace::decode(&mut request.reader())?;
    let volume = request.volume(place.volume)?;
    volume.may_change()?;
    let target = volume.resolve(request.caller(), place.folder, &place.path)?;
    target.file()?;
    let id = target.id(&volume)?;
    let is_new = volume.share.catalogue.kept_place(id)?.is_none();
    keep(&volume, id, target.place_below(&volume)?)?;
    let reply = Reply::encoded(|w| FileId(id.0).encode(w));
    if is_new { Ok(reply) } else { Ok(reply.with(ResultCode::ID_EXISTS)) }
}

/// FPResolveID: parameters of the file, wherever it is now.
fn resolve(request: &Request) -> Outcome {
    let ResolveId { volume, id, bitmap } = ResolveId::decode(&mut request.reader())?;
    let volume = request.volume(volume)?;
    let wanted = RequestedParameters { file: bitmap, dir: DirBitmap::empty() }.check(request.version())?;
    let target = reach(request, &volume, CatalogId(id)).map_err(|error| match error {
        ResultCode::OBJECT_NOT_FOUND => ResultCode::ID_NOT_FOUND,
        // The result before Mac OS X, and the one since.
        ResultCode::OBJECT_TYPE_ERROR if request.version() >= Version::V3_0 => ResultCode::ID_NOT_FOUND,
        other => other,
    })?;
    keep(&volume, CatalogId(id), target.place_below(&volume)?)?;
    let mut w = Writer::new();
    w.u16_be(bitmap.0);
    put_target(&volume, request.caller(), request.version(), &target, wanted, &mut w)?;
    Ok(Reply { head: w.into_bytes(), ..Reply::default() })
}

/// FPDeleteID: no client keeps the file's number any more. If the file has gone, its number is
/// removed, too. A number of a file outside the volume stays: other volumes may show that file.
fn delete(request: &Request) -> Outcome {
    let DeleteId { volume, id } = DeleteId::decode(&mut request.reader())?;
    let volume = request.volume(volume)?;
    volume.may_change()?;
    let (catalogue, id) = (&volume.share.catalogue, CatalogId(id));
    match reach(request, &volume, id) {
        Ok(_) => catalogue.forget_place(id)?,
        Err(ResultCode::OBJECT_NOT_FOUND) if !volume.forget_if_gone(id)? => {
            return Err(ResultCode::ID_NOT_FOUND);
        }
        Err(other) => return Err(other),
    }
    Ok(Reply::empty())
}

fn keep(volume: &OpenVolume, id: CatalogId, at: &EntryPlace) -> Result<(), ResultCode> {
    let folder = volume.id_everywhere(&at.folder.object.key())?;
    Ok(volume.share.catalogue.keep_place(id, folder, &at.name)?)
}

/// The file with a number, for a caller that may traverse its folder. `ID_NOT_FOUND`: the number
/// never existed, or was removed. `OBJECT_NOT_FOUND`: the file has gone, or is outside the volume.
fn reach(request: &Request, volume: &OpenVolume, id: CatalogId) -> Result<Target, ResultCode> {
    if id != CatalogId::ROOT && volume.share.catalogue.resolve(id)?.is_none() {
        return Err(ResultCode::ID_NOT_FOUND);
    }
    volume.with_id(id, |found| place(request, volume, id, &found))
}

fn place(request: &Request, volume: &OpenVolume, id: CatalogId, found: &Found) -> Result<Target, ResultCode> {
    let tree = volume.tree();
    if found.attributes.kind == Kind::Folder {
        volume.check_inside(found)?;
        return Err(ResultCode::OBJECT_TYPE_ERROR);
    }
    let kept = volume.share.catalogue.kept_place(id)?;
    if let Some(kept) = kept
        && let Ok(folder) = volume.found(kept.folder)
    {
        tree.saw(found.object.id(), &folder.object, &kept.name);
    }
    let (folder, name) = tree.place_of(found)?;
    volume.may_reach(request.caller(), &folder)?;
    let entry = tree.lookup(request.caller(), &folder.object, &name)?;
    if entry.object.key() != found.object.key() {
        return Err(Error::Stale.into()); // it has just been moved
    }
    Ok(Target::at(entry, Some(EntryPlace { folder, name })))
}
