//! One client: its lease, its owners, and what it holds.

mod client_states;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use lock::Mutex;
use tokio::sync::OnceCell;
use tokio::time::Instant;
use vfs::state::{Absence, ClientId};
use vfs::{FileId, HostKey};

use super::calling::CallPath;
use super::copying::{AsyncCopy, COPIES_OF_CLIENT};
use super::delegations::{Delegation, Use};
use super::owners::StateOwner;
use super::principal::Principal;
use super::states::{LockState, OpenState, State, StateidNumbers};
use crate::ranks;
use crate::server::handle::{HandleContent, HandleView};
use crate::wire::v4::types::{Status, Verifier};

/// The most owners of opens, and as many of locks, that one client may have.
const OWNERS: usize = 16_384;
/// The most opens and locked files of one client; in tests fewer, which are made quickly.
const STATES: usize = if cfg!(test) { 128 } else { 65_536 };

/// A confirmed client.
pub(super) struct Client {
    pub(super) boot: u32,
    pub(super) number: u32,
    /// The minor version that it speaks. From 1 on sessions count its requests, and not its owners.
    pub(super) minor: u32,
    /// The client's own name of itself.
    pub(super) name: Arc<[u8]>,
    /// Changes when the client restarts.
    pub(super) verifier: Verifier,
    pub(super) principal: Principal,
    /// The client in the tree.
    pub(super) party: ClientId,
    /// Its name is in the table that outlives the server.
    pub(super) recorded: OnceCell<()>,
    /// It has said that it reclaims nothing more, RFC 8881 18.51. From minor version 1.
    has_reclaimed: AtomicBool,
    /// How many sessions it has. From minor version 1.
    pub(super) sessions: AtomicUsize,
    /// How many of its requests are being executed. From minor version 1.
    pub(super) in_flight: AtomicUsize,
    /// How the server calls it. Of minor version 0.
    call_path: Mutex<Option<Arc<CallPath>>, ranks::Nfs4Callback>,
    /// How many delegations it has lost without having freed their stateids.
    pub(super) revoked: AtomicUsize,
    /// When it was heard last, in milliseconds since `born`.
    heard: AtomicU64,
    born: Instant,
    is_absent: AtomicBool,
    owned: Mutex<ClientStates, ranks::Nfs4Owned>,
}

/// The owners and states of a client.
#[derive(Default)]
struct ClientStates {
    open_owners: HashMap<Arc<[u8]>, Arc<StateOwner>>,
    lock_owners: HashMap<Arc<[u8]>, Arc<StateOwner>>,
    states: HashMap<u32, State>,
    /// The open of an owner and a file.
    opens: HashMap<(Arc<[u8]>, FileId, HandleView), u32>,
    /// The locks of an owner by an open.
    locks: HashMap<(Arc<[u8]>, u32), u32>,
    /// The delegation of a file.
    delegations: HashMap<FileId, u32>,
    /// The last closed open of each owner.
    closed: HashMap<Arc<[u8]>, u32>,
    last_number: u32,
    absence: Option<Absence>,
    /// It has lost everything, and gets nothing new.
    is_over: bool,
}

/// All that a client held, to be dropped without a lock.
pub(super) type ClientRemains = (HashMap<u32, State>, Option<Absence>);

impl Client {
    pub(super) fn new(
        (boot, number): (u32, u32),
        name: &Arc<[u8]>,
        (verifier, principal): (Verifier, Principal),
        minor: u32,
    ) -> Arc<Self> {
        Arc::new(Self {
            boot,
            number,
            minor,
            name: name.clone(),
            verifier,
            principal,
            party: ClientId::unused(),
            recorded: OnceCell::new(),
            has_reclaimed: AtomicBool::new(minor == 0),
            sessions: AtomicUsize::new(0),
            in_flight: AtomicUsize::new(0),
            call_path: Mutex::default(),
            revoked: AtomicUsize::new(0),
            heard: AtomicU64::new(0),
            born: Instant::now(),
            is_absent: AtomicBool::new(false),
            owned: Mutex::default(),
        })
    }

    /// clientid4.
    pub(super) fn id(&self) -> u64 {
        u64::from(self.boot) << 32 | u64::from(self.number)
    }

    /// How the server calls the client of minor version 0, if it can.
    pub(super) fn call_path(&self) -> Option<Arc<CallPath>> {
        self.call_path.lock().clone()
    }

    /// From now on it is called so.
    pub(super) fn call_by(&self, path: Option<Arc<CallPath>>) {
        *self.call_path.lock() = path;
    }

    /// The client was heard: its lease begins anew. An absent client is back.
    pub(super) fn renew(&self) {
        self.heard.store(self.born.elapsed().as_millis() as u64, Ordering::Relaxed);
        if self.is_absent.swap(false, Ordering::AcqRel) {
            let absence = self.owned.lock().absence.take();
            drop(absence);
        }
    }

    /// Whether it may have state that it has not reclaimed. Always false in minor version 0, which has no sign of it.
    pub(super) fn is_reclaiming(&self) -> bool {
        !self.has_reclaimed.load(Ordering::Acquire)
    }

    /// It reclaims nothing more. Answers whether it had said so before.
    pub(super) fn end_reclaiming(&self) -> bool {
        self.has_reclaimed.swap(true, Ordering::AcqRel)
    }

    /// For how many milliseconds the client has been silent. It is not while it waits for a reply.
    pub(super) fn silent_ms(&self) -> u64 {
        if self.in_flight.load(Ordering::Acquire) > 0 {
            return 0;
        }
        (self.born.elapsed().as_millis() as u64).saturating_sub(self.heard.load(Ordering::Relaxed))
    }

    pub(super) fn is_absent(&self) -> bool {
        self.is_absent.load(Ordering::Acquire)
    }

    /// The lease is over. From now on other clients may take what this one holds, until it is heard again.
    pub(super) fn leave(&self, absence: impl FnOnce() -> Absence) {
        let mut owned = self.owned.lock();
        if owned.is_over || owned.absence.is_some() {
            return;
        }
        owned.absence = Some(absence());
        self.is_absent.store(true, Ordering::Release);
    }

    /// Takes everything from the client.
    pub(super) fn end(&self) -> ClientRemains {
        let mut owned = self.owned.lock();
        let ended = std::mem::replace(&mut *owned, ClientStates { is_over: true, ..ClientStates::default() });
        (ended.states, ended.absence)
    }

    /// Whether it has lost everything.
    pub(super) fn is_over(&self) -> bool {
        self.owned.lock().is_over
    }

    /// Whether it has sessions, RFC 8881 18.50.
    pub(super) fn has_sessions(&self) -> bool {
        self.sessions.load(Ordering::Acquire) > 0
    }

    /// Whether it has files open.
    pub(super) fn has_state(&self) -> bool {
        self.owned.lock().states.values().any(|state| !matches!(state, State::Closed(_)))
    }

    /// The state of this number, and the owner whose turn its operations wait for.
    pub(super) fn state(&self, number: u32) -> Result<State, Status> {
        self.owned.lock().states.get(&number).cloned().ok_or(Status::BAD_STATEID)
    }

    /// The owner of opens of this name. One that has confirmed nothing begins anew with each OPEN: what it has open is
    /// returned, to be closed.
    pub(super) fn open_owner(&self, name: &[u8]) -> Result<(Arc<StateOwner>, Vec<State>), Status> {
        let mut owned = self.owned.lock();
        if owned.is_over {
            return Err(Status::EXPIRED);
        }
        let known = owned.open_owners.get(name).cloned();
        if let Some(owner) = known.as_ref().filter(|owner| owner.is_confirmed()) {
            return Ok((owner.clone(), Vec::new()));
        }
        let unconfirmed = known.map(|owner| owned.forget_opens_of(&owner)).unwrap_or_default();
        if owned.open_owners.len() >= OWNERS {
            owned.forget_idle_owners();
        }
        if owned.open_owners.len() >= OWNERS {
            return Err(Status::RESOURCE);
        }
        let owner = StateOwner::new(name);
        if self.minor > 0 {
            owner.confirm(); // the session has excluded old requests
        }
        owned.open_owners.insert(owner.name.clone(), owner.clone());
        Ok((owner, unconfirmed))
    }

    /// The owner of locks of this name, and whether it is new.
    pub(super) fn lock_owner(&self, name: &[u8]) -> Result<(Arc<StateOwner>, bool), Status> {
        let mut owned = self.owned.lock();
        if let Some(owner) = owned.lock_owners.get(name) {
            return Ok((owner.clone(), false));
        }
        if owned.is_over {
            return Err(Status::EXPIRED);
        }
        if owned.lock_owners.len() >= OWNERS {
            owned.forget_idle_owners();
        }
        if owned.lock_owners.len() >= OWNERS {
            return Err(Status::RESOURCE);
        }
        let owner = StateOwner::new(name);
        owned.lock_owners.insert(owner.name.clone(), owner.clone());
        Ok((owner, true))
    }

    /// Forgets an owner of locks that holds none.
    pub(super) fn forget_lock_owner(
        &self,
        name: &[u8],
        holds: impl Fn(&LockState) -> bool,
    ) -> Result<(), Status> {
        let mut owned = self.owned.lock();
        let own: Vec<u32> = owned
            .locks
            .iter()
            .filter(|((owner, _), _)| **owner == *name)
            .map(|(_, number)| *number)
            .collect();
        let is_held = |number: &u32| match owned.states.get(number) {
            Some(State::Lock(lock)) => holds(lock),
            _ => false,
        };
        if own.iter().any(is_held) {
            return Err(Status::LOCKS_HELD);
        }
        for number in own {
            owned.states.remove(&number);
        }
        owned.locks.retain(|(owner, _), _| **owner != *name);
        owned.lock_owners.remove(name);
        Ok(())
    }

    /// What this owner has open of a file. A file, its sidecar and its named attributes are several.
    pub(super) fn open_of(
        &self,
        owner: &StateOwner,
        file: FileId,
        view: HandleView,
    ) -> Option<Arc<OpenState>> {
        let owned = self.owned.lock();
        let number = owned.opens.get(&(owner.name.clone(), file, view))?;
        match owned.states.get(number) {
            Some(State::Open(open)) => Some(open.clone()),
            _ => None,
        }
    }

    /// What this owner has locked by an open.
    pub(super) fn locks_of(&self, owner: &StateOwner, open: &OpenState) -> Option<Arc<LockState>> {
        let owned = self.owned.lock();
        let number = owned.locks.get(&(owner.name.clone(), open.numbers.state))?;
        match owned.states.get(number) {
            Some(State::Lock(lock)) => Some(lock.clone()),
            _ => None,
        }
    }

    /// Keeps a new open.
    pub(super) fn add_open(
        &self,
        make: impl FnOnce(StateidNumbers) -> OpenState,
    ) -> Result<Arc<OpenState>, Status> {
        let mut owned = self.owned.lock();
        let numbers = owned.new_numbers(self)?;
        let open = Arc::new(make(numbers));
        owned.opens.insert((open.owner.name.clone(), open.file, open.named.view), numbers.state);
        owned.states.insert(numbers.state, State::Open(open.clone()));
        Ok(open)
    }

    /// The delegation of a file that it holds.
    pub(super) fn delegation_of(&self, file: FileId, key: &HostKey) -> Option<Arc<Delegation>> {
        self.owned.lock().delegation_of(file).filter(|held| held.named.key == *key)
    }

    /// The delegation of a file that is gone and had the number of this one.
    pub(super) fn former_delegation(&self, file: FileId, key: &HostKey) -> Option<Arc<Delegation>> {
        self.owned.lock().delegation_of(file).filter(|held| held.named.key != *key)
    }

    /// The delegation that it holds and knows by this handle.
    pub(super) fn delegation_named(&self, named: &HandleContent) -> Option<Arc<Delegation>> {
        let owned = self.owned.lock();
        let mut held = owned.delegations.keys().filter_map(|file| owned.delegation_of(*file));
        held.find(|held| held.named == *named && !held.is_revoked())
    }

    /// Of how many folders it is told.
    pub(super) fn told_folders(&self) -> usize {
        let owned = self.owned.lock();
        let is_told =
            |state: &&State| matches!(state, State::Delegation(held) if held.allows == Use::ToldFolder);
        owned.states.values().filter(is_told).count()
    }

    /// Whether it holds delegations, or has lost some.
    pub(super) fn has_delegations(&self) -> bool {
        !self.owned.lock().delegations.is_empty()
    }

    /// Keeps a new delegation.
    pub(super) fn add_delegation(
        &self,
        make: impl FnOnce(StateidNumbers) -> Delegation,
    ) -> Result<Arc<Delegation>, Status> {
        let mut owned = self.owned.lock();
        let numbers = owned.new_numbers(self)?;
        let delegation = Arc::new(make(numbers));
        owned.delegations.insert(delegation.file, numbers.state);
        owned.states.insert(numbers.state, State::Delegation(delegation.clone()));
        Ok(delegation)
    }

    /// Forgets a delegation that it has returned or freed.
    pub(super) fn forget_delegation(&self, delegation: &Delegation) {
        let mut owned = self.owned.lock();
        owned.states.remove(&delegation.numbers.state);
        if owned.delegations.get(&delegation.file) == Some(&delegation.numbers.state) {
            owned.delegations.remove(&delegation.file);
        }
    }

    /// Keeps the locks of an owner by an open: `known` ones, or the first ones. BAD_STATEID if another request has closed
    /// the open meanwhile: nothing would release these locks.
    pub(super) fn keep_locks(
        &self,
        known: Option<Arc<LockState>>,
        open: &OpenState,
        make: impl FnOnce(StateidNumbers) -> LockState,
    ) -> Result<Arc<LockState>, Status> {
        let mut owned = self.owned.lock();
        if !matches!(owned.states.get(&open.numbers.state), Some(State::Open(_))) {
            return Err(Status::BAD_STATEID);
        }
        if let Some(known) = known {
            return match owned.states.get(&known.numbers.state) {
                Some(State::Lock(_)) => Ok(known),
                _ => Err(Status::BAD_STATEID),
            };
        }
        let numbers = owned.new_numbers(self)?;
        let locks = Arc::new(make(numbers));
        owned.locks.insert((locks.owner.name.clone(), locks.open.numbers.state), numbers.state);
        owned.states.insert(numbers.state, State::Lock(locks.clone()));
        Ok(locks)
    }

    /// Forgets an open and the locks by it. Returns them, to be released without a lock.
    pub(super) fn close(&self, open: &OpenState) -> Vec<State> {
        self.owned.lock().close(open)
    }

    /// Forgets a lock state, if it `is_free`. The owner stays.
    pub(super) fn free(&self, locks: &LockState, is_free: impl FnOnce() -> bool) -> Result<(), Status> {
        let mut owned = self.owned.lock();
        if !is_free() {
            return Err(Status::LOCKS_HELD);
        }
        owned.states.remove(&locks.numbers.state);
        owned.locks.remove(&(locks.owner.name.clone(), locks.open.numbers.state));
        Ok(())
    }

    /// Keeps a new copy: RESOURCE if there are too many.
    pub(super) fn add_copy(
        &self,
        make: impl FnOnce(StateidNumbers) -> AsyncCopy,
    ) -> Result<Arc<AsyncCopy>, Status> {
        let mut owned = self.owned.lock();
        let copies = owned.states.values().filter(|state| matches!(state, State::Copy(_)));
        if copies.count() >= COPIES_OF_CLIENT {
            return Err(Status::RESOURCE);
        }
        let numbers = owned.new_numbers(self)?;
        let copying = Arc::new(make(numbers));
        owned.states.insert(numbers.state, State::Copy(copying.clone()));
        Ok(copying)
    }

    /// Forgets a copy that has ended or is cancelled.
    pub(super) fn forget_copy(&self, copying: &AsyncCopy) {
        self.owned.lock().states.remove(&copying.numbers.state);
    }

    /// All opens and locks by them in an export, the delegations, and the copies.
    pub(super) fn close_in(&self, tag: u32) -> Vec<State> {
        let mut owned = self.owned.lock();
        let is_there = |_: &u32, state: &mut State| match state {
            State::Delegation(delegation) => delegation.named.tag == tag,
            State::Copy(copying) => copying.named.tag == tag,
            _ => false,
        };
        let delegations: Vec<State> = owned.states.extract_if(is_there).map(|(_, state)| state).collect();
        let left: HashSet<u32> = owned.states.keys().copied().collect();
        owned.delegations.retain(|_, number| left.contains(number));
        let opens = owned.states.values().filter_map(|state| match state {
            State::Open(open) if open.named.tag == tag => Some(open.clone()),
            _ => None,
        });
        let opens: Vec<Arc<OpenState>> = opens.collect();
        let closed = opens.iter().flat_map(|open| owned.close(open));
        delegations.into_iter().chain(closed.collect::<Vec<_>>()).collect()
    }
}
