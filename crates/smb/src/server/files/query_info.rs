//! QUERY_INFO, MS-SMB2 3.3.5.20.

mod ea;
mod file;
mod file_system;
mod pipe;
mod security;

use crate::server::clients::open::{Open, OpenedObject};
use crate::server::context::{Context, Failure, Outcome, Reply};
use crate::wire::fscc::{FileClass, FsClass};
use crate::wire::query_info::{Request, Response};
use crate::wire::values::InfoType;
use crate::wire::{Status, error};

/// An answer before it is cut to the client's room.
pub(in crate::server) struct Answer {
    bytes: Vec<u8>,
    /// The bytes that must fit. The rest may be cut off, with a warning.
    least: usize,
}

impl Answer {
    /// An answer that must fit as a whole.
    fn whole(bytes: Vec<u8>) -> Self {
        Self { least: bytes.len(), bytes }
    }

    /// An answer whose end may be cut off. Windows requires room for its structure of `least`
    /// bytes, with the structure's own padding.
    fn open_ended(bytes: Vec<u8>, least: usize) -> Self {
        Self { least: least.min(bytes.len()), bytes }
    }
}

pub(in crate::server) async fn run(context: &Context) -> Outcome {
    let message = context.message.clone();
    let request = Request::decode(&message)?;
    context.may_transfer(request.output_buffer_length.max(request.input.len() as u32))?;
    let open = context.open(request.file).await?;
    let room = request.output_buffer_length as usize;
    let class = FileClass(request.information_class);
    let answer = match (request.info_type, &open.what) {
        (InfoType::FILE, OpenedObject::Pipe(end)) => pipe::answer(&open, end, class)?,
        (InfoType::FILE, OpenedObject::File(file)) if class == FileClass::FULL_EA => {
            return ea::answer(&open, file, &request);
        }
        (InfoType::FILE, OpenedObject::File(_)) => file::answer(context, &open, class).await?,
        (InfoType::FILE_SYSTEM, _) => {
            file_system::answer(context, &open, FsClass(request.information_class))?
        }
        (InfoType::SECURITY, _) => return security::answer(context, &open, &request),
        // MS-SMB2 3.3.5.20.4: where quotas are not kept.
        (InfoType::QUOTA, _) => return Err(Status::NOT_SUPPORTED.into()),
        _ => return Err(Status::INVALID_PARAMETER.into()),
    };
    Ok(Reply { facts: context.facts_before.clone(), ..fit(&open, answer, room)? })
}

/// Cuts an answer to the client's room, MS-SMB2 3.3.5.20.1.
fn fit(open: &Open, answer: Answer, room: usize) -> Outcome {
    if room < answer.least {
        return Err(Status::INFO_LENGTH_MISMATCH.into());
    }
    let mut data = answer.bytes;
    let status = if data.len() > room { Status::BUFFER_OVERFLOW } else { Status::SUCCESS };
    data.truncate(room);
    Ok(reply(open, status, data))
}

fn reply(open: &Open, status: Status, data: Vec<u8>) -> Reply {
    let response = Response { data };
    Reply { status, file: Some(open.key), ..Reply::encoded(|w| response.encode(w)) }
}

/// The failure of a request with too little room: it says how much is needed.
fn too_small(context: &Context, needed: usize) -> Failure {
    let contexts = context.connection.negotiated().is_some_and(|agreed| agreed.dialect.has_error_contexts());
    Failure {
        status: Status::BUFFER_TOO_SMALL,
        body: error::Response::required_length(needed as u32, contexts),
    }
}
