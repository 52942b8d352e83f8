//! Which clients want to hear of which address, and what they have not heard yet: MS-SWN 3.1.1 and 3.1.6.
//!
//! ```text
//!                  register             the address is lost, or its server stops
//!    (nothing) ───────────────► waits ───────────────────────────────────────────► told
//!                                 ▲                                                 │ 5 s, or the client unregisters
//!                                 └── registers again, with its next server ── gone ◄──┘
//! ```
//!
//! After the loss of its server a client of Windows Server 2022 does not register anew by itself. It does when its registration
//! ends, as Samba's developers found out; so it ends.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use lock::Mutex;
use tokio::sync::Notify;

use super::ClusterNode;
use crate::ranks;
use crate::wire::rpc::WinError;
use crate::wire::rpc::ndr::Handle;
use crate::wire::rpc::witness::{Notice, State, WitnessInterface};

/// The most registrations of all clients: as many as there may be connections of SMB.
const MAX_REGISTRATIONS: usize = 16_384;
/// The most registrations of clients with one address. A client has one for each share that it uses.
const MAX_OF_CLIENT: usize = 256;
/// The most servers of a cluster that are listed, those that are lost included.
const MAX_NODES: usize = 64;
/// The most addresses of a server that are listed.
const MAX_ADDRESSES: usize = 32;
/// The most changes of addresses that wait for a client.
const MAX_CHANGES: usize = 64;
/// The most states of its own address that wait for a client.
const MAX_STATES: usize = 4;
/// How long a registration lasts after its client was told that its server is lost or stops.
const ENDS_AFTER: Duration = Duration::from_secs(5);

/// What a client registers.
pub(super) struct Wish {
    /// The user, as a registration belongs to one.
    pub(super) user: String,
    pub(super) peer: IpAddr,
    /// The connections that the client has in common ([`AssociationGroup`]).
    pub(super) group: u32,
    /// As the client has written it.
    pub(super) name: String,
    pub(super) address: IpAddr,
    /// The client wants to hear of all addresses.
    pub(super) wants_all: bool,
    /// How long a request for notices may wait.
    pub(super) keep_alive: Option<Duration>,
}

struct WitnessRegistration {
    wish: Wish,
    states: Vec<State>,
    move_to: Option<Vec<IpAddr>>,
    changed: BTreeMap<IpAddr, State>,
    /// Wakes the connection that waits for a notice.
    waiter: Option<Arc<Notify>>,
    ends: Option<Instant>,
}

/// What is known of a server.
struct NodeState {
    node: ClusterNode,
    is_lost: bool,
}

/// How much there is of an association group.
#[derive(Default)]
struct InGroup {
    connections: usize,
    registrations: usize,
}

#[derive(Default)]
struct RegistrationTable {
    nodes: Vec<NodeState>,
    groups: HashMap<u32, InGroup>,
    /// How many registrations clients of an address have.
    of_client: HashMap<IpAddr, usize>,
    registrations: HashMap<Handle, WitnessRegistration>,
}

/// The registrations at this server.
pub(super) struct Registrations {
    me: String,
    table: Mutex<RegistrationTable, ranks::SmbWitness>,
}

/// A connection's part in an association group, C706 9.3: registrations end with the last connection of their group.
pub(super) struct AssociationGroup {
    registrations: Arc<Registrations>,
    pub(super) id: u32,
}

impl Drop for AssociationGroup {
    fn drop(&mut self) {
        self.registrations.leave(self.id);
    }
}

/// What a waiting client gets.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum NoticeResult {
    Notice(Notice),
    /// Nothing yet. The registration ends then.
    Nothing(Option<Instant>),
    /// There is no such registration any more.
    Gone,
}

impl Registrations {
    pub(super) fn new(me: String) -> Self {
        Self { me, table: Mutex::default() }
    }

    pub(super) fn count(&self) -> usize {
        self.table.lock().registrations.len()
    }

    /// Another connection of a group. A group that does not exist (or 0) is a new one.
    pub(super) fn join(self: &Arc<Self>, wanted: u32) -> AssociationGroup {
        let mut table = self.table.lock();
        let mut id = wanted;
        if !table.groups.contains_key(&id) {
            while id == 0 || table.groups.contains_key(&id) {
                let more = table.groups.len() as u32 + 1;
                id = getrandom::u32().unwrap_or_else(|_| id.wrapping_add(more));
            }
        }
        table.groups.entry(id).or_default().connections += 1;
        AssociationGroup { registrations: self.clone(), id }
    }

    fn leave(&self, id: u32) {
        let mut table = self.table.lock();
        let Some(group) = table.groups.get_mut(&id) else { return };
        group.connections -= 1;
        if group.connections > 0 {
            return;
        }
        if group.registrations > 0 {
            table.forget_where(|registration| registration.wish.group == id);
        }
        table.groups.remove(&id);
    }

    /// Whether a group has registrations.
    pub(super) fn has(&self, group: u32) -> bool {
        self.table.lock().groups.get(&group).is_some_and(|group| group.registrations > 0)
    }

    /// 3.1.4.2 and 3.1.4.5.
    pub(super) fn register(&self, wish: Wish, now: Instant) -> Result<Handle, WinError> {
        let mut handle = [0; 20];
        getrandom::fill(&mut handle[4..]).map_err(|_| WinError::NO_SYSTEM_RESOURCES)?;
        let mut table = self.table.lock();
        let is_full = |table: &RegistrationTable| {
            table.of_client.get(&wish.peer).is_some_and(|count| *count >= MAX_OF_CLIENT)
                || table.registrations.len() >= MAX_REGISTRATIONS
        };
        if is_full(&table) {
            table.forget_where(|registration| registration.ends.is_some_and(|ends| ends <= now));
            if is_full(&table) {
                return Err(WinError::NO_SYSTEM_RESOURCES);
            }
        }
        let known = table.at(wish.address).ok_or(WinError::INVALID_STATE)?;
        let is_leaving = known.node.is_leaving && !known.is_lost;
        let mut registration = WitnessRegistration {
            wish,
            states: Vec::new(),
            move_to: None,
            changed: BTreeMap::new(),
            waiter: None,
            ends: None,
        };
        if is_leaving {
            registration.move_to = table.destination(known.node.number);
        }
        table.insert(handle, registration);
        Ok(handle)
    }

    /// 3.1.4.3. False if the user has no such registration.
    pub(super) fn remove(&self, handle: &Handle, user: &str) -> bool {
        let mut table = self.table.lock();
        let is_its = table.registrations.get(handle).is_some_and(|found| found.wish.user == user);
        if is_its {
            table.forget(handle);
        }
        is_its
    }

    /// 3.1.4.4: a client waits for notices, for so long. `waker` is told when there may be some.
    pub(super) fn wait(
        &self,
        handle: &Handle,
        user: &str,
        waker: &Arc<Notify>,
    ) -> Result<Option<Duration>, WinError> {
        let mut table = self.table.lock();
        let registration = table.registrations.get_mut(handle).ok_or(WinError::NOT_FOUND)?;
        match &registration.waiter {
            _ if registration.wish.user != user => Err(WinError::NOT_FOUND),
            Some(_) => Err(WinError::NO_SYSTEM_RESOURCES), // one request at a time
            None => {
                registration.waiter = Some(waker.clone());
                Ok(registration.wish.keep_alive)
            }
        }
    }

    /// A client waits no longer.
    pub(super) fn stop_waiting(&self, handle: &Handle) {
        if let Some(registration) = self.table.lock().registrations.get_mut(handle) {
            registration.waiter = None;
        }
    }

    /// What a waiting client is told now.
    pub(super) fn take(&self, handle: &Handle, now: Instant) -> NoticeResult {
        let mut table = self.table.lock();
        let Some(registration) = table.registrations.get_mut(handle) else { return NoticeResult::Gone };
        match registration.next(now) {
            Some(notice) => NoticeResult::Notice(notice),
            None if registration.ends.is_some_and(|ends| ends <= now) => {
                table.forget(handle);
                NoticeResult::Gone
            }
            None => NoticeResult::Nothing(registration.ends),
        }
    }

    /// 3.1.4.1: all addresses of all servers. Clients of this server register at others.
    pub(super) fn interfaces(&self) -> Vec<WitnessInterface> {
        let table = self.table.lock();
        let mut all = Vec::new();
        for known in &table.nodes {
            let is_up = !known.is_lost && !known.node.is_leaving;
            let own = known.node.addresses.iter().take(MAX_ADDRESSES);
            // An address of a lost server may be at another one by now.
            let is_its = |address: &&IpAddr| table.at(**address).is_some_and(|at| std::ptr::eq(at, known));
            all.extend(own.filter(is_its).map(|address| WitnessInterface {
                group: known.node.name.clone(),
                state: if is_up { State::Available } else { State::Unavailable },
                address: *address,
                is_witness: is_up && known.node.is_witness && known.node.name != self.me,
            }));
        }
        all
    }

    /// The servers of the cluster are these. Clients whose address has lost its server, or has one again, are told.
    pub(super) fn adopt(&self, nodes: Vec<ClusterNode>, now: Instant) {
        let table = &mut *self.table.lock();
        let before = std::mem::take(&mut table.nodes);
        table.nodes = nodes.into_iter().map(|node| NodeState { node, is_lost: false }).collect();
        let is_gone =
            |known: &NodeState, all: &[NodeState]| all.iter().all(|one| one.node.name != known.node.name);
        let lost: Vec<NodeState> = before
            .iter()
            .filter(|known| is_gone(known, &table.nodes))
            .map(|known| NodeState { node: known.node.clone(), is_lost: true })
            .collect();
        table.nodes.extend(lost);
        table.nodes.truncate(MAX_NODES);
        let old = RegistrationTable { nodes: before, ..RegistrationTable::default() };
        let changed = changed(&old, table);
        let handles: Vec<Handle> = table.registrations.keys().copied().collect();
        for handle in handles {
            let Some(address) = table.registrations.get(&handle).map(|found| found.wish.address) else {
                continue;
            };
            let states = table.states_since(&old, address);
            let is_told_to_move =
                table.is_leaving(address) && !old.is_leaving(address) && table.is_up(address);
            let destination = if is_told_to_move { table.destination_beside(address) } else { None };
            let Some(registration) = table.registrations.get_mut(&handle) else { continue };
            registration.add(states, destination, &changed);
            if registration.has_news(now) {
                registration.wake();
            }
        }
    }
}

/// The addresses that have come or gone.
fn changed(old: &RegistrationTable, new: &RegistrationTable) -> Vec<(IpAddr, State)> {
    let all = old.nodes.iter().chain(&new.nodes).flat_map(|known| &known.node.addresses);
    let mut changed: BTreeMap<IpAddr, State> = BTreeMap::new();
    for address in all {
        match (old.is_up(*address), new.is_up(*address)) {
            (true, false) => drop(changed.insert(*address, State::Unavailable)),
            (false, true) if !old.nodes.is_empty() => drop(changed.insert(*address, State::Available)),
            _ => {}
        }
    }
    changed.into_iter().take(MAX_CHANGES).collect()
}

impl RegistrationTable {
    fn insert(&mut self, handle: Handle, registration: WitnessRegistration) {
        let Wish { group, peer, .. } = registration.wish;
        if let Some(group) = self.groups.get_mut(&group) {
            group.registrations += 1;
        }
        *self.of_client.entry(peer).or_default() += 1;
        self.registrations.insert(handle, registration);
    }

    /// Ends a registration. The connection that waits for its notices is told.
    fn forget(&mut self, handle: &Handle) {
        let Some(registration) = self.registrations.remove(handle) else { return };
        registration.wake();
        let Wish { group, peer, .. } = registration.wish;
        if let Some(group) = self.groups.get_mut(&group) {
            group.registrations = group.registrations.saturating_sub(1);
        }
        if let Some(count) = self.of_client.get_mut(&peer) {
            *count -= 1;
            if *count == 0 {
                self.of_client.remove(&peer);
            }
        }
    }

    fn forget_where(&mut self, is_over: impl Fn(&WitnessRegistration) -> bool) {
        let over = self.registrations.iter().filter(|(_, registration)| is_over(registration));
        let over: Vec<Handle> = over.map(|(handle, _)| *handle).collect();
        over.iter().for_each(|handle| self.forget(handle));
    }

    /// The server that has an address, or had it last.
    fn at(&self, address: IpAddr) -> Option<&NodeState> {
        let has = |known: &&NodeState| known.node.addresses.contains(&address);
        let up = self.nodes.iter().find(|known| !known.is_lost && has(known));
        up.or_else(|| self.nodes.iter().find(has))
    }

    fn is_up(&self, address: IpAddr) -> bool {
        self.at(address).is_some_and(|known| !known.is_lost)
    }

    fn is_leaving(&self, address: IpAddr) -> bool {
        self.at(address).is_some_and(|known| known.node.is_leaving)
    }

    /// The states that an address went through. One that has moved from a lost server to another was away.
    fn states_since(&self, old: &Self, address: IpAddr) -> &'static [State] {
        let number =
            |table: &Self| table.at(address).filter(|known| !known.is_lost).map(|known| known.node.number);
        match (number(old), number(self)) {
            (Some(_), None) => &[State::Unavailable],
            (None, Some(_)) => &[State::Available],
            (Some(before), Some(after)) if before != after && !self.has(before) => {
                &[State::Unavailable, State::Available]
            }
            _ => &[],
        }
    }

    /// Whether the server with this number is there.
    fn has(&self, number: u16) -> bool {
        self.nodes.iter().any(|known| !known.is_lost && known.node.number == number)
    }

    /// Where a client of the server with this number is to move: the addresses of its successor, which takes over the
    /// durable opens, or of the next server that stays.
    fn destination(&self, from: u16) -> Option<Vec<IpAddr>> {
        let stays =
            |known: &&NodeState| !known.is_lost && !known.node.is_leaving && !known.node.addresses.is_empty();
        let all = || self.nodes.iter().filter(stays);
        let next = all().filter(|known| known.node.number > from).min_by_key(|known| known.node.number);
        let chosen = next.or_else(|| all().min_by_key(|known| known.node.number))?;
        Some(chosen.node.addresses.iter().copied().take(MAX_ADDRESSES).collect())
    }

    /// The same for a client of this address, with the addresses of its family first.
    fn destination_beside(&self, used: IpAddr) -> Option<Vec<IpAddr>> {
        let mut to = self.destination(self.at(used)?.node.number)?;
        to.sort_by_key(|address| address.is_ipv4() != used.is_ipv4());
        Some(to)
    }
}

impl WitnessRegistration {
    fn add(&mut self, states: &[State], move_to: Option<Vec<IpAddr>>, changed: &[(IpAddr, State)]) {
        for state in states {
            if self.states.last() != Some(state) {
                self.states.push(*state);
            }
        }
        let surplus = self.states.len().saturating_sub(MAX_STATES);
        self.states.drain(..surplus);
        if move_to.is_some() {
            self.move_to = move_to;
        }
        if self.wish.wants_all {
            self.changed.extend(changed.iter().copied());
            while self.changed.len() > MAX_CHANGES {
                self.changed.pop_first();
            }
        }
    }

    fn has_news(&self, now: Instant) -> bool {
        !self.states.is_empty()
            || self.move_to.is_some()
            || !self.changed.is_empty()
            || self.ends.is_some_and(|ends| ends <= now)
    }

    /// The next notice, which the client has then.
    fn next(&mut self, now: Instant) -> Option<Notice> {
        if !self.states.is_empty() {
            let states = std::mem::take(&mut self.states);
            if states.contains(&State::Unavailable) {
                self.ends.get_or_insert(now + ENDS_AFTER);
            }
            return Some(Notice::ResourceChange { name: self.wish.name.clone(), states });
        }
        if let Some(to) = self.move_to.take() {
            self.ends.get_or_insert(now + ENDS_AFTER);
            return Some(Notice::ClientMove(to));
        }
        if self.changed.is_empty() {
            return None;
        }
        Some(Notice::IpChange(std::mem::take(&mut self.changed).into_iter().collect()))
    }

    fn wake(&self) {
        if let Some(waiter) = &self.waiter {
            waiter.notify_one();
        }
    }
}
