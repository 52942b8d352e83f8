//! The list of mounts that `showmount` prints.

use std::collections::VecDeque;
use std::net::IpAddr;

use lock::Mutex;

use crate::ranks;

/// The most mounts remembered. The oldest is forgotten first.
const REMEMBERED: usize = 1024;

/// The mounts of clients, for users to look at. The table is never exact, because clients crash:
/// RFC 1813 5.2.2.
#[derive(Default)]
pub(in crate::server) struct Mounts {
    mounts: Mutex<VecDeque<(IpAddr, String)>, ranks::Mounts>,
}

impl Mounts {
    /// Remembers a mount, as the newest.
    pub(super) fn add(&self, host: IpAddr, path: &str) {
        let mut mounts = self.mounts.lock();
        mounts.retain(|mount| !(mount.0 == host && mount.1 == path));
        if mounts.len() >= REMEMBERED {
            mounts.pop_front();
        }
        mounts.push_back((host, path.into()));
    }

    /// Forgets one.
    pub(super) fn remove(&self, host: IpAddr, path: &str) {
        self.mounts.lock().retain(|mount| !(mount.0 == host && mount.1 == path));
    }

    /// Forgets all mounts of a host.
    pub(super) fn remove_all(&self, host: IpAddr) {
        self.mounts.lock().retain(|mount| mount.0 != host);
    }

    /// All of them, the oldest first.
    pub(in crate::server) fn all(&self) -> Vec<(IpAddr, String)> {
        self.mounts.lock().iter().cloned().collect()
    }
}
