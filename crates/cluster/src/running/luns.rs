//! What the servers of a cluster need to have LUNs in common.

use std::net::IpAddr;

use tokio::sync::watch;

use super::Cluster;
use super::common::wait;
use crate::membership::{Member, Seen, luns_key};

/// Where everything is, as etcd said last.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Places {
    /// The number of this server.
    pub me: u16,
    /// The members, by ascending numbers.
    pub members: Vec<Member>,
    /// The virtual addresses that a server has, each with its number.
    pub addresses: Vec<(IpAddr, u16)>,
    /// The revision of the last change of the table of LUNs.
    pub luns: u64,
}

impl Places {
    pub(super) fn of(me: u16, seen: &Seen) -> Self {
        let (members, addresses) = (seen.members.members.clone(), seen.addresses.clone());
        Self { me, members, addresses, luns: seen.luns }
    }
}

impl Cluster {
    /// Where everything is. It changes within 0.3 s when etcd has changed.
    #[must_use]
    pub fn places(&self) -> watch::Receiver<Places> {
        self.places.clone()
    }

    /// The identity of which the names of targets are made: `own` if the cluster has none yet. Waits for etcd.
    ///
    /// # Errors
    /// etcd cannot be used.
    pub fn target_identity(&self, own: [u8; 16]) -> Result<[u8; 16], String> {
        let kept = self.kept.clone();
        wait(&self.shared.etcd, async move { kept.common.lock().await.targets(own).await })
    }

    /// The table of LUNs and its revision; `None`: it was never written. Waits for etcd.
    ///
    /// # Errors
    /// etcd cannot be used.
    pub fn luns(&self) -> Result<Option<(String, u64)>, String> {
        let kept = self.kept.clone();
        wait(&self.shared.etcd, async move { kept.common.lock().await.luns().await })
    }

    /// Replaces the table of LUNs if it is still of this revision (0: it was never written). Returns whether it was.
    /// Waits for etcd.
    ///
    /// # Errors
    /// etcd cannot be used. The table may have been replaced.
    pub fn swap_luns(&self, revision: u64, text: String) -> Result<bool, String> {
        let (kept, marker) = (self.kept.clone(), luns_key(&self.shared.config.cluster));
        wait(
            &self.shared.etcd,
            async move { kept.common.lock().await.swap_luns(revision, &text, &marker).await },
        )
    }
}
