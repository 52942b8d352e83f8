//! A client's end of a named pipe.

use super::context::{Context, Outcome, Reply};
use crate::wire::Status;
use crate::wire::create::Request;

/// A client's end of a named pipe.
pub(super) struct PipeEnd;

impl PipeEnd {
    /// Reads what the other end has written.
    pub(super) fn read(&self, _most: usize) -> Result<Reply, Status> {
        Err(Status::NOT_SUPPORTED)
    }

    /// Writes to the other end.
    pub(super) fn write(&self, _data: &[u8]) -> Result<(), Status> {
        Err(Status::NOT_SUPPORTED)
    }
}

/// Opens the pipe that a CREATE on `IPC$` names.
pub(super) fn open(_context: &Context, _request: &Request<'_>) -> Outcome {
    Err(Status::OBJECT_NAME_NOT_FOUND.into())
}
