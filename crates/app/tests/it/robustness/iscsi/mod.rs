//! The same tests for iSCSI. They use the client of the crate `iscsi`, which shares its codecs with
//! the server: it exercises the server, and proves nothing about the encoding.

mod across;
mod client;
mod disks;
mod filesystem;
mod frames;
mod greedy;
mod idle;
mod inside;
mod killed;
mod logins;
mod people;
mod requests;
mod sessions;
mod signals;
mod stalled;

use std::sync::mpsc;
use std::time::{Duration, Instant};

use client::BLOCKS;
pub(crate) use client::{Iscsi, enter, enter_with, is_closed_within, isid, log_in, login};

use crate::robustness::server::{Server, folder};

const MIB: u64 = 1 << 20;
/// The deadline for closing a hopeless connection.
const SOON: Duration = Duration::from_secs(20);
/// The longest time of a neighbour's round, on a busy machine.
const SLOWEST: Duration = Duration::from_secs(15);
/// Blocks at the disk's end that belong to the neighbour.
const ITS_BLOCKS: u64 = 8;

/// Runs `hostile` next to an initiator that must not be affected. Afterwards, the server runs and
/// has not grown by more than `growth` bytes.
fn beside_a_neighbour(what: &str, growth: u64, hostile: impl FnOnce(u16)) {
    let (top, share) = folder();
    let server = Server::start_with_iscsi(top.path(), &share);
    let port = server.iscsi_port;
    let mut neighbour = enter(port);
    works(&mut neighbour, 0);
    let before = server.memory();
    let (stop, stopped) = mpsc::channel::<()>();
    let working = std::thread::spawn(move || {
        let (mut rounds, mut slowest) = (0_u32, Duration::ZERO);
        while stopped.try_recv() == Err(mpsc::TryRecvError::Empty) {
            let begun = Instant::now();
            works(&mut neighbour, rounds as u8);
            slowest = slowest.max(begun.elapsed());
            rounds += 1;
            std::thread::sleep(Duration::from_millis(1));
        }
        (rounds, slowest)
    });
    hostile(port);
    let grown = server.memory().saturating_sub(before);
    drop(stop);
    let (rounds, slowest) = working.join().expect("the neighbour got only right answers");
    let mib = grown as f64 / MIB as f64;
    println!(
        "{what}: the server grew by {mib:.1} MiB; the neighbour made {rounds} rounds, the slowest took {slowest:?}"
    );
    assert!(grown <= growth, "{what}: grew by {grown} bytes");
    assert!(slowest < SLOWEST, "{what}: the slowest of {rounds} rounds took {slowest:?}");
    works(&mut enter(port), 1);
}

/// Writes and reads blocks at the end of the disk.
fn works(iscsi: &mut Iscsi, byte: u8) {
    let data = vec![byte; ITS_BLOCKS as usize * 512];
    iscsi.write(0, BLOCKS - ITS_BLOCKS, &data, false).unwrap();
    assert!(iscsi.read(0, BLOCKS - ITS_BLOCKS, ITS_BLOCKS as u32).unwrap() == data);
}
