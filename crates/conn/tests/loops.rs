//! What the connections of one event loop owe each other.
#![allow(clippy::unwrap_used)] // also in helpers of tests

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::BytesMut;
use conn::{Answer, InFlight, Limits, Protocol, Reply};
use parking_lot::{Condvar, Mutex};

use crate::scene::Server;

mod scene;

/// Is answered at once.
const ECHO: u8 = b'e';
/// Blocks its thread until the gate opens. The message says nothing of what it is about.
const BLOCK: u8 = b'b';
/// Panics.
const PANIC: u8 = b'p';
/// Panics after it has waited.
const PANIC_LATER: u8 = b'l';

/// How long an answer of another connection may take while something is wrong with the first one: far longer than 10 ms,
/// as tests share their processors, and far shorter than a call blocks.
const IN_TIME: Duration = Duration::from_secs(10);

/// Messages of one byte.
#[derive(Clone, Default)]
struct GatedProtocol(Arc<(Mutex<bool>, Condvar)>);

impl GatedProtocol {
    fn block(&self) {
        let (is_open, opened) = &*self.0;
        let mut is_open = is_open.lock();
        while !*is_open && !opened.wait_for(&mut is_open, Duration::from_secs(60)).timed_out() {}
    }

    fn open(&self) {
        *self.0.0.lock() = true;
        self.0.1.notify_all();
    }
}

impl Protocol for GatedProtocol {
    fn message_length(&self, bytes: &[u8]) -> Result<Option<usize>, &'static str> {
        Ok((!bytes.is_empty()).then_some(1))
    }

    fn answer(&self, message: BytesMut, _: InFlight) -> Answer {
        let (this, command) = (self.clone(), message[0]);
        Box::pin(async move {
            match command {
                BLOCK => this.block(),
                PANIC => panic!("a request panics, as the test wants"),
                PANIC_LATER => {
                    tokio::time::sleep(Duration::from_millis(1)).await;
                    panic!("a request panics after it has waited, as the test wants");
                }
                _ => {}
            }
            Some(Reply { head: vec![command], ..Reply::default() })
        })
    }
}

/// A server with one loop.
struct OneLoop {
    server: Server,
    protocol: GatedProtocol,
}

impl OneLoop {
    fn new() -> Self {
        Self { server: Server::new(1), protocol: GatedProtocol::default() }
    }

    fn connect(&self) -> TcpStream {
        self.server.connect(self.protocol.clone(), Limits::default())
    }
}

fn is_answered(client: &mut TcpStream) {
    let begun = Instant::now();
    client.write_all(&[ECHO]).unwrap();
    let mut reply = [0];
    client.read_exact(&mut reply).unwrap();
    assert!(reply[0] == ECHO && begun.elapsed() < IN_TIME, "{reply:?} after {:?}", begun.elapsed());
}

#[test]
fn calls_that_block_a_loop_many_times_over_delay_no_other_connection() {
    let server = OneLoop::new();
    let (mut other, mut idle) = (server.connect(), server.connect());
    let mut blocked: Vec<TcpStream> = (0..20).map(|_| server.connect()).collect();
    for client in &mut blocked {
        client.write_all(&[BLOCK]).unwrap();
        is_answered(&mut other);
    }
    is_answered(&mut idle);
    server.protocol.open();
    for client in &mut blocked {
        let mut reply = [0];
        client.read_exact(&mut reply).unwrap();
        assert_eq!(reply[0], BLOCK);
        is_answered(client);
    }
}

#[test]
fn a_panic_ends_its_connection_and_no_other() {
    let server = OneLoop::new();
    let mut other = server.connect();
    for command in [PANIC, PANIC_LATER] {
        let mut client = server.connect();
        client.write_all(&[command]).unwrap();
        let ended = client.read(&mut [0]);
        assert!(!matches!(ended, Ok(1)), "no answer comes");
        assert!(!matches!(ended, Err(error) if error.kind() == std::io::ErrorKind::WouldBlock), "it ends");
        is_answered(&mut other);
    }
}

#[test]
fn a_client_that_always_asks_leaves_time_for_others() {
    let server = OneLoop::new();
    let (mut greedy, mut other) = (server.connect(), server.connect());
    let mut replies = greedy.try_clone().unwrap();
    let receives = std::thread::spawn(move || while matches!(replies.read(&mut [0; 64 * 1024]), Ok(1..)) {});
    let ends = greedy.try_clone().unwrap();
    let asks = std::thread::spawn(move || while greedy.write_all(&[ECHO; 64 * 1024]).is_ok() {});
    for _ in 0..20 {
        is_answered(&mut other);
    }
    ends.shutdown(std::net::Shutdown::Both).unwrap();
    asks.join().unwrap();
    receives.join().unwrap();
}
