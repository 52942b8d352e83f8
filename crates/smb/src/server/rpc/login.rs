//! Who calls: logins by NTLM, in SPNEGO or alone, and by Kerberos in SPNEGO, in the messages that bind (MS-RPCE 3.3.1.5.2.1). The
//! rate limit, the log and the accounts are those of sessions of SMB.
//!
//! Kerberos has three tokens with DCE-RPC. It signs here, and does not encrypt: a client that wants to encrypt takes NTLM.

use std::any::Any;
use std::net::SocketAddr;
use std::time::Instant;

use auth::kerberos::{self, Ticket};
use auth::{Event, Login as Line, LoginRecord};

use super::Rpc;
use super::protection::RpcProtection;
use crate::server::config::Config;
use crate::server::login::exchange::{
    Answer, Claim, Exchange, LoginJudge, LoginPolicy, LoginStep, NTLM_METHOD, UserKind,
};
use crate::server::login::session_setup::{judge, names, pause};
use crate::wire::Status;
use crate::wire::rpc::pdu::auth_level;
use crate::wire::spnego::{KERBEROS, MS_KERBEROS, NegState, NegTokenResp, SpnegoToken};

/// How the log names the sessions.
const PROTOCOL: &str = "smb";
/// What the log says that users have logged in to.
const TO: &str = "the witness service";
const BY_TICKET: &str = "Kerberos";

/// A user that has logged in.
pub(super) struct RpcUser {
    /// The account, or the principal of a host.
    pub(super) name: String,
    /// `None` if nothing can be signed: a client without extended session security.
    pub(super) protection: Option<RpcProtection>,
    /// Its drop logs the end.
    _record: LoginRecord,
}

/// A login that has begun.
pub(super) enum PendingLogin {
    Ntlm(Box<Exchange>),
    Kerberos(TicketLogin),
}

/// A login with a ticket, whose last token is awaited.
pub(super) struct TicketLogin {
    state: Box<dyn Any + Send>,
    /// The client's list of mechanisms.
    mech_types: Vec<u8>,
}

/// How a login goes on.
pub(super) enum RpcLoginProgress {
    /// The client is to answer this.
    Asked(Vec<u8>, PendingLogin),
    /// With the last token, if there is one.
    LoggedIn(Vec<u8>, RpcUser),
    Refused,
}

/// Takes the client's first token.
pub(super) async fn begin(rpc: &Rpc, peer: SocketAddr, token: &[u8], level: u8) -> RpcLoginProgress {
    let config = rpc.service.config();
    let Some(kerberos) = config.kerberos.clone().filter(|_| level < auth_level::PRIVACY) else {
        return go_on(rpc, peer, PendingLogin::Ntlm(Box::default()), token).await;
    };
    let Some((mech, mech_types, ticket)) = ticket_in(token) else {
        return go_on(rpc, peer, PendingLogin::Ntlm(Box::default()), token).await;
    };
    match kerberos.begin(ticket).await {
        Err(refused) => refuse(&config, peer, "", &refused.to_string()),
        Ok(kerberos::LoginProgress::Whole(ticket)) => enter(&config, peer, ticket, |ticket| {
            let reply = Some(&*ticket.reply).filter(|reply| !reply.is_empty());
            answer(NegState::ACCEPT_COMPLETED, Some(mech), reply, None)
        }),
        Ok(kerberos::LoginProgress::Half { reply, state }) => {
            let token = answer(NegState::ACCEPT_INCOMPLETE, Some(mech), Some(&reply), None);
            RpcLoginProgress::Asked(token, PendingLogin::Kerberos(TicketLogin { state, mech_types }))
        }
    }
}

/// The mechanism, the list of mechanisms and the ticket of a client that prefers Kerberos.
fn ticket_in(token: &[u8]) -> Option<(&'static [u8], Vec<u8>, Vec<u8>)> {
    let SpnegoToken::Init(init) = SpnegoToken::decode(token).ok()? else { return None };
    let mech = match init.mech_types.iter().next()? {
        KERBEROS => KERBEROS,
        MS_KERBEROS => MS_KERBEROS,
        _ => return None,
    };
    Some((mech, init.mech_types.as_der().to_vec(), init.mech_token?.to_vec()))
}

fn answer(state: NegState, mech: Option<&[u8]>, token: Option<&[u8]>, mic: Option<&[u8]>) -> Vec<u8> {
    let resp = NegTokenResp {
        neg_state: Some(state),
        supported_mech: mech,
        response_token: token,
        mech_list_mic: mic,
    };
    resp.encode()
}

/// Takes a further token.
pub(super) async fn go_on(
    rpc: &Rpc,
    peer: SocketAddr,
    begun: PendingLogin,
    token: &[u8],
) -> RpcLoginProgress {
    let config = rpc.service.config();
    let mut exchange = match begun {
        PendingLogin::Ntlm(exchange) => exchange,
        PendingLogin::Kerberos(ticketing) => return finish(&config, peer, ticketing, token).await,
    };
    match run(&config, peer, &mut exchange, token).await {
        Err(()) => RpcLoginProgress::Refused,
        Ok(LoginStep { token, login: None }) => RpcLoginProgress::Asked(token, PendingLogin::Ntlm(exchange)),
        Ok(LoginStep { token, login: Some(login) }) => {
            let UserKind::Account(account) = login.who else { return RpcLoginProgress::Refused };
            let line = Line { protocol: PROTOCOL, peer, user: &account.name, method: login.method };
            let record = LoginRecord::begin(&config.login_guard, &line, TO, Instant::now());
            let protection = login.protection.map(RpcProtection::Ntlm);
            RpcLoginProgress::LoggedIn(token, RpcUser { name: account.name, protection, _record: record })
        }
    }
}

/// The last token of a login with a ticket, and perhaps a checksum over the list of mechanisms.
async fn finish(config: &Config, peer: SocketAddr, ticketing: TicketLogin, token: &[u8]) -> RpcLoginProgress {
    let TicketLogin { state, mech_types } = ticketing;
    let (Some(kerberos), Ok(SpnegoToken::Resp(resp))) = (config.kerberos.clone(), SpnegoToken::decode(token))
    else {
        return RpcLoginProgress::Refused;
    };
    let (Some(last), mic) = (resp.response_token, resp.mech_list_mic) else {
        return RpcLoginProgress::Refused;
    };
    let ticket = match kerberos.finish(state, last.to_vec()).await {
        Ok(ticket) => ticket,
        Err(refused) => return refuse(config, peer, "", &refused.to_string()),
    };
    if mic.is_some_and(|mic| !ticket.context.verifies(&mech_types, mic)) {
        return refuse(config, peer, &ticket.principal, "the list of mechanisms was changed on the way");
    }
    enter(config, peer, ticket, |ticket| {
        let ours = mic.and_then(|_| ticket.context.sign(&mech_types));
        answer(NegState::ACCEPT_COMPLETED, None, None, ours.as_deref())
    })
}

/// A ticket of a user with an account, or of a host: Windows asks with the account of the machine.
fn enter(
    config: &Config,
    peer: SocketAddr,
    ticket: Ticket,
    token: impl FnOnce(&Ticket) -> Vec<u8>,
) -> RpcLoginProgress {
    let account = ticket.account.as_deref().and_then(|name| config.accounts.find_in_any_case(name));
    let name = match account.filter(|account| !account.disabled) {
        Some(account) => account.name,
        None if ticket.is_machine => ticket.principal.clone(),
        None => return refuse(config, peer, &ticket.principal, "it has no account that may log in"),
    };
    let token = token(&ticket);
    let line = Line { protocol: PROTOCOL, peer, user: &name, method: BY_TICKET };
    let record = LoginRecord::begin(&config.login_guard, &line, TO, Instant::now());
    let protection = Some(RpcProtection::Kerberos(ticket.context));
    RpcLoginProgress::LoggedIn(token, RpcUser { name, protection, _record: record })
}

fn refuse(config: &Config, peer: SocketAddr, user: &str, why: &str) -> RpcLoginProgress {
    let line = Line { protocol: PROTOCOL, peer, user, method: BY_TICKET };
    config.login_guard.log.tell(&line, Event::Failed(why), Instant::now());
    RpcLoginProgress::Refused
}

async fn run(
    config: &Config,
    peer: SocketAddr,
    exchange: &mut Exchange,
    token: &[u8],
) -> Result<LoginStep, ()> {
    let names = names(config);
    let mut challenge = [0; 8];
    getrandom::fill(&mut challenge).map_err(drop)?;
    // Guests and users without a name have nothing that another server could be a witness of.
    let judge = LoginJudge {
        has_kerberos: false,
        policy: LoginPolicy::default(),
        ..judge(config, &names, challenge)
    };
    let Some(claim) = exchange.claimed(token) else {
        return exchange.step(token, &judge, None).map_err(|status| failed(config, peer, None, status));
    };
    let limiter = &config.login_guard.limiter;
    let Some(attempt) = limiter.admit(peer.ip(), &claim.user, Instant::now()) else {
        tell(config, peer, Some(&claim), Event::Refused);
        return Err(());
    };
    pause(attempt.wait).await;
    let answer = match (&config.domain, exchange.question(token, &judge)) {
        (Some(domain), Some(question)) => Some(Answer::Domain(domain.by_response(question).await)),
        _ => None,
    };
    match exchange.step(token, &judge, answer) {
        Ok(step) => {
            if step.login.as_ref().is_some_and(|login| matches!(login.who, UserKind::Account(_))) {
                limiter.succeeded(&attempt, Instant::now());
            }
            Ok(step)
        }
        Err(status) => {
            match exchange.domain_refused() {
                Some(refused) => tell(config, peer, Some(&claim), Event::Failed(&refused.to_string())),
                None => failed(config, peer, Some(&claim), status),
            }
            if status == Status::LOGON_FAILURE {
                pause(limiter.failed(&attempt, Instant::now())).await;
            }
            Err(())
        }
    }
}

fn failed(config: &Config, peer: SocketAddr, claim: Option<&Claim>, status: Status) {
    let reason = match claim {
        Some(claim) if status == Status::LOGON_FAILURE => {
            config.accounts.reason(&claim.user).text().to_owned()
        }
        _ => format!("{status:?}"),
    };
    tell(config, peer, claim, Event::Failed(&reason));
}

fn tell(config: &Config, peer: SocketAddr, claim: Option<&Claim>, event: Event<'_>) {
    let user = claim.map_or("", |claim| &*claim.user);
    let line = Line { protocol: PROTOCOL, peer, user, method: NTLM_METHOD };
    config.login_guard.log.tell(&line, event, Instant::now());
}
