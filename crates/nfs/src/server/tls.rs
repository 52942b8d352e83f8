//! RPC-with-TLS, RFC 9289: the probe with which a client asks for it, and what a connection is protected by.

#[cfg(test)]
mod tests;

use std::hash::{Hash, Hasher};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Instant;

use auth::{Event, Login};
use conn::CompletedHandshake;
use rustls::ServerConfig;
use wire::{Reader, Writer};

use super::{CallOrigin, Service};
use crate::wire::rpc::{AuthFlavor, CallHeader, Credential, Message, RecordMark, ReplyHeader};
use crate::wire::xdr::Decode;

/// What the reply to a probe has in its verifier, RFC 9289 4.1.
const TOKEN: &[u8; 8] = b"STARTTLS";
/// Where a call has the flavour of its credential: after the transaction id, the type of the message, the version of RPC, the
/// program, its version and the procedure.
const FLAVOR_AT: std::ops::Range<usize> = 24..28;

/// What protects the calls of a client on their way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Protection {
    /// Nothing.
    #[default]
    None,
    /// Nothing, and the client may begin TLS.
    Offered,
    /// TLS.
    Tls,
    /// TLS, and the client has shown a certificate that the server trusts.
    Certified,
}

impl Protection {
    const ALL: [Self; 4] = [Self::None, Self::Offered, Self::Tls, Self::Certified];
}

/// An origin is a connection, whatever protects it at the time.
impl PartialEq for CallOrigin {
    fn eq(&self, other: &Self) -> bool {
        (self.address, self.port, self.datagram) == (other.address, other.port, other.datagram)
    }
}

impl Eq for CallOrigin {}

impl Hash for CallOrigin {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.address, self.port, self.datagram).hash(state);
    }
}

/// The TLS of one connection.
pub(super) struct ConnectionTls {
    config: Option<Arc<ServerConfig>>,
    /// The number of the present [`Protection`], or [`BEGUN`].
    state: AtomicU8,
}

/// The client was told to begin the handshake.
const BEGUN: u8 = Protection::ALL.len() as u8;

impl ConnectionTls {
    pub(super) fn new(config: Option<Arc<ServerConfig>>) -> Self {
        let protection = if config.is_some() { Protection::Offered } else { Protection::None };
        Self { config, state: AtomicU8::new(protection as u8) }
    }

    /// What protects the next message.
    pub(super) fn protection(&self) -> Protection {
        let at = self.state.load(Ordering::Acquire);
        Protection::ALL.get(usize::from(at)).copied().unwrap_or_default()
    }

    /// Notes a probe, which gets the token: its connection then begins TLS.
    pub(super) fn note(&self, message: &[u8], origin: CallOrigin) {
        if message.get(FLAVOR_AT) == Some(&AuthFlavor::AUTH_TLS.0.to_be_bytes()[..])
            && let Ok(Message::Call(header)) = Message::decode(&mut Reader::new(message))
            && is_probe(&header, origin)
        {
            self.state.store(BEGUN, Ordering::Release);
        }
    }

    /// The handshake that comes next.
    pub(super) fn begins(&self) -> Option<Arc<ServerConfig>> {
        if self.state.load(Ordering::Acquire) == BEGUN { self.config.clone() } else { None }
    }

    /// The handshake has ended.
    pub(super) fn ended(
        &self,
        handshake: Result<CompletedHandshake, String>,
        service: &Service,
        origin: CallOrigin,
    ) {
        match handshake {
            Ok(secured) => {
                let protection = match secured.has_certificate {
                    true => Protection::Certified,
                    false => Protection::Tls,
                };
                self.state.store(protection as u8, Ordering::Release);
            }
            Err(why) => {
                let peer = SocketAddr::new(origin.address, origin.port);
                let line = Login { protocol: "nfs", peer, user: "", method: "TLS" };
                service.login_guard.log.tell(&line, Event::Failed(&why), Instant::now());
            }
        }
    }
}

/// Whether a call asks for TLS and may. The client then sends its handshake, whatever the results say.
pub(super) fn is_probe(header: &CallHeader<'_>, origin: CallOrigin) -> bool {
    origin.protection == Protection::Offered
        && header.credential == Credential::Tls
        && header.procedure == 0
        && header.verifier == AuthFlavor::AUTH_NONE
}

/// Puts the token into the verifier of an accepted reply, which is empty: RFC 9289 4.1.
pub(super) fn with_token(reply: Writer) -> Writer {
    // The record mark, the transaction id, the type of the message, its status, and the verifier's flavour.
    const LENGTH_AT: usize = RecordMark::SIZE + 16;
    debug_assert!(ReplyHeader::decode(&mut Reader::new(&reply.as_bytes()[RecordMark::SIZE..])).is_ok());
    let mut bytes = reply.into_bytes();
    bytes.splice(LENGTH_AT..LENGTH_AT + 4, [&(TOKEN.len() as u32).to_be_bytes()[..], TOKEN].concat());
    Writer::onto(bytes)
}
