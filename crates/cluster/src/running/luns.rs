//! Where the servers of a cluster are, and what they need to have LUNs in common.

use std::net::IpAddr;

use tokio::sync::watch;

use super::Cluster;
use super::common::wait;
use crate::Revisions;
use crate::membership::{EtcdState, Member};

/// Where everything is, as etcd said last.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UnitPlaces {
    /// The number of this server.
    pub me: u16,
    /// The members, by ascending numbers.
    pub members: Vec<Member>,
    /// The virtual addresses that a server has, each with its number.
    pub addresses: Vec<(IpAddr, u16)>,
    /// The revisions of the texts that the servers have in common.
    pub texts: Revisions,
    /// The server that keeps the schedules. `None`: none does at the moment.
    pub schedules: Option<u16>,
    /// The shares in which clients of other servers make backups of Macs.
    pub backups: Vec<String>,
}

impl UnitPlaces {
    pub(super) fn of(me: u16, seen: &EtcdState) -> Self {
        let (members, addresses) = (seen.members.members.clone(), seen.addresses.clone());
        let backups = seen.backups.iter().filter(|(server, _)| **server != me);
        let mut backups: Vec<String> = backups.flat_map(|(_, shares)| shares.clone()).collect();
        backups.sort_unstable();
        backups.dedup();
        Self { me, members, addresses, texts: seen.texts, schedules: seen.schedules, backups }
    }
}

impl Cluster {
    /// Where everything is. It changes within 0.3 s when etcd has changed.
    #[must_use]
    pub fn places(&self) -> watch::Receiver<UnitPlaces> {
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
}
