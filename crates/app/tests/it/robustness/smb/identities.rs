//! Numbers that belong to another client, were used before, or exceed the granted ones, MS-SMB2
//! 3.3.5.2.

use std::time::Duration;

use ::smb::client::{FrameProtection, Request};
use ::smb::wire::{Command, FileKey, Status, echo};

use super::client::{Smb, now, read_request};
use super::{MIB, beside_a_neighbour};

const SOON: Duration = Duration::from_secs(20);

fn echo(smb: &Smb) -> Request {
    smb.request(Command::ECHO, |w| echo::Request.encode(w))
}

/// The status of a READ with these numbers, signed with the key of `smb`'s session.
fn status_of_read(smb: &mut Smb, session: u64, tree: u32, file: FileKey) -> Status {
    let request = Request::new(Command::READ, |w| read_request(file, 0, 10).encode(w)).on(session, tree);
    let signer = smb.session.clone();
    let ids = now(smb.client.send(vec![request], FrameProtection::Signed(&signer))).unwrap();
    smb.answer(ids[0]).unwrap().status()
}

#[test]
fn sessions_trees_and_files_of_other_users_are_refused() {
    beside_a_neighbour("other people's numbers", 8 * MIB, |port| {
        let (mut ada, mut bob) = (Smb::enter_as_machine(port, 1), Smb::enter_as_machine(port, 2));
        let (mine, theirs) = (ada.make("mine", b"abc"), bob.make("theirs", b"abc"));
        let (session, tree) = (ada.session.id, ada.tree);
        assert_eq!(status_of_read(&mut ada, session, tree, mine), Status::SUCCESS);
        // 3.3.5.2.9, 3.3.5.2.11, 3.3.5.12.
        for other in [bob.session.id, 0, 1, session ^ 1, u64::MAX] {
            assert_eq!(
                status_of_read(&mut ada, other, tree, mine),
                Status::USER_SESSION_DELETED,
                "{other:#x}"
            );
        }
        for other in [0, tree + 1, tree ^ 0x8000_0000, u32::MAX] {
            assert_eq!(
                status_of_read(&mut ada, session, other, mine),
                Status::NETWORK_NAME_DELETED,
                "{other:#x}"
            );
        }
        let swapped = FileKey { persistent: mine.volatile, volatile: mine.persistent };
        let half = FileKey { persistent: mine.persistent, volatile: theirs.volatile };
        for other in [theirs, half, FileKey::ALL_ONES, FileKey { persistent: 0, volatile: 0 }] {
            assert_eq!(status_of_read(&mut ada, session, tree, other), Status::FILE_CLOSED, "{other:?}");
        }
        assert!(swapped == mine || status_of_read(&mut ada, session, tree, swapped) == Status::FILE_CLOSED);
        let ipc = ada.connect_tree("IPC$").unwrap();
        assert_eq!(status_of_read(&mut ada, session, ipc, mine), Status::FILE_CLOSED);
        assert_eq!(bob.content(theirs).unwrap(), b"abc");
    });
}

#[test]
fn a_message_that_comes_twice_ends_its_connection() {
    // 3.3.5.2.3: an unavailable MessageId ends the connection.
    beside_a_neighbour("replays", 8 * MIB, |port| {
        use ::smb::client::Link;
        let mut smb = Smb::enter(port);
        let session = smb.session.clone();
        let (_, frame) = smb.client.prepare(vec![echo(&smb)], FrameProtection::Signed(&session));
        now(smb.client.link.send(&frame)).unwrap();
        smb.client.link.frame().unwrap();
        now(smb.client.link.send(&frame)).unwrap();
        assert!(smb.client.link.is_closed_within(SOON));
    });
}

#[test]
fn numbers_beyond_the_credits_end_their_connection() {
    beside_a_neighbour("ids that were not granted", 8 * MIB, |port| {
        for (id, charge) in [(None, u16::MAX), (Some(1 << 20), 1), (Some(u64::MAX), 1), (Some(u64::MAX), 2)] {
            let mut smb = Smb::enter(port);
            smb.client.next_id = id.unwrap_or(smb.client.next_id);
            let session = smb.session.clone();
            let mut request = echo(&smb);
            request.header.message_id = smb.client.next_id;
            request.header.credit_charge = charge;
            // After the last number, a client cannot count, so the frame is made before.
            let next = smb.client.next_id;
            smb.client.next_id = next.min(u64::MAX - 4);
            let (_, mut frame) = smb.client.prepare(vec![request], FrameProtection::Signed(&session));
            frame[4 + 24..4 + 32].copy_from_slice(&next.to_le_bytes());
            use ::smb::client::Link;
            now(smb.client.link.send(&frame)).unwrap();
            assert!(smb.client.link.is_closed_within(SOON), "{id:?}, {charge} credits");
        }
    });
}

#[test]
fn a_client_that_asks_for_all_credits_gets_a_bounded_number_and_is_never_left_without() {
    beside_a_neighbour("greed for credits", 8 * MIB, |port| {
        let mut smb = Smb::enter(port);
        let mut balance = 0_i64;
        for round in 0..200 {
            let mut request = echo(&smb);
            request.header.credits = if round < 100 { u16::MAX } else { 0 };
            let answer = smb.try_request(request).unwrap();
            balance += i64::from(answer.header.credits) - 1;
            assert!(balance <= 8192, "{balance} credits more than at the beginning");
            assert!(round < 100 || answer.header.credits >= 1);
        }
    });
}

#[test]
fn frames_sealed_with_wrong_keys_or_for_unknown_sessions_end_their_connection() {
    beside_a_neighbour("wrong keys", 8 * MIB, |port| {
        for case in ["keys", "number", "a bit"] {
            let mut smb = Smb::enter(port);
            let session = match case {
                "number" => smb.session.by_another_number(smb.session.id ^ 0xFF),
                _ => smb.session.with_wrong_keys(),
            };
            let (_, frame) = match case {
                "a bit" => {
                    let session = smb.session.clone();
                    let (ids, mut frame) =
                        smb.client.prepare(vec![echo(&smb)], FrameProtection::Sealed(&session));
                    let last = frame.len() - 1;
                    frame[last] ^= 1;
                    (ids, frame)
                }
                _ => smb.client.prepare(vec![echo(&smb)], FrameProtection::Sealed(&session)),
            };
            use ::smb::client::Link;
            now(smb.client.link.send(&frame)).unwrap();
            assert!(smb.client.link.is_closed_within(SOON), "wrong {case}");
        }
    });
}

#[test]
fn requests_signed_with_wrong_keys_are_denied() {
    // 3.3.5.2.4: ACCESS_DENIED.
    beside_a_neighbour("wrong signatures", 8 * MIB, |port| {
        let mut smb = Smb::enter(port);
        let wrong = smb.session.with_wrong_keys();
        for _ in 0..100 {
            let ids = now(smb.client.send(vec![echo(&smb)], FrameProtection::Signed(&wrong))).unwrap();
            assert_eq!(smb.answer(ids[0]).unwrap().status(), Status::ACCESS_DENIED);
        }
        smb.echo().unwrap();
    });
}
