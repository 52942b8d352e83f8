//! The log's lines about SMB logins.

use std::time::Instant;

use auth::{Event, Login as Line, LoginRecord, LogonRefused};

use super::exchange::{Claim, CompletedLogin, TicketRefused, UserKind};
use crate::server::clients::session::Session;
use crate::server::config::Config;
use crate::server::context::{ConnectionScope, Context, Failure};
use crate::wire::Status;

const PROTOCOL: &str = "smb";

/// Why a login by NTLMv1 or LM is refused: its password may be right.
const OLD_RESPONSE: &str = "NTLMv1 and LM are refused";

/// A user begins a session. Dropping the record writes the session's end.
pub(in crate::server) fn begun(
    context: &Context<ConnectionScope>,
    session: &Session,
    login: &CompletedLogin,
) -> LoginRecord {
    let guard = context.service().config().login_guard.clone();
    LoginRecord::begin(&guard, &line(context, login), &protection(session), Instant::now())
}

/// A user renews a session, or another connection joins it.
pub(in crate::server) fn continued(
    context: &Context<ConnectionScope>,
    session: &Session,
    login: &CompletedLogin,
    how: &str,
) {
    let to = format!("{}, {how}", protection(session));
    let config = context.service().config();
    config.login_guard.log.tell(&line(context, login), Event::Accepted(&to), Instant::now());
}

/// A login has failed.
pub(in crate::server) fn failed(
    context: &Context<ConnectionScope>,
    config: &Config,
    claim: Option<&Claim>,
    failure: &Failure,
) {
    let reason = match (failure.status, claim) {
        (Status::LOGON_FAILURE, Some(claim)) if claim.is_old => OLD_RESPONSE.to_owned(),
        (Status::LOGON_FAILURE, Some(claim)) => config.accounts.reason(&claim.user).text().to_owned(),
        (Status::ACCOUNT_DISABLED, _) => auth::Refusal::Disabled.text().to_owned(),
        (status, _) => format!("{status:?}"),
    };
    tell(context, config, claim, Event::Failed(&reason));
}

/// A domain controller has refused a login, or could not be asked.
pub(in crate::server) fn domain_refused(
    context: &Context<ConnectionScope>,
    config: &Config,
    claim: &Claim,
    refused: &LogonRefused,
) {
    tell(context, config, Some(claim), Event::Failed(&refused.to_string()));
}

/// A ticket was refused.
pub(in crate::server) fn ticket_refused(
    context: &Context<ConnectionScope>,
    config: &Config,
    refused: &TicketRefused,
) {
    let (peer, user) = (context.connection.peer.address, &*refused.principal);
    let line = Line { protocol: PROTOCOL, peer, user, method: "Kerberos" };
    config.login_guard.log.tell(&line, Event::Failed(&refused.why), Instant::now());
}

/// A login was refused by the rate limit.
pub(in crate::server) fn refused(context: &Context<ConnectionScope>, config: &Config, claim: &Claim) {
    tell(context, config, Some(claim), Event::Refused);
}

fn tell(context: &Context<ConnectionScope>, config: &Config, claim: Option<&Claim>, event: Event<'_>) {
    let (peer, user) = (context.connection.peer.address, claim.map_or("", |claim| &claim.user));
    let method = if claim.is_some_and(|claim| claim.is_old) { "NTLMv1" } else { "NTLMv2" };
    let line = Line { protocol: PROTOCOL, peer, user, method };
    config.login_guard.log.tell(&line, event, Instant::now());
}

fn line<'a>(context: &Context<ConnectionScope>, login: &'a CompletedLogin) -> Line<'a> {
    let (user, method) = match &login.who {
        UserKind::Account(account) => (&*account.name, login.method),
        UserKind::Guest => (&*login.user, "guest"),
        UserKind::Anonymous => ("", "anonymous"),
    };
    Line { protocol: PROTOCOL, peer: context.connection.peer.address, user, method }
}

/// The dialect, and how a session's messages are protected.
fn protection(session: &Session) -> String {
    let can_sign = session.user().has_account();
    let signing = match (can_sign, session.require_signing) {
        (false, _) => "not signed".to_owned(),
        (true, true) => format!("signed by {}", session.signing.name()),
        (true, false) => format!("can be signed by {}", session.signing.name()),
    };
    let sealing = match session.cipher.filter(|_| can_sign) {
        None => "not encrypted".to_owned(),
        Some(cipher) if session.requires_encryption() => format!("encrypted by {}", cipher.name()),
        Some(cipher) => format!("can be encrypted by {}", cipher.name()),
    };
    format!("SMB {}, {signing}, {sealing}", session.dialect.name())
}
