//! The server's end of one session of ASP: frames of DSI over a pair of sockets, whose other end is a connection of the AFP server.
//! The AFP server's tickles are answered here: ASP has its own, and ends sessions that are silent.

use std::collections::VecDeque;
use std::io::{ErrorKind, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

use afp::server::ASP_QUANTUM;
use afp::wire::dsi::{Command, DsiHeader};
use wire::{Reader, Writer};

/// The longest frame of the AFP server: a reply.
const MAX_FRAME: usize = DsiHeader::LEN + ASP_QUANTUM as usize;
/// Bytes on the way to the AFP server: a write with its command, and what else waits. The workstation has one command in flight.
const MAX_WAITING: usize = 4 * MAX_FRAME;
/// Bytes of one call.
const PIECE: usize = 16 * 1024;

/// What the AFP server has sent.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum PipeEvent {
    /// The reply to the command or write with this number.
    Reply { id: u16, result: i32, data: Vec<u8> },
    /// A notice with this code.
    Attention(u16),
}

/// The server's end of a session.
#[derive(Debug)]
pub(super) struct Pipe {
    stream: UnixStream,
    /// Received bytes that are no whole frame yet.
    received: Vec<u8>,
    /// Bytes that the socket did not take yet.
    waiting: VecDeque<u8>,
    next_id: u16,
    is_over: bool,
}

impl Pipe {
    /// A pipe, and the end for the AFP server. Its session of DSI is open.
    pub(super) fn open() -> std::io::Result<(Self, OwnedFd)> {
        let (stream, other) = UnixStream::pair()?;
        stream.set_nonblocking(true)?;
        let mut pipe =
            Self { stream, received: Vec::new(), waiting: VecDeque::new(), next_id: 0, is_over: false };
        pipe.request(Command::OPEN_SESSION, &[], &[]);
        Ok((pipe, other.into()))
    }

    /// Sends a command of AFP. Returns its number.
    pub(super) fn command(&mut self, block: &[u8]) -> u16 {
        self.request(Command::COMMAND, block, &[])
    }

    /// Sends a command of AFP with the data that it writes. Returns its number.
    pub(super) fn write(&mut self, block: &[u8], data: &[u8]) -> u16 {
        self.request(Command::WRITE, block, data)
    }

    /// Ends the session.
    pub(super) fn close(&mut self) {
        self.request(Command::CLOSE_SESSION, &[], &[]);
    }

    fn request(&mut self, command: Command, block: &[u8], data: &[u8]) -> u16 {
        let id = self.next_id;
        self.next_id = self.next_id.wrapping_add(1);
        let code = if command == Command::WRITE { block.len() as u32 } else { 0 };
        let length = (block.len() + data.len()) as u32;
        let mut w = Writer::new();
        DsiHeader { is_reply: false, command, id, code, length }.encode(&mut w);
        w.put(block);
        w.put(data);
        self.waiting.extend(w.as_bytes());
        self.flush();
        id
    }

    /// Sends what waits, as far as the socket takes it.
    pub(super) fn flush(&mut self) {
        while !self.waiting.is_empty() && !self.is_over {
            let (first, _) = self.waiting.as_slices();
            match self.stream.write(first) {
                Ok(count) if count > 0 => drop(self.waiting.drain(..count)),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Ok(_) | Err(_) => self.is_over = true,
            }
        }
        // A server that takes nothing has stopped.
        self.is_over |= self.waiting.len() > MAX_WAITING;
    }

    /// Whether something waits for the socket to take it.
    pub(super) fn is_waiting(&self) -> bool {
        !self.waiting.is_empty() && !self.is_over
    }

    /// What has arrived. Nothing comes after [`Pipe::is_over`].
    pub(super) fn receive(&mut self) -> Vec<PipeEvent> {
        let mut piece = [0; PIECE];
        let mut events = Vec::new();
        while !self.is_over {
            match self.stream.read(&mut piece) {
                Ok(0) => self.is_over = true,
                Ok(count) => {
                    self.received.extend_from_slice(&piece[..count]);
                    while let Some((header, payload)) = self.take_frame() {
                        events.extend(self.event(header, payload));
                    }
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(_) => self.is_over = true,
            }
        }
        events
    }

    fn event(&mut self, header: DsiHeader, payload: Vec<u8>) -> Option<PipeEvent> {
        match (header.is_reply, header.command) {
            (true, Command::COMMAND | Command::WRITE) => {
                Some(PipeEvent::Reply { id: header.id, result: header.code as i32, data: payload })
            }
            (false, Command::ATTENTION) => {
                let code = payload.first_chunk().map(|code| u16::from_be_bytes(*code)).unwrap_or_default();
                Some(PipeEvent::Attention(code))
            }
            (false, Command::TICKLE) => {
                self.request(Command::TICKLE, &[], &[]);
                None
            }
            _ => None, // the answer to OpenSession
        }
    }

    fn take_frame(&mut self) -> Option<(DsiHeader, Vec<u8>)> {
        let header = DsiHeader::decode(&mut Reader::new(self.received.get(..DsiHeader::LEN)?));
        let Some(header) = header.ok().filter(|header| header.length as usize + DsiHeader::LEN <= MAX_FRAME)
        else {
            self.is_over = true; // our own server sends no such frame
            return None;
        };
        let end = DsiHeader::LEN + header.length as usize;
        let payload = self.received.get(DsiHeader::LEN..end)?.to_vec();
        self.received.drain(..end);
        Some((header, payload))
    }

    /// Whether the AFP server has ended the session.
    pub(super) fn is_over(&self) -> bool {
        self.is_over
    }
}

impl AsFd for Pipe {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(other: &OwnedFd, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        UnixStream::from(other.try_clone().unwrap()).read_exact(&mut bytes).unwrap();
        bytes
    }

    #[test]
    fn commands_are_frames_of_dsi() {
        let (mut pipe, other) = Pipe::open().unwrap();
        // Programming Guide, "Data Stream Interface": flags, command, id, offset of the data, length, reserved.
        assert_eq!(sent(&other, 16), [0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(pipe.write(b"block", b"data"), 1);
        let expected = [&[0, 6, 0, 1, 0, 0, 0, 5, 0, 0, 0, 9, 0, 0, 0, 0][..], b"blockdata"].concat();
        assert_eq!(sent(&other, 25), expected);
    }

    #[test]
    fn frames_are_taken_whole_and_the_end_is_seen() {
        let (mut pipe, other) = Pipe::open().unwrap();
        let mut server = UnixStream::from(other);
        let frame = [&[1, 2, 0, 7, 0xff, 0xff, 0xec, 0x66, 0, 0, 0, 3, 0, 0, 0, 0][..], b"abc"].concat();
        server.write_all(&frame[..17]).unwrap();
        assert_eq!(pipe.receive(), []);
        server.write_all(&frame[17..]).unwrap();
        server.write_all(&frame).unwrap();
        drop(server);
        let reply = || PipeEvent::Reply { id: 7, result: -5018, data: b"abc".to_vec() };
        assert_eq!(pipe.receive(), [reply(), reply()]);
        assert!(pipe.is_over() && pipe.receive().is_empty());
    }

    #[test]
    fn a_frame_that_is_too_long_ends_the_session() {
        let (mut pipe, other) = Pipe::open().unwrap();
        UnixStream::from(other).write_all(&[1, 2, 0, 7, 0, 0, 0, 0, 0, 0, 0x13, 0, 0, 0, 0, 0]).unwrap();
        assert_eq!((pipe.receive(), pipe.is_over()), (Vec::new(), true));
    }
}
