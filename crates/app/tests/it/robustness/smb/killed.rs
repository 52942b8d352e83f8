//! `kill -9` under load: written-through and flushed data survive, and clients can reconnect.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use ::smb::client::Error;
use ::smb::wire::create::{Disposition, Options, ShareAccess};
use ::smb::wire::write::Flags;

use super::Smb;
use crate::robustness::client::Client;
use crate::robustness::killed::{BLOCKS, block, start_of};
use crate::robustness::random::Random;
use crate::robustness::server::{Server, folder};
use crate::waiting::until;

const WRITERS: u32 = 2;
const KILLS: u32 = 20;

/// The way in which data are promised to be on the disk.
#[derive(Clone, Copy, PartialEq)]
enum Way {
    /// By a flag of each WRITE, MS-SMB2 2.2.21.
    WriteThrough,
    /// By an option of the open, MS-SMB2 2.2.13.
    OpenedSo,
    /// By FLUSH, after all WRITEs.
    Flush,
}

/// A file and its promised data: this many bytes from its start.
struct SmbPromise {
    name: String,
    seed: u64,
    length: u64,
}

/// Writes files until the connection breaks; returns the promised data.
fn write_until_killed(port: u16, id: u32, done: &AtomicU32) -> Vec<SmbPromise> {
    let mut smb = Smb::enter_as_machine(port, id as u8);
    let mut promised: Vec<SmbPromise> = Vec::new();
    for number in 0_u32.. {
        let way = [Way::WriteThrough, Way::OpenedSo, Way::Flush][number as usize % 3];
        let (seed, name) = (u64::from(id) << 20 | u64::from(number), format!("smb-{id}-{number}"));
        promised.push(SmbPromise { name, seed, length: 0 });
        if one_file(&mut smb, promised.last_mut().unwrap(), way, done).is_err() {
            return promised;
        }
    }
    unreachable!("it writes until the server is killed")
}

fn one_file(smb: &mut Smb, promised: &mut SmbPromise, way: Way, done: &AtomicU32) -> Result<(), Error> {
    let file = smb.try_open(&promised.name, |request| {
        request.disposition = Disposition::CREATE;
        request.share_access = ShareAccess::NONE;
        request.options = if way == Way::OpenedSo { Options::WRITE_THROUGH } else { Options::NONE };
    })?;
    let file = file.expect("a new name");
    let flags = if way == Way::WriteThrough { Flags::WRITE_THROUGH } else { Flags::NONE };
    for number in 0..BLOCKS {
        let (offset, data) = (start_of(promised.seed, number), block(promised.seed, number));
        smb.try_write(file, offset, &data, flags)?.unwrap();
        if way != Way::Flush {
            promised.length = start_of(promised.seed, number + 1);
            done.fetch_add(1, Ordering::Relaxed);
        }
    }
    if way == Way::Flush {
        smb.try_flush(file)?.unwrap();
        promised.length = start_of(promised.seed, BLOCKS);
        done.fetch_add(1, Ordering::Relaxed);
    }
    Ok(()) // the file stays open
}

/// Compares byte for byte, in the folder.
fn verify(share: &Path, promised: &SmbPromise) {
    let name = &promised.name;
    if promised.length == 0 {
        return;
    }
    let expected: Vec<u8> = (0..BLOCKS).flat_map(|number| block(promised.seed, number)).collect();
    let content = std::fs::read(share.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    let length = promised.length as usize;
    assert!(content.len() >= length, "{name}: {} of {length} promised bytes", content.len());
    assert!(content[..length] == expected[..length], "{name}: promised bytes differ");
}

#[test]
fn twenty_kills_lose_nothing_that_was_flushed_or_written_through() {
    let (top, share) = folder();
    let mut server = Server::start_with_smb(top.path(), &share);
    let port = server.smb_port;
    let mut random = Random::new(0x5eed_0013);
    let (mut files, mut bytes) = (0, 0);
    std::fs::write(share.join("over-nfs"), b"abc").unwrap();
    let mut client = Client::mount(server.port);
    let root = client.root.clone();
    let handle = client.lookup(&root, "over-nfs").unwrap();
    for kill in 0..KILLS {
        let done = Arc::new(AtomicU32::new(0));
        let writers: Vec<JoinHandle<_>> = (0..WRITERS)
            .map(|id| {
                let done = done.clone();
                std::thread::spawn(move || write_until_killed(port, kill * WRITERS + id, &done))
            })
            .collect();
        let is_begun = || done.load(Ordering::Relaxed) >= 5 || writers.iter().any(JoinHandle::is_finished);
        until("nothing is written", is_begun);
        std::thread::sleep(Duration::from_millis(random.below(150) as u64)); // the moment of the kill
        server.kill();
        let all: Vec<SmbPromise> = writers.into_iter().flat_map(|writer| writer.join().unwrap()).collect();
        all.iter().for_each(|promised| verify(&share, promised));
        server = Server::start_with_smb_on(top.path(), &share, port);
        // Exclusive opens of the killed server's clients are gone, and new clients can continue.
        let mut smb = Smb::enter_as_machine(port, 0xFF);
        let last = all.iter().rfind(|promised| promised.length > 0).expect("five promises at least");
        let file = smb.open(&last.name, |request| request.disposition = Disposition::OPEN).unwrap();
        smb.write(file, 0, b"x").unwrap();
        files += all.len();
        bytes += all.iter().map(|promised| promised.length).sum::<u64>();
        // An NFS handle from before the first kill is still valid.
        let mut client = Client::connect(server.port).unwrap();
        assert_eq!(client.content(&handle).unwrap(), b"abc");
    }
    println!("{KILLS} kills: {files} files with {bytes} promised bytes, all there");
}
