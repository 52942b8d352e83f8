//! MS-SMB2 3.3.5.5 and 3.3.5.6: sessions begin, are renewed, expire and end.

use std::time::Duration;

use super::*;
use crate::client::Error;
use crate::server::clients::session::User as Identity;
use crate::server::testing::{ADA, BOB, GONE, share};
use crate::server::{Guests, ShareOptions};
use crate::wire::logoff;
use crate::wire::session_setup::SessionFlags;
use crate::wire::text;
use crate::wire::tree_connect::RequestFlags;

/// The clients' address.
const HERE: std::net::IpAddr = std::net::IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1));

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
async fn password_guesses_are_rate_limited() {
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

#[tokio::test(start_paused = true)]
async fn a_known_account_comes_in_at_once_whatever_fails_beside_it() {
    let service = service();
    let mut client = connect(&service, &Offer::default()).await;
    client.log_in(&who(ADA), NEW).await.unwrap();
    for _ in 0..30 {
        client.log_in(&Credentials::new(ADA.0, "guess"), NEW).await.unwrap_err();
    }
    let began = tokio::time::Instant::now();
    let refused = client.log_in(&Credentials::new(ADA.0, "guess"), NEW).await;
    assert_eq!(refusal(refused), Some(Status::LOGON_FAILURE));
    assert!(began.elapsed() >= Duration::from_secs(4), "answered late: {:?}", began.elapsed());
    let began = tokio::time::Instant::now();
    client.log_in(&who(ADA), NEW).await.unwrap();
    assert!(began.elapsed() < Duration::from_millis(100), "{:?}", began.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_login_that_is_not_looked_at_is_not_called_a_wrong_password() {
    let (guard, lines) = auth::LoginGuard::keeping_lines();
    let service = service_with(|config| config.login_guard = guard.clone());
    let mut client = connect(&service, &Offer::default()).await;
    let now = std::time::Instant::now();
    while let Some(attempt) = guard.limiter.admit(HERE, "somebody", now) {
        guard.limiter.failed(&attempt, now);
    }
    let refused = client.log_in(&who(ADA), NEW).await;
    assert_eq!(refusal(refused), Some(Status::REQUEST_NOT_ACCEPTED)); // MS-ERREF: 0xC00000D0
    let said = lines.take();
    assert!(said.len() == 1 && said[0].starts_with("refused protocol=\"smb\""), "{said:?}");
    assert!(said[0].ends_with("user=\"ada\" method=\"NTLMv2\" reason=\"too many logins wait\""), "{said:?}");
}

#[tokio::test(start_paused = true)]
async fn guests_do_not_wait_behind_wrong_passwords_of_their_address() {
    let (guard, _) = auth::LoginGuard::keeping_lines();
    let service = service_with(|config| {
        config.login_guard = guard.clone();
        config.guests = Guests { identity: Some(auth::Identity::anonymous()), unknown_users: true };
    });
    let now = std::time::Instant::now();
    while let Some(attempt) = guard.limiter.admit(HERE, ADA.0, now) {
        guard.limiter.failed(&attempt, now);
    }
    for name in ["guest", "somebody"] {
        let mut client = connect(&service, &Offer::default()).await;
        let began = tokio::time::Instant::now();
        client.log_in(&Credentials::new(name, "any"), NEW).await.unwrap();
        assert!(began.elapsed() < Duration::from_millis(100), "{name}: {:?}", began.elapsed());
    }
    let mut client = connect(&service, &Offer::default()).await;
    let refused = client.log_in(&Credentials::new(ADA.0, "guess"), NEW).await;
    assert_eq!(refusal(refused), Some(Status::REQUEST_NOT_ACCEPTED), "accounts still wait");
}

#[tokio::test]
async fn the_log_has_a_line_for_each_login_failure_and_end() {
    let (guard, lines) = auth::LoginGuard::keeping_lines();
    let identity = auth::Identity::anonymous();
    let service = service_with(|config| {
        config.login_guard = guard.clone();
        config.guests = Guests { identity: Some(identity), unknown_users: false };
    });
    let mut client = connect(&service, &Offer::default()).await;
    let session = client.log_in(&who(ADA), NEW).await.unwrap();
    for who in
        [Credentials::new(ADA.0, "wrong"), Credentials::new("x\ny", "z"), Credentials::new(GONE.0, GONE.1)]
    {
        client.log_in(&who, NEW).await.unwrap_err();
    }
    client.log_in(&Credentials::new("guest", ""), NEW).await.unwrap();
    let log_off = Request::new(Command::LOGOFF, |w| logoff::Request.encode(w)).on(session.id, 0);
    assert_eq!(status(&mut client, log_off, FrameProtection::Signed(&session)).await, Some(Status::SUCCESS));
    let by = "protocol=\"smb\" address=192.0.2.1 port=N";
    let expected = [
        format!(
            "accepted {by} user=\"ada\" method=\"NTLMv2\" to=\"SMB 3.1.1, can be signed by AES-GMAC, can be encrypted by AES-128-GCM\""
        ),
        format!("failed {by} user=\"ada\" method=\"NTLMv2\" reason=\"the password is wrong\""),
        format!("failed {by} user=\"x\\ny\" method=\"NTLMv2\" reason=\"there is no such account\""),
        format!("failed {by} user=\"{}\" method=\"NTLMv2\" reason=\"the account is disabled\"", GONE.0),
        format!("accepted {by} user=\"guest\" method=\"guest\" to=\"SMB 3.1.1, not signed, not encrypted\""),
        format!("ended {by} user=\"ada\" method=\"NTLMv2\" seconds=0"),
    ];
    let said: Vec<String> = lines.take().iter().map(|line| without_port(line)).collect();
    assert_eq!(said, expected);
}

/// A line with N for the client's port, which is another one each time.
fn without_port(line: &str) -> String {
    let (before, rest) = line.split_once(" port=").unwrap();
    let (port, rest) = rest.split_once(' ').unwrap();
    assert!(port.parse::<u16>().is_ok(), "{line}");
    format!("{before} port=N {rest}")
}

#[tokio::test]
async fn anonymous_sessions_open_pipes_and_no_folder() {
    let service = service();
    let mut client = connect(&service, &Offer::default()).await;
    let session = client.log_in(&Credentials::new("", ""), NEW).await.unwrap();
    assert!(session.flags.contains(SessionFlags::IS_NULL));
    let pipes = tree_connect("IPC$").on(session.id, 0);
    assert_eq!(status(&mut client, pipes, FrameProtection::Plain).await, Some(Status::SUCCESS));
    for share in ["share", "guests"] {
        let enter = tree_connect(share).on(session.id, 0);
        let expected = if share == "guests" { Status::SUCCESS } else { Status::ACCESS_DENIED };
        assert_eq!(status(&mut client, enter, FrameProtection::Plain).await, Some(expected), "{share}");
    }
}

#[tokio::test]
async fn a_guest_enters_where_guests_may() {
    let identity = auth::Identity::new(65_534, 65_534, &[]);
    let service = service_with(|config| {
        config.guests = Guests { identity: Some(identity), unknown_users: true };
    });
    let mut client = connect(&service, &Offer::default()).await;
    let session = client.log_in(&Credentials::new("somebody", "x"), NEW).await.unwrap();
    assert!(session.flags.contains(SessionFlags::IS_GUEST));
    for (share, expected) in [("guests", Status::SUCCESS), ("share", Status::ACCESS_DENIED)] {
        let enter = tree_connect(share).on(session.id, 0);
        assert_eq!(status(&mut client, enter, FrameProtection::Plain).await, Some(expected), "{share}");
    }
    let wrong = client.log_in(&Credentials::new(ADA.0, "wrong"), NEW).await;
    assert_eq!(refusal(wrong), Some(Status::LOGON_FAILURE), "the name of an account makes no guest");
}

#[tokio::test]
async fn a_number_that_is_no_session_here_is_deleted() {
    let service = service();
    let ada = User::new(&service).await;
    let mut client = connect(&service, &Offer::default()).await;
    for id in [1, ada.session.id, u64::MAX] {
        let request = tree_connect("share").on(id, 0);
        assert_eq!(
            status(&mut client, request, FrameProtection::Plain).await,
            Some(Status::USER_SESSION_DELETED)
        );
        let request = echo().on(id, 0);
        assert_eq!(
            status(&mut client, request, FrameProtection::Plain).await,
            Some(Status::USER_SESSION_DELETED)
        );
    }
    assert_eq!(
        status(&mut client, echo(), FrameProtection::Plain).await,
        Some(Status::SUCCESS),
        "needs no session"
    );
    // A login that continues with a number that was never begun.
    let setup = crate::wire::session_setup::Request {
        flags: crate::wire::session_setup::RequestFlags::NONE,
        security_mode: crate::wire::SecurityMode::NONE,
        capabilities: crate::wire::Capabilities::NONE,
        previous_session_id: 0,
        security_buffer: b"NTLMSSP\0",
    };
    let request = Request::new(Command::SESSION_SETUP, |w| setup.encode(w)).on(77, 0);
    assert_eq!(
        status(&mut client, request, FrameProtection::Plain).await,
        Some(Status::USER_SESSION_DELETED)
    );
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
    let outcome = status(&mut ada.client, request, FrameProtection::Plain).await;
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
    assert_eq!(status(&mut client, enter(), FrameProtection::Signed(&session)).await, expired);
    assert_eq!(
        status(&mut client, echo().on(session.id, 0), FrameProtection::Signed(&session)).await,
        expired
    );
    let mut config = (*service.config()).clone();
    config.session_lifetime = None;
    service.set_config(config);
    client.log_in(&who(ADA), SetUp::Again(&session)).await.unwrap();
    assert_eq!(status(&mut client, enter(), FrameProtection::Signed(&session)).await, Some(Status::SUCCESS));
    let mut config = (*service.config()).clone();
    config.session_lifetime = Some(Duration::ZERO);
    service.set_config(config);
    client.log_in(&who(ADA), SetUp::Again(&session)).await.unwrap();
    let logoff = Request::new(Command::LOGOFF, |w| logoff::Request.encode(w)).on(session.id, 0);
    assert_eq!(status(&mut client, logoff, FrameProtection::Signed(&session)).await, Some(Status::SUCCESS));
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
    assert_eq!(service.sessions().len(), 0, "a lost connection leaves no session");
}

/// MS-SMB2 2.2.10: a client asks for a witness if the share says CLUSTER.
#[tokio::test]
async fn a_share_that_has_a_witness_says_so() {
    let witnessed = ShareOptions { witnessed: true, ..ShareOptions::default() };
    let service = service_with(|config| config.shares.push(share("witnessed", witnessed)));
    let mut ada = User::new(&service).await;
    for (name, expected) in [("witnessed", 0x40), ("share", 0)] {
        let path = text::of(&format!(r"\\server\{name}"));
        let enter = crate::wire::tree_connect::Request { flags: RequestFlags::NONE, path };
        let answer = ada.call(Command::TREE_CONNECT, |w| enter.encode(w)).await;
        let entered = crate::wire::tree_connect::Response::decode(&answer.message).unwrap();
        assert_eq!(entered.capabilities.0, expected, "{name}");
    }
}
