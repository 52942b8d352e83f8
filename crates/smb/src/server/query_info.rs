//! QUERY_INFO, MS-SMB2 3.3.5.20.

mod file;
mod file_system;
mod pipe;

pub(super) use self::file::path_of;

use super::context::{Context, Failure, Outcome, Reply};
use super::open::Open;
use crate::wire::fscc::{FileClass, FsClass};
use crate::wire::query_info::{Request, Response};
use crate::wire::values::InfoType;
use crate::wire::{Status, error};

/// An answer before it is fitted to what the client has room for.
pub(super) struct Answer {
    bytes: Vec<u8>,
    /// What there must be room for; the rest may be cut off, with a warning.
    least: usize,
}

impl Answer {
    /// One that is of use only as a whole.
    fn whole(bytes: Vec<u8>) -> Self {
        Self { least: bytes.len(), bytes }
    }
}

pub(super) async fn run(context: &Context) -> Outcome {
    let message = context.message.clone();
    let request = Request::decode(&message)?;
    context.may_transfer(request.output_buffer_length.max(request.input.len() as u32))?;
    let open = context.open(request.file)?;
    let answer = match request.info_type {
        InfoType::FILE => {
            file::answer(context, &open, FileClass(request.information_class), &request).await?
        }
        InfoType::FILE_SYSTEM => file_system::answer(context, FsClass(request.information_class))?,
        InfoType::SECURITY | InfoType::QUOTA => return Err(Status::NOT_SUPPORTED.into()),
        _ => return Err(Status::INVALID_PARAMETER.into()),
    };
    fit(context, &open, answer, request.output_buffer_length as usize)
}

/// Cuts an answer off where the client has no room for more, MS-SMB2 3.3.5.20.1.
fn fit(context: &Context, open: &Open, answer: Answer, room: usize) -> Outcome {
    if room < answer.least {
        return Err(Status::INFO_LENGTH_MISMATCH.into());
    }
    let _ = context;
    let mut data = answer.bytes;
    let status = if data.len() > room { Status::BUFFER_OVERFLOW } else { Status::SUCCESS };
    data.truncate(room);
    let response = Response { data };
    Ok(Reply { status, file: Some(open.key), ..Reply::encoded(|w| response.encode(w)) })
}

/// Too little room, and how much is needed.
pub(super) fn too_small(context: &Context, needed: usize) -> Failure {
    let contexts = context.connection.negotiated().is_some_and(|agreed| agreed.dialect.has_error_contexts());
    Failure {
        status: Status::BUFFER_TOO_SMALL,
        body: error::Response::required_length(needed as u32, contexts),
    }
}
