//! FPWrite and FPWriteExt. The data of a write may be written while they arrive.

use std::sync::Arc;

use conn::InFlight;
use vfs::EarlyWrite;
use vfs::backend::Stability;
use wire::Reader;

use super::ClientFork;
use crate::server::reply::{Outcome, Reply};
use crate::server::request::Request;
use crate::server::sessions::session::Session;
use crate::server::transport::Transport;
use crate::wire::ResultCode;
use crate::wire::command;
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
    let WriteRange { at, count, end } = range_of(&wanted, base, width, (data.len(), request.transport))?;
    if count > 0 {
        let early = request.early.as_ref().filter(|early| Arc::ptr_eq(&early.fork, &fork));
        let early = early.map(|early| &early.write);
        open.write_rest(at, data.slice(..count), Stability::Unstable, early).await?;
    }
    Ok(Reply::encoded(|w| WriteReply { end }.encode(width, w)))
}

struct WriteRange {
    at: u64,
    count: usize,
    /// Where it ends, for the reply.
    end: i64,
}

/// Where a command writes whose offset counts from `base` and which comes with so many bytes.
fn range_of(
    wanted: &Write,
    base: i64,
    width: Width,
    (bytes, transport): (usize, Transport),
) -> Result<WriteRange, ResultCode> {
    let offset = base.checked_add(wanted.offset).ok_or(ResultCode::PARAM_ERROR)?;
    let (Ok(at), Ok(count)) = (u64::try_from(offset), usize::try_from(wanted.count)) else {
        return Err(ResultCode::PARAM_ERROR);
    };
    // Over ASP a client sends what fits, and learns from the reply how much that was.
    let count = match transport {
        Transport::Tcp if count > bytes => return Err(ResultCode::PARAM_ERROR),
        Transport::Tcp => count,
        Transport::AppleTalk => count.min(bytes),
    };
    // Offsets that the command cannot express have no space.
    let end = i64::try_from(count)
        .ok()
        .and_then(|count| offset.checked_add(count))
        .filter(|end| width.can_say(*end));
    let end = end.ok_or(ResultCode::DISK_FULL)?;
    Ok(WriteRange { at, count, end })
}

/// A write whose beginning is written before all of it has arrived.
pub(in crate::server) struct EarlyForkWrite {
    fork: Arc<ClientFork>,
    write: EarlyWrite,
}

impl EarlyForkWrite {
    /// Of the command that `body` begins with, for which so many bytes of data come. `None`: it is executed when it is complete.
    pub(in crate::server) fn begin(
        session: &Session,
        body: &[u8],
        bytes: usize,
        in_flight: &InFlight,
    ) -> Option<Self> {
        let (number, parameters) = body.split_first()?;
        let width = match *number {
            command::WRITE => Width::Bits32,
            command::WRITE_EXT => Width::Bits64,
            _ => return None,
        };
        if !Transport::Tcp.has(*number, session.version) {
            return None;
        }
        let wanted = Write::decode(width, &mut Reader::new(parameters)).ok()?;
        if wanted.from_end || session.life.replies.may_repeat() {
            return None; // its place is known when it is executed; it may have been executed on an earlier connection
        }
        let fork = session.forks.find(wanted.fork).ok()?;
        fork.require(AccessMode::WRITE).ok()?;
        let open = fork.open_to_change().ok()?;
        let WriteRange { at, count, .. } = range_of(&wanted, 0, width, (bytes, Transport::Tcp)).ok()?;
        let write = in_flight.may_begin(&fork.file()).then(|| open.begin_early(at, count as u64))??;
        Some(Self { fork, write })
    }

    /// Writes what has arrived of the data. False: no more before all of them are there.
    pub(in crate::server) fn write(&mut self, arrived: &[u8]) -> bool {
        self.fork.open().is_some_and(|open| open.write_early(&mut self.write, arrived))
    }
}
