//! The state of one COMPOUND between its operations.

use std::sync::Arc;

use vfs::{FileId, Payload, Volume};

use super::gone::OrphanedDelegation;
use super::place::HandleTarget;
use super::sessions::SequencedCompound;
use crate::server::call::Call;
use crate::wire::v4::Head;
use crate::wire::v4::types::{StateId, Status};

/// The state of one COMPOUND between its operations, RFC 7530 15.2.
pub(super) struct Compound<'c> {
    pub(super) call: &'c Call<'c>,
    pub(super) minor: u32,
    /// How many operations the client has announced.
    pub(super) operations: u32,
    pub(super) current: Option<Arc<HandleTarget>>,
    /// In its stead: a file that is gone, of which the client has a delegation to return.
    pub(super) gone: Option<OrphanedDelegation>,
    pub(super) saved: Option<Arc<HandleTarget>>,
    /// The stateids that belong to the two handles, RFC 8881 16.2.3.1.2.
    pub(super) state: StateId,
    pub(super) saved_state: StateId,
    /// Where the results begin.
    pub(super) start: usize,
    /// An operation has changed something: attributes found before may be old.
    pub(super) changed: bool,
    /// No operation follows the present one.
    pub(super) is_last: bool,
    /// The file whose folder of named attributes an operation of this request has asked to make.
    pub(super) folder_made: Option<FileId>,
    /// The data that follow the results of the last operation.
    pub(super) payload: Option<Payload>,
    /// The slot of a session that the request is in.
    pub(super) sequenced: Option<SequencedCompound>,
    /// Stands for the request, to tell two with the same sequence number.
    pub(super) digest: u64,
    /// The reply of a request that was executed before.
    pub(super) repeated: Option<Vec<u8>>,
}

impl<'c> Compound<'c> {
    pub(super) fn new(call: &'c Call<'c>, head: &Head<'_>, start: usize) -> Self {
        Self {
            call,
            minor: head.minor,
            operations: head.operations,
            current: None,
            gone: None,
            saved: None,
            state: StateId::ANONYMOUS,
            saved_state: StateId::ANONYMOUS,
            start,
            changed: false,
            is_last: false,
            folder_made: None,
            payload: None,
            sequenced: None,
            digest: 0,
            repeated: None,
        }
    }

    pub(super) fn current(&self) -> Result<&Arc<HandleTarget>, Status> {
        let missing = if self.gone.is_some() { Status::STALE } else { Status::NOFILEHANDLE };
        self.current.as_ref().ok_or(missing)
    }

    /// Whether the current handle is that of named attributes, or of one.
    pub(super) fn is_at_attributes(&self) -> bool {
        matches!(self.current.as_deref(), Some(HandleTarget::Attributes(_) | HandleTarget::Attribute(_)))
    }

    pub(super) fn saved(&self) -> Result<&Arc<HandleTarget>, Status> {
        self.saved.as_ref().ok_or(Status::NOFILEHANDLE)
    }

    /// The current place with its attributes as of now: an operation before may have changed them.
    pub(super) fn refreshed(&mut self) -> Result<&Arc<HandleTarget>, Status> {
        if self.changed
            && let Some(fresh) = self.current()?.refreshed()?
        {
            self.current = Some(Arc::new(fresh));
        }
        self.current()
    }

    /// The volume of a place of this COMPOUND.
    pub(super) fn volume(&self) -> Option<&Arc<Volume>> {
        let places = [&self.current, &self.saved];
        places.into_iter().flatten().find_map(|place| match &**place {
            HandleTarget::File(target)
            | HandleTarget::Attributes(target)
            | HandleTarget::Attribute(target) => Some(&target.export.volume),
            HandleTarget::Pseudo(_) => None,
        })
    }
}
