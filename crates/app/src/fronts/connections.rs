//! The connections of a protocol: how they are accepted, counted, shown and awaited.

use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime};

use admin::Protocol;
use admin::control::SessionStatus;
use conn::{LoopStream, Peer, Server, Watchdog};
use tokio::net::TcpListener;
use tokio::runtime::Handle;
use tokio::sync::watch;
use wire::ClientAddress;

use super::{ExaminedConnection, Launch, PeerSession};
use crate::host::host_names;
use crate::serve::component::ResourceCounts;

/// The most connections of a protocol at a time.
pub(super) const MOST_CONNECTIONS: usize = 16_384;
/// How often it is looked whether all have ended.
const LOOK_EVERY: Duration = Duration::from_millis(10);
/// How long the end is awaited, in looks.
const MOST_LOOKS: usize = 200;

/// The connections of one protocol.
pub(super) struct Connections {
    protocol: Protocol,
    server: Arc<Server>,
    watchdog: Arc<Watchdog>,
}

impl Connections {
    pub(super) fn new(protocol: Protocol, launch: &Launch<'_>) -> Self {
        let server = Server::new(MOST_CONNECTIONS, launch.budget.clone()).on(launch.loops);
        let server = server.after(host_names::before());
        Self { protocol, server, watchdog: Watchdog::start(protocol.title()) }
    }

    /// Accepts connections on these listeners and serves each with `serve`, until the server stops.
    pub(super) fn accept<F>(
        &self,
        listeners: impl IntoIterator<Item = TcpListener>,
        stopping: &watch::Receiver<bool>,
        serve: impl Fn(LoopStream, Peer, Arc<Watchdog>) -> F + Clone + Send + Sync + 'static,
    ) where
        F: Future<Output = ()> + Send + 'static,
    {
        for listener in listeners {
            let (serve, watchdog) = (serve.clone(), self.watchdog.clone());
            let serve = move |stream, peer| serve(stream, peer, watchdog.clone());
            tokio::spawn(self.server.clone().run(listener, stopping.clone(), serve));
        }
    }

    /// Serves clients that come by a pair of sockets, from any thread, until the server stops. Called on the runtime. The result
    /// takes an end and the client's address, and answers whether the client is served.
    pub(super) fn adopter<F>(
        &self,
        stopping: &watch::Receiver<bool>,
        serve: impl Fn(LoopStream, Peer, Arc<Watchdog>) -> F + Send + 'static,
    ) -> impl Fn(OwnedFd, SocketAddr) -> bool + Send + 'static
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let (server, watchdog) = (self.server.clone(), self.watchdog.clone());
        let (stopping, runtime) = (stopping.clone(), Handle::current());
        move |end, address| {
            let _entered = runtime.enter();
            server
                .clone()
                .adopt(end, address, &stopping, |stream, peer| serve(stream, peer, watchdog.clone()))
        }
    }

    /// For a status; `session` says who has logged in over a connection.
    pub(super) fn status(&self, session_of: impl Fn(&Peer) -> PeerSession) -> Vec<SessionStatus> {
        let now = SystemTime::now();
        let session = |peer: &Peer, PeerSession { user, is_asleep, .. }| SessionStatus {
            protocol: self.protocol,
            peer: peer.address,
            appletalk: wire::is_appletalk(peer.address.ip()).then(|| ClientAddress(peer.address).to_string()),
            user,
            asleep: is_asleep,
            since_s: now.duration_since(peer.since).unwrap_or_default().as_secs(),
            requests: peer.counters.requests.load(Ordering::Relaxed),
            bytes_in: peer.counters.bytes_in.load(Ordering::Relaxed),
            bytes_out: peer.counters.bytes_out.load(Ordering::Relaxed),
            tls: peer.counters.is_tls.load(Ordering::Relaxed),
        };
        self.server.peers().iter().map(|peer| session(peer, session_of(peer))).collect()
    }

    /// Those that the doctor wants. `sessions` gives who has logged in over a connection; it is asked if there are some.
    pub(super) fn examined<S: Fn(&Peer) -> PeerSession>(
        &self,
        is_wanted: &dyn Fn(Protocol, &Peer) -> bool,
        sessions: impl FnOnce() -> S,
    ) -> Vec<ExaminedConnection> {
        let mut peers = self.server.peers();
        peers.retain(|peer| is_wanted(self.protocol, peer));
        if peers.is_empty() {
            return Vec::new();
        }
        let session_of = sessions();
        let examined = |peer| ExaminedConnection { protocol: self.protocol, of: session_of(&peer), peer };
        peers.into_iter().map(examined).collect()
    }

    /// Adds how many there are, and how many of them have TLS.
    pub(super) fn count(&self, held: &mut ResourceCounts) {
        let peers = self.server.peers();
        held.connections.push((self.protocol.word(), peers.len()));
        held.tls += peers.iter().filter(|peer| peer.counters.is_tls.load(Ordering::Relaxed)).count();
    }

    /// Waits until all have ended, for two seconds at most.
    pub(super) async fn ended(&self) {
        for _ in 0..MOST_LOOKS {
            if self.server.peers().is_empty() {
                return;
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }
}
