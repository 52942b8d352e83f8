//! Named pipes of IPC$: the RPC interfaces through which clients ask for the server's shares, its
//! name, its accounts, and the accounts of numbers, and through which Macs search shares.
//!
//! A [`Pipe`] is one client's open of one pipe. Written bytes go to an association, and its answers
//! wait until the client reads them. The pipe is in message mode: one write may contain a message,
//! a part of one or several. A read never returns more than one.

mod association;
mod host;
mod lists;
mod lsarpc;
mod mdssvc;
mod names;
mod privileges;
mod samr;
mod srvsvc;
mod wkssvc;

use std::collections::VecDeque;
use std::sync::Arc;

use wire::Reader;

use crate::wire::Status;
use crate::wire::rpc::pdu::{HEADER, Header};
use association::PipeAssociation;
pub use host::{
    Caller, CallerRank, Connection, LocalAccount, OpenFile, PipeHost, Server, Session, Share, ShareKind, Sid,
};

/// How many bytes of answers may wait to be read. The largest answer alone is smaller.
const MAX_WAITING: usize = 4 << 20;

/// One client's open of a named pipe.
pub struct Pipe {
    name: &'static str,
    /// The start of a message that is not yet complete.
    arriving: Vec<u8>,
    waiting: VecDeque<Vec<u8>>,
    waiting_bytes: usize,
    association: PipeAssociation,
    /// The client broke the protocol: it may read the answers that wait, and nothing else.
    broken: bool,
}

/// What a read returns.
#[derive(Debug, PartialEq, Eq)]
pub struct PipeMessage {
    /// The part of the message that was asked for.
    pub bytes: Vec<u8>,
    /// Whether the message goes on: the status is then `BUFFER_OVERFLOW`.
    pub more: bool,
}

impl PipeMessage {
    /// The status of the response that carries it.
    pub fn status(&self) -> Status {
        if self.more { Status::BUFFER_OVERFLOW } else { Status::SUCCESS }
    }
}

impl Pipe {
    /// Opens the pipe `name`, as a path of IPC$. None where there is no such pipe.
    pub fn open(name: &str, host: Arc<dyn PipeHost>) -> Option<Self> {
        let name = canonical(name)?;
        let association = PipeAssociation::new(name, host);
        Some(Self {
            name,
            arriving: Vec::new(),
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            association,
            broken: false,
        })
    }

    /// Whether there is a pipe of this name.
    pub fn exists(name: &str) -> bool {
        canonical(name).is_some()
    }

    /// The name of the pipe, in lower case and without a path.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// WRITE. Answers to messages that are now complete wait until the client reads them.
    pub fn write(&mut self, bytes: &[u8]) -> Result<usize, Status> {
        if self.broken {
            return Err(Status::PIPE_DISCONNECTED);
        }
        self.arriving.extend_from_slice(bytes);
        let input = std::mem::take(&mut self.arriving);
        let mut rest = &input[..];
        while let Some(message) = self.next_message(&mut rest) {
            self.take(message);
        }
        if !self.broken {
            // What is left is shorter than a message. The buffer of a large write is not kept for
            // it.
            self.arriving = if rest.len() == input.len() { input } else { rest.to_vec() };
        }
        Ok(bytes.len())
    }

    /// Cuts the first message off `rest`, if it is complete.
    fn next_message<'a>(&mut self, rest: &mut &'a [u8]) -> Option<&'a [u8]> {
        if self.broken || rest.len() < HEADER {
            return None;
        }
        let Ok(header) = Header::decode(&mut Reader::new(rest)) else {
            self.broken = true;
            return None;
        };
        let (message, after) = rest.split_at_checked(header.length.into())?;
        *rest = after;
        Some(message)
    }

    fn take(&mut self, message: &[u8]) {
        let (Ok(answers) | Err(answers)) =
            self.association.receive(message).inspect_err(|_| self.broken = true);
        self.waiting_bytes += answers.iter().map(Vec::len).sum::<usize>();
        self.waiting.extend(answers);
        if self.waiting_bytes > MAX_WAITING {
            self.broken = true; // the client asks again and again and never reads
        }
    }

    /// READ: at most `max` bytes of the first message that waits. If none waits, the status is
    /// `PIPE_EMPTY`. A server could also let the read wait.
    pub fn read(&mut self, max: usize) -> Result<PipeMessage, Status> {
        let Some(mut bytes) = self.waiting.pop_front() else {
            return Err(if self.broken { Status::PIPE_DISCONNECTED } else { Status::PIPE_EMPTY });
        };
        self.waiting_bytes -= bytes.len().min(max);
        if bytes.len() <= max {
            return Ok(PipeMessage { bytes, more: false });
        }
        let rest = bytes.split_off(max);
        self.waiting.push_front(rest);
        Ok(PipeMessage { bytes, more: true })
    }

    /// `FSCTL_PIPE_TRANSCEIVE`, MS-FSCC 2.3.49: a write and the read of its answer.
    pub fn transceive(&mut self, bytes: &[u8], max: usize) -> Result<PipeMessage, Status> {
        if !self.waiting.is_empty() {
            return Err(Status::PIPE_BUSY);
        }
        self.write(bytes)?;
        self.read(max)
    }

    /// How many bytes wait to be read, and how many of them belong to the first message (`FSCTL_PIPE_PEEK`).
    pub fn available(&self) -> (usize, usize) {
        (self.waiting_bytes, self.waiting.front().map_or(0, Vec::len))
    }
}

/// The pipe that a client means. Names are case-insensitive, and some clients write the path that
/// Windows has.
fn canonical(name: &str) -> Option<&'static str> {
    let name = name.trim_start_matches('\\').to_ascii_lowercase();
    let name = name.strip_prefix("pipe\\").unwrap_or(&name);
    ["srvsvc", "wkssvc", "lsarpc", "samr", "mdssvc"].into_iter().find(|pipe| *pipe == name)
}

#[cfg(test)]
mod tests;
