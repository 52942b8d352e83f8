//! What one connection does, with a protocol made for the test at the other end of a socket.
#![allow(clippy::unwrap_used)] // also in helpers of tests

use std::fs::File;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bytes::BytesMut;
use conn::{Answer, Limits, Peer, Protocol, Reply, Watchdog};
use parking_lot::Mutex;
use tokio::runtime::Runtime;
use vfs::Payload;

/// A connection that speaks `protocol`, served as long as the runtime lives.
fn connected(protocol: impl Protocol, limits: Limits) -> (TcpStream, Runtime) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(4).enable_all().build().unwrap();
    let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    client.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let (stream, address) = listener.accept().unwrap();
    stream.set_nonblocking(true).unwrap();
    let peer = Peer { address, since: SystemTime::now(), counters: Arc::default(), memory: Arc::default() };
    runtime.spawn(async move {
        let stream = tokio::net::TcpStream::from_std(stream).unwrap();
        conn::serve(stream, &peer, protocol, limits, Watchdog::start("test")).await;
    });
    (client, runtime)
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

    fn answer(&self, message: BytesMut) -> Answer {
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
struct Promised(Arc<OwnedFd>);

const MIB: usize = 1 << 20;
const THERE: usize = 300_000;

impl Promised {
    fn new() -> Self {
        let file = rustix::fs::memfd_create("truncated", rustix::fs::MemfdFlags::CLOEXEC).unwrap();
        let mut file = File::from(file);
        file.write_all(&vec![7; THERE]).unwrap();
        Self(Arc::new(file.into()))
    }
}

impl Protocol for Promised {
    fn message_length(&self, bytes: &[u8]) -> Result<Option<usize>, &'static str> {
        one_byte(bytes)
    }

    fn answer(&self, message: BytesMut) -> Answer {
        let length = usize::from(message[0]) * MIB;
        let body = Some(Payload::File { fd: self.0.clone(), offset: 0, length });
        Box::pin(async move { Some(Reply { head: vec![1], body, ..Reply::default() }) })
    }
}

#[test]
fn zeros_stand_for_what_was_truncated_after_it_was_promised() {
    for copies_for_local in [false, true] {
        let limits = Limits { copies_for_local, ..Limits::default() };
        let (mut client, _runtime) = connected(Promised::new(), limits);
        client.write_all(&[2, 1]).unwrap();
        for mib in [2, 1] {
            let mut reply = vec![9; 1 + mib * MIB];
            client.read_exact(&mut reply).unwrap();
            assert!(reply[0] == 1 && reply[1..][..THERE].iter().all(|byte| *byte == 7));
            assert!(reply[1 + THERE..].iter().all(|byte| *byte == 0), "copied: {copies_for_local}");
        }
    }
}

#[test]
fn or_the_connection_ends() {
    for copies_for_local in [false, true] {
        let limits = Limits { copies_for_local, zeros_for_truncated: false, ..Limits::default() };
        let (mut client, _runtime) = connected(Promised::new(), limits);
        client.write_all(&[1]).unwrap();
        let mut reply = Vec::new();
        // The end comes as such, or as a reset.
        let _ = client.read_to_end(&mut reply);
        assert!(reply.len() <= 1 + THERE, "{} bytes", reply.len());
    }
}
