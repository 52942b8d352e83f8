//! The stream of `btrfs send`, as far as a replication reads it (btrfs documentation, "Send stream format").
//!
//! ```text
//! stream    = "btrfs-stream" · zero (1) · version (4) · commands
//! command   = length of the attributes (4) · kind (2) · CRC-32C (4) · attributes
//! attribute = type (2) · length (2) · value          the data of a write in version 2 have no length
//! ```
//! Numbers are little-endian. The checksum is over the whole command with zeros in its place. It begins with 0 and
//! is not inverted.

use std::borrow::Cow;

use wire::{Malformed, Reader, Writer};

use super::MAX_PATH;

const MAGIC: &[u8; 13] = b"btrfs-stream\0";
/// Bytes before the first command.
pub const START: usize = 17;
/// Bytes before the attributes of a command.
pub const COMMAND_HEAD: usize = 10;
/// The longest command. A write has at most 128 KiB of data.
pub const MAX_COMMAND: usize = 1 << 20;

const SUBVOLUME: u16 = 1;
const SNAPSHOT: u16 = 2;
const CLONE: u16 = 16;
const RENAME: u16 = 9;
const LINK: u16 = 10;
const UNLINK: u16 = 11;
const REMOVE_FOLDER: u16 = 12;
const END: u16 = 21;

const UUID: u16 = 1;
const CLONE_UUID: u16 = 20;
const PATH: u16 = 15;
const PATH_TO: u16 = 16;
const PATH_LINK: u16 = 17;
/// The attribute of data, which is the last one of its command.
const DATA: u16 = 19;

/// What a command does to the names of files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// The file or folder at a path is made or changed.
    Changed(Vec<u8>),
    /// It gets another path.
    Renamed(Vec<u8>, Vec<u8>),
    /// The file at the second path gets the first one as a further name.
    Linked(Vec<u8>, Vec<u8>),
    /// A name is removed.
    Removed(Vec<u8>),
    /// The beginning or the end of a snapshot, or nothing that has a path.
    Other,
}

/// Reads what is before the first command.
///
/// # Errors
/// It is no such stream.
pub fn start(bytes: &[u8]) -> Result<(), Malformed> {
    let mut r = Reader::new(bytes);
    if r.array()? != *MAGIC {
        return Err(Malformed("the beginning of a stream of btrfs"));
    }
    r.u32_le()?;
    r.finish()
}

/// The length of a command with its head.
///
/// # Errors
/// It is too long.
pub fn length(head: &[u8]) -> Result<usize, Malformed> {
    let length = Reader::new(head).u32_le()? as usize;
    if length > MAX_COMMAND {
        return Err(Malformed("a command of at most 1 MiB"));
    }
    Ok(COMMAND_HEAD + length)
}

/// Reads a whole command.
///
/// # Errors
/// It is malformed, or its checksum differs.
pub fn command(bytes: &[u8]) -> Result<Command, Malformed> {
    let (kind, attributes) = parts(bytes)?;
    let value = |wanted| attributes.iter().find(|(kind, _)| *kind == wanted).map(|(_, value)| *value);
    let path = |wanted| match value(wanted) {
        Some(path) if path.len() <= MAX_PATH => Ok(path.to_vec()),
        _ => Err(Malformed("a path")),
    };
    Ok(match kind {
        SUBVOLUME | SNAPSHOT | END => Command::Other,
        RENAME => Command::Renamed(path(PATH)?, path(PATH_TO)?),
        LINK => Command::Linked(path(PATH)?, path(PATH_LINK)?),
        UNLINK | REMOVE_FOLDER => Command::Removed(path(PATH)?),
        _ if value(PATH).is_none() => Command::Other,
        _ => Command::Changed(path(PATH)?),
    })
}

/// Whether a whole command is the end of a stream.
#[must_use]
pub fn is_end(bytes: &[u8]) -> bool {
    kind(bytes) == Some(END)
}

/// A whole command, with other identities of subvolumes. The first one of a stream makes a subvolume, and gets the name that
/// this is to have; the others have no name, and make none.
///
/// # Errors
/// It is malformed, or in the wrong place.
pub fn rewritten<'a>(
    bytes: &'a [u8],
    name: Option<&[u8]>,
    identify: impl Fn(&[u8]) -> [u8; 16],
) -> Result<Cow<'a, [u8]>, Malformed> {
    let makes_subvolume = matches!(kind(bytes), Some(SUBVOLUME | SNAPSHOT));
    if makes_subvolume != name.is_some() {
        return Err(Malformed("the name of one subvolume"));
    }
    if !makes_subvolume && kind(bytes) != Some(CLONE) {
        return Ok(bytes.into());
    }
    let (kind, attributes) = parts(bytes)?;
    let mut w = Writer::new();
    for (attribute, value) in attributes {
        let id = [UUID, CLONE_UUID].contains(&attribute).then(|| identify(value));
        let value = match (attribute, name, &id) {
            (PATH, Some(name), _) => name,
            (_, _, Some(id)) => id,
            _ => value,
        };
        w.u16_le(attribute);
        w.u16_le(value.len() as u16);
        w.put(value);
    }
    let values = w.into_bytes();
    let mut head = Writer::new();
    head.u32_le(values.len() as u32);
    head.u16_le(kind);
    head.u32_le(0);
    let mut command = [head.as_bytes(), &values].concat();
    let sum = checksum(&command);
    command[6..COMMAND_HEAD].copy_from_slice(&sum.to_le_bytes());
    Ok(command.into())
}

fn kind(bytes: &[u8]) -> Option<u16> {
    Some(u16::from_le_bytes([*bytes.get(4)?, *bytes.get(5)?]))
}

/// A type and its value.
type Attribute<'a> = (u16, &'a [u8]);

fn parts(bytes: &[u8]) -> Result<(u16, Vec<Attribute<'_>>), Malformed> {
    let mut r = Reader::new(bytes);
    let length = r.u32_le()? as usize;
    let (kind, theirs) = (r.u16_le()?, r.u32_le()?);
    if r.remaining() != length {
        return Err(Malformed("a whole command"));
    }
    if checksum(bytes) != theirs {
        return Err(Malformed("the checksum of a command"));
    }
    let mut attributes = Vec::new();
    while r.remaining() > 0 {
        let attribute = r.u16_le()?;
        if attribute == DATA {
            break;
        }
        let length = r.u16_le()?;
        attributes.push((attribute, r.take(length.into())?));
    }
    Ok((kind, attributes))
}

/// The checksum of a command that has at least a head.
fn checksum(bytes: &[u8]) -> u32 {
    // The library begins with all bits set and inverts the result.
    let add = |sum: u32, bytes: &[u8]| !crc32c::crc32c_append(!sum, bytes);
    let sum = add(0, &bytes[..6]);
    let sum = add(sum, &[0; 4]);
    add(sum, &bytes[COMMAND_HEAD..])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first command of `btrfs send -p one two` of btrfs-progs 6.2.
    const FIRST: &[u8] = &[
        0x47, 0, 0, 0, 2, 0, 0x60, 0x67, 0xfd, 0xbc, 0x0f, 0, 3, 0, 0x74, 0x77, 0x6f, 1, 0, 0x10, 0, 0x6a,
        0xb4, 0x06, 0xfc, 0xe2, 0x85, 0xc8, 0x43, 0x88, 0x6c, 0xc3, 0x9f, 0xa8, 0xbe, 0x9d, 0x2b, 2, 0, 8, 0,
        8, 0, 0, 0, 0, 0, 0, 0, 0x14, 0, 0x10, 0, 0xb5, 0x30, 0xa8, 0x8d, 0x82, 0x14, 0xf4, 0x40, 0xb0, 0x07,
        0x77, 0xe5, 0x44, 0xcc, 0xe2, 0x52, 0x15, 0, 8, 0, 7, 0, 0, 0, 0, 0, 0, 0,
    ];
    /// `rename a o…`: its second command.
    const UTIMES: &[u8] = &[0x0a, 0, 0, 0, 0x0a, 0];

    #[test]
    fn a_subvolume_gets_another_name_and_the_checksum_is_right_again() {
        assert_eq!(length(FIRST), Ok(FIRST.len()));
        assert_eq!(command(FIRST), Ok(Command::Other));
        let same = |id: &[u8]| <[u8; 16]>::try_from(id).unwrap();
        let renamed = |command: &[u8], name: &str| {
            rewritten(command, Some(name.as_bytes()), same).unwrap().into_owned()
        };
        assert_eq!(renamed(FIRST, "two"), FIRST);
        let other = renamed(FIRST, "another");
        assert_eq!((other.len(), command(&other)), (FIRST.len() + 4, Ok(Command::Other)));
        assert_eq!(renamed(&other, "two"), FIRST);
        assert!(rewritten(FIRST, None, same).is_err(), "a second subvolume");
        let mut damaged = FIRST.to_vec();
        damaged[20] ^= 1;
        assert_eq!(command(&damaged), Err(Malformed("the checksum of a command")));
        assert!(command(UTIMES).is_err() && length(&[0xff; 4]).is_err() && start(FIRST).is_err());
    }

    #[test]
    fn the_identities_of_the_subvolume_and_of_its_base_are_others() {
        let other = rewritten(FIRST, Some(b"two"), |id| [id[0]; 16]).unwrap();
        let (at_own, at_base) = (FIRST.len() - 12 - 16 - 4 - 12 - 16, FIRST.len() - 12 - 16);
        let mut expected = FIRST.to_vec();
        expected[at_own..at_own + 16].fill(0x6a);
        expected[at_base..at_base + 16].fill(0xb5);
        let sum = checksum(&expected);
        expected[6..10].copy_from_slice(&sum.to_le_bytes());
        assert_eq!(*other, *expected);
    }

    /// Commands of the same stream: `rename a c`, and a link.
    #[test]
    fn commands_tell_paths() {
        let rename =
            [&[0x0a, 0, 0, 0, 9, 0, 0, 0, 0, 0][..], &[0x0f, 0, 1, 0, b'a', 0x10, 0, 1, 0, b'c']].concat();
        let with_sum = |mut bytes: Vec<u8>| {
            let sum = checksum(&bytes);
            bytes[6..10].copy_from_slice(&sum.to_le_bytes());
            command(&bytes)
        };
        assert_eq!(with_sum(rename), Ok(Command::Renamed(b"a".to_vec(), b"c".to_vec())));
        let write = [&[9, 0, 0, 0, 15, 0, 0, 0, 0, 0][..], &[0x0f, 0, 1, 0, b'a', 19, 0, 1, 2]].concat();
        assert_eq!(with_sum(write), Ok(Command::Changed(b"a".to_vec())));
        let cut = [&[4, 0, 0, 0, 15, 0, 0, 0, 0, 0][..], &[0x0f, 0, 9, 0]].concat();
        assert!(with_sum(cut).is_err());
    }
}
