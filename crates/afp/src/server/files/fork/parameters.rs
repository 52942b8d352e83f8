//! FPGetForkParms and FPSetForkParms.

use wire::Writer;

use super::open::{lengths, parameters};
use crate::server::files::params;
use crate::server::reply::{Outcome, Reply};
use crate::server::request::Request;
use crate::wire::ResultCode;
use crate::wire::fork::{AccessMode, GetForkParms, GetForkParmsReply, SetForkParms};

/// FPGetForkParms.
pub(super) async fn read(request: &Request) -> Outcome {
    let wanted = GetForkParms::decode(&mut request.reader())?;
    let fork = request.fork(wanted.fork).await?;
    let parameters = parameters(request, wanted.bitmap, fork.resource)?;
    let mut w = Writer::new();
    GetForkParmsReply { bitmap: wanted.bitmap, parameters: &[] }.encode(&mut w);
    if !wanted.bitmap.is_empty() {
        let (volume, target) = (&fork.volume, fork.target()?);
        params::put_target(volume, request.caller(), request.version(), &target, parameters, &mut w)?;
    }
    Ok(Reply { head: w.into_bytes(), ..Reply::empty() })
}

/// FPSetForkParms: sets the length of the open fork, and nothing else.
pub(super) async fn set(request: &Request) -> Outcome {
    let wanted = SetForkParms::decode(&mut request.reader())?;
    let fork = request.fork(wanted.fork).await?;
    fork.volume.may_change()?;
    fork.require(AccessMode::WRITE)?;
    let length = lengths(fork.resource);
    let is_one = wanted.bitmap.0.count_ones() == 1 && length.contains(wanted.bitmap);
    if !is_one {
        return Err(ResultCode::BITMAP_ERROR);
    }
    parameters(request, wanted.bitmap, fork.resource)?;
    let length = u64::try_from(wanted.length).map_err(|_| ResultCode::PARAM_ERROR)?;
    fork.open_to_change()?.resize(length).await?;
    Ok(Reply::empty())
}
