//! PDUs of a connection before its login is complete, RFC 7143 section 6.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use auth::{Event, Login as Line, LoginRecord};
use conn::Answer;
use vfs::Payload;
use wire::Reader;

use super::connection::{Connection, SessionConnection};
use super::full_feature::nothing;
use super::limits::QUEUE_DEPTH;
use super::login::{Attempt, AttemptStep, Gate, LoginResult, SessionKind, address};
use super::paths::Way;
use super::sender::{Pdu, StatSn, header};
use super::session::{DecodedRequest, Session};
use crate::wire::keys;
use crate::wire::pdu::{LoginRequest, LoginResponse, LoginStatus, Opcode};

const PROTOCOL: &str = "iscsi";
/// How long a login waits for the units that this server is about to serve: less than the 15 s in
/// which open-iscsi and libiscsi expect an answer.
const UNITS_WITHIN: Duration = Duration::from_secs(10);
/// How often such a login looks for them.
const LOOK_EVERY: Duration = Duration::from_millis(25);

/// Takes one request. Any PDU but a login request ends the connection (RFC 7143 6.3).
pub(super) fn take(connection: &Arc<Connection>, message: DecodedRequest) -> Answer {
    let request = LoginRequest::decode(&mut Reader::new(&message.header));
    let (Opcode::LOGIN_REQUEST, Ok(request)) = (message.head.opcode, request) else {
        tracing::debug!(client = %connection.peer.address, "something else than a login came first");
        connection.sender.close();
        return nothing();
    };
    // Removed until the request is answered: no other request continues the login meanwhile.
    let Some(mut attempt) = connection.attempt.lock().take() else { return nothing() };
    let reply = attempt.next(&request, &message.data, Instant::now());
    let connection = connection.clone();
    let way = way(&connection, &reply.step);
    if reply.after.is_zero() && way == Way::Here {
        *connection.attempt.lock() = Some(attempt);
        step(&connection, &request, reply.step);
        return nothing();
    }
    Box::pin(async move {
        tokio::time::sleep(reply.after).await;
        let way = settled(&connection, &reply.step).await;
        *connection.attempt.lock() = Some(attempt);
        match way {
            Way::Here => step(&connection, &request, reply.step),
            Way::Elsewhere(portal) => redirect(&connection, &request, portal),
            Way::Soon => {
                refuse(
                    &connection,
                    &request,
                    LoginResponse::refused(&request, LoginStatus::SERVICE_UNAVAILABLE),
                );
            }
        }
        None
    })
}

/// Where the initiator of a complete login finds the units of its target.
fn way(connection: &Connection, step: &AttemptStep) -> Way {
    match step {
        AttemptStep::Done(_, _, logged_in) => match &logged_in.kind {
            SessionKind::Normal(target) => connection.service.way(target, connection.local.ip()),
            SessionKind::Discovery => Way::Here,
        },
        _ => Way::Here,
    }
}

/// The same, after a wait for units that this server is about to serve.
async fn settled(connection: &Connection, step: &AttemptStep) -> Way {
    let until = tokio::time::Instant::now() + UNITS_WITHIN;
    loop {
        let way = way(connection, step);
        if way != Way::Soon || tokio::time::Instant::now() >= until || connection.is_ended() {
            return way;
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

/// Sends an initiator to another address of its target, RFC 7143 11.13.5. The portal group is
/// omitted (13.8).
fn redirect(connection: &Connection, request: &LoginRequest, portal: SocketAddr) {
    *connection.attempt.lock() = None;
    let mut w = wire::Writer::new();
    keys::encode("TargetAddress", &address(portal), &mut w);
    let response = LoginResponse::refused(request, LoginStatus::TARGET_MOVED_TEMPORARILY);
    say(connection, request, response, w.into_bytes());
    connection.sender.flush();
    connection.sender.finish();
}

fn step(connection: &Arc<Connection>, request: &LoginRequest, step: AttemptStep) {
    match step {
        AttemptStep::Answer(response, text) => say(connection, request, response, text),
        AttemptStep::Refused(response) => refuse(connection, request, response),
        AttemptStep::Done(response, text, logged_in) => {
            done(connection, request, (response, text), *logged_in)
        }
    }
}

/// Begins the session, or adds the connection to it.
fn done(
    connection: &Arc<Connection>,
    request: &LoginRequest,
    (response, text): (LoginResponse, Vec<u8>),
    logged_in: LoginResult,
) {
    let (cid, parameters) = (logged_in.cid, logged_in.parameters.clone());
    let digests = (parameters.header_digest, parameters.data_digest);
    let (to, is_new) = (described(&logged_in), logged_in.tsih_asked == 0);
    let user = logged_in.account.clone();
    let session = match connection.service.attach(connection, logged_in) {
        Ok(session) => session,
        Err(status) => return refuse(connection, request, LoginResponse::refused(request, status)),
    };
    *connection.attempt.lock() = None;
    log(connection, &session, user.as_deref(), (&to, is_new));
    let tsih = session.tsih;
    // A discovery session needs no more memory than before.
    connection.peer.memory.logged_in(session.target.is_some());
    let _ = connection.joined.set(SessionConnection::new(session.clone(), cid, parameters)); // set only here
    say(connection, request, LoginResponse { tsih, ..response }, text);
    connection.sender.set_digests(digests.0, digests.1);
    session.seen(); // from now on, it receives events of its units
    if connection.is_ended() {
        connection.service.lost(&session, connection); // the client has gone meanwhile
    }
}

/// Logs the login; the session's end is logged when it ends.
fn log(connection: &Connection, session: &Session, user: Option<&str>, (to, is_new): (&str, bool)) {
    let guard = connection.service.login_guard();
    let method = if user.is_some() { "CHAP" } else { "guest" };
    let line =
        Line { protocol: PROTOCOL, peer: connection.peer.address, user: user.unwrap_or_default(), method };
    if is_new {
        session.record(LoginRecord::begin(&guard, &line, to, Instant::now()));
    } else {
        let to = format!("{to}, another connection of a session");
        guard.log.tell(&line, Event::Accepted(&to), Instant::now());
    }
}

/// The target and the initiator. The initiator's name is a claim without proof.
fn described(logged_in: &LoginResult) -> String {
    let initiator = &logged_in.initiator.name;
    match &logged_in.kind {
        SessionKind::Discovery => format!("the list of targets from {initiator}"),
        SessionKind::Normal(target) => format!("{} from {initiator}", target.name),
    }
}

fn refuse(connection: &Connection, request: &LoginRequest, response: LoginResponse) {
    let attempt = connection.attempt.lock().take();
    let claim = attempt.as_ref().map(Attempt::claim);
    let user = claim.map_or("", |claim| &claim.user);
    let method = claim.map_or("", |claim| claim.method);
    let LoginStatus(class, detail) = response.status;
    let status = format!("login status {class:02x}{detail:02x}");
    let event = match claim {
        Some(claim) if claim.is_unheard => Event::Refused,
        claim => Event::Failed(claim.and_then(|claim| claim.reason).unwrap_or(&status)),
    };
    let method = if method.is_empty() { "none" } else { method };
    let line = Line { protocol: PROTOCOL, peer: connection.peer.address, user, method };
    connection.service.login_guard().log.tell(&line, event, Instant::now());
    say(connection, request, response, Vec::new());
    connection.sender.flush();
    connection.sender.finish();
}

fn say(connection: &Connection, request: &LoginRequest, response: LoginResponse, text: Vec<u8>) {
    let mut w = header();
    response.encode(text.len(), &mut w);
    let pdu = Pdu { header: w.into_bytes(), stat_sn: StatSn::Own, data: Some(Payload::Bytes(text)) };
    let last = request.cmd_sn.wrapping_add(QUEUE_DEPTH - 1);
    connection.sender.send(pdu, || (request.cmd_sn, last));
}
