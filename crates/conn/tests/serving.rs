//! What one connection does, with a protocol made for the test at the other end of a socket.
#![allow(clippy::unwrap_used)] // also in helpers of tests

use std::fs::File;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::BytesMut;
use conn::{Answer, InFlight, Limits, Peer, Protocol, Reply, Watchdog};
use parking_lot::{Condvar, Mutex};
use resources::Payload;
use tokio::sync::Semaphore;

use crate::scene::Server;
use crate::waiting::until;

mod scene;
mod tls;
#[path = "scene/waiting.rs"]
mod waiting;

/// A connection that speaks `protocol`, served as long as the server lives.
fn connected(protocol: impl Protocol, limits: Limits) -> (TcpStream, Server) {
    let server = Server::new(2);
    (server.connect(protocol, limits), server)
}

/// The length of a message of one byte.
fn one_byte(bytes: &[u8]) -> Result<Option<usize>, &'static str> {
    Ok((!bytes.is_empty()).then_some(1))
}

/// Messages are bytes, and each is answered with itself.
struct Bytewise(Arc<Mutex<Vec<u8>>>);

impl Protocol for Bytewise {
    fn message_length(&self, bytes: &[u8]) -> Result<Option<usize>, &'static str> {
        one_byte(bytes)
    }

    fn answer(&self, message: BytesMut, _: InFlight) -> Answer {
        let byte = message[0];
        if byte == 1 {
            std::thread::sleep(Duration::from_millis(100)); // many looks of the watchdog
        }
        self.0.lock().push(byte);
        Box::pin(async move { Some(Reply { head: vec![byte], ..Reply::default() }) })
    }
}

#[test]
fn messages_of_protocols_that_need_it_are_taken_in_order_however_slow_a_thread_is() {
    let taken = Arc::new(Mutex::new(Vec::new()));
    let limits = Limits { begins_in_order: true, ..Limits::default() };
    let (mut client, _runtime) = connected(Bytewise(taken.clone()), limits);
    client.write_all(&[1, 2, 3]).unwrap();
    let mut answers = [0; 3];
    client.read_exact(&mut answers).unwrap();
    assert_eq!((answers, &taken.lock()[..]), ([1, 2, 3], &[1, 2, 3][..]));
}

/// Each byte is answered with so many MiB of a file, which has less.
struct ShortFileProtocol(Arc<OwnedFd>);

const MIB: usize = 1 << 20;
const THERE: usize = 300_000;

impl ShortFileProtocol {
    fn new() -> Self {
        let file = rustix::fs::memfd_create("truncated", rustix::fs::MemfdFlags::CLOEXEC).unwrap();
        let mut file = File::from(file);
        file.write_all(&vec![7; THERE]).unwrap();
        Self(Arc::new(file.into()))
    }
}

impl Protocol for ShortFileProtocol {
    fn message_length(&self, bytes: &[u8]) -> Result<Option<usize>, &'static str> {
        one_byte(bytes)
    }

    fn answer(&self, message: BytesMut, _: InFlight) -> Answer {
        let length = usize::from(message[0]) * MIB;
        let body = Some(Payload::File { fd: self.0.clone(), offset: 0, length });
        Box::pin(async move { Some(Reply { head: vec![1], body, ..Reply::default() }) })
    }
}

#[test]
fn zeros_stand_for_what_was_truncated_after_it_was_promised() {
    let (mut client, _server) = connected(ShortFileProtocol::new(), Limits::default());
    client.write_all(&[2, 1]).unwrap();
    for mib in [2, 1] {
        let mut reply = vec![9; 1 + mib * MIB];
        client.read_exact(&mut reply).unwrap();
        assert!(reply[0] == 1 && reply[1..][..THERE].iter().all(|byte| *byte == 7));
        assert!(reply[1 + THERE..].iter().all(|byte| *byte == 0));
    }
}

#[test]
fn or_the_connection_ends() {
    let limits = Limits { zeros_for_truncated: false, ..Limits::default() };
    let (mut client, _server) = connected(ShortFileProtocol::new(), limits);
    client.write_all(&[1]).unwrap();
    let mut reply = Vec::new();
    // The end comes as such, or as a reset.
    let _ = client.read_to_end(&mut reply);
    assert!(reply.len() <= 1 + THERE, "{} bytes", reply.len());
}

/// Does what each message, of one byte or two, says.
#[derive(Clone)]
struct CommandedProtocol(Arc<Gates>);

struct Gates {
    /// Messages that were begun.
    begun: AtomicUsize,
    /// Threads that are blocked by [`BLOCK`] now.
    blocked: AtomicUsize,
    /// What [`BLOCK`] waits for.
    is_open: Mutex<bool>,
    opened: Condvar,
    /// What [`WAIT`] waits for: a permit each.
    permits: Semaphore,
}

/// Is answered at once.
const ECHO: u8 = b'e';
/// Blocks its thread.
const BLOCK: u8 = b'b';
const BLOCKED_AT_MOST: Duration = Duration::from_secs(20);
/// Ends all [`BLOCK`]s, and keeps its thread a little longer, but not long enough to count as stuck.
const UNBLOCK: u8 = b'u';
/// Waits without a thread.
const WAIT: u8 = b'w';
/// Is answered with [`LONG`] bytes.
const MUCH: u8 = b'm';
/// The first of two bytes.
const TWO: u8 = b'2';
const LONG: usize = 64 * 1024;

impl Gates {
    fn open(&self) {
        *self.is_open.lock() = true;
        self.opened.notify_all();
    }

    fn close(&self) {
        *self.is_open.lock() = false;
    }

    fn block(&self) {
        let mut is_open = self.is_open.lock();
        self.blocked.fetch_add(1, Ordering::Relaxed);
        while !*is_open && !self.opened.wait_for(&mut is_open, BLOCKED_AT_MOST).timed_out() {}
        self.blocked.fetch_sub(1, Ordering::Relaxed);
    }

    fn until_blocked(&self, count: usize) {
        until(&format!("not {count} threads are blocked"), || self.blocked.load(Ordering::Relaxed) == count);
    }
}

impl CommandedProtocol {
    fn new() -> Self {
        let gates = Gates {
            begun: AtomicUsize::new(0),
            blocked: AtomicUsize::new(0),
            is_open: Mutex::new(false),
            opened: Condvar::new(),
            permits: Semaphore::new(0),
        };
        Self(Arc::new(gates))
    }

    fn begun(&self) -> usize {
        self.0.begun.load(Ordering::Relaxed)
    }

    /// Waits until no more messages begin.
    fn settled(&self) -> usize {
        for _ in 0..100 {
            let before = self.begun();
            std::thread::sleep(Duration::from_millis(100));
            if before == self.begun() {
                return before;
            }
        }
        panic!("messages begin for ten seconds");
    }
}

impl Protocol for CommandedProtocol {
    fn message_length(&self, bytes: &[u8]) -> Result<Option<usize>, &'static str> {
        match bytes {
            [] | [TWO] => Ok(None),
            [TWO, ..] => Ok(Some(2)),
            [b'x', ..] => Err("no message begins so"),
            _ => Ok(Some(1)),
        }
    }

    fn answer(&self, message: BytesMut, in_flight: InFlight) -> Answer {
        let (gates, command) = (self.0.clone(), message[0]);
        gates.begun.fetch_add(1, Ordering::Relaxed);
        Box::pin(async move {
            match command {
                BLOCK => {
                    in_flight.about(&"the file").await;
                    gates.block();
                }
                UNBLOCK => {
                    gates.open();
                    std::thread::sleep(Duration::from_millis(4));
                }
                WAIT => gates.permits.acquire().await.unwrap().forget(),
                _ => {}
            }
            let length = if command == MUCH { LONG } else { 1 };
            Some(Reply { head: vec![command; length], ..Reply::default() })
        })
    }
}

fn receives(client: &mut TcpStream, byte: u8) {
    let mut reply = [0];
    client.read_exact(&mut reply).unwrap();
    assert_eq!(reply[0], byte);
}

#[test]
fn threads_that_are_blocked_hold_up_neither_other_connections_nor_their_own() {
    let (server, protocol) = (Server::new(2), CommandedProtocol::new());
    let connect = || server.connect(protocol.clone(), Limits::default());
    // More than there are loops. After the first one the watchdog knows what they are about.
    let mut blocked: Vec<TcpStream> = (0..6).map(|_| connect()).collect();
    for client in &mut blocked {
        client.write_all(&[BLOCK]).unwrap();
        std::thread::sleep(Duration::from_millis(50)); // many looks of the watchdog
    }
    let mut other = connect();
    other.write_all(&[ECHO, ECHO]).unwrap();
    receives(&mut other, ECHO);
    for client in &mut blocked {
        client.write_all(&[ECHO]).unwrap();
        receives(client, ECHO); // ahead of the reply that is blocked
    }
    protocol.0.open();
    for client in &mut blocked {
        receives(client, BLOCK);
    }
}

/// The file that the stuck thread waited for is not taken for stuck afterwards, although another message was being answered
/// when that thread came back: the next message about it blocks a worker again, and four of the others one of the pool each.
#[test]
fn a_thread_that_is_stuck_no_longer_leaves_the_reader_that_went_on_alone() {
    let (protocol, limits) = (CommandedProtocol::new(), Limits::default());
    let (mut client, _runtime) = connected(protocol.clone(), limits);
    for _ in 0..5 {
        client.write_all(&[BLOCK]).unwrap();
        protocol.0.until_blocked(1);
        std::thread::sleep(Duration::from_millis(50)); // many looks of the watchdog
        client.write_all(&[UNBLOCK]).unwrap();
        let mut replies = [0; 2];
        client.read_exact(&mut replies).unwrap();
        protocol.0.close();
        client.write_all(&[BLOCK; 8]).unwrap();
        protocol.0.until_blocked(5);
        std::thread::sleep(Duration::from_millis(50)); // no sixth one is
        protocol.0.until_blocked(5);
        protocol.0.open();
        (0..8).for_each(|_| receives(&mut client, BLOCK));
        protocol.0.until_blocked(0);
        protocol.0.close();
    }
}

#[test]
fn a_client_that_does_not_receive_is_not_read_from_and_gets_everything_in_the_end() {
    const COUNT: usize = 1500;
    let (protocol, limits) =
        (CommandedProtocol::new(), Limits { waiting_bytes: 1 << 20, ..Limits::default() });
    let (mut client, _runtime) = connected(protocol.clone(), limits);
    client.write_all(&[MUCH; COUNT]).unwrap();
    let begun = protocol.settled();
    // 1 MiB, what one turn begins beyond it, and what the sockets hold.
    assert!(begun < COUNT / 2, "{begun} messages begun");
    let mut replies = vec![0; COUNT * LONG];
    client.read_exact(&mut replies).unwrap();
    assert!(replies.iter().all(|byte| *byte == MUCH));
    assert_eq!(protocol.begun(), COUNT);
}

#[test]
fn a_client_that_receives_nothing_for_too_long_loses_its_connection() {
    let limits = Limits { send_timeout: Duration::from_millis(300), ..Limits::default() };
    let (mut client, _runtime) = connected(CommandedProtocol::new(), limits);
    client.write_all(&[MUCH; 1000]).unwrap();
    until("it is still connected", || client.write_all(&[ECHO]).is_err());
    let mut replies = Vec::new();
    let _ = client.read_to_end(&mut replies); // an end or a reset
    assert!(replies.len() < 1000 * LONG, "{} bytes", replies.len());
}

#[test]
fn half_a_message_is_waited_for_so_long_and_an_idle_client_for_ever() {
    let limits = Limits { receive_timeout: Duration::from_millis(300), ..Limits::default() };
    let (mut client, _runtime) = connected(CommandedProtocol::new(), limits);
    std::thread::sleep(Duration::from_millis(600)); // longer than the limit for half a message
    client.write_all(&[TWO, 0]).unwrap();
    receives(&mut client, TWO);
    client.write_all(&[TWO]).unwrap();
    assert_eq!(client.read(&mut [0]).unwrap(), 0);
}

#[test]
fn so_many_messages_are_in_flight_and_no_more() {
    let (protocol, limits) = (CommandedProtocol::new(), Limits { in_flight: 8, ..Limits::default() });
    let (mut client, _runtime) = connected(protocol.clone(), limits);
    client.write_all(&[WAIT; 100]).unwrap();
    assert_eq!(protocol.settled(), 8);
    protocol.0.permits.add_permits(3);
    (0..3).for_each(|_| receives(&mut client, WAIT));
    assert_eq!(protocol.settled(), 11);
    protocol.0.permits.add_permits(100);
    (0..97).for_each(|_| receives(&mut client, WAIT));
}

#[test]
fn what_is_no_message_ends_the_connection_after_the_replies_before_it() {
    let (mut client, _runtime) = connected(CommandedProtocol::new(), Limits::default());
    client.write_all(&[ECHO, ECHO, b'x', ECHO]).unwrap();
    let mut replies = Vec::new();
    let _ = client.read_to_end(&mut replies); // an end or a reset
    assert!(replies == [ECHO, ECHO] || replies.len() < 2, "{replies:?}");
}

#[test]
fn one_end_of_a_pair_of_sockets_is_a_connection() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let _entered = runtime.enter();
    let (mut ours, theirs) = UnixStream::pair().unwrap();
    ours.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let (server, watchdog) = (conn::Server::new(4, Arc::default()), Watchdog::start("test"));
    let (stop, stopping) = tokio::sync::watch::channel(false);
    let taken = Arc::new(Mutex::new(Vec::new()));
    let serve = |stream, peer: Peer| {
        let (protocol, watchdog) = (Bytewise(taken.clone()), watchdog.clone());
        async move { conn::serve(stream, &peer, protocol, Limits::default(), watchdog).await }
    };
    let address = wire::AppleTalkClient { network: 2, node: 17, socket: 250, session: 1 }.address();
    assert!(server.clone().adopt(theirs.into(), address, &stopping, serve));
    ours.write_all(&[7]).unwrap();
    let mut answer = [0];
    ours.read_exact(&mut answer).unwrap();
    assert_eq!((answer, server.peers()[0].address), ([7], address));
    stop.send_replace(true);
    assert_eq!(ours.read(&mut answer).unwrap_or(0), 0, "it ends with the server");
}
