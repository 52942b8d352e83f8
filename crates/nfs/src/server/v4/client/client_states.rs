//! How the states of one client come and go.

use std::collections::HashSet;
use std::sync::Arc;

use vfs::FileId;

use super::{Client, ClientStates, STATES};
use crate::server::v4::delegations::Delegation;
use crate::server::v4::owners::StateOwner;
use crate::server::v4::states::{OpenState, State, StateidNumbers};
use crate::wire::v4::types::Status;

impl ClientStates {
    pub(super) fn delegation_of(&self, file: FileId) -> Option<Arc<Delegation>> {
        match self.states.get(self.delegations.get(&file)?) {
            Some(State::Delegation(delegation)) => Some(delegation.clone()),
            _ => None,
        }
    }

    pub(super) fn new_numbers(&mut self, client: &Client) -> Result<StateidNumbers, Status> {
        if self.is_over {
            return Err(Status::EXPIRED);
        }
        if self.states.len() >= STATES {
            return Err(Status::RESOURCE);
        }
        loop {
            self.last_number = self.last_number.wrapping_add(1);
            if self.last_number != 0 && !self.states.contains_key(&self.last_number) {
                break;
            }
        }
        Ok(StateidNumbers { boot: client.boot, client: client.number, state: self.last_number })
    }

    pub(super) fn close(&mut self, open: &OpenState) -> Vec<State> {
        let (own, owner) = (open.numbers.state, open.owner.name.clone());
        let locks: Vec<_> =
            self.locks.extract_if(|(_, of), _| *of == own).map(|(_, number)| number).collect();
        let mut closed: Vec<State> = locks.iter().filter_map(|number| self.states.remove(number)).collect();
        self.opens.remove(&(owner.clone(), open.file, open.named.view));
        closed.extend(self.states.insert(own, State::Closed(open.owner.clone())));
        if let Some(before) = self.closed.insert(owner, own)
            && before != own
        {
            self.states.remove(&before);
        }
        closed
    }

    pub(super) fn forget_opens_of(&mut self, owner: &Arc<StateOwner>) -> Vec<State> {
        let opens: Vec<Arc<OpenState>> = self
            .states
            .values()
            .filter_map(|state| match state {
                State::Open(open) if Arc::ptr_eq(&open.owner, owner) => Some(open.clone()),
                _ => None,
            })
            .collect();
        let closed = opens.iter().flat_map(|open| self.close(open)).collect();
        self.forget_closed(&owner.name);
        closed
    }

    pub(super) fn forget_closed(&mut self, owner: &[u8]) {
        if let Some(number) = self.closed.remove(owner) {
            self.states.remove(&number);
        }
    }

    /// Makes room: owners that hold nothing. A client that uses one of them again begins a new one.
    pub(super) fn forget_idle_owners(&mut self) {
        let busy: HashSet<_> = self.opens.keys().map(|(owner, ..)| owner.clone()).collect();
        let idle: Vec<_> = self.open_owners.keys().filter(|name| !busy.contains(*name)).cloned().collect();
        for name in idle {
            self.forget_closed(&name);
            self.open_owners.remove(&name);
        }
        let locking: HashSet<_> = self.locks.keys().map(|(owner, _)| owner.clone()).collect();
        self.lock_owners.retain(|name, _| locking.contains(name));
    }
}
