use vfs::Error;

use crate::wire::v3::types::Status;

/// A fact of the tree as the status of RFC 1813 2.6 that says it best.
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
            // As UNIX says it of a file with such a flag.
            Error::NotPermitted | Error::Locked => Self::PERM,
            Error::AccessDenied => Self::ACCES,
            Error::ReadOnly => Self::ROFS,
            Error::NoSpace => Self::NOSPC,
            Error::QuotaExceeded => Self::DQUOT,
            Error::FileTooLarge => Self::FBIG,
            Error::NameTooLong => Self::NAMETOOLONG,
            Error::InvalidName => Self::INVAL,
            Error::Invalid => Self::INVAL,
            Error::CrossVolume => Self::XDEV,
            Error::TooManyLinks => Self::MLINK,
            Error::Stale => Self::STALE,
            // The client waits and asks again: what stands in the way is expected to go.
            Error::Busy => Self::JUKEBOX,
            Error::NotSupported => Self::NOTSUPP,
            Error::WouldBlock => Self::JUKEBOX,
            Error::RangeLocked => Self::JUKEBOX,
            Error::ShareConflict => Self::ACCES,
            // It may take long, so waiting is no answer; and it is not gone yet.
            Error::BeingRemoved => Self::ACCES,
            Error::LeaseRecall(_) => Self::JUKEBOX,
            Error::NoSuchAttribute => Self::NOENT,
            Error::TooMany => Self::JUKEBOX,
            Error::Io => Self::IO,
        }
    }
}
