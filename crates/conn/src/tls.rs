//! TLS on a connection whose protocol begins it in the middle: NFS, RFC 9289 4.1.
//!
//! ```text
//! Protocol::begins_tls ─► Connection::secure ─► Outbox::begin_tls ─ everything in clear has left
//!                                                    │
//! socket ─► Tls::open ─► ReceiveBuffer     Queue ─► Tls::seal ─► socket
//! ```
//!
//! The state is in the queue of the [`Outbox`](crate::Outbox) and under its lock, because both directions need it. A connection
//! without TLS has no such state, and takes no lock for it.

use std::collections::VecDeque;
use std::io;
use std::os::fd::BorrowedFd;
use std::sync::Arc;

use resources::Payload;
use rustix::net::SendFlags;
use rustls::server::UnbufferedServerConnection;
use rustls::unbuffered::{ConnectionState, EncodeError, EncodeTlsData, EncryptError, UnbufferedStatus};
use rustls::{ServerConfig, server::ServerConnectionData};

use crate::buffers::{received as pool, replies};
use crate::received::ReceiveBuffer;

/// Memory that is reserved for a handshake: the state of it, and a record that has arrived in part.
pub(crate) const HANDSHAKE_MEMORY: usize = 32 * 1024;
/// The longest plaintext of a record, RFC 8446 5.1.
const RECORD: usize = 16 * 1024;
/// The most that encryption adds to it with its header, RFC 8446 5.2.
const EXPANSION: usize = 5 + 256;
/// What encryption adds to each record that this server sends.
const ADDED: usize = 5 + 1 + 16;
/// The most bytes that are held without a whole message of TLS in them. A message of the handshake may have several records.
const MOST_UNFINISHED: usize = 64 * 1024;
/// Ciphertext received at a time: of short messages, of long ones, and of a handshake.
const FEW: usize = 64 * 1024;
const MANY: usize = 256 * 1024;
const OF_HANDSHAKE: usize = RECORD + EXPANSION;
/// Plaintext opened before the messages in it are answered, if the next one is not longer.
const OPENED: usize = 32 * 1024;
/// Plaintext sealed before it is sent: eight records.
const SEALED: usize = 128 * 1024;
/// The types of records, RFC 8446 5.1.
const TYPES: std::ops::RangeInclusive<u8> = 20..=24;

/// A handshake that has ended well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CompletedHandshake {
    /// The client has shown a certificate that the server's configuration accepts.
    pub has_certificate: bool,
}

/// One connection's TLS.
pub(crate) struct Tls {
    connection: UnbufferedServerConnection,
    incoming: Incoming,
    outgoing: Outgoing,
    /// Plaintext on its way to be sealed. Its length is what has been in use before.
    scratch: Vec<u8>,
    /// The client sends nothing more.
    is_closed: bool,
    /// Why the connection ends.
    failed: Option<String>,
}

/// Ciphertext that has been received.
#[derive(Default)]
struct Incoming {
    bytes: Vec<u8>,
    /// Where what is not processed begins.
    at: usize,
    /// Bytes from there on that rustls has seen and still needs: the first records of a message of the handshake.
    seen: usize,
}

/// Ciphertext to be sent.
#[derive(Default)]
struct Outgoing {
    /// Its length is what has been in use before.
    bytes: Vec<u8>,
    filled: usize,
    sent: usize,
    /// Bytes of the queue that are in it.
    sealed: usize,
    /// Its bytes that are none of the queue's: of the handshake, alerts.
    own: usize,
}

/// What is to be done after a step of rustls.
enum Step {
    GoOn,
    /// It needs a further record.
    Wants,
    Failed(String),
}

impl Tls {
    /// Begins with what has been received after the last message in clear.
    pub(crate) fn new(config: Arc<ServerConfig>, received: Vec<u8>) -> Result<Box<Self>, rustls::Error> {
        let connection = UnbufferedServerConnection::new(config)?;
        let incoming = Incoming { bytes: received, ..Incoming::default() };
        let outgoing = Outgoing::default();
        Ok(Box::new(Self {
            connection,
            incoming,
            outgoing,
            scratch: Vec::new(),
            is_closed: false,
            failed: None,
        }))
    }

    /// The handshake is over, and the client has proved that it took part.
    pub(crate) fn secured(&self) -> Option<CompletedHandshake> {
        let has_certificate = self.connection.peer_certificates().is_some_and(|chain| !chain.is_empty());
        (!self.connection.is_handshaking()).then_some(CompletedHandshake { has_certificate })
    }

    pub(crate) fn failure(&self) -> Option<&str> {
        self.failed.as_deref()
    }

    /// Nothing more comes.
    pub(crate) fn is_over(&self) -> bool {
        self.is_closed || self.failed.is_some()
    }

    /// Bytes that have been received and are not opened.
    pub(crate) fn held(&self) -> usize {
        self.incoming.bytes.len() - self.incoming.at
    }

    /// Whether something is sealed and has not left.
    pub(crate) fn has_sealed(&self) -> bool {
        self.outgoing.filled > 0
    }

    /// Memory of what is sent.
    pub(crate) fn memory(&self) -> usize {
        self.outgoing.bytes.capacity() + self.scratch.capacity()
    }

    /// Opens the records that have been received, until a message of which so many bytes are missing may be there. How many
    /// bytes were appended, and how many bytes of its own TLS has to send now.
    pub(crate) fn open(&mut self, into: &mut ReceiveBuffer, missing: usize) -> (usize, usize) {
        let (mut opened, own) = (0, self.outgoing.own);
        while opened < missing.max(OPENED) && !self.is_over() {
            match self.step(into, missing, &mut opened) {
                Step::GoOn => {}
                Step::Wants => match self.incoming.next_record() {
                    Some(length) => self.incoming.seen += length,
                    None => break,
                },
                Step::Failed(why) => {
                    // What rustls has to say about it, an alert, is sent. It must not see the bad record again.
                    while self.connection.wants_write()
                        && matches!(self.step(into, missing, &mut opened), Step::GoOn)
                    {}
                    self.failed = Some(why);
                }
            }
        }
        (opened, self.outgoing.own - own)
    }

    fn step(&mut self, into: &mut ReceiveBuffer, missing: usize, opened: &mut usize) -> Step {
        let Self { connection, incoming, outgoing, .. } = self;
        let status = connection.process_tls_records(incoming.seen());
        let mut discard = status.discard;
        let step = match status.state {
            Ok(ConnectionState::ReadTraffic(mut traffic)) => loop {
                match traffic.next_record() {
                    None => break Step::GoOn,
                    Some(Err(error)) => break Step::Failed(error.to_string()),
                    Some(Ok(record)) => {
                        discard += record.discard;
                        let left = missing.saturating_sub(*opened);
                        into.with_room(left.max(record.payload.len())).extend_from_slice(record.payload);
                        *opened += record.payload.len();
                    }
                }
            },
            Ok(ConnectionState::EncodeTlsData(message)) => outgoing.encode(message),
            Ok(ConnectionState::TransmitTlsData(transmit)) => {
                transmit.done();
                Step::GoOn
            }
            Ok(ConnectionState::PeerClosed | ConnectionState::Closed) => {
                self.is_closed = true;
                Step::Wants
            }
            Ok(ConnectionState::WriteTraffic(_) | ConnectionState::BlockedHandshake) => Step::Wants,
            Ok(_) => Step::Failed("data before the handshake".into()), // not offered
            Err(error) => Step::Failed(error.to_string()),
        };
        incoming.discard(discard);
        step
    }

    /// A buffer to receive ciphertext in, while so many bytes of a message are missing. `None`: a message of TLS is too long.
    pub(crate) fn room(&mut self, missing: usize) -> Option<&mut Vec<u8>> {
        let length = match self.connection.is_handshaking() {
            true => OF_HANDSHAKE,
            false if missing > FEW => MANY,
            false => FEW,
        };
        self.incoming.room(length)
    }

    /// Nothing more has arrived: a long buffer is given back.
    pub(crate) fn rest(&mut self) {
        self.incoming.rest();
    }

    /// Seals bytes from the front of the queue, of whose first piece `sent` bytes have left.
    pub(crate) fn seal(
        &mut self,
        pieces: &VecDeque<Payload>,
        sent: usize,
        most: usize,
        zeros_for_truncated: bool,
    ) -> io::Result<()> {
        let most = most.min(SEALED);
        if let Some(Payload::Bytes(bytes)) = pieces.front()
            && bytes.len() - sent >= most
        {
            return self.encrypt(&bytes[sent..sent + most]);
        }
        let mut scratch = std::mem::take(&mut self.scratch);
        if scratch.capacity() == 0 {
            scratch = replies::take();
        }
        let gathered = gather(&mut scratch, pieces, sent, most, zeros_for_truncated);
        let encrypted = gathered.and_then(|length| self.encrypt(&scratch[..length]));
        self.scratch = scratch;
        encrypted
    }

    fn encrypt(&mut self, plain: &[u8]) -> io::Result<()> {
        let Self { connection, incoming, outgoing, .. } = self;
        let mut room = plain.len() + (plain.len() / RECORD + 1) * ADDED;
        loop {
            let UnbufferedStatus { discard, state } = connection.process_tls_records(incoming.seen());
            match state {
                Ok(ConnectionState::WriteTraffic(mut traffic)) => {
                    match traffic.encrypt(plain, outgoing.room(room)) {
                        Ok(count) => {
                            outgoing.filled += count;
                            outgoing.sealed += plain.len();
                            incoming.discard(discard);
                            return Ok(());
                        }
                        // It has a message of its own to send, too.
                        Err(EncryptError::InsufficientSize(size)) if size.required_size > room => {
                            room = size.required_size;
                        }
                        Err(error) => return Err(io::Error::other(error)),
                    }
                }
                Ok(ConnectionState::EncodeTlsData(message)) => {
                    let before = outgoing.own;
                    outgoing.encode(message);
                    outgoing.own = before; // counted as bytes of the queue that it leaves with
                }
                Ok(ConnectionState::TransmitTlsData(transmit)) => transmit.done(),
                _ => return Err(io::ErrorKind::NotConnected.into()),
            }
            incoming.discard(discard);
        }
    }

    /// Sends what is sealed: all of it, or an error. How many bytes of the queue, and how many others, have left then.
    pub(crate) fn send(&mut self, socket: BorrowedFd<'_>) -> io::Result<(usize, usize)> {
        let outgoing = &mut self.outgoing;
        while outgoing.sent < outgoing.filled {
            let rest = &outgoing.bytes[outgoing.sent..outgoing.filled];
            outgoing.sent += rustix::net::send(socket, rest, SendFlags::NOSIGNAL)?;
        }
        (outgoing.filled, outgoing.sent) = (0, 0);
        Ok((std::mem::take(&mut outgoing.sealed), std::mem::take(&mut outgoing.own)))
    }

    /// Nothing waits to be sent: the buffers are given back.
    pub(crate) fn rest_sending(&mut self) {
        replies::give_back(std::mem::take(&mut self.scratch));
        replies::give_back(std::mem::take(&mut self.outgoing.bytes));
    }

    /// Says that nothing more comes, if the socket takes it now and no record has left in part.
    pub(crate) fn say_goodbye(&mut self, socket: BorrowedFd<'_>) {
        if self.has_sealed() || self.failed.is_some() || self.connection.is_handshaking() {
            return;
        }
        let status = self.connection.process_tls_records(self.incoming.seen());
        if let Ok(ConnectionState::WriteTraffic(mut traffic)) = status.state {
            let length = traffic.queue_close_notify(self.outgoing.room(MOST_GOODBYE)).unwrap_or_default();
            // A client that is gone is not told.
            let _ = rustix::net::send(socket, &self.outgoing.bytes[..length], SendFlags::NOSIGNAL);
        }
    }
}

/// Room for a close_notify alert.
const MOST_GOODBYE: usize = 1024;

impl Incoming {
    /// What rustls is given: what it has seen before, and a record in addition.
    fn seen(&mut self) -> &mut [u8] {
        &mut self.bytes[self.at..self.at + self.seen]
    }

    fn discard(&mut self, count: usize) {
        self.at += count;
        self.seen -= count;
        if self.at == self.bytes.len() {
            self.bytes.clear();
            self.at = 0;
        }
    }

    /// The length of the next record, if it is there. Bytes that are not a record are given to rustls, which refuses them.
    fn next_record(&self) -> Option<usize> {
        let rest = &self.bytes[self.at + self.seen..];
        let [kind, _, _, length @ ..] = *rest.first_chunk::<5>()?;
        let length = 5 + usize::from(u16::from_be_bytes(length));
        if !TYPES.contains(&kind) || length > RECORD + EXPANSION {
            return Some(rest.len());
        }
        (length <= rest.len()).then_some(length)
    }

    /// All whole records have been opened: at most one is here in part, or a message of the handshake.
    fn room(&mut self, length: usize) -> Option<&mut Vec<u8>> {
        let held = self.bytes.len() - self.at;
        if held > MOST_UNFINISHED {
            return None;
        }
        let length = length.max(held + RECORD + EXPANSION);
        if self.bytes.capacity() < length {
            let mut longer = pool::take(length);
            longer.extend_from_slice(&self.bytes[self.at..]);
            pool::give_back(std::mem::replace(&mut self.bytes, longer));
        } else {
            self.bytes.drain(..self.at);
        }
        self.at = 0;
        Some(&mut self.bytes)
    }

    fn rest(&mut self) {
        let few = self.bytes[self.at..].to_vec();
        self.at = 0;
        pool::give_back(std::mem::replace(&mut self.bytes, few));
    }
}

impl Outgoing {
    /// Room for so many bytes after those that are there.
    fn room(&mut self, length: usize) -> &mut [u8] {
        if self.bytes.capacity() == 0 && length > RECORD {
            self.bytes = replies::take();
        }
        let end = self.filled + length;
        if self.bytes.len() < end {
            self.bytes.resize(end, 0);
        }
        &mut self.bytes[self.filled..end]
    }

    /// Takes a message of TLS itself.
    fn encode(&mut self, mut message: EncodeTlsData<'_, ServerConnectionData>) -> Step {
        let mut length = 0;
        loop {
            match message.encode(self.room(length)) {
                Ok(count) => {
                    self.filled += count;
                    self.own += count;
                    return Step::GoOn;
                }
                Err(EncodeError::InsufficientSize(size)) if size.required_size > length => {
                    length = size.required_size;
                }
                Err(error) => return Step::Failed(error.to_string()),
            }
        }
    }
}

/// What a client's bytes are after TLS, and what its server sends: a connection without a socket, for tests. The client sends
/// them in pieces of this length.
pub fn without_socket(config: Arc<ServerConfig>, bytes: &[u8], piece: usize) -> (Vec<u8>, Vec<u8>) {
    let (mut received, mut sent) = (ReceiveBuffer::default(), Vec::new());
    let Ok(mut tls) = Tls::new(config, Vec::new()) else { return Default::default() };
    for piece in bytes.chunks(piece.max(1)) {
        let Some(room) = tls.room(1) else { break };
        room.extend_from_slice(piece);
        tls.open(&mut received, 1);
        sent.extend_from_slice(&tls.outgoing.bytes[..tls.outgoing.filled]);
        tls.outgoing.filled = 0;
        if tls.is_over() {
            break;
        }
        tls.rest();
    }
    (received.bytes().to_vec(), sent)
}

/// Copies bytes from the front of the queue. How many.
fn gather(
    into: &mut Vec<u8>,
    pieces: &VecDeque<Payload>,
    sent: usize,
    most: usize,
    zeros_for_truncated: bool,
) -> io::Result<usize> {
    let (mut filled, mut skipped) = (0, sent);
    for piece in pieces {
        let length = (piece.len() - skipped).min(most - filled);
        let end = filled + length;
        if into.len() < end {
            into.resize(end, 0);
        }
        let part = &mut into[filled..end];
        match piece {
            Payload::Bytes(bytes) => part.copy_from_slice(&bytes[skipped..skipped + length]),
            Payload::File { fd, offset, .. } => {
                let mut at = 0;
                while at < length {
                    let from = offset + (skipped + at) as u64;
                    match rustix::io::pread(fd, &mut part[at..], from)? {
                        // The file was truncated after the length had been promised.
                        0 if zeros_for_truncated => {
                            part[at..].fill(0);
                            at = length;
                        }
                        0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                        count => at += count,
                    }
                }
            }
        }
        (filled, skipped) = (end, 0);
        if filled == most {
            break;
        }
    }
    Ok(filled)
}
