//! What the stateids and clientids of a COMPOUND mean. In minor version 0 they stand for themselves, RFC 7530 9.1.4. From
//! minor version 1 on the session says which client it is, and a stateid may be the current one: RFC 8881 8.2.

use std::sync::Arc;

use wire::{Reader, Writer};

use super::client::Client;
use super::compound::Compound;
use super::states::{By, DataAccess, SentStateId, State};
use crate::server::handle::HandleContent;
use crate::wire::v4::CompoundOperation;
use crate::wire::v4::types::{StateId, Status};
use crate::wire::xdr::Decode;

impl Compound<'_> {
    /// The client that a request is of. `sent` is what it says, which does not matter in a session.
    pub(super) fn client(&self, sent: u64) -> Result<Arc<Client>, Status> {
        match &self.sequenced {
            Some(sequenced) => Ok(sequenced.client().clone()),
            None => {
                let clients = &self.call.service.nfs4;
                let client = clients.client(sent)?;
                clients.back.note_client(self.call.origin, &client);
                Ok(client)
            }
        }
    }

    /// The sequence number of an owner: `None` in a session, which counts requests itself.
    pub(super) fn counted(&self, sequence: u32) -> Option<u32> {
        (self.minor == 0).then_some(sequence)
    }

    /// A stateid as it is meant.
    pub(super) fn sent(&self, state: &StateId) -> SentStateId {
        match *state {
            state if self.minor == 0 => SentStateId { state, sequence: Some(state.sequence) },
            StateId::CURRENT => SentStateId { state: self.state, sequence: None },
            state => SentStateId { state, sequence: Some(state.sequence).filter(|&sequence| sequence != 0) },
        }
    }

    /// The client and the state of a stateid that is not special.
    pub(super) fn state(&self, sent: &SentStateId) -> Result<(Arc<Client>, State), Status> {
        let clients = &self.call.service.nfs4;
        let Some(sequenced) = &self.sequenced else {
            let (client, state) = clients.state(&sent.state)?;
            return if client.minor == 0 { Ok((client, state)) } else { Err(Status::BAD_STATEID) };
        };
        let client = sequenced.client();
        if !clients.is_of(&sent.state, client) {
            return Err(Status::BAD_STATEID);
        }
        Ok((client.clone(), client.state(super::states::StateidNumbers::of(&sent.state).state)?))
    }

    /// The open or the delegation by which a file is read or written; `None` for a special stateid.
    pub(super) fn opened(&self, state: &StateId, file: &HandleContent) -> Result<Option<DataAccess>, Status> {
        let sent = self.sent(state);
        if sent.state == StateId::ANONYMOUS || sent.state == StateId::BYPASS {
            return Ok(None);
        }
        let (client, found) = self.state(&sent)?;
        let (open, sequence) = match found {
            State::Open(open) => (open.clone(), open.sequence.check(sent.sequence)),
            State::Lock(lock) => (lock.open.clone(), lock.sequence.check(sent.sequence)),
            State::Delegation(delegation) => {
                delegation.check(sent.sequence)?;
                let is_it = delegation.named == *file;
                let by = By::Delegation(delegation);
                return if is_it { Ok(Some(DataAccess { client, by })) } else { Err(Status::BAD_STATEID) };
            }
            State::Copy(_) | State::Closed(_) => return Err(Status::BAD_STATEID),
        };
        sequence?;
        if open.named != *file || !open.owner.is_confirmed() {
            return Err(Status::BAD_STATEID);
        }
        Ok(Some(DataAccess { client, by: By::Open(open) }))
    }

    /// After an operation: the current stateid is the one in its results, or none if it has changed the current handle only.
    /// RFC 8881 16.2.3.1.2.
    pub(super) fn note_state(&mut self, operation: &CompoundOperation<'_>, results_at: usize, w: &Writer) {
        match operation {
            CompoundOperation::Open(_)
            | CompoundOperation::OpenDowngrade(_)
            | CompoundOperation::Close(_)
            | CompoundOperation::Lock(_)
            | CompoundOperation::Unlock(_) => {
                if let Ok(state) = StateId::decode(&mut Reader::new(&w.as_bytes()[results_at..])) {
                    self.state = state;
                }
            }
            CompoundOperation::PutRoot(())
            | CompoundOperation::PutPublic(())
            | CompoundOperation::PutHandle(_)
            | CompoundOperation::LookUp(_)
            | CompoundOperation::LookUpParent(())
            | CompoundOperation::Create(_) => self.state = StateId::ANONYMOUS,
            CompoundOperation::Save(()) => self.saved_state = self.state,
            CompoundOperation::Restore(()) => self.state = self.saved_state,
            _ => {}
        }
    }
}
