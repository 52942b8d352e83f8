//! A stalled disk does not delay commands for another disk, not even over the same connection.

use std::time::{Duration, Instant};

use ::iscsi::client::{Data, command_16};
use ::iscsi::wire::pdu::{Function, FunctionResult};

use super::client::{Iscsi, enter, log_in, login};
use super::inside::Inside;
use crate::robustness::stalled::{DiskStall, IN_TIME};

const WELL: u16 = 0;
const ILL: u16 = 1;

/// Writes, reads and flushes; each must be in time.
fn works_in_time(client: &mut Iscsi, what: &str) {
    for number in 0..5 {
        let begun = Instant::now();
        client.write(WELL, 0, &[number; 4096], false).unwrap();
        assert_eq!(client.read(WELL, 0, 8).unwrap(), [number; 4096]);
        client.synchronize(WELL).unwrap();
        client.ping(b"there?").unwrap();
        assert!(begun.elapsed() < IN_TIME, "{what}: {:?}", begun.elapsed());
    }
}

fn session(server: &Inside) -> Iscsi {
    let mut client = enter(server.port);
    client.until_ready(ILL).unwrap();
    client
}

#[test]
fn other_disks_are_served_over_other_connections_and_the_same() {
    let server = Inside::start();
    let (mut client, mut other) = (session(&server), session(&server));
    let stalled = DiskStall::begin(&server.disk, server.ill);
    let commands = [
        (command_16(0x88, 0, 0, 8), Data::In(4096)),
        (command_16(0x8a, 0, 0, 8), Data::Out(&[1; 4096])),
        (command_16(0x91, 0, 0, 0), Data::None),
    ];
    let tags = commands.map(|(cdb, data)| client.begin(ILL, &cdb, data).unwrap());
    server.until_waiting(1);
    works_in_time(&mut other, "another connection");
    works_in_time(&mut session_of_one(&server), "a new connection");
    works_in_time_beside(&mut client);
    drop(stalled);
    for tag in tags {
        client.end(tag).unwrap().well().unwrap();
    }
    works_in_time(&mut client, "afterwards");
}

fn session_of_one(server: &Inside) -> Iscsi {
    let mut client = log_in(server.port, &login()).unwrap();
    client.until_ready(WELL).unwrap();
    client
}

/// The same on the connection with hanging commands.
fn works_in_time_beside(client: &mut Iscsi) {
    for number in 0..5 {
        let begun = Instant::now();
        client.write(WELL, 0, &[number; 4096], false).unwrap();
        assert_eq!(client.read(WELL, 0, 8).unwrap(), [number; 4096]);
        assert!(begun.elapsed() < IN_TIME, "the same connection: {:?}", begun.elapsed());
    }
}

#[test]
fn more_commands_may_hang_than_there_are_threads() {
    const READS: usize = 80;
    let server = Inside::start();
    let (mut client, mut other) = (session(&server), session(&server));
    let stalled = DiskStall::begin(&server.disk, server.ill);
    let read = command_16(0x88, 0, 0, 8);
    let tags: Vec<u32> = (0..READS).map(|_| client.begin(ILL, &read, Data::In(4096)).unwrap()).collect();
    server.until_waiting(1);
    std::thread::sleep(Duration::from_millis(700)); // so long all of them hang
    works_in_time(&mut other, "another connection");
    works_in_time_beside(&mut client);
    drop(stalled);
    for tag in tags {
        client.end(tag).unwrap().well().unwrap();
    }
}

/// SAM-5 7.2: a task counts as aborted only once it has no further effect. The server cannot know
/// that while its disk does not answer. So after some seconds it rejects the function; everything
/// else continues.
#[test]
fn a_command_that_hangs_is_not_said_to_be_called_off() {
    let server = Inside::start();
    let (mut client, mut other) = (session(&server), session(&server));
    let stalled = DiskStall::begin(&server.disk, server.ill);
    let tag = client.begin(ILL, &command_16(0x88, 0, 0, 8), Data::In(4096)).unwrap();
    server.until_waiting(1);
    let begun = Instant::now();
    assert_eq!(client.manage(Function::ABORT_TASK, ILL, tag).unwrap(), FunctionResult::REJECTED);
    println!("answered after {:?}", begun.elapsed());
    works_in_time(&mut other, "another connection");
    works_in_time(&mut client, "the same connection");
    drop(stalled);
    client.read(ILL, 0, 8).unwrap();
}

#[test]
fn an_initiator_that_goes_away_while_its_command_hangs_leaves_nothing_behind() {
    let server = Inside::start();
    let mut other = session(&server);
    for _ in 0..3 {
        let mut gone = session(&server);
        let stalled = DiskStall::begin(&server.disk, server.ill);
        gone.begin(ILL, &command_16(0x8a, 0, 0, 8), Data::Out(&[1; 4096])).unwrap();
        server.until_waiting(1);
        drop(gone);
        works_in_time(&mut other, "after an initiator went away");
        drop(stalled);
        other.write(ILL, 0, &[2; 512], true).unwrap();
    }
}
