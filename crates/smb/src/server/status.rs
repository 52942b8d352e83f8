//! The one map from facts of the tree to NTSTATUS.

use vfs::Error;

use crate::wire::Status;

impl From<Error> for Status {
    /// The one place where a fact of the tree becomes a status, MS-ERREF 2.3.1.
    fn from(error: Error) -> Self {
        match error {
            Error::NotFound => Self::OBJECT_NAME_NOT_FOUND,
            Error::Exists => Self::OBJECT_NAME_COLLISION,
            Error::NotFolder => Self::NOT_A_DIRECTORY,
            Error::IsFolder => Self::FILE_IS_A_DIRECTORY,
            Error::IsLink => Self::STOPPED_ON_SYMLINK,
            Error::NotLink => Self::NOT_A_REPARSE_POINT,
            Error::NotEmpty => Self::DIRECTORY_NOT_EMPTY,
            Error::NotPermitted | Error::AccessDenied | Error::Locked => Self::ACCESS_DENIED,
            Error::ReadOnly => Self::MEDIA_WRITE_PROTECTED,
            // As NTFS and Samba answer: Windows has a sentence for users about a full disk only.
            Error::NoSpace | Error::QuotaExceeded => Self::DISK_FULL,
            Error::NoRoomForAttribute => Self::EA_TOO_LARGE,
            Error::FileTooLarge | Error::Invalid => Self::INVALID_PARAMETER,
            Error::NameTooLong | Error::InvalidName => Self::OBJECT_NAME_INVALID,
            Error::CrossVolume => Self::NOT_SAME_DEVICE,
            Error::TooManyLinks => Self::TOO_MANY_LINKS,
            Error::Stale => Self::FILE_DELETED,
            Error::Busy => Self::SHARING_VIOLATION,
            Error::BeingRemoved => Self::DELETE_PENDING,
            Error::NotSupported => Self::NOT_SUPPORTED,
            // A recall that a protocol did not wait for: come again.
            Error::WouldBlock | Error::LeaseRecall(_) => Self::RETRY,
            Error::RangeLocked => Self::FILE_LOCK_CONFLICT,
            Error::ShareConflict => Self::SHARING_VIOLATION,
            Error::NoSuchAttribute => Self::OBJECT_NAME_NOT_FOUND,
            Error::TooMany | Error::Exhausted => Self::INSUFFICIENT_RESOURCES,
            Error::Io => Self::UNEXPECTED_IO_ERROR,
            Error::Away => Self::HOST_UNREACHABLE,
        }
    }
}
