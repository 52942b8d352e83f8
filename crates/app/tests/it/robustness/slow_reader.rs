//! Clients that send requests and never receive: they are throttled, with bounded memory.

use std::io::Write;
use std::time::Duration;

use nfs::wire::v3::types::Sattr3;
use nfs::wire::v3::write::StableHow;

use crate::robustness::client::{Client, read_message, record};
use crate::robustness::neighbour::Neighbour;
use crate::robustness::server::{Server, folder};

const MIB: u64 = 1 << 20;
/// The number of READs of 1 MiB: half a terabyte of replies if the client received them. The calls
/// alone fill every buffer on the way.
const READS: u32 = 512 * 1024;
/// Memory the server may need for one such client.
const BOUND: u64 = 200 * MIB;

/// Sends READs until the server accepts no more; returns how many were sent.
fn ask_without_receiving(client: &mut Client, file: &[u8], size: u64) -> u32 {
    client.stream.set_write_timeout(Some(Duration::from_secs(2))).unwrap();
    for number in 0..READS {
        let offset = u64::from(number) * MIB % size;
        if client.stream.write_all(&record(&read_message(number, file, offset, MIB as u32))).is_err() {
            return number;
        }
    }
    READS
}

fn memory_stays_bounded(what: &str, prepare: fn(&mut Client, &[u8], u64)) {
    let (top, share) = folder();
    let server = Server::start(top.path(), &share);
    let mut client = Client::mount(server.port);
    let root = client.root.clone();
    let file = client.create(&root, "big").unwrap();
    let size = 64 * MIB;
    prepare(&mut client, &file, size);
    let before = server.memory();
    let neighbour = Neighbour::start(server.port);
    let sent = ask_without_receiving(&mut client, &file, size);
    let most = (0..20).map(|_| {
        std::thread::sleep(Duration::from_millis(50));
        server.memory()
    });
    let growth = most.max().unwrap().saturating_sub(before);
    println!("{what}: {sent} reads were taken, the server grew by {:.1} MiB", growth as f64 / MIB as f64);
    assert!(sent < READS, "{what}: a client that receives nothing is not read for ever");
    assert!(growth < BOUND, "{what}: {growth} bytes");
    neighbour.finish(what);
}

#[test]
fn of_data_in_memory() {
    memory_stays_bounded("reads of cached data that nobody receives", |client, file, size| {
        let block = vec![7; MIB as usize];
        for at in 0..size / MIB {
            client.write(file, at * MIB, &block, StableHow::UNSTABLE).unwrap();
        }
    });
}

#[test]
fn of_data_that_must_be_fetched() {
    memory_stays_bounded("reads of holes that nobody receives", |client, file, size| {
        client.setattr(file, Sattr3 { size: Some(size), ..Sattr3::default() }).unwrap();
    });
}
