//! The memory that all connections together may make the server hold. When it is short, requests wait in order and
//! clients that do not receive are disconnected.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

use lock::Mutex;
use tokio::time::Instant;

use super::queue::MemoryQueue;
use super::{Allowance, BudgetCharge, Class, DEFAULT_BUDGET, LOOK_EVERY, SMALLEST_BUDGET, STALLED_AFTER};
use crate::ranks;

/// The memory that all clients together may make the server hold.
#[derive(Debug)]
pub struct Budget {
    pub(super) limit: usize,
    used: AtomicUsize,
    /// The part of `used` that is charged to clients which are not at work.
    unproven: AtomicUsize,
    pub(super) queue: Mutex<MemoryQueue, ranks::MemoryQueue>,
    /// How many requests wait, for the usual case of none.
    pub(super) waiting: AtomicUsize,
    pub(super) clients: Mutex<HashMap<u64, Weak<Allowance>>, ranks::MemoryClients>,
    next_id: AtomicU64,
    began: Instant,
    looked_ms: AtomicU64,
}

impl Default for Budget {
    fn default() -> Self {
        Self::of(DEFAULT_BUDGET)
    }
}

impl Budget {
    /// A budget of so many bytes.
    pub fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self::of(limit))
    }

    fn of(limit: usize) -> Self {
        Self {
            limit: limit.max(SMALLEST_BUDGET),
            used: AtomicUsize::new(0),
            unproven: AtomicUsize::new(0),
            queue: Mutex::default(),
            waiting: AtomicUsize::new(0),
            clients: Mutex::default(),
            next_id: AtomicU64::new(1),
            began: Instant::now(),
            looked_ms: AtomicU64::new(0),
        }
    }

    /// All bytes of the budget.
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// Bytes that are charged now.
    pub fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    /// The allowance of a connection that has just been accepted.
    pub fn admit(self: &Arc<Self>, address: SocketAddr) -> Arc<Allowance> {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let allowance = Arc::new(Allowance::new(self.clone(), id, Some(address)));
        self.clients.lock().insert(id, Arc::downgrade(&allowance));
        allowance
    }

    pub(super) fn now_ms(&self) -> u64 {
        self.began.elapsed().as_millis() as u64
    }

    /// The most bytes of one reservation. Only small budgets have replies that take more.
    pub(super) fn most(&self) -> usize {
        self.limit / 4
    }

    /// Charges so many bytes if the class has room for them.
    pub(super) fn try_charge(&self, class: Class, bytes: usize) -> bool {
        let has_room = match class {
            Class::AtWork => {
                let at_work = self.used().saturating_sub(self.unproven.load(Ordering::Relaxed));
                at_work + bytes <= self.limit - self.limit / 4
            }
            Class::Unproven => add_within(&self.unproven, bytes, self.limit / 2),
        };
        if !has_room {
            return false;
        }
        if add_within(&self.used, bytes, self.limit) {
            return true;
        }
        if class == Class::Unproven {
            self.unproven.fetch_sub(bytes, Ordering::AcqRel);
        }
        false
    }

    /// Charges memory that is allocated already, whether or not there is room.
    pub(super) fn charge(&self, charge: BudgetCharge) {
        self.used.fetch_add(charge.total(), Ordering::AcqRel);
        self.unproven.fetch_add(charge.unproven, Ordering::AcqRel);
    }

    pub(super) fn give_back(&self, charge: BudgetCharge) {
        if charge.total() == 0 {
            return;
        }
        self.unproven.fetch_sub(charge.unproven, Ordering::AcqRel);
        self.used.fetch_sub(charge.total(), Ordering::SeqCst);
        if self.waiting.load(Ordering::SeqCst) > 0 {
            self.grant();
        }
    }

    /// Whether the class has no room for another small reply.
    pub(super) fn is_short(&self, class: Class) -> bool {
        let used = self.used.load(Ordering::Relaxed);
        used > self.limit
            || class == Class::Unproven && self.unproven.load(Ordering::Relaxed) > self.limit / 2
    }

    /// Lets requests go on for which there is room now, the oldest first.
    pub(super) fn grant(&self) {
        loop {
            let Some(waiter) = self.queue.lock().next(|class, bytes| self.try_charge(class, bytes)) else {
                return;
            };
            // Without the lock: what is not wanted any more is given back at once.
            waiter.grant();
        }
    }

    /// Ends stalled clients until what they held is enough for the requests that wait.
    pub(super) fn end_stalled(&self) {
        let (now, looked) = (self.now_ms(), self.looked_ms.load(Ordering::Relaxed));
        let is_due = now >= looked + LOOK_EVERY.as_millis() as u64;
        let swap = |to| self.looked_ms.compare_exchange(looked, to, Ordering::AcqRel, Ordering::Relaxed);
        if !is_due || swap(now).is_err() {
            return; // another request looks
        }
        let wanted = self.queue.lock().bytes();
        let clients: Vec<_> = self.clients.lock().values().filter_map(Weak::upgrade).collect();
        let stalled = clients.into_iter().filter(|client| client.is_stalled(now, STALLED_AFTER));
        let mut stalled: Vec<_> = stalled.map(|client| (client.owed(), client)).collect();
        stalled.sort_by_key(|(owed, _)| std::cmp::Reverse(*owed));
        let (mut freed, mut ended) = (0, 0);
        for (owed, client) in &stalled {
            if freed >= wanted {
                break;
            }
            freed += owed;
            ended += 1;
            tracing::debug!(client = ?client.address, bytes = owed, "ended: it takes nothing while others wait for memory");
            client.end();
        }
        if let Some((owed, largest)) = stalled.first().filter(|_| ended > 0) {
            tracing::warn!(
                ended, bytes = freed, largest = ?largest.address, largest_bytes = owed,
                "connections ended whose clients have taken nothing for {} s while others wait for memory",
                STALLED_AFTER.as_secs()
            );
        }
    }
}

/// Adds unless that leads beyond the limit.
fn add_within(counter: &AtomicUsize, bytes: usize, limit: usize) -> bool {
    let add = |used: usize| used.checked_add(bytes).filter(|sum| *sum <= limit);
    counter.fetch_update(Ordering::AcqRel, Ordering::Relaxed, add).is_ok()
}
