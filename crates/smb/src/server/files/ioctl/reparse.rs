//! Symbolic links, and special files of the POSIX extensions, as reparse points: MS-FSA 2.1.5.10.19, 2.1.5.10.12 and 2.1.5.10.34.

use vfs::backend::{Found, NewKind};
use vfs::names::from_windows_view;
use vfs::state::Modes;
use vfs::{Actor, Caller, Kind, OpenOptions};
use wire::{Reader, Writer};

use super::{IoctlCall, IoctlOutput};
use crate::server::clients::open::{File, Open};
use crate::server::context::Failure;
use crate::server::files::create::shown_target;
use crate::server::files::{extended_attributes, posix_names};
use crate::wire::Status;
use crate::wire::fscc::reparse::{Nfs, Reparse, SymlinkFlags, Tag, WslDevice};
use crate::wire::security::AccessMask;

/// The longest target of a link, in bytes: what Linux takes.
const MAX_TARGET: usize = 4095;
/// The shortest reparse point: tag, length, reserved.
const LEAST: usize = 8;

/// GET_REPARSE_POINT.
pub(super) fn read(asked: &IoctlCall<'_>, open: &Open) -> Result<IoctlOutput, Failure> {
    let file = open.file()?;
    let mut w = Writer::new();
    point_of(file)?.encode(&mut w);
    let mut bytes = w.into_bytes();
    if asked.room() < LEAST {
        return Err(Status::BUFFER_TOO_SMALL.into());
    }
    let status = if bytes.len() > asked.room() { Status::BUFFER_OVERFLOW } else { Status::SUCCESS };
    bytes.truncate(asked.room());
    Ok(IoctlOutput { status, bytes })
}

/// What a file is as a reparse point.
fn point_of(file: &File) -> Result<Reparse, Failure> {
    let attributes = file.shown().attributes()?;
    let (major, minor) = attributes.device;
    Ok(match attributes.kind {
        Kind::Link => {
            let target = file.shown().node().read_link()?;
            let flags = if target.starts_with(b"/") { SymlinkFlags::NONE } else { SymlinkFlags::RELATIVE };
            let name = if file.is_posix { posix_names::shown_target(&target) } else { shown_target(&target) };
            Reparse::Symlink { substitute_name: name.clone(), print_name: name, flags }
        }
        Kind::Fifo if file.is_posix => Reparse::Nfs(Nfs::Fifo),
        Kind::Socket if file.is_posix => Reparse::Nfs(Nfs::Socket),
        Kind::CharDevice if file.is_posix => Reparse::Nfs(Nfs::Char { major, minor }),
        Kind::BlockDevice if file.is_posix => Reparse::Nfs(Nfs::Block { major, minor }),
        _ => return Err(Status::NOT_A_REPARSE_POINT.into()),
    })
}

/// What a file becomes.
enum SpecialKind {
    Link(Vec<u8>),
    Fifo,
    Socket,
    Char(u32, u32),
    Block(u32, u32),
}

impl SpecialKind {
    /// By the reparse point that a client sets. All but links need the POSIX extensions. WSL has the numbers of a device in the
    /// extended attribute `$LXDEV`, which Linux gives the file when it makes it.
    fn of(point: &Reparse, file: &File) -> Result<Self, Failure> {
        Ok(match point {
            Reparse::Symlink { substitute_name, .. } | Reparse::Nfs(Nfs::Symlink(substitute_name)) => {
                Self::Link(stored(substitute_name, file.is_posix)?)
            }
            _ if !file.is_posix => return Err(Status::NOT_SUPPORTED.into()),
            Reparse::Nfs(Nfs::Fifo) | Reparse::Other { tag: Tag::LX_FIFO, .. } => Self::Fifo,
            Reparse::Nfs(Nfs::Socket) | Reparse::Other { tag: Tag::AF_UNIX, .. } => Self::Socket,
            Reparse::Nfs(Nfs::Char { major, minor }) => Self::Char(*major, *minor),
            Reparse::Nfs(Nfs::Block { major, minor }) => Self::Block(*major, *minor),
            Reparse::Other { tag: Tag::LX_SYMLINK, data } => Self::Link(target_of_wsl(data)?),
            Reparse::Other { tag: Tag::LX_CHR, .. } => device_of_wsl(file).map(|(a, b)| Self::Char(a, b))?,
            Reparse::Other { tag: Tag::LX_BLK, .. } => device_of_wsl(file).map(|(a, b)| Self::Block(a, b))?,
            _ => return Err(Status::NOT_SUPPORTED.into()),
        })
    }

    fn new_kind(&self) -> NewKind<'_> {
        match self {
            Self::Link(target) => NewKind::Link(target),
            Self::Fifo => NewKind::Fifo,
            Self::Socket => NewKind::Socket,
            Self::Char(major, minor) => NewKind::CharDevice(*major, *minor),
            Self::Block(major, minor) => NewKind::BlockDevice(*major, *minor),
        }
    }
}

/// The target of a link of WSL: the number 2, and UTF-8.
fn target_of_wsl(data: &[u8]) -> Result<Vec<u8>, Status> {
    match data.split_first_chunk() {
        Some((&[2, 0, 0, 0], target)) if (1..=MAX_TARGET).contains(&target.len()) && !target.contains(&0) => {
            Ok(target.to_vec())
        }
        _ => Err(Status::IO_REPARSE_DATA_INVALID),
    }
}

/// The major and the minor number in `$LXDEV`.
fn device_of_wsl(file: &File) -> Result<(u32, u32), Status> {
    let all = extended_attributes::of(file.open.volume(), &file.open.found()?)?;
    let device = all.iter().find(|ea| ea.name.eq_ignore_ascii_case(b"$LXDEV"));
    let device = WslDevice::decode(&mut Reader::new(device.map_or(&[], |ea| &ea.value)));
    device.map(|device| (device.major, device.minor)).map_err(|_| Status::IO_REPARSE_DATA_INVALID)
}

/// SET_REPARSE_POINT: an empty file, or an empty folder, becomes a link; with the POSIX extensions also a device, FIFO or socket.
pub(super) async fn set(asked: &IoctlCall<'_>, open: &Open) -> Result<IoctlOutput, Failure> {
    let file = open.file()?;
    open.require(AccessMask::WRITE_DATA | AccessMask::WRITE_ATTRIBUTES)?;
    let point = Reparse::decode(&mut asked.input()).map_err(|_| Status::IO_REPARSE_DATA_INVALID)?;
    let kind = SpecialKind::of(&point, file)?;
    let is_empty_file = file.open.node().kind() == Kind::File && file.open.attributes()?.size == 0;
    if !file.open.is_data() || !(is_empty_file || file.open.node().kind() == Kind::Folder) {
        return Err(Status::IO_REPARSE_DATA_INVALID.into());
    }
    let mode = if matches!(kind, SpecialKind::Link(_)) { 0o777 } else { file.open.attributes()?.mode };
    let made = replace(file, kind.new_kind(), mode).await?;
    if file.is_posix {
        // Linux asks in the same chain what it has made.
        let options = OpenOptions { granted: true, ..OpenOptions::data(Modes::NONE) };
        let made = file.open.volume().open(file.open.actor(), &made, options).await?;
        _ = file.became.set(made);
    }
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
    replace(file, NewKind::File, 0o644).await.map(drop)?;
    Ok(IoctlOutput::none())
}

/// Replaces the file by something else. The open keeps the old file, which no other open can reach
/// any more.
async fn replace(file: &File, new: NewKind<'_>, mode: u32) -> Result<Found, Failure> {
    let (folder, name) = file.open.place().ok_or(Status::ACCESS_DENIED)?;
    let volume = file.open.volume();
    let folder = Found { attributes: folder.attributes()?, object: folder };
    let actor = file.open.actor();
    let kind = if file.open.node().kind() == Kind::Folder { Kind::Folder } else { Kind::File };
    // The open's right to change the file was checked when it was opened.
    let by_server = Actor { caller: Caller::root(), ..actor.clone() };
    volume.settled(|| volume.remove(&by_server, &folder, &name, kind)).await?;
    Ok(volume.settled(|| volume.create(actor, &folder, &name, new, mode)).await?.found)
}

/// A target as it is stored.
fn stored(name: &[u16], is_posix: bool) -> Result<Vec<u8>, Status> {
    let is_separator = |unit: &u16| *unit == u16::from(b'\\') || *unit == u16::from(b'/');
    let component = |name: &[u16]| match String::from_utf16(name).as_deref() {
        Ok(steps @ ("" | "." | "..")) => Ok(steps.as_bytes().to_vec()),
        _ if is_posix => posix_names::stored_name(name),
        _ => from_windows_view(name).map_err(|_| Status::OBJECT_NAME_INVALID),
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
        assert_eq!(stored(&units("..\\a\\b"), false), Ok(b"../a/b".to_vec()));
        assert_eq!(shown_target(b"/etc"), units("\\etc"));
    }

    #[test]
    fn a_link_to_nowhere_at_all_is_refused() {
        assert_eq!(stored(&[], false), Err(Status::IO_REPARSE_DATA_INVALID));
        assert_eq!(
            stored(&vec![u16::from(b'a'); MAX_TARGET + 1], false),
            Err(Status::IO_REPARSE_DATA_INVALID)
        );
    }
}
