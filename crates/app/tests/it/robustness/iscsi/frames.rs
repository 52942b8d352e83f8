//! PDUs that no initiator sends: the server closes that one connection, or answers. RFC 7143
//! section 11, and 7.8 for digests.

use std::io::Write;
use std::time::Duration;

use ::iscsi::client::{Client, Data, Error, Login, command_16};
use ::iscsi::wire::pdu::{Attribute, BHS, Lun, NO_TAG, NopOut, Opcode, RejectReason, ScsiCommand};
use ::iscsi::wire::scsi::{Asc, Key, Status};
use wire::Writer;

use super::client::{Iscsi, connect, enter, enter_with, is_closed_within, login};
use super::{MIB, SOON, beside_a_neighbour};
use crate::robustness::random::Random;

/// A header that claims these lengths, in words and bytes.
pub(super) fn header(opcode: u8, additional_words: u8, data: u32) -> [u8; BHS] {
    let mut header = [0; BHS];
    (header[0], header[1], header[4]) = (opcode, 0x80, additional_words);
    header[5..8].copy_from_slice(&data.to_be_bytes()[1..]);
    header
}

/// READ (16) of one block, whose header can be changed.
fn read_command(client: &mut Iscsi) -> [u8; BHS] {
    let command = ScsiCommand {
        immediate: false,
        is_final: true,
        reads: true,
        writes: false,
        attribute: Attribute::SIMPLE,
        lun: Lun::of(0),
        task_tag: client.new_tag(),
        expected_length: 512,
        cmd_sn: client.take_cmd_sn(),
        exp_stat_sn: client.exp_stat_sn,
        cdb: command_16(0x88, 0, 0, 1),
    };
    let mut w = Writer::new();
    command.encode(0, &mut w);
    let mut header = [0; BHS];
    header.copy_from_slice(w.as_bytes());
    header
}

#[test]
fn bytes_that_are_no_pdu_end_their_connection() {
    beside_a_neighbour("other bytes", 8 * MIB, |port| {
        for bytes in [
            &b"GET / HTTP/1.1\r\nHost: fourfold\r\nUser-Agent: something long enough\r\n\r\n"[..],
            b"\xFESMB\x40\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
            &[0xff; 64],
        ] {
            let mut stream = connect(port).unwrap();
            let _ = stream.write_all(bytes); // the connection may end meanwhile
            assert!(is_closed_within(&mut stream, SOON), "{bytes:?}");
        }
    });
}

#[test]
fn more_data_than_was_agreed_on_end_their_connection_at_the_header() {
    beside_a_neighbour("announced lengths", 8 * MIB, |port| {
        // RFC 7143 13.12: 8192 bytes until another length is declared.
        for length in [8193, 65_536, (1 << 24) - 1] {
            for opcode in [0x43, 0x03, 0x01, 0x04, 0x05, 0x3f] {
                let mut stream = connect(port).unwrap();
                stream.write_all(&header(opcode, 0, length)).unwrap();
                assert!(
                    is_closed_within(&mut stream, SOON),
                    "{opcode:#x} with {length} bytes before the login"
                );
            }
        }
        for opcode in [0x00, 0x01, 0x04, 0x05] {
            let mut client = enter(port);
            let length = client.agreed.max_segment as u32 + 1;
            client.link().write_all(&header(opcode, 0, length)).unwrap();
            assert!(is_closed_within(client.link(), SOON), "{opcode:#x} with {length} bytes");
            let mut client = enter(port);
            client.link().write_all(&header(opcode, 0, (1 << 24) - 1)).unwrap();
            assert!(is_closed_within(client.link(), SOON), "{opcode:#x} with 16 MiB");
        }
    });
}

#[test]
fn announced_lengths_take_no_memory_until_the_bytes_come() {
    beside_a_neighbour("200 initiators that announce as much as they may", 32 * MIB, |port| {
        let mut waiting: Vec<Iscsi> = (0..200).map(|_| enter(port)).collect();
        for client in &mut waiting {
            let length = client.agreed.max_segment as u32;
            client.link().write_all(&header(0x05, 0, length)).unwrap();
            client.link().write_all(b"half a message").unwrap();
        }
        std::thread::sleep(Duration::from_millis(200)); // for this time nothing more comes
    });
}

#[test]
fn every_opcode_of_every_length_is_answered_or_ends_its_connection() {
    beside_a_neighbour("opcodes and lengths", 16 * MIB, |port| {
        let mut random = Random::new(0x5eed_0050);
        for opcode in 0..0x80 {
            for (words, data) in [(0, 0), (0, 1), (1, 3), (3, 48), (255, 0), (0, 8192)] {
                let is_inside = opcode % 2 == 0;
                let mut client = if is_inside { enter(port) } else { Client::new(connect(port).unwrap()) };
                let mut bytes = header(opcode, words, data);
                random.bytes(BHS - 8).iter().zip(&mut bytes[8..]).for_each(|(from, to)| *to = *from);
                let body = random.bytes(usize::from(words) * 4 + data.next_multiple_of(4) as usize);
                let _ = client.link().write_all(&[&bytes[..], &body].concat()); // it may end meanwhile
                let _ = client.link().shutdown(std::net::Shutdown::Write);
                assert!(is_closed_within(client.link(), SOON), "{opcode:#x}, {words} words, {data} bytes");
            }
        }
    });
}

#[test]
fn a_pdu_that_is_cut_short_anywhere_ends_with_its_connection() {
    beside_a_neighbour("cut PDUs", 8 * MIB, |port| {
        for length in (0..BHS).step_by(5) {
            let mut client = enter(port);
            let whole = read_command(&mut client);
            client.link().write_all(&whole[..length]).unwrap();
            let _ = client.link().shutdown(std::net::Shutdown::Write);
            assert!(is_closed_within(client.link(), SOON), "{length} bytes of a command");
        }
    });
}

/// RFC 7143 11.2.2.1: "If a target does not recognise it…"; a wrong length makes the command
/// malformed.
#[test]
fn further_headers_are_passed_over_or_refused() {
    beside_a_neighbour("further headers", 8 * MIB, |port| {
        let unknown = |kind: u8| vec![0, 5, kind, 0, 1, 2, 3, 4];
        let beyond = vec![0xff, 0xff, 0x01, 0, 1, 2, 3, 4];
        let short = vec![0, 0, 0x01, 0];
        let longest = [&[0x03, 0xf9, 0x3f, 0][..], &[0; 1016]].concat(); // 255 words of an unknown type
        for (additional, is_fine) in
            [(unknown(0x3f), true), (unknown(0), true), (longest, true), (beyond, false), (short, false)]
        {
            let mut client = enter(port);
            let mut bytes = read_command(&mut client);
            bytes[4] = (additional.len() / 4) as u8;
            client.link().write_all(&[&bytes[..], &additional].concat()).unwrap();
            let answer = client.receive().unwrap();
            let expected = if is_fine { Opcode::DATA_IN } else { Opcode::REJECT };
            assert_eq!(answer.opcode(), expected, "{:?}", &additional[..4]);
            client.read(0, 0, 1).unwrap();
        }
    });
}

fn with_digests(port: u16) -> Iscsi {
    let client = enter_with(port, &Login { digests: true, ..login() }).unwrap();
    assert!(client.agreed.header_digest && client.agreed.data_digest);
    client
}

/// RFC 7143 7.8: the receiver of a wrong header closes the connection, because the next PDU cannot
/// be found.
#[test]
fn a_header_with_a_wrong_digest_ends_its_connection() {
    beside_a_neighbour("wrong header digests", 8 * MIB, |port| {
        let mut client = with_digests(port);
        client.read(0, 0, 1).unwrap();
        let bytes = read_command(&mut client);
        client.link().write_all(&[&bytes[..], &[1, 2, 3, 4]].concat()).unwrap();
        assert!(is_closed_within(client.link(), SOON));
    });
}

/// RFC 7143 7.8: wrong data are rejected and not written; the connection continues.
#[test]
fn data_with_a_wrong_digest_are_not_written() {
    beside_a_neighbour("wrong data digests", 8 * MIB, |port| {
        let mut client = with_digests(port);
        client.write(0, 0, &[1; 512], false).unwrap();
        let tag = client.new_tag();
        let nop = NopOut {
            immediate: true,
            lun: Lun::of(0),
            task_tag: tag,
            transfer_tag: NO_TAG,
            cmd_sn: client.cmd_sn,
            exp_stat_sn: client.exp_stat_sn,
        };
        let mut w = Writer::new();
        nop.encode(4, &mut w);
        let digest = ::iscsi::wire::digest::crc32c(w.as_bytes());
        client.link().write_all(&[w.as_bytes(), &digest, b"data", &[0; 4]].concat()).unwrap();
        let refused = client.ping(b"").unwrap_err();
        assert!(matches!(refused, Error::Rejected(RejectReason::DATA_DIGEST_ERROR)), "{refused:?}");
        assert_eq!(client.receive().unwrap().opcode(), Opcode::NOP_IN); // of the ping
        assert_eq!(client.read(0, 0, 1).unwrap(), [1; 512]);
    });
}

/// RFC 7143 7.8: with wrong Data-Out, the command fails after its sequence with a CRC error of the
/// protocol.
#[test]
fn a_write_of_which_data_have_a_wrong_digest_fails() {
    beside_a_neighbour("wrong digests of Data-Out", 8 * MIB, |port| {
        let keys: &[(&str, &str)] = &[("ImmediateData", "No"), ("InitialR2T", "Yes")];
        let mut client = enter_with(port, &Login { digests: true, keys, ..login() }).unwrap();
        client.write(0, 0, &[1; 512], false).unwrap();
        let tag = client.begin(0, &command_16(0x8a, 0, 0, 1), Data::Out(&[2; 512])).unwrap();
        let asked = client.receive().unwrap();
        assert_eq!(asked.opcode(), Opcode::R2T);
        let mut head = client.unsolicited(0, tag, 0);
        head.transfer_tag = u32::from_be_bytes(asked.header[20..24].try_into().unwrap());
        let mut w = Writer::new();
        head.encode(512, &mut w);
        let digest = ::iscsi::wire::digest::crc32c(w.as_bytes());
        client.link().write_all(&[w.as_bytes(), &digest, &[2; 512], &[0; 4]].concat()).unwrap();
        assert_eq!(client.receive().unwrap().opcode(), Opcode::REJECT);
        let answer = client.end(tag).unwrap();
        assert_eq!(answer.status, Status::CHECK_CONDITION);
        assert_eq!(answer.sense, Some((Key::ABORTED_COMMAND, Asc::PROTOCOL_SERVICE_CRC_ERROR)));
        assert_eq!(client.read(0, 0, 1).unwrap(), [1; 512]);
    });
}

#[test]
fn every_pdu_of_random_bytes_is_answered_or_ends_its_connection() {
    beside_a_neighbour("random PDUs", 16 * MIB, |port| {
        let mut random = Random::new(0x5eed_0051);
        for round in 0..300 {
            let data = random.below(300);
            let mut bytes = header(random.below(128) as u8, 0, data as u32);
            random.bytes(24).iter().zip(&mut bytes[8..]).for_each(|(from, to)| *to = *from);
            let mut client = if round % 3 == 0 { Client::new(connect(port).unwrap()) } else { enter(port) };
            let body = random.bytes(data.next_multiple_of(4));
            let _ = client.link().write_all(&[&bytes[..], &body].concat()); // it may end meanwhile
            let _ = client.link().shutdown(std::net::Shutdown::Write);
            assert!(is_closed_within(client.link(), SOON), "round {round}");
        }
    });
}
