//! The clients of version 4.0 and their leases, RFC 7530 9.1.1, 9.5 and 16.33.
//!
//! ```text
//!  SETCLIENTID ─► waiting ─ SETCLIENTID_CONFIRM ─► confirmed ─ silent for a lease ─► absent ─ another client needs
//!                                                     ▲                                │       what it holds ─► gone
//!                                                     └────────── heard again ─────────┘
//! ```
//!
//! A silent client keeps what it holds until another client needs it, its name begins anew, or there are too many clients.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use lock::{Mutex, rank};
use siphasher::sip::SipHasher24;
use tokio::time::{Instant, sleep};

use super::client::{Client, Principal};
use super::records::Records;
use super::states::{Numbers, Opened, State};
use crate::server::handle::Named;
use crate::server::{Company, Export, HandleSecret, Service};
use crate::wire::v4::types::{StateId, Status, Verifier};

/// The most confirmed clients.
const CONFIRMED: usize = 16_384;
/// The most clients that have not confirmed their names. The oldest ones are forgotten.
const WAITING: usize = 1_024;
/// How often the server looks for silent clients.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// The shortest lease.
const SHORTEST_LEASE: Duration = Duration::from_secs(5);

/// All clients of a server.
pub(in crate::server) struct Clients {
    boot: u32,
    lease: Duration,
    pub(super) records: Records,
    table: Mutex<Table, rank::Nfs4Clients>,
    is_watching: AtomicBool,
}

#[derive(Default)]
struct Table {
    names: HashMap<Arc<[u8]>, Names>,
    /// The name of each number: of confirmed clients, and of those that wait.
    numbers: HashMap<u32, Arc<[u8]>>,
    last_number: u32,
    waiting: usize,
}

/// What is known of one name.
#[derive(Default)]
struct Names {
    confirmed: Option<Confirmed>,
    waiting: Option<Waiting>,
}

#[derive(Clone)]
struct Confirmed {
    client: Arc<Client>,
    confirm: Verifier,
    callback: Callback,
}

/// Where a client can be called: the transport and the address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Callback {
    pub(super) net: Vec<u8>,
    pub(super) address: Vec<u8>,
}

/// A SETCLIENTID that is not confirmed.
struct Waiting {
    number: u32,
    confirm: Verifier,
    verifier: Verifier,
    principal: Principal,
    callback: Callback,
    since: Instant,
}

/// What SETCLIENTID says of a client.
pub(super) struct Claimed<'a> {
    pub(super) name: &'a [u8],
    pub(super) verifier: Verifier,
    pub(super) principal: Principal,
    pub(super) callback: Callback,
}

/// Why SETCLIENTID is refused.
pub(super) enum Refused {
    /// Another user speaks for this name, and can be called there.
    InUse(Callback),
    Status(Status),
}

impl Clients {
    pub(in crate::server) fn new(company: &Company, secret: &HandleSecret) -> Self {
        Self {
            // A number that other runs do not have, and that is not easily guessed.
            boot: SipHasher24::new_with_key(secret.bytes()).hash(&company.epoch.to_be_bytes()) as u32 | 2,
            lease: company.grace.max(SHORTEST_LEASE),
            records: Records::new(company.clients.clone()),
            table: Mutex::default(),
            is_watching: AtomicBool::new(false),
        }
    }

    /// How long a silent client keeps what it holds in any case. A client learns of a restart within this time, and has
    /// to reclaim in the grace period, so it is not longer than that.
    pub(super) fn lease_seconds(&self) -> u32 {
        u32::try_from(self.lease.as_secs()).unwrap_or(u32::MAX)
    }

    /// Whether clients have to reclaim something in this run.
    pub(in crate::server) fn has_former(&self) -> bool {
        self.records.has_former()
    }

    /// SETCLIENTID: the number to confirm, and the verifier to do it with. RFC 7530 16.33.5.
    pub(super) fn claim(&self, claimed: &Claimed<'_>) -> Result<(u64, Verifier), Refused> {
        let mut confirm = [0; 8];
        getrandom::fill(&mut confirm).map_err(|_| Refused::Status(Status::SERVERFAULT))?;
        let mut table = self.table.lock();
        table.forget_oldest_waiting();
        let name: Arc<[u8]> = claimed.name.into();
        let known = table.names.get(&name).and_then(|names| names.confirmed.as_ref());
        if let Some(known) = known
            && known.client.principal != claimed.principal
            && known.client.has_state()
            && !known.client.is_absent()
        {
            return Err(Refused::InUse(known.callback.clone()));
        }
        // The same run of the same client: it only tells where it can be called.
        let same = known.filter(|known| {
            known.client.verifier == claimed.verifier && known.client.principal == claimed.principal
        });
        let same = same.map(|known| known.client.number);
        let number = match same {
            Some(number) => number,
            None => table.new_number(),
        };
        let Claimed { verifier, principal, ref callback, .. } = *claimed;
        let waiting = Waiting {
            number,
            confirm,
            verifier,
            principal,
            callback: callback.clone(),
            since: Instant::now(),
        };
        table.forget_waiting(&name);
        table.waiting += 1;
        table.numbers.insert(number, name.clone());
        table.names.entry(name).or_default().waiting = Some(waiting);
        Ok((self.id_of(number), confirm))
    }

    fn id_of(&self, number: u32) -> u64 {
        u64::from(self.boot) << 32 | u64::from(number)
    }

    /// The number in a clientid4 of this run.
    fn number_of(&self, id: u64) -> Result<u32, Status> {
        if (id >> 32) as u32 == self.boot { Ok(id as u32) } else { Err(Status::STALE_CLIENTID) }
    }

    /// SETCLIENTID_CONFIRM, RFC 7530 16.34.5. Returns a former run of the client, which has ended.
    pub(super) fn confirm(
        &self,
        id: u64,
        confirm: Verifier,
        principal: Principal,
    ) -> Result<Option<Arc<Client>>, Status> {
        let number = self.number_of(id)?;
        let mut table = self.table.lock();
        let name = table.numbers.get(&number).cloned().ok_or(Status::STALE_CLIENTID)?;
        let full = table.confirmed_count() >= CONFIRMED;
        let names = table.names.get_mut(&name).ok_or(Status::STALE_CLIENTID)?;
        let is_it = |waiting: &Waiting| waiting.number == number && waiting.confirm == confirm;
        let Some(waiting) = names.waiting.take_if(|waiting| is_it(waiting)) else {
            // A repeated confirmation.
            let known = names.confirmed.as_ref().filter(|known| known.client.number == number);
            return match known {
                Some(known) if known.confirm == confirm && known.client.principal == principal => Ok(None),
                Some(known) if known.client.principal != principal => Err(Status::CLID_INUSE),
                _ => Err(Status::STALE_CLIENTID),
            };
        };
        if waiting.principal != principal {
            names.waiting = Some(waiting);
            return Err(Status::CLID_INUSE);
        }
        if full && names.confirmed.is_none() {
            names.waiting = Some(waiting);
            return Err(Status::RESOURCE);
        }
        let Waiting { verifier, principal, callback, .. } = waiting;
        let ended = match &mut names.confirmed {
            Some(known) if known.client.number == number => {
                (known.confirm, known.callback) = (confirm, callback);
                known.client.renew();
                None
            }
            before => {
                let client = Client::new((self.boot, number), &name, verifier, principal);
                before.replace(Confirmed { client, confirm, callback }).map(|known| known.client)
            }
        };
        table.waiting -= 1;
        if let Some(ended) = &ended {
            table.numbers.remove(&ended.number);
        }
        Ok(ended)
    }

    /// The confirmed client of a clientid4, whose lease begins anew.
    pub(super) fn client(&self, id: u64) -> Result<Arc<Client>, Status> {
        let client = self.numbered(self.number_of(id)?).ok_or(Status::STALE_CLIENTID)?;
        client.renew();
        Ok(client)
    }

    /// The same for RENEW, which tells a client that it has lost everything: RFC 7530 16.28.4.
    pub(super) fn renew(&self, id: u64) -> Result<(), Status> {
        let number = self.number_of(id)?;
        match self.client(id) {
            Ok(_) => Ok(()),
            Err(_) if self.was_given(number) => Err(Status::EXPIRED),
            Err(status) => Err(status),
        }
    }

    fn was_given(&self, number: u32) -> bool {
        let table = self.table.lock();
        number != 0 && number <= table.last_number && !table.numbers.contains_key(&number)
    }

    fn numbered(&self, number: u32) -> Option<Arc<Client>> {
        let table = self.table.lock();
        let confirmed = table.names.get(table.numbers.get(&number)?)?.confirmed.as_ref()?;
        (confirmed.client.number == number).then(|| confirmed.client.clone())
    }

    /// The client and the state of a stateid that is not special, RFC 7530 9.1.4.2 to 9.1.4.4.
    pub(super) fn state(&self, state: &StateId) -> Result<(Arc<Client>, State), Status> {
        let numbers = Numbers::of(state);
        if state.is_special() {
            return Err(Status::BAD_STATEID);
        }
        if numbers.boot != self.boot {
            return Err(Status::STALE_STATEID);
        }
        let Some(client) = self.numbered(numbers.client) else {
            let expired = self.was_given(numbers.client);
            return Err(if expired { Status::EXPIRED } else { Status::BAD_STATEID });
        };
        let found = client.state(numbers.state)?;
        client.renew();
        Ok((client, found))
    }

    /// The open by which a file is read or written; `None` for a special stateid.
    pub(super) fn opened(&self, state: &StateId, file: &Named) -> Result<Option<Opened>, Status> {
        if *state == StateId::ANONYMOUS || *state == StateId::BYPASS {
            return Ok(None);
        }
        let (client, found) = self.state(state)?;
        let (open, sequence) = match found {
            State::Open(open) => (open.clone(), open.sequence.check(state.sequence)),
            State::Lock(lock) => (lock.open.clone(), lock.sequence.check(state.sequence)),
            State::Closed(_) => return Err(Status::BAD_STATEID),
        };
        sequence?;
        if open.named != *file || !open.owner.is_confirmed() {
            return Err(Status::BAD_STATEID);
        }
        Ok(Some(Opened { client, open }))
    }

    /// The confirmed clients, for what concerns all of them.
    pub(super) fn all(&self) -> Vec<Arc<Client>> {
        let table = self.table.lock();
        table.names.values().filter_map(|names| Some(names.confirmed.as_ref()?.client.clone())).collect()
    }

    /// A confirmed client of this run, whose lease stays as it is.
    pub(super) fn known(&self, id: u64) -> Option<Arc<Client>> {
        self.numbered(self.number_of(id).ok()?)
    }

    /// The client that was heard least recently, of those whose lease is over.
    fn most_silent(&self) -> Option<Arc<Client>> {
        let lease = self.lease.as_millis() as u64;
        let silent = self.all().into_iter().filter(|client| client.silent_ms() > lease);
        silent.max_by_key(|client| client.silent_ms())
    }

    /// Forgets a client that has lost everything.
    fn forget(&self, client: &Client) {
        let mut table = self.table.lock();
        if let Some(names) = table.names.get_mut(&client.name) {
            names.confirmed.take_if(|known| known.client.number == client.number);
            if names.waiting.is_none() && names.confirmed.is_none() {
                table.names.remove(&client.name);
            }
        }
        table.numbers.remove(&client.number);
    }
}

impl Table {
    fn new_number(&mut self) -> u32 {
        loop {
            self.last_number = self.last_number.wrapping_add(1);
            if self.last_number != 0 && !self.numbers.contains_key(&self.last_number) {
                return self.last_number;
            }
        }
    }

    fn confirmed_count(&self) -> usize {
        self.names.len() // those that only wait are few
    }

    fn forget_waiting(&mut self, name: &[u8]) {
        let Some(names) = self.names.get_mut(name) else { return };
        let Some(waiting) = names.waiting.take() else { return };
        self.waiting -= 1;
        match &names.confirmed {
            Some(known) if known.client.number == waiting.number => {}
            known => {
                let is_unknown = known.is_none();
                self.numbers.remove(&waiting.number);
                if is_unknown {
                    self.names.remove(name);
                }
            }
        }
    }

    fn forget_oldest_waiting(&mut self) {
        if self.waiting < WAITING {
            return;
        }
        let waiting =
            self.names.iter().filter_map(|(name, names)| Some((names.waiting.as_ref()?.since, name)));
        let Some(oldest) = waiting.min_by_key(|(since, _)| *since).map(|(_, name)| name.clone()) else {
            return;
        };
        self.forget_waiting(&oldest);
    }
}

impl Service {
    /// Takes everything from a client of version 4 that has restarted, or is silent while another client needs what it holds.
    pub(super) fn end_client(&self, client: &Client) {
        self.nfs4.records.forget(&client.name);
        self.nfs4.forget(client);
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
        let back: std::collections::HashSet<_> = self
            .nfs4
            .all()
            .iter()
            .filter(|client| client.recorded.initialized())
            .map(|c| c.name.clone())
            .collect();
        self.nfs4.records.forget_former(|name| back.contains(name));
    }
}
