//! FPRead and FPReadExt.

use vfs::Payload;

use crate::server::reply::{Outcome, Reply};
use crate::server::request::Request;
use crate::wire::ResultCode;
use crate::wire::fork::{AccessMode, Read, Width};

pub(super) async fn run(request: &Request, width: Width) -> Outcome {
    let wanted = Read::decode(width, &mut request.reader())?;
    let fork = request.fork(wanted.fork).await?;
    fork.require(AccessMode::READ)?;
    let (Ok(offset), Ok(count)) = (u64::try_from(wanted.offset), u64::try_from(wanted.count)) else {
        return Err(ResultCode::PARAM_ERROR);
    };
    if count == 0 {
        return Ok(Reply::empty());
    }
    let count = count.min(request.transport.longest_read()) as usize;
    let is_resident = || wanted.newline_mask == 0 && fork.is_resident(offset, count);
    let reserved = request.memory.reserve_unless(count, is_resident).await.ok_or(ResultCode::MISC_ERROR)?;
    let data = fork.read(offset, count).await?;
    let end = data.len() < count;
    let reply = match wanted.newline_mask {
        0 => with_data(data, end),
        _ => up_to_newline(data, end, &wanted)?,
    };
    Ok(Reply { reserved, ..reply })
}

/// The data. At the end of the fork there are fewer data than requested, and the result says so.
fn with_data(data: Payload, end: bool) -> Reply {
    let reply = Reply { data: Some(data), ..Reply::empty() };
    if end { reply.with(ResultCode::EOF_ERROR) } else { reply }
}

/// The data up to and including the first newline.
fn up_to_newline(data: Payload, end: bool, wanted: &Read) -> Outcome {
    let mut bytes = Vec::with_capacity(data.len());
    data.append_to(&mut bytes)?;
    let newline = bytes.iter().position(|byte| byte & wanted.newline_mask == wanted.newline);
    let Some(at) = newline else { return Ok(with_data(Payload::Bytes(bytes), end)) };
    bytes.truncate(at + 1);
    Ok(with_data(Payload::Bytes(bytes), false))
}
