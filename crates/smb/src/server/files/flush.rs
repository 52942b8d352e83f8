//! FLUSH, MS-SMB2 3.3.5.11. Every FLUSH here does what a Mac's full sync asks for.

use crate::server::clients::open::OpenedObject;
use crate::server::context::{Context, Outcome, Reply};
use crate::wire::flush::{Request, Response};
use crate::wire::security::AccessMask;

pub(in crate::server) async fn run(context: &Context) -> Outcome {
    let request = Request::decode(&context.message)?;
    let open = context.open(request.file).await?;
    match &open.what {
        OpenedObject::Pipe(_) => {}
        OpenedObject::File(file) => {
            open.require(AccessMask::WRITE_DATA | AccessMask::APPEND_DATA)?;
            file.open.sync().await?;
        }
    }
    Ok(Reply { file: Some(open.key), ..Reply::encoded(|w| Response.encode(w)) })
}
