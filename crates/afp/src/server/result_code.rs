//! The one map from facts of the tree to result codes.

use vfs::Error;
use vfs::index::IndexError;

use crate::wire::ResultCode;

impl From<Error> for ResultCode {
    /// The only map from errors of `vfs` to results, Apple Filing Protocol Reference, "AFP Result
    /// Codes".
    fn from(error: Error) -> Self {
        match error {
            Error::NotFound | Error::Stale => Self::OBJECT_NOT_FOUND,
            Error::Exists => Self::OBJECT_EXISTS,
            Error::NotFolder | Error::IsFolder | Error::IsLink | Error::NotLink => Self::OBJECT_TYPE_ERROR,
            Error::NotEmpty => Self::DIR_NOT_EMPTY,
            Error::NotPermitted | Error::AccessDenied => Self::ACCESS_DENIED,
            Error::Locked => Self::OBJECT_LOCKED,
            Error::ReadOnly => Self::VOLUME_LOCKED,
            Error::NoSpace | Error::QuotaExceeded | Error::FileTooLarge => Self::DISK_FULL,
            // No result says so. That of a full disk would have a Mac stop a copy as a whole.
            Error::NoRoomForAttribute => Self::MISC_ERROR,
            Error::NameTooLong | Error::InvalidName | Error::Invalid => Self::PARAM_ERROR,
            Error::CrossVolume => Self::DIFFERENT_VOLUMES,
            Error::TooManyLinks | Error::Io | Error::Away => Self::MISC_ERROR,
            Error::Busy | Error::BeingRemoved => Self::FILE_BUSY,
            Error::NotSupported => Self::CALL_NOT_SUPPORTED,
            // A recall that a command did not wait for, or has waited for in vain.
            Error::WouldBlock | Error::LeaseRecall(_) => Self::FILE_BUSY,
            Error::RangeLocked => Self::LOCK_ERROR,
            Error::ShareConflict => Self::DENY_CONFLICT,
            Error::NoSuchAttribute => Self::ITEM_NOT_FOUND,
            Error::TooMany => Self::NO_MORE_LOCKS,
            Error::Exhausted => Self::MISC_ERROR,
        }
    }
}

impl From<IndexError> for ResultCode {
    fn from(error: IndexError) -> Self {
        tracing::warn!(%error, "the index failed");
        match error {
            // No more files can get a number: the result is the one of a full disk.
            IndexError::Exhausted | IndexError::TooMany => Self::DISK_FULL,
            IndexError::TooLong => Self::PARAM_ERROR,
            IndexError::InUse { .. }
            | IndexError::Newer { .. }
            | IndexError::Damaged { .. }
            | IndexError::Shared(_)
            | IndexError::Disk { .. } => Self::MISC_ERROR,
        }
    }
}

impl From<wire::Malformed> for ResultCode {
    fn from(_: wire::Malformed) -> Self {
        Self::PARAM_ERROR
    }
}
