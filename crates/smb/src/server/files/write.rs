//! WRITE, MS-SMB2 3.3.5.13.

use vfs::backend::Stability;

use crate::server::clients::open::OpenedObject;
use crate::server::context::{Context, Outcome, Reply};
use crate::wire::Status;
use crate::wire::security::AccessMask;
use crate::wire::write::{Flags, Request, Response};

/// Offsets are signed where files are written, MS-FSA 2.1.5.4. Its MAXFILESIZE is that of one file
/// system, 16 TiB. Here the host decides.
const MAX_END: u64 = i64::MAX as u64;

pub(in crate::server) async fn run(context: &Context) -> Outcome {
    let request = Request::decode(&context.message)?;
    let length = request.data.len() as u32;
    context.may_transfer(length)?;
    let open = context.open(request.file).await?;
    open.require(AccessMask::WRITE_DATA | AccessMask::APPEND_DATA)?;
    if request.channel != 0 {
        return Err(Status::INVALID_PARAMETER.into());
    }
    let data = context.message.slice(request.data.clone());
    match &open.what {
        OpenedObject::Pipe(pipe) => pipe.write(&data)?,
        OpenedObject::File(file) => {
            if request.offset.checked_add(length.into()).is_none_or(|end| end > MAX_END) {
                return Err(Status::INVALID_PARAMETER.into());
            }
            let through = open.writes_through() || request.flags.contains(Flags::WRITE_THROUGH);
            let stability = if through { Stability::File } else { Stability::Unstable };
            file.write(request.offset, data, stability).await?;
        }
    }
    Ok(Reply { file: Some(open.key), ..Reply::encoded(|w| Response { count: length }.encode(w)) })
}
