//! The steps by which a Mac makes a symbolic link: it makes a file, writes the target into it, and
//! sets its type and creator to those of links. Apple Filing Protocol Reference, FPSetFileParms
//! does not mention this; Macs do it.

use vfs::backend::{Found, NewKind, RenameMode, Wait};
use vfs::{Access, Error, Kind};

use crate::server::request::Request;
use crate::server::volumes::open_volume::OpenVolume;
use crate::server::volumes::target::Target;
use crate::wire::{ResultCode, SetParameters};

/// The longest target, in bytes.
const LONGEST_TARGET: u64 = 4095;
const LINK: &[u8; 8] = b"slnkrhap";
/// The name of the file for a moment, while the link replaces it.
const TEMPORARY: &str = ".fourfold-link";

/// Whether a file becomes a link.
pub(super) fn is_to_be_link(found: &Found, set: &SetParameters) -> bool {
    found.attributes.kind == Kind::File && set.finder_info.is_some_and(|info| info.starts_with(LINK))
}

/// Replaces the file by a link to the target in it. The link has the file's number: for the Mac it
/// is that file.
pub(super) async fn make(request: &Request, volume: &OpenVolume, target: &Target) -> Result<(), ResultCode> {
    let found = target.file()?;
    let at = target.place_below(volume)?;
    let (tree, actor) = (volume.tree(), request.actor());
    let leads_to = content(request, volume, found)?;
    let temporary = format!("{TEMPORARY}-{}", found.object.id().inode);
    let new = NewKind::Link(&leads_to);
    let link = volume
        .once_recalled(|| tree.create(&actor, &at.folder, temporary.as_bytes(), new, 0o777))
        .await?
        .found;
    let (from, to) = ((&at.folder, temporary.as_bytes()), (&at.folder, &at.name[..]));
    let placed = volume.once_recalled(|| tree.rename(&actor, from, to, RenameMode::Replace)).await;
    if let Err(error) = placed {
        let _ = tree.remove(&actor, &at.folder, temporary.as_bytes(), Kind::Link);
        return Err(error.into());
    }
    volume.exchange_ids(found.object.key(), link.object.key()).await?;
    volume.forget_id(&found.object.key())
}

/// The contents of the file, without the NUL byte at its end that some clients write.
fn content(request: &Request, volume: &OpenVolume, found: &Found) -> Result<Vec<u8>, ResultCode> {
    let now = Found { attributes: found.object.attributes()?, object: found.object.clone() };
    if !(1..=LONGEST_TARGET).contains(&now.attributes.size) {
        return Err(ResultCode::MISC_ERROR);
    }
    if !volume.tree().access(request.caller(), &now, Access::READ)?.contains(Access::READ) {
        return Err(ResultCode::ACCESS_DENIED);
    }
    now.object.prepare(request.caller(), &now.attributes, Access::READ, true)?;
    let mut bytes = Vec::new();
    now.object.read_at(0, LONGEST_TARGET as usize, &mut bytes, Wait::Allowed)?;
    if bytes.last() == Some(&0) {
        bytes.pop();
    }
    if bytes.is_empty() || bytes.contains(&0) { Err(Error::Invalid.into()) } else { Ok(bytes) }
}
