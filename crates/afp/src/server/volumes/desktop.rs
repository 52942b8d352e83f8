//! The desktop database and comments, Apple Filing Protocol Reference, FPOpenDT, FPCloseDT, FPAddIcon, FPGetIcon,
//! FPGetIconInfo, FPAddAPPL, FPRemoveAPPL, FPGetAPPL, FPAddComment, FPGetComment, FPRemoveComment.
//!
//! A volume has one desktop database, with the volume's number. Icons and applications are in the
//! server's index; comments are metadata of the files.

use std::sync::Arc;

use vfs::{Access, Kind};
use wire::Writer;

use super::ids::EntryPlace;
use super::open_volume::OpenVolume;
use super::target::{Target, is_folder};
use crate::catalogue::desktop::{Application, Icon, IconKey};
use crate::server::Version;
use crate::server::files::params::{RequestedParameters, put_target};
use crate::server::reply::{Outcome, Reply};
use crate::server::request::Request;
use crate::wire::desktop::{
    AddAppl, AddComment, AddIcon, Appl, CloseDt, Comment, FourBytes, GetAppl, GetIcon, GetIconInfo, IconInfo,
    OfFile, OpenDt, OpenDtReply, RemoveAppl,
};
use crate::wire::{DirBitmap, Path, ResultCode, command};

/// Bytes of the longest comment. Longer comments are cut.
const MAX_COMMENT: usize = 199;

/// How many of a creator's applications are examined, the newest first.
const MAX_LOOKED_AT: usize = 256;

/// Runs a command of this family.
pub(in crate::server) async fn run(request: &Request) -> Outcome {
    match request.command {
        command::OPEN_DT => open(request),
        command::CLOSE_DT => close(request),
        command::ADD_ICON => add_icon(request),
        command::GET_ICON => get_icon(request),
        command::GET_ICON_INFO => get_icon_info(request),
        command::ADD_APPL => add_application(request),
        command::REMOVE_APPL => remove_application(request),
        command::GET_APPL => get_application(request),
        command::ADD_COMMENT => add_comment(request).await,
        command::GET_COMMENT => get_comment(request),
        command::REMOVE_COMMENT => remove_comment(request).await,
        _ => Err(ResultCode::CALL_NOT_SUPPORTED),
    }
}

/// FPOpenDT.
fn open(request: &Request) -> Outcome {
    let volume = request.volume(OpenDt::decode(&mut request.reader())?.volume)?;
    Ok(Reply::encoded(|w| OpenDtReply { desktop: volume.id }.encode(w)))
}

/// FPCloseDT.
fn close(request: &Request) -> Outcome {
    request.volume(CloseDt::decode(&mut request.reader())?.desktop)?;
    Ok(Reply::empty())
}

/// FPAddIcon. An icon of another size than the one in its place is refused.
fn add_icon(request: &Request) -> Outcome {
    let asked = AddIcon::decode(&mut request.reader())?;
    let volume = request.volume(asked.desktop)?;
    volume.may_change()?;
    let bitmap = request.data.get(..asked.size.into()).ok_or(ResultCode::PARAM_ERROR)?;
    let desktop = volume.share.catalogue.desktop()?;
    let key = IconKey { creator: asked.creator, kind: asked.kind, icon: asked.icon };
    if desktop.icon(key)?.is_some_and(|icon| icon.bitmap.len() != bitmap.len()) {
        return Err(ResultCode::ICON_TYPE_ERROR);
    }
    desktop.add_icon(&Icon { key, tag: asked.tag, bitmap: bitmap.to_vec() })?;
    Ok(Reply::empty())
}

/// FPGetIcon.
fn get_icon(request: &Request) -> Outcome {
    let asked = GetIcon::decode(&mut request.reader())?;
    let volume = request.volume(asked.desktop)?;
    let key = IconKey { creator: asked.creator, kind: asked.kind, icon: asked.icon };
    let icon = volume.share.catalogue.desktop()?.icon(key)?.ok_or(ResultCode::ITEM_NOT_FOUND)?;
    let length = icon.bitmap.len().min(asked.length.into());
    Ok(Reply::encoded(|w| w.put(&icon.bitmap[..length])))
}

/// FPGetIconInfo. Files without a creator have the icon of documents, which every Mac has.
fn get_icon_info(request: &Request) -> Outcome {
    const DOCUMENT: IconInfo = IconInfo { tag: 0, kind: [0; 4], icon: 1, size: 256 };
    let asked = GetIconInfo::decode(&mut request.reader())?;
    let volume = request.volume(asked.desktop)?;
    let index = usize::from(asked.index).checked_sub(1).ok_or(ResultCode::ITEM_NOT_FOUND)?;
    let info = match volume.share.catalogue.desktop()?.icon_at(asked.creator, index)? {
        Some(info) => {
            IconInfo { tag: info.tag, kind: info.key.kind, icon: info.key.icon, size: info.size as u16 }
        }
        None if (asked.creator, index) == (FourBytes::default(), 0) => DOCUMENT,
        None => return Err(ResultCode::ITEM_NOT_FOUND),
    };
    Ok(Reply::encoded(|w| info.encode(w)))
}

/// FPAddAPPL.
fn add_application(request: &Request) -> Outcome {
    let asked = AddAppl::decode(&mut request.reader())?;
    let volume = request.volume(asked.desktop)?;
    volume.may_change()?;
    let target = volume.resolve(request.caller(), asked.directory, &asked.path)?;
    target.file()?;
    let place = target.place_below(&volume)?;
    volume.share.catalogue.desktop()?.add_application(&Application {
        creator: asked.creator,
        folder: volume.id_of(&place.folder.object.key())?,
        name: place.name.clone(),
        tag: asked.tag,
    })?;
    Ok(Reply::empty())
}

/// FPRemoveAPPL. The application may have been removed.
fn remove_application(request: &Request) -> Outcome {
    let asked = RemoveAppl::decode(&mut request.reader())?;
    let volume = request.volume(asked.desktop)?;
    volume.may_change()?;
    let target = volume.resolve(request.caller(), asked.directory, &asked.path)?;
    if target.existing().is_some_and(is_folder) {
        return Err(ResultCode::OBJECT_TYPE_ERROR);
    }
    let place = target.place_below(&volume)?;
    let folder = volume.id_of(&place.folder.object.key())?;
    match volume.share.catalogue.desktop()?.remove_application(asked.creator, folder, &place.name)? {
        true => Ok(Reply::empty()),
        false => Err(ResultCode::ITEM_NOT_FOUND),
    }
}

/// FPGetAPPL. Removed applications do not count. Desktop databases are older than AFP 3, and so are
/// the parameters.
fn get_application(request: &Request) -> Outcome {
    let asked = GetAppl::decode(&mut request.reader())?;
    let volume = request.volume(asked.desktop)?;
    let all = volume.share.catalogue.desktop()?.applications(asked.creator)?;
    let mut there =
        all.iter().take(MAX_LOOKED_AT).filter_map(|one| Some((one.tag, at(request, &volume, one)?)));
    let index = usize::from(asked.index).saturating_sub(1);
    let (tag, target) = there.nth(index).ok_or(ResultCode::ITEM_NOT_FOUND)?;
    let version = request.version().min(Version::V2_3);
    let wanted = RequestedParameters { file: asked.bitmap, dir: DirBitmap::empty() }.check(version)?;
    let mut w = Writer::new();
    Appl { bitmap: asked.bitmap, tag }.encode(&mut w);
    put_target(&volume, request.caller(), request.version(), &target, wanted, &mut w)?;
    Ok(Reply { head: w.into_bytes(), ..Reply::default() })
}

/// An application's file, if it is still at the stored place.
fn at(request: &Request, volume: &OpenVolume, one: &Application) -> Option<Target> {
    let folder = volume.folder(one.folder.0).ok()?;
    let found = volume.tree().lookup(request.caller(), &folder.object, &one.name).ok()?;
    let place = EntryPlace { folder, name: one.name.clone() };
    (found.attributes.kind == Kind::File).then(|| Target::at(found, Some(place)))
}

/// FPAddComment.
async fn add_comment(request: &Request) -> Outcome {
    let asked = AddComment::decode(&mut request.reader())?;
    let (volume, target) = described(request, asked.desktop, asked.directory, &asked.path)?;
    let comment = &asked.comment[..asked.comment.len().min(MAX_COMMENT)];
    say(request, &volume, &target, comment).await
}

/// FPRemoveComment.
async fn remove_comment(request: &Request) -> Outcome {
    let asked = OfFile::decode(&mut request.reader())?;
    let (volume, target) = described(request, asked.desktop, asked.directory, &asked.path)?;
    if comment_of(&volume, &target)?.is_empty() {
        // A caller that may not change it gets this error first.
        let (caller, found) = (request.caller(), target.found()?);
        let is_theirs = caller.uid == found.attributes.uid;
        let may = is_theirs || volume.tree().access(caller, found, Access::WRITE)?.contains(Access::WRITE);
        return Err(if may { ResultCode::ITEM_NOT_FOUND } else { ResultCode::ACCESS_DENIED });
    }
    say(request, &volume, &target, b"").await
}

/// The file or folder whose comment changes, if that is allowed.
fn described(
    request: &Request,
    desktop: u16,
    directory: u32,
    path: &Path<'_>,
) -> Result<(Arc<OpenVolume>, Target), ResultCode> {
    let volume = request.volume(desktop)?;
    volume.may_change()?;
    let target = volume.resolve(request.caller(), directory, path)?;
    Ok((volume, target))
}

/// Sets the comment of a file or folder.
async fn say(request: &Request, volume: &OpenVolume, target: &Target, comment: &[u8]) -> Outcome {
    let (actor, found) = (request.actor(), target.found()?);
    let place = target.place(volume)?.map(EntryPlace::beside);
    let change = || volume.tree().change_metadata(&actor, found, place, |one| one.comment = comment.to_vec());
    volume.once_recalled(change).await?;
    Ok(Reply::empty())
}

/// FPGetComment.
fn get_comment(request: &Request) -> Outcome {
    let asked = OfFile::decode(&mut request.reader())?;
    let volume = request.volume(asked.desktop)?;
    let target = volume.resolve(request.caller(), asked.directory, &asked.path)?;
    let comment = comment_of(&volume, &target)?;
    if comment.is_empty() {
        return Err(ResultCode::ITEM_NOT_FOUND);
    }
    Ok(Reply::encoded(|w| Comment(&comment[..comment.len().min(MAX_COMMENT)]).encode(w)))
}

fn comment_of(volume: &OpenVolume, target: &Target) -> Result<Vec<u8>, ResultCode> {
    let (found, place) = (target.found()?, target.place(volume)?);
    Ok(volume.tree().mac_tree().comment(found, place.map(EntryPlace::beside))?)
}

#[cfg(test)]
mod tests;
