//! The same tests for SMB. They use the client of the crate `smb`, which shares its codecs with the
//! server: it exercises the server, and proves nothing about the encoding.

mod across;
mod across_mac;
mod chains;
pub(crate) mod client;
mod disks;
mod frames;
mod greedy;
mod identities;
mod idle;
mod killed;
mod limits;
mod namespace;
mod people;
mod requests;
mod restoring;
mod same_folder;
mod signals;
mod stalled;

pub(crate) use client::{Blocking, Smb, charge, now, ok, read_request};
pub(crate) use people::service;

use crate::robustness::neighbour::Neighbour;
use crate::robustness::server::{Server, folder};

/// Runs `hostile` next to a client that must not be affected. Afterwards, the server runs and has
/// not grown by more than `growth` bytes.
fn beside_a_neighbour(what: &str, growth: u64, hostile: impl FnOnce(u16)) {
    let (top, share) = folder();
    let server = Server::start_with_smb(top.path(), &share);
    let neighbour = Neighbour::start_smb(server.smb_port);
    let before = server.memory();
    hostile(server.smb_port);
    let grown = server.memory().saturating_sub(before);
    println!("{what}: the server grew by {:.1} MiB", grown as f64 / MIB as f64);
    assert!(grown <= growth, "{what}: grew by {grown} bytes");
    neighbour.finish(what);
    Smb::enter(server.smb_port).echo().unwrap();
}

const MIB: u64 = 1 << 20;
