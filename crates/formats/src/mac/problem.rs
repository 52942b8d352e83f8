//! What can be wrong with stored metadata.

use std::fmt;

use wire::Malformed;

/// Something in stored metadata that is not as its format says. It is reported, never fatal: what could be read is
/// used, and what could not is kept.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// The whole of it could not be read; the bytes are kept.
    #[error("{0}: {1}")]
    Unreadable(Source, Malformed),
    /// The header announces more entries than are there, or than are ever read.
    #[error("{announced} entries announced, {read} read")]
    MissingEntries {
        /// How many the header announces.
        announced: u16,
        /// How many were read.
        read: usize,
    },
    /// An entry ends after the end of the file; only what is there is used.
    #[error("entry {0:#x} ends after the end of the file")]
    EntryPastEnd(u32),
    /// An entry begins inside the header.
    #[error("entry {0:#x} begins inside the header")]
    EntryInHeader(u32),
    /// Two entries share bytes.
    #[error("entries {0:#x} and {1:#x} overlap")]
    EntriesOverlap(u32, u32),
    /// An id is there twice; the first counts.
    #[error("entry {0:#x} is there twice")]
    EntryTwice(u32),
    /// An entry of a fixed size has another one.
    #[error("entry {id:#x} has {length} bytes")]
    EntryLength {
        /// Which entry.
        id: u32,
        /// Its length.
        length: u32,
    },
    /// Bytes follow the last entry.
    #[error("{0} bytes after the last entry")]
    TrailingBytes(u64),
    /// An entry that its layout has no place for; its bytes are kept.
    #[error("entry {0:#x} is not known here")]
    UnknownEntry(u32),
    /// An extended attribute could not be read or written: its number, and why.
    #[error("attribute {0}: {1}")]
    Attribute(usize, &'static str),
}

/// Which stored thing a problem is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names of the layouts")]
pub enum Source {
    Netatalk,
    Netatalk2,
    DosAttrib,
    InfoStream,
    Sidecar,
    Kept,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Netatalk => "the Netatalk metadata attribute",
            Self::Netatalk2 => "the .AppleDouble file",
            Self::DosAttrib => "the DOSATTRIB attribute",
            Self::InfoStream => "the AFP_AfpInfo stream",
            Self::Sidecar => "the ._ file",
            Self::Kept => "the attribute of kept metadata",
        })
    }
}
