//! `kill -9` during saves: flushed data survive, and the two forks of a file belong to one save.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use ::afp::client::{Error, ROOT};
use rustix::process::Signal;

use super::Afp;
use crate::robustness::killed::{BLOCKS, block, start_of};
use crate::robustness::random::Random;
use crate::robustness::server::{Server, folder};
use crate::waiting::until;

const WRITERS: u32 = 2;
const KILLS: u32 = 20;

/// A file and its promised data: this many bytes from the start of each fork.
struct AfpPromise {
    name: String,
    seed: u64,
    data: u64,
    fork: u64,
}

/// Writes files until the connection breaks; returns the promised data.
fn write_until_killed(port: u16, id: u32, done: &AtomicU32) -> Vec<AfpPromise> {
    let mut promised: Vec<AfpPromise> = Vec::new();
    let Ok(mut afp) = Afp::try_enter(port) else { return promised };
    for number in 0_u32.. {
        let seed = u64::from(id) << 20 | u64::from(number);
        promised.push(AfpPromise { name: format!("afp-{id}-{number}"), seed, data: 0, fork: 0 });
        if one_file(&mut afp, promised.last_mut().unwrap(), done).is_err() {
            return promised;
        }
    }
    unreachable!("it writes until the server is killed")
}

fn one_file(afp: &mut Afp, promised: &mut AfpPromise, done: &AtomicU32) -> Result<(), Error> {
    let (volume, name) = (afp.volume, promised.name.clone());
    afp.client.create(volume, &name)?;
    let data = afp.client.open_data(volume, &name)?;
    for number in 0..BLOCKS {
        let (offset, bytes) = (start_of(promised.seed, number), block(promised.seed, number));
        afp.client.write(data, offset as i64, &bytes)?;
    }
    afp.client.flush(data)?;
    promised.data = start_of(promised.seed, BLOCKS);
    done.fetch_add(1, Ordering::Relaxed);
    let fork = afp.client.open_resource(volume, &name)?;
    let bytes = block(promised.seed, 0);
    afp.client.write(fork, 0, &bytes)?;
    afp.client.flush(fork)?;
    promised.fork = bytes.len() as u64;
    done.fetch_add(1, Ordering::Relaxed);
    Ok(()) // both forks stay open
}

/// Compares byte for byte, in the folder and through the server.
fn verify(share: &Path, afp: &mut Afp, promised: &AfpPromise) {
    let name = &promised.name;
    if promised.data > 0 {
        let expected: Vec<u8> = (0..BLOCKS).flat_map(|number| block(promised.seed, number)).collect();
        let content = std::fs::read(share.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(content == expected, "{name}: promised bytes differ");
    }
    if promised.fork > 0 {
        assert!(
            afp.content(name, true).unwrap() == block(promised.seed, 0),
            "{name}: its resource fork differs"
        );
    }
}

#[test]
fn twenty_kills_lose_nothing_that_was_flushed() {
    let (top, share) = folder();
    let mut server = Server::start_with_afp(top.path(), &share);
    let port = server.afp_port;
    let mut random = Random::new(0x5eed_0034);
    let mut files = 0;
    let mut first = Afp::enter(port);
    let kept = first.make("kept", b"abc");
    first.client.flush(kept).unwrap();
    let number = first.client.file_number(first.volume, ROOT, "kept").unwrap();
    drop(first);
    server.signal(Signal::TERM); // numbers are stored with a delay, and at the end
    assert_eq!(server.exit_code(), Some(0));
    server = Server::start_with_afp_on(top.path(), &share, port);
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
        let all: Vec<AfpPromise> = writers.into_iter().flat_map(|writer| writer.join().unwrap()).collect();
        server = Server::start_with_afp_on(top.path(), &share, port);
        let mut afp = Afp::enter(port);
        all.iter().for_each(|promised| verify(&share, &mut afp, promised));
        assert_eq!(afp.client.file_number(afp.volume, ROOT, "kept").unwrap(), number, "numbers are for ever");
        files += all.len();
    }
    println!("{KILLS} kills: {files} files, everything promised was there");
}

/// Writes the same mark into both forks, repeatedly, like a save that makes a new file and replaces
/// the old one.
fn save_until_killed(port: u16, done: &AtomicU32) {
    let Ok(mut afp) = Afp::try_enter(port) else { return };
    for number in 0_u32.. {
        if save(&mut afp, number).is_err() {
            return;
        }
        done.fetch_add(1, Ordering::Relaxed);
    }
}

fn save(afp: &mut Afp, number: u32) -> Result<(), Error> {
    let (volume, mark) = (afp.volume, number.to_be_bytes());
    let temporary = format!("temporary {number}");
    afp.client.create(volume, &temporary)?;
    for open in [false, true] {
        let fork = match open {
            false => afp.client.open_data(volume, &temporary)?,
            true => afp.client.open_resource(volume, &temporary)?,
        };
        afp.client.write(fork, 0, &mark)?;
        afp.client.flush(fork)?;
        afp.client.close(fork)?;
    }
    let request = ::afp::wire::file::ExchangeFiles {
        one: ::afp::wire::directory::Place {
            volume,
            folder: ROOT,
            path: ::afp::wire::Path::utf8(b"document"),
        },
        other_folder: ROOT,
        other_path: ::afp::wire::Path::utf8(temporary.as_bytes()),
    };
    afp.client.call(::afp::wire::command::EXCHANGE_FILES, |w| request.encode(w))?.well()?;
    afp.client.delete(volume, ROOT, &temporary)
}

#[test]
fn the_forks_of_a_file_are_of_one_save_whenever_the_server_dies() {
    let (top, share) = folder();
    let mut server = Server::start_with_afp(top.path(), &share);
    let port = server.afp_port;
    let mut random = Random::new(0x5eed_0035);
    let mut afp = Afp::enter(port);
    for (name, resource) in [("document", false), ("document", true)] {
        if !resource {
            afp.client.create(afp.volume, name).unwrap();
        }
        let fork = match resource {
            false => afp.client.open_data(afp.volume, name).unwrap(),
            true => afp.client.open_resource(afp.volume, name).unwrap(),
        };
        afp.client.write(fork, 0, &[0; 4]).unwrap();
        afp.client.close(fork).unwrap();
    }
    let mut saves = 0;
    for _ in 0..KILLS {
        let done = Arc::new(AtomicU32::new(0));
        let saving = {
            let done = done.clone();
            std::thread::spawn(move || save_until_killed(port, &done))
        };
        until("nothing is saved", || done.load(Ordering::Relaxed) >= 3 || saving.is_finished());
        std::thread::sleep(Duration::from_millis(random.below(100) as u64)); // the moment of the kill
        server.kill();
        saving.join().unwrap();
        saves += done.load(Ordering::Relaxed);
        server = Server::start_with_afp_on(top.path(), &share, port);
        let mut afp = Afp::enter(port);
        let (data, fork) = (afp.content("document", false).unwrap(), afp.content("document", true).unwrap());
        assert_eq!(data, fork, "the data fork of one save with the resource fork of another");
        for entry in std::fs::read_dir(&share).unwrap().flatten() {
            let name = entry.file_name().into_string().unwrap();
            if name.starts_with("temporary") {
                afp.client.delete(afp.volume, ROOT, &name).unwrap();
            }
        }
    }
    println!("{KILLS} kills within {saves} saves");
}
