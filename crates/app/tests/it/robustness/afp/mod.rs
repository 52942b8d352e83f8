//! The same tests for AFP. They use the client of the crate `afp`, which shares its codecs with the
//! server: it exercises the server, and proves nothing about the encoding.

mod across;
mod appletalk;
mod classic;
pub(crate) mod client;
mod disks;
mod frames;
mod greedy;
mod idle;
mod killed;
mod locked;
mod mac_facts;
mod mac_twins;
mod people;
mod requests;
mod signals;

pub(crate) use client::{Afp, connect, is_closed_within};

use crate::robustness::server::{Server, folder};

const MIB: u64 = 1 << 20;

/// Runs `hostile` next to a client that must not be affected. Afterwards, the server runs and has
/// not grown by more than `growth` bytes.
fn beside_a_neighbour(what: &str, growth: u64, hostile: impl FnOnce(u16)) {
    let (top, share) = folder();
    let server = Server::start_with_afp(top.path(), &share);
    let mut neighbour = Afp::enter(server.afp_port);
    let file = neighbour.make("neighbour", b"content");
    let before = server.memory();
    let (stop, stopped) = std::sync::mpsc::channel::<()>();
    let port = server.afp_port;
    let reading = std::thread::spawn(move || {
        let mut answers = 0_u64;
        while stopped.try_recv() == Err(std::sync::mpsc::TryRecvError::Empty) {
            assert_eq!(neighbour.client.read(file, 0, 100).unwrap(), b"content");
            answers += 1;
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        answers
    });
    hostile(port);
    let grown = server.memory().saturating_sub(before);
    drop(stop);
    let answers = reading.join().expect("the neighbour was served");
    println!(
        "{what}: the server grew by {:.1} MiB; the neighbour got {answers} answers",
        grown as f64 / MIB as f64
    );
    assert!(grown <= growth, "{what}: grew by {grown} bytes");
    Afp::enter(port).parameters_of_root();
}
