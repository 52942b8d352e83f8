//! Copies that EXTENDED COPY has begun: how far they are, and what is kept of them for their initiators, SPC-4 5.17.4.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, AtomicU64, Ordering};

use lock::{Mutex, rank};

use super::{InitiatorPort, Refusal};
use crate::wire::scsi::{Asc, CopyStatus, ListIdUsage, Progress, Sense, Status};

/// Most copies of one logical unit at a time.
pub(super) const CONCURRENT: u8 = 16;
/// Most copies that are over and of which something is kept; of more, the oldest are forgotten.
const KEPT: usize = 256;

/// Those of one logical unit, which was asked to copy.
#[derive(Default)]
pub(crate) struct Copies(Mutex<VecDeque<Entry>, rank::ExtendedCopies>);

struct Entry {
    initiator: InitiatorPort,
    /// The initiator's number for it, if it has given one.
    identifier: Option<u8>,
    /// Something is to be kept when it is over.
    hold: bool,
    counts: Arc<Counts>,
    /// It is over.
    done: Option<Done>,
}

/// What is kept, until it is asked for.
struct Done {
    status: Option<CopyStatus>,
    failure: Option<Sense>,
}

/// How far a copy is.
#[derive(Default)]
pub(super) struct Counts {
    pub(super) segments: AtomicU16,
    pub(super) bytes: AtomicU64,
}

/// A copy that is being made. When it is dropped it is as if there had been none.
pub(super) struct Copying<'a> {
    copies: &'a Copies,
    pub(super) counts: Arc<Counts>,
}

impl Copies {
    /// A copy begins.
    pub(super) fn begin(
        &self,
        initiator: &InitiatorPort,
        identifier: u8,
        usage: ListIdUsage,
    ) -> Result<Copying<'_>, Refusal> {
        let mut copies = self.0.lock();
        let identifier = (usage != ListIdUsage::NONE).then_some(identifier);
        let is_same = |entry: &Entry| entry.identifier == identifier && entry.initiator == *initiator;
        if identifier.is_some() {
            if copies.iter().any(|entry| is_same(entry) && entry.done.is_none()) {
                return Err(Sense::illegal(Asc::OPERATION_IN_PROGRESS).into());
            }
            copies.retain(|entry| !is_same(entry));
        }
        if copies.iter().filter(|entry| entry.done.is_none()).count() >= usize::from(CONCURRENT) {
            return Err(Refusal::Status(Status::BUSY));
        }
        let counts = Arc::new(Counts::default());
        copies.push_back(Entry {
            initiator: initiator.clone(),
            identifier,
            hold: usage == ListIdUsage::HOLD,
            counts: counts.clone(),
            done: None,
        });
        Ok(Copying { copies: self, counts })
    }

    /// How far a copy is. When it is over, that is told once.
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

    /// Why a copy failed that is over, which is told once. `None`: there is no such copy.
    pub(super) fn failure(&self, initiator: &InitiatorPort, identifier: u8) -> Option<Option<Sense>> {
        let mut copies = self.0.lock();
        let failure = find(&mut copies, initiator, identifier)?.done.as_mut()?.failure.take();
        forget_told(&mut copies);
        Some(failure)
    }

    /// The session of this initiator port is over, and what was kept for it goes.
    pub(crate) fn nexus_lost(&self, initiator: &InitiatorPort) {
        self.0.lock().retain(|entry| entry.done.is_none() || entry.initiator != *initiator);
    }

    /// The unit was reset, and all that was kept goes.
    pub(crate) fn reset(&self) {
        self.0.lock().retain(|entry| entry.done.is_none());
    }
}

impl Copying<'_> {
    /// The copy is over.
    pub(super) fn end(self, failure: Option<Sense>) {
        let mut copies = self.copies.0.lock();
        let status =
            if failure.is_some() { CopyStatus::COMPLETED_WITH_ERRORS } else { CopyStatus::COMPLETED };
        let mine = copies.iter_mut().find(|entry| Arc::ptr_eq(&entry.counts, &self.counts) && entry.hold);
        if let Some(entry) = mine {
            entry.done = Some(Done { status: Some(status), failure });
        }
        let over = copies.iter().filter(|entry| entry.done.is_some()).count();
        if over > KEPT
            && let Some(oldest) = copies.iter().position(|entry| entry.done.is_some())
        {
            copies.remove(oldest);
        }
    }
}

impl Drop for Copying<'_> {
    fn drop(&mut self) {
        let mut copies = self.copies.0.lock();
        copies.retain(|entry| entry.done.is_some() || !Arc::ptr_eq(&entry.counts, &self.counts));
    }
}

fn find<'a>(
    copies: &'a mut VecDeque<Entry>,
    initiator: &InitiatorPort,
    identifier: u8,
) -> Option<&'a mut Entry> {
    copies.iter_mut().find(|entry| entry.identifier == Some(identifier) && entry.initiator == *initiator)
}

/// What has been told of a copy that is over need not be kept. That it did not fail is known once its status is told.
fn forget_told(copies: &mut VecDeque<Entry>) {
    let is_told = |done: &Done| done.status.is_none() && done.failure.is_none();
    copies.retain(|entry| !entry.done.as_ref().is_some_and(is_told));
}
