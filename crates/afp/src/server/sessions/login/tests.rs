use auth::kerberos::{Accepting, Kerberos, SecurityContext, Ticket, TicketRefusal};
use wire::Writer;

use super::*;
use crate::server::config::LoginMethods;
use crate::server::testing::{ADA, Answer, Client, Server};
use crate::wire::login::{CLEARTXT_PASSWRD, DHX2, KERBEROS, NO_USER_AUTHENT};

/// A server with every method switched on.
fn server() -> Server {
    Server::with(|config| {
        config.logins = LoginMethods {
            dhx2: true,
            srp: true,
            dhx: true,
            randnum: true,
            two_way_randnum: true,
            cleartext: true,
        };
    })
}

async fn connected(server: &Server) -> Client {
    let mut client = server.connect();
    client.open_session().await.well();
    client
}

async fn log_in(client: &mut Client, uam: &[u8], user: &[u8], info: &[u8]) -> Answer {
    let login = Login { version: b"AFP3.4", uam, user, info };
    client.call(command::LOGIN, |w| login.encode(w)).await
}

fn cleartext(password: &str) -> [u8; 8] {
    let mut bytes = [0; 8];
    bytes[..password.len()].copy_from_slice(password.as_bytes());
    bytes
}

#[tokio::test]
async fn guests_come_in_where_the_settings_let_them() {
    let mut client = connected(&server()).await;
    assert_eq!(log_in(&mut client, NO_USER_AUTHENT, b"", b"").await.well(), b"");
    assert_eq!(client.session().user.name, None);

    let mut client = connected(&Server::with(|config| config.guest = None)).await;
    assert_eq!(log_in(&mut client, NO_USER_AUTHENT, b"", b"").await.code, ResultCode::BAD_UAM);
}

#[tokio::test]
async fn a_password_in_clear_is_verified_only_where_that_is_switched_on() {
    let mut client = connected(&server()).await;
    let (name, right) = (ADA.0.as_bytes(), cleartext(ADA.1));
    let wrong = log_in(&mut client, CLEARTXT_PASSWRD, name, &cleartext("wrong")).await;
    let unknown = log_in(&mut client, CLEARTXT_PASSWRD, b"nobody", &right).await;
    assert_eq!((wrong.code, &wrong), (ResultCode::USER_NOT_AUTH, &unknown));
    log_in(&mut client, CLEARTXT_PASSWRD, name, &right).await.well();
    assert_eq!(client.session().user.name.as_deref(), Some("ada"));

    let mut client = connected(&Server::new()).await;
    assert_eq!(log_in(&mut client, CLEARTXT_PASSWRD, name, &right).await.code, ResultCode::BAD_UAM);
}

#[tokio::test]
async fn a_version_is_one_of_the_known_strings_exactly() {
    let mut client = connected(&server()).await;
    for version in [&b"AFP3.5"[..], b"AFP3", b"afp3.4", b"AFP3.4 ", b""] {
        let login = Login { version, uam: NO_USER_AUTHENT, user: b"", info: b"" };
        let answer = client.call(command::LOGIN, |w| login.encode(w)).await;
        assert_eq!(answer.code, ResultCode::BAD_VERSION);
    }
    let answer = log_in(&mut client, b"No such method", b"ada", b"").await;
    assert_eq!(answer.code, ResultCode::BAD_UAM);
}

#[tokio::test]
async fn after_a_logout_somebody_else_may_log_in() {
    let mut client = connected(&server()).await;
    log_in(&mut client, NO_USER_AUTHENT, b"", b"").await.well();
    let twice = log_in(&mut client, NO_USER_AUTHENT, b"", b"").await;
    assert_eq!(twice.code, ResultCode::USER_ALREADY_LOGGED_ON);
    client.call(command::LOGOUT, |w: &mut Writer| w.u8(0)).await.well();
    assert_eq!(client.call(command::FLUSH, |w| w.zeros(3)).await.code, ResultCode::USER_NOT_AUTH);
    log_in(&mut client, CLEARTXT_PASSWRD, b"ADA", &cleartext(ADA.1)).await;
}

/// Takes one token, of ada's ticket.
struct Tickets;

struct Context;

impl Kerberos for Tickets {
    fn accept(&self, token: Vec<u8>) -> Accepting {
        let account = match &token[..] {
            b"\x60ada's ticket" => Some("ada".to_owned()),
            b"\x60a service" => None,
            _ => return Box::pin(async { Err(TicketRefusal::Expired) }),
        };
        let (principal, session_key, reply) = ("ada@LAB.TEST".into(), vec![7; 32], b"proof".to_vec());
        let (is_machine, expires, context) = (false, None, Box::new(Context));
        Box::pin(async move {
            Ok(Ticket { principal, account, is_machine, session_key, reply, expires, context })
        })
    }
}

impl SecurityContext for Context {
    fn sign(&self, _: &[u8]) -> Option<Vec<u8>> {
        None
    }

    fn verifies(&self, _: &[u8], _: &[u8]) -> bool {
        false
    }

    fn seal(&self, message: &[u8]) -> Option<Vec<u8>> {
        Some([b"sealed", message].concat())
    }

    fn open(&self, _: &[u8]) -> Option<Vec<u8>> {
        None
    }
}

/// The layout is what clients of Apple send, by Netatalk's uams_gss.c; the answer is what they read.
#[tokio::test]
async fn a_ticket_lets_its_user_in_whatever_name_the_client_says() {
    let server = Server::with(|config| config.kerberos = Some(std::sync::Arc::new(Tickets)));
    let with = async |token: &[u8]| {
        let mut client = connected(&server).await;
        let begun = log_in(&mut client, KERBEROS, b"bob", b"").await;
        assert_eq!((begun.code, &*begun.payload), (ResultCode::AUTH_CONTINUE, &b"\0\x01"[..]));
        let info = [b"\x03bob", &(token.len() as u16).to_be_bytes()[..], token].concat();
        let answer = client.call(command::LOGIN_CONT, |w| LoginCont { id: 1, info: &info }.encode(w)).await;
        (client, answer)
    };
    let (mut ada, answer) = with(b"\x60ada's ticket").await;
    assert_eq!(answer.well(), b"\0\x05proof");
    assert_eq!(ada.session().user.name.as_deref(), Some("ada"));
    let key = |w: &mut Writer| w.put(&[0, 0, 8, 0, 0, 0, 0]); // kGetKerberosSessionKey
    let token = ada.call(command::GET_SESSION_TOKEN, key).await.well();
    assert_eq!((&token[..10], token.len()), (&b"\0\0\0\x16sealed"[..], 4 + 6 + 16));
    for refused in [&b"\x60an old ticket"[..], b"\x60a service"] {
        assert_eq!(with(refused).await.1.code, ResultCode::USER_NOT_AUTH);
    }
    assert_eq!(with(b"no token").await.1.code, ResultCode::PARAM_ERROR);
    let mut other = connected(&Server::new()).await;
    assert_eq!(log_in(&mut other, KERBEROS, b"ada", b"").await.code, ResultCode::BAD_UAM);
}

#[tokio::test]
async fn a_step_that_nothing_came_before_is_refused() {
    let mut client = connected(&server()).await;
    let answer = client.call(command::LOGIN_CONT, |w| LoginCont { id: 1, info: b"x" }.encode(w)).await;
    assert_eq!(answer.code, ResultCode::PARAM_ERROR);
}

#[tokio::test(start_paused = true)]
async fn a_connection_without_a_login_ends_after_a_minute() {
    let server = server();
    let (mut idle, mut guest) = (connected(&server).await, connected(&server).await);
    log_in(&mut guest, NO_USER_AUTHENT, b"", b"").await.well();
    tokio::time::sleep(Duration::from_secs(61)).await;
    assert_eq!(idle.told.try_recv(), Ok(None));
    let told = std::iter::from_fn(|| guest.told.try_recv().ok());
    assert!(told.map(|frame| frame.is_some()).eq([true, true]), "tickled twice, and not closed");
}

#[tokio::test(start_paused = true)]
async fn password_guesses_are_rate_limited() {
    let mut client = connected(&server()).await;
    for _ in 0..6 {
        let began = tokio::time::Instant::now();
        log_in(&mut client, CLEARTXT_PASSWRD, b"ada", &cleartext("guess")).await;
        assert!(began.elapsed() < Duration::from_millis(300));
    }
    let began = tokio::time::Instant::now();
    log_in(&mut client, CLEARTXT_PASSWRD, b"ada", &cleartext(ADA.1)).await.well();
    assert!(began.elapsed() >= Duration::from_millis(499));
}

#[tokio::test(start_paused = true)]
async fn a_known_account_comes_in_at_once_whatever_fails_beside_it() {
    let server = server();
    log_in(&mut connected(&server).await, CLEARTXT_PASSWRD, b"ada", &cleartext(ADA.1)).await.well();
    let mut other = connected(&server).await;
    for _ in 0..30 {
        log_in(&mut other, CLEARTXT_PASSWRD, b"ada", &cleartext("guess")).await;
    }
    let began = tokio::time::Instant::now();
    let wrong = log_in(&mut other, CLEARTXT_PASSWRD, b"ada", &cleartext("guess")).await;
    assert_eq!(wrong.code, ResultCode::USER_NOT_AUTH);
    assert!(began.elapsed() >= Duration::from_secs(4), "answered late: {:?}", began.elapsed());
    let mut ada = connected(&server).await;
    let began = tokio::time::Instant::now();
    log_in(&mut ada, CLEARTXT_PASSWRD, b"ada", &cleartext(ADA.1)).await.well();
    assert!(began.elapsed() < Duration::from_millis(100), "{:?}", began.elapsed());
}

#[tokio::test]
async fn the_log_has_a_line_for_each_login_failure_and_end() {
    let (guard, lines) = auth::LoginGuard::keeping_lines();
    let server = Server::with(|config| {
        config.login_guard = guard.clone();
        config.logins.cleartext = true;
    });
    let mut client = connected(&server).await;
    log_in(&mut client, CLEARTXT_PASSWRD, b"ada", &cleartext("wrong")).await;
    log_in(&mut client, CLEARTXT_PASSWRD, b"nobody", &cleartext("wrong")).await;
    log_in(&mut client, CLEARTXT_PASSWRD, b"ADA", &cleartext(ADA.1)).await.well();
    client.call(command::LOGOUT, |w: &mut Writer| w.u8(0)).await.well();
    log_in(&mut client, NO_USER_AUTHENT, b"", b"").await.well();
    let now = std::time::Instant::now();
    let place = client.connection.peer.address.ip();
    while let Some(attempt) = guard.limiter.admit(place, "somebody", now) {
        guard.limiter.failed(&attempt, now);
    }
    let refused = log_in(&mut connected(&server).await, CLEARTXT_PASSWRD, b"bob", &cleartext("wrong")).await;
    assert_eq!(refused.code, ResultCode::MISC_ERROR); // unchecked: not kFPUserNotAuth
    let said: Vec<String> = lines.take().iter().map(|line| without_peer(line)).collect();
    let expected = [
        "failed user=\"ada\" method=\"cleartext\" reason=\"the password is wrong\"",
        "failed user=\"nobody\" method=\"cleartext\" reason=\"there is no such account\"",
        "accepted user=\"ada\" method=\"cleartext\" to=\"AFP3.4, not encrypted\"",
        "ended user=\"ada\" method=\"cleartext\" seconds=0",
        "accepted user=\"\" method=\"guest\" to=\"AFP3.4, not encrypted\"",
        "refused user=\"bob\" method=\"cleartext\" reason=\"too many logins wait\"",
    ];
    assert_eq!(said, expected);
}

/// A line without its part about the peer, which must exist.
fn without_peer(line: &str) -> String {
    let (event, rest) = line.split_once(" protocol=\"afp\" address=").unwrap();
    let (_, rest) = rest.split_once(" user=").unwrap();
    format!("{event} user={rest}")
}

#[tokio::test]
async fn methods_are_listed_to_anybody() {
    let mut client = connected(&server()).await;
    let body = b"\0\0\0\x03\0\0";
    let reply = client.call(command::GET_AUTH_METHODS, |w| w.put(body)).await.well();
    let methods = AuthMethods::decode(&mut Reader::new(&reply)).unwrap();
    assert!(methods.uams.contains(&NO_USER_AUTHENT));
}

#[tokio::test]
async fn a_password_is_changed_only_where_that_is_switched_on_and_by_who_knows_it() {
    let changed = Arc::new(parking_lot::Mutex::new(Vec::new()));
    let changes = changed.clone();
    let keep = move |name: &str, new: &str| {
        changes.lock().push((name.to_owned(), new.to_owned()));
        new != "refused"
    };
    let server = Server::with(|config| {
        config.logins.cleartext = true;
        config.change_password = Some(Arc::new(keep));
    });
    let mut ada = server.log_in(ADA, Version::V3_4);
    for (user, old, new, expected) in [
        ("", "wrong", "new", ResultCode::USER_NOT_AUTH),
        ("bob", ADA.1, "new", ResultCode::PARAM_ERROR),
        ("", ADA.1, ADA.1, ResultCode::PASSWORD_SAME),
        ("", ADA.1, "", ResultCode::PASSWORD_TOO_SHORT),
        ("", ADA.1, "refused", ResultCode::ACCESS_DENIED),
        ("Ada", ADA.1, "new", ResultCode::NO_ERROR),
    ] {
        let info = [cleartext(old), cleartext(new)].concat();
        let change = ChangePassword { uam: CLEARTXT_PASSWRD, user: user.as_bytes(), info: &info };
        let answer = ada.call(command::CHANGE_PASSWORD, |w| change.encode(w)).await;
        assert_eq!(answer.code, expected, "{user} {old} {new}");
    }
    let expected = [("ada", "refused"), ("ada", "new")].map(|(name, new)| (name.to_owned(), new.to_owned()));
    assert_eq!(*changed.lock(), expected);

    let change = ChangePassword { uam: CLEARTXT_PASSWRD, user: b"", info: &[b'x'; 16] };
    let mut guest = server.log_in_guest(Version::V3_4);
    let refused = guest.call(command::CHANGE_PASSWORD, |w| change.encode(w)).await;
    assert_eq!(refused.code, ResultCode::ACCESS_DENIED);
    let mut ada = Server::new().log_in(ADA, Version::V3_4);
    let refused = ada.call(command::CHANGE_PASSWORD, |w| change.encode(w)).await;
    assert_eq!(refused.code, ResultCode::CALL_NOT_SUPPORTED);
}

#[tokio::test]
async fn a_step_of_a_login_says_the_number_it_was_given_and_comes_once() {
    let mut client = connected(&server()).await;
    let begun = log_in(&mut client, DHX2, b"ada", b"").await;
    let id = Continue::decode(&mut Reader::new(&begun.payload)).unwrap().id;
    assert_eq!(begun.code, ResultCode::AUTH_CONTINUE);
    let wrong = LoginCont { id: id + 7, info: &[2; 144] };
    assert_eq!(client.call(command::LOGIN_CONT, |w| wrong.encode(w)).await.code, ResultCode::PARAM_ERROR);
    let right = LoginCont { id, info: &[2; 144] };
    assert_eq!(client.call(command::LOGIN_CONT, |w| right.encode(w)).await.code, ResultCode::PARAM_ERROR);
}
