//! What a small request costs: one client with one request in flight, on the server's processor and on another.
//!
//! ```text
//! cargo run --release -p conn --example small [SECONDS]
//! ```
//!
//! Prints requests a second and µs of processor time for each, of server and client together.

#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a tool for developers")]

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use bytes::BytesMut;
use conn::{Answer, InFlight, Limits, Loops, Peer, Polling, Protocol, Reply, Watchdog};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use rustix::time::{ClockId, clock_gettime};

/// The lengths of a request and of a reply, in bytes.
const REQUEST: usize = 64;
const REPLY: usize = 1024;
/// Requests between two looks at the clock.
const BATCH: u64 = 64;

/// Answers each request with the same bytes.
struct Fixed;

impl Protocol for Fixed {
    fn message_length(&self, bytes: &[u8]) -> Result<Option<usize>, &'static str> {
        Ok((!bytes.is_empty()).then_some(REQUEST))
    }

    fn answer(&self, _message: BytesMut, _in_flight: InFlight) -> Answer {
        Box::pin(async { Some(Reply { head: vec![7; REPLY], ..Reply::default() }) })
    }
}

/// Keeps the threads that begin from now on, and this one, on these processors.
fn stay_on(processors: &[usize]) {
    let mut set = CpuSet::new();
    processors.iter().for_each(|processor| set.set(*processor));
    sched_setaffinity(None, &set).unwrap();
}

fn cpu() -> Duration {
    let spent = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(spent.tv_sec as u64, spent.tv_nsec as u32)
}

/// Sends requests for so long. Returns how many were answered.
fn drive(client: &mut TcpStream, limit: Duration) -> u64 {
    let (began, mut count, mut reply) = (Instant::now(), 0, [0; REPLY]);
    while began.elapsed() < limit {
        for _ in 0..BATCH {
            client.write_all(&[1; REQUEST]).unwrap();
            client.read_exact(&mut reply).unwrap();
        }
        count += BATCH;
    }
    count
}

fn measure(name: &str, server: usize, client_on: usize, limit: Duration) {
    stay_on(&[server]);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let _entered = runtime.enter();
    let loops = Loops::start(1, Polling::Auto).unwrap();
    let watchdog = Watchdog::start("small");
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    client.set_nodelay(true).unwrap();
    let (stream, address) = listener.accept().unwrap();
    let (counters, memory) = (Arc::default(), Arc::default());
    let peer = Peer { address, local: None, since: SystemTime::now(), counters, memory };
    let serve = |stream| async move { conn::serve(stream, &peer, Fixed, Limits::default(), watchdog).await };
    loops.serve(stream, serve).unwrap();
    stay_on(&[client_on]);
    drive(&mut client, limit / 4);
    let (before, began) = (cpu(), Instant::now());
    let count = drive(&mut client, limit) as f64;
    let (spent, seconds) = ((cpu() - before).as_secs_f64(), began.elapsed().as_secs_f64());
    println!(
        "{name}: {:.0} requests/s, {:.2} µs of processor time each",
        count / seconds,
        spent / count * 1e6
    );
}

fn main() {
    let seconds = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(2.0);
    let limit = Duration::from_secs_f64(seconds);
    let allowed = sched_getaffinity(None).unwrap();
    let all: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|processor| allowed.is_set(*processor)).collect();
    measure("same processor", all[0], all[0], limit);
    if let Some(other) = all.get(1) {
        measure("two processors", all[0], *other, limit);
    }
}
