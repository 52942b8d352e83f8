//! The own node number on a port of LocalTalk. "Inside AppleTalk" chapter 1, "Dynamic node ID assignment".

use std::time::{Duration, Instant};

use crate::candidates::AddressCandidates;
use crate::wire::llap::{LlapFrame, LlapKind};

/// A server asks more thoroughly than a user's machine, chapter 1, "Dynamic node ID assignment".
const ENQUIRY_INTERVAL: Duration = Duration::from_millis(250);
const ENQUIRIES: u8 = 8;
/// How long to wait if every number is taken.
const RETRY: Duration = Duration::from_secs(30);

/// The own number.
///
/// ```text
///                8 enquiries, each 250 ms, no acknowledgement
///   Enquiring ────────────────────────────────────────────────► Owned: acknowledges enquiries for it
///    ▲   │ an acknowledgement, or any frame from that number: the next candidate
///    ├───┘
///    │   │ no candidate is left
///    │   ▼
///    └─ Exhausted (30 s, then all again)
/// ```
#[derive(Debug)]
enum Ownership {
    Enquiring { node: u8, sent: u8, next: Instant },
    Exhausted { until: Instant },
    Owned(u8),
}

/// What happened to the own number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NodeChange {
    /// It is ours now.
    Acquired(u8),
    /// All are taken; the port tries again later.
    Exhausted,
    /// Another node uses ours, too.
    Contested(u8),
}

/// Acquires a node number, and defends it.
#[derive(Debug)]
pub struct NodeAcquisition {
    ownership: Ownership,
    candidates: AddressCandidates,
    all_candidates: AddressCandidates,
}

impl NodeAcquisition {
    /// Begins at the next [`Self::tick`].
    #[must_use]
    pub fn new(candidates: AddressCandidates, now: Instant) -> Self {
        let ownership = Ownership::Exhausted { until: now };
        Self { ownership, candidates: candidates.clone(), all_candidates: candidates }
    }

    /// Gives up the own number and tries these, from the next [`Self::tick`] on.
    pub fn acquire(&mut self, candidates: AddressCandidates, now: Instant) {
        *self = Self::new(candidates, now);
    }

    /// The own number, if it has been acquired.
    #[must_use]
    pub fn node(&self) -> Option<u8> {
        match self.ownership {
            Ownership::Owned(node) => Some(node),
            Ownership::Enquiring { .. } | Ownership::Exhausted { .. } => None,
        }
    }

    /// A frame arrived, which another node sent.
    pub fn receive(
        &mut self,
        frame: &LlapFrame<'_>,
        now: Instant,
        frames: &mut Vec<Vec<u8>>,
    ) -> Option<NodeChange> {
        match self.ownership {
            // An enquiry of another node has the number as its source, too: both give way, and try different ones.
            Ownership::Enquiring { node, .. } if frame.source == node => {
                self.enquire_next(now, frames);
                None
            }
            Ownership::Owned(node) if frame.kind == LlapKind::ENQUIRY => {
                if frame.destination == node {
                    frames.push(control(node, LlapKind::ACKNOWLEDGE));
                }
                None
            }
            Ownership::Owned(node) if frame.source == node => Some(NodeChange::Contested(node)),
            Ownership::Owned(_) | Ownership::Enquiring { .. } | Ownership::Exhausted { .. } => None,
        }
    }

    /// Does what is due.
    pub fn tick(&mut self, now: Instant, frames: &mut Vec<Vec<u8>>) -> Option<NodeChange> {
        match self.ownership {
            Ownership::Enquiring { node, sent, next } if next <= now => {
                if sent >= ENQUIRIES {
                    self.ownership = Ownership::Owned(node);
                    return Some(NodeChange::Acquired(node));
                }
                self.ownership = Ownership::Enquiring { node, sent: sent + 1, next: now + ENQUIRY_INTERVAL };
                frames.push(control(node, LlapKind::ENQUIRY));
                None
            }
            Ownership::Exhausted { until } if until <= now => {
                self.enquire_next(now, frames);
                matches!(self.ownership, Ownership::Exhausted { .. }).then_some(NodeChange::Exhausted)
            }
            Ownership::Enquiring { .. } | Ownership::Exhausted { .. } | Ownership::Owned(_) => None,
        }
    }

    fn enquire_next(&mut self, now: Instant, frames: &mut Vec<Vec<u8>>) {
        match self.candidates.next() {
            Some(candidate) => {
                let node = candidate.node;
                self.ownership = Ownership::Enquiring { node, sent: 1, next: now + ENQUIRY_INTERVAL };
                frames.push(control(node, LlapKind::ENQUIRY));
            }
            None => {
                self.candidates = self.all_candidates.clone();
                self.ownership = Ownership::Exhausted { until: now + RETRY };
            }
        }
    }

    /// When [`Self::tick`] has something to do.
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        match self.ownership {
            Ownership::Enquiring { next, .. } => Some(next),
            Ownership::Exhausted { until } => Some(until),
            Ownership::Owned(_) => None,
        }
    }
}

/// Enquiry and acknowledgement have the number as destination and as source, figure 1-1.
fn control(node: u8, kind: LlapKind) -> Vec<u8> {
    LlapFrame { destination: node, source: node, kind, data: &[] }.encode()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::address::Address;
    use crate::candidates::RandomNumbers;

    fn acquisition(now: Instant) -> NodeAcquisition {
        let hint = Some(Address::new(0, 200));
        NodeAcquisition::new(AddressCandidates::local(hint, &mut RandomNumbers::new(1)), now)
    }

    /// Lets time pass until nothing is due, at most a minute. The frames, and the last change.
    fn run(node: &mut NodeAcquisition, now: &mut Instant) -> (Vec<Vec<u8>>, Option<NodeChange>) {
        let (mut frames, mut change) = (Vec::new(), None);
        while let Some(deadline) = node.deadline() {
            *now = deadline;
            change = node.tick(*now, &mut frames).or(change);
        }
        (frames, change)
    }

    #[test]
    fn a_number_is_ours_after_eight_unanswered_enquiries() {
        let mut now = Instant::now();
        let begin = now;
        let mut node = acquisition(now);
        let (frames, change) = run(&mut node, &mut now);
        assert_eq!(frames, vec![vec![200, 200, 0x81]; 8]);
        assert_eq!((change, node.node()), (Some(NodeChange::Acquired(200)), Some(200)));
        assert_eq!(now - begin, Duration::from_secs(2));
    }

    #[test]
    fn an_acknowledged_number_is_left_to_its_owner() {
        let mut now = Instant::now();
        let mut node = acquisition(now);
        let mut frames = Vec::new();
        node.tick(now, &mut frames);
        let acknowledge = LlapFrame { destination: 200, source: 200, kind: LlapKind::ACKNOWLEDGE, data: &[] };
        assert_eq!(node.receive(&acknowledge, now, &mut frames), None);
        assert_ne!(frames[1][0], 200, "the next candidate is asked for at once");
        run(&mut node, &mut now);
        assert!(node.node().is_some_and(|owned| owned != 200));
    }

    #[test]
    fn an_owned_number_is_defended() {
        let mut now = Instant::now();
        let mut node = acquisition(now);
        run(&mut node, &mut now);
        let mut frames = Vec::new();
        let enquiry = |of| LlapFrame { destination: of, source: of, kind: LlapKind::ENQUIRY, data: &[] };
        node.receive(&enquiry(201), now, &mut frames);
        assert!(frames.is_empty());
        node.receive(&enquiry(200), now, &mut frames);
        assert_eq!(frames, [[200, 200, 0x82]]);
        let stray =
            LlapFrame { destination: 5, source: 200, kind: LlapKind::DDP_SHORT, data: &[0, 5, 1, 1, 1] };
        assert_eq!(node.receive(&stray, now, &mut frames), Some(NodeChange::Contested(200)));
    }

    #[test]
    fn if_all_numbers_are_taken_it_waits_and_tries_again() {
        let mut now = Instant::now();
        let mut node = acquisition(now);
        let mut frames = Vec::new();
        assert_eq!(node.tick(now, &mut frames), None);
        for _ in 0..128 {
            let [taken, ..] = frames.last().unwrap()[..] else { panic!("a control frame") };
            let answer =
                LlapFrame { destination: taken, source: taken, kind: LlapKind::ACKNOWLEDGE, data: &[] };
            node.receive(&answer, now, &mut frames);
        }
        assert_eq!((node.node(), node.deadline()), (None, Some(now + RETRY)));
        run(&mut node, &mut now);
        assert!(node.node().is_some());
    }
}
