//! LOCK through the harness; statuses by MS-SMB2 3.3.5.14 and MS-FSA 2.1.5.8, 2.1.5.9.

use crate::server::testing::{ADA, User, service};
use crate::wire::lock::{Element, Flags, Request};
use crate::wire::{Command, FileKey, Status, cancel, close, tree_disconnect};

const NOW: Flags = Flags(Flags::EXCLUSIVE.0 | Flags::FAIL_IMMEDIATELY.0);
const SHARED_NOW: Flags = Flags(Flags::SHARED.0 | Flags::FAIL_IMMEDIATELY.0);

fn element(offset: u64, length: u64, flags: Flags) -> Element {
    Element { offset, length, flags }
}

fn request(file: FileKey, locks: &[Element]) -> Request {
    Request { sequence_number: 0, sequence_index: 0, file, locks: locks.to_vec() }
}

async fn lock(user: &mut User, file: FileKey, locks: &[Element]) -> Status {
    user.call(Command::LOCK, |w| request(file, locks).encode(w)).await.status()
}

/// One file, open twice.
async fn two_opens() -> (User, FileKey, FileKey) {
    let mut ada = User::new(&service()).await;
    let first = ada.make("notes", b"0123456789").await;
    let second = ada.open("notes", |_| ()).await.unwrap().file;
    (ada, first, second)
}

#[tokio::test]
async fn of_several_locks_all_are_taken_or_none() {
    let (mut ada, first, second) = two_opens().await;
    assert_eq!(lock(&mut ada, first, &[element(8, 1, NOW)]).await, Status::SUCCESS);
    let two = [element(0, 2, NOW), element(7, 3, NOW)];
    assert_eq!(lock(&mut ada, second, &two).await, Status::LOCK_NOT_GRANTED);
    assert_eq!(lock(&mut ada, first, &[element(0, 2, NOW)]).await, Status::SUCCESS);
}

#[tokio::test]
async fn what_was_unlocked_before_the_one_that_was_not_locked_stays_so() {
    let (mut ada, first, second) = two_opens().await;
    assert_eq!(lock(&mut ada, first, &[element(0, 1, NOW)]).await, Status::SUCCESS);
    let two = [element(0, 1, Flags::UNLOCK), element(5, 1, Flags::UNLOCK)];
    assert_eq!(lock(&mut ada, first, &two).await, Status::RANGE_NOT_LOCKED);
    assert_eq!(lock(&mut ada, second, &[element(0, 1, NOW)]).await, Status::SUCCESS);
}

#[tokio::test]
async fn flags_that_do_not_go_together_are_refused() {
    let (mut ada, file, _) = two_opens().await;
    let refused: [&[Element]; 6] = [
        &[],
        &[element(0, 1, Flags::NONE)],
        &[element(0, 1, Flags(Flags::SHARED.0 | Flags::EXCLUSIVE.0))],
        &[element(0, 1, Flags(Flags::UNLOCK.0 | Flags::FAIL_IMMEDIATELY.0))],
        &[element(0, 1, SHARED_NOW), element(2, 1, Flags::SHARED)], // several cannot wait
        &[element(0, 1, NOW), element(2, 1, Flags::UNLOCK)],
    ];
    for locks in refused {
        assert_eq!(lock(&mut ada, file, locks).await, Status::INVALID_PARAMETER, "{locks:?}");
    }
}

#[tokio::test]
async fn a_range_ends_at_the_last_offset_at_the_latest() {
    let (mut ada, file, _) = two_opens().await;
    assert_eq!(lock(&mut ada, file, &[element(u64::MAX, 1, NOW)]).await, Status::SUCCESS);
    assert_eq!(lock(&mut ada, file, &[element(u64::MAX, 2, NOW)]).await, Status(0xC000_01A1));
}

#[tokio::test]
async fn a_lock_that_waits_is_granted_when_the_other_goes() {
    let (mut ada, first, second) = two_opens().await;
    assert_eq!(lock(&mut ada, first, &[element(0, 5, NOW)]).await, Status::SUCCESS);
    let waiting = request(second, &[element(4, 2, Flags::EXCLUSIVE)]);
    let id = ada.start(Command::LOCK, |w| waiting.encode(w)).await;
    ada.told_to_wait(id).await;
    assert_eq!(lock(&mut ada, first, &[element(0, 5, Flags::UNLOCK)]).await, Status::SUCCESS);
    assert_eq!(ada.answer(id).await.status(), Status::SUCCESS);
    assert_eq!(lock(&mut ada, first, &[element(4, 1, NOW)]).await, Status::LOCK_NOT_GRANTED);
}

#[tokio::test]
async fn a_lock_that_waits_ends_with_its_open_and_with_its_tree() {
    let (mut ada, first, second) = two_opens().await;
    assert_eq!(lock(&mut ada, first, &[element(0, 5, NOW)]).await, Status::SUCCESS);
    let waiting = request(second, &[element(4, 2, Flags::EXCLUSIVE)]);
    let id = ada.start(Command::LOCK, |w| waiting.encode(w)).await;
    ada.told_to_wait(id).await;
    let close = close::Request { flags: close::Flags::NONE, file: second };
    assert_eq!(ada.call(Command::CLOSE, |w| close.encode(w)).await.status(), Status::SUCCESS);
    assert_eq!(ada.answer(id).await.status(), Status::RANGE_NOT_LOCKED);

    let waiting = request(first, &[element(4, 2, Flags::EXCLUSIVE)]);
    let id = ada.start(Command::LOCK, |w| waiting.encode(w)).await;
    ada.told_to_wait(id).await;
    ada.call(Command::TREE_DISCONNECT, |w| tree_disconnect::Request.encode(w)).await;
    assert_eq!(ada.answer(id).await.status(), Status::RANGE_NOT_LOCKED);
}

#[tokio::test]
async fn a_lock_that_waits_can_be_cancelled_and_leaves_nothing() {
    let (mut ada, first, second) = two_opens().await;
    assert_eq!(lock(&mut ada, first, &[element(0, 5, NOW)]).await, Status::SUCCESS);
    let waiting = request(second, &[element(4, 2, Flags::EXCLUSIVE)]);
    let id = ada.start(Command::LOCK, |w| waiting.encode(w)).await;
    let interim = ada.told_to_wait(id).await;
    let mut cancel = ada.request(Command::CANCEL, |w| cancel::Request.encode(w));
    cancel.header.id = interim.header.id;
    cancel.header.flags |= crate::wire::header::Flags::ASYNC;
    ada.start_chain(vec![cancel]).await;
    assert_eq!(ada.answer(id).await.status(), Status::CANCELLED);
    assert_eq!(lock(&mut ada, first, &[element(0, 5, Flags::UNLOCK)]).await, Status::SUCCESS);
    assert_eq!(lock(&mut ada, first, &[element(4, 2, NOW)]).await, Status::SUCCESS);
}

#[tokio::test]
async fn a_lock_that_is_sent_again_is_answered_and_not_taken_twice() {
    let service = service();
    let mut ada = User::with(&service, &crate::client::Offer::default(), ADA, "share").await;
    let file = ada.make("notes", b"abc").await;
    let again = Request { sequence_number: 1, sequence_index: 3, ..request(file, &[element(0, 1, NOW)]) };
    for _ in 0..2 {
        assert_eq!(ada.call(Command::LOCK, |w| again.encode(w)).await.status(), Status::SUCCESS);
    }
    let other = Request { sequence_number: 2, ..again };
    assert_eq!(ada.call(Command::LOCK, |w| other.encode(w)).await.status(), Status::LOCK_NOT_GRANTED);
}
