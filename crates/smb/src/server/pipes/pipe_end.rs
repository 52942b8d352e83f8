//! A client's end of a named pipe.

mod host;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use lock::Mutex;
use tokio::sync::Notify;
use wire::Writer;

use self::host::Host;
use super::pipe::{Pipe, PipeMessage};
use crate::ranks;
use crate::server::clients::open::{Open, OpenedObject};
use crate::server::context::{Context, Outcome, Reply};
use crate::server::files::create;
use crate::wire::Status;
use crate::wire::create::{Action, Disposition, Options, Request, Response};
use crate::wire::fscc::FileAttributes;
use crate::wire::read::Head;
use crate::wire::security::AccessMask;
use crate::wire::values::{NetworkOpen, OplockLevel};

/// The buffer size that pipes report.
pub(in crate::server) const ROOM: u64 = 4096;

/// A client's end of a named pipe. Dropping it ends the reads that wait.
pub(in crate::server) struct PipeEnd(Arc<PipeState>);

struct PipeState {
    /// Also in `pipe`. But `pipe` is locked while it answers a call that lists all opens.
    name: &'static str,
    pipe: Mutex<Pipe, ranks::SmbPipe>,
    closed: AtomicBool,
    /// Notified when there may be something to read.
    changed: Notify,
}

impl PipeEnd {
    /// Writes to the other end.
    pub(in crate::server) fn write(&self, data: &[u8]) -> Result<(), Status> {
        let written = self.0.pipe.lock().write(data);
        self.0.changed.notify_waiters();
        written.map(drop)
    }

    /// `FSCTL_PIPE_TRANSCEIVE`: a write and the read of its answer.
    pub(in crate::server) fn transceive(&self, data: &[u8], most: usize) -> Result<PipeMessage, Status> {
        self.0.pipe.lock().transceive(data, most)
    }

    /// The name of the pipe.
    pub(in crate::server) fn name(&self) -> &'static str {
        self.0.name
    }

    /// How many bytes wait to be read, and how many of them belong to the first message.
    pub(in crate::server) fn available(&self) -> (usize, usize) {
        self.0.pipe.lock().available()
    }

    /// A handle for waiting. The end itself may be closed during the wait.
    fn reading(&self) -> PipeReader {
        PipeReader(self.0.clone())
    }
}

impl Drop for PipeEnd {
    fn drop(&mut self) {
        self.0.closed.store(true, Ordering::Release);
        self.0.changed.notify_waiters();
    }
}

struct PipeReader(Arc<PipeState>);

impl PipeReader {
    /// The first message, cut to `most` bytes. Waits until there is one.
    async fn next(&self, most: usize) -> Result<PipeMessage, Status> {
        loop {
            let changed = self.0.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            if self.0.closed.load(Ordering::Acquire) {
                return Err(Status::PIPE_DISCONNECTED);
            }
            match self.0.pipe.lock().read(most) {
                Err(Status::PIPE_EMPTY) => {}
                other => return other,
            }
            changed.await;
        }
    }
}

/// READ of a pipe: one message, MS-SMB2 3.3.5.12.
pub(in crate::server) async fn read(context: &Context, open: Arc<Open>, most: usize) -> Outcome {
    let (key, reading) = (open.key, open.pipe()?.reading());
    drop(open);
    let message = context.wait(reading.next(most)).await??;
    let mut body = Writer::new();
    Head::of(message.bytes.len() as u32).encode(&mut body);
    body.put(&message.bytes);
    Ok(Reply { status: message.status(), file: Some(key), ..Reply::of(body.into_bytes()) })
}

/// Opens the pipe that a CREATE on `IPC$` names, MS-SMB2 3.3.5.9.
pub(in crate::server) fn open(context: &Context, request: &Request<'_>) -> Outcome {
    let granted = create::wanted_access(request.desired_access)?;
    let granted = match granted.contains(AccessMask::MAXIMUM_ALLOWED) {
        true => AccessMask::FILE_ALL,
        false => granted,
    };
    let session = context.session();
    let name = String::from_utf16(&request.name).map_err(|_| Status::OBJECT_NAME_NOT_FOUND)?;
    if request.options.contains(Options::DIRECTORY_FILE) {
        return Err(Status::INVALID_PARAMETER.into());
    }
    let host = Host::new(context.service(), session);
    let pipe = Pipe::open(&name, Arc::new(host)).ok_or(Status::OBJECT_NAME_NOT_FOUND)?;
    if request.disposition == Disposition::CREATE {
        return Err(Status::ACCESS_DENIED.into());
    }
    let shared = PipeState {
        name: pipe.name(),
        pipe: Mutex::new(pipe),
        closed: AtomicBool::new(false),
        changed: Notify::new(),
    };
    let number = context.service().file_number();
    let pipe = OpenedObject::Pipe(PipeEnd(Arc::new(shared)));
    let open = Open::new(number, session, context.tree(), granted, pipe);
    let open = create::register(context, open)?;
    let info = NetworkOpen {
        allocation_size: ROOM,
        file_attributes: FileAttributes::NORMAL.0,
        ..NetworkOpen::default()
    };
    let response = Response {
        oplock_level: OplockLevel::NONE,
        flags: 0,
        action: Action::OPENED,
        info,
        file: open.key,
        contexts: Vec::new(),
    };
    Ok(Reply { file: Some(open.key), ..Reply::encoded(|w| response.encode(w)) })
}
