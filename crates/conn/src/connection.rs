//! One client: receives its messages, has each answered on this thread as far as that goes without waiting, and
//! hands the reading side to another thread if this one blocks.
//!
//! ```text
//! receive ─► take a message ─► answer ─┬─ ready ─► outbox
//!    ▲                                 └─ waits ─► a task of the loop ─► outbox
//!    └─ flush, when no whole message is left
//! ```

mod eager;
mod early;
mod receive;
mod reserved;
mod secure;
mod turn;

use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use bytes::BytesMut;
use lock::Mutex;
use resources::reserved::StreamService;
use tokio::sync::Semaphore;

use self::eager::EagerReceive;
use self::early::EarlyProgress;
use self::turn::ConnectionTurn;
use crate::in_flight::{InFlight, PolledMessage, RequestSubject};
use crate::listen::{Counters, Peer};
use crate::loops::{LoopStream, Socket};
use crate::memory::{Allowance, Reservation, SMALL};
use crate::outbox::Outbox;
use crate::protocol::{Answer, Limits, Protocol};
use crate::ranks;
use crate::received::ReceiveBuffer;
use crate::stall::{Serving, Watchdog};
use crate::to_client::ToClient;

/// The side of a connection that reads. One task has it at a time.
struct Reading {
    received: ReceiveBuffer,
    /// When the message that is arriving must be there in full.
    deadline: Option<Instant>,
    /// Memory that was reserved for it.
    reserved: Reservation,
    /// How much of it is written before that.
    early: EarlyProgress,
    eager: EagerReceive,
    turn: ConnectionTurn,
    /// What comes are records of TLS.
    is_tls: bool,
    /// Its handshake goes on.
    is_handshaking: bool,
    /// Dropped when reading has ended, whoever read last.
    _end: tokio::sync::oneshot::Sender<()>,
}

/// What the reader leaves for the watchdog while it answers a message.
#[derive(Default)]
struct ReaderState {
    reading: Option<Reading>,
    /// The messages that threads are stuck with, and what they are about.
    stuck: Vec<(u32, RequestSubject)>,
}

/// A connection being served, shared by its reader, the watchdog and pending answers.
struct Connection<P> {
    protocol: P,
    outbox: Arc<Outbox>,
    allowance: Arc<Allowance>,
    limits: Limits,
    counters: Arc<Counters>,
    watchdog: Arc<Watchdog>,
    socket: Arc<Socket>,
    /// The client.
    client: IpAddr,
    /// Bytes of reserved streams, of those that it has moved.
    reserved: AtomicU64,
    me: Weak<Self>,
    handed_over: Mutex<ReaderState, ranks::ReadingSide>,
    messages: AtomicU32,
    current: Arc<PolledMessage>,
    watched: AtomicBool,
    in_flight: Arc<Semaphore>,
}

/// Serves one connection until either side ends it.
pub async fn serve<P: Protocol>(
    stream: LoopStream,
    peer: &Peer,
    protocol: P,
    limits: Limits,
    watchdog: Arc<Watchdog>,
) {
    let socket = stream.socket().clone();
    if limits.acknowledges_at_once {
        let _ = rustix::net::sockopt::set_tcp_quickack(socket.stream(), true); // only costs latency
    }
    let connection = Arc::new_cyclic(|me| Connection {
        protocol,
        outbox: Arc::new(Outbox::new(socket.clone(), limits, peer.memory.clone(), peer.counters.clone())),
        allowance: peer.memory.clone(),
        limits,
        counters: peer.counters.clone(),
        watchdog,
        socket: socket.clone(),
        client: peer.address.ip(),
        reserved: AtomicU64::new(0),
        me: me.clone(),
        handed_over: Mutex::default(),
        messages: AtomicU32::new(0),
        current: Arc::default(),
        watched: AtomicBool::new(false),
        in_flight: Arc::new(Semaphore::new(limits.in_flight)),
    });
    let outbox = Arc::downgrade(&connection.outbox);
    peer.memory.on_end(move || outbox.upgrade().iter().for_each(|outbox| outbox.close()));
    let to_client = ToClient::over(&connection.outbox);
    connection.protocol.began(to_client);
    let (end, ended) = tokio::sync::oneshot::channel();
    let reading = Reading {
        received: ReceiveBuffer::default(),
        deadline: None,
        reserved: Reservation::default(),
        turn: ConnectionTurn::default(),
        early: EarlyProgress::default(),
        eager: EagerReceive::default(),
        is_tls: false,
        is_handshaking: false,
        _end: end,
    };
    socket.spawn(connection.clone().read(reading));
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

/// Ends the connection when an answer that waits panics, or never ends.
struct CloseOnPanic<'a>(&'a Outbox);

impl Drop for CloseOnPanic<'_> {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// Ends the connection when the answer to a message panics.
struct EndOnPanic<'a, P: Protocol>(&'a Connection<P>, u32);

impl<P: Protocol> Drop for EndOnPanic<'_, P> {
    fn drop(&mut self) {
        let Self(connection, number) = *self;
        let ended = connection.current.end(number);
        drop(connection.take_back(number, ended.is_some()));
        connection.outbox.close();
    }
}

impl<P: Protocol> Connection<P> {
    async fn read(self: Arc<Self>, mut reading: Reading) {
        loop {
            let missing = loop {
                if !reading.is_tls
                    && let Some(config) = self.protocol.begins_tls()
                    && !Box::pin(self.secure(&mut reading, config)).await
                {
                    return;
                }
                let available = reading.received.bytes().len();
                let length = match self.protocol.message_length(reading.received.bytes()) {
                    Ok(Some(length)) if length <= available => length,
                    Ok(length) => break length.map_or(1, |length| length - available),
                    Err(why) => {
                        tracing::debug!(why, "connection ended");
                        self.outbox.close();
                        return;
                    }
                };
                let message = reading.received.take(length);
                self.outbox.note_request(reading.received.bytes().is_empty(), length);
                match self.answer(message, reading) {
                    Some(back) => reading = back,
                    None => return,
                }
                if !self.has_room().await {
                    return;
                }
                self.flush_if_due(&mut reading);
                self.yield_if_due(&mut reading).await;
            };
            self.outbox.flush();
            reading.turn.flushed();
            if !self.receive(&mut reading, missing).await {
                return;
            }
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

    /// Answers a message on this thread as far as it goes without waiting. Gives the reading side back, unless the
    /// watchdog has found this thread stuck and moved it.
    fn answer(&self, message: BytesMut, mut reading: Reading) -> Option<Reading> {
        reading.deadline = None;
        let (early, length) = (reading.early.end(), message.len());
        let mut reserved = std::mem::take(&mut reading.reserved);
        reserved.end_owing();
        let number = self.next_number();
        let measured = self.counters.timing.begin(number);
        let in_flight = InFlight::new(&self.current, &self.watchdog, number);
        let begin = || match early {
            Some(early) => early.answer(message, in_flight),
            None => self.protocol.answer(message, in_flight),
        };
        let begun = if self.limits.begins_in_order { Ok(begin()) } else { Err(begin) };
        self.handed_over.lock().reading = Some(reading);
        self.current.begin(number);
        if !self.watched.swap(true, Ordering::AcqRel) {
            self.watchdog.watch(self.me.clone());
        }
        let guard = EndOnPanic(self, number);
        let mut answer = begun.unwrap_or_else(|begin| begin());
        let poll = || answer.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        let (polled, service) = self.polled(poll);
        std::mem::forget(guard);
        let ended = self.current.end(number);
        let mut reading = self.take_back(number, ended.is_some());
        if let Some(reading) = &mut reading {
            self.note_alone(reading, length);
        }
        match polled {
            Poll::Ready(reply) => {
                self.counters.timing.end(number, measured);
                self.note_answer();
                if let Some(reply) = reply {
                    self.outbox.push(reply);
                }
                if service.is_some() {
                    self.outbox.flush(); // may wait for the disk, which is a part of the read
                }
                self.end_service(service);
            }
            Poll::Pending => match ended.and_then(|subject| self.watchdog.stuck().turns(subject)) {
                Some(turns) => self.finish_elsewhere(number, answer, (reserved, service), turns),
                None => self.finish_later(number, answer, (reserved, service)),
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
    fn finish_elsewhere(
        &self,
        number: u32,
        mut answer: Answer,
        held: (Reservation, Option<StreamService>),
        turns: Arc<Semaphore>,
    ) {
        let outbox = self.outbox.clone();
        let answer = Box::pin(async move {
            loop {
                let woken = Arc::new(WakeSignal::default());
                let waker = Waker::from(woken.clone());
                let turn = turns.acquire().await;
                let poll = move || (answer.as_mut().poll(&mut Context::from_waker(&waker)), answer);
                let (polled, back) = match tokio::task::spawn_blocking(poll).await {
                    Ok(polled) => polled,
                    Err(_) => {
                        outbox.close(); // the answer panicked
                        return None;
                    }
                };
                drop(turn);
                match polled {
                    Poll::Ready(reply) => return reply,
                    Poll::Pending => woken.0.notified().await,
                }
                answer = back;
            }
        });
        self.finish_later(number, answer, held);
    }

    /// Counts a request that is answered.
    fn note_answer(&self) {
        self.counters.requests.fetch_add(1, Ordering::Relaxed);
        self.watchdog.stuck().request_ended();
    }

    /// Answers later. What was reserved for the message is given back then.
    fn finish_later(
        &self,
        number: u32,
        answer: Answer,
        (reserved, service): (Reservation, Option<StreamService>),
    ) {
        let Some(me) = self.me.upgrade() else { return };
        self.counters.timing.begin_wait();
        // Room was made before the message was read; a second reader may have used it, which is no harm.
        let permit = self.in_flight.clone().try_acquire_owned();
        self.socket.spawn(async move {
            let unless_it_ends = CloseOnPanic(&me.outbox);
            let reply = answer.await;
            std::mem::forget(unless_it_ends);
            me.counters.timing.end_wait(number);
            me.note_answer();
            if let Some(reply) = reply {
                me.outbox.push(reply);
            }
            me.outbox.flush();
            me.end_service(service);
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
        // Under the lock: the stuck thread takes it before it says that it is stuck no longer.
        self.watchdog.stuck().began(subject);
        handed_over.stuck.push((message, subject));
        // There is none while the beginning of a message is written: the rest of it goes into the same buffer.
        if let Some(reading) = handed_over.reading.take() {
            drop(handed_over);
            tracing::debug!("a request waits for its disk; going on with the client's others");
            self.outbox.flush();
            let socket = self.socket.clone();
            socket.spawn(self.read(reading));
        }
    }

    fn unwatched(&self) {
        self.watched.store(false, Ordering::Release);
    }
}

/// Remembers that it was woken, until somebody waits for that.
#[derive(Default)]
struct WakeSignal(tokio::sync::Notify);

impl std::task::Wake for WakeSignal {
    fn wake(self: Arc<Self>) {
        self.0.notify_one();
    }
}
