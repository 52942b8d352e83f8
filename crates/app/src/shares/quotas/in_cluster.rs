//! The quotas that the servers of a cluster count together.

use std::sync::{Arc, Weak};

use cluster::{Cluster, Counting, Elsewhere};
use vfs::FileId;
use vfs::quota::{Changes, Quota};

use super::{QuotaEntry, Quotas, Way};

/// The quotas of this server, for its cluster.
pub(super) struct ClusterQuotas(Weak<Quotas>);

impl ClusterQuotas {
    fn quota(&self, folder: FileId) -> Option<Arc<Quota>> {
        let quotas = self.0.upgrade()?;
        let table = quotas.table.lock();
        let kept = table.kept.values().find(|kept| kept.is_counted() && kept.folder() == folder)?;
        Some(kept.quota.clone())
    }
}

impl QuotaEntry {
    pub(super) fn is_counted(&self) -> bool {
        matches!(self.way, Way::Counted)
    }

    pub(super) fn folder(&self) -> FileId {
        let (device, inode) = self.place;
        FileId::new(FileId::device_of(rustix::fs::major(device), rustix::fs::minor(device)), inode)
    }
}

impl Counting for ClusterQuotas {
    fn folders(&self) -> Vec<(FileId, i64)> {
        let Some(quotas) = self.0.upgrade() else { return Vec::new() };
        let table = quotas.table.lock();
        let counted = table.kept.values().filter(|kept| kept.is_counted());
        counted.map(|kept| (kept.folder(), kept.quota.elsewhere())).collect()
    }

    fn share(&self, folder: FileId, total: i64) {
        self.quota(folder).into_iter().for_each(|quota| quota.share(total));
        // The meters look which of their quotas are shared.
        let Some(quotas) = self.0.upgrade() else { return };
        quotas.table.lock().arrange(&quotas.charges);
    }

    fn total(&self, folder: FileId) -> Option<i64> {
        self.quota(folder).map(|quota| quota.own())
    }

    fn set(&self, folder: FileId, elsewhere: Elsewhere) -> bool {
        let Some(quotas) = self.0.upgrade() else { return false };
        let mut table = quotas.table.lock();
        let found = table.kept.values_mut().find(|kept| kept.is_counted() && kept.folder() == folder);
        let Some(kept) = found else { return false };
        kept.told(elsewhere)
    }

    fn divide(&self, folder: FileId, servers: Option<u64>) {
        self.quota(folder).into_iter().for_each(|quota| quota.divide(servers));
    }

    fn follow(&self, folder: FileId) -> Option<i64> {
        self.quota(folder).map(|quota| quota.follow())
    }

    fn followed(&self, folder: FileId) -> Changes {
        self.quota(folder).map(|quota| quota.followed()).unwrap_or_default()
    }

    fn unfollow(&self, folder: FileId) {
        self.quota(folder).into_iter().for_each(|quota| quota.unfollow());
    }
}

impl Quotas {
    /// The servers of this cluster count the quotas together that hosts do not keep.
    pub(crate) fn join(self: &Arc<Self>, cluster: &Arc<Cluster>) {
        cluster.count_quotas(Arc::new(ClusterQuotas(Arc::downgrade(self))));
        let _ = self.cluster.set(cluster.clone());
    }
}
