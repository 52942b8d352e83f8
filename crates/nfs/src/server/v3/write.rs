//! WRITE, RFC 1813 3.3.7. Its data may be written while they arrive.

use conn::InFlight;
use vfs::backend::Stability;
use vfs::{Change, EarlyWrite, Kind};

use super::target::size;
use super::{MAX_DATA, Target};
use crate::server::call::Call;
use crate::server::recalling::LockWait;
use crate::wire::v3::types::Status;
use crate::wire::v3::write::{Beginning, Request, Res, ResOk, StableHow};

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
    let early = call.early.as_ref().map(|early| &early.write);
    let written = loop {
        let (actor, found, at, data) = (&target.actor, &target.found, request.offset, data.clone());
        let written = volume.stateless().write_only(actor, found, at, data, stability, early).await;
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

/// A write whose beginning is written before all of it has arrived.
pub(in crate::server) struct EarlyFileWrite {
    target: Target,
    write: EarlyWrite,
}

impl EarlyFileWrite {
    /// Of a call whose data are still arriving. `None`: it is executed when it is complete.
    pub(in crate::server) fn begin(
        call: &Call<'_>,
        request: &Beginning<'_>,
        in_flight: &InFlight,
    ) -> Option<Self> {
        let count = request.count;
        if request.stable != StableHow::UNSTABLE || count != request.length || count > MAX_DATA {
            return None;
        }
        size(request.offset.checked_add(count.into())?).ok()?;
        if !in_flight.may_begin(&request.file) {
            return None;
        }
        let target = call.target(&request.file).ok()?;
        let is_file = target.found.attributes.kind == Kind::File && target.sidecar.is_none();
        if !target.writable || !is_file {
            return None;
        }
        let range = (request.offset, count.into());
        let write = target.export.volume.begin_early(&target.actor, &target.found, range)?;
        Some(Self { target, write })
    }

    /// Writes what has arrived of the data. False: no more before all of them are there.
    pub(in crate::server) fn write(&mut self, arrived: &[u8]) -> bool {
        let Target { export, actor, found, .. } = &self.target;
        export.volume.stateless().write_early(actor, found, &mut self.write, arrived)
    }
}
