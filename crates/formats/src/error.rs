//! The facts about the tree that make an operation fail.

use std::fmt;

use crate::FileId;

/// What went wrong, as a fact about the tree. Each protocol turns it into its own status in exactly one function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "each name is the fact; Display says it in words")]
pub enum Error {
    NotFound,
    Exists,
    NotFolder,
    IsFolder,
    IsLink,
    NotLink,
    NotEmpty,
    /// The caller's identity may not do this, whatever the mode says (EPERM).
    NotPermitted,
    /// A client has locked the file against this for all users.
    Locked,
    /// The mode, ACL or policy of the file refuses it (EACCES).
    AccessDenied,
    ReadOnly,
    NoSpace,
    /// The file has no room for an extended attribute of this size beside its others, and the disk is not full.
    NoRoomForAttribute,
    QuotaExceeded,
    FileTooLarge,
    NameTooLong,
    InvalidName,
    Invalid,
    CrossVolume,
    TooManyLinks,
    /// The file that a handle named is gone.
    Stale,
    Busy,
    NotSupported,
    /// Only said when the caller asked not to wait.
    WouldBlock,
    /// A byte-range lock of another owner covers the range.
    RangeLocked,
    /// A deny mode of another open refuses it.
    ShareConflict,
    /// The file, or the folder that it would be in, is removed when the clients that have it open
    /// have closed it.
    BeingRemoved,
    /// Another client's lease of this file conflicts with the operation and is being recalled: try again once it is returned
    /// (`vfs::Volume::recalled`).
    LeaseRecall(FileId),
    NoSuchAttribute,
    /// A named limit of the server is reached. It may last.
    TooMany,
    /// The host has no memory or no descriptor left, for now.
    Exhausted,
    /// The disk failed.
    Io,
    /// It is on another server, which does not answer.
    Away,
}

impl Error {
    /// Whether a file system refuses an extended attribute so that its value must go elsewhere.
    pub fn is_no_place_for_attribute(self) -> bool {
        use Error::{Exhausted, FileTooLarge, NoRoomForAttribute, NoSpace, NotSupported, TooMany};
        matches!(self, NoRoomForAttribute | NoSpace | FileTooLarge | TooMany | Exhausted | NotSupported)
    }
}

/// What every operation on the tree returns.
pub type Result<T> = std::result::Result<T, Error>;

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotFound => "no such file or folder",
            Self::Exists => "the name is taken",
            Self::NotFolder => "not a folder",
            Self::IsFolder => "is a folder",
            Self::IsLink => "is a symbolic link",
            Self::NotLink => "not a symbolic link",
            Self::NotEmpty => "the folder is not empty",
            Self::NotPermitted => "operation not permitted",
            Self::Locked => "locked by a client",
            Self::AccessDenied => "permission denied",
            Self::ReadOnly => "the share or its file system is read-only",
            Self::NoSpace => "the disk is full",
            Self::NoRoomForAttribute => "the file has no room for so large an attribute",
            Self::QuotaExceeded => "the quota is used up",
            Self::FileTooLarge => "larger than the file system can hold",
            Self::NameTooLong => "the name is too long",
            Self::InvalidName => "the name has a character that no view can hold",
            Self::Invalid => "invalid argument",
            Self::CrossVolume => "on another volume",
            Self::TooManyLinks => "too many links",
            Self::Stale => "the file is gone",
            Self::Busy => "in use",
            Self::NotSupported => "not supported",
            Self::WouldBlock => "would have to wait",
            Self::RangeLocked => "the range is locked",
            Self::ShareConflict => "opened by somebody who denies this",
            Self::BeingRemoved => "about to be removed",
            Self::LeaseRecall(_) => "a lease is being recalled",
            Self::NoSuchAttribute => "no such attribute",
            Self::TooMany => "a limit of the server is reached",
            Self::Exhausted => "the server is short of memory or descriptors",
            Self::Io => "the disk failed",
            Self::Away => "the server that has it does not answer",
        })
    }
}

impl std::error::Error for Error {}
