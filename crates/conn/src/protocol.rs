//! What a protocol provides for its connections.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use resources::Payload;
use rustls::ServerConfig;

use crate::in_flight::InFlight;
use crate::memory::Reservation;
use crate::tls::CompletedHandshake;
use crate::to_client::ToClient;

/// One reply: bytes, then data that is perhaps still in the page cache, then zero bytes of padding.
#[derive(Debug, Default)]
pub struct Reply {
    /// Everything up to the data.
    pub head: Vec<u8>,
    /// The data.
    pub body: Option<Payload>,
    /// How many zero bytes follow the data.
    pub tail: usize,
    /// Memory that was reserved for it.
    pub reserved: Reservation,
}

impl Reply {
    /// Bytes of it all.
    pub fn len(&self) -> usize {
        self.head.len() + self.body.as_ref().map_or(0, Payload::len) + self.tail
    }

    /// Whether it is nothing.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All of it in memory, for a transport that sends it in one piece. Zeros stand for what was truncated meanwhile.
    pub fn into_bytes(self) -> formats::Result<Vec<u8>> {
        let mut bytes = self.head;
        if let Some(data) = self.body {
            data.append_or_zeros_to(&mut bytes)?;
        }
        bytes.resize(bytes.len() + self.tail, 0);
        Ok(bytes)
    }
}

/// A pending answer. `None` when the message gets none.
pub type Answer = Pin<Box<dyn Future<Output = Option<Reply>> + Send>>;

/// A message that is a write, and whose data are written while the rest of it arrives.
pub trait EarlyMessage: Send {
    /// Writes the data that have arrived and are not written yet. `arrived` is all that has arrived of the message. False: the
    /// rest is written with [`EarlyMessage::answer`].
    fn write(&mut self, arrived: &[u8]) -> bool;

    /// The answer to the whole message: see [`Protocol::answer`]. If the connection ends before, what is written stays.
    fn answer(self: Box<Self>, message: BytesMut, in_flight: InFlight) -> Answer;
}

/// What a protocol does with a connection's bytes.
pub trait Protocol: Send + Sync + 'static {
    /// The length of the message at the start of `bytes`, framing included: `Ok(None)` when more bytes are needed to
    /// tell, or a reason to end the connection. A message longer than the connection's limit must be refused here.
    fn message_length(&self, bytes: &[u8]) -> Result<Option<usize>, &'static str>;

    /// The answer to one whole message. Polled once on the thread that received it. It declares the file that the message is
    /// about ([`InFlight::about`]), so that a stuck file does not get further threads.
    fn answer(&self, message: BytesMut, in_flight: InFlight) -> Answer;

    /// Begins to write the data of a message of which only the beginning has `arrived`. `length` is that of the whole message.
    /// `None`: the message is to be complete first, as it must be if it is signed, sealed, or has a checksum, and if anything
    /// is to be asked, waited for or refused before it is executed. Asked once for each message at most, on the thread of the
    /// loop. It declares the file that is written ([`InFlight::may_begin`]).
    fn begin_early(
        &self,
        _arrived: &[u8],
        _length: usize,
        _in_flight: &InFlight,
    ) -> Option<Box<dyn EarlyMessage>> {
        None
    }

    /// The connection begins; this is how its client is told what it has not asked for.
    fn began(&self, _client: ToClient) {}

    /// The client was answered that TLS begins, RFC 9289 4.1: what follows the message with that answer is its handshake. Asked
    /// before each message of a connection without TLS.
    fn begins_tls(&self) -> Option<Arc<ServerConfig>> {
        None
    }

    /// The handshake is over, or has failed and the connection ends. Not told of one that the client does not go on with.
    fn secured(&self, _handshake: Result<CompletedHandshake, String>) {}

    /// The connection is over. Pending answers that wait for something should give up.
    fn ended(&self) {}
}

/// Limits of a connection.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Bytes of replies that may wait for a client before no more of its messages are read.
    pub waiting_bytes: usize,
    /// Messages of one client that may be in flight at once.
    pub in_flight: usize,
    /// How long a client may take nothing of the replies waiting for it.
    pub send_timeout: Duration,
    /// How long a message may take to arrive in full.
    pub receive_timeout: Duration,
    /// How long a handshake of TLS may take.
    pub handshake_timeout: Duration,
    /// Where a file is truncated after the length of a reply was promised, the client gets zeros. Without this the
    /// connection ends, for protocols whose data must not change silently.
    pub zeros_for_truncated: bool,
    /// What the client sends is acknowledged at once, for clients whose next bytes wait for that (Nagle's algorithm).
    pub acknowledges_at_once: bool,
    /// Messages are handed to the protocol strictly one after the other: the watchdog moves a connection only while an answer is
    /// polled. For protocols that take what is in order at once, and wait for nothing before the answer.
    pub begins_in_order: bool,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            waiting_bytes: 8 << 20,
            in_flight: 256,
            send_timeout: Duration::from_secs(60),
            receive_timeout: Duration::from_secs(60),
            handshake_timeout: Duration::from_secs(15),
            zeros_for_truncated: true,
            acknowledges_at_once: false,
            begins_in_order: false,
        }
    }
}
