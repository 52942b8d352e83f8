//! What one server of the cluster does for all of them, by time: the schedules of the shares.

use std::time::Duration;

use super::Cluster;

impl Cluster {
    /// How long this server surely keeps the schedules of the cluster; zero: it does not. Another server can keep them only after
    /// that, as the key in etcd that says so has the lease of this server.
    #[must_use]
    pub fn keeps_schedules(&self) -> Duration {
        let is_here = self.places.borrow().schedules == Some(self.shared.me) && !*self.drained.borrow();
        if is_here { self.shared.fence.left() } else { Duration::ZERO }
    }

    /// The shares in which clients of other servers make backups of Macs.
    #[must_use]
    pub fn backups_elsewhere(&self) -> Vec<String> {
        self.places.borrow().backups.clone()
    }

    /// Tells the other servers in which shares clients of this one make backups. They know it within 0.6 s.
    pub fn tell_backups(&self, shares: Vec<String>) {
        self.orders.backups.send_if_modified(|before| std::mem::replace(before, shares.clone()) != shares);
    }
}
