//! The server's side: RPC programs over one set of exports.
//!
//! ```text
//! stream.rs, datagram.rs ─► rpc.rs ─► replies.rs ─► v3/ · mount.rs · nlm/ · nsm.rs · portmap.rs ─► vfs
//!                                      handle.rs and export.rs say which file, and who asks
//! ```

mod clients;
mod export;
mod handle;
mod mount;
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

use parking_lot::RwLock;

use clients::Clients;
pub use export::{Export, ExportOptions, Rule, Squash};
pub use handle::HandleSecret;
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
}

impl Service {
    /// A service with these exports. `secret` makes file handles unforgeable and must be the same after a restart;
    /// `started` must not be.
    pub fn new(exports: Vec<Export>, secret: HandleSecret, started: SystemTime) -> Arc<Self> {
        let since = started.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Arc::new(Self {
            exports: RwLock::new(Arc::new(exports.into_iter().map(Arc::new).collect())),
            secret,
            verifier: (since.as_nanos() as u64).to_be_bytes(),
            replies: Replies::default(),
            mounts: mount::Mounts::default(),
            clients: Clients::default(),
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
