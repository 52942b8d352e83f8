//! What the servers of a cluster need to have the same ids of files, for callers that can wait.

use std::ops::Range;

use super::Cluster;
use super::common::wait;

impl Cluster {
    /// By which clients know that servers are one: `own` if the cluster has nothing yet. Waits for etcd.
    ///
    /// # Errors
    /// etcd cannot be used.
    pub fn signature(&self, own: [u8; 16]) -> Result<[u8; 16], String> {
        let kept = self.kept.clone();
        wait(&self.shared.etcd, async move { kept.common.lock().await.signature(own).await })
    }

    /// The lineage of the ids of files, if the cluster has one: servers with the same lineage have the same ids. Waits for
    /// etcd.
    ///
    /// # Errors
    /// etcd cannot be used.
    pub fn lineage(&self) -> Result<Option<[u8; 16]>, String> {
        let kept = self.kept.clone();
        wait(&self.shared.etcd, async move { kept.common.lock().await.lineage().await })
    }

    /// The lineage of the ids of files: `own` if the cluster has none yet. Then no id below `next` is given. Waits for etcd.
    ///
    /// # Errors
    /// etcd cannot be used. The lineage may be `own` then.
    pub fn begin_ids(&self, own: [u8; 16], next: u64) -> Result<[u8; 16], String> {
        let kept = self.kept.clone();
        wait(&self.shared.etcd, async move { kept.common.lock().await.begin_ids(own, next).await })
    }

    /// A block of ids of files that only this server gives, if any does. `None`: there are no more. Waits for etcd.
    ///
    /// # Errors
    /// etcd cannot be used.
    pub fn id_block(&self) -> Result<Option<Range<u64>>, String> {
        let (kept, name) = (self.kept.clone(), self.shared.config.name.clone());
        wait(&self.shared.etcd, async move { kept.common.lock().await.id_block(&name).await })
    }

    /// The number in the cluster of the file system with this device number here, if a folder of it is shared.
    #[must_use]
    pub fn file_system(&self, device: u32) -> Option<u32> {
        self.shared.port.trees.number(device)
    }
}
