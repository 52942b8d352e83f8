//! SESSION_SETUP, MS-SMB2 3.3.5.5.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use auth::{Attempt, FileProtocol, Identity};
use lock::Mutex;

use super::crypto::kdf::{KeyScheme, SessionKeys, signing_key};
use super::crypto::preauth::Preauth;
use super::crypto::sealing::Sealer;
use super::crypto::signing::{Signer, SigningAlgorithm};
use super::exchange::{Answer, Claim, CompletedLogin, LoginJudge, LoginPolicy, ServerNames, UserKind};
use super::in_progress::LoginInProgress;
use super::login_lines;
use super::negotiate::Negotiation;
use crate::ranks;
use crate::server::clients::session::{Channel, NewSession, Session, User};
use crate::server::config::{Config, Dialect, EncryptionPolicy};
use crate::server::context::{ConnectionScope, Context, Failure, Outcome, Reply, ResponseExtras};
use crate::wire::Status;
use crate::wire::header::Flags;
use crate::wire::session_setup::{Request, RequestFlags, Response, SessionFlags};
use crate::wire::time::NtTime;
use crate::wire::values::SecurityMode;

/// The status of a login that the rate limit refuses unchecked. Windows shows "no more connections
/// can be made to this remote computer at this time". For LOGON_FAILURE it would show "the user
/// name or password is incorrect".
pub(in crate::server) const TOO_MANY: Status = Status::REQUEST_NOT_ACCEPTED;
/// The longest name that a NetBIOS client can show.
const NETBIOS_NAME: usize = 15;

/// What a login is for.
enum LoginPurpose {
    /// A session that does not exist yet.
    New,
    /// The same session: extends the login, or changes its user.
    Renewal(Arc<Channel>),
    /// Another connection of a session.
    Binding(Arc<Session>),
}

pub(in crate::server) async fn run(context: &Context<ConnectionScope>) -> Outcome {
    let message = context.message.clone();
    let request = Request::decode(&message)?;
    let connection = &context.connection;
    let negotiated = connection.negotiated().ok_or(Status::INVALID_PARAMETER)?;
    let purpose = purpose(context, &request, negotiated)?;
    let id = match context.header.session_id {
        0 => connection.service.unused_session_id(),
        id => id,
    };
    let entry = connection.logins.entry(id, &negotiated.preauth, matches!(purpose, LoginPurpose::New))?;
    let claimed = entry.lock().exchange.claimed(request.security_buffer);
    let token = entry.lock().exchange.token_for_kerberos(request.security_buffer);
    let ticket = match (token, context.service().config().kerberos.clone()) {
        (Some(token), Some(kerberos)) => Some(Answer::Ticket(kerberos.accept(token).await)),
        _ => None,
    };
    let result = match &claimed {
        Some(claim) => decide(context, &request, &entry, id, &purpose, claim).await,
        None => step(context, &request, &entry, (id, &purpose), None, ticket).inspect_err(|failure| {
            let config = context.service().config();
            match entry.lock().exchange.ticket_refused() {
                Some(refused) => login_lines::ticket_refused(context, &config, refused),
                None => login_lines::failed(context, &config, None, failure),
            }
        }),
    };
    if !matches!(&result, Ok(reply) if reply.status == Status::MORE_PROCESSING_REQUIRED) {
        connection.logins.forget(id);
    }
    if let (Err(_), LoginPurpose::Renewal(channel)) = (&result, &purpose) {
        // The renewal failed, so the session's user is not proven any more: the session ends,
        // 3.3.5.5.3.
        context.service().end_session(&channel.session);
    }
    result
}

/// Runs the step that decides whether the user is let in. Repeated wrong passwords are delayed.
async fn decide(
    context: &Context<ConnectionScope>,
    request: &Request<'_>,
    entry: &Mutex<LoginInProgress, ranks::SmbSetup>,
    id: u64,
    purpose: &LoginPurpose,
    claim: &Claim,
) -> Outcome {
    let config = context.service().config();
    let (place, limiter) = (context.connection.peer.address.ip(), &config.login_guard.limiter);
    if is_guest(&config, &claim.user) {
        let result = step(context, request, entry, (id, purpose), None, None);
        return result.inspect_err(|failure| login_lines::failed(context, &config, Some(claim), failure));
    }
    let Some(attempt) = limiter.admit(place, &claim.user, Instant::now()) else {
        login_lines::refused(context, &config, claim);
        return Err(TOO_MANY.into());
    };
    pause(attempt.wait).await;
    let answer = ask_domain(&config, request, entry).await;
    let result = step(context, request, entry, (id, purpose), Some(&attempt), answer);
    if let Err(failure) = &result {
        match entry.lock().exchange.domain_refused() {
            Some(refused) => login_lines::domain_refused(context, &config, claim, refused),
            None => login_lines::failed(context, &config, Some(claim), failure),
        }
        if failure.status == Status::LOGON_FAILURE {
            pause(limiter.failed(&attempt, Instant::now())).await;
        }
    }
    result
}

/// Whether the login is one of a guest, whose password nobody checks: it does not wait behind the wrong passwords of others.
/// A domain may have the account.
fn is_guest(config: &Config, user: &str) -> bool {
    let is_named_so = config.domain.is_none() || user.eq_ignore_ascii_case("guest");
    let policy = judge(config, &names(config), [0; 8]).policy;
    is_named_so && policy.admits_guest(user) && config.accounts.find_in_any_case(user).is_none()
}

/// What a domain controller says of a login that the accounts of this server do not decide.
async fn ask_domain(
    config: &Config,
    request: &Request<'_>,
    entry: &Mutex<LoginInProgress, ranks::SmbSetup>,
) -> Option<Answer> {
    let domain = config.domain.clone()?;
    let (names, challenge) = (names(config), [0; 8]);
    let question =
        entry.lock().exchange.question(request.security_buffer, &judge(config, &names, challenge))?;
    Some(Answer::Domain(domain.by_response(question).await))
}

pub(in crate::server) async fn pause(time: Duration) {
    if !time.is_zero() {
        tokio::time::sleep(time).await;
    }
}

/// The purpose of the request, if the request is allowed: MS-SMB2 3.3.5.5 and 3.3.5.5.2.
fn purpose(
    context: &Context<ConnectionScope>,
    request: &Request<'_>,
    negotiated: &Negotiation,
) -> Result<LoginPurpose, Status> {
    let id = context.header.session_id;
    if request.flags.contains(RequestFlags::BINDING) {
        return binding(context, negotiated).map(LoginPurpose::Binding);
    }
    match &context.scope.0 {
        Some(channel) => Ok(LoginPurpose::Renewal(channel.clone())),
        None if id == 0 || context.connection.logins.has(id) => Ok(LoginPurpose::New),
        None => Err(Status::USER_SESSION_DELETED),
    }
}

/// The session that a connection joins, 3.3.5.5 and 3.3.5.5.2. As Windows does, it checks the
/// algorithms first.
fn binding(context: &Context<ConnectionScope>, negotiated: &Negotiation) -> Result<Arc<Session>, Status> {
    let id = context.header.session_id;
    if id == 0 {
        return Err(Status::INVALID_PARAMETER);
    }
    let session = context.service().session(id).ok_or(Status::USER_SESSION_DELETED)?;
    if session.signing != negotiated.signing {
        if session.signing == SigningAlgorithm::AesGmac {
            return Err(Status::REQUEST_OUT_OF_SEQUENCE);
        }
        if negotiated.signing == SigningAlgorithm::AesGmac {
            return Err(Status::NOT_SUPPORTED);
        }
    }
    if !negotiated.dialect.is_v3() || context.scope.0.is_some() {
        return Err(Status::REQUEST_NOT_ACCEPTED);
    }
    if !context.header.flags.contains(Flags::SIGNED)
        || session.dialect != negotiated.dialect
        || session.cipher != negotiated.cipher
    {
        return Err(Status::INVALID_PARAMETER);
    }
    // Another GUID may be refused (3.3.5.5). Windows does not refuse it, and the signature proves
    // the client's identity.
    if session.has_expired(SystemTime::now()) {
        return Err(Status::NETWORK_SESSION_EXPIRED);
    }
    if !session.user().has_account() {
        return Err(Status::NOT_SUPPORTED);
    }
    if context.signer.is_none() {
        return Err(Status::ACCESS_DENIED); // the request is not signed with the session's key
    }
    Ok(session)
}

fn step(
    context: &Context<ConnectionScope>,
    request: &Request<'_>,
    entry: &Mutex<LoginInProgress, ranks::SmbSetup>,
    (id, purpose): (u64, &LoginPurpose),
    attempt: Option<&Attempt>,
    answer: Option<Answer>,
) -> Outcome {
    let mut entry = entry.lock();
    entry.preauth.update(&context.message);
    let config = context.service().config();
    let mut challenge = [0; 8];
    getrandom::fill(&mut challenge).map_err(|_| Status::INSUFFICIENT_RESOURCES)?;
    let step =
        entry.exchange.step(request.security_buffer, &judge(&config, &names(&config), challenge), answer)?;
    let Some(login) = step.login else {
        let response = Response { flags: SessionFlags::NONE, security_buffer: step.token };
        let also = ResponseExtras {
            session_id: Some(id),
            preauth: Some(entry.preauth.clone()),
            ..ResponseExtras::default()
        };
        let status = Status::MORE_PROCESSING_REQUIRED;
        let reply = Reply::encoded(|w| response.encode(w));
        return Ok(Reply { status, also: Some(Box::new(also)), ..reply });
    };
    if let (UserKind::Account(_), Some(attempt)) = (&login.who, attempt) {
        config.login_guard.limiter.succeeded(attempt, Instant::now());
    }
    let user = user(&config, &login, context.connection.peer.address.ip())?;
    let channel = match purpose {
        LoginPurpose::New => begin(context, &config, request, &login, user, id, &entry.preauth)?,
        LoginPurpose::Binding(session) => bind(context, session, &user, &login, &entry.preauth)?,
        LoginPurpose::Renewal(channel) => {
            login_lines::continued(context, &channel.session, &login, "renewed");
            channel.session.renew(user, expires(&config, &login));
            channel.clone()
        }
    };
    Ok(welcome(&channel, step.token))
}

pub(in crate::server) fn judge<'a>(
    config: &'a Config,
    names: &'a ServerNames,
    challenge: [u8; 8],
) -> LoginJudge<'a> {
    LoginJudge {
        accounts: &*config.accounts,
        names,
        policy: LoginPolicy {
            anonymous: true, // for lists of shares; anonymous users can open no folder
            guest: config.guests.identity.is_some(),
            unknown_users: config.guests.unknown_users,
        },
        has_kerberos: config.kerberos.is_some(),
        now: NtTime::from(vfs::Time::from(SystemTime::now())).0,
        challenge,
    }
}

/// When a login ends: with its ticket, or by the settings.
fn expires(config: &Config, login: &CompletedLogin) -> Option<SystemTime> {
    let by_settings = config.session_lifetime.map(|lifetime| SystemTime::now() + lifetime);
    by_settings.into_iter().chain(login.expires).min()
}

/// Begins a new session. Other requests can find it from now on.
fn begin(
    context: &Context<ConnectionScope>,
    config: &Config,
    request: &Request<'_>,
    login: &CompletedLogin,
    user: User,
    id: u64,
    preauth: &Preauth,
) -> Result<Arc<Channel>, Failure> {
    let (connection, service) = (&context.connection, context.service());
    let negotiated = connection.negotiated().ok_or(Status::INVALID_PARAMETER)?;
    let can_sign = user.has_account();
    let must_seal = config.encryption == EncryptionPolicy::Required;
    if must_seal && (!can_sign || negotiated.cipher.is_none()) {
        return Err(Status::ACCESS_DENIED.into());
    }
    let hash = preauth.value();
    let scheme = scheme(negotiated.dialect, &hash);
    let keys = SessionKeys::derive(scheme, &login.session_key, negotiated.cipher);
    let signer = Signer::new(negotiated.signing, &keys.signing);
    let wants_signing =
        request.security_mode.contains(SecurityMode::SIGNING_REQUIRED) || config.require_signing;
    let session = Session::new(NewSession {
        id,
        dialect: negotiated.dialect,
        client_guid: negotiated.client_guid,
        signing: negotiated.signing,
        cipher: negotiated.cipher,
        user,
        expires: expires(config, login),
        require_signing: wants_signing && can_sign,
        require_encryption: must_seal,
        sealer: negotiated.cipher.filter(|_| can_sign).map(|cipher| Sealer::new(cipher, &keys)),
        keys,
        client: service.client(connection),
    });
    let channel = Arc::new(Channel { session: session.clone(), signer });
    if !service.add_session(session) || !connection.add_channel(channel.clone()) {
        service.remove_session(id);
        return Err(Status::INSUFFICIENT_RESOURCES.into());
    }
    channel.session.record(login_lines::begun(context, &channel.session, login));
    if request.previous_session_id != 0 && request.previous_session_id != id {
        replace(context, request.previous_session_id, &channel.session);
    }
    Ok(channel)
}

/// The client has lost its connection and logs in again: its old session ends, MS-SMB2 3.3.5.5.3.
fn replace(context: &Context<ConnectionScope>, previous: u64, by: &Session) {
    let service = context.service();
    if let Some(old) = service.session(previous)
        && old.user().caller == by.user().caller
        && old.user().name.eq_ignore_ascii_case(&by.user().name)
    {
        service.replace_session(&old);
    }
}

/// Another channel of a session, with a signing key of its own.
fn bind(
    context: &Context<ConnectionScope>,
    session: &Arc<Session>,
    user: &User,
    login: &CompletedLogin,
    preauth: &Preauth,
) -> Result<Arc<Channel>, Failure> {
    let connection = &context.connection;
    let negotiated = connection.negotiated().ok_or(Status::INVALID_PARAMETER)?;
    if !user.name.eq_ignore_ascii_case(&session.user().name) || !user.has_account() {
        return Err(Status::ACCESS_DENIED.into());
    }
    let hash = preauth.value();
    let key = signing_key(scheme(session.dialect, &hash), &login.session_key);
    let signer = Signer::new(negotiated.signing, &key);
    let channel = Arc::new(Channel { session: session.clone(), signer });
    match connection.add_channel(channel.clone()) {
        true => {
            login_lines::continued(context, session, login, "another connection of a session");
            Ok(channel)
        }
        false => Err(Status::INSUFFICIENT_RESOURCES.into()),
    }
}

fn welcome(channel: &Arc<Channel>, token: Vec<u8>) -> Reply {
    let session = &channel.session;
    let user = session.user();
    let mut flags = SessionFlags::NONE;
    if user.guest {
        flags |= SessionFlags::IS_GUEST;
    }
    if user.anonymous {
        flags |= SessionFlags::IS_NULL;
    }
    if session.requires_encryption() {
        flags |= SessionFlags::ENCRYPT_DATA;
    }
    let response = Response { flags, security_buffer: token };
    let signer = Some(channel.clone()).filter(|_| user.has_account());
    let also = ResponseExtras { session_id: Some(session.id), signer, ..ResponseExtras::default() };
    Reply { also: Some(Box::new(also)), ..Reply::encoded(|w| response.encode(w)) }
}

fn scheme(dialect: Dialect, hash: &super::crypto::preauth::PreauthHash) -> KeyScheme<'_> {
    match dialect {
        Dialect::V2_0_2 | Dialect::V2_1 => KeyScheme::Plain,
        Dialect::V3_0 | Dialect::V3_0_2 => KeyScheme::Constant,
        Dialect::V3_1_1 => KeyScheme::Preauth(hash),
    }
}

pub(in crate::server) fn names(config: &Config) -> ServerNames {
    let short: String = config.name.chars().take_while(|c| *c != '.').take(NETBIOS_NAME).collect();
    let member = config.domain.as_ref().map(|domain| domain.names());
    ServerNames { netbios: short.to_uppercase(), dns: config.name.clone(), member }
}

/// The user that a login acts as.
fn user(config: &Config, login: &CompletedLogin, address: IpAddr) -> Result<User, Status> {
    let nobody = config.guests.identity.clone();
    let (identity, name, guest, anonymous) = match &login.who {
        UserKind::Account(account) => (Some(account.identity.clone()), account.name.clone(), false, false),
        UserKind::Guest => (nobody, login.user.clone(), true, false),
        UserKind::Anonymous => (nobody, String::new(), false, true),
    };
    let account = matches!(login.who, UserKind::Account(_)).then_some(&*name);
    let caller = identity.unwrap_or_else(Identity::anonymous).of(FileProtocol::Smb, account, address);
    Ok(User { name, caller, guest, anonymous })
}
