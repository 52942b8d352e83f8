//! MS-SMB2 3.3.5.2.4: verifying the signature.

use super::*;
use crate::client::Proof;
use crate::server::testing::{ADA, BOB};
use crate::wire::{Dialect, SecurityMode};

#[tokio::test]
async fn where_the_server_requires_signatures_a_request_without_one_is_refused() {
    let service = service_with(|config| config.require_signing = true);
    for dialect in [Dialect::SMB_2_0_2, Dialect::SMB_3_0, Dialect::SMB_3_1_1] {
        let mut ada = User::speaking(&service, dialect).await;
        let mode = ada.client.agreed.as_ref().unwrap().security_mode;
        assert!(mode.contains(SecurityMode::SIGNING_REQUIRED));
        let request = echo().on(ada.session.id, ada.tree);
        let answer = ada.client.call(request, FrameProtection::Plain).await.unwrap();
        assert_eq!((answer.status(), answer.proof), (Status::ACCESS_DENIED, Proof::Signed));
        let request = echo().on(ada.session.id, ada.tree);
        assert_eq!(
            status(&mut ada.client, request, FrameProtection::Signed(&ada.session)).await,
            Some(Status::SUCCESS)
        );
    }
}

#[tokio::test]
async fn where_nobody_requires_signatures_a_request_without_one_is_answered_without_one() {
    let mut ada = User::new(&service()).await;
    let answer = ada.client.call(echo().on(ada.session.id, 0), FrameProtection::Plain).await.unwrap();
    assert_eq!((answer.status(), answer.proof), (Status::SUCCESS, Proof::None));
}

#[tokio::test]
async fn a_wrong_signature_is_refused_even_where_none_is_required() {
    let service = service();
    for dialect in [Dialect::SMB_2_1, Dialect::SMB_3_0_2, Dialect::SMB_3_1_1] {
        let mut ada = User::speaking(&service, dialect).await;
        let forged = ada.session.with_wrong_keys();
        let request = echo().on(ada.session.id, 0);
        assert_eq!(
            status(&mut ada.client, request, FrameProtection::Signed(&forged)).await,
            Some(Status::ACCESS_DENIED)
        );
        let request = echo().on(ada.session.id, 0);
        let outcome = status(&mut ada.client, request, FrameProtection::Signed(&ada.session)).await;
        assert_eq!(outcome, Some(Status::SUCCESS), "the connection goes on");
    }
}

#[tokio::test]
async fn a_signature_with_the_key_of_somebody_elses_session_is_wrong() {
    let service = service();
    let mut ada = User::new(&service).await;
    let bob = ada.client.log_in(&who(BOB), NEW).await.unwrap();
    let request = echo().on(ada.session.id, 0);
    assert_eq!(
        status(&mut ada.client, request, FrameProtection::Signed(&bob)).await,
        Some(Status::ACCESS_DENIED)
    );
}

/// MS-SMB2 3.3.5.7.
#[tokio::test]
async fn in_3_1_1_a_tree_connect_in_the_clear_without_a_signature_ends_the_connection() {
    let service = service();
    let mut ada = User::speaking(&service, Dialect::SMB_3_0_2).await;
    let request = tree_connect("share").on(ada.session.id, 0);
    assert_eq!(status(&mut ada.client, request, FrameProtection::Plain).await, Some(Status::SUCCESS));
    let mut ada = User::new(&service).await;
    let request = tree_connect("share").on(ada.session.id, 0);
    let _ = ada.client.send(vec![request], FrameProtection::Plain).await;
    assert!(ada.client.link.is_over());
    let mut ada = User::new(&service).await;
    ada.seals = true;
    assert!(ada.enter("share").await.is_ok(), "a sealed request needs no signature");
}

#[tokio::test]
async fn a_refusal_of_a_signed_request_is_signed_whoever_it_comes_from() {
    let service = service();
    let ada = User::new(&service).await;
    let mut elsewhere = connect(&service, &Offer::default()).await;
    let request = echo().on(ada.session.id, ada.tree);
    let answer = elsewhere.call(request, FrameProtection::Signed(&ada.session)).await.unwrap();
    // This client does not know the session on that connection. The server has signed with the
    // session's key.
    assert_eq!((answer.status(), answer.proof), (Status::USER_SESSION_DELETED, Proof::Unknown));
    let answer = elsewhere.call(echo().on(ada.session.id, ada.tree), FrameProtection::Plain).await.unwrap();
    assert_eq!((answer.status(), answer.proof), (Status::USER_SESSION_DELETED, Proof::None));
    drop(who(ADA));
}
