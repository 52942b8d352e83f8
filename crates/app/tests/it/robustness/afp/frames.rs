//! Frames that no client sends: the server closes that one connection, or answers. Apple Filing
//! Protocol Programming Guide, "Data Stream Interface".

use std::io::Write;
use std::time::Duration;

use ::afp::client::Client;
use ::afp::wire::ResultCode;
use ::afp::wire::dsi::Command;

use super::client::{Afp, connect, is_closed_within};
use super::{MIB, beside_a_neighbour};
use crate::robustness::random::Random;

/// The deadline for closing a hopeless connection.
const SOON: Duration = Duration::from_secs(20);

fn header(flags: u8, command: u8, code: u32, length: u32) -> Vec<u8> {
    let mut bytes = vec![flags, command, 0, 1];
    bytes.extend(code.to_be_bytes());
    bytes.extend(length.to_be_bytes());
    bytes.extend([0; 4]);
    bytes
}

#[test]
fn bytes_that_are_no_frame_end_their_connection() {
    beside_a_neighbour("other bytes", 8 * MIB, |port| {
        for bytes in [
            &b"GET / HTTP/1.1\r\nHost: fourfold\r\n\r\n"[..],
            b"\xFESMB\x40\0\0\0\0\0\0\0\0\0\0\0\0",
            &[2; 16],
        ] {
            let mut stream = connect(port).unwrap();
            let _ = stream.write_all(bytes); // the connection may end meanwhile
            assert!(is_closed_within(&mut stream, SOON), "{bytes:?}");
        }
    });
}

#[test]
fn a_frame_longer_than_any_that_is_served_ends_its_connection_at_its_header() {
    beside_a_neighbour("announced lengths", 8 * MIB, |port| {
        for length in [64 * 1024, 1 << 20, 0x7FFF_FFFF, 0x8000_0000, u32::MAX] {
            for command in
                [Command::COMMAND, Command::WRITE, Command::OPEN_SESSION, Command::GET_STATUS, Command(77)]
            {
                let mut stream = connect(port).unwrap();
                stream.write_all(&header(0, command.0, 0, length)).unwrap();
                assert!(is_closed_within(&mut stream, SOON), "{command:?} of {length} bytes before login");
            }
        }
        for length in [(1 << 20) + 64 * 1024 + 1, 0x7FFF_FFFF, 0x8000_0000, u32::MAX] {
            let mut afp = Afp::enter(port);
            afp.client.link().write_all(&header(0, Command::COMMAND.0, 0, length)).unwrap();
            assert!(is_closed_within(afp.client.link(), SOON), "{length} bytes after login");
        }
    });
}

#[test]
fn announced_lengths_take_no_memory_until_the_bytes_come() {
    beside_a_neighbour("200 clients that announce 1 MiB and send half of nothing", 32 * MIB, |port| {
        let mut waiting: Vec<Afp> = (0..200).map(|_| Afp::enter(port)).collect();
        for afp in &mut waiting {
            afp.client.link().write_all(&header(0, Command::WRITE.0, 20, 1 << 20)).unwrap();
            afp.client.link().write_all(b"half a message").unwrap();
        }
        std::thread::sleep(Duration::from_millis(200)); // for this time nothing more comes
    });
}

#[test]
fn data_that_begin_behind_the_end_are_a_parameter_error() {
    beside_a_neighbour("offsets of data", 8 * MIB, |port| {
        let mut afp = Afp::enter(port);
        let fork = afp.make("notes", b"abc");
        let request = [&[33, 0][..], &fork.0.to_be_bytes(), &[0; 4], &[0, 0, 0, 3], b"xyz"].concat();
        for at in [request.len() as u32 + 1, 1 << 20, 0x7FFF_FFFF, u32::MAX] {
            let answer = afp.client.ask(Command::WRITE, at, &request).unwrap();
            assert_eq!(answer.code(), ResultCode::PARAM_ERROR, "{at}");
        }
        for at in 0..12 {
            // The command itself is truncated: it gets an answer in any case.
            afp.client.ask(Command::WRITE, at, &request).unwrap();
        }
        assert_eq!(afp.client.read(fork, 0, 10).unwrap(), b"abc");
    });
}

#[test]
fn every_frame_of_random_bytes_is_answered_or_ends_its_connection() {
    beside_a_neighbour("random frames", 16 * MIB, |port| {
        let mut random = Random::new(0x5eed_0030);
        for round in 0..300 {
            let length = random.below(300);
            let frame = [
                header((round % 3) as u8, random.below(12) as u8, random.next() as u32, length as u32),
                random.bytes(length),
            ]
            .concat();
            let mut client =
                if round % 2 == 0 { Client::new(connect(port).unwrap()) } else { Afp::enter(port).client };
            client.link().write_all(&frame).unwrap();
            let _ = client.link().shutdown(std::net::Shutdown::Write);
            assert!(is_closed_within(client.link(), SOON), "round {round}");
        }
    });
}
