//! WRITE, MS-SMB2 3.3.5.13. The data of a request may be written while they arrive.

use std::sync::Arc;

use conn::InFlight;
use vfs::EarlyWrite;
use vfs::backend::Stability;

use crate::server::clients::open::{Open, OpenedObject};
use crate::server::connection::Connection;
use crate::server::context::{Context, Outcome, Reply, TreeScope, may_transfer};
use crate::wire::Status;
use crate::wire::header::Header;
use crate::wire::security::AccessMask;
use crate::wire::write::{Flags, Request, Response};

/// Offsets are signed where files are written, MS-FSA 2.1.5.4. Its MAXFILESIZE is that of one file
/// system, 16 TiB. Here the host decides.
const MAX_END: u64 = i64::MAX as u64;

pub(in crate::server) async fn run(context: &Context) -> Outcome {
    let request = Request::decode(&context.message)?;
    let length = request.data.len() as u32;
    context.may_transfer(length)?;
    let open = context.open(request.file).await?;
    open.require(AccessMask::WRITE_DATA | AccessMask::APPEND_DATA)?;
    if request.channel != 0 {
        return Err(Status::INVALID_PARAMETER.into());
    }
    let data = context.message.slice(request.data.clone());
    match &open.what {
        OpenedObject::Pipe(pipe) => pipe.write(&data)?,
        OpenedObject::File(file) => {
            if !is_place(request.offset, length) {
                return Err(Status::INVALID_PARAMETER.into());
            }
            let through = open.writes_through() || request.flags.contains(Flags::WRITE_THROUGH);
            let stability = if through { Stability::File } else { Stability::Unstable };
            let early = context.early.as_ref().filter(|early| Arc::ptr_eq(&early.open, &open));
            file.write(request.offset, data, stability, early.map(|early| &early.write)).await?;
        }
    }
    Ok(Reply { file: Some(open.key), ..Reply::encoded(|w| Response { count: length }.encode(w)) })
}

/// Whether a file can have so many bytes at this offset.
fn is_place(offset: u64, length: u32) -> bool {
    offset.checked_add(length.into()).is_some_and(|end| end <= MAX_END)
}

/// A write whose beginning is written before all of it has arrived.
pub(in crate::server) struct EarlyFileWrite {
    open: Arc<Open>,
    /// Where the data are in the message.
    data_at: usize,
    write: EarlyWrite,
}

impl EarlyFileWrite {
    /// Of a request that was admitted to a tree and is neither signed nor repeated. Of its message, which is `length` bytes
    /// long, so much has `arrived`. `None`: it is executed when it is complete.
    pub(in crate::server) fn begin(
        connection: &Connection,
        scope: &TreeScope,
        header: &Header,
        (arrived, length): (&[u8], usize),
        in_flight: &InFlight,
    ) -> Option<Self> {
        let request = Request::decode_beginning(arrived, length).ok()?;
        let count = request.data.len() as u32;
        may_transfer(connection, header, count).ok()?;
        let session = &scope.channel.session;
        let open = session.opens.find(request.file)?;
        let is_current = !session.dialect.is_v3() || open.sequence.lock().is_current(header);
        if !Arc::ptr_eq(&open.tree, &scope.tree) || !is_current || request.channel != 0 {
            return None;
        }
        open.require(AccessMask::WRITE_DATA | AccessMask::APPEND_DATA).ok()?;
        let through = open.writes_through() || request.flags.contains(Flags::WRITE_THROUGH);
        if through || !is_place(request.offset, count) {
            return None;
        }
        let file = open.file().ok()?;
        let may_begin = in_flight.may_begin(&file.open.node().id());
        let write = may_begin.then(|| file.begin_early(request.offset, count.into()))??;
        Some(Self { open, data_at: request.data.start, write })
    }

    /// Writes what has arrived of the message's data. False: no more before all of them are there.
    pub(in crate::server) fn write(&mut self, arrived: &[u8]) -> bool {
        let (Ok(file), Some(data)) = (self.open.file(), arrived.get(self.data_at..)) else { return false };
        file.open.write_early(&mut self.write, data)
    }
}
