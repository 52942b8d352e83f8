//! States of files that stay at this server while a change is made.
//!
//! What describes a file (metadata, named streams, the sidecar) is read, changed and written in several calls to the host.
//! On one server `changing/busy.rs` orders such changes. Of several servers, only the one that has the state of the file
//! makes them, and it keeps the state until the change is made:
//!
//! ```text
//! pin ─► is the state here? ─┬─ yes ─► change ─► unpin ─► wanted meanwhile? ─ yes ─► Coordinator::free ─► given up
//!                            └─ no ──► asked for: LeaseRecall ··· repeated
//! ```
//!
//! * No operation waits for a state while it has a pin. One that needs several states fails if one is not here, and is
//!   repeated when it is.
//! * Two servers that want each other's states would exchange them for ever. So states that are here stay somewhat longer while
//!   one is missing whose file has a higher number: of two servers, one gets all that it needs.
//! * A state that was wanted is not pinned again before it has left, so it leaves even if changes follow each other.
//! * A server that may not answer any more pins nothing. Pins end with their server, as everything does that is not in the state.

use super::State;
use super::removals::Remove;
use super::table::{Entry, Table};
use formats::{Error, FileId, Result};

/// A state cannot be given up yet: a change needs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PinConflict;

/// The pins of one state.
#[derive(Debug, Default)]
pub(super) struct Pinning {
    count: u32,
    /// Another server waits for the state.
    is_wanted: bool,
}

impl Pinning {
    /// Whether nothing keeps the state here, or waits for its return.
    pub(super) fn is_free(&self) -> bool {
        self.count == 0 && !self.is_wanted
    }

    /// Another server wants the state. False: it stays until its last pin ends, and gets no new one.
    pub(super) fn may_leave(&mut self) -> bool {
        self.is_wanted = self.count > 0;
        !self.is_wanted
    }
}

/// States that stay at this server until this is dropped. Nothing on a server that is alone.
#[derive(Default)]
#[must_use = "the states may leave when it is dropped"]
pub struct Pins {
    state: Option<State>,
    files: Vec<FileId>,
}

impl Drop for Pins {
    fn drop(&mut self) {
        if let Some(state) = &self.state {
            self.files.iter().for_each(|file| state.table.unpin(*file));
        }
    }
}

impl State {
    /// Keeps the states of these files here. All that are elsewhere are asked for at once, and this is `LeaseRecall`.
    ///
    /// # Errors
    /// `LeaseRecall` names one that is not here, or that leaves: it is repeated when that has come.
    pub fn pin(&self, files: &[FileId]) -> Result<Pins> {
        let Some(coordinator) = self.table.coordinator() else { return Ok(Pins::default()) };
        let mut files = files.to_vec();
        files.sort_unstable_by_key(|file| (file.inode, file.device));
        files.dedup();
        let mut pins = Pins { state: Some(self.clone()), files: Vec::with_capacity(files.len()) };
        let mut missing = None;
        for file in files {
            match self.table.pin(file) {
                Ok(()) => pins.files.push(file),
                Err(error) => {
                    let first = missing.is_none();
                    missing.get_or_insert(error);
                    // Those before the first one that is missing.
                    pins.files.iter().filter(|_| first).for_each(|file| coordinator.hold(*file));
                }
            }
        }
        missing.map_or(Ok(pins), Err)
    }

    /// Keeps the state of a file here if it is here. Else nothing, and it is not asked for.
    pub fn pin_if_here(&self, file: FileId) -> Pins {
        if !self.table.is_joined() || !self.table.try_pin(file).unwrap_or(false) {
            return Pins::default();
        }
        Pins { state: Some(self.clone()), files: vec![file] }
    }

    /// Waits for what a pin has failed for: the state has come, or another server has removed the file.
    pub async fn may_be_pinned(&self, file: FileId) {
        self.arrived(file).await;
        self.removed_elsewhere(file).await;
    }

    /// Another server does not want the state any more that was kept here by pins. Operations that wait for its return go on.
    pub fn stays(&self, file: FileId) {
        let Some(joined) = &self.table.joined else { return };
        let mut asked = joined.asked.lock();
        if !self.table.is_wanted_no_more(file) {
            return;
        }
        let then = asked.forget(file);
        drop(asked);
        let run = |entry: &mut Entry| then.into_iter().flat_map(|act| act(&self.table, entry)).collect();
        self.remove(self.table.with(file, run).unwrap_or_default());
    }
}

impl Table {
    fn pin(&self, file: FileId) -> Result<()> {
        if self.is_fenced() {
            return Err(Error::LeaseRecall(file));
        }
        match self.try_pin(file) {
            None => Err(self.ask(file)),
            Some(true) => Ok(()),
            Some(false) => Err(self.ask_for_its_return(file)),
        }
    }

    /// `None`: the state is elsewhere. False: it leaves, or another server removes the file.
    fn try_pin(&self, file: FileId) -> Option<bool> {
        self.with_present(file, |entry| {
            let is_free = !entry.pinning.is_wanted && !entry.is_removed_elsewhere();
            entry.pinning.count += u32::from(is_free);
            is_free
        })
    }

    fn unpin(&self, file: FileId) {
        let is_free = self.with_present(file, |entry| {
            entry.pinning.count = entry.pinning.count.saturating_sub(1);
            entry.pinning.is_wanted && entry.pinning.count == 0
        });
        if is_free == Some(true)
            && let Some(coordinator) = self.coordinator()
        {
            coordinator.free(file);
        }
    }

    /// A state that is about to leave is asked for when it has left ([`State::give_up`]).
    fn ask_for_its_return(&self, file: FileId) -> Error {
        if let Some(joined) = &self.joined {
            let mut asked = joined.asked.lock();
            match self.with_present(file, |entry| entry.pinning.is_wanted) {
                Some(true) => asked.expect(file),
                Some(false) => {}
                None => {
                    drop(asked);
                    return self.ask(file);
                }
            }
        }
        Error::LeaseRecall(file)
    }

    fn is_wanted_no_more(&self, file: FileId) -> bool {
        self.with_present(file, |entry| std::mem::take(&mut entry.pinning.is_wanted)).unwrap_or(false)
    }
}

impl Entry {
    /// Whether another server is removing the file, or a stream of it.
    fn is_removed_elsewhere(&self) -> bool {
        self.removals.iter().any(|going| matches!(going.last, Remove::There { told: true, .. }))
    }
}
