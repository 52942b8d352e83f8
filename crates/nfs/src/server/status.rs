//! The one map from facts of the tree to statuses of NFSv3. `v4/fail.rs` has the one of NFSv4.

use vfs::Error;

use crate::wire::v3::types::Status;

/// The status of RFC 1813 2.6 that describes a tree error best.
impl From<Error> for Status {
    fn from(error: Error) -> Self {
        match error {
            Error::NotFound => Self::NOENT,
            Error::Exists => Self::EXIST,
            Error::NotFolder => Self::NOTDIR,
            Error::IsFolder => Self::ISDIR,
            Error::IsLink => Self::INVAL,
            Error::NotLink => Self::INVAL,
            Error::NotEmpty => Self::NOTEMPTY,
            // UNIX has this status for a file with such a flag.
            Error::NotPermitted | Error::Locked => Self::PERM,
            Error::AccessDenied => Self::ACCES,
            Error::ReadOnly => Self::ROFS,
            Error::NoSpace => Self::NOSPC,
            Error::QuotaExceeded => Self::DQUOT,
            // Not NOSPC: the file is at its limit, and others are not.
            Error::NoRoomForAttribute | Error::FileTooLarge => Self::FBIG,
            Error::NameTooLong => Self::NAMETOOLONG,
            Error::InvalidName => Self::INVAL,
            Error::Invalid => Self::INVAL,
            Error::CrossVolume => Self::XDEV,
            Error::TooManyLinks => Self::MLINK,
            Error::Stale => Self::STALE,
            // A mount point, a share in a share, or a program that runs: nothing says that it will go.
            Error::Busy => Self::ACCES,
            Error::NotSupported => Self::NOTSUPP,
            // The client waits and repeats the call: the obstacle is expected to go.
            Error::WouldBlock | Error::LeaseRecall(_) | Error::Exhausted => Self::JUKEBOX,
            // Nothing says when the other client ends them. Reads and writes have waited for a short lock.
            Error::RangeLocked | Error::ShareConflict => Self::ACCES,
            // The removal may take long, so the client should not wait, and the file still exists.
            Error::BeingRemoved => Self::ACCES,
            Error::NoSuchAttribute => Self::NOENT,
            // A limit that may last.
            Error::TooMany => Self::SERVERFAULT,
            Error::Io | Error::Away => Self::IO,
        }
    }
}
