//! Requests that wait for memory, in the order of their arrival.

use std::collections::VecDeque;
use std::sync::{Arc, Weak};

use tokio::sync::oneshot;

use super::{Allowance, BudgetCharge, Class, Reservation};

/// The requests of both classes.
#[derive(Debug, Default)]
pub(super) struct MemoryQueue {
    at_work: VecDeque<WaitingRequest>,
    unproven: VecDeque<WaitingRequest>,
    next: u64,
}

impl MemoryQueue {
    pub(super) fn push(&mut self, mut waiter: WaitingRequest) {
        self.next += 1;
        waiter.number = self.next;
        self.of(waiter.class).push_back(waiter);
    }

    fn of(&mut self, class: Class) -> &mut VecDeque<WaitingRequest> {
        match class {
            Class::AtWork => &mut self.at_work,
            Class::Unproven => &mut self.unproven,
        }
    }

    /// Whether requests of this class wait.
    pub(super) fn has(&mut self, class: Class) -> bool {
        self.forget_gone(class);
        !self.of(class).is_empty()
    }

    /// Bytes that are waited for.
    pub(super) fn bytes(&self) -> usize {
        self.at_work.iter().chain(&self.unproven).filter(|waiter| waiter.is_wanted()).map(|w| w.bytes).sum()
    }

    /// Takes the oldest request for which `charge` finds room. One that finds none holds up the others of its class only.
    pub(super) fn next(&mut self, charge: impl Fn(Class, usize) -> bool) -> Option<WaitingRequest> {
        self.forget_gone(Class::AtWork);
        self.forget_gone(Class::Unproven);
        let first =
            |queue: &VecDeque<WaitingRequest>| queue.front().map(|waiter| (waiter.number, waiter.class));
        let mut classes: Vec<_> =
            [first(&self.at_work), first(&self.unproven)].into_iter().flatten().collect();
        classes.sort_by_key(|(number, _)| *number);
        for (_, class) in classes {
            let queue = self.of(class);
            if queue.front().is_some_and(|waiter| charge(class, waiter.bytes)) {
                return queue.pop_front();
            }
        }
        None
    }

    fn forget_gone(&mut self, class: Class) {
        let queue = self.of(class);
        while queue.front().is_some_and(|waiter| !waiter.is_wanted()) {
            queue.pop_front();
        }
    }
}

/// A request that waits.
#[derive(Debug)]
pub(super) struct WaitingRequest {
    number: u64,
    class: Class,
    bytes: usize,
    of: Weak<Allowance>,
    granted: oneshot::Sender<Reservation>,
}

impl WaitingRequest {
    pub(super) fn new(
        of: &Arc<Allowance>,
        class: Class,
        bytes: usize,
    ) -> (Self, oneshot::Receiver<Reservation>) {
        let (granted, receiver) = oneshot::channel();
        (Self { number: 0, class, bytes, of: Arc::downgrade(of), granted }, receiver)
    }

    /// Whether the request still waits, and its connection lives.
    fn is_wanted(&self) -> bool {
        !self.granted.is_closed() && self.of.upgrade().is_some_and(|of| !of.is_over())
    }

    /// Hands over what has been charged for it.
    pub(super) fn grant(self) {
        let Some(of) = self.of.upgrade() else { return };
        of.hold(self.bytes);
        let reservation = of.reservation(BudgetCharge::of(self.class, self.bytes));
        drop(self.granted.send(reservation)); // comes back, and gives back, when it is not wanted any more
    }
}
