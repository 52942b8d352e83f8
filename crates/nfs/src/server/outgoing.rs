//! Calls that this server makes: to rpcbind, to clients' lock managers and status monitors.

mod sockets;

use std::fmt;
use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::atomic::{AtomicU32, Ordering};

use wire::{Malformed, Reader, Writer};

use crate::wire::rpc::{AuthFlavor, AuthSys, CallHeader, Credential, Outcome, ReplyHeader};
use crate::wire::xdr::{Decode, Encode, Opaque, Words, arguments as decoded};

pub use sockets::HostSockets;

/// The address at which a program is called.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum CallEndpoint {
    /// By datagrams.
    Udp(SocketAddr),
    /// Over a connection made for one call.
    Tcp(SocketAddr),
    /// The same over a UNIX socket.
    Unix(PathBuf),
}

/// The reply, or an error after the timeout.
pub type ExchangeFuture<'a> = Pin<Box<dyn Future<Output = io::Result<Vec<u8>>> + Send + 'a>>;

/// How calls leave this host. [`HostSockets`] uses the network.
pub trait CallNetwork: Send + Sync + 'static {
    /// Sends a message, without a record mark, and returns the reply that begins with the same four
    /// bytes. The implementation repeats datagrams, and gives up after a few seconds.
    fn exchange<'a>(&'a self, to: &'a CallEndpoint, message: Vec<u8>) -> ExchangeFuture<'a>;

    /// The address of this host that `peer` sees.
    fn address_towards(&self, peer: IpAddr) -> Option<IpAddr>;
}

/// Why a call has no result.
#[derive(Debug)]
pub(super) enum RpcError {
    /// There was no answer.
    Unanswered(io::Error),
    /// The call was not accepted.
    Refused(Outcome),
    /// The answer cannot be decoded.
    Malformed,
}

impl fmt::Display for RpcError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unanswered(error) => write!(f, "no answer: {error}"),
            Self::Refused(outcome) => write!(f, "refused: {outcome:?}"),
            Self::Malformed => f.write_str("an answer that makes no sense"),
        }
    }
}

/// The results of a call.
pub(super) struct CallResults(Vec<u8>);

impl CallResults {
    /// The results as one value.
    pub(super) fn value<'a, T: Decode<'a>>(&'a self) -> Result<T, RpcError> {
        decoded(&mut Reader::new(&self.0)).map_err(|_| RpcError::Malformed)
    }

    /// The results as decoded by `read`.
    pub(super) fn read<'a, T>(
        &'a self,
        read: impl FnOnce(&mut Reader<'a>) -> Result<T, Malformed>,
    ) -> Result<T, RpcError> {
        read(&mut Reader::new(&self.0)).map_err(|_| RpcError::Malformed)
    }
}

/// Calls `procedure` (program, version, procedure) and waits for its results.
pub(super) async fn call(
    network: &dyn CallNetwork,
    to: &CallEndpoint,
    (program, version, procedure): (u32, u32, u32),
    arguments: &(impl Encode + Sync),
) -> Result<CallResults, RpcError> {
    let credential = Credential::Sys(ourselves());
    let verifier = AuthFlavor::AUTH_NONE;
    let header = CallHeader { xid: next_xid(), program, version, procedure, credential, verifier };
    let mut w = Writer::new();
    header.encode(&mut w);
    arguments.encode(&mut w);
    let reply = network.exchange(to, w.into_bytes()).await.map_err(RpcError::Unanswered)?;
    let mut reader = Reader::new(&reply);
    match ReplyHeader::decode(&mut reader) {
        Ok(ReplyHeader { outcome: Outcome::Success, .. }) => Ok(CallResults(reader.rest().to_vec())),
        Ok(ReplyHeader { outcome, .. }) => Err(RpcError::Refused(outcome)),
        Err(_) => Err(RpcError::Malformed),
    }
}

/// Lock managers call each other as the superuser.
fn ourselves() -> AuthSys<'static> {
    AuthSys { stamp: 0, machine_name: Opaque::new(b"fourfold"), uid: 0, gid: 0, gids: Words::new(&[]) }
}

/// Begins at a random number, so that calls of this run do not look like calls of the previous one.
pub(super) fn next_xid() -> u32 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let mut next = NEXT.load(Ordering::Relaxed);
    if next == 0 {
        let mut bytes = [0; 4];
        getrandom::fill(&mut bytes).unwrap_or_default();
        next = u32::from_ne_bytes(bytes) | 1;
        // The start of another thread is as good.
        let _ = NEXT.compare_exchange(0, next, Ordering::Relaxed, Ordering::Relaxed);
    }
    NEXT.fetch_add(1, Ordering::Relaxed)
}
