//! READ, MS-SMB2 3.3.5.12.

use wire::Writer;

use crate::server::clients::open::OpenedObject;
use crate::server::context::{Context, Outcome, Reply};
use crate::wire::Status;
use crate::wire::read::{Head, Request};
use crate::wire::security::AccessMask;

/// Offsets are signed where files are read, MS-FSA 2.1.5.3.
const MAX_END: u64 = i64::MAX as u64;

pub(in crate::server) async fn run(context: &Context) -> Outcome {
    let request = Request::decode(&context.message)?;
    context.may_transfer(request.length)?;
    let open = context.open(request.file).await?;
    open.require(AccessMask::READ_DATA | AccessMask::EXECUTE)?;
    if request.channel != 0 {
        return Err(Status::INVALID_PARAMETER.into());
    }
    let file = match &open.what {
        OpenedObject::File(file) => file,
        OpenedObject::Pipe(_) => {
            return crate::server::pipes::pipe_end::read(context, open, request.length as usize).await;
        }
    };
    if request.offset.checked_add(request.length.into()).is_none_or(|end| end > MAX_END) {
        return Err(Status::INVALID_PARAMETER.into());
    }
    let length = request.length as usize;
    let reserved = context.reserve(length, || file.open.is_resident(request.offset, length)).await?;
    let data = file.open.read_at(file.begin_of_read(request.offset)?, length).await?.payload;
    let count = data.len() as u32; // at most what the request asks for
    if count < request.minimum_count || (count == 0 && request.length > 0) {
        return Err(Status::END_OF_FILE.into());
    }
    file.set_position(request.offset + u64::from(count));
    let mut head = Writer::onto(Vec::with_capacity(Head::LEN));
    Head::of(count).encode(&mut head);
    let body = head.into_bytes();
    Ok(Reply { data: Some(data), file: Some(open.key), reserved, ..Reply::of(body) })
}
