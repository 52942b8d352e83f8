//! Which calls fail, stall or are slow, as a test has planned it.

use std::collections::{HashMap, HashSet};
use std::thread;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use crate::backend::Call;
use crate::{Error, FileId, Result};

/// Of so many calls one is slow ([`Plan::slow`]).
const SLOW_ONE_IN: u64 = 3;

/// The planned failures, and the calls that were made.
#[derive(Default)]
pub struct Plan {
    state: Mutex<PlanState>,
    released: Condvar,
}

#[derive(Default)]
struct PlanState {
    total: u64,
    calls: HashMap<Call, u64>,
    faults: Vec<Fault>,
    stalled: HashSet<FileId>,
    /// Only their data.
    stalled_data: HashSet<FileId>,
    waiting: usize,
    forgets_keys: bool,
    pause: Duration,
}

struct Fault {
    /// Only this method counts, if one is named.
    call: Option<Call>,
    /// The number of the call that fails.
    at: u64,
    /// All after it, too.
    on: bool,
    error: Error,
}

impl Plan {
    /// Makes the `nth` call from now (1 is the next) of any method, or of one, fail with `error`, undone.
    pub fn fail(&self, nth: u64, call: Option<Call>, error: Error) {
        self.add(nth, call, false, error);
    }

    /// Makes the `nth` call from now and all after it fail, until [`Plan::clear`].
    pub fn fail_from(&self, nth: u64, call: Option<Call>, error: Error) {
        self.add(nth, call, true, error);
    }

    fn add(&self, nth: u64, call: Option<Call>, on: bool, error: Error) {
        let mut state = self.state.lock();
        let at = state.count(call) + nth;
        state.faults.push(Fault { call, at, on, error });
    }

    /// Forgets all faults. Stalled files stay so.
    pub fn clear(&self) {
        self.state.lock().faults.clear();
    }

    /// How many calls there were, of all methods or of one.
    pub fn calls(&self, call: Option<Call>) -> u64 {
        self.state.lock().count(call)
    }

    /// Makes every call on this file wait until it is released, as on a disk that does not answer.
    pub fn stall(&self, id: FileId) {
        self.state.lock().stalled.insert(id);
    }

    /// The same for calls that need the file's data; its attributes are in memory.
    pub fn stall_data(&self, id: FileId) {
        self.state.lock().stalled_data.insert(id);
    }

    /// Lets the calls on this file go on.
    pub fn release(&self, id: FileId) {
        let mut state = self.state.lock();
        state.stalled.remove(&id);
        state.stalled_data.remove(&id);
        drop(state);
        self.released.notify_all();
    }

    /// Makes every third call take this much longer, so that calls of several threads come in many orders.
    pub fn slow(&self, pause: Duration) {
        self.state.lock().pause = pause;
    }

    /// Finds no file by its key, as a host that opens no handles for the server and has forgotten where it saw the files.
    pub fn forget_keys(&self, forgets: bool) {
        self.state.lock().forgets_keys = forgets;
    }

    /// Whether no file is found by its key.
    pub(super) fn forgets_keys(&self) -> bool {
        self.state.lock().forgets_keys
    }

    /// How many calls wait for a stalled file now.
    pub fn waiting(&self) -> usize {
        self.state.lock().waiting
    }

    /// Whether calls on this file wait now.
    pub(super) fn stalls(&self, id: FileId) -> bool {
        self.state.lock().stalls(Call::ReadAt, id)
    }

    /// Counts a call, and waits or fails as planned.
    pub(super) fn enter(&self, call: Call, on: Option<FileId>) -> Result<()> {
        let mut state = self.state.lock();
        state.total += 1;
        *state.calls.entry(call).or_default() += 1;
        let failed = state.fault(call);
        while on.is_some_and(|id| state.stalls(call, id)) {
            state.waiting += 1;
            self.released.wait(&mut state);
            state.waiting -= 1;
        }
        let pause = state.pause;
        let is_slow = !pause.is_zero() && state.total.is_multiple_of(SLOW_ONE_IN);
        drop(state);
        if is_slow {
            thread::sleep(pause);
        }
        failed.map_or(Ok(()), Err)
    }
}

impl PlanState {
    fn stalls(&self, call: Call, id: FileId) -> bool {
        let data = matches!(call, Call::ReadAt | Call::WriteAt | Call::Sync);
        self.stalled.contains(&id) || data && self.stalled_data.contains(&id)
    }

    fn count(&self, call: Option<Call>) -> u64 {
        call.map_or(self.total, |call| self.calls.get(&call).copied().unwrap_or(0))
    }

    fn fault(&self, call: Call) -> Option<Error> {
        let hit = self.faults.iter().find(|fault| {
            let now = self.count(fault.call);
            fault.call.is_none_or(|only| only == call) && (now == fault.at || fault.on && now > fault.at)
        });
        hit.map(|fault| fault.error)
    }
}
