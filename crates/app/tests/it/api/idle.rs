//! Clients that say nothing, and what the API costs while it is idle.

use std::io::Read;
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use socket2::{Domain, Socket, Type};

use super::{Server, call_null};
use crate::waiting::is_so_within;

const IDLE: u64 = 10_000;
/// Descriptors of this process besides those of idle clients.
const OTHERS: u64 = 300;
/// Addresses of loopback from which the clients connect; the administrator has one of them.
const ADDRESSES: u64 = 8;
/// Connections that the server keeps, and those that it was about to end (docs/api.md).
const KEPT: usize = 256 + 64;
/// The most memory for them, in a debug build, too.
const MOST_MEMORY: u64 = 32 << 20;
/// What the idle API may cost: threads and bytes.
const MOST_THREADS: u64 = 2;
const MOST_IDLE: u64 = 4 << 20;

impl Server {
    /// A line of the process's status, in its own unit.
    fn of_process(&self, key: &str) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix(key)).unwrap();
        line.trim().trim_end_matches(" kB").parse().unwrap()
    }

    fn own_memory(&self) -> u64 {
        self.of_process("RssAnon:") * 1024
    }

    fn descriptors(&self) -> usize {
        std::fs::read_dir(format!("/proc/{}/fd", self.child.id())).unwrap().count()
    }
}

/// A connection from this address of loopback.
fn connect_from(last: u8, port: u16) -> TcpStream {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    socket.bind(&SocketAddr::from(([127, 0, 0, last], 0)).into()).unwrap();
    socket.connect(&SocketAddr::from(([127, 0, 0, 1], port)).into()).unwrap();
    socket.into()
}

#[test]
fn ten_thousand_clients_that_say_nothing_keep_no_administrator_out() {
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit }).unwrap();
    let count = IDLE.min(limit.maximum.unwrap_or(u64::MAX).saturating_sub(OTHERS));
    if count < IDLE {
        println!("only {count} clients: the limit of open files (ulimit -Hn) allows no more");
    }
    let server = Server::start();
    let token = server.token("one", "read");
    assert_eq!(server.ask("GET /v1/shares", &token, "").status, 200);
    let (memory, descriptors) = (server.own_memory(), server.descriptors());
    let begun = Instant::now();
    let mut idle: Vec<TcpStream> =
        (0..count).map(|number| connect_from(1 + (number % ADDRESSES) as u8, server.api)).collect();
    let opened = begun.elapsed();
    let (grown, more) = (server.own_memory().saturating_sub(memory), server.descriptors() - descriptors);
    let begun = Instant::now();
    assert_eq!(server.ask("GET /v1/shares", &token, "").status, 200, "the next one is served");
    let answered = begun.elapsed();
    println!("{count} clients in {opened:?}: {grown} bytes, {more} descriptors; answered in {answered:?}");
    assert!(more <= KEPT && grown <= MOST_MEMORY);
    call_null(server.nfs);
    server.run(&["status"]);
    // The first ones were ended for later ones, and not only after a time without a request.
    idle[0].set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    assert_eq!(idle[0].read(&mut [0]).unwrap_or(0), 0);
}

/// The least that a server has cost since it is ready: threads and bytes.
#[derive(Debug, Clone, Copy)]
struct Cost {
    threads: u64,
    memory: u64,
}

impl Cost {
    const UNKNOWN: Self = Self { threads: u64::MAX, memory: u64::MAX };

    fn note(&mut self, server: &Server) {
        self.threads = self.threads.min(server.of_process("Threads:"));
        self.memory = self.memory.min(server.own_memory());
    }
}

/// How many threads of the pool a server keeps depends on how many calls met while it started. So the least of several starts counts.
#[test]
fn the_idle_api_costs_at_most_two_threads_and_4_mib() {
    let folder = || {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("one")).unwrap();
        folder
    };
    let [mut with, mut without] = [Cost::UNKNOWN; 2];
    let is_cheap = is_so_within(Duration::from_secs(60), || {
        with.note(&Server::start());
        without.note(&Server::without_api(folder(), &["one"]));
        with.threads <= without.threads + MOST_THREADS && with.memory <= without.memory + MOST_IDLE
    });
    println!("with the idle API and without it: {with:?}, {without:?}");
    assert!(is_cheap, "{with:?} is more than {without:?} allows");
}
