//! Copies of EXTENDED COPY: their progress, and the results that are kept for their initiators,
//! SPC-4 5.17.4.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, AtomicU64, Ordering};

use lock::Mutex;

use super::{CommandRefusal, InitiatorPort};
use crate::ranks;
use crate::wire::scsi::{Asc, CopyStatus, ListIdUsage, Progress, Sense, Status};

/// The most copies of one logical unit at a time.
pub(super) const CONCURRENT: u8 = 16;
/// The most finished copies whose results are kept; beyond that, the oldest are forgotten.
const KEPT: usize = 256;

/// The copies of the logical unit that received the commands.
#[derive(Default)]
pub(crate) struct Copies(Mutex<VecDeque<CopyEntry>, ranks::ExtendedCopies>);

struct CopyEntry {
    initiator: InitiatorPort,
    /// The initiator's identifier for it, if it has given one.
    identifier: Option<u8>,
    /// The result is kept after the end.
    hold: bool,
    counts: Arc<CopyProgress>,
    /// The result, after the end.
    done: Option<CopyOutcome>,
}

/// The result that is kept until the initiator asks for it.
struct CopyOutcome {
    status: Option<CopyStatus>,
    failure: Option<Sense>,
}

/// The progress of a copy.
#[derive(Default)]
pub(super) struct CopyProgress {
    pub(super) segments: AtomicU16,
    pub(super) bytes: AtomicU64,
}

/// A running copy. If it is dropped, no trace of it remains.
pub(super) struct RunningCopy<'a> {
    copies: &'a Copies,
    pub(super) counts: Arc<CopyProgress>,
}

impl Copies {
    /// Begins a copy.
    pub(super) fn begin(
        &self,
        initiator: &InitiatorPort,
        identifier: u8,
        usage: ListIdUsage,
    ) -> Result<RunningCopy<'_>, CommandRefusal> {
        let mut copies = self.0.lock();
        let identifier = (usage != ListIdUsage::NONE).then_some(identifier);
        let is_same = |entry: &CopyEntry| entry.identifier == identifier && entry.initiator == *initiator;
        if identifier.is_some() {
            if copies.iter().any(|entry| is_same(entry) && entry.done.is_none()) {
                return Err(Sense::illegal(Asc::OPERATION_IN_PROGRESS).into());
            }
            copies.retain(|entry| !is_same(entry));
        }
        if copies.iter().filter(|entry| entry.done.is_none()).count() >= usize::from(CONCURRENT) {
            return Err(CommandRefusal::Status(Status::BUSY));
        }
        let counts = Arc::new(CopyProgress::default());
        copies.push_back(CopyEntry {
            initiator: initiator.clone(),
            identifier,
            hold: usage == ListIdUsage::HOLD,
            counts: counts.clone(),
            done: None,
        });
        Ok(RunningCopy { copies: self, counts })
    }

    /// The progress of a copy. The result of a finished one is reported once.
    pub(super) fn progress(&self, initiator: &InitiatorPort, identifier: u8) -> Option<Progress> {
        let mut copies = self.0.lock();
        let entry = find(&mut copies, initiator, identifier)?;
        let status = match &mut entry.done {
            None => CopyStatus::IN_PROGRESS,
            Some(done) => done.status.take()?,
        };
        let (segments, bytes) =
            (entry.counts.segments.load(Ordering::Relaxed), entry.counts.bytes.load(Ordering::Relaxed));
        forget_told(&mut copies);
        Some(Progress { status, segments, bytes })
    }

    /// Why a finished copy failed; reported once. `None`: there is no such copy.
    pub(super) fn failure(&self, initiator: &InitiatorPort, identifier: u8) -> Option<Option<Sense>> {
        let mut copies = self.0.lock();
        let failure = find(&mut copies, initiator, identifier)?.done.as_mut()?.failure.take();
        forget_told(&mut copies);
        Some(failure)
    }

    /// The session of this initiator port is over: the results for it are dropped.
    pub(crate) fn nexus_lost(&self, initiator: &InitiatorPort) {
        self.0.lock().retain(|entry| entry.done.is_none() || entry.initiator != *initiator);
    }

    /// The unit was reset: all results are dropped.
    pub(crate) fn reset(&self) {
        self.0.lock().retain(|entry| entry.done.is_none());
    }
}

impl RunningCopy<'_> {
    /// The copy has ended.
    pub(super) fn end(self, failure: Option<Sense>) {
        let mut copies = self.copies.0.lock();
        let status =
            if failure.is_some() { CopyStatus::COMPLETED_WITH_ERRORS } else { CopyStatus::COMPLETED };
        let mine = copies.iter_mut().find(|entry| Arc::ptr_eq(&entry.counts, &self.counts) && entry.hold);
        if let Some(entry) = mine {
            entry.done = Some(CopyOutcome { status: Some(status), failure });
        }
        let over = copies.iter().filter(|entry| entry.done.is_some()).count();
        if over > KEPT
            && let Some(oldest) = copies.iter().position(|entry| entry.done.is_some())
        {
            copies.remove(oldest);
        }
    }
}

impl Drop for RunningCopy<'_> {
    fn drop(&mut self) {
        let mut copies = self.copies.0.lock();
        copies.retain(|entry| entry.done.is_some() || !Arc::ptr_eq(&entry.counts, &self.counts));
    }
}

fn find<'a>(
    copies: &'a mut VecDeque<CopyEntry>,
    initiator: &InitiatorPort,
    identifier: u8,
) -> Option<&'a mut CopyEntry> {
    copies.iter_mut().find(|entry| entry.identifier == Some(identifier) && entry.initiator == *initiator)
}

/// Forgets finished copies whose result was reported. A successful copy is completely reported by
/// its status.
fn forget_told(copies: &mut VecDeque<CopyEntry>) {
    let is_told = |done: &CopyOutcome| done.status.is_none() && done.failure.is_none();
    copies.retain(|entry| !entry.done.as_ref().is_some_and(is_told));
}
