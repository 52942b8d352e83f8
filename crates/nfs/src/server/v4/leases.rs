//! Leases: clients that are silent for too long give way to others, RFC 7530 9.5 and RFC 8881 8.3.

use std::collections::HashSet;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::time::sleep;

use super::client::Client;
use crate::server::{Export, Service};

/// How often the server looks for silent clients.
const LOOK_EVERY: Duration = Duration::from_secs(1);

impl Service {
    /// Takes everything from a client of version 4 that has restarted, or is silent while another client needs what it holds.
    pub(super) fn end_client(&self, client: &Client) {
        self.nfs4.records.forget(&client.name);
        self.nfs4.forget(client);
        self.nfs4.sessions.end_of(client);
        let (states, absence) = client.end();
        drop(absence);
        states.values().for_each(|state| super::opens::release(self, client, state));
        // All volumes of a server have one state.
        for export in self.exports().iter() {
            export.volume.state().release_client(client.party);
        }
        self.locks.let_go_all(client.party);
    }

    /// Makes room for a client: ends the one that is silent for longest. Answers whether there is one.
    pub(super) fn end_most_silent(&self) -> bool {
        let client = self.nfs4.most_silent();
        if let Some(client) = &client {
            self.end_client(client);
        }
        client.is_some()
    }

    /// Closes what clients of version 4 have open in an export that is gone.
    pub(in crate::server) fn leave_export(&self, export: &Export) {
        for client in self.nfs4.all() {
            for state in client.close_in(export.tag) {
                super::opens::release(self, &client, &state);
            }
        }
    }

    /// Begins to look for clients that are silent for longer than their lease, unless that has begun.
    pub(super) fn watch_leases(self: &Arc<Self>) {
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        if !self.nfs4.is_watching.swap(true, Ordering::AcqRel) {
            let service = Arc::downgrade(self);
            runtime.spawn(async move {
                loop {
                    sleep(LOOK_EVERY).await;
                    let Some(service) = service.upgrade() else { return };
                    service.let_silent_clients_leave();
                }
            });
        }
    }

    fn let_silent_clients_leave(self: &Arc<Self>) {
        self.nfs4.forget_unconfirmed();
        let lease = self.nfs4.lease.as_millis() as u64;
        let exports = self.exports();
        let Some(state) = exports.first().map(|export| export.volume.state().clone()) else { return };
        for client in self.nfs4.all() {
            if client.silent_ms() <= lease || client.is_absent() {
                continue;
            }
            if !client.has_state() {
                // Nothing is lost with it: it registers again when it needs the server.
                if client.silent_ms() > 2 * lease {
                    self.end_client(&client);
                }
                continue;
            }
            let (service, weak): (Weak<Service>, _) = (Arc::downgrade(self), Arc::downgrade(&client));
            client.leave(|| {
                let give_way = move || {
                    if let (Some(service), Some(client)) = (service.upgrade(), weak.upgrade()) {
                        tracing::info!(client = %client.name.escape_ascii(),
                            "the lease of a silent client is over: another client gets what it held");
                        service.end_client(&client);
                    }
                };
                state.leave(client.party, Arc::new(give_way))
            });
        }
    }

    /// The grace period is over: forgets the clients of the previous run that have not come back.
    pub(in crate::server) fn end_grace(&self) {
        let back: HashSet<_> = self
            .nfs4
            .all()
            .iter()
            .filter(|client| client.recorded.initialized())
            .map(|c| c.name.clone())
            .collect();
        self.nfs4.records.forget_former(|name| back.contains(name));
    }
}
