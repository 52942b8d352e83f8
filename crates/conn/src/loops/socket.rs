//! A socket on a loop: what it is ready for, who waits for that and until when, and how busy it is.

use std::future::poll_fn;
use std::io;
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use lock::Mutex;
use resources::reserved::ReservedStreams;
use rustix::event::epoll::EventFlags;

use super::event_loop::Loop;
use super::task::Task;
use crate::ranks;

/// The two directions of a socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    In = 0,
    Out = 1,
}

const READABLE: u8 = 1 << Direction::In as u8;
const WRITABLE: u8 = 1 << Direction::Out as u8;
/// The other end has gone: every attempt tells.
const HUNG_UP: u8 = 4;
/// The deadline of a direction has passed.
const LATE: u8 = 8;
/// The other end sends nothing more: receiving never blocks again.
const ENDED: u8 = 32;
/// The loop has nothing else to do, for a reader that wants to know that.
const IDLE: u8 = 64;
/// The end of a message of which at least so many bytes are missing is tried for at once.
const LONG: usize = 16 * 1024;
/// A connection that has just sent or received so many bytes at once streams, until it has moved few for some times.
const STREAM: u32 = 64 * 1024;
/// A connection that has read a reserved stream goes before all others for so long.
const FIRST_FOR: Duration = Duration::from_secs(1);
/// What ends the waits of each direction.
const WANTED: [u8; 2] = [HUNG_UP | ENDED | LATE | READABLE | IDLE, HUNG_UP | LATE << 1 | WRITABLE];

/// A client's socket, and the loop that it is on.
pub(crate) struct Socket {
    stream: TcpStream,
    loops: Arc<[Arc<Loop>]>,
    at: AtomicUsize,
    id: u64,
    /// What may be tried. Cleared before an attempt, so that what the loop sets meanwhile is not lost.
    ready: AtomicU8,
    waiting: [WaitingTask; 2],
    /// It is among those that the loop tells when it has nothing else to do.
    awaits_idle: AtomicBool,
    /// How much it has done since the last look of the balancer.
    work: AtomicU64,
    /// How much of that was known at the last look at who moves short messages.
    known_work: AtomicU64,
    /// Bytes of the last call, or half of what was here before.
    recent: AtomicU32,
    /// Until when it goes before all others, in milliseconds of [`now_ms`]. 0: it never did.
    first_until_ms: AtomicU64,
}

/// A task that waits for one direction.
#[derive(Default)]
struct WaitingTask {
    waker: Mutex<Option<Waker>, ranks::LoopWaker>,
    /// When it waits no longer, in milliseconds of [`now_ms`]. 0: it waits for ever.
    deadline_ms: AtomicU64,
}

impl Socket {
    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    /// The loop that it is on.
    pub(super) fn current(&self) -> &Arc<Loop> {
        &self.loops[self.at.load(Ordering::Acquire)]
    }

    /// Whether tasks of other connections wait for the thread of its loop.
    pub(crate) fn others_wait(&self) -> bool {
        self.current().has_queued()
    }

    /// Runs a task on its loop.
    pub(crate) fn spawn(self: &Arc<Self>, future: impl Future<Output = ()> + Send + 'static) {
        Task::spawn(self.clone(), future);
    }

    pub(crate) fn stream(&self) -> &TcpStream {
        &self.stream
    }

    /// The socket, for a call in this direction that does not block. `None` if none is worth a try: [`Socket::ready`] waits
    /// for that. [`Socket::sent`] and [`Socket::received`] are told of a call that succeeded.
    pub(crate) fn attempt(&self, direction: Direction) -> Option<BorrowedFd<'_>> {
        if !self.is_ready(direction) {
            return None;
        }
        let tried = match direction {
            Direction::In => READABLE | IDLE,
            Direction::Out => WRITABLE,
        };
        self.ready.fetch_and(!tried, Ordering::AcqRel);
        Some(self.stream.as_fd())
    }

    /// So many bytes were sent.
    pub(crate) fn sent(&self, count: usize) {
        self.note(count);
        self.ready.fetch_or(WRITABLE, Ordering::AcqRel);
    }

    /// The task that waits to send may try now, if the socket is not full: a thread that ends to send says so, since the kernel
    /// tells of a socket only after it was full.
    pub(crate) fn wake_sender(&self) {
        if self.is_ready(Direction::Out) {
            self.wake(Direction::Out);
        }
    }

    /// So many bytes were received, where there was room for `room` and at least `missing` were to come.
    pub(crate) fn received(&self, count: usize, room: usize, missing: usize) {
        self.note(count);
        self.current().event_wait().note_received(count);
        // Fewer bytes than there was room for were all: the next ones are an event of their own. But a client that is sending a
        // long message has often sent more of it by now, and a further attempt is cheaper than an event.
        if count == room || count + LONG <= missing {
            self.ready.fetch_or(READABLE, Ordering::AcqRel);
        }
    }

    /// Nothing has happened since the last attempt to receive, which has found nothing: a further one would find nothing, too.
    pub(crate) fn is_drained(&self) -> bool {
        !self.is_ready(Direction::In)
    }

    /// The next attempt to receive is worth a try, whatever has happened.
    pub(crate) fn try_again(&self) {
        self.ready.fetch_or(READABLE, Ordering::AcqRel);
    }

    /// [`Socket::ready`] to receive also ends when the loop has nothing else to do. [`Socket::take_idle`] tells.
    pub(crate) fn await_idle(self: &Arc<Self>) {
        if !self.awaits_idle.swap(true, Ordering::AcqRel) {
            self.current().await_idle(self);
        }
    }

    /// Whether the loop had nothing else to do. True once for each [`Socket::await_idle`].
    pub(crate) fn take_idle(&self) -> bool {
        self.ready.load(Ordering::Relaxed) & IDLE != 0
            && self.ready.fetch_and(!IDLE, Ordering::AcqRel) & IDLE != 0
    }

    /// The loop has nothing else to do.
    pub(super) fn is_idle(&self) {
        self.awaits_idle.store(false, Ordering::Release);
        self.set(IDLE);
    }

    /// Counts bytes for the balancer.
    fn note(&self, count: usize) {
        self.work.fetch_add(count as u64, Ordering::Relaxed);
        let before = self.recent.load(Ordering::Relaxed);
        let count_32 = u32::try_from(count).unwrap_or(u32::MAX);
        self.recent.store(count_32.max(before / 2), Ordering::Relaxed);
    }

    /// Waits until a direction is worth a try. False when the deadline has passed before.
    pub(crate) async fn ready(&self, direction: Direction, deadline: Option<Instant>) -> bool {
        let waiting = &self.waiting[direction as usize];
        waiting.deadline_ms.store(deadline.map_or(0, ms_of), Ordering::Release);
        // Only a message that has begun to arrive has a deadline.
        let _partial = (direction == Direction::In && deadline.is_some())
            .then(|| self.current().event_wait().begin_partial());
        poll_fn(|context| self.poll_ready(direction, context)).await;
        waiting.deadline_ms.store(0, Ordering::Release);
        let late = self.ready.load(Ordering::Acquire) & (LATE << direction as u8) != 0;
        if late {
            self.ready.fetch_and(!(LATE << direction as u8), Ordering::AcqRel);
        }
        !late || self.is_ready(direction)
    }

    fn is_ready(&self, direction: Direction) -> bool {
        let late = LATE << direction as u8;
        self.ready.load(Ordering::Acquire) & WANTED[direction as usize] & !late != 0
    }

    fn poll_ready(&self, direction: Direction, context: &Context<'_>) -> Poll<()> {
        let is_over = || self.ready.load(Ordering::Acquire) & WANTED[direction as usize] != 0;
        if is_over() {
            return Poll::Ready(());
        }
        let before = self.waiting[direction as usize].waker.lock().replace(context.waker().clone());
        drop(before); // after the lock: it may be the last of its task
        if is_over() { Poll::Ready(()) } else { Poll::Pending }
    }

    /// Something has happened: wakes those that wait for it.
    pub(super) fn happened(&self, events: EventFlags) {
        let mut ready = 0;
        if events.contains(EventFlags::IN) {
            ready |= READABLE;
        }
        if events.contains(EventFlags::OUT) {
            ready |= WRITABLE;
        }
        if events.intersects(EventFlags::RDHUP | EventFlags::HUP | EventFlags::ERR) {
            ready |= ENDED;
        }
        if events.intersects(EventFlags::HUP | EventFlags::ERR) {
            ready |= HUNG_UP;
        }
        self.set(ready);
    }

    fn set(&self, ready: u8) {
        self.ready.fetch_or(ready, Ordering::AcqRel);
        for direction in [Direction::In, Direction::Out] {
            if ready & WANTED[direction as usize] != 0 {
                self.wake(direction);
            }
        }
    }

    fn wake(&self, direction: Direction) {
        let waker = self.waiting[direction as usize].waker.lock().take();
        waker.into_iter().for_each(Waker::wake);
    }

    /// Whether a task waits for this direction.
    #[cfg(test)]
    pub(crate) fn is_awaited(&self, direction: Direction) -> bool {
        self.waiting[direction as usize].waker.lock().is_some()
    }

    /// Ends waits whose deadline has passed.
    pub(super) fn end_late(&self, now_ms: u64) {
        for direction in [Direction::In, Direction::Out] {
            let deadline = &self.waiting[direction as usize].deadline_ms;
            let at = deadline.load(Ordering::Acquire);
            let is_late = at != 0 && at <= now_ms;
            if is_late && deadline.compare_exchange(at, 0, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
                self.set(LATE << direction as u8);
            }
        }
    }

    /// Whether it moves long messages: these have turns of their own on the loop.
    pub(super) fn streams(&self) -> bool {
        self.recent.load(Ordering::Relaxed) >= STREAM
    }

    /// The streams that are reserved at this server, if there are some.
    pub(crate) fn reserved(&self) -> Option<&Arc<ReservedStreams>> {
        self.current().reserved()
    }

    /// It reads a reserved stream: its tasks go before those of all others for a while.
    pub(crate) fn go_first(&self, now: Instant) {
        self.first_until_ms.store(ms_of(now + FIRST_FOR), Ordering::Relaxed);
    }

    /// Whether its tasks go before those of all others.
    pub(super) fn goes_first(&self) -> bool {
        let until = self.first_until_ms.load(Ordering::Relaxed);
        until != 0 && now_ms() < until
    }

    /// How much it has done since the last call.
    pub(super) fn take_work(&self) -> u64 {
        self.known_work.store(0, Ordering::Relaxed);
        self.work.swap(0, Ordering::Relaxed)
    }

    /// Whether it has done anything since the last call.
    pub(super) fn has_worked(&self) -> bool {
        let work = self.work.load(Ordering::Relaxed);
        self.known_work.swap(work, Ordering::Relaxed) != work
    }

    /// Moves it, with its tasks, to another loop. One thread at a time calls this.
    pub(super) fn move_to(self: &Arc<Self>, at: usize) {
        let from = self.current().clone();
        from.remove(self.id, self.stream.as_fd());
        self.at.store(at, Ordering::Release);
        // What has arrived is an event of the new loop, too. Where that fails the connection ends.
        if self.loops[at].add(self).is_err() {
            let _ = self.stream.shutdown(Shutdown::Both);
            self.set(HUNG_UP);
        }
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        self.current().remove(self.id, self.stream.as_fd());
    }
}

/// A connection that was accepted, on its loop.
pub struct LoopStream(Arc<Socket>);

impl LoopStream {
    pub(super) fn new(stream: TcpStream, loops: Arc<[Arc<Loop>]>, at: usize) -> io::Result<Self> {
        static IDS: AtomicU64 = AtomicU64::new(1);
        stream.set_nonblocking(true)?;
        let socket = Arc::new(Socket {
            stream,
            at: AtomicUsize::new(at),
            id: IDS.fetch_add(1, Ordering::Relaxed),
            ready: AtomicU8::new(READABLE | WRITABLE),
            waiting: Default::default(),
            awaits_idle: AtomicBool::new(false),
            work: AtomicU64::new(0),
            known_work: AtomicU64::new(0),
            recent: AtomicU32::new(0),
            first_until_ms: AtomicU64::new(0),
            loops,
        });
        socket.current().add(&socket)?;
        Ok(Self(socket))
    }

    /// This end's address.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.0.stream.local_addr()
    }

    pub(crate) fn socket(&self) -> &Arc<Socket> {
        &self.0
    }
}

/// Milliseconds since the first call.
pub(super) fn now_ms() -> u64 {
    ms_of(Instant::now())
}

fn ms_of(time: Instant) -> u64 {
    static FIRST: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    let first = FIRST.get_or_init(Instant::now);
    time.saturating_duration_since(*first).max(Duration::from_millis(1)).as_millis() as u64
}
