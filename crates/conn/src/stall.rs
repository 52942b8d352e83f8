//! Seeing that a thread is stuck in a system call, and going on without it.
//!
//! A thread that serves a connection hands the connection's reading side over before each message and takes it back
//! afterwards (one uncontended lock each). While it is stuck, the watchdog finds the reading side there, takes it, and
//! starts another task with it. The stuck thread, when it returns, finds it gone, sends its reply and stops.
//!
//! Threads are few, so what a thread is stuck with is remembered: messages about the same are answered a few at a time
//! on the blocking pool until it has returned.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::thread;
use std::time::{Duration, Instant};

use lock::{Condvar, Mutex};
use tokio::sync::Semaphore;

use crate::hang::{self, Activity};
use crate::in_flight::RequestSubject;
use crate::ranks;

/// How often the watchdog looks while connections are busy. A call that lasts two looks is stuck.
const LOOK_EVERY: Duration = Duration::from_millis(5);
/// Looks without anything to see, after which the watchdog sleeps until a connection wakes it.
const IDLE_LOOKS: u32 = 20;

/// Threads that messages about one subject may have at a time while it is stuck.
const TURNS: usize = 4;

/// What threads are stuck with.
#[derive(Default)]
pub(crate) struct StallTable {
    subjects: Mutex<HashMap<RequestSubject, Stall>, ranks::StuckSubjects>,
    /// How many subjects there are, for the usual case of none.
    count: AtomicUsize,
    /// Requests that ended while threads were stuck.
    ended: AtomicU64,
}

/// What is known of a subject that at least one thread is stuck with.
struct Stall {
    threads: usize,
    since: Instant,
    /// The permits of the messages that come after.
    turns: Arc<Semaphore>,
}

impl StallTable {
    /// Whether a thread is stuck with this subject.
    pub(crate) fn has(&self, subject: RequestSubject) -> bool {
        self.count.load(Ordering::Acquire) > 0 && self.subjects.lock().contains_key(&subject)
    }

    /// The permits of messages about this subject, if a thread is stuck with it.
    pub(crate) fn turns(&self, subject: RequestSubject) -> Option<Arc<Semaphore>> {
        if self.count.load(Ordering::Acquire) == 0 || subject == RequestSubject::NONE {
            return None;
        }
        self.subjects.lock().get(&subject).map(|stuck| stuck.turns.clone())
    }

    pub(crate) fn began(&self, subject: RequestSubject) {
        let mut subjects = self.subjects.lock();
        let new = || Stall { threads: 0, since: Instant::now(), turns: Arc::new(Semaphore::new(TURNS)) };
        subjects.entry(subject).or_insert_with(new).threads += 1;
        self.count.store(subjects.len(), Ordering::Release);
    }

    pub(crate) fn ended(&self, subject: RequestSubject) {
        let mut subjects = self.subjects.lock();
        if let Some(stuck) = subjects.get_mut(&subject) {
            stuck.threads -= 1;
            if stuck.threads == 0 {
                subjects.remove(&subject);
            }
        }
        self.count.store(subjects.len(), Ordering::Release);
        self.ended.fetch_add(1, Ordering::Relaxed);
    }

    /// A request has ended. Counted only while threads are stuck, so that requests share no counter otherwise.
    pub(crate) fn request_ended(&self) {
        if self.count.load(Ordering::Relaxed) > 0 || resources::disk_calls().waiting > 0 {
            self.ended.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Something that may be stuck.
pub(crate) trait Serving: Send + Sync {
    /// The number of the message that is being answered, or 0 for none. Messages close to each other have different numbers.
    fn current(&self) -> u32;
    /// Goes on elsewhere, if still at `message`.
    fn go_on_elsewhere(self: Arc<Self>, message: u32);
    /// It is watched no longer, and must ask again when it is next busy.
    fn unwatched(&self);
}

/// A busy connection, and the message that it was answering at the last look.
type BusyConnection = (Weak<dyn Serving>, u32);

/// Watches the busy connections of one protocol.
pub struct Watchdog {
    busy: Mutex<Vec<BusyConnection>, ranks::BusyConnections>,
    arrived: Mutex<Vec<Weak<dyn Serving>>, ranks::ArrivedConnections>,
    asleep: AtomicBool,
    wake: Condvar,
    stuck: StallTable,
    protocol: &'static str,
}

impl Watchdog {
    /// Starts its thread, which ends with the process.
    pub fn start(protocol: &'static str) -> Arc<Self> {
        let watchdog = Arc::new(Self {
            busy: Mutex::default(),
            arrived: Mutex::default(),
            asleep: AtomicBool::new(false),
            wake: Condvar::new(),
            stuck: StallTable::default(),
            protocol,
        });
        hang::register(&watchdog);
        let weak = Arc::downgrade(&watchdog);
        // Without it a stalled disk delays more than it must; nothing else is lost.
        let _ = thread::Builder::new().name("watchdog".into()).spawn(move || run(&weak));
        watchdog
    }

    pub(crate) fn stuck(&self) -> &StallTable {
        &self.stuck
    }

    /// The requests that threads are stuck with.
    pub(crate) fn activity(&self) -> Activity {
        let subjects = self.stuck.subjects.lock();
        Activity {
            protocol: self.protocol,
            stuck: subjects.values().map(|stuck| stuck.threads).sum(),
            oldest: subjects.values().map(|stuck| stuck.since).min(),
            ended: self.stuck.ended.load(Ordering::Relaxed),
        }
    }

    /// Watches a connection until it is idle at two looks in a row.
    pub(crate) fn watch(&self, serving: Weak<dyn Serving>) {
        self.arrived.lock().push(serving);
        if self.asleep.load(Ordering::Acquire) {
            self.wake.notify_one();
        }
    }

    /// One look: lets go of what is idle, and moves what is stuck. True when something is busy.
    fn look(&self) -> bool {
        let mut busy = self.busy.lock();
        busy.extend(self.arrived.lock().drain(..).map(|serving| (serving, 0)));
        busy.retain_mut(|(serving, seen)| {
            let Some(serving) = serving.upgrade() else { return false };
            let current = serving.current();
            if current != *seen {
                *seen = current;
                return true;
            }
            if current != 0 {
                serving.clone().go_on_elsewhere(current);
                return true;
            }
            serving.unwatched();
            serving.current() != 0 // it may have begun just now and seen itself watched
        });
        !busy.is_empty()
    }
}

fn run(watchdog: &Weak<Watchdog>) {
    let mut idle = 0;
    while let Some(watchdog) = watchdog.upgrade() {
        idle = if watchdog.look() { 0 } else { idle + 1 };
        if idle < IDLE_LOOKS {
            thread::sleep(LOOK_EVERY);
            continue;
        }
        let mut arrived = watchdog.arrived.lock();
        watchdog.asleep.store(true, Ordering::Release);
        if arrived.is_empty() {
            watchdog.wake.wait_for(&mut arrived, Duration::from_secs(1));
        }
        watchdog.asleep.store(false, Ordering::Release);
    }
}
