//! Thousands of idle connections and sessions.

use std::time::Instant;

use super::client::{Afp, connect};
use crate::robustness::connections::{possible, until_accepted};
use crate::robustness::server::{Server, folder};

const SESSIONS: u64 = 2_000;
/// Memory of the server per idle connection without a message.
const CONNECTION: u64 = 16 * 1024;
/// Memory of the server per idle session with a volume, including its connection.
const SESSION: u64 = 32 * 1024;

#[test]
fn thousands_of_connections_before_login_cost_little_and_the_next_is_served() {
    let count = possible();
    let (top, share) = folder();
    let server = Server::start_with_afp(top.path(), &share);
    let mut busy = Afp::enter(server.afp_port);
    let before = server.memory();
    let begun = Instant::now();
    let idle: Vec<_> = (0..count).map(|_| connect(server.afp_port).unwrap()).collect();
    let opened = begun.elapsed();
    until_accepted(server.afp_port);
    let each = server.memory().saturating_sub(before) / count;
    println!("{count} connections without a word, opened in {opened:?}: {each} bytes each");
    assert!(each <= CONNECTION, "{each} bytes per idle connection");
    busy.parameters_of_root();
    Afp::enter(server.afp_port).make("notes", b"abc");
    drop(idle);
    Afp::enter(server.afp_port).parameters_of_root();
}

#[test]
fn thousands_of_idle_sessions_cost_little_and_are_still_served() {
    let count = possible().min(SESSIONS);
    let (top, share) = folder();
    let server = Server::start_with_afp(top.path(), &share);
    let mut busy = Afp::enter(server.afp_port);
    let file = busy.make("notes", b"abc");
    let before = server.memory();
    let begun = Instant::now();
    let mut idle: Vec<Afp> = (0..count).map(|_| Afp::enter(server.afp_port)).collect();
    let opened = begun.elapsed();
    let each = server.memory().saturating_sub(before) / count;
    println!("{count} idle sessions, opened in {opened:?}: {each} bytes each");
    assert!(each <= SESSION, "{each} bytes per idle session");
    assert_eq!(busy.client.read(file, 0, 10).unwrap(), b"abc");
    for afp in idle.iter_mut().step_by(50) {
        afp.parameters_of_root();
    }
}
