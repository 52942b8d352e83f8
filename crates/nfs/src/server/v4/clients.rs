//! The clients of version 4 and their leases, RFC 7530 9.1.1, 9.5 and 16.33, RFC 8881 2.4 and 18.35.
//!
//! ```text
//!  SETCLIENTID ─► waiting ─ SETCLIENTID_CONFIRM ─► confirmed ─ silent for a lease ─► absent ─ another client needs
//!  EXCHANGE_ID                   CREATE_SESSION       ▲                                │       what it holds ─► gone
//!                                                     └────────── heard again ─────────┘
//! ```
//!
//! A silent client keeps what it holds until another client needs it, its name begins anew, or there are too many clients.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use lock::Mutex;
use siphasher::sip::SipHasher24;
use tokio::sync::Semaphore;

use super::backchannel::BackConnections;
use super::calling::CALLS;
use super::client::Client;
use super::copying::COPIES;
use super::creation::ClientCreation;
use super::delegations::Delegations;
use super::names::{
    Callback, CallbackAddress, ClientClaim, ClientConfirmation, ClientTable, ConfirmMethod, ConfirmedClient,
    UnconfirmedClient,
};
use super::principal::Principal;
use super::pushing::Wishes;
use super::records::Records;
use super::sessions::Sessions;
use super::states::{State, StateidNumbers};
use crate::ranks;
use crate::server::{Company, HandleSecret};
use crate::wire::v4::types::{StateId, Status, Verifier};

/// The shortest lease.
const SHORTEST_LEASE: Duration = Duration::from_secs(5);
/// What the secret of a server is hashed with to give the server its name.
const IDENTITY: &[u8] = b"the name of a server of NFSv4.1";

/// All clients of a server.
pub(in crate::server) struct Clients {
    boot: u32,
    /// The name of this server, the same in each run: RFC 8881 2.10.4.
    pub(super) identity: String,
    /// The name of all servers whose clients can go to another one of them and reclaim there, RFC 8881 2.10.4.
    pub(super) scope: String,
    pub(super) lease: Duration,
    pub(super) records: Records,
    pub(super) sessions: Sessions,
    pub(in crate::server) back: BackConnections,
    pub(super) delegations: Delegations,
    pub(super) wishes: Wishes,
    /// The calls to clients of minor version 0 that may be in flight.
    pub(super) calls: Semaphore,
    /// The copies that may go on after their replies.
    pub(super) copies: Arc<Semaphore>,
    table: Mutex<ClientTable, ranks::Nfs4Clients>,
    pub(super) is_watching: AtomicBool,
}

/// The answer to EXCHANGE_ID.
pub(super) struct ExchangeIdResult {
    pub(super) id: u64,
    /// The sequence number of the next CREATE_SESSION.
    pub(super) sequence: u32,
    pub(super) is_confirmed: bool,
    /// A client of the same name that another user spoke for. It held nothing, and is forgotten.
    pub(super) replaced: Option<Arc<Client>>,
}

/// Why SETCLIENTID is refused.
pub(super) enum SetClientIdError {
    /// Another user speaks for this name, and can be called there.
    InUse(CallbackAddress),
    Status(Status),
}

impl Clients {
    pub(in crate::server) fn new(company: &Company, secret: &HandleSecret) -> Self {
        let own = company.own.as_ref().unwrap_or(secret);
        let name = |of: &HandleSecret| {
            format!("fourfold-{:016x}", SipHasher24::new_with_key(of.bytes()).hash(IDENTITY))
        };
        Self {
            // A number that other runs and other servers do not have, and that is not easily guessed.
            boot: SipHasher24::new_with_key(own.bytes()).hash(&company.epoch.to_be_bytes()) as u32 | 2,
            identity: name(own),
            scope: name(secret),
            lease: company.grace.max(SHORTEST_LEASE),
            records: Records::new(company.clients.clone()),
            sessions: Sessions::default(),
            back: BackConnections::default(),
            delegations: Delegations::default(),
            wishes: Wishes::default(),
            calls: Semaphore::new(CALLS),
            copies: Arc::new(Semaphore::new(COPIES)),
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

    pub(in crate::server) fn take_over(&self, clients: &[Vec<u8>]) {
        self.records.take_over(clients);
    }

    pub(in crate::server) fn end_takeover(&self) {
        self.records.end_takeover();
    }

    /// SETCLIENTID: the number to confirm, and the verifier to do it with. RFC 7530 16.33.5.
    pub(super) fn claim(
        &self,
        (name, verifier): (&[u8], Verifier),
        principal: Principal,
        callback: Callback,
    ) -> Result<(u64, Verifier), SetClientIdError> {
        let mut confirm = [0; 8];
        getrandom::fill(&mut confirm).map_err(|_| SetClientIdError::Status(Status::SERVERFAULT))?;
        let claimed =
            ClientClaim { name, verifier, principal, how: ConfirmMethod::Verifier(confirm, callback) };
        let mut table = self.table.lock();
        if let Some(known) = table.in_use(&claimed) {
            let place = match &known.how {
                ConfirmMethod::Verifier(_, callback) => callback.place.clone(),
                ConfirmMethod::Session(_) => CallbackAddress { net: b"tcp".into(), address: Vec::new() },
            };
            return Err(SetClientIdError::InUse(place));
        }
        // The same run of the same client: it only tells where it can be called.
        let same = table.same(&claimed).map(|known| known.client.number);
        Ok((self.id_of(table.wait(&claimed, same)), confirm))
    }

    /// EXCHANGE_ID, by the table of RFC 8881 18.35.4: the number of the client, and its progress towards a session. `update`:
    /// the client changes its confirmed record.
    pub(super) fn exchange(
        &self,
        (name, verifier): (&[u8], Verifier),
        principal: Principal,
        update: bool,
    ) -> Result<ExchangeIdResult, Status> {
        let creation = ClientCreation::new();
        let claimed =
            ClientClaim { name, verifier, principal, how: ConfirmMethod::Session(creation.clone()) };
        let mut table = self.table.lock();
        if update {
            table.check_update(&claimed)?;
        }
        if let Some(ConfirmedClient { client, how: ConfirmMethod::Session(creation) }) = table.same(&claimed)
        {
            let (id, creation) = (client.id(), creation.clone());
            drop(table); // the order of locks
            return Ok(ExchangeIdResult {
                id,
                sequence: creation.expected(),
                is_confirmed: true,
                replaced: None,
            });
        }
        if table.in_use(&claimed).is_some() {
            return Err(Status::CLID_INUSE);
        }
        let replaced = table.known(name).map(|known| known.client.clone());
        let replaced = replaced.filter(|client| client.principal != principal);
        let id = self.id_of(table.wait(&claimed, None));
        drop(table);
        Ok(ExchangeIdResult { id, sequence: creation.expected(), is_confirmed: false, replaced })
    }

    /// The progress of a client of minor version 1 towards its next session.
    pub(super) fn creation(&self, id: u64) -> Result<Arc<ClientCreation>, Status> {
        let number = self.number_of(id)?;
        let table = self.table.lock();
        let waiting = table.waiting(number).map(|waiting| &waiting.how);
        match waiting.or_else(|| table.numbered(number).map(|known| &known.how)) {
            Some(ConfirmMethod::Session(creation)) => Ok(creation.clone()),
            _ => Err(Status::STALE_CLIENTID),
        }
    }

    /// The client that creates a session, which confirms it. Returns a former run of the client, too, which has ended.
    /// RFC 8881 18.36.4.
    pub(super) fn confirm_by_session(
        &self,
        id: u64,
        principal: Principal,
    ) -> Result<ClientConfirmation, Status> {
        let number = self.number_of(id)?;
        let mut table = self.table.lock();
        let is_it = |waiting: &UnconfirmedClient| matches!(waiting.how, ConfirmMethod::Session(_));
        if let Some(confirmed) = table.confirm((self.boot, number), principal, is_it)? {
            return Ok(confirmed);
        }
        let known = table.numbered(number).ok_or(Status::STALE_CLIENTID)?.client.clone();
        if known.principal != principal {
            return Err(Status::CLID_INUSE);
        }
        known.renew();
        Ok(ClientConfirmation { client: known, former: None })
    }

    /// DESTROY_CLIENTID of a client that waits, by the user that has registered it. Answers whether there is one.
    pub(super) fn forget_waiting(&self, id: u64, principal: Principal) -> Result<bool, Status> {
        let number = self.number_of(id)?;
        let mut table = self.table.lock();
        match table.waiting(number) {
            Some(waiting) if waiting.principal != principal => Err(Status::WRONG_CRED),
            _ => Ok(table.forget_waiting_number(number)),
        }
    }

    fn id_of(&self, number: u32) -> u64 {
        u64::from(self.boot) << 32 | u64::from(number)
    }

    /// The number in a clientid4 of this run.
    fn number_of(&self, id: u64) -> Result<u32, Status> {
        if (id >> 32) as u32 == self.boot { Ok(id as u32) } else { Err(Status::STALE_CLIENTID) }
    }

    /// SETCLIENTID_CONFIRM, RFC 7530 16.34.5. Returns the client, and a former run of it, which has ended; `None` for a repeated
    /// confirmation.
    pub(super) fn confirm(
        &self,
        id: u64,
        confirm: Verifier,
        principal: Principal,
    ) -> Result<Option<ClientConfirmation>, Status> {
        let number = self.number_of(id)?;
        let mut table = self.table.lock();
        let is_it =
            |how: &ConfirmMethod| matches!(how, ConfirmMethod::Verifier(verifier, _) if *verifier == confirm);
        let entered = table.confirm((self.boot, number), principal, |waiting| is_it(&waiting.how))?;
        if let Some(entered) = entered {
            if let Some(ConfirmMethod::Verifier(_, callback)) = table.numbered(number).map(|known| &known.how)
            {
                entered.client.call_by(callback.path.clone());
            }
            return Ok(Some(entered));
        }
        // A repeated confirmation.
        match table.numbered(number) {
            Some(known) if known.client.principal != principal => Err(Status::CLID_INUSE),
            Some(known) if is_it(&known.how) => Ok(None),
            _ => Err(Status::STALE_CLIENTID),
        }
    }

    /// The confirmed client of a clientid4 of minor version 0, whose lease begins anew.
    pub(super) fn client(&self, id: u64) -> Result<Arc<Client>, Status> {
        let client = self.numbered(self.number_of(id)?).filter(|client| client.minor == 0);
        let client = client.ok_or(Status::STALE_CLIENTID)?;
        client.renew();
        Ok(client)
    }

    /// The same for RENEW, which tells a client that it has lost everything: RFC 7530 16.28.4.
    pub(super) fn renew(&self, id: u64) -> Result<Arc<Client>, Status> {
        let number = self.number_of(id)?;
        match self.client(id) {
            Ok(client) => Ok(client),
            Err(_) if self.was_given(number) => Err(Status::EXPIRED),
            Err(status) => Err(status),
        }
    }

    fn was_given(&self, number: u32) -> bool {
        self.table.lock().was_given(number)
    }

    fn numbered(&self, number: u32) -> Option<Arc<Client>> {
        self.table.lock().numbered(number).map(|known| known.client.clone())
    }

    /// The client and the state of a stateid that is not special, RFC 7530 9.1.4.2 to 9.1.4.4.
    pub(super) fn state(&self, state: &StateId) -> Result<(Arc<Client>, State), Status> {
        let numbers = StateidNumbers::of(state);
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

    /// Whether a stateid is of this run of the server and of this client.
    pub(super) fn is_of(&self, state: &StateId, client: &Client) -> bool {
        let numbers = StateidNumbers::of(state);
        !state.is_special() && numbers.boot == self.boot && numbers.client == client.number
    }

    /// The confirmed clients, for what concerns all of them.
    pub(super) fn all(&self) -> Vec<Arc<Client>> {
        self.table.lock().all().cloned().collect()
    }

    /// A confirmed client of this run, whose lease stays as it is.
    pub(super) fn known(&self, id: u64) -> Option<Arc<Client>> {
        self.numbered(self.number_of(id).ok()?)
    }

    /// The client that was heard least recently, of those whose lease is over.
    pub(super) fn most_silent(&self) -> Option<Arc<Client>> {
        let lease = self.lease.as_millis() as u64;
        let silent = self.all().into_iter().filter(|client| client.silent_ms() > lease);
        silent.max_by_key(|client| client.silent_ms())
    }

    /// Forgets registrations that were not confirmed within a lease, RFC 8881 18.35.4.
    pub(super) fn forget_unconfirmed(&self) {
        self.table.lock().forget_waiting_for(self.lease);
    }

    /// Forgets a client that has lost everything.
    pub(super) fn forget(&self, client: &Client) {
        self.table.lock().forget(client);
    }
}
