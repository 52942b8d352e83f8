//! One TCP connection: frames in and out, MS-SMB2 3.3.5.1.

use std::sync::Arc;

use bytes::BytesMut;
use conn::{Answer, EarlyMessage, InFlight, Limits, LoopStream, Peer, Protocol, ToClient, Watchdog};

use super::chain;
use super::connection::Connection;
use super::credits;
use super::service::Service;
use crate::server::files::write::EarlyFileWrite;
use crate::wire::frame::{self, PREFIX_LEN};
use crate::wire::header::Header;

/// Serves one connection until either side ends it.
pub async fn serve_stream(service: Arc<Service>, stream: LoopStream, peer: Peer, watchdog: Arc<Watchdog>) {
    let in_flight = usize::from(credits::MOST) + 1;
    let limits = Limits { in_flight, ..Limits::default() };
    conn::serve(stream, &peer, protocol(service, peer.clone()), limits, watchdog).await;
}

/// One connection without its transport, for `conn` and for tests without sockets.
pub fn protocol(service: Arc<Service>, peer: Peer) -> impl Protocol {
    SmbProtocol(Connection::new(service, peer))
}

/// A frame with one WRITE, whose data are written while they arrive.
struct EarlyFrame {
    connection: Arc<Connection>,
    write: EarlyFileWrite,
}

impl EarlyMessage for EarlyFrame {
    fn write(&mut self, arrived: &[u8]) -> bool {
        arrived.get(PREFIX_LEN..).is_some_and(|message| self.write.write(message))
    }

    fn answer(self: Box<Self>, message: BytesMut, in_flight: InFlight) -> Answer {
        let Self { connection, write } = *self;
        Box::pin(chain::answer(connection, message, Some(write), in_flight))
    }
}

/// The connection as `conn` sees it.
pub(super) struct SmbProtocol(pub(super) Arc<Connection>);

impl Protocol for SmbProtocol {
    fn message_length(&self, bytes: &[u8]) -> Result<Option<usize>, &'static str> {
        let Some(prefix) = bytes.first_chunk::<PREFIX_LEN>() else { return Ok(None) };
        let length = frame::decode(*prefix).map_err(|_| "not a frame of direct TCP")?;
        match length {
            0..Header::LEN if length < 4 => Err("a frame too short for any message"),
            length if length > self.0.longest_message() => Err("a message longer than any that is served"),
            length => Ok(Some(PREFIX_LEN + length)),
        }
    }

    fn answer(&self, message: BytesMut, in_flight: InFlight) -> Answer {
        Box::pin(chain::answer(self.0.clone(), message, None, in_flight))
    }

    fn begin_early(
        &self,
        arrived: &[u8],
        length: usize,
        in_flight: &InFlight,
    ) -> Option<Box<dyn EarlyMessage>> {
        let (message, length) = (arrived.get(PREFIX_LEN..)?, length.checked_sub(PREFIX_LEN)?);
        let (header, scope) = chain::admit_early(&self.0, message)?;
        let write = EarlyFileWrite::begin(&self.0, &scope, &header, (message, length), in_flight)?;
        Some(Box::new(EarlyFrame { connection: self.0.clone(), write }))
    }

    fn began(&self, client: ToClient) {
        self.0.begin(client);
    }

    fn ended(&self) {
        self.0.end();
    }
}
