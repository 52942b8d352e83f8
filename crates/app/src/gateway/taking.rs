//! Clients of NFS whose server is lost: they go on at another server of the cluster, and reclaim there what they held.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use cluster::{Cluster, ClusterRecord, RecordKind};
use nfs::server::{CommonGrace, HostTable, LostServers, Phase, Service};

use crate::host::here;

/// The pause before etcd is asked again.
const RETRY_AFTER: Duration = Duration::from_millis(500);

/// A table of clients in etcd, where the other servers find it.
pub(crate) struct InCluster {
    cluster: Arc<Cluster>,
    table: RecordKind,
}

impl InCluster {
    pub(crate) fn new(cluster: &Arc<Cluster>, table: RecordKind) -> Arc<Self> {
        Arc::new(Self { cluster: cluster.clone(), table })
    }
}

impl HostTable for InCluster {
    fn add(&self, host: &[u8], note: &[u8]) -> io::Result<()> {
        let record = ClusterRecord { name: host.to_vec(), note: note.to_vec(), server: here::host_name() };
        self.cluster.record(self.table, record).map_err(io::Error::other)
    }

    fn remove(&self, host: &[u8]) -> io::Result<()> {
        self.cluster.forget_record(self.table, host).map_err(io::Error::other)
    }

    fn all(&self) -> io::Result<Vec<(Vec<u8>, Vec<u8>)>> {
        let all = self.cluster.own_records(self.table).map_err(io::Error::other)?;
        Ok(all.into_iter().map(|record| (record.name, record.note)).collect())
    }
}

/// The grace period of a cluster.
pub(crate) struct OfCluster(pub(crate) Arc<Cluster>);

impl CommonGrace for OfCluster {
    fn phase(&self) -> Phase {
        let grace = self.0.grace();
        match (grace.is_on(), grace.is_known(), grace.reclaims()) {
            (false, ..) => Phase::Over,
            (true, false, _) => Phase::Beginning,
            (true, true, true) => Phase::Reclaiming,
            (true, true, false) => Phase::Ending,
        }
    }

    fn has_reclaimed(&self, client: &[u8]) {
        let (cluster, client) = (self.0.clone(), client.to_vec());
        self.0.runtime().spawn(async move {
            if let Err(error) = cluster.has_reclaimed(&client).await {
                tracing::warn!(error, "the grace period may last longer than needed");
            }
        });
    }
}

/// Lets the clients of lost servers reclaim at this one, whenever a server is lost.
pub(crate) async fn watch(cluster: Arc<Cluster>, service: Arc<Service>) {
    let mut losses = cluster.grace().lost();
    let mut before: Vec<u16> = Vec::new();
    loop {
        let lost = losses.borrow_and_update().clone();
        match lost.is_empty() {
            true if !before.is_empty() => {
                service.end_takeover();
                if let Err(error) = cluster.forget_records(&before).await {
                    tracing::warn!(error, "records of lost servers stay in etcd");
                }
            }
            true => service.end_takeover(),
            false if take_over(&cluster, &service, &lost).await.is_err() => {
                tokio::time::sleep(RETRY_AFTER).await;
                continue;
            }
            false => {}
        }
        before = lost;
        if losses.changed().await.is_err() {
            return;
        }
    }
}

async fn take_over(cluster: &Arc<Cluster>, service: &Arc<Service>, lost: &[u16]) -> Result<(), ()> {
    let records = cluster.lost_records(lost).await.map_err(|error| {
        tracing::warn!(error, "the clients of lost servers are not known yet");
    })?;
    let (tells, epoch) = cluster.first();
    let mut names: Vec<Vec<u8>> =
        records.hosts.iter().map(|record| record.server.clone().into_bytes()).collect();
    // Or they know it by a virtual address.
    names.extend(cluster.addresses().iter().map(|address| address.ip.to_string().into_bytes()));
    names.sort();
    names.dedup();
    tracing::info!(
        clients = records.clients.len(),
        hosts = records.hosts.len(),
        "clients of NFS of lost servers may reclaim what they held"
    );
    let clients = records.clients.into_iter().map(|record| record.name).collect();
    let hosts = records.hosts.into_iter().map(|record| (record.name, record.note)).collect();
    service.take_over(&LostServers { clients, hosts, names, epoch, tells });
    cluster.grace().know(lost);
    Ok(())
}
