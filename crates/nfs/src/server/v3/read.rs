use conn::Reservation;
use vfs::{Access, Payload, ReadData};
use wire::Writer;

use super::target::Target;
use crate::server::rpc::{Answered, Call};
use crate::wire::v3::read::{Request, Res, ResFail, ResOk};
use crate::wire::v3::types::{Fail, Status};
use crate::wire::xdr::Encode;

/// READ, RFC 1813 3.3.6. The data follow the results, straight from the page cache if possible.
pub(super) async fn read(call: &Call<'_>, w: &mut Writer) -> Answered {
    let request: Request<'_> = call.arguments()?;
    let target = match call.target(&request.file) {
        Ok(target) => target,
        Err(status) => {
            ResFail::new(status, None).encode(w);
            return Ok(None);
        }
    };
    match data(&target, &request, call.max_data()).await {
        Ok(data) => {
            let attributes = Some(target.shown(&target.found.object, &data.attributes));
            let count = data.payload.len() as u32; // at most MAX_DATA
            Res::Ok(ResOk { attributes, count, eof: data.end }).encode(w);
            Ok(Some(data.payload))
        }
        Err(status) => {
            Fail::new(status, target.attributes()).encode(w);
            Ok(None)
        }
    }
}

/// Memory for the data. Data in the page cache are sent from there, so they need no memory.
pub(super) async fn reserved(call: &Call<'_>, request: &Request<'_>) -> Option<Reservation> {
    let length = request.count.min(call.max_data()) as usize;
    let is_resident = |target: Target| {
        let (found, offset) = (&target.found, request.offset);
        target.sidecar.is_none() && target.export.volume.is_resident(found, offset, length)
    };
    call.memory.reserve_unless(length, || call.target(&request.file).is_ok_and(is_resident)).await
}

async fn data(target: &Target, request: &Request<'_>, most: u32) -> Result<ReadData, Status> {
    let length = request.count.min(most) as usize;
    if let Some(sidecar) = &target.sidecar {
        return sidecar_data(target, sidecar, request.offset, length);
    }
    Ok(target.export.volume.read(&target.actor, &target.found, request.offset, length).await?)
}

/// The data of a sidecar that is not on the disk. A caller that may read its file may read the
/// sidecar.
pub(in crate::server) fn sidecar_data(
    target: &Target,
    sidecar: &[u8],
    offset: u64,
    length: usize,
) -> Result<ReadData, Status> {
    let (actor, attributes) = (&target.actor, target.found.attributes);
    let granted = target.export.volume.access(&actor.caller, &target.found, Access::READ)?;
    if !granted.contains(Access::READ) && actor.caller.uid != attributes.uid {
        return Err(Status::ACCES);
    }
    let left = usize::try_from(offset).ok().and_then(|at| sidecar.get(at..)).unwrap_or_default();
    let bytes = left[..length.min(left.len())].to_vec();
    let end = bytes.len() == left.len();
    Ok(ReadData { payload: Payload::Bytes(bytes), end, attributes })
}
