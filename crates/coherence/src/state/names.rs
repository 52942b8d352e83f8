//! Removals and moves that are being made. Meanwhile no client gets a delegation, which promises that names stay.
//!
//! ```text
//! remove, rename: count ─► recall what others hold ─► change the name ─► count no more
//! delegation:     open ─► is a name being changed? no ─► lease ─► is the file still at its name? yes ─► granted
//! ```
//!
//! One of the two always sees the other: a lease that comes first is recalled, and one that comes later is not granted. A
//! change that is over when the lease comes has taken the name away, and the look at the name shows that
//! (`vfs::Open::is_still_named`). The count is of all files: a change does not know yet which file it concerns, and a client
//! without a delegation only asks more often.

use std::sync::atomic::{Ordering, fence};

use super::State;
use super::table::Table;

/// A change of a name. It ends when this is dropped.
#[must_use = "the change ends when it is dropped"]
pub struct NameChange(State);

impl State {
    /// Begins a change of a name, before it is asked which leases stand against it.
    pub fn change_name(&self) -> NameChange {
        self.table.name_changes.fetch_add(1, Ordering::AcqRel);
        fence(Ordering::SeqCst); // before the look at opens and leases
        NameChange(self.clone())
    }
}

impl Drop for NameChange {
    fn drop(&mut self) {
        self.0.table.name_changes.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Table {
    /// Whether a name is being changed. The open for which it matters is registered already.
    pub(super) fn changes_names(&self) -> bool {
        fence(Ordering::SeqCst); // after the open
        self.name_changes.load(Ordering::Acquire) > 0
    }
}
