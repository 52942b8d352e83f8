//! The table of clients: by the names that they give themselves, and by the numbers that the server gives them. Both minor
//! versions share it, so a client that comes back with another version replaces what it held before: RFC 8881 2.4.1.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::calling::CallPath;
use super::client::Client;
use super::creation::ClientCreation;
use super::principal::Principal;
use crate::wire::v4::types::{Status, Verifier};

/// The most confirmed clients.
const CONFIRMED: usize = 16_384;
/// The most clients that have not confirmed their names. The oldest ones are forgotten.
const WAITING: usize = 1_024;

/// Where a client of minor version 0 says that it can be called: the transport and the address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CallbackAddress {
    pub(super) net: Vec<u8>,
    pub(super) address: Vec<u8>,
}

/// The same, and how.
#[derive(Clone)]
pub(super) struct Callback {
    pub(super) place: CallbackAddress,
    /// `None`: the server cannot call it.
    pub(super) path: Option<Arc<CallPath>>,
}

/// How a client registers, and what confirms it.
#[derive(Clone)]
pub(super) enum ConfirmMethod {
    /// By SETCLIENTID; SETCLIENTID_CONFIRM repeats the verifier. Minor version 0.
    Verifier(Verifier, Callback),
    /// By EXCHANGE_ID; the first CREATE_SESSION confirms it. Minor version 1.
    Session(Arc<ClientCreation>),
}

impl ConfirmMethod {
    pub(super) fn minor(&self) -> u32 {
        match self {
            Self::Verifier(..) => 0,
            Self::Session(_) => 1,
        }
    }
}

#[derive(Clone)]
pub(super) struct ConfirmedClient {
    pub(super) client: Arc<Client>,
    pub(super) how: ConfirmMethod,
}

/// A registration that is not confirmed.
pub(super) struct UnconfirmedClient {
    pub(super) number: u32,
    pub(super) verifier: Verifier,
    pub(super) principal: Principal,
    pub(super) how: ConfirmMethod,
    pub(super) since: Instant,
}

/// What SETCLIENTID and EXCHANGE_ID say of a client.
pub(super) struct ClientClaim<'a> {
    pub(super) name: &'a [u8],
    pub(super) verifier: Verifier,
    pub(super) principal: Principal,
    pub(super) how: ConfirmMethod,
}

/// A client that has just been confirmed.
pub(super) struct ClientConfirmation {
    pub(super) client: Arc<Client>,
    /// A former run of it, which has ended.
    pub(super) former: Option<Arc<Client>>,
}

/// What is known of one name.
#[derive(Default)]
struct NamedClient {
    confirmed: Option<ConfirmedClient>,
    waiting: Option<UnconfirmedClient>,
}

#[derive(Default)]
pub(super) struct ClientTable {
    names: HashMap<Arc<[u8]>, NamedClient>,
    /// The name of each number: of confirmed clients, and of those that wait.
    numbers: HashMap<u32, Arc<[u8]>>,
    last_number: u32,
    waiting: usize,
}

impl ClientTable {
    /// The confirmed client of this name.
    pub(super) fn known(&self, name: &[u8]) -> Option<&ConfirmedClient> {
        self.names.get(name)?.confirmed.as_ref()
    }

    /// The confirmed client of this name, if another user speaks for it and may not be replaced: it holds something and is
    /// not absent.
    pub(super) fn in_use(&self, claimed: &ClientClaim<'_>) -> Option<&ConfirmedClient> {
        let known = self.known(claimed.name)?;
        let client = &known.client;
        let holds = client.has_state() || client.has_sessions();
        let is_in_use = client.principal != claimed.principal && holds && !client.is_absent();
        is_in_use.then_some(known)
    }

    /// The confirmed client of this name, if it is the same run of the same client.
    pub(super) fn same(&self, claimed: &ClientClaim<'_>) -> Option<&ConfirmedClient> {
        self.known(claimed.name).filter(|known| {
            known.client.verifier == claimed.verifier
                && known.client.principal == claimed.principal
                && known.how.minor() == claimed.how.minor()
        })
    }

    /// Whether a client may change its confirmed record, RFC 8881 18.35.4: the last three cases.
    pub(super) fn check_update(&self, claimed: &ClientClaim<'_>) -> Result<(), Status> {
        let known = self.known(claimed.name).filter(|known| known.how.minor() == claimed.how.minor());
        let known = &known.ok_or(Status::NOENT)?.client;
        if known.verifier != claimed.verifier {
            return Err(Status::NOT_SAME);
        }
        if known.principal == claimed.principal { Ok(()) } else { Err(Status::PERM) }
    }

    /// Lets a client wait for its confirmation, instead of what waited under its name before. Returns its number: a new one,
    /// unless the client only changes its record.
    pub(super) fn wait(&mut self, claimed: &ClientClaim<'_>, number: Option<u32>) -> u32 {
        self.forget_oldest_waiting();
        let number = number.unwrap_or_else(|| self.new_number());
        let ClientClaim { name, verifier, principal, ref how } = *claimed;
        let name: Arc<[u8]> = name.into();
        let waiting =
            UnconfirmedClient { number, verifier, principal, how: how.clone(), since: Instant::now() };
        self.forget_waiting(&name);
        self.waiting += 1;
        self.numbers.insert(number, name.clone());
        self.names.entry(name).or_default().waiting = Some(waiting);
        number
    }

    /// Confirms the client of a number if it waits and `is_it`. `Ok(None)`: it does not wait.
    pub(super) fn confirm(
        &mut self,
        (boot, number): (u32, u32),
        principal: Principal,
        is_it: impl FnOnce(&UnconfirmedClient) -> bool,
    ) -> Result<Option<ClientConfirmation>, Status> {
        let name = self.numbers.get(&number).cloned().ok_or(Status::STALE_CLIENTID)?;
        let full = self.names.len() >= CONFIRMED; // those that only wait are few
        let names = self.names.get_mut(&name).ok_or(Status::STALE_CLIENTID)?;
        let Some(waiting) = names.waiting.take_if(|waiting| waiting.number == number && is_it(waiting))
        else {
            return Ok(None);
        };
        let refusal = if waiting.principal != principal {
            Some(Status::CLID_INUSE)
        } else {
            (full && names.confirmed.is_none()).then_some(Status::RESOURCE)
        };
        if let Some(status) = refusal {
            names.waiting = Some(waiting);
            return Err(status);
        }
        let UnconfirmedClient { verifier, principal, how, .. } = waiting;
        let confirmed = match &mut names.confirmed {
            Some(known) if known.client.number == number => {
                known.how = how;
                known.client.renew();
                ClientConfirmation { client: known.client.clone(), former: None }
            }
            before => {
                let client = Client::new((boot, number), &name, (verifier, principal), how.minor());
                let former = before.replace(ConfirmedClient { client: client.clone(), how });
                ClientConfirmation { client, former: former.map(|known| known.client) }
            }
        };
        self.waiting -= 1;
        if let Some(ended) = &confirmed.former {
            self.numbers.remove(&ended.number);
        }
        Ok(Some(confirmed))
    }

    /// Whether a number was given to a client that is gone.
    pub(super) fn was_given(&self, number: u32) -> bool {
        number != 0 && number <= self.last_number && !self.numbers.contains_key(&number)
    }

    /// The confirmed client of a number.
    pub(super) fn numbered(&self, number: u32) -> Option<&ConfirmedClient> {
        let confirmed = self.names.get(self.numbers.get(&number)?)?.confirmed.as_ref()?;
        (confirmed.client.number == number).then_some(confirmed)
    }

    /// The client of a number that waits.
    pub(super) fn waiting(&self, number: u32) -> Option<&UnconfirmedClient> {
        let waiting = self.names.get(self.numbers.get(&number)?)?.waiting.as_ref()?;
        (waiting.number == number).then_some(waiting)
    }

    /// The confirmed clients.
    pub(super) fn all(&self) -> impl Iterator<Item = &Arc<Client>> {
        self.names.values().filter_map(|names| Some(&names.confirmed.as_ref()?.client))
    }

    /// Forgets a client that has lost everything.
    pub(super) fn forget(&mut self, client: &Client) {
        if let Some(names) = self.names.get_mut(&client.name) {
            names.confirmed.take_if(|known| known.client.number == client.number);
            if names.waiting.is_none() && names.confirmed.is_none() {
                self.names.remove(&client.name);
            }
        }
        self.numbers.remove(&client.number);
    }

    /// Forgets the registration of this number that waits. Answers whether there is one.
    pub(super) fn forget_waiting_number(&mut self, number: u32) -> bool {
        let name = self.numbers.get(&number).filter(|_| self.waiting(number).is_some()).cloned();
        name.inspect(|name| self.forget_waiting(name)).is_some()
    }

    /// Forgets the registrations that have waited for longer than this.
    pub(super) fn forget_waiting_for(&mut self, time: Duration) {
        if self.waiting == 0 {
            return;
        }
        let is_old = |names: &NamedClient| names.waiting.as_ref().is_some_and(|w| w.since.elapsed() > time);
        let old: Vec<_> =
            self.names.iter().filter(|(_, names)| is_old(names)).map(|(name, _)| name.clone()).collect();
        old.iter().for_each(|name| self.forget_waiting(name));
    }

    fn new_number(&mut self) -> u32 {
        loop {
            self.last_number = self.last_number.wrapping_add(1);
            if self.last_number != 0 && !self.numbers.contains_key(&self.last_number) {
                return self.last_number;
            }
        }
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
