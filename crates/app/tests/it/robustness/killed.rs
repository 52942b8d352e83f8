//! `kill -9` under load: promised data survive, and clients continue with their handles.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use nfs::wire::v3::types::{Status, Verifier};
use nfs::wire::v3::write::StableHow;

use crate::robustness::client::Client;
use crate::robustness::random::Random;
use crate::robustness::server::{Server, folder, give_to};

const WRITERS: u32 = 2;
/// Blocks written to a file, one after the other.
pub(crate) const BLOCKS: u64 = 6;

/// A file and its promised data: this many bytes from its start.
struct NfsPromise {
    name: String,
    handle: Vec<u8>,
    seed: u64,
    length: u64,
}

/// The contents of a file with this seed at a block; blocks differ in length.
pub(crate) fn block(seed: u64, number: u64) -> Vec<u8> {
    let mut random = Random::new(seed * 1000 + number);
    let length = 1 + random.below(20_000);
    random.bytes(length)
}

pub(crate) fn start_of(seed: u64, number: u64) -> u64 {
    (0..number).map(|before| block(seed, before).len() as u64).sum()
}

/// Writes files until the connection breaks; keeps the promised data and the last verifier.
struct Writer {
    client: Client,
    promised: Vec<NfsPromise>,
    verifier: Verifier,
    done: Arc<AtomicU32>,
}

impl Writer {
    fn start(port: u16, root: Vec<u8>, id: u32, done: Arc<AtomicU32>) -> JoinHandle<Self> {
        std::thread::spawn(move || {
            let mut client = Client::connect(port).unwrap();
            client.root = root;
            let mut writer = Self { client, promised: Vec::new(), verifier: [0; 8], done };
            for number in 0.. {
                if writer.file(id, number).is_err() {
                    return writer;
                }
            }
            unreachable!("it writes until the server is killed")
        })
    }

    /// One file: by FILE_SYNC writes, or by UNSTABLE ones with a COMMIT.
    fn file(&mut self, id: u32, number: u32) -> io::Result<()> {
        let (seed, name) = (u64::from(id) << 20 | u64::from(number), format!("file-{id}-{number}"));
        let handle = self.create(&name)?;
        self.promised.push(NfsPromise { name, handle: handle.clone(), seed, length: 0 });
        let stable = if number.is_multiple_of(2) { StableHow::FILE_SYNC } else { StableHow::UNSTABLE };
        for number in 0..BLOCKS {
            let (offset, data) = (start_of(seed, number), block(seed, number));
            self.verifier = self.client.try_write(&handle, offset, &data, stable)?.unwrap();
            if stable == StableHow::FILE_SYNC {
                self.promise(start_of(seed, number + 1));
            }
        }
        if stable == StableHow::UNSTABLE {
            let committed = self.client.try_commit(&handle)?.unwrap();
            assert_eq!(committed, self.verifier, "one run has one verifier");
            self.promise(start_of(seed, BLOCKS));
        }
        Ok(())
    }

    fn create(&mut self, name: &str) -> io::Result<Vec<u8>> {
        use nfs::wire::v3::create::{CreateHow, Request, Res};
        use nfs::wire::v3::types::{DirOpArgs, Sattr3};
        use nfs::wire::xdr::Opaque;
        let root = self.client.root.clone();
        let place = DirOpArgs { dir: Opaque(&root), name: Opaque(name.as_bytes()) };
        let how = CreateHow::Guarded(Sattr3 { mode: Some(0o644), ..Sattr3::default() });
        let request = Request { place, how };
        let results = self.client.try_call(nfs::wire::v3::Procedure::CREATE, &request)?;
        let made: Res<'_> = results.value();
        Ok(made.expect("a new name").object.unwrap().to_vec())
    }

    fn promise(&mut self, length: u64) {
        self.promised.last_mut().expect("a file is being written").length = length;
        self.done.fetch_add(1, Ordering::Relaxed);
    }
}

/// Compares byte for byte, by the earlier handle and by name.
fn verify(client: &mut Client, promised: &NfsPromise) {
    let name = &promised.name;
    let expected: Vec<u8> = (0..BLOCKS).flat_map(|number| block(promised.seed, number)).collect();
    let content = client.content(&promised.handle);
    let content = content.unwrap_or_else(|status| {
        panic!("{name}: {status:?}, by name {:?}", client.lookup(&client.root.clone(), name))
    });
    let length = promised.length as usize;
    assert!(content.len() >= length, "{name}: {} of {length} promised bytes", content.len());
    assert!(content[..length] == expected[..length], "{name}: promised bytes differ");
    let root = client.root.clone();
    assert_eq!(client.lookup(&root, name).as_ref(), Ok(&promised.handle), "{name}");
}

#[test]
fn twenty_kills_in_mid_load_lose_nothing_that_was_promised() {
    let (top, share) = folder();
    let (server, all) = kill_and_verify(20, |port| Server::start_on(top.path(), &share, port));
    let mut client = Client::mount(server.port);
    all.iter().for_each(|promised| verify(&mut client, promised));
    let bytes: u64 = all.iter().map(|promised| promised.length).sum();
    println!("20 kills: {} files with {bytes} promised bytes, all there", all.len());
    let root = client.root.clone();
    assert_eq!(client.lookup(&root, "file-none"), Err(Status::NOENT));
    server.signal(rustix::process::Signal::TERM);
    assert_eq!(server.exit_code(), Some(0));
}

/// An ordinary user's server cannot open files by the host's handles: it finds the files of
/// clients' handles in another way.
#[test]
fn kills_of_an_ordinary_users_server_lose_nothing_either() {
    const USER: u32 = 12_345;
    if !rustix::process::geteuid().is_root() {
        println!("not needed: the other test runs as an ordinary user");
        return;
    }
    let (top, share) = folder();
    give_to(USER, top.path(), &share);
    let (_, all) = kill_and_verify(4, |port| Server::start_as(USER, top.path(), &share, port));
    println!("4 kills of an ordinary user's server: {} files", all.len());
}

/// Kills a server under load `kills` times; after each, all promised data must exist. Returns the
/// last server and all promises.
fn kill_and_verify(kills: u32, start: impl Fn(u16) -> Server) -> (Server, Vec<NfsPromise>) {
    let mut server = start(0);
    let (port, root) = (server.port, Client::mount(server.port).root);
    let mut random = Random::new(0x5eed_0003);
    let (mut all, mut verifiers) = (Vec::new(), Vec::new());
    for kill in 0..kills {
        let done = Arc::new(AtomicU32::new(0));
        let write = |id| Writer::start(port, root.clone(), kill * WRITERS + id, done.clone());
        let writers: Vec<_> = (0..WRITERS).map(write).collect();
        while done.load(Ordering::Relaxed) < 5 && !writers.iter().any(JoinHandle::is_finished) {
            std::thread::sleep(Duration::from_millis(5));
        }
        std::thread::sleep(Duration::from_millis(random.below(150) as u64));
        server.kill();
        let writers: Vec<Writer> = writers.into_iter().map(|writer| writer.join().unwrap()).collect();
        server = start(port);
        let mut client = Client::connect(port).unwrap();
        client.root = root.clone();
        for writer in writers {
            verifiers.push(writer.verifier);
            writer.promised.iter().for_each(|promised| verify(&mut client, promised));
            all.extend(writer.promised);
        }
        let verifier = client.write(&all[0].handle, 1 << 20, b"x", StableHow::UNSTABLE).unwrap();
        assert!(!verifiers.contains(&verifier), "a verifier was used in an earlier run");
        assert_eq!(client.mnt("/share").as_ref(), Ok(&root));
    }
    (server, all)
}
