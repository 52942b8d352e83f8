//! CREATE, REMOVE, RENAME, LINK and SETATTR, RFC 7530 16.4, 16.26, 16.27, 16.9 and 16.32.

use std::sync::Arc;

use vfs::backend::{NewKind, RenameMode};
use vfs::state::Modes;
use vfs::{Actor, Error, Kind};
use wire::Writer;

use super::compound::Compound;
use super::data::{actor, changeable, file};
use super::fail::Fail;
use super::place::{HandleTarget, checked};
use super::setting;
use crate::server::v3::Target;
use crate::wire::v4::files::{Rename, SetAttr};
use crate::wire::v4::opens::{Create, CreateType};
use crate::wire::v4::types::{Bitmap, FileType, Name, Status};
use crate::wire::xdr::Encode;

/// The longest text of a link (PATH_MAX of Linux less its NUL).
const LONGEST_LINK: usize = 4095;

/// CREATE: everything that is no file.
pub(super) fn create(compound: &mut Compound<'_>, request: &Create<'_>, w: &mut Writer) -> Result<(), Fail> {
    let current = compound.refreshed()?.clone();
    let is_known = !matches!(request.kind, CreateType::Other(kind) if ![FileType::DIR, FileType::SOCK, FileType::FIFO].contains(&kind));
    if !is_known {
        return Err(Status::BADTYPE.into());
    }
    let folder = current.folder()?;
    let name = checked(&request.name)?;
    let mut wanted = setting::wanted(compound.minor, &compound.call.naming(), &request.attributes)?;
    let (new, mode) = match &request.kind {
        CreateType::Link(text) => {
            check_link(text)?;
            // Links have no mode of their own on this host.
            wanted = wanted.of_link();
            (NewKind::Link(text), 0o777)
        }
        CreateType::BlockDevice(..) | CreateType::CharDevice(..) if !folder.export.options.device_nodes => {
            return Err(Status::PERM.into());
        }
        CreateType::BlockDevice(major, minor) => (NewKind::BlockDevice(*major, *minor), 0o644),
        CreateType::CharDevice(major, minor) => (NewKind::CharDevice(*major, *minor), 0o644),
        CreateType::Other(FileType::DIR) => (NewKind::Folder, 0o755),
        CreateType::Other(FileType::SOCK) => (NewKind::Socket, 0o644),
        CreateType::Other(_) => (NewKind::Fifo, 0o644),
    };
    let made = setting::make(folder, name, new, &wanted, mode)?;
    made.change.encode(w);
    wanted.set.encode(w);
    compound.current = Some(Arc::new(HandleTarget::File(Box::new(folder.sibling(made.found)))));
    Ok(())
}

fn check_link(text: &[u8]) -> Result<(), Status> {
    match text {
        b"" => Err(Status::INVAL),
        _ if text.contains(&0) => Err(Status::INVAL),
        _ if text.len() > LONGEST_LINK => Err(Status::NAMETOOLONG),
        _ => Ok(()),
    }
}

/// REMOVE: a file or an empty folder.
pub(super) fn remove(compound: &mut Compound<'_>, name: &Name<'_>, w: &mut Writer) -> Result<(), Fail> {
    let current = compound.refreshed()?;
    let folder = current.folder()?;
    let name = checked(name)?;
    let volume = &folder.export.volume;
    let removed = match volume.remove(&folder.actor, &folder.found, name, Kind::File) {
        Err(Error::IsFolder) => volume.remove(&folder.actor, &folder.found, name, Kind::Folder),
        removed => removed,
    };
    let change = removed.map_err(|error| Fail::from(error).denied_as(Status::FILE_OPEN))?;
    setting::info(&change).encode(w);
    Ok(())
}

/// RENAME: from the saved folder to the current one.
pub(super) fn rename(compound: &mut Compound<'_>, request: &Rename<'_>, w: &mut Writer) -> Result<(), Fail> {
    let (saved, current) = (compound.saved()?.clone(), compound.refreshed()?.clone());
    let saved = if compound.changed { saved.refreshed()?.map_or(saved, Arc::new) } else { saved };
    let (from, to) = (saved.folder()?, current.folder()?);
    let (name, new_name) = (checked(&request.from)?, checked(&request.to)?);
    if from.export.tag != to.export.tag {
        return Err(Status::XDEV.into());
    }
    let volume = &from.export.volume;
    let renamed = volume.rename(&from.actor, (&from.found, name), (&to.found, new_name), RenameMode::Replace);
    let (source, target) = renamed.map_err(|error| match error {
        // RFC 7530 16.27.4: a target of another kind exists. So does a full folder, but Linux shows NOTEMPTY as the error that
        // programs expect.
        Error::IsFolder | Error::NotFolder => Fail::from(Status::EXIST),
        error => Fail::from(error).denied_as(Status::FILE_OPEN),
    })?;
    setting::info(&source).encode(w);
    setting::info(&target).encode(w);
    Ok(())
}

/// LINK: another name, in the current folder, of the saved file.
pub(super) fn link(compound: &mut Compound<'_>, name: &Name<'_>, w: &mut Writer) -> Result<(), Fail> {
    let (saved, current) = (compound.saved()?.clone(), compound.refreshed()?);
    let (source, folder) = (linkable(&saved)?, current.folder()?);
    let name = checked(name)?;
    if source.export.tag != folder.export.tag {
        return Err(Status::XDEV.into());
    }
    if source.is_locked()? {
        return Err(Status::PERM.into());
    }
    let change = folder.export.volume.link(&folder.actor, &source.found, &folder.found, name)?;
    setting::info(&change).encode(w);
    Ok(())
}

fn linkable(place: &HandleTarget) -> Result<&Target, Status> {
    match place {
        HandleTarget::Pseudo(_) | HandleTarget::Attributes(_) => Err(Status::ISDIR),
        HandleTarget::Attribute(_) => Err(Status::XDEV), // RFC 8881 5.3: no links out of the folder of named attributes
        HandleTarget::File(target) if target.found.attributes.kind == Kind::Folder => Err(Status::ISDIR),
        HandleTarget::File(target) => Ok(target),
    }
}

/// SETATTR. Its results have the set of the attributes that were set, even if it fails: none then.
pub(super) fn set_attributes(
    compound: &mut Compound<'_>,
    request: &SetAttr<'_>,
    w: &mut Writer,
) -> Result<(), Fail> {
    let mut nothing = Writer::new();
    Bitmap::default().encode(&mut nothing);
    set(compound, request).map_err(|fail| Fail { body: nothing.into_bytes(), ..fail })?;
    request.attributes.which.encode(w);
    Ok(())
}

fn set(compound: &mut Compound<'_>, request: &SetAttr<'_>) -> Result<(), Fail> {
    let current = compound.refreshed()?.clone();
    let wanted = setting::wanted(compound.minor, &compound.call.naming(), &request.attributes)?;
    let target = current.target()?;
    let acting: Actor = match wanted.changes.size {
        Some(_) => actor(compound, file(&current)?, &request.state, Modes::WRITE)?,
        None => target.actor.clone(),
    };
    // A file that was locked after it was opened is still written through the open.
    let by_open = acting.open.is_some() && wanted.is_only_size();
    if !by_open && !wanted.is_empty() && target.is_locked()? {
        return Err(Status::PERM.into());
    }
    let found = changeable(target)?.unwrap_or_else(|| target.found.clone());
    setting::set(&target.export.volume, &acting, (&found, &compound.call.naming()), &wanted)
        .map_err(|fail| fail.denied_as(Status::LOCKED))
}
