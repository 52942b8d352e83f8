//! One connection over TCP, and its session of ASP.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Instant;

use afp::wire::dsi::{Command, DsiHeader};
use appletalk::asp::{Client, MAX_COMMAND, QUANTUM};
use appletalk::atp::Outgoing;
use appletalk::{Address, Endpoint};
use client::appletalk::AspFrames;
use wire::{Reader, Writer};

use super::blocks::Blocks;

/// kFPParamErr: what a command is answered with that ASP cannot carry.
const PARAM_ERROR: i32 = -5019;
/// DSIOpenSession, reply: the option "server request quantum".
const QUANTUM_OPTION: [u8; 2] = [0, 4];

/// A frame of DSI.
#[derive(Debug, Clone)]
pub(super) struct Frame {
    pub(super) header: DsiHeader,
    pub(super) payload: Vec<u8>,
}

impl Frame {
    /// Takes the first frame out of these bytes, if it is there.
    fn take(bytes: &mut Vec<u8>) -> Option<Self> {
        let header = DsiHeader::decode(&mut Reader::new(bytes.get(..DsiHeader::LEN)?)).ok()?;
        let end = DsiHeader::LEN + header.length as usize;
        let payload = bytes.get(DsiHeader::LEN..end)?.to_vec();
        bytes.drain(..end);
        Some(Self { header, payload })
    }

    fn put(&self, bytes: &mut Vec<u8>) {
        let mut w = Writer::new();
        DsiHeader { length: self.payload.len() as u32, ..self.header }.encode(&mut w);
        w.put(&self.payload);
        bytes.extend(w.as_bytes());
    }

    /// The reply to this request.
    pub(super) fn reply(&self, code: i32, payload: Vec<u8>) -> Self {
        Self { header: DsiHeader { is_reply: true, code: code as u32, ..self.header }, payload }
    }
}

/// A connection and its session.
pub(super) struct Session {
    stream: TcpStream,
    pub(super) socket: u8,
    frames: AspFrames,
    /// What the program has sent, as far as it was not taken.
    requests: Vec<u8>,
    /// What the session has answered, and what the program has not taken.
    replies: Vec<u8>,
    outgoing: Vec<u8>,
    /// A read or write that is longer than ASP's quantum.
    blocks: Option<Blocks>,
    /// The program has gone, and CloseSess is to be answered.
    is_closing: bool,
    has_ended: bool,
}

impl Session {
    /// `tid`: the first transaction. A socket may have had sessions before, whose answers the server still keeps (ATP, exactly-once).
    pub(super) fn new(stream: TcpStream, socket: u8, server: Endpoint, tid: u16) -> std::io::Result<Self> {
        stream.set_nonblocking(true)?;
        stream.set_nodelay(true)?;
        let frames = AspFrames::new(Client::new(Endpoint::new(Address::default(), socket), server, tid));
        let (requests, replies, outgoing) = (Vec::new(), Vec::new(), Vec::new());
        Ok(Self {
            stream,
            socket,
            frames,
            requests,
            replies,
            outgoing,
            blocks: None,
            is_closing: false,
            has_ended: false,
        })
    }

    /// A datagram for its socket.
    pub(super) fn arrived(&mut self, source: Endpoint, payload: &[u8], now: Instant) {
        self.has_ended |= self.frames.receive(source, payload, now).is_err();
    }

    /// Moves what can be moved.
    pub(super) fn advance(&mut self, now: Instant) {
        let has_gone = self.receive();
        while let Some(request) = Frame::take(&mut self.requests) {
            self.request(request, now);
        }
        if has_gone {
            self.close(now);
        }
        self.has_ended |= self.frames.tick(now).is_err();
        let mut piece = [0; 8192];
        loop {
            match self.frames.read(&mut piece) {
                Ok(0) => break,
                Ok(count) => self.replies.extend_from_slice(&piece[..count]),
                Err(_) => {
                    self.has_ended = true;
                    break;
                }
            }
        }
        while let Some(reply) = Frame::take(&mut self.replies) {
            self.answer(reply, now);
        }
        self.flush(now);
    }

    /// Takes what has arrived. Whether the program has gone.
    fn receive(&mut self) -> bool {
        if self.is_closing {
            return true;
        }
        let mut piece = [0; 8192];
        loop {
            match self.stream.read(&mut piece) {
                Ok(0) => return true,
                Ok(count) => self.requests.extend_from_slice(&piece[..count]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return false,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return true,
            }
        }
    }

    /// The program has gone: so does the session, after the request that is not answered yet.
    fn close(&mut self, now: Instant) {
        if self.is_closing {
            return;
        }
        (self.is_closing, self.blocks) = (true, None);
        let header =
            DsiHeader { is_reply: false, command: Command::CLOSE_SESSION, id: 0, code: 0, length: 0 };
        self.send(&Frame { header, payload: Vec::new() }, now);
    }

    fn request(&mut self, request: Frame, now: Instant) {
        let block = match request.header.command {
            Command::COMMAND => request.payload.len(),
            Command::WRITE => request.header.code as usize,
            _ => 0,
        };
        if block > MAX_COMMAND {
            return request.reply(PARAM_ERROR, Vec::new()).put(&mut self.outgoing);
        }
        match Blocks::of(&request) {
            Some(mut blocks) => {
                let first = blocks.next();
                self.blocks = Some(blocks);
                self.send(&first, now);
            }
            None => self.send(&request, now),
        }
    }

    fn send(&mut self, request: &Frame, now: Instant) {
        let mut bytes = Vec::new();
        request.put(&mut bytes);
        self.has_ended |= self.frames.write(&bytes, now).is_err();
    }

    fn answer(&mut self, reply: Frame, now: Instant) {
        let is_answer = reply.header.is_reply;
        if let Some(mut blocks) = self.blocks.take_if(|_| is_answer) {
            match blocks.answered(reply) {
                Some(whole) => whole.put(&mut self.outgoing),
                None => {
                    let next = blocks.next();
                    self.blocks = Some(blocks);
                    self.send(&next, now);
                }
            }
            return;
        }
        match reply.header.command {
            Command::CLOSE_SESSION => self.has_ended = true,
            _ if self.is_closing => {}
            Command::OPEN_SESSION => {
                let payload = [&QUANTUM_OPTION[..], &(QUANTUM as u32).to_be_bytes()].concat();
                Frame { payload, ..reply }.put(&mut self.outgoing);
            }
            _ => reply.put(&mut self.outgoing),
        }
    }

    fn flush(&mut self, now: Instant) {
        while !self.outgoing.is_empty() && !self.is_closing {
            match self.stream.write(&self.outgoing) {
                Ok(count) => drop(self.outgoing.drain(..count)),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(_) => return self.close(now),
            }
        }
    }

    pub(super) fn take_output(&mut self) -> Option<Outgoing> {
        self.frames.take_output()
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        self.frames.deadline()
    }

    pub(super) fn has_backlog(&self) -> bool {
        !self.outgoing.is_empty()
    }

    pub(super) fn is_closing(&self) -> bool {
        self.is_closing
    }

    pub(super) fn is_over(&self) -> bool {
        self.has_ended
    }
}

impl AsFd for Session {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}
