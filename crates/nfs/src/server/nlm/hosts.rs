//! The hosts that have locked something over NLM, and how a restart of one is noticed.

use std::collections::HashMap;
use std::net::IpAddr;

use lock::Mutex;
use vfs::state::ClientId;

use crate::ranks;
use crate::server::clients::ClientIds;

/// The most hosts that hold locks at a time.
const LIMIT: usize = 65_536;

/// The clients that have locked something since their last known restart.
#[derive(Default)]
pub(super) struct Hosts {
    known: Mutex<HashMap<IpAddr, LockHost>, ranks::NlmHosts>,
}

struct LockHost {
    client: ClientId,
    /// Its last reported state number (NSM). It is odd while the host is up. 0: the host has
    /// reported none.
    state: i32,
}

impl Hosts {
    /// The client at an address. From now on it counts as a holder of locks. `None` if there are
    /// too many.
    pub(super) fn enter(&self, address: IpAddr, clients: &ClientIds) -> Option<ClientId> {
        let mut known = self.known.lock();
        if known.len() >= LIMIT && !known.contains_key(&address) {
            return None;
        }
        Some(
            known.entry(address).or_insert_with(|| LockHost { client: clients.of(address), state: 0 }).client,
        )
    }

    /// Records the state that a host reports.
    pub(super) fn saw(&self, address: IpAddr, state: i32) {
        if let Some(host) = self.known.lock().get_mut(&address).filter(|_| state & 1 == 1) {
            host.state = state;
        }
    }

    /// Whether a host that reports this state has restarted since it locked something. A notice may
    /// arrive twice, or after locks of the new state.
    pub(super) fn changed(&self, address: IpAddr, state: i32) -> bool {
        self.known.lock().get(&address).is_some_and(|host| host.state == 0 || host.state != state)
    }

    pub(super) fn known(&self, address: IpAddr) -> Option<ClientId> {
        self.known.lock().get(&address).map(|host| host.client)
    }

    pub(super) fn all(&self) -> Vec<IpAddr> {
        self.known.lock().keys().copied().collect()
    }

    pub(super) fn forget(&self, address: IpAddr) {
        self.known.lock().remove(&address);
    }
}
