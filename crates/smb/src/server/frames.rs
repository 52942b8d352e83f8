//! One TCP connection: frames in and out, MS-SMB2 3.3.5.1.

use std::sync::Arc;

use bytes::BytesMut;
use conn::{Answer, InFlight, Limits, LoopStream, Peer, Protocol, ToClient, Watchdog};

use super::chain;
use super::connection::Connection;
use super::credits;
use super::service::Service;
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
        Box::pin(chain::answer(self.0.clone(), message, in_flight))
    }

    fn began(&self, client: ToClient) {
        self.0.begin(client);
    }

    fn ended(&self) {
        self.0.end();
    }
}
