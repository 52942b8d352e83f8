//! A server for tests of connections over sockets.

use std::net::{Ipv4Addr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use conn::{Limits, Loops, Peer, Polling, Protocol, Watchdog};
use tokio::runtime::Runtime;

/// Serves connections while it lives.
pub(crate) struct Server {
    loops: Arc<Loops>,
    watchdog: Arc<Watchdog>,
    _runtime: Runtime,
}

impl Server {
    /// A server with so many event loops.
    pub(crate) fn new(loops: usize) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.unwrap();
        let entered = runtime.enter();
        let loops = Loops::start(loops, Polling::default()).unwrap();
        drop(entered);
        Self { loops, watchdog: Watchdog::start("test"), _runtime: runtime }
    }

    /// The client's end of a connection that speaks `protocol`.
    pub(crate) fn connect(&self, protocol: impl Protocol, limits: Limits) -> TcpStream {
        let watchdog = self.watchdog.clone();
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        client.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let (stream, address) = listener.accept().unwrap();
        let peer = Peer {
            address,
            local: None,
            since: SystemTime::now(),
            counters: Arc::default(),
            memory: Arc::default(),
        };
        let serve = |stream| async move { conn::serve(stream, &peer, protocol, limits, watchdog).await };
        self.loops.serve(stream, serve).unwrap();
        client
    }
}
