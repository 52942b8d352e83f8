//! Thousands of idle connections and sessions.

use std::time::Instant;

use super::client::{connect, enter};
use crate::robustness::connections::{possible, until_accepted};
use crate::robustness::server::{Server, folder};

const SESSIONS: u64 = 2_000;
/// Memory of the server per idle connection without a message.
const CONNECTION: u64 = 16 * 1024;
/// Memory of the server per idle session, including its connection.
const SESSION: u64 = 32 * 1024;

#[test]
fn thousands_of_connections_before_login_cost_little_and_the_next_is_served() {
    let count = possible();
    let (top, share) = folder();
    let server = Server::start_with_iscsi(top.path(), &share);
    let mut busy = enter(server.iscsi_port);
    let before = server.memory();
    let begun = Instant::now();
    let idle: Vec<_> = (0..count).map(|_| connect(server.iscsi_port).unwrap()).collect();
    let opened = begun.elapsed();
    until_accepted(server.iscsi_port);
    let each = server.memory().saturating_sub(before) / count;
    println!("{count} connections without a word, opened in {opened:?}: {each} bytes each");
    assert!(each <= CONNECTION, "{each} bytes per idle connection");
    busy.read(0, 0, 8).unwrap();
    enter(server.iscsi_port).write(0, 0, &[1; 512], true).unwrap();
    drop(idle);
    enter(server.iscsi_port).read(0, 0, 8).unwrap();
}

#[test]
fn thousands_of_idle_sessions_cost_little_and_are_still_served() {
    let count = possible().min(SESSIONS);
    let (top, share) = folder();
    let server = Server::start_with_iscsi(top.path(), &share);
    let mut busy = enter(server.iscsi_port);
    let before = server.memory();
    let begun = Instant::now();
    let mut idle: Vec<_> = (0..count).map(|_| enter(server.iscsi_port)).collect();
    let opened = begun.elapsed();
    let each = server.memory().saturating_sub(before) / count;
    println!("{count} idle sessions, opened in {opened:?}: {each} bytes each");
    assert!(each <= SESSION, "{each} bytes per idle session");
    busy.read(0, 0, 8).unwrap();
    for client in idle.iter_mut().step_by(50) {
        client.read(0, 0, 1).unwrap();
    }
}
