//! MS-SMB2 3.3.5.5.2: a session over several connections.

use super::*;
use crate::client::Error;
use crate::server::testing::{ADA, BOB, Loop, read_request};
use crate::wire::negotiate_context::{Cipher, Signing};
use crate::wire::{Dialect, read};

async fn bind(client: &mut Client<Loop>, ada: &User, name: (&str, &str)) -> Status {
    match client.log_in(&who(name), SetUp::Bind(&ada.session)).await {
        Ok(_) => Status::SUCCESS,
        Err(Error::Refused(status)) => status,
        Err(error) => panic!("{error}"),
    }
}

#[tokio::test]
async fn what_was_opened_over_one_connection_is_used_over_the_other_until_both_are_gone() {
    let service = service();
    for dialect in [Dialect::SMB_3_0, Dialect::SMB_3_0_2, Dialect::SMB_3_1_1] {
        let mut ada = User::speaking(&service, dialect).await;
        let file = ada.make("notes", b"abc").await;
        let mut second = connect(&service, &Offer::of(dialect)).await;
        let channel = second.log_in(&who(ADA), SetUp::Bind(&ada.session)).await.unwrap();
        let tree = ada.tree;
        drop(ada);
        for how in [FrameProtection::Signed(&channel), FrameProtection::Sealed(&channel)] {
            let read = Request::new(Command::READ, |w| read_request(file, 0, 3).encode(w));
            let answer = second.call(read.on(channel.id, tree), how).await.unwrap();
            assert_eq!(read::Response::decode(&answer.message).unwrap().data, b"abc");
        }
        drop(second);
        assert_eq!(service.sessions().len(), 0);
    }
}

#[tokio::test]
async fn only_the_same_user_with_the_same_algorithms_binds() {
    let service = service();
    let ada = User::new(&service).await; // AES-GMAC, AES-128-GCM
    let default = Offer::default;
    for (offer, name, expected) in [
        (Offer { guid: *b"another client..", ..default() }, ADA, Status::SUCCESS),
        (Offer::of(Dialect::SMB_2_1), ADA, Status::REQUEST_OUT_OF_SEQUENCE),
        (Offer::of(Dialect::SMB_3_0_2), ADA, Status::REQUEST_OUT_OF_SEQUENCE),
        (Offer { signing: vec![Signing::AES_CMAC], ..default() }, ADA, Status::REQUEST_OUT_OF_SEQUENCE),
        (Offer { ciphers: vec![Cipher::AES_256_GCM], ..default() }, ADA, Status::INVALID_PARAMETER),
        (default(), BOB, Status::ACCESS_DENIED),
        (default(), (ADA.0, "wrong"), Status::LOGON_FAILURE),
        (default(), ADA, Status::SUCCESS),
    ] {
        let mut second = connect(&service, &offer).await;
        assert_eq!(bind(&mut second, &ada, name).await, expected, "{offer:?}");
    }
    let ada = User::speaking(&service, Dialect::SMB_3_0).await; // AES-CMAC
    for (dialect, expected) in [
        (Dialect::SMB_2_1, Status::REQUEST_NOT_ACCEPTED),
        (Dialect::SMB_3_0_2, Status::INVALID_PARAMETER),
        (Dialect::SMB_3_1_1, Status::NOT_SUPPORTED),
        (Dialect::SMB_3_0, Status::SUCCESS),
    ] {
        let mut second = connect(&service, &Offer::of(dialect)).await;
        assert_eq!(bind(&mut second, &ada, ADA).await, expected, "{dialect:?}");
    }
}

#[tokio::test]
async fn a_binding_must_be_signed_with_the_sessions_key_and_happens_once() {
    let service = service();
    let mut ada = User::new(&service).await;
    let mut second = connect(&service, &Offer::default()).await;
    let setup = crate::wire::session_setup::Request {
        flags: crate::wire::session_setup::RequestFlags::BINDING,
        security_mode: crate::wire::SecurityMode::NONE,
        capabilities: crate::wire::Capabilities::NONE,
        previous_session_id: 0,
        security_buffer: b"NTLMSSP\0",
    };
    let request = |id| Request::new(Command::SESSION_SETUP, |w| setup.encode(w)).on(id, 0);
    let wrong = ada.session.with_wrong_keys();
    for (id, how, expected) in [
        (ada.session.id, FrameProtection::Plain, Status::INVALID_PARAMETER),
        (ada.session.id, FrameProtection::Signed(&wrong), Status::ACCESS_DENIED),
        (0, FrameProtection::Plain, Status::INVALID_PARAMETER),
        (12, FrameProtection::Plain, Status::USER_SESSION_DELETED),
    ] {
        assert_eq!(status(&mut second, request(id), how).await, Some(expected));
    }
    assert_eq!(bind(&mut second, &ada, ADA).await, Status::SUCCESS);
    let again = request(ada.session.id);
    let outcome = status(&mut ada.client, again, FrameProtection::Signed(&ada.session)).await;
    assert_eq!(outcome, Some(Status::REQUEST_NOT_ACCEPTED));
}

#[tokio::test]
async fn a_session_that_ends_ends_on_all_its_connections() {
    let service = service();
    let mut ada = User::new(&service).await;
    let mut second = connect(&service, &Offer::default()).await;
    let channel = second.log_in(&who(ADA), SetUp::Bind(&ada.session)).await.unwrap();
    let answer = ada.call(Command::LOGOFF, |w| crate::wire::logoff::Request.encode(w)).await;
    assert_eq!(answer.status(), Status::SUCCESS);
    let outcome = status(&mut second, echo().on(channel.id, 0), FrameProtection::Signed(&channel)).await;
    assert_eq!(outcome, Some(Status::USER_SESSION_DELETED));
}
