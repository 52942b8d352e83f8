//! Named attributes, RFC 7530 5.3 and RFC 8881 5.3: what SMB shows as streams and AFP as forks and extended attributes.
//!
//! | name | what |
//! |---|---|
//! | `com.apple.FinderInfo` | the Finder info, 32 bytes |
//! | `com.apple.ResourceFork` | the resource fork |
//! | any other | the named stream of this name |
//!
//! The folder of a file's named attributes is not stored: it is there if the file has any, or a client wants to make one.

mod changing;

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash as _, Hasher as _};

use vfs::acl::Rights;
use vfs::backend::Found;
use vfs::mac::FinderInfo;
use vfs::state::{Modes, Stream};
use vfs::{Actor, Beside, ClientProfile, DescriptionParts as Describe, Error, Kind, Time, Volume};

pub(super) use self::changing::{commit, cut, open, opening, read, remove, rename, set, write};
use super::attributes::{self as of_files, change, number, time};
use super::compound::Compound;
use super::fail::Fail;
use super::place::HandleTarget;
use crate::server::call::Call;
use crate::server::handle::{AttributeName, HandleContent, HandleView};
use crate::server::v3::Target;
use crate::wire::v3::access as bits;
use crate::wire::v4::attributes::{FsId, Values};
use crate::wire::v4::types::{FileHandle, FileType, Status};

const FINDER_INFO: &[u8] = b"com.apple.FinderInfo";
const RESOURCE_FORK: &[u8] = b"com.apple.ResourceFork";

/// OPENATTR, RFC 7530 16.17: the folder of the current file's named attributes. It is there if the file has any; `create` asks
/// for it in any case. A Mac makes an attribute, which is empty and so not there yet, and asks for the folder again in one request.
pub(super) fn open_folder(compound: &mut Compound<'_>, create: bool) -> Result<(), Fail> {
    let current = compound.refreshed()?.clone();
    let target = match &*current {
        HandleTarget::File(target) if target.sidecar.is_none() && target.named.view == HandleView::File => {
            target
        }
        HandleTarget::Attributes(_) | HandleTarget::Attribute(_) => return Err(Status::WRONG_TYPE.into()),
        _ => return Err(Status::NOTSUPP.into()),
    };
    if !matches!(target.found.attributes.kind, Kind::File | Kind::Folder) {
        return Err(Status::WRONG_TYPE.into());
    }
    if !target.export.volume.keeps_streams() || place_of(target)?.is_none() {
        return Err(Status::NOTSUPP.into()); // the folder of a share has no place for them
    }
    require(target, Rights::READ_NAMED)?;
    let id = target.found.object.id();
    if compound.folder_made != Some(id) && names(target)?.is_empty() {
        match create {
            false => return Err(Status::NOENT.into()),
            true if !target.writable => return Err(Status::ROFS.into()),
            true => require(target, Rights::WRITE_NAMED)?,
        }
    }
    compound.current =
        Some(HandleTarget::Attributes(Box::new(self::target(target, HandleView::Attributes))).into());
    if create {
        compound.folder_made = Some(id);
    }
    Ok(())
}

/// Another view of a file.
pub(super) fn target(of: &Target, view: HandleView) -> Target {
    Target { named: HandleContent { view, ..of.named }, sidecar: None, ..of.clone() }
}

/// What a name means.
fn stream(name: &AttributeName) -> Result<Stream, Status> {
    match name.as_bytes() {
        FINDER_INFO => Ok(Stream::Info),
        RESOURCE_FORK => Ok(Stream::Resource),
        name => std::str::from_utf8(name).map(|name| Stream::Named(name.into())).map_err(|_| Status::INVAL),
    }
}

/// A name that an attribute may have.
fn checked(name: &[u8]) -> Result<AttributeName, Status> {
    AttributeName::new(super::place::checked(name)?).ok_or(Status::NAMETOOLONG)
}

/// The actor of a client that knows of forks: it has found named attributes.
fn knowing(actor: &Actor) -> Actor {
    actor.clone().with_profile(ClientProfile { is_blind_to_forks: false, ..actor.profile })
}

/// Where a file is: its streams are found by that. `None` for the folder of a share.
fn place_of(target: &Target) -> Result<Option<(Found, Vec<u8>)>, Status> {
    match target.export.volume.place_of(&target.found) {
        Ok(place) => Ok(Some(place)),
        Err(Error::NotFound) => Ok(None),
        Err(other) => Err(other.into()),
    }
}

fn beside((folder, name): &(Found, Vec<u8>)) -> Beside<'_> {
    Beside { folder: &folder.object, name }
}

/// Fails unless the caller has these rights.
fn require(target: &Target, rights: Rights) -> Result<(), Fail> {
    let has = target.export.volume.rights(&target.actor.caller, &target.found, None)?;
    if has.contains(rights) { Ok(()) } else { Err(Status::ACCESS.into()) }
}

/// Whether the caller may use an attribute so. A file that a Mac or Windows has locked does not change.
pub(super) fn permit(target: &Target, access: Modes) -> Result<(), Fail> {
    if access.intersects(Modes::READ) {
        require(target, Rights::READ_NAMED)?;
    }
    if access.intersects(Modes::WRITE) {
        if !target.writable {
            return Err(Status::ROFS.into());
        }
        require(target, Rights::WRITE_NAMED)?;
        if target.is_locked()? {
            return Err(Status::PERM.into());
        }
    }
    Ok(())
}

/// The names that ACCESS, RFC 7530 16.1, may tell of.
pub(super) fn access(target: &Target) -> Result<u32, Status> {
    let has = target.export.volume.rights(&target.actor.caller, &target.found, None)?;
    let mut granted = 0;
    if has.contains(Rights::READ_NAMED) {
        granted |= bits::READ | bits::LOOKUP;
    }
    if has.contains(Rights::WRITE_NAMED) && target.writable && !target.is_locked()? {
        granted |= bits::MODIFY | bits::EXTEND | bits::DELETE;
    }
    Ok(granted)
}

fn finder_info(volume: &Volume, of: &Found, place: Option<Beside<'_>>) -> Result<FinderInfo, Error> {
    Ok(volume.metadata(of, place)?.finder_info_with_date())
}

/// Whether a file has named attributes: the attribute `named_attr`.
pub(super) fn has_any(volume: &Volume, of: &Found) -> Result<bool, Status> {
    if !matches!(of.attributes.kind, Kind::File | Kind::Folder) {
        return Ok(false);
    }
    let Ok(place) = volume.place_of(of) else { return Ok(false) };
    let described = volume.description(of, Some(beside(&place)), Describe::ALL)?;
    Ok(described.has_streams || described.fork_len > 0 || !described.finder_info.is_none())
}

/// The names of a file's attributes. Those without a handle are left out.
pub(super) fn names(target: &Target) -> Result<Vec<AttributeName>, Status> {
    let (volume, found) = (&target.export.volume, &target.found);
    let Some(place) = place_of(target)? else { return Ok(Vec::new()) };
    let mut names: Vec<AttributeName> = Vec::new();
    if !finder_info(volume, found, Some(beside(&place)))?.is_none() {
        names.extend(AttributeName::new(FINDER_INFO));
    }
    if found.attributes.kind == Kind::File && volume.fork_len(found, beside(&place))? > 0 {
        names.extend(AttributeName::new(RESOURCE_FORK));
    }
    let streams = volume.stateless().streams_now(found, beside(&place))?;
    let is_utf8 = |name: &Vec<u8>| std::str::from_utf8(name).is_ok() && !name.contains(&b'/');
    let streams = streams.into_iter().map(|stream| stream.name).filter(is_utf8);
    names.extend(streams.filter_map(|name| AttributeName::new(&name)));
    Ok(names)
}

/// The attribute of this name, which must be there.
pub(super) fn look_up(folder: &Target, name: &[u8]) -> Result<HandleTarget, Status> {
    let name = checked(name)?;
    let target = target(folder, HandleView::Attribute(name));
    match state(&target, &name)? {
        Some(_) => Ok(HandleTarget::Attribute(Box::new(target))),
        None => Err(Status::NOENT),
    }
}

/// The length of an attribute, and when it has changed; `None` if there is none of this name.
fn state(target: &Target, name: &AttributeName) -> Result<Option<(u64, Time)>, Status> {
    let (volume, found) = (&target.export.volume, &target.found);
    let Some(place) = place_of(target)? else { return Ok(None) };
    let stream = stream(name)?;
    if stream == Stream::Info {
        let info = finder_info(volume, found, Some(beside(&place)))?;
        return Ok((!info.is_none()).then_some((FinderInfo::LEN as u64, found.attributes.changed)));
    }
    if stream == Stream::Resource && found.attributes.kind != Kind::File {
        return Ok(None);
    }
    match volume.stateless().stream_state(found, beside(&place), &stream) {
        Ok(state) => Ok(Some(state)),
        Err(Error::NoSuchAttribute) => Ok(None),
        Err(other) => Err(other.into()),
    }
}

/// The attributes of an attribute, or of their folder: type, size and change are its own, the rest is that of the file.
pub(super) fn attributes<'a>(
    call: &Call<'_>,
    target: &Target,
    handle: FileHandle<'a>,
) -> Result<Values<'a>, Status> {
    let now = &target.found.attributes;
    let limits = target.export.volume.limits();
    let (kind, size, mode, changed) = match target.named.view {
        HandleView::Attribute(name) => {
            let (size, changed) = state(target, &name)?.unwrap_or((0, now.changed));
            (FileType::NAMEDATTR, size, now.mode & 0o666, change(changed.max(now.changed)))
        }
        _ => (FileType::ATTRDIR, 0, now.mode & 0o777 | now.mode >> 2 & 0o111, of_folder(target)?),
    };
    let id = number(call, &handle);
    Ok(Values {
        kind: Some(kind),
        change: Some(changed),
        size: Some(size),
        fsid: Some(FsId { major: of_files::SHARES, minor: target.fattr(now).fsid }),
        fileid: Some(id),
        mounted_on_fileid: Some(id),
        maxfilesize: Some(limits.file_size),
        maxname: Some(AttributeName::MAX as u32),
        mode: Some(mode),
        numlinks: Some(1),
        space_used: Some(size),
        time_access: Some(time(now.accessed)),
        time_metadata: Some(time(now.changed)),
        time_modify: Some(time(now.modified)),
        xattr_support: (call.minor > 1).then_some(false),
        ..of_files::common(call, handle)
    })
}

/// The change attribute of the folder: it differs when another set of attributes is there.
fn of_folder(target: &Target) -> Result<u64, Status> {
    let mut names = names(target)?;
    names.sort_by(|one, other| one.as_bytes().cmp(other.as_bytes()));
    let mut hasher = DefaultHasher::new();
    change(target.found.attributes.changed).hash(&mut hasher);
    names.hash(&mut hasher);
    Ok(hasher.finish())
}
