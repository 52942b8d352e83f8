//! Unit attentions, SAM-5 5.14: each initiator gets each of them once, at its next command.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};

use lock::Mutex;

use super::{InitiatorPort, Nexus};
use crate::ranks;
use crate::wire::scsi::Asc;

/// The most unit attentions that wait for one initiator; beyond that, the oldest are dropped.
const MOST: usize = 16;

/// The pending unit attentions of one logical unit.
#[derive(Default)]
pub(crate) struct Attentions {
    waiting: Mutex<HashMap<InitiatorPort, VecDeque<Asc>>, ranks::UnitAttentions>,
    /// How many initiators have pending unit attentions. It is mostly 0.
    count: AtomicUsize,
}

impl Attentions {
    /// Adds a unit attention for this initiator, unless the same one is pending.
    pub(crate) fn raise(&self, to: &InitiatorPort, what: Asc) {
        let mut waiting = self.waiting.lock();
        let queue = waiting.entry(to.clone()).or_default();
        if !queue.contains(&what) {
            queue.push_back(what);
        }
        if queue.len() > MOST {
            queue.pop_front();
        }
        self.count.store(waiting.len(), Ordering::Release);
    }

    /// Takes the next pending unit attention of this initiator; it counts as reported.
    pub(crate) fn take(&self, nexus: &Nexus) -> Option<Asc> {
        if self.count.load(Ordering::Acquire) == 0 {
            return None;
        }
        let mut waiting = self.waiting.lock();
        let queue = waiting.get_mut(&nexus.initiator)?;
        let first = queue.pop_front();
        if queue.is_empty() {
            waiting.remove(&nexus.initiator);
        }
        self.count.store(waiting.len(), Ordering::Release);
        first
    }

    /// Removes a unit attention: this initiator already knows the fact.
    pub(crate) fn withdraw(&self, from: &InitiatorPort, what: Asc) {
        if self.count.load(Ordering::Acquire) == 0 {
            return;
        }
        let mut waiting = self.waiting.lock();
        let Some(queue) = waiting.get_mut(from) else { return };
        queue.retain(|other| *other != what);
        if queue.is_empty() {
            waiting.remove(from);
        }
        self.count.store(waiting.len(), Ordering::Release);
    }

    /// An initiator has gone: its pending unit attentions are dropped.
    pub(crate) fn forget(&self, initiator: &InitiatorPort) {
        let mut waiting = self.waiting.lock();
        waiting.remove(initiator);
        self.count.store(waiting.len(), Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_withdrawn_is_not_told() {
        let initiator = InitiatorPort { name: "iqn.2026-11.test:ada".into(), isid: [0x40, 0, 0, 0, 0, 1] };
        let (attentions, ada) =
            (Attentions::default(), Nexus { initiator, host: [127, 0, 0, 1].into(), port: 1 });
        attentions.raise(&ada.initiator, Asc::REPORTED_LUNS_CHANGED);
        attentions.raise(&ada.initiator, Asc::CAPACITY_CHANGED);
        attentions.withdraw(&ada.initiator, Asc::REPORTED_LUNS_CHANGED);
        assert_eq!(attentions.take(&ada), Some(Asc::CAPACITY_CHANGED));
        assert_eq!(attentions.take(&ada), None);
    }
}
