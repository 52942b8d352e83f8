//! Several servers of one tree: when one of them is lost, its clients go to the others and reclaim there what they held. For
//! that time the others grant nothing on files that these clients may have used.
//!
//! ```text
//!  Over ─ a server is lost ─► Beginning ─ its clients are known ─► Reclaiming ─► Ending ─► Over
//! ```

use std::sync::Arc;

use vfs::FileId;
use vfs::state::State;

use super::Service;

/// The progress of a grace period.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// There is nothing to reclaim.
    Over,
    /// The clients that may reclaim are not known yet.
    Beginning,
    /// Clients may reclaim.
    Reclaiming,
    /// Clients may not reclaim any more, and another server may still let its clients do so.
    Ending,
}

/// The grace period that all servers of one tree have in common.
pub trait CommonGrace: Send + Sync + 'static {
    /// Its progress now. Quick.
    fn phase(&self) -> Phase;
    /// This client of a lost server has taken back all that it held. Returns at once.
    fn has_reclaimed(&self, client: &[u8]);
}

/// What clients of lost servers held.
#[derive(Debug, Clone, Default)]
pub struct LostServers {
    /// The names of their clients of version 4.
    pub clients: Vec<Vec<u8>>,
    /// The hosts that had locks by NLM, as in a [`HostTable`](super::HostTable).
    pub hosts: Vec<(Vec<u8>, Vec<u8>)>,
    /// The names and addresses by which the hosts know the lost servers.
    pub names: Vec<Vec<u8>>,
    /// Counts up with each loss of a server.
    pub epoch: u64,
    /// This server tells the hosts.
    pub tells: bool,
}

impl Service {
    /// Lets the clients of lost servers reclaim here what they held. Tells the hosts among them, in the background.
    pub fn take_over(self: &Arc<Self>, lost: &LostServers) {
        self.nfs4.take_over(&lost.clients);
        let hosts = self.monitor.take_over(lost);
        if lost.tells && !hosts.is_empty() {
            let (service, names) = (self.clone(), lost.names.clone());
            tokio::spawn(async move { super::nsm::tell_hosts(&service, hosts, names).await });
        }
    }

    /// The grace period of the clients of lost servers is over.
    pub fn end_takeover(&self) {
        self.nfs4.end_takeover();
        self.monitor.end_takeover();
        for export in self.exports().iter() {
            export.volume.state().forget_settled();
        }
    }

    /// Whether something on a file may be granted now that is not reclaimed.
    pub(super) fn may_grant(&self, state: &State, file: FileId) -> bool {
        !self.monitor.in_grace() || (self.monitor.is_common() && state.is_settled(file))
    }
}
