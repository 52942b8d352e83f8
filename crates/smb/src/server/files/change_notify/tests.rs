//! CHANGE_NOTIFY through the harness; what is told by MS-FSA 2.1.5.11 and MS-FSCC 2.7.1.

use wire::Reader;

use crate::client::Answer;
use crate::server::testing::{User, service};
use crate::wire::change_notify::{CompletionFilter, Flags, Request, Response};
use crate::wire::create::Options;
use crate::wire::fscc::notify::{self, Action};
use crate::wire::{Command, FileKey, Status, close};

const NAMES: CompletionFilter =
    CompletionFilter(CompletionFilter::FILE_NAME.0 | CompletionFilter::DIR_NAME.0);

async fn folder(user: &mut User, name: &str) -> FileKey {
    user.open(name, |request| request.options = Options::DIRECTORY_FILE).await.unwrap().file
}

fn request(file: FileKey, room: u32) -> Request {
    Request { flags: Flags::NONE, output_buffer_length: room, file, completion_filter: NAMES }
}

async fn close(user: &mut User, file: FileKey) {
    let close = close::Request { flags: close::Flags::NONE, file };
    assert_eq!(user.call(Command::CLOSE, |w| close.encode(w)).await.status(), Status::SUCCESS);
}

fn told(answer: &Answer) -> Vec<(Action, String)> {
    assert_eq!(answer.status(), Status::SUCCESS);
    let data = Response::decode(&answer.message).unwrap().data;
    let changes = notify::decode(&mut Reader::new(&data)).unwrap();
    changes.into_iter().map(|change| (change.action, String::from_utf16(&change.name).unwrap())).collect()
}

#[tokio::test]
async fn what_comes_and_goes_is_told_to_who_waits() {
    let mut ada = User::new(&service()).await;
    let top = folder(&mut ada, "top").await;
    let id = ada.start(Command::CHANGE_NOTIFY, |w| request(top, 1000).encode(w)).await;
    ada.told_to_wait(id).await;
    let new = ada.make("top\\new", b"").await;
    assert_eq!(told(&ada.answer(id).await), [(Action::ADDED, "new".into())]);
    close(&mut ada, new).await;
    let going =
        ada.open("top\\new", |request| request.options = Options::DELETE_ON_CLOSE).await.unwrap().file;
    close(&mut ada, going).await;
    let answer = ada.call(Command::CHANGE_NOTIFY, |w| request(top, 1000).encode(w)).await;
    assert_eq!(told(&answer), [(Action::REMOVED, "new".into())]);
}

#[tokio::test]
async fn what_happens_between_two_requests_is_kept_for_the_second() {
    let mut ada = User::new(&service()).await;
    let top = folder(&mut ada, "top").await;
    let id = ada.start(Command::CHANGE_NOTIFY, |w| request(top, 1000).encode(w)).await;
    ada.told_to_wait(id).await;
    ada.make("top\\a", b"").await;
    ada.answer(id).await;
    ada.make("top\\b", b"").await;
    ada.make("top\\c", b"").await;
    let answer = ada.call(Command::CHANGE_NOTIFY, |w| request(top, 1000).encode(w)).await;
    assert_eq!(told(&answer), [(Action::ADDED, "b".into()), (Action::ADDED, "c".into())]);
}

#[tokio::test]
async fn more_than_the_first_request_has_room_for_is_told_as_too_much() {
    let mut ada = User::new(&service()).await;
    let top = folder(&mut ada, "top").await;
    let id = ada.start(Command::CHANGE_NOTIFY, |w| request(top, 20).encode(w)).await;
    ada.told_to_wait(id).await;
    ada.make("top\\a long name", b"").await;
    assert_eq!(ada.answer(id).await.status(), Status::NOTIFY_ENUM_DIR);
    let id = ada.start(Command::CHANGE_NOTIFY, |w| request(top, 1000).encode(w)).await;
    ada.told_to_wait(id).await;
    ada.make("top\\another long name", b"").await;
    assert_eq!(ada.answer(id).await.status(), Status::NOTIFY_ENUM_DIR, "whatever later ones say");
}

#[tokio::test]
async fn a_request_ends_with_its_open() {
    let mut ada = User::new(&service()).await;
    let top = folder(&mut ada, "top").await;
    let id = ada.start(Command::CHANGE_NOTIFY, |w| request(top, 1000).encode(w)).await;
    ada.told_to_wait(id).await;
    close(&mut ada, top).await;
    assert_eq!(ada.answer(id).await.status(), Status::NOTIFY_CLEANUP);
}

#[tokio::test]
async fn a_watch_of_a_folder_ends_when_the_folder_is_deleted() {
    let mut ada = User::new(&service()).await;
    let top = folder(&mut ada, "top").await;
    let id = ada.start(Command::CHANGE_NOTIFY, |w| request(top, 1000).encode(w)).await;
    ada.told_to_wait(id).await;
    let options = Options::DIRECTORY_FILE | Options::DELETE_ON_CLOSE;
    let other = ada.open("top", |request| request.options = options).await.unwrap().file;
    close(&mut ada, other).await;
    assert_eq!(ada.answer(id).await.status(), Status::DELETE_PENDING);
}

#[tokio::test]
async fn files_are_not_watched() {
    let mut ada = User::new(&service()).await;
    let file = ada.make("file", b"").await;
    let answer = ada.call(Command::CHANGE_NOTIFY, |w| request(file, 1000).encode(w)).await;
    assert_eq!(answer.status(), Status::INVALID_PARAMETER);
}
