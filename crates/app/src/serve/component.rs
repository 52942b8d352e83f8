//! What each part of a running server does for the operator's interface.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use admin::control::{
    CachesAnswer, CachesRequest, Disconnect, LinkStatus, LunAnswer, LunRequest, Progress, RestoreReport,
    RestoreRequest, Schedules, ScrubReport, ScrubRequest, SlowOperation, Status,
};
use admin::{Arguments, ShareSettings};
use vfs::{FileId, Volume};

use super::Current;

/// A file of a share.
pub(crate) struct OpenFile {
    pub(crate) volume: Arc<Volume>,
    pub(crate) id: FileId,
}

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

/// A protocol's part in status and reload.
pub(crate) trait View: Send + Sync {
    /// Adds its sessions, opens, locks and leases.
    fn report(&self, status: &mut Status);

    /// Adds how much its clients hold.
    fn count(&self, _held: &mut ResourceCounts) {}

    /// Applies new settings without disconnecting clients; returns lines about it.
    fn reload(&self, current: &Arc<Current>) -> Vec<String>;

    /// Shows a message to the users of the sessions that match; returns how many clients were told. `None`: the protocol is
    /// off, or has no messages.
    fn say(&self, _text: &str, _to: &Disconnect) -> Option<usize> {
        None
    }

    /// Ends the matching sessions, or closes `file` in them. Returns a line about what was done, if
    /// anything was.
    fn disconnect(&self, _what: &Disconnect, _file: Option<&OpenFile>) -> Option<String> {
        None
    }

    /// Whether clients have files of this share open, or it has LUNs that are served.
    fn is_in_use(&self, _share: &str) -> bool {
        false
    }

    /// Where a file is, if this knows the shares' folders.
    fn find(&self, _path: &Path) -> Option<anyhow::Result<OpenFile>> {
        None
    }

    /// The files of a share, if this knows the shares' folders.
    fn volume(&self, _current: &Arc<Current>, _share: &ShareSettings) -> Option<anyhow::Result<Arc<Volume>>> {
        None
    }

    /// Executes a request about LUNs, if they belong to the protocol.
    fn lun(
        &self,
        _current: &Arc<Current>,
        _request: &LunRequest,
        _progress: &dyn Fn(Progress) -> bool,
    ) -> Option<anyhow::Result<LunAnswer>> {
        None
    }

    /// Restores files of a snapshot, if this knows the shares' folders.
    fn restore(
        &self,
        _current: &Arc<Current>,
        _request: &RestoreRequest,
        _progress: &dyn Fn(Progress) -> bool,
    ) -> Option<anyhow::Result<RestoreReport>> {
        None
    }

    /// Scrubs a share, if this knows the shares' folders.
    fn scrub(
        &self,
        _current: &Arc<Current>,
        _request: &ScrubRequest,
        _progress: &dyn Fn(Progress) -> bool,
    ) -> Option<anyhow::Result<ScrubReport>> {
        None
    }

    /// Looks which snapshots the shares have now, if this shows them.
    fn look_at_snapshots(&self) {}

    /// Brings what the servers of a cluster have in common, before the settings and accounts are read again; returns lines about it.
    ///
    /// # Errors
    /// The settings in common do not become the same; the lines have the reasons.
    fn before_reload(&self, _arguments: &Arguments) -> Result<Vec<String>, Vec<String>> {
        Ok(Vec::new())
    }

    /// Whether this server keeps the schedules of its shares, if this knows it.
    fn schedules(&self) -> Option<Schedules> {
        None
    }

    /// The slowest operations since the last call, if this knows them.
    fn slowest(&self) -> Vec<SlowOperation> {
        Vec::new()
    }

    /// Shows or limits the caches, if this knows them.
    fn caches(&self, _request: &CachesRequest) -> Option<Result<CachesAnswer, Vec<String>>> {
        None
    }
}

/// The line about the number of ended sessions or closed opens.
pub(crate) fn counted(count: usize, of: &str) -> Option<String> {
    let plural = if count == 1 { "" } else { "s" };
    (count > 0).then(|| format!("{count} {of}{plural} ended"))
}

/// Waits until every connection of a protocol has ended, for two seconds at most.
pub(crate) async fn all_ended(connections: &conn::Server) {
    const LOOK_EVERY: Duration = Duration::from_millis(10);
    const MOST_LOOKS: usize = 200;
    for _ in 0..MOST_LOOKS {
        if connections.peers().is_empty() {
            return;
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}
