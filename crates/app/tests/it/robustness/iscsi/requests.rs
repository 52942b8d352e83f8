//! Requests out of order, data that the target has not solicited, invalid commands: RFC 7143 4.2.2,
//! 7.9 and 11.7, SBC-3.

use ::iscsi::client::{Data, Error, Login, command_16};
use ::iscsi::wire::pdu::{DataOut, NO_TAG, Opcode, R2t, Reject, RejectReason, Residual};
use ::iscsi::wire::scsi::{Asc, Key, Status};
use wire::Reader;

use super::client::{BLOCKS, Iscsi, enter, enter_with, login};
use super::{MIB, beside_a_neighbour};
use crate::robustness::random::Random;
use crate::robustness::server::{Server, folder};

const READ: u8 = 0x88;
const WRITE: u8 = 0x8a;

fn reject_reason(client: &mut Iscsi) -> RejectReason {
    let pdu = client.receive().unwrap();
    assert_eq!(pdu.opcode(), Opcode::REJECT);
    Reject::decode(&mut Reader::new(&pdu.header)).unwrap().reason
}

/// RFC 7143 4.2.2.1: commands outside of the window and duplicates are silently ignored.
#[test]
fn commands_outside_of_the_window_are_ignored() {
    beside_a_neighbour("numbers out of the window", 8 * MIB, |port| {
        let mut client = enter(port);
        let right = client.cmd_sn;
        let beyond = client.max_cmd_sn.wrapping_add(1);
        for wrong in
            [beyond, beyond.wrapping_add(1000), right.wrapping_add(1 << 31), right.wrapping_sub(1), 0]
        {
            client.cmd_sn = wrong;
            client.begin(0, &command_16(READ, 0, 0, 1), Data::In(512)).unwrap();
        }
        client.cmd_sn = right;
        // Only this command gets an answer.
        assert_eq!(client.read(0, 0, 1).unwrap().len(), 512);
        client.cmd_sn = right; // a duplicate
        client.begin(0, &command_16(READ, 0, 0, 1), Data::In(512)).unwrap();
        client.cmd_sn = right.wrapping_add(1);
        assert_eq!(client.ping(b"still there").unwrap(), b"still there");
    });
}

#[test]
fn commands_that_come_before_others_wait_for_them() {
    beside_a_neighbour("numbers in disorder", 8 * MIB, |port| {
        let mut client = enter(port);
        let first = client.cmd_sn;
        let mut tags = Vec::new();
        for number in (0..20).rev() {
            client.cmd_sn = first.wrapping_add(number);
            let lba = u64::from(number);
            tags.push(client.begin(0, &command_16(READ, 0, lba, 1), Data::In(512)).unwrap());
        }
        client.cmd_sn = first.wrapping_add(20);
        for tag in tags {
            assert_eq!(client.end(tag).unwrap().well().unwrap().len(), 512);
        }
    });
}

#[test]
fn a_gap_that_is_never_filled_holds_up_its_session_alone() {
    beside_a_neighbour("a number that never comes", 32 * MIB, |port| {
        let mut client = enter(port);
        client.take_cmd_sn();
        let data = vec![9; 64 * 1024];
        while client.cmd_sn <= client.max_cmd_sn {
            client.begin(0, &command_16(WRITE, 0, 0, 128), Data::Out(&data)).unwrap();
        }
        enter(port).read(0, 0, 1).unwrap();
    });
}

/// RFC 7143 11.2.1.8 about the initiator task tag: if two commands in flight have one tag, the
/// later one is rejected.
#[test]
fn a_tag_that_is_in_use_is_rejected() {
    beside_a_neighbour("tags twice", 8 * MIB, |port| {
        let mut client = enter_with(port, &Login { keys: ASKED, ..login() }).unwrap();
        let tag = client.begin(0, &command_16(WRITE, 0, 0, 8), Data::Out(&[5; 4096])).unwrap();
        let asked = client.receive().unwrap();
        let mut twin = asked.header; // any header of 48 bytes: the command again, with the next number
        twin.fill(0);
        (twin[0], twin[1], twin[9]) = (0x01, 0xc1, 0);
        twin[16..20].copy_from_slice(&tag.to_be_bytes());
        twin[20..24].copy_from_slice(&512_u32.to_be_bytes());
        let number = client.take_cmd_sn();
        twin[24..28].copy_from_slice(&number.to_be_bytes());
        twin[32..48].copy_from_slice(&command_16(READ, 0, 0, 1));
        std::io::Write::write_all(client.link(), &twin).unwrap();
        assert_eq!(reject_reason(&mut client), RejectReason::TASK_IN_PROGRESS);
        answer(&mut client, &asked.header, |_| {}, &[5; 4096]);
        client.end(tag).unwrap().well().unwrap();
    });
}

/// All data are solicited: no immediate and no unsolicited data.
const ASKED: &[(&str, &str)] =
    &[("ImmediateData", "No"), ("InitialR2T", "Yes"), ("MaxRecvDataSegmentLength", "65536")];

/// Sends modified Data-Out for an R2T.
fn answer(client: &mut Iscsi, r2t: &[u8; 48], change: impl FnOnce(&mut DataOut), data: &[u8]) {
    let asked = R2t::decode(&mut Reader::new(r2t)).unwrap();
    let mut head = client.unsolicited(0, asked.task_tag, asked.offset);
    head.transfer_tag = asked.transfer_tag;
    change(&mut head);
    client.send_data(&head, data).unwrap();
}

#[test]
fn unsolicited_data_beyond_the_agreement_are_rejected() {
    beside_a_neighbour("data unasked", 8 * MIB, |port| {
        let mut client = enter(port);
        client.write(0, 0, &[1; 512], false).unwrap();
        for number in 0..300 {
            let tag = client.new_tag();
            let head = client.unsolicited(0, tag, number * 512);
            client.send_data(&head, &[7; 512]).unwrap();
            reject_reason(&mut client);
        }
        assert_eq!(client.read(0, 0, 1).unwrap(), [1; 512]);
    });
}

/// The error's name, the modification, and the number of bytes to send.
type Change = (&'static str, fn(&mut DataOut), usize);

/// RFC 7143 7.9 and 11.7: the command fails, neighbouring blocks are unchanged, and the connection
/// continues.
#[test]
fn data_in_the_wrong_place_fail_their_command_and_touch_nothing_else() {
    beside_a_neighbour("Data-Out that lies", 8 * MIB, |port| {
        let mut client = enter_with(port, &Login { keys: ASKED, ..login() }).unwrap();
        let around = [1; 24 * 512];
        let changes: [Change; 6] = [
            ("DataSN", |head| head.data_sn = 1, 4096),
            ("an offset before", |head| head.offset = u32::MAX - 511, 4096),
            ("an offset behind", |head| head.offset = 4096, 4096),
            ("an offset within", |head| head.offset = 512, 4096),
            ("more than asked for", |_| {}, 8192),
            ("less, and it is final", |_| {}, 512),
        ];
        for (what, change, length) in changes {
            client.write(0, 0, &around, false).unwrap();
            let tag = client.begin(0, &command_16(WRITE, 0, 8, 8), Data::Out(&[2; 4096])).unwrap();
            let asked = client.receive().unwrap();
            answer(&mut client, &asked.header, change, &vec![3; length]);
            let ended = client.end(tag).unwrap();
            assert_eq!(ended.status, Status::CHECK_CONDITION, "{what}");
            assert_eq!(ended.sense.map(|sense| sense.0), Some(Key::ABORTED_COMMAND), "{what}");
            let now = client.read(0, 0, 24).unwrap();
            assert!(now[..4096] == around[..4096] && now[8192..] == around[8192..], "{what}");
        }
    });
}

#[test]
fn a_wrong_transfer_tag_is_rejected_and_the_right_one_still_counts() {
    beside_a_neighbour("wrong transfer tags", 8 * MIB, |port| {
        let mut client = enter_with(port, &Login { keys: ASKED, ..login() }).unwrap();
        let tag = client.begin(0, &command_16(WRITE, 0, 0, 8), Data::Out(&[2; 4096])).unwrap();
        let asked = client.receive().unwrap();
        for wrong in [0x7777_7777, 0, NO_TAG] {
            answer(&mut client, &asked.header, |head| head.transfer_tag = wrong, &[3; 4096]);
            reject_reason(&mut client);
        }
        answer(&mut client, &asked.header, |_| {}, &[2; 4096]);
        client.end(tag).unwrap().well().unwrap();
        assert_eq!(client.read(0, 0, 8).unwrap(), [2; 4096]);
    });
}

/// RFC 7143 13.10 and 13.14: immediate and unsolicited data that were not negotiated.
#[test]
fn unsolicited_data_beyond_what_was_agreed_on_fail_their_command() {
    beside_a_neighbour("too much at once", 8 * MIB, |port| {
        let mut client = enter_with(port, &Login { keys: ASKED, ..login() }).unwrap();
        client.agreed.immediate_data = true; // as if it were negotiated
        let ended = client.execute(0, &command_16(WRITE, 0, 0, 8), Data::Out(&[2; 4096])).unwrap();
        assert_eq!(ended.sense, Some((Key::ABORTED_COMMAND, Asc::UNEXPECTED_UNSOLICITED_DATA)));
        client.ping(b"").unwrap();
    });
}

/// RFC 7143 11.4.5: a command with more or less data than expected returns the difference.
#[test]
fn expected_lengths_that_are_wrong_are_told() {
    beside_a_neighbour("expected lengths", 24 * MIB, |port| {
        let mut client = enter(port);
        client.write(0, 0, &[1; 4096], false).unwrap();
        for (expected, residual, got) in [
            (0, Residual::Overflow(1024), 0),
            (1, Residual::Overflow(1023), 1),
            (512, Residual::Overflow(512), 512),
            (1025, Residual::Underflow(1), 1024),
            (u32::MAX, Residual::Underflow(u32::MAX - 1024), 1024),
        ] {
            let answer = client.execute(0, &command_16(READ, 0, 0, 2), Data::In(expected)).unwrap();
            assert_eq!((answer.status, answer.residual), (Status::GOOD, residual), "{expected}");
            assert_eq!(answer.data.len(), got, "{expected}");
        }
        // A write writes only the data that were sent.
        let answer = client.execute(0, &command_16(WRITE, 0, 0, 8), Data::Out(&[2; 512])).unwrap();
        assert_eq!(answer.residual, Residual::Overflow(7 * 512));
        let answer = client.execute(0, &command_16(WRITE, 0, 0, 1), Data::Out(&[2; 4096])).unwrap();
        assert_eq!(answer.residual, Residual::Underflow(7 * 512));
        assert_eq!(client.read(0, 1, 7).unwrap(), [1; 7 * 512]);
    });
}

#[test]
fn blocks_that_are_not_there_are_out_of_range() {
    beside_a_neighbour("blocks beyond the end", 8 * MIB, |port| {
        let mut client = enter(port);
        for (lba, count) in [
            (BLOCKS, 1),
            (BLOCKS - 1, 2),
            (u64::MAX, 1),
            (u64::MAX, u32::MAX),
            (1 << 55, 8),
            (0, BLOCKS as u32 + 1),
        ] {
            for opcode in [READ, WRITE, 0x8f, 0x91, 0x93] {
                let data = if opcode == READ { Data::In(512) } else { Data::None };
                let answer = client.execute(0, &command_16(opcode, 0, lba, count), data).unwrap();
                assert_eq!(answer.status, Status::CHECK_CONDITION, "{opcode:#x} of {count} at {lba}");
                let key = answer.sense.map(|sense| sense.0);
                assert_eq!(key, Some(Key::ILLEGAL_REQUEST), "{opcode:#x} of {count} at {lba}");
            }
        }
    });
}

#[test]
fn units_that_are_not_there_are_not_supported() {
    beside_a_neighbour("other units", 8 * MIB, |port| {
        let mut client = enter(port);
        for lun in [1, 255, 256, 0x3fff] {
            let refused = client.read(lun, 0, 1).unwrap_err();
            let expected = Some((Key::ILLEGAL_REQUEST, Asc::LOGICAL_UNIT_NOT_SUPPORTED)); // SPC-4 5.?, SAM-5 5.11
            assert_eq!(refused.sense(), expected, "{lun}");
        }
        client.read(0, 0, 1).unwrap();
    });
}

/// Every operation code with various bytes: each gets an answer, and the server continues. The test
/// uses the disk alone, because some commands write, and some reserve.
#[test]
fn every_operation_code_is_answered() {
    let (top, share) = folder();
    let server = Server::start_with_iscsi(top.path(), &share);
    let mut random = Random::new(0x5eed_0052);
    let before = server.memory();
    let mut client = enter(server.iscsi_port);
    for opcode in 0..=0xff {
        for round in 0..12 {
            let mut cdb: Vec<u8> = match round {
                0 => vec![0; 16],
                1 => vec![0xff; 16],
                _ => random.bytes(16),
            };
            cdb[0] = opcode;
            let length = random.below(2048);
            let sent = random.bytes(length);
            let data = match round % 3 {
                0 => Data::None,
                1 => Data::In(random.below(8192) as u32),
                _ => Data::Out(&sent),
            };
            match client.execute(0, &cdb, data) {
                Ok(_) | Err(Error::Rejected(_)) => {}
                Err(error) => panic!("{opcode:#x} {cdb:?}: {error}"),
            }
        }
    }
    let grown = server.memory().saturating_sub(before);
    println!("operation codes: the server grew by {} KiB", grown / 1024);
    assert!(grown < 48 * MIB);
    enter(server.iscsi_port).capacity(0).unwrap();
}
