//! READ, RFC 1813 3.3.6, and the memory that its data need.

use conn::Reservation;
use vfs::ReadData;
use wire::Writer;

use super::put;
use super::target::Target;
use crate::server::answer::Answer;
use crate::server::call::Call;
use crate::server::gss::Flavor;
use crate::server::recalling::LockWait;
use crate::wire::v3::read::{Request, Res, ResFail, ResOk};
use crate::wire::v3::types::{Fail, Status};

/// READ, RFC 1813 3.3.6. The data follow the results, straight from the page cache if possible.
pub(super) async fn read(call: &Call<'_>, request: &Request<'_>, w: &mut Writer) -> Answer {
    let target = match call.target(&request.file) {
        Ok(target) => target,
        Err(status) => return put(w, &ResFail::from(status)),
    };
    match data(&target, request, call.max_data()).await {
        Ok(data) => {
            let attributes = Some(target.shown(&target.found.object, &data.attributes));
            let count = data.payload.len() as u32; // at most MAX_DATA
            let answer = put(w, &Res::Ok(ResOk { attributes, count, eof: data.end }));
            Answer { data: Some(data.payload), ..answer }
        }
        Err(status) => put(w, &Fail::new(status, target.attributes())),
    }
}

/// Memory for the data. Data in the page cache are sent from there, so they need no memory.
pub(super) async fn reserved(call: &Call<'_>, request: &Request<'_>) -> Option<Reservation> {
    let length = request.count.min(call.max_data()) as usize;
    if matches!(call.flavor(), Flavor::Krb5i | Flavor::Krb5p) {
        return call.memory.reserve(length).await; // they are protected in memory
    }
    let is_resident = |target: Target| {
        let (found, offset) = (&target.found, request.offset);
        target.sidecar.is_none() && target.export.volume.is_resident(found, offset, length)
    };
    call.memory.reserve_unless(length, || call.target(&request.file).is_ok_and(is_resident)).await
}

async fn data(target: &Target, request: &Request<'_>, most: u32) -> Result<ReadData, Status> {
    let length = request.count.min(most) as usize;
    let (volume, actor, found) = (&target.export.volume, &target.actor, &target.found);
    if let Some(sidecar) = &target.sidecar {
        return Ok(volume.read_sidecar(actor, (found, sidecar), request.offset, length)?);
    }
    let mut lock = LockWait::default();
    loop {
        let read = volume.read(actor, found, request.offset, length).await;
        if !lock.again(&read).await {
            return Ok(read?);
        }
    }
}
