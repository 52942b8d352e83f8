//! What each part of a running server does for the operator's interface.

use std::sync::Arc;

use admin::Arguments;
use admin::control::{LinkStatus, Schedules, Status};

use super::current::Current;

/// How much clients hold now.
#[derive(Debug, Default)]
pub(crate) struct ResourceCounts {
    /// Of each protocol.
    pub(crate) connections: Vec<(&'static str, usize)>,
    /// Of NFS with TLS.
    pub(crate) tls: usize,
    pub(crate) opens: usize,
    /// How many of the opens that clients may have are in use.
    pub(crate) open_counts: vfs::OpenCounts,
    pub(crate) locks: usize,
    pub(crate) leases: usize,
    /// The caches.
    pub(crate) caches: Vec<vfs::caches::Entry>,
    /// Lines of the audit log that were written, and that were lost.
    pub(crate) audit: (u64, u64),
    /// Slow operations.
    pub(crate) slow: u64,
    /// The links of the namespace.
    pub(crate) links: Vec<LinkStatus>,
    /// The alerts that are raised, and what else their rules have seen.
    pub(crate) seen: crate::serve::alerts::AlertSnapshot,
}

/// A part of a running server.
pub(crate) trait Component: Send + Sync {
    /// Adds what it knows: sessions, opens, locks and leases, listeners.
    fn report(&self, _status: &mut Status) {}

    /// Adds how much its clients hold.
    fn count(&self, _held: &mut ResourceCounts) {}

    /// Applies new settings without disconnecting clients; returns lines about it.
    fn reload(&self, current: &Arc<Current>) -> Vec<String>;

    /// Snapshots of the shares have been made or removed.
    fn snapshots_changed(&self) {}
}

/// What the servers of a cluster have in common.
pub(crate) trait InCommon: Send + Sync {
    /// Brings it here, before the settings and accounts are read again; returns lines about it.
    ///
    /// # Errors
    /// The settings in common do not become the same; the lines have the reasons.
    fn before_reload(&self, arguments: &Arguments) -> Result<Vec<String>, Vec<String>>;

    /// Whether this server keeps the schedules of its shares.
    fn schedules(&self) -> Schedules;
}
