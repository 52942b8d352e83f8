//! Extended attributes, Apple Filing Protocol Reference, FPGetExtAttr, FPSetExtAttr, FPRemoveExtAttr, FPListExtAttrs.
//!
//! They are the named streams of `vfs`, which SMB shows as streams. Finder information and the
//! resource fork have commands of their own: they are listed, because a Mac's own server lists
//! them, but their values are not sent.

use bytes::Bytes;
use vfs::acl::Rights;
use vfs::backend::{Found, Stability};
use vfs::names::{Folding, folds_alike};
use vfs::state::{Modes, Stream};
use vfs::{Error, Kind, Open, OpenOptions, names};

use crate::server::config::Version;
use crate::server::reply::{Outcome, Reply};
use crate::server::request::Request;
use crate::server::volumes::ids::EntryPlace;
use crate::server::volumes::open_volume::OpenVolume;
use crate::server::volumes::target::Target;
use crate::wire::attribute::{Bitmap, Get, List, Remove, Reply as Value, Set};
use crate::wire::{ResultCode, command};

const FINDER_INFO: &[u8] = b"com.apple.FinderInfo";
const RESOURCE_FORK: &[u8] = b"com.apple.ResourceFork";

/// Bytes of the longest attribute whose value is sent.
const MAX_VALUE: u64 = 1 << 20;
/// Bytes of the longest attribute name.
const MAX_NAME: usize = 255;

/// Runs a command of this family.
pub(in crate::server) async fn run(request: &Request) -> Outcome {
    match request.command {
        command::GET_EXT_ATTR => get(request).await,
        command::SET_EXT_ATTR => set(request).await,
        command::REMOVE_EXT_ATTR => remove(request).await,
        command::LIST_EXT_ATTRS => list(request).await,
        _ => Err(ResultCode::CALL_NOT_SUPPORTED),
    }
}

/// FPGetExtAttr. The limit on the reply includes its header; a longer value is refused, not cut.
async fn get(request: &Request) -> Outcome {
    let asked = Get::decode(&mut request.reader())?;
    let volume = request.volume(asked.volume)?;
    let target = volume.resolve(request.caller(), asked.directory, &asked.path)?;
    let found = target.found()?;
    may(request, &volume, found, Rights::READ_NAMED)?;
    let name = name_of(asked.name)?;
    let none = || no_attribute(request.version());
    let Some(place) = place_of(&volume, &target)? else { return Err(none()) };
    let name = known_name(request, &volume, (found, place), name).await?;
    let open = open(request, &volume, (found, place), &name, (Modes::READ, false)).await;
    let open = open.map_err(|error| if error == ResultCode::ITEM_NOT_FOUND { none() } else { error })?;
    let size = open.size().await?;
    if asked.max_reply == 0 {
        return Ok(value(asked.bitmap, u32::try_from(size).unwrap_or(u32::MAX), None));
    }
    let wanted = size.saturating_sub(asked.offset).min(asked.count);
    if wanted.saturating_add(Value::HEAD_LEN.into()) > u64::from(asked.max_reply) {
        return Ok(value(asked.bitmap, 0, None).with(ResultCode::PARAM_ERROR));
    }
    if wanted > MAX_VALUE {
        return Err(ResultCode::MISC_ERROR); // longer than a Mac's attributes
    }
    let mut bytes = Vec::new();
    open.read_at(asked.offset, wanted as usize).await?.payload.append_to(&mut bytes)?;
    Ok(value(asked.bitmap, bytes.len() as u32, Some(&bytes)))
}

fn value(bitmap: Bitmap, length: u32, bytes: Option<&[u8]>) -> Reply {
    Reply::encoded(|w| Value { bitmap, length, bytes }.encode(w))
}

/// FPSetExtAttr. The sent value replaces the whole attribute.
async fn set(request: &Request) -> Outcome {
    let asked = Set::decode(&mut request.reader())?;
    let volume = request.volume(asked.volume)?;
    volume.may_change()?;
    if asked.offset != 0 {
        return Err(ResultCode::PARAM_ERROR); // reserved
    }
    let target = volume.resolve(request.caller(), asked.directory, &asked.path)?;
    let found = target.found()?;
    let name = name_of(asked.name)?;
    if found.attributes.kind == Kind::Link && asked.bitmap.contains(Bitmap::NO_FOLLOW) {
        return Ok(Reply::empty()); // links have no attributes; Macs accept that
    }
    may(request, &volume, found, Rights::WRITE_NAMED)?;
    let place = place_of(&volume, &target)?.ok_or(ResultCode::MISC_ERROR)?;
    let name = known_name(request, &volume, (found, place), name).await?;
    let there = open(request, &volume, (found, place), &name, (Modes::WRITE, false)).await;
    let open = match there {
        Ok(_) if asked.bitmap.contains(Bitmap::CREATE) => return Err(ResultCode::OBJECT_EXISTS),
        Err(ResultCode::ITEM_NOT_FOUND) if asked.bitmap.contains(Bitmap::REPLACE) => {
            return Err(no_attribute(request.version()));
        }
        Err(ResultCode::ITEM_NOT_FOUND) => {
            open(request, &volume, (found, place), &name, (Modes::WRITE, true)).await?
        }
        other => other?,
    };
    let (before, after) = (open.size().await?, asked.bytes.len() as u64);
    if after > 0 {
        let bytes = Bytes::copy_from_slice(asked.bytes);
        open.write_at(0, bytes, Stability::Unstable).await?;
    }
    if before > after {
        open.truncate(after).await?;
    }
    Ok(Reply::empty())
}

/// FPRemoveExtAttr. AFP 3.4 also has no separate error for a missing attribute.
async fn remove(request: &Request) -> Outcome {
    let asked = Remove::decode(&mut request.reader())?;
    let volume = request.volume(asked.volume)?;
    volume.may_change()?;
    let target = volume.resolve(request.caller(), asked.directory, &asked.path)?;
    let found = target.found()?;
    let name = name_of(asked.name)?;
    may(request, &volume, found, Rights::WRITE_NAMED)?;
    let place = place_of(&volume, &target)?.ok_or(ResultCode::MISC_ERROR)?;
    let stream = Stream::Named(known_name(request, &volume, (found, place), name).await?.into());
    match volume.tree().remove_stream(&request.actor(), found, place.beside(), &stream).await {
        Ok(()) => Ok(Reply::empty()),
        Err(Error::NoSuchAttribute) => Err(ResultCode::MISC_ERROR),
        Err(other) => Err(other.into()),
    }
}

/// FPListExtAttrs.
async fn list(request: &Request) -> Outcome {
    let asked = List::decode(&mut request.reader())?;
    let volume = request.volume(asked.volume)?;
    let target = volume.resolve(request.caller(), asked.directory, &asked.path)?;
    let names = names_of(request, &volume, &target).await?;
    let length = u32::try_from(names.len()).map_err(|_| ResultCode::MISC_ERROR)?;
    match asked.max_reply {
        0 => Ok(value(asked.bitmap, length, None)),
        most if length > most => Ok(value(asked.bitmap, 0, None).with(ResultCode::PARAM_ERROR)),
        _ => Ok(value(asked.bitmap, length, Some(&names))),
    }
}

/// The names of all attributes of a file, each followed by a NUL.
async fn names_of(request: &Request, volume: &OpenVolume, target: &Target) -> Result<Vec<u8>, ResultCode> {
    let (found, tree) = (target.found()?, volume.tree());
    if !matches!(found.attributes.kind, Kind::File | Kind::Folder) {
        return Ok(Vec::new());
    }
    let place = target.place(volume)?.map(EntryPlace::beside);
    let mut all: Vec<Vec<u8>> = Vec::new();
    if !tree.metadata(found, place)?.finder_info.is_none() {
        all.push(FINDER_INFO.to_vec());
    }
    if let Some(place) = place
        && found.attributes.kind == Kind::File
        && tree.fork_len(found, place)? > 0
    {
        all.push(RESOURCE_FORK.to_vec());
    }
    let streams = tree.streams(&request.actor(), found, place).await?;
    all.extend(
        streams.into_iter().map(|stream| stream.name).filter(|name| std::str::from_utf8(name).is_ok()),
    );
    Ok(all.into_iter().flat_map(|name| name.into_iter().chain([0])).collect())
}

/// Opens the stream of an attribute.
async fn open(
    request: &Request,
    volume: &OpenVolume,
    (found, place): (&Found, &EntryPlace),
    name: &str,
    (access, create): (Modes, bool),
) -> Result<Open, ResultCode> {
    let options = OpenOptions {
        stream: Stream::Named(name.into()),
        create,
        place: Some(place.beside()),
        granted: true,
        ..OpenOptions::data(access)
    };
    Ok(volume.tree().open(&request.actor(), found, options).await?)
}

/// The place of a file, if its attributes can be sent.
fn place_of<'a>(volume: &OpenVolume, target: &'a Target) -> Result<Option<&'a EntryPlace>, ResultCode> {
    let has = matches!(target.found()?.attributes.kind, Kind::File | Kind::Folder);
    Ok(target.place(volume)?.filter(|_| has))
}

/// Refuses a caller without this right. Without an ACL, an owner has the right whatever the mode
/// is.
fn may(request: &Request, volume: &OpenVolume, found: &Found, right: Rights) -> Result<(), ResultCode> {
    let (caller, tree) = (request.caller(), volume.tree());
    let owns = || Ok::<_, Error>(caller.uid == found.attributes.uid && !tree.has_stored_acl(found)?);
    match tree.rights(caller, found, None)?.contains(right) || owns()? {
        true => Ok(()),
        false => Err(ResultCode::ACCESS_DENIED),
    }
}

/// The stored name of an attribute: composed, as clients of other protocols send it.
fn name_of(sent: &[u8]) -> Result<String, ResultCode> {
    if sent.len() > MAX_NAME {
        return Err(ResultCode::PARAM_ERROR);
    }
    String::from_utf8(names::to_nfc(sent).into_owned()).map_err(|_| ResultCode::PARAM_ERROR)
}

/// The stored name of an existing attribute, whose normal form another protocol or a local program
/// may have chosen; otherwise the name in the form in which it would be stored. Macs distinguish
/// case in these names.
async fn known_name(
    request: &Request,
    volume: &OpenVolume,
    (found, place): (&Found, &EntryPlace),
    name: String,
) -> Result<String, ResultCode> {
    if !names::has_other_forms(name.as_bytes()) {
        return Ok(name);
    }
    let all = volume.tree().streams(&request.actor(), found, Some(place.beside())).await?;
    if all.iter().any(|known| known.name == name.as_bytes()) {
        return Ok(name);
    }
    let mut known = all.into_iter().filter_map(|known| String::from_utf8(known.name).ok());
    let any_form = Folding { case_sensitive: true, normalisation_sensitive: false };
    Ok(known.find(|known| folds_alike(known.as_bytes(), name.as_bytes(), any_form)).unwrap_or(name))
}

/// The result for an attribute that does not exist.
fn no_attribute(version: Version) -> ResultCode {
    if version >= Version::V3_4 { ResultCode::ITEM_NOT_FOUND } else { ResultCode::MISC_ERROR }
}

#[cfg(test)]
mod tests;
