use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, SystemTime};

use lock::{Mutex, rank};
use socket2::{Domain, Protocol, Socket, Type};
use tokio::net::{TcpListener, TcpStream, UdpSocket};
use tokio::sync::watch;

use crate::memory::{Allowance, Budget};

/// Connections waiting to be accepted.
const BACKLOG: i32 = 1024;
/// How long to wait after the host refused another descriptor.
const EXHAUSTED_PAUSE: Duration = Duration::from_millis(50);

/// What a connection has done so far.
#[derive(Debug, Default)]
#[allow(missing_docs, reason = "named in full")]
pub struct Counters {
    pub requests: AtomicU64,
    pub bytes_in: AtomicU64,
    pub bytes_out: AtomicU64,
}

/// The other end of a connection.
#[derive(Debug, Clone)]
pub struct Peer {
    /// Its address and port.
    pub address: SocketAddr,
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
    peers: Mutex<Vec<Peer>, rank::Peers>,
    limit: usize,
    budget: Arc<Budget>,
}

impl Server {
    /// No connections yet. `budget`: the memory that clients of all protocols may make the server hold.
    pub fn new(limit: usize, budget: Arc<Budget>) -> Arc<Self> {
        Arc::new(Self { peers: Mutex::default(), limit, budget })
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
        serve: impl Fn(TcpStream, Peer) -> F + Send + Sync + 'static,
    ) where
        F: Future<Output = ()> + Send + 'static,
    {
        loop {
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                _ = shutdown.wait_for(|&stop| stop) => return,
            };
            match accepted {
                Ok((stream, address)) => self.clone().welcome(stream, address, &shutdown, &serve),
                Err(error) => {
                    tracing::warn!(%error, "cannot accept a connection");
                    tokio::time::sleep(EXHAUSTED_PAUSE).await;
                }
            }
        }
    }

    fn welcome<F>(
        self: Arc<Self>,
        stream: TcpStream,
        address: SocketAddr,
        shutdown: &watch::Receiver<bool>,
        serve: impl Fn(TcpStream, Peer) -> F,
    ) where
        F: Future<Output = ()> + Send + 'static,
    {
        let address = SocketAddr::new(address.ip().to_canonical(), address.port());
        let memory = self.budget.admit(address);
        let peer = Peer { address, since: SystemTime::now(), counters: Arc::default(), memory };
        {
            let mut peers = self.peers.lock();
            if peers.len() >= self.limit {
                tracing::warn!(%address, limit = self.limit, "refused: too many connections");
                return;
            }
            peers.push(peer.clone());
        }
        let _ = stream.set_nodelay(true); // only costs latency
        let serving = serve(stream, peer.clone());
        let mut shutdown = shutdown.clone();
        tokio::spawn(async move {
            tokio::select! {
                () = serving => {}
                _ = shutdown.wait_for(|&stop| stop) => {}
            }
            let mut peers = self.peers.lock();
            if let Some(at) = peers.iter().position(|other| Arc::ptr_eq(&other.counters, &peer.counters)) {
                peers.swap_remove(at);
            }
        });
    }
}
