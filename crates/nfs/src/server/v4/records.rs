//! The names of clients that hold something, in a table that outlives the server: after a restart these clients, and no
//! others, may reclaim what they held. RFC 7530 9.6.3.4.

use std::collections::HashSet;
use std::sync::Arc;

use lock::RwLock;

use super::client::Client;
use crate::ranks;
use crate::server::HostTable;
use crate::wire::v4::types::Status;

/// The table, and the clients that were in it when the server started.
pub(super) struct Records {
    table: Arc<dyn HostTable>,
    former: RwLock<HashSet<Vec<u8>>, ranks::Nfs4Former>,
}

impl Records {
    pub(super) fn new(table: Arc<dyn HostTable>) -> Self {
        let all = table.all().unwrap_or_else(|error| {
            tracing::error!(%error, "the clients that had files open are not known: they cannot reclaim them");
            Vec::new()
        });
        let former = all.into_iter().map(|(name, _)| name).collect();
        Self { table, former: RwLock::new(former) }
    }

    /// Whether any client held something when the previous run of the server ended.
    pub(super) fn has_former(&self) -> bool {
        !self.former.read().is_empty()
    }

    /// Whether this client held something then.
    pub(super) fn is_former(&self, name: &[u8]) -> bool {
        self.former.read().contains(name)
    }

    /// Makes sure that the client may reclaim what it gets now. On the disk on return.
    pub(super) async fn record(&self, client: &Client) -> Result<(), Status> {
        let recorded = client.recorded.get_or_try_init(async || {
            let (table, name) = (self.table.clone(), client.name.clone());
            let add = move || table.add(&name, b"");
            let added = match tokio::runtime::Handle::try_current() {
                Ok(runtime) => runtime.spawn_blocking(add).await.unwrap_or_else(|error| Err(error.into())),
                Err(_) => add(),
            };
            added.map_err(|error| {
                tracing::error!(%error, client = %client.name.escape_ascii(),
                    "an open is refused: its client cannot be remembered for a restart");
                Status::RESOURCE
            })
        });
        recorded.await.copied()
    }

    /// The client holds nothing any more. On the disk on return: others may get what it held, and it must not reclaim that
    /// after a restart.
    pub(super) fn forget(&self, name: &[u8]) {
        self.former.write().remove(name);
        if let Err(error) = self.table.remove(name) {
            tracing::warn!(%error, client = %name.escape_ascii(), "a client cannot be forgotten; after a restart it may reclaim files");
        }
    }

    /// These clients of lost servers may reclaim, too.
    pub(super) fn take_over(&self, clients: &[Vec<u8>]) {
        self.former.write().extend(clients.iter().cloned());
    }

    /// A client of lost servers reclaims nothing more. Returns whether it was one.
    pub(super) fn has_reclaimed(&self, name: &[u8]) -> bool {
        self.former.write().remove(name)
    }

    /// No client of lost servers reclaims anything more.
    pub(super) fn end_takeover(&self) {
        self.former.write().clear();
    }

    /// The grace period is over: forgets the clients that have not come back. `is_back` says which have.
    pub(super) fn forget_former(&self, is_back: impl Fn(&[u8]) -> bool) {
        let former = std::mem::take(&mut *self.former.write());
        former.iter().filter(|name| !is_back(name)).for_each(|name| self.forget(name));
    }
}
