use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::{Buf, BytesMut};
use lock::{Mutex, rank};
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;
use tokio::net::tcp::OwnedReadHalf;
use tokio::sync::Semaphore;
use tokio::time::Instant;
use vfs::Payload;

use crate::buffers::received;
use crate::in_flight::{Current, InFlight, Subject};
use crate::listen::{Counters, Peer};
use crate::memory::{Allowance, Reservation, SMALL};
use crate::outbox::Outbox;
use crate::stall::{Serving, Watchdog};
use crate::to_client::ToClient;

/// One reply: bytes, then data that is perhaps still in the page cache, then zero bytes of padding.
#[derive(Debug, Default)]
pub struct Reply {
    /// Everything up to the data.
    pub head: Vec<u8>,
    /// The data.
    pub body: Option<Payload>,
    /// How many zero bytes follow the data.
    pub tail: usize,
    /// Memory that was reserved for it.
    pub reserved: Reservation,
}

impl Reply {
    /// Bytes of it all.
    pub fn len(&self) -> usize {
        self.head.len() + self.body.as_ref().map_or(0, Payload::len) + self.tail
    }

    /// Whether it is nothing.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All of it in memory, for a transport that sends it in one piece. Zeros stand for what was truncated meanwhile.
    pub fn into_bytes(self) -> vfs::Result<Vec<u8>> {
        let mut bytes = self.head;
        if let Some(data) = self.body {
            data.append_or_zeros_to(&mut bytes)?;
        }
        bytes.resize(bytes.len() + self.tail, 0);
        Ok(bytes)
    }
}

/// A pending answer. `None` when the message gets none.
pub type Answer = Pin<Box<dyn Future<Output = Option<Reply>> + Send>>;

/// What a protocol does with a connection's bytes.
pub trait Protocol: Send + Sync + 'static {
    /// The length of the message at the start of `bytes`, framing included: `Ok(None)` when more bytes are needed to
    /// tell, or a reason to end the connection. A message longer than the connection's limit must be refused here.
    fn message_length(&self, bytes: &[u8]) -> Result<Option<usize>, &'static str>;

    /// The answer to one whole message. Polled once on the thread that received it. It declares the file that the message is
    /// about ([`InFlight::about`]), so that a stuck file does not get further threads.
    fn answer(&self, message: BytesMut, in_flight: InFlight) -> Answer;

    /// The connection begins; this is how its client is told what it has not asked for.
    fn began(&self, _client: ToClient) {}

    /// The connection is over. Pending answers that wait for something should give up.
    fn ended(&self) {}
}

/// Limits of a connection.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Bytes of replies that may wait for a client before no more of its messages are read.
    pub waiting_bytes: usize,
    /// Messages of one client that may be in flight at once.
    pub in_flight: usize,
    /// How long a client may take nothing of the replies waiting for it.
    pub send_timeout: Duration,
    /// How long a message may take to arrive in full.
    pub receive_timeout: Duration,
    /// File data for a client on this machine is copied into the socket, not sent from the page cache.
    pub copies_for_local: bool,
    /// Where a file is truncated after the length of a reply was promised, the client gets zeros. Without this the
    /// connection ends, for protocols whose data must not change silently.
    pub zeros_for_truncated: bool,
    /// What the client sends is acknowledged at once, for clients whose next bytes wait for that (Nagle's algorithm).
    pub acknowledges_at_once: bool,
    /// Messages are handed to the protocol strictly one after the other: the watchdog moves a connection only while an answer is
    /// polled. For protocols that take what is in order at once, and wait for nothing before the answer.
    pub begins_in_order: bool,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            waiting_bytes: 8 << 20,
            in_flight: 256,
            send_timeout: Duration::from_secs(60),
            receive_timeout: Duration::from_secs(60),
            copies_for_local: true,
            zeros_for_truncated: true,
            acknowledges_at_once: false,
            begins_in_order: false,
        }
    }
}

/// Bytes to read at once when nothing is known of what comes.
const READ_AHEAD: usize = 64 * 1024;
/// Messages up to this length leave the buffer as copies.
const COPIED: usize = 1024;
/// Messages that arrive in several pieces are reserved memory for from this length on.
const RESERVED: usize = 8 * 1024;

/// The side of a connection that reads. One task has it at a time.
struct Reading {
    half: OwnedReadHalf,
    buffer: BytesMut,
    /// When the message that is arriving must be there in full.
    deadline: Option<Instant>,
    /// Memory that was reserved for it.
    reserved: Reservation,
    /// Dropped when reading has ended, whoever read last.
    _end: tokio::sync::oneshot::Sender<()>,
}

/// What the reader leaves for the watchdog while it answers a message.
#[derive(Default)]
struct HandedOver {
    reading: Option<Reading>,
    /// The messages that threads are stuck with, and what they are about.
    stuck: Vec<(u32, Subject)>,
}

/// A connection being served, shared by its reader, the watchdog and pending answers.
struct Connection<P> {
    protocol: P,
    outbox: Arc<Outbox>,
    allowance: Arc<Allowance>,
    limits: Limits,
    counters: Arc<Counters>,
    watchdog: Arc<Watchdog>,
    runtime: tokio::runtime::Handle,
    me: Weak<Self>,
    handed_over: Mutex<HandedOver, rank::ReadingSide>,
    messages: AtomicU32,
    current: Arc<Current>,
    watched: AtomicBool,
    in_flight: Arc<Semaphore>,
}

/// Serves one connection until either side ends it.
pub async fn serve<P: Protocol>(
    stream: TcpStream,
    peer: &Peer,
    protocol: P,
    limits: Limits,
    watchdog: Arc<Watchdog>,
) {
    if limits.acknowledges_at_once {
        let _ = rustix::net::sockopt::set_tcp_quickack(&stream, true); // only costs latency
    }
    let (half, write) = stream.into_split();
    let connection = Arc::new_cyclic(|me| Connection {
        protocol,
        outbox: Arc::new(Outbox::new(write, limits, peer.memory.clone())),
        allowance: peer.memory.clone(),
        limits,
        counters: peer.counters.clone(),
        watchdog,
        runtime: tokio::runtime::Handle::current(),
        me: me.clone(),
        handed_over: Mutex::default(),
        messages: AtomicU32::new(0),
        current: Arc::default(),
        watched: AtomicBool::new(false),
        in_flight: Arc::new(Semaphore::new(limits.in_flight)),
    });
    let outbox = Arc::downgrade(&connection.outbox);
    peer.memory.on_end(move || outbox.upgrade().iter().for_each(|outbox| outbox.close()));
    let to_client = ToClient::over(&connection.outbox, peer.counters.clone());
    connection.protocol.began(to_client);
    let (end, ended) = tokio::sync::oneshot::channel();
    let reading = Reading {
        half,
        buffer: BytesMut::new(),
        deadline: None,
        reserved: Reservation::default(),
        _end: end,
    };
    tokio::spawn(connection.clone().read(reading));
    let _close = CloseOnDrop(connection.clone());
    tokio::select! {
        () = connection.outbox.pump(limits.send_timeout) => {}
        _ = ended => {}
    }
}

/// Ends the connection when its serving ends, for whatever reason: its reader and its answers then end, too.
struct CloseOnDrop<P: Protocol>(Arc<Connection<P>>);

impl<P: Protocol> Drop for CloseOnDrop<P> {
    fn drop(&mut self) {
        self.0.outbox.close();
        self.0.protocol.ended();
    }
}

impl<P: Protocol> Connection<P> {
    async fn read(self: Arc<Self>, mut reading: Reading) {
        loop {
            let missing = loop {
                match self.next_message(&mut reading.buffer) {
                    Next::Message(message) => {
                        reading.deadline = None;
                        let mut reserved = std::mem::take(&mut reading.reserved);
                        reserved.end_owing();
                        match self.answer(message, reserved, reading) {
                            Some(back) => reading = back,
                            None => return,
                        }
                    }
                    Next::Missing(bytes) => break bytes,
                    Next::Refused(why) => {
                        tracing::debug!(why, "connection ended");
                        self.outbox.close();
                        return;
                    }
                }
                if !self.has_room().await {
                    return;
                }
            };
            self.outbox.flush();
            if !self.receive(&mut reading, missing).await {
                return;
            }
        }
    }

    fn next_message(&self, buffer: &mut BytesMut) -> Next {
        match self.protocol.message_length(buffer) {
            // A small one is copied: as long as it is being answered it would keep all of the buffer.
            Ok(Some(length)) if length <= buffer.len().min(COPIED) => {
                let message = BytesMut::from(&buffer[..length]);
                buffer.advance(length);
                Next::Message(message)
            }
            Ok(Some(length)) if length <= buffer.len() => Next::Message(buffer.split_to(length)),
            Ok(Some(length)) => Next::Missing(length - buffer.len()),
            Ok(None) => Next::Missing(1),
            Err(why) => Next::Refused(why),
        }
    }

    /// Waits while the client has too much on its way already. False when the connection is over.
    async fn has_room(&self) -> bool {
        loop {
            let (waiting, memory) = (self.outbox.waiting(), self.outbox.memory());
            if waiting > self.limits.waiting_bytes || memory > SMALL && memory > self.allowance.may_wait() {
                self.outbox.flush();
                if !self.outbox.room(self.limits.waiting_bytes, || self.allowance.may_wait()).await {
                    return false;
                }
            } else if self.allowance.is_waiting() {
                self.outbox.flush();
                self.allowance.granted().await;
            } else {
                break;
            }
        }
        if self.in_flight.available_permits() == 0 {
            self.outbox.flush();
            let _permit = self.in_flight.acquire().await;
        }
        true
    }

    /// Receives at least one byte. An idle connection holds no buffer while it waits.
    async fn receive(&self, reading: &mut Reading, missing: usize) -> bool {
        let waiting = reading.buffer.is_empty();
        if waiting {
            received::give_back(std::mem::take(&mut reading.buffer));
            if reading.half.readable().await.is_err() {
                return false;
            }
            reading.buffer = received::take();
        } else if !self.reserve_rest(reading, missing).await {
            return false;
        }
        reading.buffer.reserve(missing.max(READ_AHEAD));
        let receive = reading.half.read_buf(&mut reading.buffer);
        let received = match waiting {
            true => receive.await,
            false => {
                let limit = self.limits.receive_timeout;
                let deadline = *reading.deadline.get_or_insert_with(|| Instant::now() + limit);
                tokio::time::timeout_at(deadline, receive).await.unwrap_or(Ok(0))
            }
        };
        let count = received.unwrap_or(0);
        self.counters.bytes_in.fetch_add(count as u64, Ordering::Relaxed);
        self.allowance.has_moved(count);
        count > 0
    }

    /// Reserves memory for all of a long message before more of it is received. False when the connection is over.
    async fn reserve_rest(&self, reading: &mut Reading, missing: usize) -> bool {
        let whole = reading.buffer.len() + missing;
        let reserved = reading.reserved.bytes();
        if whole <= reserved.max(RESERVED) {
            return true;
        }
        // A record of many fragments grows as it comes: twice as much each time, so that it does not wait often.
        let more = (whole - reserved).max(reserved);
        let more = tokio::select! {
            biased;
            more = self.allowance.reserve_more(more, &reading.reserved) => more,
            () = self.outbox.over() => None,
        };
        let Some(mut more) = more else {
            self.outbox.close();
            return false;
        };
        more.begin_owing();
        reading.reserved.begin_owing();
        reading.reserved.join(more);
        true
    }

    /// Answers a message on this thread as far as it goes without waiting. Gives the reading side back, unless the
    /// watchdog has found this thread stuck and moved it.
    fn answer(&self, message: BytesMut, reserved: Reservation, reading: Reading) -> Option<Reading> {
        self.outbox.choose_place(reading.buffer.is_empty(), message.len());
        let number = self.next_number();
        let in_flight = InFlight::new(&self.current, &self.watchdog, number);
        let begun = match self.limits.begins_in_order {
            true => Ok(self.protocol.answer(message, in_flight)),
            false => Err((message, in_flight)),
        };
        self.handed_over.lock().reading = Some(reading);
        self.current.begin(number);
        if !self.watched.swap(true, Ordering::AcqRel) {
            self.watchdog.watch(self.me.clone());
        }
        let mut answer =
            begun.unwrap_or_else(|(message, in_flight)| self.protocol.answer(message, in_flight));
        let polled = answer.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        let ended = self.current.end(number);
        let reading = self.take_back(number, ended.is_some());
        match polled {
            Poll::Ready(reply) => self.send(reply),
            Poll::Pending => match ended.and_then(|subject| self.watchdog.stuck().turns(subject)) {
                Some(turns) => self.finish_elsewhere(answer, reserved, turns),
                None => self.finish_later(answer, reserved),
            },
        }
        if reading.is_none() {
            self.outbox.flush();
        }
        reading
    }

    /// A number that no other message in flight has. Never 0.
    fn next_number(&self) -> u32 {
        loop {
            match self.messages.fetch_add(1, Ordering::Relaxed).wrapping_add(1) {
                0 => {}
                number => return number,
            }
        }
    }

    /// Takes the reading side back after a message. If the watchdog has moved it, the thread is not stuck any more: what lies
    /// there now belongs to the reader that went on.
    fn take_back(&self, number: u32, is_reader: bool) -> Option<Reading> {
        let mut handed_over = self.handed_over.lock();
        if is_reader {
            return handed_over.reading.take();
        }
        let at = handed_over.stuck.iter().position(|(message, _)| *message == number);
        let stuck = at.map(|at| handed_over.stuck.swap_remove(at));
        drop(handed_over);
        if let Some((_, subject)) = stuck {
            self.watchdog.stuck().ended(subject);
        }
        None
    }

    /// Finishes an answer that is likely to get stuck, where a stuck thread harms less. Few have a thread at a time, and only
    /// while they are polled: an answer that waits for something else than a disk (its client, more data) waits without.
    fn finish_elsewhere(&self, mut answer: Answer, reserved: Reservation, turns: Arc<Semaphore>) {
        let runtime = self.runtime.clone();
        let answer = Box::pin(async move {
            loop {
                let woken = Arc::new(Woken::default());
                let waker = Waker::from(woken.clone());
                let turn = turns.acquire().await;
                let poll = move || (answer.as_mut().poll(&mut Context::from_waker(&waker)), answer);
                let (polled, back) = runtime.spawn_blocking(poll).await.ok()?;
                drop(turn);
                match polled {
                    Poll::Ready(reply) => return reply,
                    Poll::Pending => woken.0.notified().await,
                }
                answer = back;
            }
        });
        self.finish_later(answer, reserved);
    }

    fn send(&self, reply: Option<Reply>) {
        self.counters.requests.fetch_add(1, Ordering::Relaxed);
        self.watchdog.stuck().request_ended();
        if let Some(reply) = reply {
            self.counters.bytes_out.fetch_add(reply.len() as u64, Ordering::Relaxed);
            self.outbox.push(reply);
        }
    }

    /// Answers later. What was reserved for the message is given back then.
    fn finish_later(&self, answer: Answer, reserved: Reservation) {
        let Some(me) = self.me.upgrade() else { return };
        // Room was made before the message was read; a second reader may have used it, which is no harm.
        let permit = self.in_flight.clone().try_acquire_owned();
        self.runtime.spawn(async move {
            let reply = answer.await;
            me.send(reply);
            me.outbox.flush();
            drop((permit, reserved));
        });
    }
}

impl<P: Protocol> Serving for Connection<P> {
    fn current(&self) -> u32 {
        self.current.number()
    }

    fn go_on_elsewhere(self: Arc<Self>, message: u32) {
        let mut handed_over = self.handed_over.lock();
        let Some(subject) = self.current.end(message) else { return };
        if let Some(reading) = handed_over.reading.take() {
            // Under the lock: the stuck thread takes it before it says that it is stuck no longer.
            self.watchdog.stuck().began(subject);
            handed_over.stuck.push((message, subject));
            drop(handed_over);
            tracing::debug!("a request waits for its disk; going on with the client's others");
            self.outbox.flush();
            let runtime = self.runtime.clone();
            runtime.spawn(self.read(reading));
        }
    }

    fn unwatched(&self) {
        self.watched.store(false, Ordering::Release);
    }
}

/// Remembers that it was woken, until somebody waits for that.
#[derive(Default)]
struct Woken(tokio::sync::Notify);

impl std::task::Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.notify_one();
    }
}

enum Next {
    Message(BytesMut),
    /// At least so many bytes are missing.
    Missing(usize),
    Refused(&'static str),
}
