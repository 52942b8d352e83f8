//! Volumes, Apple Filing Protocol Reference, FPOpenVol, FPCloseVol, FPGetVolParms, FPSetVolParms, FPFlush, FPSyncDir.

use std::sync::Arc;

use vfs::mac::time::from_2000;
use vfs::names::{Folding, folds_alike};
use wire::Writer;

use super::names::{self, long_volume_name};
use super::open_volume::OpenVolume;
use crate::server::config::{Share, Version};
use crate::server::files::params::date;
use crate::server::homes::home;
use crate::server::reply::{Outcome, Reply};
use crate::server::request::Request;
use crate::wire::volume::{
    GetVolParms, OfVolume, OpenVol, Parameters, SetVolParms, SyncDir, attributes, signature,
};
use crate::wire::{Path, ResultCode, VolumeBitmap, command};

/// Bytes of the longest name of a volume in UTF-8: its length is one byte.
const UTF8_NAME: usize = 255;

/// Runs a command of this family.
pub(in crate::server) async fn run(request: &Request) -> Outcome {
    match request.command {
        command::OPEN_VOL => open(request).await,
        command::CLOSE_VOL => close(request),
        command::GET_VOL_PARMS => parameters(request),
        command::SET_VOL_PARMS => set_parameters(request),
        command::FLUSH => flush(request).await,
        command::SYNC_DIR => sync_folder(request).await,
        _ => Err(ResultCode::CALL_NOT_SUPPORTED),
    }
}

/// FPOpenVol.
async fn open(request: &Request) -> Outcome {
    let OpenVol { bitmap, name, password } = OpenVol::decode(&mut request.reader())?;
    check(bitmap, request.version())?;
    if !bitmap.contains(VolumeBitmap::ID) {
        return Err(ResultCode::BITMAP_ERROR); // without its id, the volume is unusable
    }
    let session = &request.session;
    let is_it = |share: &Share| is_called(share, request.version(), name) && session.grant(share).is_some();
    let share = match session.service.share(is_it) {
        Some(share) => share,
        None => home(session, request.version(), name).await.ok_or(ResultCode::OBJECT_NOT_FOUND)?,
    };
    if share.options.password.is_some_and(|wanted| !same_password(&wanted, password.as_ref())) {
        return Err(ResultCode::ACCESS_DENIED);
    }
    let grant = session.grant(&share).ok_or(ResultCode::ACCESS_DENIED)?;
    let client = session.connection().map(|connection| connection.peer.address.ip());
    let volume = session.volumes.open(&share, grant, client)?;
    reply(request, &volume, bitmap)
}

/// FPCloseVol. Its forks are closed, too.
fn close(request: &Request) -> Outcome {
    let OfVolume { volume } = OfVolume::decode(&mut request.reader())?;
    request.session.volumes.close(volume).ok_or(ResultCode::PARAM_ERROR)?;
    request.session.forks.close_volume(volume);
    Ok(Reply::empty())
}

/// FPGetVolParms.
fn parameters(request: &Request) -> Outcome {
    let GetVolParms { volume, bitmap } = GetVolParms::decode(&mut request.reader())?;
    let volume = request.volume(volume)?;
    check(bitmap, request.version())?;
    reply(request, &volume, bitmap)
}

/// FPSetVolParms: the backup date is kept with the volume's own folder.
fn set_parameters(request: &Request) -> Outcome {
    let set = SetVolParms::decode(&mut request.reader())?;
    let volume = request.volume(set.volume)?;
    volume.may_change()?;
    let backup = set.backup.ok_or(ResultCode::BITMAP_ERROR)?;
    let root = volume.tree().root()?;
    volume.tree().change_metadata(&request.actor(), &root, None, |metadata| {
        metadata.times.backup = from_2000(backup);
    })?;
    Ok(Reply::empty())
}

/// FPFlush: all data that were written to the volume are on the disk before the answer.
async fn flush(request: &Request) -> Outcome {
    let OfVolume { volume } = OfVolume::decode(&mut request.reader())?;
    let volume = request.volume(volume)?;
    if volume.may_change().is_ok() {
        volume.tree().sync_all().await?;
    }
    Ok(Reply::empty())
}

/// FPSyncDir: the folder's entries are on the disk before the answer.
async fn sync_folder(request: &Request) -> Outcome {
    let SyncDir { volume, folder } = SyncDir::decode(&mut request.reader())?;
    // Only here, an unknown volume has the result of a missing object.
    let volume = request.volume(volume).map_err(|_| ResultCode::OBJECT_NOT_FOUND)?;
    let folder = volume.folder(folder)?;
    volume.tree().sync(&folder).await?;
    Ok(Reply::empty())
}

/// Refuses bits that the client's version does not have.
fn check(bitmap: VolumeBitmap, version: Version) -> Result<(), ResultCode> {
    if VolumeBitmap::of(version).contains(bitmap) { Ok(()) } else { Err(ResultCode::BITMAP_ERROR) }
}

/// Whether a client's name stands for this share. Names of volumes ignore case, as in the Chooser.
fn is_called(share: &Share, version: Version, sent: &[u8]) -> bool {
    is_named(&share.name, version, sent)
}

/// The same for the name of a share.
pub(in crate::server) fn is_named(name: &str, version: Version, sent: &[u8]) -> bool {
    if !version.is_3() && long_volume_name(name) == sent {
        return true;
    }
    let kind = if version.is_3() { Path::UTF8 } else { Path::LONG };
    let stored = names::stored(kind, sent).unwrap_or_default();
    folds_alike(name.as_bytes(), &stored, Folding::default())
}

/// Takes the same time for every difference.
fn same_password(wanted: &[u8; 8], sent: Option<&[u8; 8]>) -> bool {
    let sent = sent.copied().unwrap_or_default();
    wanted.iter().zip(sent).fold(0, |differs, (a, b)| differs | (a ^ b)) == 0
}

fn reply(request: &Request, volume: &Arc<OpenVolume>, bitmap: VolumeBitmap) -> Outcome {
    let version = request.version();
    let name = shown_name(&volume.share.name, version);
    let mut parameters = Parameters { bitmap, name: &name, ..Parameters::default() };
    tell((volume, &request.actor().caller), version, &mut parameters)?;
    Ok(Reply::encoded(|w: &mut Writer| parameters.encode(w)))
}

/// The displayed name: MacRoman of at most 27 bytes for old clients, decomposed UTF-8 for the
/// others.
fn shown_name(name: &str, version: Version) -> Vec<u8> {
    if !version.is_3() {
        return long_volume_name(name);
    }
    let shown = names::utf8_name(name.as_bytes());
    let end = (0..=UTF8_NAME.min(shown.len())).rev().find(|end| shown.is_char_boundary(*end));
    shown.as_bytes()[..end.unwrap_or(0)].to_vec()
}

fn tell(
    (volume, caller): (&OpenVolume, &vfs::Caller),
    version: Version,
    told: &mut Parameters<'_>,
) -> Result<(), ResultCode> {
    let (share, bitmap) = (&volume.share, told.bitmap);
    told.attributes = attribute_word(volume, version);
    told.signature = signature::FIXED_DIRECTORY_ID;
    told.created = date(Some(share.created)) as i32;
    told.id = volume.id;
    if bitmap.intersects(VolumeBitmap::MODIFIED | VolumeBitmap::BACKUP) {
        let root = volume.tree().root()?;
        told.modified = date(Some(root.attributes.modified.max(share.changed.last()))) as i32;
        told.backup = date(volume.tree().metadata(&root, None)?.times.backup) as i32;
    }
    let sizes = VolumeBitmap::BYTES_FREE
        | VolumeBitmap::BYTES_TOTAL
        | VolumeBitmap::EXTENDED_FREE
        | VolumeBitmap::EXTENDED_TOTAL
        | VolumeBitmap::BLOCK_SIZE;
    if bitmap.intersects(sizes) {
        let (total, free, block_size) = space(share, caller)?;
        (told.extended_total, told.extended_free, told.block_size) = (total, free, block_size);
        (told.bytes_total, told.bytes_free) = (size_32(version, total), size_32(version, free));
    }
    Ok(())
}

/// Total and free bytes, and the allocation unit. A share for backups may report less than its file
/// system has.
fn space(share: &Share, caller: &vfs::Caller) -> Result<(u64, u64, u32), ResultCode> {
    let at = share.volume.root()?.object;
    let limits = &share.options.size_limits;
    let space = match share.options.time_machine && !limits.is_empty() {
        true => share.volume.backup_bundles().space(caller, &at, limits)?,
        false => share.volume.space(&at)?,
    };
    Ok((space.total, space.available, space.block_size))
}

/// The size in 32 bits, limited for the version: 2 GB before AFP 2.2, then 4 GB.
fn size_32(version: Version, bytes: u64) -> u32 {
    let most = if version < Version::V2_2 { i32::MAX as u32 } else { u32::MAX };
    u32::try_from(bytes).unwrap_or(most).min(most)
}

/// Apple Filing Protocol Reference, "AFP Volume Attributes Bitmap".
fn attribute_word(volume: &OpenVolume, version: Version) -> u16 {
    let (share, tree) = (&volume.share, volume.tree());
    let bit = |is_set, bit| if is_set { bit } else { 0 };
    let is_read_only = volume.may_change().is_err();
    if version < Version::V2_1 {
        return bit(is_read_only, attributes::READ_ONLY); // *Inside AppleTalk* has no other
    }
    let mut word = bit(is_read_only, attributes::READ_ONLY)
        | bit(share.options.password.is_some(), attributes::HAS_PASSWORD)
        | attributes::FILE_IDS
        | attributes::CATALOG_SEARCH;
    if version.is_3() {
        // The server's numbers of users are not those of the Mac: the Mac must ask the server for
        // their names and rights.
        word |= attributes::UTF8_NAMES | attributes::UNIX_PRIVILEGES | attributes::NO_NETWORK_USER_IDS;
        word |= bit(share.options.time_machine, attributes::LOCK_STEALING);
    }
    if version >= Version::V3_2 {
        word |= attributes::ACLS
            | bit(tree.keeps_streams(), attributes::EXTENDED_ATTRIBUTES)
            | bit(share.options.case_sensitive, attributes::CASE_SENSITIVE);
    }
    word
}

#[cfg(test)]
mod tests;
