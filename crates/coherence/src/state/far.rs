//! The ways to the clients of other servers: what stands in an entry for a channel of theirs.

use std::sync::Arc;

use super::WaitId;
use super::carried::{Back, home};
use super::joined::Coordinator;
use super::table::Table;
use formats::FileId;

/// Something at another server that waits for one word from the server that has the state. Dropping
/// it is that word, too, unless the state leaves with it.
pub(super) struct Far {
    to: Option<Arc<dyn Coordinator>>,
    file: FileId,
    /// What is said when it is dropped.
    dropped: Back,
}

impl Far {
    fn number(&self) -> u64 {
        match &self.dropped {
            Back::Cancelled(WaitId(number)) | Back::Answered(number) => *number,
            Back::Granted(_) | Back::Notice(..) | Back::Remove(_) => 0,
        }
    }

    /// The server that it is at.
    pub(super) fn home(&self) -> u16 {
        home(self.number())
    }

    /// Says this instead.
    pub(super) fn say(mut self, back: Back) {
        if let Some(to) = self.to.take() {
            to.back(self.home(), self.file, back);
        }
    }

    /// It leaves with the state: nothing is said. Returns its number.
    pub(super) fn leave(&mut self) -> u64 {
        self.to = None;
        self.number()
    }

    /// The same for one that is not kept.
    pub(super) fn leave_number(mut self) -> u64 {
        self.leave()
    }
}

impl Drop for Far {
    fn drop(&mut self) {
        if let Some(to) = self.to.take() {
            to.back(self.home(), self.file, self.dropped.clone());
        }
    }
}

impl Table {
    /// A way to the server that this number is from. `None` in a server that is alone.
    pub(super) fn far(&self, file: FileId, dropped: Back) -> Option<Far> {
        Some(Far { to: Some(self.coordinator()?.clone()), file, dropped })
    }
}
