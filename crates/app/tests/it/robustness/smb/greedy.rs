//! Clients that send requests and never receive: they are throttled, with bounded memory.

use std::time::Duration;

use ::smb::client::{FrameProtection, Link};
use ::smb::wire::create::{Disposition, ShareAccess};
use ::smb::wire::{Command, FileKey, echo};

use super::client::{Smb, charge, now, read_request};
use super::{MIB, beside_a_neighbour};

const HANDLES: usize = 1000;
/// The number of READs of 8 MiB: 2 TiB of answers if the client received them. The requests alone
/// fill every buffer on the way.
const READS: usize = 256 * 1024;
/// Memory the server may need for one such client.
const BOUND: u64 = 200 * MIB;

/// A client with all credits, and a thousand opens of a file of 64 MiB.
fn with_handles(port: u16, fill: bool) -> (Smb, Vec<FileKey>) {
    let mut smb = Smb::enter_as_machine(port, 9);
    for _ in 0..4 {
        let mut echo = smb.request(Command::ECHO, |w| echo::Request.encode(w));
        echo.header.credits = u16::MAX;
        smb.try_request(echo).unwrap();
    }
    let file = smb.make("big", b"");
    for at in 0..if fill { 64 } else { 0 } {
        smb.try_write(file, at * MIB, &vec![7; MIB as usize], ::smb::wire::write::Flags::NONE)
            .unwrap()
            .unwrap();
    }
    smb.write(file, 64 * MIB - 1, b"x").unwrap();
    let open = |smb: &mut Smb| {
        smb.open("big", |request| {
            request.disposition = Disposition::OPEN;
            request.share_access = ShareAccess(7);
        })
    };
    let files = (0..HANDLES).map(|_| open(&mut smb).unwrap()).collect();
    (smb, files)
}

/// Sends READs until the server accepts no more; returns how many were sent.
fn ask_without_receiving(smb: &mut Smb, files: &[FileKey], signed: bool) -> usize {
    smb.client.link.0.set_write_timeout(Some(Duration::from_secs(1))).unwrap();
    let session = smb.session.clone();
    for number in 0..READS {
        let offset = number as u64 * 8 * MIB % (64 * MIB);
        let request = read_request(files[number % files.len()], offset, 8 << 20);
        let mut request = smb.request(Command::READ, |w| request.encode(w)).charge(charge(8 << 20));
        request.header.credits = u16::MAX;
        let how = if signed { FrameProtection::Signed(&session) } else { FrameProtection::Plain };
        let (_, frame) = smb.client.prepare(vec![request], how);
        if now(smb.client.link.send(&frame)).is_err() {
            return number;
        }
    }
    READS
}

fn memory_stays_bounded(what: &str, fill: bool, signed: bool) {
    beside_a_neighbour(what, BOUND, |port| {
        let (mut smb, files) = with_handles(port, fill);
        let sent = ask_without_receiving(&mut smb, &files, signed);
        // The number of accepted READs depends on timing; only the memory is bounded.
        println!("{what}: {sent} reads were taken");
        std::thread::sleep(Duration::from_millis(500));
        std::mem::forget(smb); // it stays connected
    });
}

#[test]
fn of_data_in_memory() {
    memory_stays_bounded("reads of 8 MiB of cached data that nobody receives", true, false);
}

#[test]
fn of_signed_data() {
    memory_stays_bounded("reads of 8 MiB, signed, that nobody receives", true, true);
}

#[test]
fn of_data_that_must_be_fetched() {
    memory_stays_bounded("reads of 8 MiB of holes that nobody receives", false, false);
}
