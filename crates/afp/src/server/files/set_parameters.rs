//! Changes of the parameters of files and folders, Apple Filing Protocol Reference, FPSetFileParms,
//! FPSetDirParms, FPSetFileDirParms.

use vfs::mac::time::from_2000;
use vfs::mac::{FileBits, FinderFlags, FinderInfo, Metadata};
use vfs::{Error, Kind, SetAttributes, SetTime};

use super::file::to_change;
use super::rights::to_bits;
use crate::server::config::Version;
use crate::server::reply::{Outcome, Reply};
use crate::server::request::Request;
use crate::server::volumes::open_volume::OpenVolume;
use crate::server::volumes::target::{Target, is_folder, refuse_above};
use crate::wire::directory::SetParms;
use crate::wire::{DirBitmap, ResultCode, SetParameters, command};

mod links;
#[cfg(test)]
mod tests;

/// In a new attribute word: the other bits are to be set; without it they are to be cleared.
const SET: u16 = 0x8000;
/// Bits that clients may set of files and of folders; others are computed, or cannot be set.
const OF_FILES: u16 = 0x0001 | 0x0002 | 0x0004 | 0x0020 | 0x0040 | 0x0080 | 0x0100;
const OF_FOLDERS: u16 = 0x0001 | 0x0004 | 0x0040 | 0x0080 | 0x0100;

/// Runs one of the three commands.
pub(in crate::server) async fn run(request: &Request) -> Outcome {
    let parms = SetParms::decode(&mut request.reader())?;
    if request.command == command::SET_FILE_PARMS {
        refuse_above(parms.place.folder, &parms.place.path)?;
    }
    let (volume, target) = to_change(request, &parms.place)?;
    let found = match request.command {
        command::SET_FILE_PARMS => target.file()?,
        command::SET_DIR_PARMS => target.folder()?,
        _ => target.found()?,
    };
    let is_folder = is_folder(found);
    check(DirBitmap(parms.bitmap), is_folder, request.version())?;
    let set = parms.set()?;
    if links::is_to_be_link(found, &set) {
        links::make(request, &volume, &target).await?;
        return Ok(Reply::empty());
    }
    if found.attributes.kind != Kind::Link {
        describe(request, &volume, &target, &set).await?;
        change_mode(request, &volume, &target, &set).await?;
    }
    change_times(request, &volume, &target, &set).await?;
    Ok(Reply::empty())
}

/// Refuses parameters that cannot be set, or not for this kind of entry.
fn check(bitmap: DirBitmap, is_folder: bool, version: Version) -> Result<(), ResultCode> {
    let mut may = SetParameters::SETTABLE;
    if !is_folder {
        may = may.difference(DirBitmap::OWNER_ID | DirBitmap::GROUP_ID | DirBitmap::ACCESS_RIGHTS);
    }
    if version.is_3() {
        // The bit of ProDOS information is that of the UTF-8 name in AFP 3, which renaming sets.
        may = may.difference(DirBitmap::UTF8_NAME);
    }
    if (may & DirBitmap::of(version)).contains(bitmap) { Ok(()) } else { Err(ResultCode::BITMAP_ERROR) }
}

/// Changes the metadata that are stored for Macs.
async fn describe(
    request: &Request,
    volume: &OpenVolume,
    target: &Target,
    set: &SetParameters,
) -> Result<(), ResultCode> {
    let says_something = set.attributes.is_some()
        || set.created.is_some()
        || set.backup.is_some()
        || set.finder_info.is_some()
        || set.prodos.is_some();
    if !says_something {
        return Ok(());
    }
    let found = target.found()?;
    let at = target.place(volume)?.map(|place| place.beside());
    let (actor, is_folder) = (request.actor(), is_folder(found));
    let tree = volume.tree();
    let describe = || tree.change_metadata(&actor, found, at, |metadata| change(metadata, set, is_folder));
    Ok(volume.once_recalled(describe).await?)
}

fn change(metadata: &mut Metadata, set: &SetParameters, is_folder: bool) {
    if let Some(created) = set.created {
        metadata.times.created = from_2000(created);
    }
    if let Some(backup) = set.backup {
        metadata.times.backup = from_2000(backup);
    }
    if let Some(bytes) = set.finder_info {
        let mut info = FinderInfo::new(bytes);
        if is_folder {
            // A folder is shared by being a share, not by its Finder information.
            info.set_flags(info.flags().difference(FinderFlags::IS_SHARED));
        }
        metadata.set_finder_info(info);
        // All 32 bytes come from the client, also the date when it was added to its folder.
        metadata.times.added = info.date_added();
    }
    if let Some(prodos) = set.prodos.filter(|_| !is_folder) {
        let mut info = metadata.finder_info;
        info.set_type(mac_type(prodos), *b"pdos");
        metadata.set_finder_info(info);
    }
    if let Some(word) = set.attributes {
        set_bits(metadata, word, is_folder);
    }
}

fn set_bits(metadata: &mut Metadata, word: u16, is_folder: bool) {
    let changed = FileBits(word & if is_folder { OF_FOLDERS } else { OF_FILES });
    let on = word & SET != 0;
    // The Finder information has flags with the same meaning.
    let mut info = metadata.finder_info;
    if changed.contains(FileBits::MULTI_USER) {
        let mut flags = info.flags();
        flags.set(FinderFlags::IS_SHARED, on);
        info.set_flags(flags);
        metadata.finder_info = info;
    }
    let mut bits = if is_folder { metadata.bits } else { metadata.shown_bits() };
    bits.set(FileBits::INVISIBLE, metadata.is_hidden());
    bits.set(changed, on);
    metadata.set_bits(bits);
}

/// The Mac type for a ProDOS file type and auxiliary type: text is TEXT, others `p` with the three
/// bytes (Inside AppleTalk, "Mapping ProDOS file types").
fn mac_type([kind, _, low, high, ..]: [u8; 6]) -> [u8; 4] {
    if kind == 0x04 { *b"TEXT" } else { [b'p', kind, high, low] }
}

/// Changes owner, group and mode.
async fn change_mode(
    request: &Request,
    volume: &OpenVolume,
    target: &Target,
    set: &SetParameters,
) -> Result<(), ResultCode> {
    let found = target.found()?;
    let actor = request.actor();
    let now = found.object.attributes()?;
    if let (None, None) = (set.access_rights, set.unix) {
        let (uid, gid) = (set.owner.filter(|uid| *uid != now.uid), set.group.filter(|gid| *gid != now.gid));
        let changes = SetAttributes { uid, gid, ..SetAttributes::default() };
        if !changes.is_empty() {
            volume.once_recalled(|| volume.tree().set_attributes(&actor, found, &changes)).await?;
        }
    } else {
        let user = set.owner.or(set.unix.map(|unix| unix.user));
        let group = set.group.or(set.unix.map(|unix| unix.group));
        give_away(request, volume, target, (user, group)).await?;
    }
    let mode = match (set.access_rights, set.unix) {
        (_, Some(unix)) => Some(unix.mode & 0o7777),
        (Some(rights), None) => Some(now.mode & 0o7000 | mode_of(rights)),
        (None, None) => None,
    };
    let Some(mode) = mode.filter(|mode| *mode != found.object.attributes().map_or(!0, |now| now.mode)) else {
        return Ok(());
    };
    let changes = SetAttributes { mode: Some(mode), ..SetAttributes::default() };
    // In a team folder a mode gives and takes no rights. A Mac that copies a folder must not fail because it sends one for what it
    // has made.
    let is_of_no_account = now.uid == actor.caller.uid && volume.tree().roles_at(found)?.is_some();
    let changed = volume.once_recalled(|| match volume.tree().set_attributes(&actor, found, &changes) {
        Err(Error::NotPermitted | Error::AccessDenied) if is_of_no_account => Ok(()),
        other => other.map(drop),
    });
    Ok(changed.await?)
}

/// Changes the owner and group that come with a change of permissions. Some Macs always send them,
/// possibly with numbers that are unknown here. If the caller may not change them, they are
/// ignored.
async fn give_away(
    request: &Request,
    volume: &OpenVolume,
    target: &Target,
    (user, group): (Option<u32>, Option<u32>),
) -> Result<(), ResultCode> {
    let found = target.found()?;
    let now = found.object.attributes()?;
    let actor = request.actor();
    let uid = user.filter(|uid| *uid != now.uid);
    let gid = group.filter(|gid| *gid != now.gid);
    for changes in
        [SetAttributes { uid, ..SetAttributes::default() }, SetAttributes { gid, ..SetAttributes::default() }]
    {
        if changes.is_empty() {
            continue;
        }
        let changed = volume.once_recalled(|| match volume.tree().set_attributes(&actor, found, &changes) {
            Err(Error::NotPermitted | Error::AccessDenied | Error::Invalid) => Ok(()),
            other => other.map(drop),
        });
        changed.await?;
    }
    Ok(())
}

/// The permission bits for access rights: a byte each for the caller, everyone, group and owner.
fn mode_of(rights: u32) -> u32 {
    to_bits(rights & 0xff) << 6 | to_bits(rights >> 8 & 0xff) << 3 | to_bits(rights >> 16 & 0xff)
}

/// Sets the modification date: the requested one, or else now if anything else was changed; and the
/// date of the folder above, if the change is visible in its listing.
async fn change_times(
    request: &Request,
    volume: &OpenVolume,
    target: &Target,
    set: &SetParameters,
) -> Result<(), ResultCode> {
    let found = target.found()?;
    let folder = is_folder(found);
    // Before AFP 3, a copying client sets the attributes of a file, together with its dates.
    let attributes_count = folder || request.version().is_3();
    let changes_something = (set.attributes.is_some() && attributes_count)
        || set.created.is_some()
        || set.backup.is_some()
        || set.finder_info.is_some()
        || set.access_rights.is_some()
        || set.unix.is_some();
    let modified = match set.modified.and_then(from_2000) {
        Some(time) => SetTime::To(time),
        None if changes_something => SetTime::Now,
        None => SetTime::Keep,
    };
    let actor = request.actor();
    if modified != SetTime::Keep {
        let changes = SetAttributes { modified, ..SetAttributes::default() };
        let change = volume.once_recalled(|| volume.tree().set_attributes(&actor, found, &changes)).await;
        match (change, modified) {
            (Ok(change), _) => volume.share.changed.note(change.after.changed),
            (Err(error), SetTime::To(_)) => return Err(error.into()),
            (Err(_), _) => {} // a caller that may change the mode need not be allowed to set dates
        }
    }
    let shows = set.attributes.is_some_and(|word| word & FileBits::INVISIBLE.0 != 0);
    if (shows || (set.unix.is_some() && !folder))
        && let Some(at) = target.place(volume)?
    {
        let changes = SetAttributes { modified: SetTime::Now, ..SetAttributes::default() };
        let _ = volume.tree().set_attributes(&actor, &at.folder, &changes); // may be another user's
    }
    Ok(())
}
