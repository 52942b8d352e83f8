//! Thousands of idle connections.

use std::time::Instant;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::robustness::client::Client;
use crate::robustness::server::{Server, folder};
use crate::waiting::until;

const CONNECTIONS: u64 = 10_000;
/// Descriptors that a process needs in addition to these connections.
const OTHERS: u64 = 2_000;
/// Memory of the server per idle connection.
const EACH: u64 = 16 * 1024;

/// How many connections this process and the server may have: descriptors are limited per process.
pub(crate) fn possible() -> u64 {
    let limit = getrlimit(Resource::Nofile);
    let maximum = limit.maximum.unwrap_or(u64::MAX);
    setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit }).unwrap();
    CONNECTIONS.min(maximum.saturating_sub(OTHERS))
}

/// Waits until the server at this port has accepted all connections: until none is in the kernel's queue.
pub(crate) fn until_accepted(port: u16) {
    let (at, listens) = (format!(":{port:04X}"), "0A"); // TCP_LISTEN, whose second queue has the connections
    until("not all are accepted", || {
        let sockets = std::fs::read_to_string("/proc/net/tcp").unwrap();
        let sockets = sockets.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
        let mut ours = sockets.filter(|cells| cells[1].ends_with(&at) && cells[3] == listens);
        ours.all(|cells| cells[4].ends_with(":00000000"))
    });
}

#[test]
fn thousands_of_idle_connections_cost_little_and_the_next_is_served() {
    let count = possible();
    if count < CONNECTIONS {
        println!(
            "only {count} of {CONNECTIONS} connections: the limit of open files (ulimit -Hn) allows no more"
        );
    }
    let (top, share) = folder();
    let server = Server::start(top.path(), &share);
    let mut busy = Client::mount(server.port);
    let root = busy.root.clone();
    let file = busy.create(&root, "notes").unwrap();
    let before = server.memory();
    let begun = Instant::now();
    let mut idle: Vec<Client> = Vec::new();
    for _ in 0..count {
        let mut client = Client::connect(server.port).unwrap();
        client.null().unwrap();
        idle.push(client);
    }
    let opened = begun.elapsed();
    let each = server.memory().saturating_sub(before) / count;
    println!("{count} idle connections, opened in {opened:?}: {each} bytes each");
    assert!(each <= EACH, "{each} bytes per idle connection");

    assert!(busy.getattr(&file).is_ok());
    let mut fresh = Client::mount(server.port);
    assert_eq!(fresh.lookup(&root, "notes").as_ref(), Ok(&file));
    for client in idle.iter_mut().step_by(100) {
        client.null().unwrap(); // still answered
    }
    drop(idle);
    Client::mount(server.port).null().unwrap();
}
