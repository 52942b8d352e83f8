use std::collections::HashMap;
use std::net::IpAddr;

use lock::{Mutex, rank};
use vfs::state::ClientId;

use crate::server::clients::Clients;

/// The most hosts that hold something at a time.
const LIMIT: usize = 65_536;

/// The clients that have locked something since they were last known to start.
#[derive(Default)]
pub(super) struct Hosts {
    known: Mutex<HashMap<IpAddr, Host>, rank::NlmHosts>,
}

struct Host {
    client: ClientId,
    /// Its state number (NSM), as far as it has said. Odd while a host is up: 0 is no state.
    state: i32,
}

impl Hosts {
    /// The client at an address, from now on known to hold locks. `None` when there are too many.
    pub(super) fn enter(&self, address: IpAddr, clients: &Clients) -> Option<ClientId> {
        let mut known = self.known.lock();
        if known.len() >= LIMIT && !known.contains_key(&address) {
            return None;
        }
        Some(known.entry(address).or_insert_with(|| Host { client: clients.of(address), state: 0 }).client)
    }

    /// Notes the state that a host has said it is in.
    pub(super) fn saw(&self, address: IpAddr, state: i32) {
        if let Some(host) = self.known.lock().get_mut(&address).filter(|_| state & 1 == 1) {
            host.state = state;
        }
    }

    /// Whether a host that says it has come to this state has restarted since it locked something: a notice may come
    /// twice, or after locks of the new state.
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
