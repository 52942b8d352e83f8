//! CREATEs that clients repeat because the answer was lost: MS-SMB2 3.3.5.9.10.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use lock::Mutex;

use super::client::Client;
use super::open::Open;
use crate::ranks;
use crate::wire::Status;
use crate::wire::create::Action;

/// The most numbered CREATEs of a client that are remembered at a time.
const MOST: usize = 65_536;

/// The outcomes of a client's CREATEs that carry a number chosen by the client (a create GUID).
#[derive(Default)]
pub(in crate::server) struct Creations {
    table: Mutex<HashMap<[u8; 16], CreateState>, ranks::SmbReplays>,
}

enum CreateState {
    /// The CREATE waits for something.
    UnderWay,
    Done(Weak<Open>),
}

/// The start of a numbered CREATE.
pub(in crate::server) enum ReplayCheck<'a> {
    /// The CREATE is new.
    New(InFlightCreate<'a>),
    /// It was answered already with this open.
    Again(Arc<Open>),
}

/// A CREATE under way. Dropping it forgets its number.
pub(in crate::server) struct InFlightCreate<'a> {
    client: &'a Arc<Client>,
    guid: [u8; 16],
}

/// The numbered CREATE that made an open.
pub(in crate::server) struct CreateNumber {
    client: Weak<Client>,
    guid: [u8; 16],
    /// The action in the answer.
    pub(in crate::server) action: Action,
}

impl CreateNumber {
    /// The client has used the open, so it has received the answer and will not repeat the CREATE.
    pub(in crate::server) fn is_known(&self) {
        if let Some(client) = self.client.upgrade() {
            client.creations.table.lock().remove(&self.guid);
        }
    }

    /// The open is a new object since its client reconnected.
    pub(in crate::server) fn moved(&self, open: &Arc<Open>) {
        if let Some(client) = self.client.upgrade()
            && let Some(creation) = client.creations.table.lock().get_mut(&self.guid)
        {
            *creation = CreateState::Done(Arc::downgrade(open));
        }
    }
}

impl Creations {
    /// Whether a CREATE with this number is under way, or was answered.
    pub(in crate::server) fn has(&self, guid: &[u8; 16]) -> bool {
        self.table.lock().contains_key(guid)
    }

    /// An open of a lost server, whose client may repeat the CREATE. Refused if the client has done so, and has another open. If
    /// the repeated CREATE waits for the file, it finds this open ([`InFlightCreate::done`]).
    pub(in crate::server) fn restore(
        client: &Arc<Client>,
        guid: [u8; 16],
        open: &Arc<Open>,
        action: Action,
    ) -> Result<(), Status> {
        let mut table = client.creations.table.lock();
        match table.get(&guid) {
            Some(CreateState::Done(other)) if other.strong_count() > 0 => {
                return Err(Status::DUPLICATE_OBJECTID);
            }
            None if table.len() >= MOST => return Err(Status::DUPLICATE_OBJECTID),
            _ => table.insert(guid, CreateState::Done(Arc::downgrade(open))),
        };
        drop(table);
        let _ = open.number.set(CreateNumber { client: Arc::downgrade(client), guid, action }); // a new open has none
        Ok(())
    }
}

impl Drop for CreateNumber {
    fn drop(&mut self) {
        let Some(client) = self.client.upgrade() else { return };
        let mut table = client.creations.table.lock();
        if matches!(table.get(&self.guid), Some(CreateState::Done(open)) if open.strong_count() == 0) {
            table.remove(&self.guid);
        }
    }
}

impl<'a> ReplayCheck<'a> {
    /// Begins a CREATE with this number, which may be repeated.
    pub(in crate::server) fn new(
        client: &'a Arc<Client>,
        guid: [u8; 16],
        replay: bool,
    ) -> Result<Self, Status> {
        let mut table = client.creations.table.lock();
        let before = match table.get(&guid) {
            Some(CreateState::UnderWay) if replay => return Err(Status::FILE_NOT_AVAILABLE),
            Some(CreateState::UnderWay) => return Err(Status::DUPLICATE_OBJECTID),
            Some(CreateState::Done(open)) => open.upgrade(),
            None => None,
        };
        match before {
            Some(open) if replay => return Ok(ReplayCheck::Again(open)),
            Some(_) => return Err(Status::DUPLICATE_OBJECTID),
            None if table.len() >= MOST => return Err(Status::INSUFFICIENT_RESOURCES),
            None => table.insert(guid, CreateState::UnderWay),
        };
        Ok(ReplayCheck::New(InFlightCreate { client, guid }))
    }
}

impl InFlightCreate<'_> {
    /// Records that the CREATE made this open. Returns the one that it has made at a lost server, if this server has inherited that
    /// meanwhile: its client never heard of it, so it is to be closed.
    pub(in crate::server) fn done(self, open: &Arc<Open>, action: Action) -> Option<Arc<Open>> {
        let number = CreateNumber { client: Arc::downgrade(self.client), guid: self.guid, action };
        let _ = open.number.set(number); // a new open has none
        let done = CreateState::Done(Arc::downgrade(open));
        match self.client.creations.table.lock().insert(self.guid, done) {
            Some(CreateState::Done(other)) => other.upgrade(),
            Some(CreateState::UnderWay) | None => None,
        }
    }
}

impl Drop for InFlightCreate<'_> {
    fn drop(&mut self) {
        let mut table = self.client.creations.table.lock();
        if matches!(table.get(&self.guid), Some(CreateState::UnderWay)) {
            table.remove(&self.guid);
        }
    }
}
