//! The server's side: RPC programs over one set of exports.
//!
//! ```text
//! stream.rs, datagram.rs ─► rpc.rs ─► replies.rs ─► v3/ · mount.rs · nlm/ · nsm.rs · portmap.rs ─► vfs
//!                                      handle.rs and export.rs say which file, and who asks
//! ```

mod clients;
mod datagram;
mod export;
mod handle;
mod mount;
mod outgoing;
mod portmap;
mod replies;
mod rpc;
mod status;
mod stream;
#[cfg(test)]
mod testing;
mod v3;

use std::net::IpAddr;
use std::sync::Arc;
use std::time::SystemTime;

use parking_lot::{Mutex, RwLock};

use clients::Clients;
pub use datagram::{MAX_DATAGRAM, serve_datagrams};
pub use export::{Export, ExportOptions, Rule, Squash};
pub use handle::HandleSecret;
pub use outgoing::{Endpoint, Exchanged, Network, Sockets};
pub use portmap::{Places, Portmap, announce, withdraw};
use replies::Replies;
pub use stream::{MAX_RECORD, serve_stream};

/// What the programs of one server share.
pub struct Service {
    exports: RwLock<Arc<Vec<Arc<Export>>>>,
    secret: HandleSecret,
    /// Differs at each start: a client that sees it change sends its uncommitted writes again.
    verifier: [u8; 8],
    replies: Replies,
    mounts: mount::Mounts,
    clients: Clients,
    places: Mutex<Places>,
    network: Arc<dyn Network>,
}

impl Service {
    /// A service with these exports. `secret` makes file handles unforgeable and must be the same after a restart;
    /// `started` must not be.
    pub fn new(exports: Vec<Export>, secret: HandleSecret, started: SystemTime) -> Arc<Self> {
        Self::with_network(exports, secret, started, Arc::new(Sockets))
    }

    /// The same on a network other than the host's.
    pub fn with_network(
        exports: Vec<Export>,
        secret: HandleSecret,
        started: SystemTime,
        network: Arc<dyn Network>,
    ) -> Arc<Self> {
        let since = started.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Arc::new(Self {
            exports: RwLock::new(Arc::new(exports.into_iter().map(Arc::new).collect())),
            secret,
            verifier: (since.as_nanos() as u64).to_be_bytes(),
            replies: Replies::default(),
            mounts: mount::Mounts::default(),
            clients: Clients::default(),
            places: Mutex::default(),
            network,
        })
    }

    /// The exports now.
    pub fn exports(&self) -> Arc<Vec<Arc<Export>>> {
        self.exports.read().clone()
    }

    /// Replaces the exports. Handles of exports that stay go on working.
    pub fn set_exports(&self, exports: Vec<Export>) {
        *self.exports.write() = Arc::new(exports.into_iter().map(Arc::new).collect());
    }

    /// Where the programs are served, as portmap tells it.
    pub fn places(&self) -> Places {
        *self.places.lock()
    }

    /// Says where the programs are served, once the ports are known.
    pub fn set_places(&self, places: Places) {
        *self.places.lock() = places;
    }

    pub(crate) fn network(&self) -> &dyn Network {
        self.network.as_ref()
    }

    /// The export of this name, as a client that mounts `/name` gives it.
    pub(crate) fn export_named(&self, name: &[u8]) -> Option<Arc<Export>> {
        self.exports.read().iter().find(|export| export.name.as_bytes() == name).cloned()
    }

    pub(crate) fn export_tagged(&self, tag: u32) -> Option<Arc<Export>> {
        self.exports.read().iter().find(|export| export.tag == tag).cloned()
    }
}

/// Where a call came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Origin {
    /// The client's address.
    pub address: IpAddr,
    /// Its port.
    pub port: u16,
    /// Over a datagram.
    pub datagram: bool,
}
