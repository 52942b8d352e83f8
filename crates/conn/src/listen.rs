//! The clients of one protocol: listens, accepts connections within a limit, and ends all of them at the end.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::os::fd::OwnedFd;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime};

use lock::Mutex;
use socket2::{Domain, Protocol, Socket, Type};
use tokio::net::{TcpListener, UdpSocket};
use tokio::sync::watch;

use crate::congestion;
use crate::loops::{LoopStream, Loops, Polling};
use crate::memory::{Allowance, Budget};
use crate::ranks;
use crate::timing::ConnectionTiming;

/// Connections waiting to be accepted.
const BACKLOG: i32 = 1024;
/// Loops of a server that was given none.
const OWN_LOOPS: usize = 2;
/// How long to wait after the host refused another descriptor.
const EXHAUSTED_PAUSE: Duration = Duration::from_millis(50);

/// One client leaves one part in this many of the connections to others.
const OTHERS_PART: usize = 4;

/// Whether two addresses belong to one client: an address of IPv4, or the network of a household of IPv6.
fn is_same_client(one: IpAddr, other: IpAddr) -> bool {
    match (one, other) {
        (IpAddr::V6(one), IpAddr::V6(other)) => one.segments()[..4] == other.segments()[..4],
        (one, other) => one == other,
    }
}

/// What a connection has done so far.
#[derive(Debug, Default)]
#[allow(missing_docs, reason = "named in full")]
pub struct Counters {
    pub requests: AtomicU64,
    pub bytes_in: AtomicU64,
    pub bytes_out: AtomicU64,
    pub is_tls: AtomicBool,
    pub timing: ConnectionTiming,
}

/// The other end of a connection.
#[derive(Debug, Clone)]
pub struct Peer {
    /// Its address and port.
    pub address: SocketAddr,
    /// The address of this end. `None`: it is no connection of TCP.
    pub local: Option<SocketAddr>,
    /// Since when.
    pub since: SystemTime,
    /// What it has done.
    pub counters: Arc<Counters>,
    /// What it may make the server hold.
    pub memory: Arc<Allowance>,
}

/// A TCP listener on this address. An IPv6 one takes IPv6 only, so that both can be bound.
pub fn bind_tcp(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM.nonblocking(), Some(Protocol::TCP))?;
    if address.is_ipv6() {
        socket.set_only_v6(true)?;
    }
    socket.set_reuse_address(true)?;
    congestion::prepare(&socket);
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    TcpListener::from_std(socket.into())
}

/// A UDP socket on this address.
pub fn bind_udp(address: SocketAddr) -> io::Result<UdpSocket> {
    let socket = Socket::new(Domain::for_address(address), Type::DGRAM.nonblocking(), Some(Protocol::UDP))?;
    if address.is_ipv6() {
        socket.set_only_v6(true)?;
    }
    socket.bind(&address.into())?;
    UdpSocket::from_std(socket.into())
}

/// The connections of one protocol: at most `limit` at a time, all ended by `shutdown`.
pub struct Server {
    peers: Mutex<Vec<Peer>, ranks::Peers>,
    limit: usize,
    budget: Arc<Budget>,
    loops: OnceLock<Arc<Loops>>,
    before: OnceLock<AdmissionHook>,
}

/// What a connection waits for before it is served.
pub type AdmissionHook = Arc<dyn Fn(IpAddr) -> Pin<Box<dyn Future<Output = ()> + Send>> + Send + Sync>;

impl Server {
    /// No connections yet. `budget`: the memory that clients of all protocols may make the server hold.
    pub fn new(limit: usize, budget: Arc<Budget>) -> Arc<Self> {
        Arc::new(Self {
            peers: Mutex::default(),
            limit,
            budget,
            loops: OnceLock::new(),
            before: OnceLock::new(),
        })
    }

    /// Serves connections on these loops. Without this it starts two of its own.
    pub fn on(self: Arc<Self>, loops: &Arc<Loops>) -> Arc<Self> {
        let _ = self.loops.set(loops.clone()); // said once
        self
    }

    /// Each connection waits for this before it is served.
    pub fn after(self: Arc<Self>, before: AdmissionHook) -> Arc<Self> {
        let _ = self.before.set(before); // said once
        self
    }

    fn loops(&self) -> io::Result<Arc<Loops>> {
        if self.loops.get().is_none() {
            let _ = self.loops.set(Loops::start(OWN_LOOPS, Polling::default())?); // another listener may have been faster
        }
        Ok(self.loops.get().ok_or(io::ErrorKind::Other)?.clone())
    }

    /// Who is connected now.
    pub fn peers(&self) -> Vec<Peer> {
        self.peers.lock().clone()
    }

    /// Accepts connections and serves each with `serve` as a task, until `shutdown` becomes true.
    pub async fn run<F>(
        self: Arc<Self>,
        listener: TcpListener,
        mut shutdown: watch::Receiver<bool>,
        serve: impl Fn(LoopStream, Peer) -> F + Send + Sync + 'static,
    ) where
        F: Future<Output = ()> + Send + 'static,
    {
        loop {
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                _ = shutdown.wait_for(|&stop| stop) => return,
            };
            match accepted {
                Ok((stream, address)) => match stream.into_std() {
                    Ok(stream) => _ = self.clone().welcome(stream, address, &shutdown, &serve),
                    Err(error) => tracing::warn!(%error, %address, "a connection cannot be served"),
                },
                Err(error) => {
                    tracing::warn!(%error, "cannot accept a connection");
                    tokio::time::sleep(EXHAUSTED_PAUSE).await;
                }
            }
        }
    }

    /// Serves a client of another transport than TCP, whose messages come over one end of a pair of stream sockets, like a
    /// connection that was accepted. `address` stands for the client. Answers whether it is served.
    pub fn adopt<F>(
        self: Arc<Self>,
        end: OwnedFd,
        address: SocketAddr,
        shutdown: &watch::Receiver<bool>,
        serve: impl Fn(LoopStream, Peer) -> F,
    ) -> bool
    where
        F: Future<Output = ()> + Send + 'static,
    {
        // The loops use the descriptor of a stream only. Calls that are for TCP alone fail, and cost speed at most.
        self.welcome(TcpStream::from(end), address, shutdown, &serve)
    }

    fn welcome<F>(
        self: Arc<Self>,
        stream: TcpStream,
        address: SocketAddr,
        shutdown: &watch::Receiver<bool>,
        serve: impl Fn(LoopStream, Peer) -> F,
    ) -> bool
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let address = SocketAddr::new(address.ip().to_canonical(), address.port());
        let memory = self.budget.admit(address);
        let local = stream.local_addr().ok();
        let peer = Peer { address, local, since: SystemTime::now(), counters: Arc::default(), memory };
        {
            let mut peers = self.peers.lock();
            if peers.len() >= self.limit {
                tracing::warn!(%address, limit = self.limit, "refused: too many connections");
                return false;
            }
            let most = self.limit - self.limit / OTHERS_PART;
            let is_same = |peer: &&Peer| is_same_client(peer.address.ip(), address.ip());
            if peers.len() >= most && peers.iter().filter(is_same).count() >= most {
                tracing::warn!(%address, most, "refused: too many connections of this client");
                return false;
            }
            peers.push(peer.clone());
        }
        let _ = stream.set_nodelay(true); // only costs latency
        congestion::settle(&stream, address.ip());
        let connected = PeerGuard { server: self.clone(), counters: peer.counters.clone() };
        let mut shutdown = shutdown.clone();
        let before = self.before.get().filter(|_| !wire::is_appletalk(address.ip()));
        let before = before.map(|before| before(address.ip()));
        let started = self.loops().and_then(|loops| {
            loops.serve(stream, |stream| {
                let serving = serve(stream, peer);
                async move {
                    let _connected = connected;
                    let serving = async {
                        if let Some(before) = before {
                            before.await;
                        }
                        serving.await;
                    };
                    tokio::select! {
                        () = serving => {}
                        _ = shutdown.wait_for(|&stop| stop) => {}
                    }
                }
            })
        });
        if let Err(error) = &started {
            tracing::warn!(%error, %address, "a connection cannot be served");
        }
        started.is_ok()
    }
}

/// A connection in the list of its server, until it ends: also by a panic.
struct PeerGuard {
    server: Arc<Server>,
    counters: Arc<Counters>,
}

impl Drop for PeerGuard {
    fn drop(&mut self) {
        let mut peers = self.server.peers.lock();
        if let Some(at) = peers.iter().position(|other| Arc::ptr_eq(&other.counters, &self.counters)) {
            peers.swap_remove(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_is_an_address_of_ipv4_or_a_network_of_ipv6() {
        let same = |one: &str, other: &str| is_same_client(one.parse().unwrap(), other.parse().unwrap());
        assert!(same("192.0.2.1", "192.0.2.1") && !same("192.0.2.1", "192.0.2.2"));
        assert!(
            same("2001:db8:0:1::1", "2001:db8:0:1:ffff::2") && !same("2001:db8:0:1::1", "2001:db8:0:2::1")
        );
    }
}
