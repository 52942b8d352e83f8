//! One file, folder, link or fork.

use wire::{Malformed, Reader, Writer};

use super::MAX_PATH;

/// The longest name of an entry of a folder.
pub const MAX_NAME: usize = 255;
/// The longest value of an extended attribute (XATTR_SIZE_MAX).
const MAX_VALUE: usize = 65_536;
/// The most extended attributes, and the most forks, of an entry.
const MOST: usize = 65_536;

/// Where an entry is.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Place {
    /// At a path of the dataset.
    Tree(Vec<u8>),
    /// A fork or stream of the file at a path, which is in the server's own folder under this name.
    Fork(Vec<u8>, Vec<u8>),
    /// The key that seals access control lists.
    SealKey,
}

/// What an entry is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// A folder.
    Folder,
    /// The place of another dataset: a folder whose content is not part of this one.
    Boundary,
    /// A file.
    File {
        /// Its length.
        size: u64,
        /// The path, size and time of modification of the older file that most of its content is from.
        base: Option<(Vec<u8>, u64, Stamp)>,
        /// The checksum of its content, if all files are to be verified.
        checksum: Option<[u8; 32]>,
    },
    /// Another name of an earlier entry.
    Same(Vec<u8>),
    /// A symbolic link.
    Link(Vec<u8>),
    /// A device, a pipe or a socket: the type bits of its mode say which.
    Special {
        /// The device that it stands for.
        device: u64,
    },
}

/// A time: seconds since 1970, nanoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stamp {
    /// Seconds since 1970.
    pub seconds: i64,
    /// Nanoseconds.
    pub nanoseconds: u32,
}

/// The file that a sidecar `._name` is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    /// It is no sidecar, or no file owns it.
    Unset,
    /// `name` beside it, or the file whose fork it is.
    Sibling,
    /// Another file, which is not known. It is shown as the sidecar of no file.
    Other,
}

/// One file, folder, link or fork.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Where it is.
    pub place: Place,
    /// What it is.
    pub kind: Kind,
    /// The mode of the host, with the type bits.
    pub mode: u32,
    /// The user that owns it.
    pub uid: u32,
    /// Its group.
    pub gid: u32,
    /// It has other names.
    pub is_linked: bool,
    /// The time of the last access.
    pub accessed: Stamp,
    /// The time of the last modification.
    pub modified: Stamp,
    /// Extended attributes, with ACLs.
    pub xattrs: Vec<(Vec<u8>, Vec<u8>)>,
    /// If it is a sidecar: whose.
    pub owner: Owner,
    /// The names of its forks in the server's own folder. `None`: they have not changed.
    pub forks: Option<Vec<Vec<u8>>>,
    /// Its path in the stream of the host, if that is not its place.
    pub source: Option<Vec<u8>>,
}

impl Stamp {
    fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        let (seconds, nanoseconds) = (r.i64_be()?, r.u32_be()?);
        if nanoseconds >= 1_000_000_000 {
            return Err(Malformed("nanoseconds of less than a second"));
        }
        Ok(Self { seconds, nanoseconds })
    }

    fn encode(self, w: &mut Writer) {
        w.i64_be(self.seconds);
        w.u32_be(self.nanoseconds);
    }
}

impl Entry {
    /// Reads an entry.
    ///
    /// # Errors
    /// It is malformed, or a path leads out of the dataset.
    pub fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        let place = match r.u8()? {
            0 => Place::Tree(path(r)?),
            1 => Place::Fork(path(r)?, name(r)?),
            2 => Place::SealKey,
            _ => return Err(Malformed("a place")),
        };
        let kind = Kind::decode(r)?;
        let (mode, uid, gid) = (r.u32_be()?, r.u32_be()?, r.u32_be()?);
        let is_linked = flag(r)?;
        let (accessed, modified) = (Stamp::decode(r)?, Stamp::decode(r)?);
        let mut xattrs = Vec::new();
        for _ in 0..count(r)? {
            let key = name(r)?;
            xattrs.push((key, bytes(r, MAX_VALUE)?.to_vec()));
        }
        let owner = match r.u8()? {
            0 => Owner::Unset,
            1 => Owner::Sibling,
            2 => Owner::Other,
            _ => return Err(Malformed("the owner of a sidecar")),
        };
        let forks = match flag(r)? {
            false => None,
            true => Some((0..count(r)?).map(|_| name(r)).collect::<Result<_, _>>()?),
        };
        let source = if flag(r)? { Some(path(r)?) } else { None };
        Ok(Self { place, kind, mode, uid, gid, is_linked, accessed, modified, xattrs, owner, forks, source })
    }

    /// Writes it.
    pub fn encode(&self, w: &mut Writer) {
        match &self.place {
            Place::Tree(path) => {
                w.u8(0);
                put(w, path);
            }
            Place::Fork(path, name) => {
                w.u8(1);
                put(w, path);
                put(w, name);
            }
            Place::SealKey => w.u8(2),
        }
        self.kind.encode(w);
        [self.mode, self.uid, self.gid].into_iter().for_each(|number| w.u32_be(number));
        w.u8(self.is_linked.into());
        self.accessed.encode(w);
        self.modified.encode(w);
        w.u32_be(self.xattrs.len() as u32);
        for (name, value) in &self.xattrs {
            put(w, name);
            put(w, value);
        }
        w.u8(self.owner as u8);
        w.u8(self.forks.is_some().into());
        if let Some(forks) = &self.forks {
            w.u32_be(forks.len() as u32);
            forks.iter().for_each(|name| put(w, name));
        }
        w.u8(self.source.is_some().into());
        if let Some(source) = &self.source {
            put(w, source);
        }
    }
}

impl Kind {
    fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(match r.u8()? {
            0 => Self::Folder,
            1 => Self::Boundary,
            2 => {
                let size = r.u64_be()?;
                if i64::try_from(size).is_err() {
                    return Err(Malformed("the size of a file"));
                }
                let base = match flag(r)? {
                    true => Some((path(r)?, r.u64_be()?, Stamp::decode(r)?)),
                    false => None,
                };
                let checksum = if flag(r)? { Some(r.array()?) } else { None };
                Self::File { size, base, checksum }
            }
            3 => Self::Same(path(r)?),
            4 => match bytes(r, MAX_PATH)? {
                target if target.is_empty() || target.contains(&0) => return Err(Malformed("a target")),
                target => Self::Link(target.to_vec()),
            },
            5 => Self::Special { device: r.u64_be()? },
            _ => return Err(Malformed("a kind of entry")),
        })
    }

    fn encode(&self, w: &mut Writer) {
        match self {
            Self::Folder => w.u8(0),
            Self::Boundary => w.u8(1),
            Self::File { size, base, checksum } => {
                w.u8(2);
                w.u64_be(*size);
                w.u8(base.is_some().into());
                if let Some((path, size, modified)) = base {
                    put(w, path);
                    w.u64_be(*size);
                    modified.encode(w);
                }
                w.u8(checksum.is_some().into());
                w.put(checksum.as_ref().map_or(&[], |sum| &sum[..]));
            }
            Self::Same(path) => {
                w.u8(3);
                put(w, path);
            }
            Self::Link(target) => {
                w.u8(4);
                put(w, target);
            }
            Self::Special { device } => {
                w.u8(5);
                w.u64_be(*device);
            }
        }
    }
}

/// A length and as many bytes.
pub(super) fn put(w: &mut Writer, bytes: &[u8]) {
    w.u32_be(bytes.len() as u32);
    w.put(bytes);
}

pub(super) fn bytes<'a>(r: &mut Reader<'a>, most: usize) -> Result<&'a [u8], Malformed> {
    let length = r.u32_be()? as usize;
    if length > most {
        return Err(Malformed("a length within its limit"));
    }
    r.take(length)
}

pub(super) fn flag(r: &mut Reader<'_>) -> Result<bool, Malformed> {
    match r.u8()? {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(Malformed("0 or 1")),
    }
}

/// How many items follow. Each of them has at least four bytes.
pub(super) fn count(r: &mut Reader<'_>) -> Result<usize, Malformed> {
    let count = r.u32_be()? as usize;
    if count > MOST || count > r.remaining() / 4 {
        return Err(Malformed("a number of items within its limit"));
    }
    Ok(count)
}

/// A name that an entry of a folder can have.
pub(super) fn name(r: &mut Reader<'_>) -> Result<Vec<u8>, Malformed> {
    let name = bytes(r, MAX_NAME)?;
    if is_name(name) { Ok(name.to_vec()) } else { Err(Malformed("a name without slashes")) }
}

/// A path that stays in the dataset, as far as its names say.
pub(super) fn path(r: &mut Reader<'_>) -> Result<Vec<u8>, Malformed> {
    let path = bytes(r, MAX_PATH)?;
    let is_good = path.is_empty() || path.split(|byte| *byte == b'/').all(is_name);
    if is_good { Ok(path.to_vec()) } else { Err(Malformed("a path inside the dataset")) }
}

fn is_name(name: &[u8]) -> bool {
    let is_long = name.is_empty() || name.len() > MAX_NAME;
    !is_long && name != b"." && name != b".." && !name.contains(&b'/') && !name.contains(&0)
}
