//! Writing the data of a message while the rest of it arrives, with a protocol made for the test.
#![allow(clippy::unwrap_used)] // also in helpers of tests

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use bytes::BytesMut;
use conn::{Answer, EarlyMessage, InFlight, Limits, Protocol, Reply};
use parking_lot::{Condvar, Mutex};

use crate::scene::Server;
use crate::waiting::until;

mod scene;
#[path = "scene/waiting.rs"]
mod waiting;

/// A message has its length, its command, and data.
const HEAD: usize = 5;
/// Its data are written as they arrive.
const EARLY: u8 = b'e';
/// The same, but only once.
const ONCE: u8 = b'o';
/// The same, but the first write blocks until it is let go on.
const BLOCK: u8 = b'b';
/// It waits for its whole data.
const WHOLE: u8 = b'w';
/// Its data are written as they arrive, into the file of [`BLOCK`].
const SAME: u8 = b's';
/// The answer to a message is its command, and how much of it was written early.
const ANSWER: usize = 5;

/// The length of a message of the test.
const LONG: usize = 1 << 20;
/// A part of it that is long enough to be written.
const PART: usize = 300_000;
/// Less than this is not written early.
const PIECE: usize = 128 * 1024;

/// Writes what it is told.
#[derive(Clone, Default)]
struct Disk(Arc<State>);

#[derive(Default)]
struct State {
    /// Bytes of messages that were written early.
    written: AtomicUsize,
    /// Calls that wrote them.
    calls: AtomicUsize,
    /// Messages that ended without an answer.
    lost: AtomicUsize,
    blocked: AtomicUsize,
    is_open: Mutex<bool>,
    opened: Condvar,
}

impl State {
    fn block(&self) {
        let mut is_open = self.is_open.lock();
        self.blocked.fetch_add(1, Ordering::Relaxed);
        while !*is_open {
            self.opened.wait(&mut is_open);
        }
        self.blocked.fetch_sub(1, Ordering::Relaxed);
    }

    fn open(&self) {
        *self.is_open.lock() = true;
        self.opened.notify_all();
    }
}

struct Message {
    disk: Disk,
    command: u8,
    written: usize,
    is_answered: AtomicBool,
}

impl EarlyMessage for Message {
    fn write(&mut self, arrived: &[u8]) -> bool {
        let state = &self.disk.0;
        if self.command == BLOCK && self.written == 0 {
            state.block();
        }
        assert!(arrived[HEAD..].iter().all(|byte| *byte == 7));
        state.written.fetch_add(arrived.len() - self.written, Ordering::Relaxed);
        state.calls.fetch_add(1, Ordering::Relaxed);
        self.written = arrived.len();
        self.command != ONCE
    }

    fn answer(self: Box<Self>, message: BytesMut, in_flight: InFlight) -> Answer {
        self.is_answered.store(true, Ordering::Relaxed);
        answer(message, self.written, in_flight)
    }
}

impl Drop for Message {
    fn drop(&mut self) {
        if !*self.is_answered.get_mut() {
            self.disk.0.lost.fetch_add(1, Ordering::Relaxed);
        }
    }
}

fn answer(message: BytesMut, written: usize, in_flight: InFlight) -> Answer {
    let command = message[4];
    Box::pin(async move {
        if matches!(command, BLOCK | SAME) {
            in_flight.about(&"the file").await; // on the pool, while it is stuck
        }
        let head = [&[command][..], &(written as u32).to_be_bytes()].concat();
        Some(Reply { head, ..Reply::default() })
    })
}

impl Protocol for Disk {
    fn message_length(&self, bytes: &[u8]) -> Result<Option<usize>, &'static str> {
        Ok(bytes.first_chunk().map(|length| u32::from_be_bytes(*length) as usize))
    }

    fn answer(&self, message: BytesMut, in_flight: InFlight) -> Answer {
        answer(message, 0, in_flight)
    }

    fn begin_early(
        &self,
        arrived: &[u8],
        length: usize,
        in_flight: &InFlight,
    ) -> Option<Box<dyn EarlyMessage>> {
        assert_eq!(length, LONG);
        let command = arrived[4];
        let may = match command {
            WHOLE => false,
            BLOCK | SAME => in_flight.may_begin(&"the file"),
            _ => true,
        };
        let message =
            Message { disk: self.clone(), command, written: 0, is_answered: AtomicBool::new(false) };
        may.then(|| Box::new(message) as Box<dyn EarlyMessage>)
    }
}

fn message(command: u8, length: usize) -> Vec<u8> {
    [&(length as u32).to_be_bytes(), &[command][..], &vec![7; length - HEAD]].concat()
}

/// Reads an answer: how much of the message was written early.
fn answered(client: &mut TcpStream, command: u8) -> usize {
    let mut answer = [0; ANSWER];
    client.read_exact(&mut answer).unwrap();
    assert_eq!(answer[0], command);
    u32::from_be_bytes(*answer.last_chunk().unwrap()) as usize
}

/// A client that keeps one message in flight, as the server has seen.
fn alone(server: &Server, disk: &Disk) -> TcpStream {
    let mut client = server.connect(disk.clone(), Limits::default());
    for _ in 0..8 {
        client.write_all(&message(WHOLE, HEAD)).unwrap();
        assert_eq!(answered(&mut client, WHOLE), 0);
    }
    client
}

/// Waits until so much has arrived of messages that are written early, and is written.
fn until_written(disk: &Disk, arrived: usize) {
    until("nothing was written early", || disk.0.written.load(Ordering::Relaxed) + PIECE > arrived);
}

#[test]
fn what_has_arrived_is_written_while_the_rest_is_awaited() {
    let (server, disk) = (Server::new(1), Disk::default());
    let mut client = alone(&server, &disk);
    let message = message(EARLY, LONG);
    client.write_all(&message[..PART]).unwrap();
    until_written(&disk, PART);
    client.write_all(&message[PART..2 * PART]).unwrap();
    until_written(&disk, 2 * PART);
    client.write_all(&message[2 * PART..]).unwrap();
    assert!(answered(&mut client, EARLY) + PIECE > 2 * PART);
    assert!(disk.0.calls.load(Ordering::Relaxed) >= 2);
}

#[test]
fn a_client_that_sends_long_messages_alone_is_known_by_them() {
    let (server, disk) = (Server::new(1), Disk::default());
    let mut client = server.connect(disk.clone(), Limits::default());
    for _ in 0..8 {
        client.write_all(&message(WHOLE, LONG)).unwrap();
        assert_eq!(answered(&mut client, WHOLE), 0);
    }
    let message = message(EARLY, LONG);
    client.write_all(&message[..PART]).unwrap();
    until_written(&disk, PART);
    client.write_all(&message[PART..]).unwrap();
    assert!(answered(&mut client, EARLY) + PIECE > PART);
}

#[test]
fn a_client_with_more_in_flight_has_its_messages_whole() {
    let (server, disk) = (Server::new(1), Disk::default());
    let mut client = alone(&server, &disk);
    // The second one begins before the first one is answered.
    let both = [message(WHOLE, HEAD), message(EARLY, LONG)].concat();
    client.write_all(&both[..PART]).unwrap();
    assert_eq!(answered(&mut client, WHOLE), 0);
    client.write_all(&both[PART..]).unwrap();
    assert_eq!(answered(&mut client, EARLY), 0);
}

#[test]
fn a_message_that_must_be_whole_is_not_written_before() {
    let (server, disk) = (Server::new(1), Disk::default());
    let mut client = alone(&server, &disk);
    let whole = message(WHOLE, LONG);
    for part in whole.chunks(PART) {
        client.write_all(part).unwrap();
    }
    assert_eq!(answered(&mut client, WHOLE), 0);
    assert_eq!(disk.0.written.load(Ordering::Relaxed), 0);
}

#[test]
fn after_a_write_that_stops_it_the_rest_comes_with_the_answer() {
    let (server, disk) = (Server::new(1), Disk::default());
    let mut client = alone(&server, &disk);
    let message = message(ONCE, LONG);
    client.write_all(&message[..PART]).unwrap();
    until_written(&disk, PART);
    client.write_all(&message[PART..]).unwrap();
    assert!(answered(&mut client, ONCE) < LONG);
    assert_eq!(disk.0.calls.load(Ordering::Relaxed), 1);
}

#[test]
fn a_connection_that_ends_in_a_message_ends_its_early_write() {
    let (server, disk) = (Server::new(1), Disk::default());
    let mut client = alone(&server, &disk);
    client.write_all(&message(EARLY, LONG)[..PART]).unwrap();
    until_written(&disk, PART);
    drop(client);
    until("it goes on", || disk.0.lost.load(Ordering::Relaxed) == 1);
}

#[test]
fn a_write_that_blocks_delays_its_own_connection_only() {
    let (server, disk) = (Server::new(1), Disk::default());
    let (mut client, mut other) = (alone(&server, &disk), alone(&server, &disk));
    let blocked = message(BLOCK, LONG);
    client.write_all(&blocked[..PART]).unwrap();
    until("no write is blocked", || disk.0.blocked.load(Ordering::Relaxed) == 1);
    // The loop goes on, and so does the disk for other files.
    let early = message(EARLY, LONG);
    other.write_all(&early[..PART]).unwrap();
    until_written(&disk, PART);
    other.write_all(&early[PART..]).unwrap();
    assert!(answered(&mut other, EARLY) + PIECE > PART);
    // What is about the same file is not written early from then on.
    let same = message(SAME, LONG);
    until("the file is not known to be stuck", || {
        other.write_all(&same[..PART]).unwrap();
        other.write_all(&same[PART..]).unwrap();
        answered(&mut other, SAME) == 0
    });
    disk.0.open();
    client.write_all(&blocked[PART..]).unwrap();
    assert!(answered(&mut client, BLOCK) > 0);
}
