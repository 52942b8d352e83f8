//! Symbolic links, as reparse points: MS-FSA 2.1.5.10.19, 2.1.5.10.12 and 2.1.5.10.34.

use vfs::backend::{Found, NewKind};
use vfs::names::from_windows_view;
use vfs::{Actor, Caller, Kind};
use wire::Writer;

use super::{IoctlCall, IoctlOutput};
use crate::server::clients::open::{File, Open};
use crate::server::context::Failure;
use crate::server::files::create::shown_target;
use crate::wire::Status;
use crate::wire::fscc::reparse::{Nfs, Reparse, SymlinkFlags, Tag};
use crate::wire::security::AccessMask;

/// The longest target of a link, in bytes: what Linux takes.
const MAX_TARGET: usize = 4095;
/// The shortest reparse point: tag, length, reserved.
const LEAST: usize = 8;

/// GET_REPARSE_POINT.
pub(super) fn read(asked: &IoctlCall<'_>, open: &Open) -> Result<IoctlOutput, Failure> {
    let file = open.file()?;
    if file.open.node().kind() != Kind::Link {
        return Err(Status::NOT_A_REPARSE_POINT.into());
    }
    let target = file.open.node().read_link()?;
    let relative = !target.starts_with(b"/");
    let name = shown_target(&target);
    let flags = if relative { SymlinkFlags::RELATIVE } else { SymlinkFlags::NONE };
    let link = Reparse::Symlink { substitute_name: name.clone(), print_name: name, flags };
    let mut w = Writer::new();
    link.encode(&mut w);
    let mut bytes = w.into_bytes();
    if asked.room() < LEAST {
        return Err(Status::BUFFER_TOO_SMALL.into());
    }
    let status = if bytes.len() > asked.room() { Status::BUFFER_OVERFLOW } else { Status::SUCCESS };
    bytes.truncate(asked.room());
    Ok(IoctlOutput { status, bytes })
}

/// SET_REPARSE_POINT: an empty file, or an empty folder, becomes a link.
pub(super) async fn set(asked: &IoctlCall<'_>, open: &Open) -> Result<IoctlOutput, Failure> {
    let file = open.file()?;
    open.require(AccessMask::WRITE_DATA | AccessMask::WRITE_ATTRIBUTES)?;
    let point = Reparse::decode(&mut asked.input()).map_err(|_| Status::IO_REPARSE_DATA_INVALID)?;
    let target = match &point {
        Reparse::Symlink { substitute_name, .. } | Reparse::Nfs(Nfs::Symlink(substitute_name)) => {
            stored(substitute_name)?
        }
        _ => return Err(Status::NOT_SUPPORTED.into()),
    };
    let is_empty_file = file.open.node().kind() == Kind::File && file.open.attributes()?.size == 0;
    if !file.open.is_data() || !(is_empty_file || file.open.node().kind() == Kind::Folder) {
        return Err(Status::IO_REPARSE_DATA_INVALID.into());
    }
    replace(file, NewKind::Link(&target), 0o777).await?;
    Ok(IoctlOutput::none())
}

/// DELETE_REPARSE_POINT: the link becomes an empty file.
pub(super) async fn delete(asked: &IoctlCall<'_>, open: &Open) -> Result<IoctlOutput, Failure> {
    let file = open.file()?;
    open.require(AccessMask::WRITE_DATA | AccessMask::WRITE_ATTRIBUTES)?;
    let tag = Tag::decode(&mut asked.input())?;
    if file.open.node().kind() != Kind::Link {
        return Err(Status::NOT_A_REPARSE_POINT.into());
    }
    if tag != Tag::SYMLINK && tag != Tag::NFS {
        return Err(Status::IO_REPARSE_TAG_MISMATCH.into());
    }
    replace(file, NewKind::File, 0o644).await?;
    Ok(IoctlOutput::none())
}

/// Replaces the file by something else. The open keeps the old file, which no other open can reach
/// any more.
async fn replace(file: &File, new: NewKind<'_>, mode: u32) -> Result<(), Failure> {
    let (folder, name) = file.open.place().ok_or(Status::ACCESS_DENIED)?;
    let volume = file.open.volume();
    let folder = Found { attributes: folder.attributes()?, object: folder };
    let actor = file.open.actor();
    let kind = if file.open.node().kind() == Kind::Folder { Kind::Folder } else { Kind::File };
    // The open's right to change the file was checked when it was opened.
    let by_server = Actor { caller: Caller::root(), ..actor.clone() };
    volume.settled(|| volume.remove(&by_server, &folder, &name, kind)).await?;
    volume.settled(|| volume.create(actor, &folder, &name, new, mode)).await?;
    Ok(())
}

/// A target as it is stored.
fn stored(name: &[u16]) -> Result<Vec<u8>, Status> {
    let is_separator = |unit: &u16| *unit == u16::from(b'\\') || *unit == u16::from(b'/');
    let component = |name: &[u16]| match String::from_utf16(name).as_deref() {
        Ok(steps @ ("" | "." | "..")) => Ok(steps.as_bytes().to_vec()),
        _ => from_windows_view(name),
    };
    let components: Result<Vec<Vec<u8>>, _> = name.split(is_separator).map(component).collect();
    let target = components.map_err(|_| Status::IO_REPARSE_DATA_INVALID)?.join(&b'/');
    match target.is_empty() || target.len() > MAX_TARGET {
        true => Err(Status::IO_REPARSE_DATA_INVALID),
        false => Ok(target),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn units(text: &str) -> Vec<u16> {
        text.encode_utf16().collect()
    }

    #[test]
    fn targets_have_backslashes_between_names_for_clients() {
        assert_eq!(shown_target(b"../a/b"), units("..\\a\\b"));
        assert_eq!(stored(&units("..\\a\\b")), Ok(b"../a/b".to_vec()));
        assert_eq!(shown_target(b"/etc"), units("\\etc"));
    }

    #[test]
    fn a_link_to_nowhere_at_all_is_refused() {
        assert_eq!(stored(&[]), Err(Status::IO_REPARSE_DATA_INVALID));
        assert_eq!(stored(&vec![u16::from(b'a'); MAX_TARGET + 1]), Err(Status::IO_REPARSE_DATA_INVALID));
    }
}
