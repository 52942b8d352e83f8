//! The mark of what is not here: an extended attribute with the path on the other server.
//!
//! | bytes | |
//! |---|---|
//! | 1 | the version: 1, or 2 if the path is not here but in the store (`far`) |
//! | 1 | the stage |
//! | 8 | bytes of the data that are here from the beginning on, little-endian |
//! | rest | the path, UTF-8 |

use crate::backend::{Object, XattrMode};
use crate::caller::server;
use crate::{Error, Result};

/// The attribute.
pub const NAME: &[u8] = b"user.fourfold.arriving";

const VERSION: u8 = 1;
/// A mark without its path, which an attribute has no room for.
const FAR_VERSION: u8 = 2;
/// The bytes before the path.
const HEAD: usize = 10;

/// How far a file or folder is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ArrivalStage {
    /// Entries of the folder are not here.
    Folder = b'F' as isize,
    /// Some entries of the folder could not be made: the store has their names.
    Partly = b'P' as isize,
    /// The file has its name and length only.
    Bare = b'B' as isize,
    /// The file lacks data only.
    Data = b'D' as isize,
    /// The entries of the share's folder are here, what is below it may not be.
    Listed = b'L' as isize,
    /// All of the share is here that can be made here.
    AllButMissing = b'M' as isize,
    /// All of the share is here.
    Here = b'H' as isize,
}

impl ArrivalStage {
    const ALL: [Self; 7] =
        [Self::Folder, Self::Partly, Self::Bare, Self::Data, Self::Listed, Self::AllButMissing, Self::Here];
}

/// A mark.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mark {
    pub(super) stage: ArrivalStage,
    /// Bytes of the data that are here from the beginning on.
    pub(super) here: u64,
    /// The path on the other server.
    pub(super) path: String,
    /// The path is in the store.
    pub(super) is_far: bool,
}

impl Mark {
    pub(super) fn new(stage: ArrivalStage, path: &str) -> Self {
        Self { stage, here: 0, path: path.to_owned(), is_far: false }
    }

    fn encode(&self) -> Vec<u8> {
        let (version, path) =
            if self.is_far { (FAR_VERSION, &b""[..]) } else { (VERSION, self.path.as_bytes()) };
        [&[version, self.stage as u8][..], &self.here.to_le_bytes(), path].concat()
    }

    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        let (head, path) = bytes.split_at_checked(HEAD)?;
        let stage = ArrivalStage::ALL.into_iter().find(|stage| *stage as u8 == head[1])?;
        let here = u64::from_le_bytes(*head[2..].first_chunk()?);
        let path = std::str::from_utf8(path).ok()?.to_owned();
        let is_far = head[0] == FAR_VERSION && path.is_empty();
        (head[0] == VERSION || is_far).then_some(Self { stage, here, path, is_far })
    }
}

/// Whether a share's folder with this mark lacks files. `bytes` may be the beginning only.
pub fn is_incomplete(bytes: &[u8]) -> bool {
    let head = bytes.get(..HEAD).and_then(Mark::decode);
    head.is_some_and(|mark| matches!(mark.stage, ArrivalStage::Folder | ArrivalStage::Listed))
}

/// The mark of a file or folder; a far one without its path. One that cannot be read counts as damage: the file may lack its data.
pub(super) fn read(object: &dyn Object) -> Result<Option<Mark>> {
    match object.xattr(NAME) {
        Ok(bytes) => Mark::decode(&bytes).map(Some).ok_or(Error::Io),
        Err(Error::NoSuchAttribute | Error::NotSupported) => Ok(None),
        Err(error) => Err(error),
    }
}

pub(super) fn write(object: &dyn Object, mark: &Mark) -> Result<()> {
    object.set_xattr(server(), NAME, &mark.encode(), XattrMode::Set)
}

pub(super) fn remove(object: &dyn Object) -> Result<()> {
    match object.remove_xattr(server(), NAME) {
        Err(Error::NoSuchAttribute) => Ok(()),
        other => other,
    }
}
