//! The limits on a connection's solicited data, and on parameters that are kept until they are
//! complete.

use std::collections::VecDeque;
use std::sync::Arc;

use lock::Mutex;

use super::limits::{MAX_GATHERED, MAX_SOLICITED};
use super::task::ScsiTask;
use crate::ranks;

/// The counts of one connection.
#[derive(Default)]
pub(super) struct SolicitedDataLimit(Mutex<SolicitedCounts, ranks::IscsiSolicited>);

#[derive(Default)]
struct SolicitedCounts {
    solicited: u64,
    gathered: usize,
    /// Commands that wait to solicit more data; and how much.
    waiting: VecDeque<(Arc<ScsiTask>, u64)>,
}

impl SolicitedCounts {
    /// Whether this much more may be solicited.
    fn fits(&self, length: u64) -> bool {
        self.solicited == 0 || self.solicited + length <= MAX_SOLICITED
    }
}

impl SolicitedDataLimit {
    /// Whether this much more may be solicited now; if not, the command waits.
    pub(super) fn ask(&self, task: &Arc<ScsiTask>, length: u64) -> bool {
        let mut counts = self.0.lock();
        if !counts.fits(length) {
            if !counts.waiting.iter().any(|(other, _)| Arc::ptr_eq(other, task)) {
                counts.waiting.push_back((task.clone(), length));
            }
            return false;
        }
        counts.solicited += length;
        true
    }

    /// Whether a command may have this many bytes of parameters.
    pub(super) fn gather(&self, length: usize) -> bool {
        let mut counts = self.0.lock();
        let fits = counts.gathered + length <= MAX_GATHERED;
        if fits {
            counts.gathered += length;
        }
        fits
    }

    /// Releases what has arrived or is not needed any more.
    pub(super) fn give_back(&self, solicited: u64, gathered: usize) {
        if solicited > 0 || gathered > 0 {
            let mut counts = self.0.lock();
            counts.solicited = counts.solicited.saturating_sub(solicited);
            counts.gathered = counts.gathered.saturating_sub(gathered);
        }
    }

    /// A waiting command that may solicit data now.
    pub(super) fn next(&self) -> Option<Arc<ScsiTask>> {
        let mut counts = self.0.lock();
        let fits = counts.waiting.front().is_some_and(|(_, length)| counts.fits(*length));
        if fits { counts.waiting.pop_front().map(|(task, _)| task) } else { None }
    }

    /// A command does not wait any more.
    pub(super) fn forget(&self, task: &ScsiTask) {
        self.0.lock().waiting.retain(|(other, _)| !std::ptr::eq(&raw const **other, task));
    }
}
