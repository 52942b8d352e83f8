//! Byte ranges, Apple Filing Protocol Reference, FPByteRangeLock, FPByteRangeLockExt.

use vfs::state::{LockKind, LockRefusal, Range};

use super::fork::ClientFork;
use crate::server::reply::{Outcome, Reply};
use crate::server::request::Request;
use crate::wire::fork::Width;
use crate::wire::lock::{self, ByteRangeLock};
use crate::wire::{ResultCode, command};

/// Runs a command of this family.
pub(in crate::server) async fn run(request: &Request) -> Outcome {
    let width = match request.command {
        command::BYTE_RANGE_LOCK => Width::Bits32,
        command::BYTE_RANGE_LOCK_EXT => Width::Bits64,
        _ => return Err(ResultCode::CALL_NOT_SUPPORTED),
    };
    let wanted = ByteRangeLock::decode(width, &mut request.reader())?;
    let fork = request.session.forks.find(wanted.fork)?;
    let (start, range) = range(&fork, width, &wanted).await?;
    let open = fork.open_to_change()?;
    match wanted.unlock {
        true if open.unlock(range).await? => {}
        true => return Err(ResultCode::RANGE_NOT_LOCKED),
        false => match open.lock(range, LockKind::Exclusive).await {
            Ok(()) => {}
            Err(LockRefusal::Blocked(by)) if by.owner.open == Some(open.guard().id()) => {
                return Err(ResultCode::RANGE_OVERLAP);
            }
            Err(LockRefusal::Blocked(_)) => return Err(ResultCode::LOCK_ERROR),
            Err(LockRefusal::Elsewhere(_)) => return Err(ResultCode::FILE_BUSY),
            Err(LockRefusal::TooMany) => return Err(ResultCode::NO_MORE_LOCKS),
        },
    }
    Ok(Reply::encoded(|w| lock::Reply { start }.encode(width, w)))
}

/// The range, and its start.
async fn range(fork: &ClientFork, width: Width, wanted: &ByteRangeLock) -> Result<(i64, Range), ResultCode> {
    let base = match wanted.from_end {
        true => i64::try_from(fork.size().await?).map_err(|_| ResultCode::PARAM_ERROR)?,
        false => 0,
    };
    let start = base.checked_add(wanted.offset).filter(|start| *start >= 0 && width.can_say(*start));
    let start = start.ok_or(ResultCode::PARAM_ERROR)?;
    let range = match wanted.length {
        ByteRangeLock::TO_END => Some(Range::to_end(start as u64)),
        length => u64::try_from(length).ok().and_then(|length| Range::new(start as u64, length)),
    };
    Ok((start, range.ok_or(ResultCode::PARAM_ERROR)?))
}

#[cfg(test)]
mod tests;
