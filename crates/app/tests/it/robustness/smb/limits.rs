//! Clients that use all limited resources to the limit.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use ::smb::client::FrameProtection;
use ::smb::wire::change_notify::{self, CompletionFilter};
use ::smb::wire::create::{Disposition, Options};
use ::smb::wire::{Command, Status, cancel, echo, lock, tree_connect, write};

use super::client::{Smb, now};
use super::{MIB, beside_a_neighbour};
use crate::robustness::server::{Server, folder};
use crate::waiting::until;

/// A client with this many credits.
fn with_credits(port: u16) -> Smb {
    let mut smb = Smb::enter_as_machine(port, 9);
    for _ in 0..4 {
        let mut echo = smb.request(Command::ECHO, |w| echo::Request.encode(w));
        echo.header.credits = u16::MAX;
        smb.try_request(echo).unwrap();
    }
    smb
}

/// With any number of waiting requests, a client can still send others: some get an interim
/// response, the others are refused.
#[test]
fn requests_that_wait_are_bounded_and_leave_room_for_others() {
    const WATCHES: usize = 10_000;
    beside_a_neighbour("watches without end", 64 * MIB, |port| {
        let mut smb = with_credits(port);
        let folder = smb.open("", |request| {
            request.disposition = Disposition::OPEN;
            request.options = Options::DIRECTORY_FILE;
            request.desired_access = 1;
        });
        let folder = folder.unwrap();
        let watch = change_notify::Request {
            flags: change_notify::Flags::NONE,
            output_buffer_length: 4096,
            file: folder,
            completion_filter: CompletionFilter::SECURITY,
        };
        let mut statuses: HashMap<Status, usize> = HashMap::new();
        let mut waiting = Vec::new();
        for _ in 0..WATCHES {
            let id = smb.start(smb.request(Command::CHANGE_NOTIFY, |w| watch.encode(w))).unwrap();
            let first = now(smb.client.wait_for(|answer| answer.header.message_id == id)).unwrap();
            *statuses.entry(first.status()).or_default() += 1;
            if first.status() == Status::PENDING {
                waiting.push((id, first.header.id));
            }
        }
        println!("{WATCHES} watches: {statuses:?}");
        let others = statuses.keys().filter(|status| **status != Status::PENDING);
        assert!(others.clone().all(|status| *status == Status::INSUFFICIENT_RESOURCES));
        assert!(waiting.len() < WATCHES, "without end");
        smb.echo().unwrap();
        let session = smb.session.clone();
        for (id, async_id) in &waiting {
            let mut cancel = smb.request(Command::CANCEL, |w| cancel::Request.encode(w));
            cancel.header.id = *async_id;
            cancel.header.flags = ::smb::wire::Flags::ASYNC;
            cancel.header.message_id = *id;
            now(smb.client.send(vec![cancel], FrameProtection::Signed(&session))).unwrap();
            assert_eq!(smb.answer(*id).unwrap().status(), Status::CANCELLED);
        }
        smb.close(folder).unwrap();
    });
}

#[test]
fn trees_are_bounded() {
    beside_a_neighbour("trees without end", 16 * MIB, |port| {
        let mut smb = with_credits(port);
        let refused = (0..2000).find_map(|_| smb.connect_tree("share").err());
        assert_eq!(refused, Some(Status::INSUFFICIENT_RESOURCES));
        smb.echo().unwrap();
    });
}

#[test]
fn a_server_without_descriptors_refuses_opens_and_goes_on_when_there_are_some() {
    let (top, share) = folder();
    let server = Server::start_with_descriptors(200, top.path(), &share);
    let (mut smb, mut other) = (Smb::enter(server.smb_port), Smb::enter_as_machine(server.smb_port, 2));
    let kept = other.make("kept", b"abc");
    let mut files = Vec::new();
    let refused = (0..1000).find_map(|number| match smb.open(&format!("file{number}"), |_| ()) {
        Ok(file) => {
            files.push(file);
            None
        }
        Err(status) => Some(status),
    });
    println!("{} files before the answer {refused:?}", files.len());
    if let Some(refused) = refused {
        assert!(
            matches!(refused, Status::TOO_MANY_OPENED_FILES | Status::INSUFFICIENT_RESOURCES),
            "{refused:?}"
        );
    }
    assert_eq!(other.content(kept).unwrap(), b"abc");
    other.write(kept, 0, b"xyz").unwrap();
    files.into_iter().for_each(|file| smb.close(file).unwrap());
    until("there are no descriptors", || other.open("new", |_| ()).is_ok());
    Smb::enter(server.smb_port).echo().unwrap();
}

#[test]
fn paths_as_long_as_they_can_be_are_answered_soon() {
    beside_a_neighbour("long paths", 16 * MIB, |port| {
        let mut smb = Smb::enter(port);
        let begun = Instant::now();
        for part in ["a\\", "\\", ".\\", "..\\", "a:b\\", "\u{F022}", "é", "*", "a:"] {
            let name = part.repeat(32_000 / part.encode_utf16().count());
            let answer = smb.open(&name, |request| request.disposition = Disposition::OPEN);
            assert!(answer.is_err(), "{part}");
        }
        let begun = begun.elapsed();
        assert!(begun < Duration::from_secs(20), "{begun:?}");
        let path = "\\\\a\\".to_owned() + &"b".repeat(32_000);
        let request = tree_connect::Request {
            flags: tree_connect::RequestFlags::NONE,
            path: path.encode_utf16().collect(),
        };
        let answer = smb.call(Command::TREE_CONNECT, |w| request.encode(w));
        assert_eq!(answer.status(), Status::BAD_NETWORK_NAME);
    });
}

#[test]
fn many_locks_in_one_request_are_taken_or_refused_together() {
    beside_a_neighbour("thousands of locks", 32 * MIB, |port| {
        let mut smb = with_credits(port);
        let file = smb.make("notes", b"abc");
        let element = |offset| lock::Element {
            offset,
            length: 1,
            flags: lock::Flags::EXCLUSIVE | lock::Flags::FAIL_IMMEDIATELY,
        };
        let ask = |smb: &mut Smb, count: u64, repeated: bool| {
            let mut locks: Vec<_> = (0..count).map(element).collect();
            if repeated {
                locks.push(element(0));
            }
            let request = lock::Request { sequence_number: 0, sequence_index: 0, file, locks };
            let request = smb.request(Command::LOCK, |w| request.encode(w));
            smb.try_request(request.charge(32)).unwrap().status()
        };
        for _ in 0..3 {
            assert_eq!(ask(&mut smb, 1000, true), Status::LOCK_NOT_GRANTED); // the last repeats the first
        }
        assert_eq!(ask(&mut smb, 1000, false), Status::SUCCESS);
        let many = ask(&mut smb, 65_000, false);
        assert!(matches!(many, Status::LOCK_NOT_GRANTED | Status::INSUFFICIENT_RESOURCES), "{many:?}");
        smb.close(file).unwrap();
    });
}

/// Fragments of an endless call (C706 12.6.4.9), into pipes that no client reads.
#[test]
fn pipes_take_no_more_than_they_can_hold() {
    beside_a_neighbour("pipes that are filled", 64 * MIB, |port| {
        let mut smb = with_credits(port);
        smb.tree = smb.connect_tree("IPC$").unwrap();
        let mut fragment = b"\x05\0\0\0\x10\0\0\0\0\x10\0\0\x01\0\0\0\0\0\0\0\0\0\x0F\0".to_vec(); // 4,096 bytes, not the last
        fragment.resize(4096, 0);
        let mut ends = HashMap::new();
        for _ in 0..50 {
            let Ok(pipe) = smb.open("srvsvc", |request| request.disposition = Disposition::OPEN) else {
                break;
            };
            for _ in 0..1000 {
                let written = smb.try_write(pipe, 0, &fragment.repeat(4), write::Flags::NONE).unwrap();
                if let Err(status) = written {
                    *ends.entry(status).or_insert(0) += 1;
                    break;
                }
            }
        }
        println!("pipes ended with {ends:?}");
    });
}
