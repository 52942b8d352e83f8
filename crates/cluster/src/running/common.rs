//! What the servers have in common, for callers that can wait.

use std::collections::HashMap;
use std::sync::mpsc as blocking;
use std::time::Duration;

use lock::Mutex;
use tokio::runtime::Handle;

use super::Cluster;
use crate::ShareIdentity;
use crate::common::{Common, Text};
use crate::etcd::Error;
use crate::ranks;

/// How long etcd may take to answer.
const ANSWER_WITHIN: Duration = Duration::from_secs(10);

/// The client of etcd, and the identities of shares that were asked for: they never change.
pub(super) struct CommonCache {
    pub(super) common: tokio::sync::Mutex<Common>,
    shares: Mutex<HashMap<String, ShareIdentity>, ranks::ClusterTrees>,
}

impl CommonCache {
    pub(super) fn new(common: Common) -> Self {
        Self { common: tokio::sync::Mutex::new(common), shares: Mutex::default() }
    }
}

impl Cluster {
    /// The secret of NFS's file handles: `own` if the cluster has none yet. Waits for etcd.
    ///
    /// # Errors
    /// etcd cannot be used.
    pub fn handle_secret(&self, own: [u8; 16]) -> Result<[u8; 16], String> {
        let kept = self.kept.clone();
        wait(&self.shared.etcd, async move { kept.common.lock().await.secret(own).await })
    }

    /// The identity of a share: `own` if the cluster has none yet, perhaps with another tag. Waits for etcd the first time.
    ///
    /// # Errors
    /// etcd cannot be used.
    pub fn share_identity(&self, name: &str, own: ShareIdentity) -> Result<ShareIdentity, String> {
        if let Some(known) = self.kept.shares.lock().get(name) {
            return Ok(*known);
        }
        let (kept, owned) = (self.kept.clone(), name.to_owned());
        let asked = async move { kept.common.lock().await.share(&owned, own).await };
        let found = wait(&self.shared.etcd, asked)?;
        self.kept.shares.lock().insert(name.to_owned(), found);
        Ok(found)
    }

    /// A text that the servers have in common, and its revision; `None`: it was never written. Waits for etcd.
    ///
    /// # Errors
    /// etcd cannot be used.
    pub fn text(&self, text: Text) -> Result<Option<(String, u64)>, String> {
        let kept = self.kept.clone();
        wait(&self.shared.etcd, async move { kept.common.lock().await.text(text).await })
    }

    /// Replaces a text if it is still of this revision (0: it was never written). Returns whether it was. Waits for etcd.
    ///
    /// # Errors
    /// etcd cannot be used. The text may have been replaced.
    pub fn swap_text(&self, text: Text, revision: u64, value: String) -> Result<bool, String> {
        let kept = self.kept.clone();
        wait(&self.shared.etcd, async move { kept.common.lock().await.swap(text, revision, &value).await })
    }
}

/// Waits for a task of the thread for etcd. The caller is another thread.
pub(super) fn wait<T: Send + 'static>(
    runtime: &Handle,
    task: impl Future<Output = Result<T, Error>> + Send + 'static,
) -> Result<T, String> {
    let (answer, answered) = blocking::channel();
    runtime.spawn(async move { answer.send(task.await) });
    let answer = answered.recv_timeout(ANSWER_WITHIN).map_err(|_| "etcd takes too long".to_owned())?;
    answer.map_err(|error| error.to_string())
}
