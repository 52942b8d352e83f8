//! The ids of files that all servers of a cluster have in common.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use afp::catalogue::SharedIds;
use afp::catalogue::shared::Servers;
use cluster::Cluster;
use vfs::index::Index;
use vfs::state::Replicas;

/// How often the logs of the other servers are read, if no client needs that before: files that exchange their ids are known
/// at the other servers after this time.
const READ_EVERY: Duration = Duration::from_secs(1);

struct InCluster(Arc<Cluster>);

impl Servers for InCluster {
    fn number(&self) -> u16 {
        self.0.server()
    }

    fn name(&self) -> String {
        self.0.name().to_owned()
    }

    fn is_alive(&self, server: u16) -> bool {
        Replicas::is_alive(&*self.0, server)
    }

    fn lineage(&self) -> Result<Option<[u8; 16]>, String> {
        self.0.lineage()
    }

    fn begin(&self, own: [u8; 16], next: u64) -> Result<[u8; 16], String> {
        self.0.begin_ids(own, next)
    }

    fn block(&self) -> Result<Option<Range<u64>>, String> {
        self.0.id_block()
    }

    fn file_system(&self, device: u32) -> Option<u32> {
        self.0.file_system(device)
    }
}

/// The ids of this server's cluster. They count when it has its shares.
pub(crate) fn shared(index: &Index, cluster: &Arc<Cluster>) -> Arc<SharedIds> {
    SharedIds::new(index, Arc::new(InCluster(cluster.clone())), cluster.runtime().clone())
}

/// Reads now and then what the other servers tell.
pub(crate) async fn read_on(ids: Arc<SharedIds>) {
    let mut every = tokio::time::interval(READ_EVERY);
    every.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut has_failed = false;
    loop {
        every.tick().await;
        let now = ids.clone();
        let done = tokio::task::spawn_blocking(move || now.catch_up()).await;
        let error = done.ok().and_then(Result::err); // a panic was logged
        if let Some(error) = &error
            && !has_failed
        {
            tracing::warn!(%error, "the ids that other servers have given are not known");
        }
        has_failed = error.is_some();
    }
}
