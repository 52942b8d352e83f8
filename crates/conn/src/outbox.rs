//! The replies that wait for one client: gathered into few calls, files sent without a copy, bounded in bytes and
//! in memory.

mod secure;

use std::collections::VecDeque;
use std::io::ErrorKind::{Interrupted, WouldBlock};
use std::io::{self, IoSlice};
use std::net::Shutdown;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use lock::Mutex;
use resources::Payload;
use rustix::net::SendFlags;
use tokio::sync::Notify;

use crate::affinity;
use crate::buffers::replies;
use crate::listen::Counters;
use crate::loops::{Direction, Socket, yield_now};
use crate::memory::{Allowance, OutboxCharge};
use crate::protocol::{Limits, Reply};
use crate::ranks;
use crate::tls::Tls;

pub(crate) use secure::ReceiveOutcome;

/// Up to this length bytes are copied behind those that wait: longer ones are cheaper sent from where they are.
const COPY: usize = 1024;
/// A piece that has no room for more grows up to this length.
const GROWN: usize = 4 * 1024;
/// Memory of waiting replies is charged in units of so many bytes, so that the counter of all clients is seldom touched.
const CHARGED: usize = 32 * 1024;
/// Less than this is not charged: the heads of replies whose data the kernel sends.
const NOT_CHARGED: usize = 8 * 1024;
/// What is sent in place of data that are not there any more.
static ZEROS: [u8; 16 * 1024] = [0; 16 * 1024];
/// A client that sends or receives messages of this length is best served by another processor than its own.
const LONG: usize = 64 * 1024;
/// Most bytes sent before the loop's other connections have a turn: a reply with 1 MiB of data. Shorter turns cost streams
/// 8 to 22 % of their speed.
const TURN: usize = (1 << 20) + 64 * 1024;
/// Most pieces handed to the kernel in one send: two for each of many small reads.
const PIECES: usize = 128;

/// Replies on their way to one client.
pub struct Outbox {
    socket: Arc<Socket>,
    /// Its client is on this machine.
    is_local: bool,
    /// The last reply was long.
    sent_long: AtomicBool,
    /// [`Limits::zeros_for_truncated`].
    zeros_for_truncated: bool,
    queue: Mutex<Queue, ranks::Outbox>,
    /// Bytes waiting.
    waiting: AtomicUsize,
    /// Memory that they take: ranges of files take none.
    memory: AtomicUsize,
    /// What the client may make the server hold.
    allowance: Arc<Allowance>,
    counters: Arc<Counters>,
    /// Rung when bytes have left or the connection is over.
    left: Notify,
    /// Rung when bytes stay behind: the pump then waits for the socket.
    stuck: Notify,
}

struct Queue {
    pieces: VecDeque<Payload>,
    /// Memory that the pieces take, whole until they have left.
    memory: usize,
    /// What is charged for it.
    owed: OutboxCharge,
    /// How much of the first piece has left.
    sent: usize,
    /// What seals them, on a connection with TLS.
    tls: Option<Box<Tls>>,
    /// The connection ends once nothing waits.
    ending: bool,
    dead: bool,
}

/// The room that the head of a reply needs for so many bytes of data: short ones are copied behind it, and it does not grow then.
#[must_use]
pub fn room_behind_head(data: usize) -> usize {
    if data <= COPY { data } else { 0 }
}

/// Memory that a piece takes until all of it has left.
fn memory_of(piece: &Payload) -> usize {
    match piece {
        Payload::Bytes(bytes) => bytes.capacity(),
        Payload::File { .. } => 0,
    }
}

impl Outbox {
    pub(crate) fn new(
        socket: Arc<Socket>,
        limits: Limits,
        allowance: Arc<Allowance>,
        counters: Arc<Counters>,
    ) -> Self {
        let queue = Mutex::new(Queue::new(OutboxCharge::new(allowance.clone())));
        let is_local = socket.stream().peer_addr().is_ok_and(|peer| peer.ip().to_canonical().is_loopback());
        Self {
            socket,
            is_local,
            sent_long: AtomicBool::new(false),
            zeros_for_truncated: limits.zeros_for_truncated,
            queue,
            waiting: AtomicUsize::new(0),
            memory: AtomicUsize::new(0),
            allowance,
            counters,
            left: Notify::new(),
            stuck: Notify::new(),
        }
    }

    /// Notes a request of this length, for the CPU affinity of the thread that answers it. `last`: no further request has
    /// been received.
    pub(crate) fn note_request(&self, last: bool, length: usize) {
        if self.is_local {
            let streams = length >= LONG || self.sent_long.load(Ordering::Relaxed);
            affinity::follow(
                self.socket.id(),
                self.socket.stream().as_fd(),
                last && !streams && self.waiting() == 0,
            );
        } else {
            affinity::run_on_all();
        }
    }

    /// Bytes that have not left yet.
    pub fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Acquire)
    }

    /// Memory that what waits takes.
    pub(crate) fn memory(&self) -> usize {
        self.memory.load(Ordering::Acquire)
    }

    /// Puts a reply in the queue; [`Outbox::flush`] sends it. Bytes are added to the last piece if they are few and it has
    /// room, or is small itself.
    pub fn push(&self, reply: Reply) {
        let length = reply.len();
        self.counters.bytes_out.fetch_add(length as u64, Ordering::Relaxed);
        let queue = &mut *self.queue.lock();
        if queue.dead {
            return;
        }
        if queue.tls.as_ref().is_some_and(|tls| tls.secured().is_none()) {
            // No call may be in flight when TLS begins.
            return self.kill(queue);
        }
        self.sent_long.store(length >= LONG, Ordering::Relaxed);
        self.waiting.fetch_add(length, Ordering::AcqRel);
        let tail = (reply.tail > 0).then(|| Payload::Bytes(vec![0; reply.tail]));
        for piece in [Some(Payload::Bytes(reply.head)), reply.body, tail].into_iter().flatten() {
            match (queue.pieces.back_mut(), piece) {
                (Some(Payload::Bytes(last)), Payload::Bytes(bytes))
                    if bytes.len() <= COPY && last.len() + bytes.len() <= last.capacity().max(GROWN) =>
                {
                    let before = last.capacity();
                    last.extend_from_slice(&bytes);
                    queue.memory += last.capacity() - before;
                }
                (_, piece) => {
                    queue.memory += memory_of(&piece);
                    queue.pieces.push_back(piece);
                }
            }
        }
        queue.owed.take_over(reply.reserved);
        self.memory.store(queue.memory, Ordering::Release);
    }

    /// Charges what waits to the client, before it is sent.
    pub(crate) fn charge(&self) {
        self.queue.lock().settle();
    }

    /// Sends until the queue is empty, the socket is full, or others should have a turn. What stays behind is sent as the
    /// client receives.
    pub fn flush(&self) {
        if self.waiting() == 0 {
            return;
        }
        let mut queue = self.queue.lock();
        if queue.dead {
            return;
        }
        let (mut left, mut is_over) = (TURN, crate::is_fenced());
        while left > 0 && !is_over && !queue.is_empty() {
            let Some(socket) = self.socket.attempt(Direction::Out) else { break };
            match self.send(&mut queue, socket, left) {
                Ok(count) if count > 0 => {
                    self.socket.sent(count);
                    self.allowance.has_moved(count);
                    self.waiting.fetch_sub(count, Ordering::AcqRel);
                    left = left.saturating_sub(count);
                }
                Err(error) if error.kind() == WouldBlock => break,
                Err(error) if error.kind() == Interrupted => self.socket.sent(0),
                Ok(_) | Err(_) => is_over = true,
            }
        }
        self.memory.store(queue.memory, Ordering::Release);
        if is_over || queue.ending && queue.is_empty() {
            self.kill(&mut queue);
        } else if !queue.is_empty() {
            self.stuck.notify_one();
        }
        queue.settle();
        drop(queue);
        // While this thread was sending, the pump may have begun to wait for the socket on another one.
        self.socket.wake_sender();
        self.left.notify_waiters();
    }

    /// Ends the connection: nothing more is sent, and its reader sees the end.
    pub fn close(&self) {
        self.kill(&mut self.queue.lock());
        self.left.notify_waiters();
        self.stuck.notify_one();
    }

    /// Ends the connection once everything that waits has left.
    pub(crate) fn finish(&self) {
        let mut queue = self.queue.lock();
        queue.ending = true;
        if queue.is_empty() {
            self.kill(&mut queue);
            drop(queue);
            self.left.notify_waiters();
            self.stuck.notify_one();
        }
    }

    /// Sends what [`Outbox::flush`] left behind, for as long as the connection lives. Ends it when the client takes
    /// nothing for `timeout`.
    pub(crate) async fn pump(&self, timeout: Duration) {
        loop {
            self.stuck.notified().await;
            while self.waiting() > 0 {
                let deadline = Instant::now() + timeout;
                if !self.socket.ready(Direction::Out, Some(deadline)).await {
                    self.close();
                }
                self.flush();
                yield_now().await;
            }
            if self.queue.lock().dead {
                return;
            }
        }
    }

    /// Waits until no more than `limit` bytes wait, and they take no more memory than they may. False when the connection is
    /// over.
    pub(crate) async fn room(&self, limit: usize, memory: impl Fn() -> usize) -> bool {
        loop {
            let left = self.left.notified();
            if self.queue.lock().dead {
                return false;
            }
            if self.waiting() <= limit && self.memory() <= memory() {
                return true;
            }
            left.await;
        }
    }

    /// Waits until the connection is over.
    pub(crate) async fn over(&self) {
        loop {
            let left = self.left.notified();
            if self.queue.lock().dead {
                return;
            }
            left.await;
        }
    }

    fn kill(&self, queue: &mut Queue) {
        if let (Some(tls), false) = (&mut queue.tls, queue.dead) {
            tls.say_goodbye(self.socket.stream().as_fd());
        }
        queue.dead = true;
        queue.tls = None;
        queue.pieces.clear();
        (queue.sent, queue.memory) = (0, 0);
        queue.settle();
        self.waiting.store(0, Ordering::Release);
        self.memory.store(0, Ordering::Release);
        self.allowance.over();
        let _ = self.socket.stream().shutdown(Shutdown::Both); // may be gone already
    }

    /// Sends at most `most` bytes of a file, or any number of bytes in memory.
    fn send(&self, queue: &mut Queue, socket: BorrowedFd<'_>, most: usize) -> io::Result<usize> {
        if queue.tls.is_some() {
            return self.send_sealed(queue, socket, most);
        }
        let count = match queue.pieces.front() {
            None => return Ok(0),
            Some(Payload::File { fd, offset, length }) => {
                let mut from = offset + queue.sent as u64;
                let left = length - queue.sent;
                match rustix::fs::sendfile(socket, fd, Some(&mut from), left.min(most))? {
                    // The file was truncated after the length had been promised.
                    0 if self.zeros_for_truncated => {
                        rustix::net::send(socket, &ZEROS[..left.min(ZEROS.len())], SendFlags::NOSIGNAL)?
                    }
                    0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                    count => count,
                }
            }
            Some(Payload::Bytes(bytes)) if queue.pieces.len() == 1 => {
                rustix::net::send(socket, &bytes[queue.sent..], SendFlags::NOSIGNAL)?
            }
            Some(Payload::Bytes(_)) => {
                let mut slices: Vec<IoSlice<'_>> = Vec::with_capacity(queue.pieces.len().min(PIECES));
                let mut more = false;
                for (index, piece) in queue.pieces.iter().take(PIECES).enumerate() {
                    match piece {
                        Payload::Bytes(bytes) if index == 0 => {
                            slices.push(IoSlice::new(&bytes[queue.sent..]))
                        }
                        Payload::Bytes(bytes) => slices.push(IoSlice::new(bytes)),
                        Payload::File { .. } => {
                            more = true;
                            break;
                        }
                    }
                }
                let flags = SendFlags::NOSIGNAL | if more { SendFlags::MORE } else { SendFlags::empty() };
                rustix::net::sendmsg(socket, &slices, &mut Default::default(), flags)?
            }
        };
        queue.advance(count);
        Ok(count)
    }
}

impl Queue {
    fn new(owed: OutboxCharge) -> Self {
        let pieces = VecDeque::new();
        Self { pieces, memory: 0, owed, sent: 0, tls: None, ending: false, dead: false }
    }

    /// Whether nothing waits.
    fn is_empty(&self) -> bool {
        self.pieces.is_empty() && self.tls.as_ref().is_none_or(|tls| !tls.has_sealed())
    }

    /// Charges what waits after a send: nothing where all of it has left, as mostly.
    fn settle(&mut self) {
        let memory = self.memory + self.tls.as_ref().map_or(0, |tls| tls.memory());
        let waits = if memory < NOT_CHARGED { 0 } else { memory.next_multiple_of(CHARGED) };
        self.owed.settle(waits);
    }

    fn advance(&mut self, count: usize) {
        self.sent += count;
        while let Some(length) = self.pieces.front().map(Payload::len)
            && self.sent >= length
        {
            self.sent -= length;
            let Some(piece) = self.pieces.pop_front() else { return };
            self.memory -= memory_of(&piece);
            if let Payload::Bytes(bytes) = piece {
                replies::give_back(bytes);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{Ipv4Addr, TcpListener, TcpStream};

    use super::*;
    use crate::loops::{Loops, Polling};
    use crate::waiting::until;

    const HEAD: usize = 64;
    /// Longer than one turn.
    const LENGTH: usize = 3 << 20;

    /// A thread that is stuck while it sends is replaced, and the pump then runs beside it.
    #[test]
    fn a_pump_that_waits_beside_a_thread_that_sends_goes_on() {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().unwrap();
        let _entered = runtime.enter();
        let loops = Loops::start(1, Polling::default()).unwrap();
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        client.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let (out, serving) = std::sync::mpsc::channel();
        let serve = |stream: crate::loops::LoopStream| {
            let (allowance, counters) = (Arc::default(), Arc::default());
            let outbox =
                Arc::new(Outbox::new(stream.socket().clone(), Limits::default(), allowance, counters));
            out.send(outbox.clone()).unwrap();
            async move { outbox.pump(Duration::from_secs(600)).await }
        };
        loops.serve(listener.accept().unwrap().0, serve).unwrap();
        let outbox = serving.recv().unwrap();
        let file = rustix::fs::memfd_create("replies", rustix::fs::MemfdFlags::CLOEXEC).unwrap();
        let mut file = std::fs::File::from(file);
        file.write_all(&vec![7; LENGTH]).unwrap();
        let body = Some(Payload::File { fd: Arc::new(file.into()), offset: 0, length: LENGTH });
        outbox.push(Reply { head: vec![7; HEAD], body, ..Reply::default() });
        let sending = outbox.socket.attempt(Direction::Out).map(drop);
        assert!(sending.is_some());
        outbox.stuck.notify_one();
        until("the pump does not wait", || outbox.socket.is_awaited(Direction::Out));
        outbox.socket.sent(0);
        outbox.flush();
        let mut received = vec![0; HEAD + LENGTH];
        client.read_exact(&mut received).unwrap();
        assert!(received.iter().all(|byte| *byte == 7));
        outbox.close();
    }
}
