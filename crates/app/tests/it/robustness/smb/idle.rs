//! Thousands of idle connections and sessions.

use std::time::Instant;

use super::client::{Blocking, Smb};
use crate::robustness::connections::{possible, until_accepted};
use crate::robustness::server::{Server, folder};

/// The logins of one connection are limited; so each has a connection of its own.
const SESSIONS: u64 = 2_000;
/// Memory of the server per idle connection without a message.
const CONNECTION: u64 = 16 * 1024;
/// Memory of the server per idle session with a tree, including its connection.
const SESSION: u64 = 32 * 1024;

#[test]
fn thousands_of_connections_before_login_cost_little_and_the_next_is_served() {
    let count = possible();
    let (top, share) = folder();
    let server = Server::start_with_smb(top.path(), &share);
    let mut busy = Smb::enter(server.smb_port);
    let before = server.memory();
    let begun = Instant::now();
    let idle: Vec<_> = (0..count).map(|_| Blocking::connect(server.smb_port).unwrap()).collect();
    let opened = begun.elapsed();
    until_accepted(server.smb_port);
    let each = server.memory().saturating_sub(before) / count;
    println!("{count} connections without a word, opened in {opened:?}: {each} bytes each");
    assert!(each <= CONNECTION, "{each} bytes per idle connection");
    busy.echo().unwrap();
    let mut fresh = Smb::enter(server.smb_port);
    fresh.make("notes", b"abc");
    drop(idle);
    Smb::enter(server.smb_port).echo().unwrap();
}

#[test]
fn thousands_of_idle_sessions_cost_little_and_are_still_served() {
    let count = possible().min(SESSIONS);
    let (top, share) = folder();
    let server = Server::start_with_smb(top.path(), &share);
    let mut busy = Smb::enter(server.smb_port);
    let file = busy.make("notes", b"abc");
    let before = server.memory();
    let begun = Instant::now();
    let mut idle: Vec<Smb> = (0..count).map(|_| Smb::enter(server.smb_port)).collect();
    let opened = begun.elapsed();
    let each = server.memory().saturating_sub(before) / count;
    println!("{count} idle sessions, opened in {opened:?}: {each} bytes each");
    assert!(each <= SESSION, "{each} bytes per idle session");
    assert_eq!(busy.content(file).unwrap(), b"abc");
    for smb in idle.iter_mut().step_by(50) {
        smb.echo().unwrap();
    }
}
