//! Disk images of any maker and the file systems in them, read-only, as functions of bytes.
//!
//! Nothing here opens a file: the bytes come through [`ReadAt`]. Whatever the bytes are, a call returns: damaged
//! structures become [`Error::Damaged`], which names the structure and its place.

pub mod aes;
pub mod apfs;
pub mod cache;
pub mod check;
pub mod compression;
pub mod containers;
pub mod content;
pub mod decmpfs;
pub mod exfat;
pub mod ext;
pub mod fat;
pub mod hfsplus;
mod inside;
pub mod memory;
pub mod part;
pub mod partitions;
mod ranks;
mod shelf;
pub mod tree;

pub use check::{Checked, Observer, Problem, Progress, Resume, check};
pub use inside::{Files, OpenSnapshot, Passphrase, Snapshot, Source, Volume, open};
pub use shelf::{MOST_PARTS, shelf};

/// Bytes that can be read at any place: a file, the data of an image, a partition of it.
pub trait ReadAt: Send + Sync {
    /// How many bytes there are.
    fn length(&self) -> u64;

    /// Fills `buffer` from `offset`. Holes read as zeros.
    ///
    /// # Errors
    ///
    /// [`Error::Damaged`] if the range exceeds [`ReadAt::length`]; what the source says otherwise.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<()>;
}

/// Why an image, or something in it, cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The bytes contradict the format.
    #[error("{structure} is damaged at byte {place}: {problem}")]
    Damaged {
        /// The structure in the words of its specification, such as "catalogue node 17".
        structure: String,
        /// Where it begins, in bytes of the source that has it.
        place: u64,
        /// What is wrong.
        problem: String,
    },
    /// A part of the format that this code does not read. The text says which.
    #[error("{0} is not supported")]
    NotSupported(String),
    /// The data is encrypted, and no passphrase was given, or it is wrong.
    #[error("the passphrase is wrong or missing")]
    Passphrase,
    /// There is no such file or folder.
    #[error("not found")]
    NotFound,
    /// The source could not be read.
    #[error("cannot read: {0}")]
    Source(formats::Error),
}

impl Error {
    /// Bytes that contradict the format.
    pub fn damaged(structure: impl Into<String>, place: u64, problem: impl Into<String>) -> Self {
        Self::Damaged { structure: structure.into(), place, problem: problem.into() }
    }
}

/// Decodes a structure that begins at `place`. Too few bytes for its fields are damage.
pub(crate) fn decode<'a, T>(
    structure: &str,
    place: u64,
    bytes: &'a [u8],
    read: impl FnOnce(&mut wire::Reader<'a>) -> std::result::Result<T, wire::Malformed>,
) -> Result<T> {
    read(&mut wire::Reader::new(bytes)).map_err(|error| Error::damaged(structure, place, error.0))
}

/// The result of reading an image.
pub type Result<T> = std::result::Result<T, Error>;
