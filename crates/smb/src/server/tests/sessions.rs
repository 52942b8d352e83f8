//! MS-SMB2 3.3.5.5 and 3.3.5.6: sessions begin, are renewed, expire and end.

use std::time::Duration;

use super::*;
use crate::client::Error;
use crate::server::Guests;
use crate::server::session::User as Identity;
use crate::server::testing::{ADA, BOB, GONE};
use crate::wire::logoff;
use crate::wire::session_setup::SessionFlags;

fn refusal<T>(result: Result<T, Error>) -> Option<Status> {
    match result {
        Err(Error::Refused(status)) => Some(status),
        _ => None,
    }
}

#[tokio::test]
async fn a_wrong_password_an_unknown_name_and_a_disabled_account_do_not_get_in() {
    let service = service();
    let mut client = connect(&service, &Offer::default()).await;
    for (name, password, expected) in [
        (ADA.0, "wrong", Status::LOGON_FAILURE),
        ("nobody", ADA.1, Status::LOGON_FAILURE),
        (GONE.0, "wrong", Status::LOGON_FAILURE),
        (GONE.0, GONE.1, Status::ACCOUNT_DISABLED),
    ] {
        let refused = client.log_in(&Credentials::new(name, password), NEW).await;
        assert_eq!(refusal(refused), Some(expected), "{name}");
    }
    assert!(client.log_in(&who(ADA), NEW).await.is_ok(), "the connection goes on");
    assert_eq!(service.sessions().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn who_guesses_passwords_waits() {
    let service = service();
    let mut client = connect(&service, &Offer::default()).await;
    for _ in 0..6 {
        let began = tokio::time::Instant::now();
        let refused = client.log_in(&Credentials::new(ADA.0, "guess"), NEW).await;
        assert_eq!(refusal(refused), Some(Status::LOGON_FAILURE));
        assert!(began.elapsed() < Duration::from_millis(400));
    }
    let began = tokio::time::Instant::now();
    assert!(client.log_in(&who(ADA), NEW).await.is_ok());
    assert!(began.elapsed() >= Duration::from_millis(499));
}

#[tokio::test]
async fn nobody_in_particular_enters_the_pipes_and_no_folder() {
    let service = service();
    let mut client = connect(&service, &Offer::default()).await;
    let session = client.log_in(&Credentials::new("", ""), NEW).await.unwrap();
    assert!(session.flags.has(SessionFlags::IS_NULL));
    let pipes = tree_connect("IPC$").on(session.id, 0);
    assert_eq!(status(&mut client, pipes, How::Plain).await, Some(Status::SUCCESS));
    for share in ["share", "guests"] {
        let enter = tree_connect(share).on(session.id, 0);
        let expected = if share == "guests" { Status::SUCCESS } else { Status::ACCESS_DENIED };
        assert_eq!(status(&mut client, enter, How::Plain).await, Some(expected), "{share}");
    }
}

#[tokio::test]
async fn a_guest_enters_where_guests_may() {
    let identity = auth::Identity { uid: 65_534, gid: 65_534, groups: vec![] };
    let service = service_with(|config| {
        config.guests = Guests { identity: Some(identity), unknown_users: true };
    });
    let mut client = connect(&service, &Offer::default()).await;
    let session = client.log_in(&Credentials::new("somebody", "x"), NEW).await.unwrap();
    assert!(session.flags.has(SessionFlags::IS_GUEST));
    for (share, expected) in [("guests", Status::SUCCESS), ("share", Status::ACCESS_DENIED)] {
        let enter = tree_connect(share).on(session.id, 0);
        assert_eq!(status(&mut client, enter, How::Plain).await, Some(expected), "{share}");
    }
    let wrong = client.log_in(&Credentials::new(ADA.0, "wrong"), NEW).await;
    assert_eq!(refusal(wrong), Some(Status::LOGON_FAILURE), "an account is no guest");
}

#[tokio::test]
async fn a_number_that_is_no_session_here_is_deleted() {
    let service = service();
    let ada = User::new(&service).await;
    let mut client = connect(&service, &Offer::default()).await;
    for id in [1, ada.session.id, u64::MAX] {
        let request = tree_connect("share").on(id, 0);
        assert_eq!(status(&mut client, request, How::Plain).await, Some(Status::USER_SESSION_DELETED));
        let request = echo().on(id, 0);
        assert_eq!(status(&mut client, request, How::Plain).await, Some(Status::USER_SESSION_DELETED));
    }
    assert_eq!(status(&mut client, echo(), How::Plain).await, Some(Status::SUCCESS), "needs no session");
    // A login that goes on with a number that was never begun.
    let setup = crate::wire::session_setup::Request {
        flags: crate::wire::session_setup::RequestFlags::NONE,
        security_mode: crate::wire::SecurityMode::NONE,
        capabilities: crate::wire::Capabilities::NONE,
        previous_session_id: 0,
        security_buffer: b"NTLMSSP\0",
    };
    let request = Request::new(Command::SESSION_SETUP, |w| setup.encode(w)).on(77, 0);
    assert_eq!(status(&mut client, request, How::Plain).await, Some(Status::USER_SESSION_DELETED));
}

#[tokio::test]
async fn logging_off_closes_everything_and_the_connection_stays() {
    let service = service();
    let mut ada = User::new(&service).await;
    ada.make("notes", b"abc").await;
    let answer = ada.call(Command::LOGOFF, |w| logoff::Request.encode(w)).await;
    assert_eq!(answer.status(), Status::SUCCESS);
    assert_eq!(service.sessions().len(), 0);
    let request = tree_connect("share").on(ada.session.id, 0);
    let outcome = status(&mut ada.client, request, How::Plain).await;
    assert_eq!(outcome, Some(Status::USER_SESSION_DELETED));
    assert!(ada.client.log_in(&who(ADA), NEW).await.is_ok());
}

/// MS-SMB2 3.3.5.5.3: PreviousSessionId.
#[tokio::test]
async fn a_client_that_comes_again_ends_its_old_session_and_nobody_elses() {
    let service = service();
    let mut old = User::new(&service).await;
    let mut bob = User::with(&service, &Offer::default(), BOB, "share").await;
    let mut client = connect(&service, &Offer::default()).await;
    client.log_in(&who(ADA), SetUp::New { previous: bob.session.id }).await.unwrap();
    let outcome = bob.call(Command::ECHO, |w| crate::wire::echo::Request.encode(w)).await;
    assert_eq!(outcome.status(), Status::SUCCESS);
    client.log_in(&who(ADA), SetUp::New { previous: old.session.id }).await.unwrap();
    let outcome = old.call(Command::ECHO, |w| crate::wire::echo::Request.encode(w)).await;
    assert_eq!(outcome.status(), Status::USER_SESSION_DELETED);
}

/// MS-SMB2 3.3.5.2.9.
#[tokio::test]
async fn when_a_login_has_expired_what_gives_back_goes_on_and_all_else_waits_for_a_renewal() {
    let service = service_with(|config| config.session_lifetime = Some(Duration::ZERO));
    let mut client = connect(&service, &Offer::default()).await;
    let session = client.log_in(&who(ADA), NEW).await.unwrap();
    let enter = || tree_connect("share").on(session.id, 0);
    let expired = Some(Status::NETWORK_SESSION_EXPIRED);
    assert_eq!(status(&mut client, enter(), How::Signed(&session)).await, expired);
    assert_eq!(status(&mut client, echo().on(session.id, 0), How::Signed(&session)).await, expired);
    let mut config = (*service.config()).clone();
    config.session_lifetime = None;
    service.set_config(config);
    client.log_in(&who(ADA), SetUp::Again(&session)).await.unwrap();
    assert_eq!(status(&mut client, enter(), How::Signed(&session)).await, Some(Status::SUCCESS));
    let mut config = (*service.config()).clone();
    config.session_lifetime = Some(Duration::ZERO);
    service.set_config(config);
    client.log_in(&who(ADA), SetUp::Again(&session)).await.unwrap();
    let logoff = Request::new(Command::LOGOFF, |w| logoff::Request.encode(w)).on(session.id, 0);
    assert_eq!(status(&mut client, logoff, How::Signed(&session)).await, Some(Status::SUCCESS));
}

#[tokio::test]
async fn a_session_can_become_somebody_elses_and_keeps_its_keys_and_opens() {
    let service = service();
    let mut ada = User::new(&service).await;
    let file = ada.make("notes", b"abc").await;
    ada.client.log_in(&who(BOB), SetUp::Again(&ada.session)).await.unwrap();
    let session = service.session(ada.session.id).unwrap();
    let user: std::sync::Arc<Identity> = session.user();
    assert_eq!(user.name, BOB.0);
    assert_eq!(ada.read(file, 0, 3).await, Ok(b"abc".to_vec()));
}

#[tokio::test]
async fn a_renewal_that_fails_ends_the_session() {
    let service = service();
    let mut ada = User::new(&service).await;
    let wrong = Credentials::new(ADA.0, "wrong");
    let refused = ada.client.log_in(&wrong, SetUp::Again(&ada.session)).await;
    assert_eq!(refusal(refused), Some(Status::LOGON_FAILURE));
    let outcome = ada.call(Command::ECHO, |w| crate::wire::echo::Request.encode(w)).await;
    assert_eq!(outcome.status(), Status::USER_SESSION_DELETED);
}

#[tokio::test]
async fn a_connection_has_so_many_sessions_and_no_more() {
    let service = service();
    let mut client = connect(&service, &Offer::default()).await;
    for _ in 0..crate::server::connection::MAX_SESSIONS {
        client.log_in(&who(ADA), NEW).await.unwrap();
    }
    let refused = client.log_in(&who(ADA), NEW).await;
    assert_eq!(refusal(refused), Some(Status::INSUFFICIENT_RESOURCES));
    drop(client);
    assert_eq!(service.sessions().len(), 0, "a lost connection leaves nothing behind");
}
