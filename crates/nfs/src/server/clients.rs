//! The clients of NFSv3 and NLM as the tree's tables know them.

use std::collections::HashMap;
use std::net::IpAddr;

use lock::RwLock;
use vfs::ClientProfile;
use vfs::state::ClientId;

use crate::ranks;

/// What NFS clients know: nothing of Mac metadata. They have no operation to run a program, so they read what their users may
/// run, RFC 1813 4.4.
pub(super) const NFS_CLIENT: ClientProfile =
    ClientProfile { renames_open: false, is_blind_to_forks: true, reads_to_run: true };

/// The most clients that are remembered. On a connection a client cannot forge its address.
const REMEMBERED: usize = 65_536;

/// The id of each client in the tree, by its address: version 3 has no other name for a client.
#[derive(Default)]
pub(crate) struct ClientIds {
    known: RwLock<HashMap<IpAddr, ClientId>, ranks::NfsClients>,
}

impl ClientIds {
    /// The client at this address.
    pub(crate) fn of(&self, address: IpAddr) -> ClientId {
        if let Some(&client) = self.known.read().get(&address) {
            return client;
        }
        let mut known = self.known.write();
        if known.len() >= REMEMBERED {
            // A client that holds locks keeps its old id in them and gets a new id: a full table is
            // an attack.
            known.clear();
        }
        *known.entry(address).or_insert_with(ClientId::unused)
    }
}
