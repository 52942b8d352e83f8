use vfs::ReadData;
use wire::Writer;

use super::put;
use super::target::Target;
use crate::server::rpc::{Answered, Call};
use crate::wire::v3::read::{Request, Res, ResFail, ResOk};
use crate::wire::v3::types::{Fail, Status};

/// READ, RFC 1813 3.3.6. The data follows the results, straight from the page cache where it can.
pub(super) async fn read(call: &Call<'_>, w: &mut Writer) -> Answered {
    let request: Request<'_> = call.arguments()?;
    let target = match call.target(&request.file) {
        Ok(target) => target,
        Err(status) => {
            put(w, &ResFail::new(status, None));
            return Ok(None);
        }
    };
    match data(&target, &request, call.max_data()).await {
        Ok(data) => {
            let attributes = Some(target.fattr(&data.attributes));
            let count = data.payload.len() as u32; // at most MAX_DATA
            put(w, &Res::Ok(ResOk { attributes, count, eof: data.end }));
            Ok(Some(data.payload))
        }
        Err(status) => {
            put(w, &Fail::new(status, target.attributes()));
            Ok(None)
        }
    }
}

async fn data(target: &Target, request: &Request<'_>, most: u32) -> Result<ReadData, Status> {
    let length = request.count.min(most) as usize;
    Ok(target.export.volume.read(&target.actor, &target.found, request.offset, length).await?)
}
