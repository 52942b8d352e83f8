use std::collections::HashMap;
use std::net::IpAddr;

use lock::{RwLock, rank};
use vfs::state::ClientId;

/// Clients remembered at a time. They come with an address that they cannot forge on a connection.
const REMEMBERED: usize = 65_536;

/// Each client machine as the tree knows it, by its address: version 3 has no other name for a client.
#[derive(Default)]
pub(crate) struct Clients {
    known: RwLock<HashMap<IpAddr, ClientId>, rank::NfsClients>,
}

impl Clients {
    /// The client at this address.
    pub(crate) fn of(&self, address: IpAddr) -> ClientId {
        if let Some(&client) = self.known.read().get(&address) {
            return client;
        }
        let mut known = self.known.write();
        if known.len() >= REMEMBERED {
            known.clear(); // whoever holds locks is known to them by number and gets a new one: a full table is an attack
        }
        *known.entry(address).or_insert_with(ClientId::unused)
    }
}
