//! One event loop: an epoll, a queue of tasks, and the thread that drives both. If a system call blocks that
//! thread, another one takes the loop over.

use std::cell::Cell;
use std::collections::HashMap;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::thread;
use std::time::Instant;

use lock::Mutex;
use resources::reserved::ReservedStreams;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::event::{EventfdFlags, eventfd};

use super::idlers::Idlers;
use super::polling::Polling;
use super::queue::Queue;
use super::slice;
use super::socket::Socket;
use super::task::Task;
use super::wait::EventWait;
use crate::ranks;
use crate::stall::{Serving, Watchdog};
use crate::threads::is_running;

/// Events taken from the kernel at once.
const EVENTS: usize = 256;
/// The event of the alarm. Sockets have other numbers.
const ALARM: u64 = 0;
/// A loop that never waits counts its time in every so many rounds.
const COUNT_EVERY: u32 = 16;
/// Looks of the watchdog for which a thread may compute, or wait for a processor, before another one drives its loop.
const COMPUTES: u32 = 10;
/// Threads of one loop that system calls may block at a time.
const MOST_THREADS: usize = 128;

thread_local! {
    /// The number of the loop that this thread drives, plus 1.
    static DRIVES: Cell<usize> = const { Cell::new(0) };
}

/// The number of the loop that this thread drives, plus 1; 0 for other threads.
pub(crate) fn driven_here() -> usize {
    DRIVES.get()
}

/// What a loop is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LoopKind {
    /// All connections.
    General,
    /// Connections that move short messages while others stream.
    Short,
}

/// An event loop. The thread that drives it runs its tasks, then waits for events.
pub(super) struct Loop {
    number: usize,
    kind: LoopKind,
    epoll: OwnedFd,
    /// Ends the wait for events.
    alarm: OwnedFd,
    /// The thread that drives it waits for events, or is about to.
    is_asleep: AtomicBool,
    wait: EventWait,
    queue: Mutex<Queue<Arc<Task>>, ranks::LoopQueue>,
    sockets: Mutex<HashMap<u64, Weak<Socket>>, ranks::LoopSockets>,
    /// Those that go on when the loop has nothing else to do.
    idlers: Idlers,
    connections: AtomicUsize,
    /// The number of the poll that the driving thread is in, or 0. The thread that changes it back to 0 drives the loop
    /// from then on: the one that polls, or one that the watchdog has started.
    polling: AtomicU32,
    polls: AtomicU32,
    /// The thread that drives it.
    thread: AtomicU32,
    /// How often the watchdog has found that thread running, in one poll.
    delayed: Mutex<(u32, u32), ranks::LoopDelay>,
    threads: AtomicUsize,
    watched: AtomicBool,
    /// Time with something to do, for the balancer.
    busy_ns: AtomicU64,
    is_over: AtomicBool,
    /// The streams that go before all others.
    reserved: OnceLock<Arc<ReservedStreams>>,
    runtime: tokio::runtime::Handle,
    watchdog: Arc<Watchdog>,
    me: Weak<Self>,
}

impl Loop {
    pub(super) fn new(
        number: usize,
        kind: LoopKind,
        watchdog: Arc<Watchdog>,
        polling: Polling,
    ) -> io::Result<Arc<Self>> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        let alarm = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        // Edges only: its counter is never read.
        epoll::add(&epoll, &alarm, EventData::new_u64(ALARM), EventFlags::IN | EventFlags::ET)?;
        Ok(Arc::new_cyclic(|me| Self {
            number,
            kind,
            epoll,
            alarm,
            is_asleep: AtomicBool::new(false),
            wait: EventWait::new(polling),
            queue: Mutex::default(),
            sockets: Mutex::default(),
            idlers: Idlers::default(),
            connections: AtomicUsize::new(0),
            polling: AtomicU32::new(0),
            polls: AtomicU32::new(0),
            thread: AtomicU32::new(0),
            delayed: Mutex::default(),
            threads: AtomicUsize::new(0),
            watched: AtomicBool::new(false),
            busy_ns: AtomicU64::new(0),
            is_over: AtomicBool::new(false),
            reserved: OnceLock::new(),
            runtime: tokio::runtime::Handle::current(),
            watchdog,
            me: me.clone(),
        }))
    }

    /// Starts a thread that drives it.
    pub(super) fn start(&self) -> io::Result<()> {
        let Some(me) = self.me.upgrade() else { return Ok(()) };
        self.threads.fetch_add(1, Ordering::Relaxed);
        let thread = thread::Builder::new().name(format!("loop-{}", self.number));
        let started = thread.spawn(move || {
            me.drive();
            me.threads.fetch_sub(1, Ordering::Relaxed);
        });
        started.map(drop).inspect_err(|_| {
            self.threads.fetch_sub(1, Ordering::Relaxed);
        })
    }

    pub(super) fn stop(&self) {
        self.is_over.store(true, Ordering::Release);
        self.ring();
    }

    pub(super) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Acquire)
    }

    /// How many connections are on it.
    pub(super) fn connections(&self) -> usize {
        self.connections.load(Ordering::Relaxed)
    }

    /// How long it had something to do since the last call, in nanoseconds.
    pub(super) fn take_busy(&self) -> u64 {
        self.busy_ns.swap(0, Ordering::Relaxed)
    }

    /// Connections that read these streams go before all others.
    pub(super) fn keep_streams(&self, streams: &Arc<ReservedStreams>) {
        let _ = self.reserved.set(streams.clone()); // said once
    }

    /// The streams that are reserved, if there are some.
    pub(super) fn reserved(&self) -> Option<&Arc<ReservedStreams>> {
        self.reserved.get().filter(|streams| streams.is_on())
    }

    /// How it waits for events.
    pub(super) fn event_wait(&self) -> &EventWait {
        &self.wait
    }

    /// The sockets that are on it.
    pub(super) fn sockets(&self) -> Vec<Arc<Socket>> {
        self.sockets.lock().values().filter_map(Weak::upgrade).collect()
    }

    pub(super) fn add(&self, socket: &Arc<Socket>) -> io::Result<()> {
        self.sockets.lock().insert(socket.id(), Arc::downgrade(socket));
        self.connections.fetch_add(1, Ordering::Relaxed);
        let interest = EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET;
        Ok(epoll::add(&self.epoll, socket.stream(), EventData::new_u64(socket.id()), interest)?)
    }

    pub(super) fn remove(&self, id: u64, socket: BorrowedFd<'_>) {
        if self.sockets.lock().remove(&id).is_some() {
            self.connections.fetch_sub(1, Ordering::Relaxed);
            let _ = epoll::delete(&self.epoll, socket); // it closes soon anyway
        }
    }

    /// Tells a socket when there is nothing else to do.
    pub(super) fn await_idle(&self, socket: &Arc<Socket>) {
        self.idlers.add(socket);
    }

    /// Runs a task soon.
    pub(super) fn push(&self, task: Arc<Task>) {
        let class = task.class();
        self.queue.lock().push(task, class);
        if self.is_asleep.load(Ordering::SeqCst) && self.is_asleep.swap(false, Ordering::SeqCst) {
            self.ring();
        }
    }

    /// Whether tasks wait to run.
    pub(super) fn has_queued(&self) -> bool {
        !self.queue.lock().is_empty()
    }

    fn ring(&self) {
        let _ = rustix::io::write(&self.alarm, &1_u64.to_ne_bytes()); // full: it has been rung
    }

    /// Whether the thread that is in this poll is delayed by no system call: it computes, or other programs have the
    /// processors. A further thread would only make that worse, so it comes later.
    fn only_computes(&self, poll: u32) -> bool {
        let mut delayed = self.delayed.lock();
        let looks = if delayed.0 == poll { delayed.1 + 1 } else { 1 };
        *delayed = (poll, looks);
        looks <= COMPUTES && is_running(self.thread.load(Ordering::Acquire))
    }

    /// Runs tasks and waits for events until the loop ends, or another thread drives it.
    fn drive(&self) {
        let _entered = self.runtime.enter();
        DRIVES.set(self.number + 1);
        if self.kind == LoopKind::Short {
            slice::shorten();
        }
        let thread = rustix::thread::gettid().as_raw_nonzero().get().cast_unsigned();
        self.thread.store(thread, Ordering::Release);
        let (mut events, mut arrived) = (Vec::with_capacity(EVENTS), Vec::new());
        let mut times = LoopTimes::begin();
        while !self.is_over() {
            if !self.run_queued() {
                return;
            }
            self.wait(&mut events, &mut times);
            self.dispatch(&mut events, &mut arrived);
        }
    }

    /// Runs a round of the queue. False when another thread drives the loop.
    fn run_queued(&self) -> bool {
        let mut round = self.queue.lock().round();
        loop {
            let Some(task) = self.queue.lock().next(&mut round, Instant::now) else { return true };
            let poll = self.polls.fetch_add(1, Ordering::Relaxed).wrapping_add(1).max(1);
            self.polling.store(poll, Ordering::Release);
            if !self.watched.load(Ordering::Relaxed) && !self.watched.swap(true, Ordering::AcqRel) {
                self.watchdog.watch(self.me.clone());
            }
            task.run();
            if self.polling.compare_exchange(poll, 0, Ordering::AcqRel, Ordering::Acquire).is_err() {
                return false;
            }
        }
    }

    /// Waits for events, unless tasks are in the queue, or sockets have work for this moment: then it only takes those that are
    /// there.
    fn wait(&self, events: &mut Vec<Event>, times: &mut LoopTimes) {
        self.is_asleep.store(true, Ordering::SeqCst);
        let idle = self.queue.lock().is_empty() && !self.is_over();
        let has_idlers = idle && self.idlers.any();
        events.clear();
        if idle && !has_idlers {
            let now = Instant::now();
            self.count_busy(times, now);
            times.woke = self.wait.until_events(&self.epoll, events, now, now - times.woke);
            times.counted = times.woke;
        } else {
            times.rounds = times.rounds.wrapping_add(1);
            if times.rounds.is_multiple_of(COUNT_EVERY) {
                self.count_busy(times, Instant::now());
            }
            self.wait.take_ready(&self.epoll, events);
        }
        self.is_asleep.store(false, Ordering::SeqCst);
        if has_idlers && events.is_empty() {
            self.idlers.tell();
        }
    }

    fn count_busy(&self, times: &mut LoopTimes, now: Instant) {
        self.busy_ns.fetch_add((now - times.counted).as_nanos() as u64, Ordering::Relaxed);
        times.counted = now;
    }

    fn dispatch(&self, events: &mut Vec<Event>, arrived: &mut Vec<(Arc<Socket>, EventFlags)>) {
        if events.is_empty() {
            return;
        }
        let sockets = self.sockets.lock();
        arrived.extend(events.drain(..).filter_map(|event| {
            let socket = sockets.get(&event.data.u64())?.upgrade()?;
            Some((socket, event.flags))
        }));
        drop(sockets);
        for (socket, flags) in arrived.drain(..) {
            socket.happened(flags);
        }
    }
}

/// When the thread that drives a loop was busy.
struct LoopTimes {
    /// The end of its last wait.
    woke: Instant,
    /// Until when its time is in the loop's count.
    counted: Instant,
    /// Rounds without a wait.
    rounds: u32,
}

impl LoopTimes {
    fn begin() -> Self {
        let now = Instant::now();
        Self { woke: now, counted: now, rounds: 0 }
    }
}

impl Serving for Loop {
    fn current(&self) -> u32 {
        self.polling.load(Ordering::Acquire)
    }

    fn go_on_elsewhere(self: Arc<Self>, poll: u32) {
        if self.only_computes(poll)
            || self.threads.load(Ordering::Relaxed) >= MOST_THREADS
            || self.polling.compare_exchange(poll, 0, Ordering::AcqRel, Ordering::Acquire).is_err()
        {
            return;
        }
        tracing::debug!(number = self.number, "a system call blocks a loop; another thread drives it");
        if let Err(error) = self.start() {
            tracing::error!(%error, number = self.number, "a loop cannot go on without its blocked thread");
        }
    }

    fn unwatched(&self) {
        self.watched.store(false, Ordering::Release);
    }
}
