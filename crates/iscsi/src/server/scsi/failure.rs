//! The only map from errors of `vfs` to sense data.

use vfs::Error;

use super::CommandRefusal;
use crate::wire::scsi::{Asc, Key, Sense, Status};

impl From<Error> for CommandRefusal {
    fn from(error: Error) -> Self {
        let sense = match error {
            // SBC-3 4.7.3.6: a thin unit has no room for the block.
            Error::NoSpace | Error::QuotaExceeded | Error::FileTooLarge => {
                Sense::new(Key::DATA_PROTECT, Asc::SPACE_ALLOCATION_FAILED)
            }
            Error::ReadOnly | Error::Locked | Error::AccessDenied | Error::NotPermitted => {
                Sense::new(Key::DATA_PROTECT, Asc::WRITE_PROTECTED)
            }
            Error::Stale | Error::NotFound | Error::BeingRemoved => {
                Sense::new(Key::NOT_READY, Asc::MEDIUM_NOT_PRESENT)
            }
            Error::RangeLocked | Error::ShareConflict | Error::LeaseRecall(_) | Error::Busy => {
                return Self::Status(Status::BUSY);
            }
            Error::TooMany | Error::Exhausted => return Self::Status(Status::TASK_SET_FULL),
            Error::Io | Error::Away | Error::WouldBlock => {
                Sense::new(Key::MEDIUM_ERROR, Asc::UNRECOVERED_READ_ERROR)
            }
            Error::Exists
            | Error::NotFolder
            | Error::IsFolder
            | Error::IsLink
            | Error::NotLink
            | Error::NotEmpty
            | Error::NameTooLong
            | Error::InvalidName
            | Error::Invalid
            | Error::CrossVolume
            | Error::TooManyLinks
            | Error::NotSupported
            | Error::NoRoomForAttribute
            | Error::NoSuchAttribute => Sense::new(Key::HARDWARE_ERROR, Asc::INTERNAL_TARGET_FAILURE),
        };
        Self::Check(sense)
    }
}

impl CommandRefusal {
    /// The map for failed writes, which have their own codes.
    pub(crate) fn writing(error: Error) -> Self {
        match error {
            Error::Io | Error::Away | Error::WouldBlock => {
                Sense::new(Key::MEDIUM_ERROR, Asc::WRITE_ERROR).into()
            }
            other => other.into(),
        }
    }
}
