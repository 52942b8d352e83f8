//! Why an operation failed, and the one map from facts of the tree to the statuses of NFSv4.

use vfs::{Error, FileId};

use crate::wire::v3::types::Status as Status3;
use crate::wire::v4::OperationNumber;
use crate::wire::v4::types::Status;

/// A failed operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fail {
    pub(super) status: Status,
    /// What follows the status. Most failures have nothing.
    pub(super) body: Vec<u8>,
    /// The file of which another client gives back a lease. The operation is tried again after that.
    pub(super) recalling: Option<FileId>,
}

impl Fail {
    /// A failure whose results are more than a status.
    pub(super) fn with(status: Status, body: Vec<u8>) -> Self {
        Self { status, body, recalling: None }
    }

    /// The same failure, with another status for an open of another client that is in the way.
    pub(super) fn denied_as(mut self, status: Status) -> Self {
        if self.status == Status::SHARE_DENIED {
            self.status = status;
        }
        self
    }
}

impl From<Status> for Fail {
    fn from(status: Status) -> Self {
        Self::with(status, Vec::new())
    }
}

impl From<Status3> for Fail {
    fn from(status: Status3) -> Self {
        Status::from(status).into()
    }
}

impl From<Error> for Fail {
    fn from(error: Error) -> Self {
        let recalling = if let Error::LeaseRecall(file) = error { Some(file) } else { None };
        Self { recalling, ..Status::from(error).into() }
    }
}

/// The status of an operation in a minor version. The statuses here are those of minor version 1, unless it has dropped them:
/// RFC 8881 15.1.16.
pub(super) fn in_minor(status: Status, minor: u32, number: Option<OperationNumber>) -> Status {
    use OperationNumber as Op;
    match (minor, status) {
        (0, Status::WRONG_TYPE) if number == Some(Op::OPEN) => Status::SYMLINK,
        (0, Status::WRONG_TYPE) => Status::INVAL,
        (0, Status::DELEG_REVOKED) => Status::BAD_STATEID,
        (0, Status::SYMLINK) if number == Some(Op::LOOKUPP) => Status::NOTDIR,
        (0, Status::SYMLINK) if !matches!(number, Some(Op::OPEN | Op::LOOKUP | Op::SECINFO)) => Status::INVAL,
        (0, _) => status,
        // Clients that are silent lose their places.
        (_, Status::RESOURCE) if matches!(number, Some(Op::EXCHANGE_ID | Op::CREATE_SESSION)) => {
            Status::DELAY
        }
        // A limit that is reached may last as long as the client that asks: to try again helps nobody.
        (_, Status::RESOURCE) => Status::SERVERFAULT,
        (_, Status::RESTOREFH) => Status::NOFILEHANDLE,
        (_, Status::STALE_STATEID) => Status::BAD_STATEID,
        _ => status,
    }
}

/// The numbers that both versions have mean the same. RFC 7530 has no other names for the rest.
impl From<Status3> for Status {
    fn from(status: Status3) -> Self {
        match status {
            Status3::NODEV | Status3::REMOTE => Self::IO,
            Status3::NOT_SYNC => Self::NOT_SAME,
            Status3(number) => Self(number),
        }
    }
}

/// The status of RFC 7530 13.1 that describes a tree error best.
impl From<Error> for Status {
    fn from(error: Error) -> Self {
        match error {
            Error::NotFound => Self::NOENT,
            Error::Exists => Self::EXIST,
            Error::NotFolder => Self::NOTDIR,
            Error::IsFolder => Self::ISDIR,
            Error::IsLink => Self::SYMLINK,
            Error::NotLink => Self::INVAL,
            Error::NotEmpty => Self::NOTEMPTY,
            Error::NotPermitted | Error::Locked => Self::PERM,
            Error::AccessDenied => Self::ACCESS,
            Error::ReadOnly => Self::ROFS,
            Error::NoSpace => Self::NOSPC,
            Error::QuotaExceeded => Self::DQUOT,
            // Not NOSPC: the file is at its limit, and others are not. SETXATTR has a status of its own.
            Error::NoRoomForAttribute | Error::FileTooLarge => Self::FBIG,
            Error::NameTooLong => Self::NAMETOOLONG,
            Error::InvalidName => Self::BADNAME,
            Error::Invalid => Self::INVAL,
            Error::CrossVolume => Self::XDEV,
            Error::TooManyLinks => Self::MLINK,
            Error::Stale => Self::STALE,
            // A mount point, a share in a share, or a program that runs: nothing says that it will go.
            Error::Busy => Self::ACCESS,
            // The client waits and repeats the call: the obstacle is expected to go.
            Error::WouldBlock | Error::LeaseRecall(_) | Error::Exhausted => Self::DELAY,
            Error::NotSupported => Self::NOTSUPP,
            Error::RangeLocked => Self::LOCKED,
            Error::ShareConflict => Self::SHARE_DENIED,
            // The removal may take long, so the client should not wait, and the file still exists.
            Error::BeingRemoved => Self::ACCESS,
            Error::NoSuchAttribute => Self::NOENT,
            Error::TooMany => Self::RESOURCE,
            Error::Io | Error::Away => Self::IO,
        }
    }
}
