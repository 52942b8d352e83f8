//! Records that no client sends (RFC 5531 11): the server answers as the protocol says, or closes
//! that one connection.

use std::time::Duration;

use nfs::wire::rpc::{Outcome, ReplyHeader};
use nfs::wire::v3::write::StableHow;
use nfs::wire::v3::{PROGRAM, Procedure, VERSION, getattr};
use nfs::wire::xdr::{Decode, Opaque};
use wire::Reader;

use crate::robustness::client::{Client, message, read_message, receive, record};
use crate::robustness::neighbour::Neighbour;
use crate::robustness::random::Random;
use crate::robustness::server::{Server, folder};

/// The deadline for closing a hopeless connection.
const SOON: Duration = Duration::from_secs(20);
const NULL: (u32, u32, u32) = (PROGRAM, VERSION, 0);

/// Runs `hostile` next to a client that must not be affected.
fn beside_a_neighbour(what: &str, hostile: impl FnOnce(u16)) {
    let (top, share) = folder();
    let server = Server::start(top.path(), &share);
    let neighbour = Neighbour::start(server.port);
    hostile(server.port);
    neighbour.finish(what);
    Client::mount(server.port).null().unwrap();
}

/// A message in fragments of this many bytes, each with its mark.
fn in_fragments(message: &[u8], length: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    let count = message.len().div_ceil(length);
    for (number, part) in message.chunks(length).enumerate() {
        let last = if number + 1 == count { 0x8000_0000 } else { 0 };
        bytes.extend((part.len() as u32 | last).to_be_bytes());
        bytes.extend(part);
    }
    bytes
}

fn outcome(client: &mut Client) -> Outcome {
    let reply = receive(&mut client.stream).unwrap();
    ReplyHeader::decode(&mut Reader::new(&reply)).unwrap().outcome
}

#[test]
fn a_record_in_fragments_of_any_length_is_answered() {
    beside_a_neighbour("fragments", |port| {
        let null = message(1, 1000, NULL, &());
        for length in [1, 2, 3, 4, 5, 7, 16, null.len() - 1, null.len()] {
            let mut client = Client::connect(port).unwrap();
            client.send(&in_fragments(&null, length)).unwrap();
            assert_eq!(outcome(&mut client), Outcome::Success, "fragments of {length}");
        }
    });
}

#[test]
fn bytes_that_come_one_at_a_time_are_answered() {
    beside_a_neighbour("single bytes", |port| {
        let mut client = Client::connect(port).unwrap();
        for byte in in_fragments(&message(1, 1000, NULL, &()), 1) {
            client.send(&[byte]).unwrap();
            std::thread::sleep(Duration::from_micros(200)); // so that the server reads it alone
        }
        assert_eq!(outcome(&mut client), Outcome::Success);
    });
}

#[test]
fn many_records_in_one_segment_are_all_answered() {
    beside_a_neighbour("pipelined", |port| {
        let mut client = Client::connect(port).unwrap();
        let all: Vec<u8> = (0..500).flat_map(|xid| record(&message(xid, 1000, NULL, &()))).collect();
        client.send(&all).unwrap();
        for xid in 0..500 {
            let reply = receive(&mut client.stream).unwrap();
            assert_eq!(reply[..4], u32::to_be_bytes(xid));
        }
    });
}

#[test]
fn a_record_longer_than_any_ends_its_connection() {
    beside_a_neighbour("oversized", |port| {
        for mark in [0xffff_ffff_u32, 0x7fff_ffff, 0x8020_0000, 0x0020_0000] {
            let mut client = Client::connect(port).unwrap();
            client.send(&mark.to_be_bytes()).unwrap();
            assert!(client.is_closed_within(SOON), "{mark:#x}");
        }
        // The same in small pieces.
        let mut client = Client::connect(port).unwrap();
        let pieces = vec![[&0x0001_0000_u32.to_be_bytes()[..], &[0; 0x1_0000]].concat(); 32].concat();
        let _ = client.send(&pieces); // the connection may end before all is sent
        assert!(client.is_closed_within(SOON));
    });
}

#[test]
fn thousands_of_fragments_end_their_connection() {
    beside_a_neighbour("thousands of fragments", |port| {
        for part in [&[0, 0, 0, 0][..], &[0, 0, 0, 1, 7]] {
            let mut client = Client::connect(port).unwrap();
            let _ = client.send(&part.repeat(2000)); // the connection may end before all is sent
            assert!(client.is_closed_within(SOON), "fragments of {} bytes", part.len() - 4);
        }
    });
}

#[test]
fn a_record_cut_short_ends_with_its_connection_and_does_nothing() {
    beside_a_neighbour("truncated", |port| {
        let mut mounted = Client::mount(port);
        let root = mounted.root.clone();
        let file = mounted.create(&root, "notes").unwrap();
        mounted.write(&file, 0, b"abc", StableHow::FILE_SYNC).unwrap();
        let size = nfs::wire::v3::types::Sattr3 { size: Some(0), ..Default::default() };
        let request =
            nfs::wire::v3::setattr::Request { object: Opaque(&file), new_attributes: size, guard: None };
        let whole = record(&message(1, 1000, (PROGRAM, VERSION, Procedure::SETATTR.0), &request));
        for length in 0..whole.len() {
            let mut client = Client::connect(port).unwrap();
            client.send(&whole[..length]).unwrap();
            client.end();
            assert!(client.is_closed_within(SOON), "{length} bytes");
        }
        assert_eq!(mounted.content(&file).unwrap(), b"abc");
    });
}

#[test]
fn unfinished_records_disturb_no_client() {
    beside_a_neighbour("never finished", |port| {
        let null = record(&message(1, 1000, NULL, &()));
        let unfinished: Vec<Client> = (0..300)
            .map(|number| {
                let mut client = Client::connect(port).unwrap();
                match number % 3 {
                    0 => client.send(&null[..number % (null.len() - 1) + 1]).unwrap(),
                    1 => client.send(&[0x80, 0x10, 0, 0, 1, 2, 3]).unwrap(), // 1 MiB announced
                    _ => client.send(&[0]).unwrap(),
                }
                client
            })
            .collect();
        for _ in 0..50 {
            Client::mount(port).null().unwrap();
        }
        drop(unfinished);
    });
}

#[test]
fn random_records_before_a_mount_are_answered_or_end_their_connection() {
    beside_a_neighbour("random records", |port| {
        let mut random = Random::new(0x5eed_0001);
        let mut client = Client::connect(port).unwrap();
        let mut ended = 0;
        for number in 0..3000 {
            let length = random.below(300);
            let mut bytes = random.bytes(length);
            if number % 2 == 0 {
                bytes = record(&bytes); // a valid mark around random bytes
            }
            if client.send(&bytes).is_err() || number % 50 == 49 {
                client = Client::connect(port).unwrap();
                ended += 1;
            }
        }
        println!("3000 random records over {ended} connections");
    });
}

#[test]
fn calls_changed_at_random_after_a_mount_get_an_answer() {
    beside_a_neighbour("random calls", |port| {
        let mut mounted = Client::mount(port);
        let root = mounted.root.clone();
        let file = mounted.create(&root, "target").unwrap();
        let mut random = Random::new(0x5eed_0002);
        let mut client = Client::connect(port).unwrap();
        let mut answered = 0;
        for number in 0..3000 {
            let mut call = match number % 3 {
                0 => read_message(number, &file, 0, 100),
                1 => {
                    let request = getattr::Request { object: Opaque(&root) };
                    message(number, 1000, (PROGRAM, VERSION, number % 22), &request)
                }
                _ => message(number, 1000, (PROGRAM - number % 7, number % 5, number % 25), &()),
            };
            for _ in 0..random.below(4) {
                let at = 8 + random.below(call.len() - 8); // the transaction and type stay
                call[at] = random.next() as u8;
            }
            answered += u32::from(is_answered(&mut client, number, &call));
        }
        println!("{answered} of 3000 changed calls were answered");
        // A head that cannot be decoded gets no answer.
        assert!(answered > 2000, "{answered}");
    });
}

/// Whether a call gets an answer. The call after it always does.
fn is_answered(client: &mut Client, xid: u32, call: &[u8]) -> bool {
    const AFTER: u32 = u32::MAX;
    let after = record(&message(AFTER, 1000, NULL, &()));
    client.send(&[record(call), after].concat()).unwrap();
    let mut answered = false;
    loop {
        let reply = receive(&mut client.stream).unwrap();
        match u32::from_be_bytes(reply[..4].try_into().unwrap()) {
            AFTER => return answered,
            // The reply to an earlier call that waited for the disk may arrive later.
            other => {
                assert!(other <= xid, "{other} after {xid}");
                answered |= other == xid;
            }
        }
    }
}
