use std::sync::Arc;

use crate::client::Offer;
use crate::server::Service;
use crate::server::testing::{ADA, BOB, User, service};
use crate::wire::Status;
use crate::wire::create::{Request, Response};
use crate::wire::create_context::request::Context as CreateContext;
use crate::wire::create_context::response::Context as ResponseContext;
use crate::wire::create_context::values::DurableFlags;
use crate::wire::values::{FileKey, OplockLevel};

fn asks(request: &mut Request<'_>, asked: &CreateContext<'static>) {
    request.oplock_level = OplockLevel::BATCH;
    request.contexts = vec![asked.encode()];
}

async fn open(user: &mut User, asked: CreateContext<'static>) -> Result<Response<'static>, Status> {
    user.open("notes", |request| asks(request, &asked)).await
}

fn numbered(number: u8) -> CreateContext<'static> {
    CreateContext::DurableRequestV2 {
        timeout_ms: 400_000,
        flags: DurableFlags::NONE,
        create_guid: [number; 16],
    }
}

/// A durable open whose connection is lost.
async fn lost(service: &Arc<Service>) -> FileKey {
    let mut user = User::new(service).await;
    let open = open(&mut user, CreateContext::DurableRequest).await.unwrap();
    assert!(matches!(ResponseContext::decode(&open.contexts[0]), Ok(ResponseContext::Durable)));
    assert_eq!(user.write(open.file, 0, b"abc").await, Status::SUCCESS);
    drop(user);
    assert_eq!(service.durables.len(), 1);
    open.file
}

// MS-SMB2 3.3.5.9.7.
#[tokio::test]
async fn a_client_comes_back_for_what_it_had_open() {
    let service = service();
    let file = lost(&service).await;
    let mut user = User::new(&service).await;
    let again = open(&mut user, CreateContext::DurableReconnect(file)).await.unwrap();
    assert_eq!((again.file.persistent, again.oplock_level), (file.persistent, OplockLevel::BATCH));
    assert_eq!(user.read(again.file, 0, 9).await.unwrap(), b"abc");
    assert_eq!(service.durables.len(), 0);
    let taken = open(&mut user, CreateContext::DurableReconnect(file)).await;
    assert_eq!(taken.unwrap_err(), Status::OBJECT_NAME_NOT_FOUND);
}

#[tokio::test]
async fn another_user_cannot_reconnect_to_a_durable_open() {
    let service = service();
    let file = lost(&service).await;
    let mut bob = User::with(&service, &Offer::default(), BOB, "share").await;
    let refused = open(&mut bob, CreateContext::DurableReconnect(file)).await;
    assert_eq!(refused.unwrap_err(), Status::ACCESS_DENIED);
    assert_eq!(service.durables.len(), 1);
}

// MS-SMB2 3.3.4.6: an open is closed if its client cannot be told that its oplock breaks.
#[tokio::test]
async fn what_waits_for_its_client_gives_way_to_who_is_there() {
    let service = service();
    let file = lost(&service).await;
    let mut other = User::with(&service, &Offer { guid: [9; 16], ..Offer::default() }, ADA, "share").await;
    assert!(other.open("notes", |_| ()).await.is_ok());
    assert_eq!(service.durables.len(), 0);
    let late = open(&mut other, CreateContext::DurableReconnect(file)).await;
    assert_eq!(late.unwrap_err(), Status::OBJECT_NAME_NOT_FOUND);
}

#[tokio::test(start_paused = true)]
async fn nothing_waits_longer_than_it_was_promised() {
    let service = service();
    lost(&service).await;
    tokio::time::sleep(std::time::Duration::from_secs(59)).await;
    assert_eq!(service.durables.len(), 1);
    tokio::time::sleep(std::time::Duration::from_secs(2)).await;
    assert_eq!(service.durables.len(), 0);
}

#[tokio::test]
async fn without_an_oplock_that_keeps_the_handle_nothing_is_durable() {
    let service = service();
    let mut user = User::new(&service).await;
    let level_ii = |request: &mut Request<'_>| {
        asks(request, &CreateContext::DurableRequest);
        request.oplock_level = OplockLevel::II;
    };
    assert!(user.open("notes", level_ii).await.unwrap().contexts.is_empty());
    drop(user);
    assert_eq!(service.durables.len(), 0);
}

// MS-SMB2 3.3.5.9.10; 300 s are the most.
#[tokio::test]
async fn a_number_of_a_create_is_used_once() {
    let service = service();
    let mut user = User::new(&service).await;
    let first = open(&mut user, numbered(1)).await.unwrap();
    let answer = ResponseContext::decode(&first.contexts[0]).unwrap();
    assert_eq!(answer, ResponseContext::DurableV2 { timeout_ms: 300_000, flags: DurableFlags::NONE });
    assert_eq!(open(&mut user, numbered(1)).await.unwrap_err(), Status::DUPLICATE_OBJECTID);
    assert_eq!(user.close(first.file).await, Status::SUCCESS);
    assert!(open(&mut user, numbered(1)).await.is_ok());
}

// MS-SMB2 3.3.5.9.6, 3.3.5.9.10: contexts of the two versions must not be combined.
#[tokio::test]
async fn durable_requests_of_both_versions_are_refused() {
    let service = service();
    let mut user = User::new(&service).await;
    let both = |request: &mut Request<'_>| {
        asks(request, &CreateContext::DurableRequest);
        request.contexts.push(numbered(1).encode());
    };
    assert_eq!(user.open("notes", both).await.unwrap_err(), Status::INVALID_PARAMETER);
}
