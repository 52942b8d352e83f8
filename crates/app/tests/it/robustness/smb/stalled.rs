//! A disk that stalls for one file does not delay requests for another file; a client whose request
//! waits gets an interim response.

use std::time::{Duration, Instant};

use ::smb::client::Request;
use ::smb::wire::create::{Disposition, ShareAccess};
use ::smb::wire::{Command, FileKey, Status, flush, read, write};
use conn::Limits;
use vfs::FileId;

use super::client::{Smb, read_request};
use crate::robustness::client::Client;
use crate::robustness::stalled::{DiskStall, IN_TIME, Stalling};
use crate::waiting::until;

/// The deadline of an interim response on a busy machine. Without one there is no answer before the stall ends.
const TOLD_WITHIN: Duration = Duration::from_secs(10);
/// The earliest time of an interim response.
const NOT_BEFORE: Duration = Duration::from_millis(300);

/// The files "well" and "ill", open.
fn files(server: &Stalling, smb: &mut Smb) -> (FileKey, FileKey, FileId) {
    let mut client = Client::mount(server.port);
    server.file(&mut client, "well");
    let (_, id) = server.file(&mut client, "ill");
    let mut open = |name| smb.open(name, |request| request.disposition = Disposition::OPEN).unwrap();
    (open("well"), open("ill"), id)
}

/// Reads, writes and makes files; each must be in time.
fn works_in_time(smb: &mut Smb, file: FileKey, what: &str) {
    for number in 0..5 {
        let begun = Instant::now();
        assert_eq!(smb.content(file).unwrap(), b"well");
        smb.write(file, 0, b"well").unwrap();
        smb.try_flush(file).unwrap().unwrap();
        let name = format!("made{number}");
        let made = smb.make(&name, b"made");
        smb.close(made).unwrap();
        smb.remove(&name).unwrap();
        assert!(begun.elapsed() < IN_TIME, "{what}: {:?}", begun.elapsed());
    }
}

fn well_for(server: &Stalling) -> (Smb, FileKey) {
    let mut smb = Smb::enter_as_machine(server.smb_port, 77);
    let file = smb.open("well", |request| request.disposition = Disposition::OPEN).unwrap();
    (smb, file)
}

fn requests(smb: &Smb, ill: FileKey) -> Vec<Request> {
    let flags = write::Flags::WRITE_THROUGH;
    let write = write::Request { data: 0..0, offset: 0, file: ill, channel: 0, remaining_bytes: 0, flags };
    vec![
        smb.request(Command::READ, |w| read_request(ill, 0, 100).encode(w)),
        smb.request(Command::WRITE, |w| write.encode(b"ILL", w)),
        smb.request(Command::FLUSH, |w| flush::Request { reserved: 0, file: ill }.encode(w)),
    ]
}

#[test]
fn a_client_that_waits_for_data_gets_an_interim_response_after_half_a_second() {
    // MS-SMB2 3.3.4.2: an interim response with STATUS_PENDING and an async id, which the final one repeats.
    let server = Stalling::start(Limits::default());
    let mut smb = Smb::enter(server.smb_port);
    let (well, ill, id) = files(&server, &mut smb);
    for request in requests(&smb, ill) {
        let command = request.header.command;
        server.disk.plan().stall_data(id);
        let stalled = DiskStall(&server.disk, id);
        let begun = Instant::now();
        let message = smb.start(request).unwrap();
        let interim = smb.told_to_wait(message);
        let waited = begun.elapsed();
        println!("{command:?}: told to wait after {waited:?}");
        assert!((NOT_BEFORE..TOLD_WITHIN).contains(&waited), "{command:?}: {waited:?}");
        let async_id = interim.header.async_id();
        assert!(async_id.is_some_and(|id| id != 0));
        works_in_time(&mut smb, well, "the same connection");
        drop(stalled);
        let answer = smb.answer(message).unwrap();
        assert_eq!((answer.status(), answer.header.async_id()), (Status::SUCCESS, async_id), "{command:?}");
    }
    assert_eq!(smb.read(ill, 0, 100).unwrap(), b"ILL");
}

/// The same if a call that never waits stalls: the thread itself is stuck.
#[test]
fn a_client_that_waits_for_a_stuck_thread_gets_an_interim_response() {
    let server = Stalling::start(Limits::default());
    let mut smb = Smb::enter(server.smb_port);
    let (well, ill, id) = files(&server, &mut smb);
    for request in requests(&smb, ill) {
        let command = request.header.command;
        let stalled = DiskStall::begin(&server.disk, id);
        let begun = Instant::now();
        let message = smb.start(request).unwrap();
        server.until_waiting(1);
        println!("stuck");
        let interim = smb.told_to_wait(message);
        let waited = begun.elapsed();
        println!("{command:?}: told to wait after {waited:?}");
        assert!((NOT_BEFORE..TOLD_WITHIN).contains(&waited), "{command:?}: {waited:?}");
        works_in_time(&mut smb, well, "the same connection");
        drop(stalled);
        let answer = smb.answer(message).unwrap();
        let ids = (answer.status(), answer.header.async_id());
        assert_eq!(ids, (Status::SUCCESS, interim.header.async_id()), "{command:?}");
    }
}

#[test]
fn other_files_are_served_over_other_connections_and_the_same() {
    let server = Stalling::start(Limits::default());
    let mut smb = Smb::enter(server.smb_port);
    let (well, ill, id) = files(&server, &mut smb);
    let (mut other, file) = well_for(&server);
    let stalled = DiskStall::begin(&server.disk, id);
    let message = smb.start(smb.request(Command::READ, |w| read_request(ill, 0, 100).encode(w))).unwrap();
    server.until_waiting(1);
    works_in_time(&mut smb, well, "the same connection");
    works_in_time(&mut other, file, "another connection");
    drop(stalled);
    let answer = smb.answer(message).unwrap();
    assert_eq!(read::Response::decode(&answer.message).unwrap().data, b"ill");
    works_in_time(&mut smb, well, "afterwards");
}

#[test]
fn more_requests_may_hang_than_there_are_threads() {
    const READS: usize = 80;
    let server = Stalling::start(Limits::default());
    let mut smb = Smb::enter(server.smb_port);
    let (well, ill, id) = files(&server, &mut smb);
    let (mut other, file) = well_for(&server);
    for whole in [true, false] {
        if whole {
            server.disk.plan().stall(id);
        } else {
            server.disk.plan().stall_data(id);
        }
        let stalled = DiskStall(&server.disk, id);
        let read = |smb: &Smb| smb.request(Command::READ, |w| read_request(ill, 0, 100).encode(w));
        let messages: Vec<u64> = (0..READS).map(|_| smb.start(read(&smb)).unwrap()).collect();
        server.until_waiting(1);
        std::thread::sleep(Duration::from_millis(700)); // so long all of them hang
        works_in_time(&mut other, file, "another connection");
        works_in_time(&mut smb, well, "the same connection");
        drop(stalled);
        for message in messages {
            let answer = smb.answer(message).unwrap();
            assert_eq!(read::Response::decode(&answer.message).unwrap().data, b"ill");
        }
    }
}

#[test]
fn opening_a_stalled_file_delays_no_other_client() {
    let server = Stalling::start(Limits::default());
    let mut smb = Smb::enter(server.smb_port);
    let (well, ill, id) = files(&server, &mut smb);
    smb.close(ill).unwrap();
    let (mut other, file) = well_for(&server);
    let stalled = DiskStall::begin(&server.disk, id);
    let create = super::client::open_request("ill");
    let message = smb.start(smb.request(Command::CREATE, |w| create.encode(w))).unwrap();
    server.until_waiting(1);
    works_in_time(&mut other, file, "another connection");
    works_in_time(&mut smb, well, "the same connection");
    drop(stalled);
    assert_eq!(smb.answer(message).unwrap().status(), Status::SUCCESS);
}

#[test]
fn a_client_that_goes_away_while_its_request_hangs_leaves_nothing_behind() {
    let server = Stalling::start(Limits::default());
    let mut smb = Smb::enter(server.smb_port);
    let (well, ill, id) = files(&server, &mut smb);
    smb.close(ill).unwrap();
    let alone = |smb: &mut Smb| {
        smb.open("ill", |request| {
            request.disposition = Disposition::OPEN;
            request.share_access = ShareAccess::NONE;
        })
    };
    for number in 0..3 {
        let mut gone = Smb::enter_as_machine(server.smb_port, 100 + number);
        let ill = alone(&mut gone).unwrap();
        let stalled = DiskStall::begin(&server.disk, id);
        gone.start(gone.request(Command::READ, |w| read_request(ill, 0, 100).encode(w))).unwrap();
        server.until_waiting(1);
        drop(gone);
        works_in_time(&mut smb, well, "after a client went away");
        drop(stalled);
        let mut opened = Err(Status::SHARING_VIOLATION);
        until("the open of a disconnected client stays", || {
            opened = alone(&mut smb);
            opened.as_ref().err() != Some(&Status::SHARING_VIOLATION)
        });
        smb.close(opened.unwrap()).unwrap();
    }
}
