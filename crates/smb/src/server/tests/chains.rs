//! MS-SMB2 3.3.5.2.3 and 3.3.5.2.7: message ids, credits, and requests that come in one frame.

use super::*;
use crate::server::testing::{open_request, read_request, write_request};
use crate::wire::{Dialect, FileKey, close, flush};

/// The file of the request before.
const SAME: FileKey = FileKey { persistent: u64::MAX, volatile: u64::MAX };

fn close_of(file: FileKey) -> Request {
    Request::new(Command::CLOSE, |w| close::Request { flags: close::Flags::NONE, file }.encode(w))
}

fn read_of(file: FileKey, length: u32) -> Request {
    Request::new(Command::READ, |w| read_request(file, 0, length).encode(w))
}

async fn statuses(ada: &mut User, chain: Vec<Request>) -> Vec<Status> {
    ada.call_chain(chain).await.iter().map(Answer::status).collect()
}

#[tokio::test]
async fn a_message_id_is_used_once_and_only_when_granted() {
    let service = service();
    let ids: [fn(u64) -> u64; 5] = [|_| 0, |next| next - 1, |next| next + 70_000, |_| u64::MAX, |_| 1 << 63];
    for id in ids {
        let mut ada = User::new(&service).await;
        ada.client.next_id = id(ada.client.next_id);
        let request = echo().on(ada.session.id, 0);
        let _ = ada.client.send(vec![request], FrameProtection::Signed(&ada.session)).await;
        assert!(ada.client.link.is_over());
    }
    let mut ada = User::new(&service).await;
    ada.client.next_id += 1; // a client may skip one message id
    let answer = ada.call(Command::ECHO, |w| crate::wire::echo::Request.encode(w)).await;
    assert_eq!(answer.status(), Status::SUCCESS);
}

/// MS-SMB2 3.3.5.2.5.
#[tokio::test]
async fn a_transfer_longer_than_paid_for_is_refused() {
    let service = service();
    let mut ada = User::new(&service).await;
    let file = ada.make("large", &[]).await;
    let data = vec![7; 200_000];
    let request = |ada: &User, charge| {
        ada.request(Command::WRITE, |w| write_request(file, 0).encode(&data, w)).charge(charge)
    };
    let cheap = request(&ada, 3);
    assert_eq!(statuses(&mut ada, vec![cheap]).await, [Status::INVALID_PARAMETER]);
    let paid = request(&ada, 4);
    assert_eq!(statuses(&mut ada, vec![paid]).await, [Status::SUCCESS]);
    for (charge, length, expected) in [
        (0, 65_536, Status::SUCCESS),
        (1, 65_537, Status::INVALID_PARAMETER),
        (2, 65_537, Status::SUCCESS),
        (4, 200_000, Status::SUCCESS),
    ] {
        let read = read_of(file, length).on(ada.session.id, ada.tree).charge(charge);
        assert_eq!(statuses(&mut ada, vec![read]).await, [expected], "{length} for {charge}");
    }
}

/// MS-SMB2 2.2.1.2: CreditCharge is reserved in 2.0.2.
#[tokio::test]
async fn in_2_0_2_a_request_costs_one_whatever_it_says() {
    let mut ada = User::speaking(&service(), Dialect::SMB_2_0_2).await;
    for _ in 0..3 {
        let id = ada.client.next_id;
        let request = echo().on(ada.session.id, 0).charge(50_000);
        assert_eq!(statuses(&mut ada, vec![request]).await, [Status::SUCCESS]);
        ada.client.next_id = id + 1;
    }
}

#[tokio::test]
async fn a_client_gets_the_credits_it_asks_for_and_never_none() {
    let mut ada = User::new(&service()).await;
    for (asked, expected) in [(0, 1), (1, 1), (100, 100)] {
        let mut request = echo().on(ada.session.id, 0);
        request.header.credits = asked;
        let answers = ada.call_chain(vec![request]).await;
        assert_eq!(answers[0].header.credits, expected);
    }
    let mut request = echo().on(ada.session.id, 0);
    request.header.credits = u16::MAX;
    let granted = ada.call_chain(vec![request]).await[0].header.credits;
    assert!(granted < 8192, "the limit includes the credits that the client has: {granted}");
}

#[tokio::test]
async fn related_requests_are_about_the_file_of_the_one_before() {
    let mut ada = User::new(&service()).await;
    let create = ada.request(Command::CREATE, |w| open_request("notes").encode(w));
    let write = Request::new(Command::WRITE, |w| write_request(SAME, 0).encode(b"abc", w));
    let chain = vec![create, write.related(), read_of(SAME, 3).related(), close_of(SAME).related()];
    assert_eq!(statuses(&mut ada, chain).await, [Status::SUCCESS; 4]);
}

#[tokio::test]
async fn when_a_file_cannot_be_opened_what_is_related_fails_in_the_same_way() {
    let mut ada = User::new(&service()).await;
    let mut request = open_request("nothing");
    request.disposition = crate::wire::create::Disposition::OPEN;
    let create = ada.request(Command::CREATE, |w| request.encode(w));
    let flush = Request::new(Command::FLUSH, |w| flush::Request { reserved: 0, file: SAME }.encode(w));
    let last = echo().on(ada.session.id, 0);
    let chain = vec![create, flush.related(), close_of(SAME).related(), last];
    let missing = Status::OBJECT_NAME_NOT_FOUND;
    assert_eq!(statuses(&mut ada, chain).await, [missing, missing, missing, Status::SUCCESS]);
}

#[tokio::test]
async fn what_fails_on_an_open_file_does_not_keep_the_next_from_it() {
    let mut ada = User::new(&service()).await;
    ada.make("notes", b"abc").await;
    let mut request = open_request("notes");
    request.desired_access = 1; // FILE_READ_DATA
    let create = ada.request(Command::CREATE, |w| request.encode(w));
    let write = Request::new(Command::WRITE, |w| write_request(SAME, 0).encode(b"x", w));
    let chain = vec![create, write.related(), read_of(SAME, 3).related(), close_of(SAME).related()];
    let expected = [Status::SUCCESS, Status::ACCESS_DENIED, Status::SUCCESS, Status::SUCCESS];
    assert_eq!(statuses(&mut ada, chain).await, expected);
}

/// MS-SMB2 3.3.5.2.7.2.
#[tokio::test]
async fn what_is_related_to_nothing_is_invalid() {
    let mut ada = User::new(&service()).await;
    let own = close_of(SAME).on(ada.session.id, ada.tree);
    let chain = vec![read_of(SAME, 1).related(), close_of(SAME).related(), own];
    let invalid = Status::INVALID_PARAMETER;
    assert_eq!(statuses(&mut ada, chain).await, [invalid, invalid, Status::FILE_CLOSED]);
    let elsewhere = close_of(SAME).on(77, 1);
    let chain = vec![elsewhere, close_of(SAME).related()];
    assert_eq!(statuses(&mut ada, chain).await, [Status::USER_SESSION_DELETED, invalid]);
}

#[tokio::test]
async fn a_command_that_does_not_exist_is_invalid() {
    let mut ada = User::new(&service()).await;
    for command in [0x13, 0x14, 0x00FF, 0xFFFF] {
        let request = Request::new(Command(command), |w| w.zeros(8)).on(ada.session.id, ada.tree);
        assert_eq!(statuses(&mut ada, vec![request]).await, [Status::INVALID_PARAMETER]);
    }
}

#[tokio::test]
async fn a_chain_that_leads_astray_ends_the_connection() {
    let service = service();
    for next in [1, 8, 63, 68, 72 + 4, 1 << 20, u32::MAX, 0x8000_0000] {
        let mut ada = User::new(&service).await;
        let (_, mut frame) = ada.client.prepare(vec![echo(), echo()], FrameProtection::Plain);
        frame[4 + 20..][..4].copy_from_slice(&next.to_le_bytes());
        ada.client.link.send(&frame).await.unwrap();
        assert!(ada.client.link.is_over(), "{next:#x}");
    }
}

#[tokio::test]
async fn responses_of_a_chain_begin_at_multiples_of_eight_and_the_last_is_padded_too() {
    let mut ada = User::new(&service()).await;
    let file = ada.make("notes", b"abc").await;
    let read = || read_of(file, 3);
    let (session, tree) = (ada.session.id, ada.tree);
    let answers = ada.call_chain(vec![read().on(session, tree), read().on(session, tree)]).await;
    let lengths: Vec<_> = answers.iter().map(|answer| answer.message.len()).collect();
    assert_eq!(lengths, [88, 88]); // 64 + 16 + 3, and padding
    let unsigned = vec![read().on(session, tree), read().on(session, tree)];
    let ids = ada.client.send(unsigned, FrameProtection::Plain).await.unwrap();
    for id in ids {
        assert_eq!(ada.answer(id).await.message.len(), 88);
    }
    let alone = ada.call_chain(vec![read().on(session, tree)]).await;
    assert_eq!(alone[0].message.len(), 83);
}

#[tokio::test]
async fn a_thousand_requests_may_come_in_one_frame() {
    let mut ada = User::new(&service()).await;
    let mut more = echo().on(ada.session.id, 0);
    more.header.credits = 2000;
    assert_eq!(statuses(&mut ada, vec![more]).await, [Status::SUCCESS]);
    for seals in [false, true] {
        ada.seals = seals;
        let chain = vec![echo().on(ada.session.id, 0); 1000];
        assert!(statuses(&mut ada, chain).await.iter().all(|status| *status == Status::SUCCESS));
    }
}

/// MS-FSA 2.1.5.3 and 2.1.5.4.
#[tokio::test]
async fn ranges_end_where_files_can() {
    let mut ada = User::new(&service()).await;
    let file = ada.make("notes", b"abc").await;
    let most = i64::MAX as u64;
    for (offset, length, expected) in [
        (3, 0, Ok(vec![])),
        (most, 0, Ok(vec![])),
        (most - 1, 1, Err(Status::END_OF_FILE)),
        (most, 1, Err(Status::INVALID_PARAMETER)),
        (most + 1, 0, Err(Status::INVALID_PARAMETER)),
        (u64::MAX, 0, Err(Status::INVALID_PARAMETER)),
        (u64::MAX, 2, Err(Status::INVALID_PARAMETER)),
    ] {
        assert_eq!(ada.read(file, offset, length).await, expected, "{offset:#x}, {length}");
    }
    for (offset, data, expected) in [
        (most, &b""[..], Status::SUCCESS),
        (most, b"x", Status::INVALID_PARAMETER),
        (most + 1, b"", Status::INVALID_PARAMETER),
        (u64::MAX, b"xy", Status::INVALID_PARAMETER),
        (1 << 45, b"x", Status::SUCCESS), // 32 TiB: as large as the host's file system lets files be
    ] {
        assert_eq!(ada.write(file, offset, data).await, expected, "{offset:#x}");
    }
}
