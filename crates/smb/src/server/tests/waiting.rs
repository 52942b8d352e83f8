//! MS-SMB2 3.3.4.2, 3.3.5.16 and 3.3.5.19: requests that wait get interim responses and can be
//! cancelled.

use super::*;
use crate::client::Proof;
use crate::server::testing::{ADA, BOB, open_request};
use crate::wire::header::Id;
use crate::wire::{FileKey, Flags, cancel, change_notify, create, logoff};

fn watch(file: FileKey) -> change_notify::Request {
    change_notify::Request {
        flags: change_notify::Flags::NONE,
        output_buffer_length: 4096,
        file,
        completion_filter: change_notify::CompletionFilter::FILE_NAME,
    }
}

/// A folder, and a waiting request for its changes.
async fn waiting(ada: &mut User) -> (u64, Answer) {
    let folder = |request: &mut create::Request<'_>| request.options = create::Options::DIRECTORY_FILE;
    let file = ada.open("folder", folder).await.unwrap().file;
    let id = ada.start(Command::CHANGE_NOTIFY, |w| watch(file).encode(w)).await;
    let interim = ada.told_to_wait(id).await;
    (id, interim)
}

fn cancel(ada: &User, message_id: u64, id: Id) -> Request {
    let mut request = ada.request(Command::CANCEL, |w| cancel::Request.encode(w));
    request.header.message_id = message_id;
    request.header.credits = 0;
    request.header.id = id;
    request
}

#[tokio::test]
async fn a_request_that_waits_is_answered_twice_and_credits_come_with_the_first() {
    let service = service();
    for seals in [false, true] {
        let mut ada = User::new(&service).await;
        ada.seals = seals;
        let (id, interim) = waiting(&mut ada).await;
        let Id::Async(number) = interim.header.id else { panic!("{:?}", interim.header) };
        assert_eq!((interim.header.credits, number != 0), (64, true));
        assert_eq!(interim.proof, if seals { Proof::Sealed } else { Proof::None });
        ada.make(if seals { r"folder\sealed" } else { r"folder\signed" }, &[]).await;
        let last = ada.answer(id).await;
        assert_eq!((last.header.id, last.header.credits), (Id::Async(number), 0));
        assert_eq!(last.status(), Status::SUCCESS);
        assert_eq!(last.proof, if seals { Proof::Sealed } else { Proof::Signed });
    }
}

#[tokio::test]
async fn a_request_is_cancelled_by_its_async_id_or_its_message_id() {
    let mut ada = User::new(&service()).await;
    for by_async_id in [true, false] {
        let (id, interim) = waiting(&mut ada).await;
        let request = match by_async_id {
            true => cancel(&ada, 0, interim.header.id),
            false => cancel(&ada, id, Id::Sync { reserved: 0, tree: ada.tree }),
        };
        ada.start_chain(vec![request]).await;
        let last = ada.answer(id).await;
        assert_eq!((last.status(), last.proof), (Status::CANCELLED, Proof::Signed));
    }
}

#[tokio::test]
async fn a_cancel_has_no_answer_takes_no_id_and_concerns_nobody_else() {
    let service = service();
    let mut ada = User::new(&service).await;
    let mut bob = User::with(&service, &Offer::default(), BOB, "share").await;
    let (id, interim) = waiting(&mut ada).await;
    let foreign = cancel(&bob, id, interim.header.id);
    bob.start_chain(vec![foreign]).await;
    let nothing = cancel(&ada, 99_999, Id::Sync { reserved: 0, tree: 0 });
    ada.start_chain(vec![nothing]).await;
    let forged = ada.session.with_wrong_keys();
    let request = cancel(&ada, id, interim.header.id);
    ada.client.send(vec![request], FrameProtection::Signed(&forged)).await.unwrap();
    // The request still waits. It is answered once a file is made.
    ada.make(r"folder\new", &[]).await;
    assert_eq!(ada.answer(id).await.status(), Status::SUCCESS);
    assert_eq!(
        bob.call(Command::ECHO, |w| crate::wire::echo::Request.encode(w)).await.status(),
        Status::SUCCESS
    );
}

#[tokio::test]
async fn what_waits_ends_with_its_session_and_its_connection() {
    let service = service();
    let mut ada = User::new(&service).await;
    let (id, _) = waiting(&mut ada).await;
    let off = ada.call(Command::LOGOFF, |w| logoff::Request.encode(w)).await;
    assert_eq!(off.status(), Status::SUCCESS);
    let last = ada.answer(id).await;
    assert!(last.status() != Status::SUCCESS && last.status() != Status::PENDING, "{:?}", last.status());
    let mut again = User::new(&service).await;
    waiting(&mut again).await;
    let connection = std::sync::Arc::downgrade(&again.client.link.connection);
    drop(again);
    for _ in 0..16 {
        tokio::task::yield_now().await;
    }
    assert!(connection.upgrade().is_none(), "no reference keeps a lost connection");
    drop(who(ADA));
}

#[tokio::test]
async fn in_a_chain_the_last_may_wait_and_what_came_before_is_answered_at_once() {
    let mut ada = User::new(&service()).await;
    let mut open = open_request("folder");
    open.options = create::Options::DIRECTORY_FILE;
    let create = ada.request(Command::CREATE, |w| open.encode(w));
    let same = FileKey { persistent: u64::MAX, volatile: u64::MAX };
    let notify = Request::new(Command::CHANGE_NOTIFY, |w| watch(same).encode(w)).related();
    let chain = vec![create.clone(), notify.clone()];
    let ids = ada.start_chain(chain).await;
    assert_eq!(ada.answer(ids[0]).await.status(), Status::SUCCESS);
    let interim = ada.told_to_wait(ids[1]).await;
    assert!(interim.header.flags.contains(Flags::ASYNC));
    ada.make(r"folder\new", &[]).await;
    assert_eq!(ada.answer(ids[1]).await.status(), Status::SUCCESS);
    // As Windows does: a request that others follow in its chain does not wait.
    let answers = ada.call_chain(vec![create, notify, echo().on(ada.session.id, 0)]).await;
    let statuses: Vec<_> = answers.iter().map(Answer::status).collect();
    assert_eq!(statuses, [Status::SUCCESS, Status::INTERNAL_ERROR, Status::SUCCESS]);
}

#[tokio::test]
async fn an_echo_storm_is_answered_echo_by_echo() {
    let mut ada = User::new(&service()).await;
    let mut ids = Vec::new();
    for _ in 0..20 {
        for _ in 0..20 {
            ids.push(ada.start(Command::ECHO, |w| crate::wire::echo::Request.encode(w)).await);
        }
        for id in ids.drain(..) {
            assert_eq!(ada.answer(id).await.status(), Status::SUCCESS);
        }
    }
}
