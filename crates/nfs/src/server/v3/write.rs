//! WRITE, RFC 1813 3.3.7.

use vfs::Change;
use vfs::backend::Stability;

use super::MAX_DATA;
use super::target::size;
use crate::server::call::Call;
use crate::server::recalling::LockWait;
use crate::wire::v3::types::Status;
use crate::wire::v3::write::{Request, Res, ResOk, StableHow};

/// WRITE, RFC 1813 3.3.7. UNSTABLE data are in the host's page cache when the reply is sent. COMMIT
/// puts them on the disk.
pub(super) async fn write(call: &Call<'_>, request: &Request<'_>) -> Res {
    let target = call.target_to_change(&request.file)?;
    let stability = match request.stable {
        StableHow::UNSTABLE => Stability::Unstable,
        StableHow::DATA_SYNC => Stability::Data,
        StableHow::FILE_SYNC => Stability::File,
        _ => return Err(target.fail(Status::INVAL)),
    };
    let count = request.count.min(MAX_DATA);
    let Some(data) = request.data.get(..count as usize) else {
        return Err(target.fail(Status::INVAL));
    };
    request
        .offset
        .checked_add(u64::from(count))
        .ok_or(Status::FBIG)
        .and_then(size)
        .map_err(|status| target.fail(status))?;
    let data = call.message.slice_ref(data);
    let volume = &target.export.volume;
    let mut lock = LockWait::default();
    let written = loop {
        let (actor, found, data) = (&target.actor, &target.found, data.clone());
        let written = volume.write_only(actor, found, request.offset, data, stability).await;
        if !lock.again(&written).await {
            break written;
        }
    };
    match written.and_then(|before| Ok(Change { before, after: target.found.object.attributes()? })) {
        Ok(change) => Ok(ResOk {
            wcc: target.wcc(&change),
            count,
            committed: request.stable,
            verifier: call.service.verifier,
        }),
        Err(error) => Err(target.fail(error)),
    }
}
