//! FPWrite and FPWriteExt.

use vfs::backend::Stability;
use wire::Reader;

use crate::server::reply::{Outcome, Reply};
use crate::server::request::Request;
use crate::server::transport::Transport;
use crate::wire::ResultCode;
use crate::wire::fork::{AccessMode, Width, Write, WriteReply};

pub(super) async fn run(request: &Request, width: Width) -> Outcome {
    let mut r = Reader::new(&request.body);
    let wanted = Write::decode(width, &mut r)?;
    // In a plain command, the data follow the parameters.
    let data =
        if request.data.is_empty() { request.body.slice(r.position()..) } else { request.data.clone() };
    let fork = request.fork(wanted.fork).await?;
    fork.require(AccessMode::WRITE)?;
    let open = fork.open_to_change()?;
    let base = match wanted.from_end {
        true => i64::try_from(open.size().await?).map_err(|_| ResultCode::PARAM_ERROR)?,
        false => 0,
    };
    let offset = base.checked_add(wanted.offset).ok_or(ResultCode::PARAM_ERROR)?;
    let (Ok(at), Ok(count)) = (u64::try_from(offset), usize::try_from(wanted.count)) else {
        return Err(ResultCode::PARAM_ERROR);
    };
    // Over ASP a client sends what fits, and learns from the reply how much that was.
    let count = match request.transport {
        Transport::Tcp if count > data.len() => return Err(ResultCode::PARAM_ERROR),
        Transport::Tcp => count,
        Transport::AppleTalk => count.min(data.len()),
    };
    // Offsets that the command cannot express have no space.
    let end = i64::try_from(count)
        .ok()
        .and_then(|count| offset.checked_add(count))
        .filter(|end| width.can_say(*end));
    let end = end.ok_or(ResultCode::DISK_FULL)?;
    if count > 0 {
        open.write_at(at, data.slice(..count), Stability::Unstable).await?;
    }
    Ok(Reply::encoded(|w| WriteReply { end }.encode(width, w)))
}
