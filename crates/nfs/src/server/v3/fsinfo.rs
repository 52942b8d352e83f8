//! FSINFO, RFC 1813 3.3.19: the sizes that the server prefers and allows.

use super::MAX_LISTING;
use crate::server::call::Call;
use crate::wire::v3::fsinfo::{self as bits, Request, Res, ResOk};
use crate::wire::v3::types::NfsTime;

/// A size that suits most clients' page caches.
const PREFERRED_LISTING: u32 = 64 * 1024;
const _: () = assert!(PREFERRED_LISTING <= MAX_LISTING);

/// FSINFO, RFC 1813 3.3.19.
pub(super) fn fsinfo(call: &Call<'_>, request: &Request<'_>) -> Res {
    let target = call.target(&request.root)?;
    let limits = target.export.volume.limits();
    Ok(ResOk {
        attributes: target.attributes(),
        rtmax: call.max_data(),
        rtpref: call.max_data(),
        rtmult: 4096,
        wtmax: call.max_data(),
        wtpref: call.max_data(),
        wtmult: 4096,
        dtpref: PREFERRED_LISTING.min(call.max_listing()),
        max_file_size: limits.file_size,
        time_delta: NfsTime { seconds: 0, nanoseconds: limits.time_step_ns },
        properties: bits::FSF3_LINK | bits::FSF3_SYMLINK | bits::FSF3_HOMOGENEOUS | bits::FSF3_CANSETTIME,
    })
}
