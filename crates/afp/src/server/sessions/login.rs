//! Logins, Apple Filing Protocol Reference, FPLogin, FPLoginExt, FPLoginCont, FPGetAuthMethods, FPLogout.

use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use auth::{Event, FileProtocol, Login as Line, LoginRecord, LogonRefused};
use bytes::Bytes;
use lock::Mutex;
use tokio::sync::Semaphore;
use wire::Reader;

use super::session::{Session, SessionUser};
use super::uam::{self, UamContext, UamExchange, UamMethod, UamStep};
use super::{domain_login, password};
use crate::ranks;
use crate::server::config::{Config, Version};
use crate::server::connection::Connection;
use crate::server::reply::{Outcome, Reply};
use crate::wire::login::{AuthMethods, ChangePassword, Continue, Login, LoginCont, LoginExt};
use crate::wire::{ResultCode, command};

const PROTOCOL: &str = "afp";
/// The result of a login that is refused without a check, because too many wait: clients must not
/// report a wrong password.
const TOO_MANY: ResultCode = ResultCode::MISC_ERROR;
/// A client without a login is disconnected after this time.
const MAX_TIME: Duration = Duration::from_secs(60);
/// How many steps of logins are processed at a time: each takes a processor, and some 19 MiB.
const MAX_AT_WORK: usize = 4;

/// The state that logins of all connections share.
pub(in crate::server) struct LoginGate {
    at_work: Arc<Semaphore>,
    /// Values for unknown accounts are derived from this.
    decoy: [u8; 16],
}

impl Default for LoginGate {
    fn default() -> Self {
        let mut decoy = [0; 16];
        let _ = getrandom::fill(&mut decoy); // without random bytes no login succeeds, either
        Self { at_work: Arc::new(Semaphore::new(MAX_AT_WORK)), decoy }
    }
}

/// The login of a connection, or its change of a password: one step at a time.
pub(in crate::server) struct StepwiseExchange<T>(Mutex<LoginState<T>, ranks::AfpLogin>);

enum LoginState<T> {
    None,
    /// A step is being processed.
    Busy,
    /// The server waits for the client's next step.
    Awaited(T),
}

/// A login between two steps.
pub(in crate::server) struct LoginAttempt {
    login: LoginInProgress,
    exchange: UamExchange,
}

/// A login in progress.
struct LoginInProgress {
    version: Version,
    /// The name as typed.
    user: String,
    method: UamMethod,
    /// The number that the client must send with the next step.
    id: u16,
    attempt: auth::Attempt,
}

/// The parameters of the first step.
struct LoginStart<'a> {
    version: &'a [u8],
    uam: &'a [u8],
    user: &'a [u8],
    info: &'a [u8],
}

/// The commands before a login.
pub(in crate::server) async fn before(connection: &Arc<Connection>, number: u8, body: &Bytes) -> Outcome {
    let r = &mut Reader::new(body);
    match number {
        command::LOGIN_EXT | command::GET_AUTH_METHODS if !connection.transport.ever_has(number) => {
            Err(ResultCode::CALL_NOT_SUPPORTED)
        }
        command::LOGIN => {
            let Login { version, uam, user, info } = Login::decode(r)?;
            begin(connection, LoginStart { version, uam, user, info }).await
        }
        command::LOGIN_EXT => {
            let LoginExt { version, uam, user, info, .. } = LoginExt::decode(r)?;
            begin(connection, LoginStart { version, uam, user, info }).await
        }
        command::LOGIN_CONT => go_on(connection, LoginCont::decode(r)?).await,
        command::GET_AUTH_METHODS => Ok(methods(connection)),
        _ => Err(ResultCode::USER_NOT_AUTH),
    }
}

/// The same commands after a login.
pub(in crate::server) async fn after(
    connection: &Arc<Connection>,
    session: &Session,
    number: u8,
    body: &Bytes,
) -> Outcome {
    match number {
        command::LOGOUT => {
            connection.log_out();
            Ok(Reply::empty())
        }
        command::GET_AUTH_METHODS => Ok(methods(connection)),
        command::CHANGE_PASSWORD => {
            let request = ChangePassword::decode(&mut Reader::new(body))?;
            password::change(connection, session, request).await
        }
        _ => Err(ResultCode::USER_ALREADY_LOGGED_ON),
    }
}

/// FPGetAuthMethods: the same methods for every directory.
fn methods(connection: &Connection) -> Reply {
    let config = connection.service.config();
    let uams = UamMethod::offered(&config, connection.transport).into_iter().map(UamMethod::name).collect();
    Reply::encoded(|w| AuthMethods { flags: 0, uams }.encode(w))
}

/// FPLogin, FPLoginExt.
async fn begin(connection: &Arc<Connection>, start: LoginStart<'_>) -> Outcome {
    let config = connection.service.config();
    let version = connection.transport.version(start.version).ok_or(ResultCode::BAD_VERSION)?;
    let method = UamMethod::named(start.uam, &config, connection.transport).ok_or(ResultCode::BAD_UAM)?;
    if method == UamMethod::Guest {
        let caller = config.guest.clone().ok_or(ResultCode::BAD_UAM)?;
        let caller = caller.of(FileProtocol::Afp, None, connection.peer.address.ip());
        let session = connection.log_in(version, SessionUser { name: None, caller })?;
        session.record(begun(connection, &config, "", method, version));
        return Ok(Reply::empty());
    }
    let (turn, _) = connection.pending.take()?;
    let user = uam::typed(start.user);
    let attempt = admit(connection, &config, &user, method.label()).await?;
    let (name, info) = (user.clone(), start.info.to_vec());
    let step = work_on(connection, &config, move |judge| uam::start(method, &name, &info, judge)).await;
    conclude(connection, turn, LoginInProgress { version, user, method, id: 0, attempt }, step).await
}

/// FPLoginCont.
async fn go_on(connection: &Arc<Connection>, request: LoginCont<'_>) -> Outcome {
    let (turn, attempt) = connection.pending.take()?;
    let attempt = attempt.filter(|attempt| attempt.login.id == request.id).ok_or(ResultCode::PARAM_ERROR)?;
    let (exchange, info) = (attempt.exchange, request.info.to_vec());
    let config = connection.service.config();
    let step = match exchange {
        UamExchange::Kerberos => uam::kerberos::enter(&config, &info).await,
        exchange => work_on(connection, &config, move |judge| exchange.next(&info, judge)).await,
    };
    conclude(connection, turn, attempt.login, step).await
}

/// Processes a step on a thread that may block.
pub(in crate::server) async fn work_on<T: Send + 'static>(
    connection: &Connection,
    config: &Arc<Config>,
    work: impl FnOnce(&UamContext<'_>) -> Result<T, ResultCode> + Send + 'static,
) -> Result<T, ResultCode> {
    let at_work = connection.service.gate.at_work.clone();
    let _place = at_work.acquire_owned().await.map_err(|_| ResultCode::MISC_ERROR)?;
    let (config, decoy) = (config.clone(), connection.service.gate.decoy);
    let done = tokio::task::spawn_blocking(move || {
        let random = |bytes: &mut [u8]| getrandom::fill(bytes).is_ok();
        let (accounts, has_domain) = (&*config.accounts, config.domain.is_some());
        work(&UamContext { accounts, has_domain, random: &random, decoy: &decoy })
    });
    done.await.unwrap_or(Err(ResultCode::MISC_ERROR))
}

/// Waits until a password may be checked: the wait is longer after wrong passwords.
pub(in crate::server) async fn admit(
    connection: &Connection,
    config: &Config,
    user: &str,
    method: &'static str,
) -> Result<auth::Attempt, ResultCode> {
    let peer = connection.peer.address;
    let now = Instant::now();
    let Some(attempt) = config.login_guard.limiter.admit(peer.ip(), user, now) else {
        config.login_guard.log.tell(&Line { protocol: PROTOCOL, peer, user, method }, Event::Refused, now);
        return Err(TOO_MANY);
    };
    pause(attempt.wait).await;
    Ok(attempt)
}

async fn pause(time: Duration) {
    if !time.is_zero() {
        tokio::time::sleep(time).await;
    }
}

/// Begins the session of a user. The drop of the record logs the session's end.
fn begun(
    connection: &Connection,
    config: &Config,
    user: &str,
    method: UamMethod,
    version: Version,
) -> LoginRecord {
    let line = Line { protocol: PROTOCOL, peer: connection.peer.address, user, method: method.label() };
    LoginRecord::begin(
        &config.login_guard,
        &line,
        &format!("{}, not encrypted", version.name()),
        Instant::now(),
    )
}

/// Answers a step.
async fn conclude(
    connection: &Arc<Connection>,
    turn: Turn<'_, LoginAttempt>,
    login: LoginInProgress,
    step: uam::Outcome,
) -> Outcome {
    let config = connection.service.config();
    match step {
        Ok(UamStep::Continue(info, exchange)) => {
            let id = exchange.id_after(login.id);
            turn.give_back(LoginAttempt { login: LoginInProgress { id, ..login }, exchange });
            let reply = Reply::encoded(|w| Continue { id, info: &info }.encode(w));
            Ok(reply.with(ResultCode::AUTH_CONTINUE))
        }
        Ok(UamStep::Done(account, head)) => {
            enter(connection, &config, &login, account)?;
            Ok(Reply { head, ..Reply::default() })
        }
        Ok(UamStep::Entered { account, reply: head, key }) => {
            let session = enter(connection, &config, &login, account)?;
            key.into_iter().for_each(|key| session.keep_key(key));
            Ok(Reply { head, ..Reply::default() })
        }
        Ok(UamStep::OfDomain(credentials)) => match domain_login::verify(&config, &credentials).await {
            Ok(account) => enter(connection, &config, &login, account).map(|_| Reply::empty()),
            Err(refused) => Err(refused_by_domain(connection, &config, &login, &refused).await),
        },
        Err(code) if login.method == UamMethod::Kerberos => {
            let (peer, user, method) = (connection.peer.address, &*login.user, login.method.label());
            let line = Line { protocol: PROTOCOL, peer, user, method };
            config.login_guard.log.tell(&line, Event::Failed("the ticket is refused"), Instant::now());
            Err(code)
        }
        Err(code) => {
            failed(connection, &config, (&login.user, login.method.label()), &login.attempt, code).await;
            Err(code)
        }
    }
}

/// The session of a user whose login is complete.
fn enter(
    connection: &Arc<Connection>,
    config: &Config,
    login: &LoginInProgress,
    account: auth::Account,
) -> Result<Arc<Session>, ResultCode> {
    config.login_guard.limiter.succeeded(&login.attempt, Instant::now());
    let name = account.name;
    let user = SessionUser {
        caller: account.identity.of(FileProtocol::Afp, Some(&name), connection.peer.address.ip()),
        name: Some(name.clone()),
    };
    let session = connection.log_in(login.version, user)?;
    session.record(begun(connection, config, &name, login.method, login.version));
    Ok(session)
}

/// Logs the refusal of a domain controller, or that it could not be asked. Wrong passwords count as those of accounts do.
async fn refused_by_domain(
    connection: &Connection,
    config: &Config,
    login: &LoginInProgress,
    refused: &LogonRefused,
) -> ResultCode {
    let (now, peer) = (Instant::now(), connection.peer.address);
    let line = Line { protocol: PROTOCOL, peer, user: &login.user, method: login.method.label() };
    config.login_guard.log.tell(&line, Event::Failed(&refused.to_string()), now);
    let code = domain_login::code(refused);
    if code == ResultCode::USER_NOT_AUTH {
        pause(config.login_guard.limiter.failed(&login.attempt, now)).await;
    }
    code
}

/// Logs and counts a wrong password, and waits for the delay of its answer.
pub(in crate::server) async fn failed(
    connection: &Connection,
    config: &Config,
    (user, method): (&str, &'static str),
    attempt: &auth::Attempt,
    code: ResultCode,
) {
    let (now, line) =
        (Instant::now(), Line { protocol: PROTOCOL, peer: connection.peer.address, user, method });
    if code == ResultCode::USER_NOT_AUTH {
        let reason = config.accounts.reason(user).text();
        config.login_guard.log.tell(&line, Event::Failed(reason), now);
        pause(config.login_guard.limiter.failed(attempt, now)).await;
    } else {
        config.login_guard.log.tell(&line, Event::Failed(&format!("{code:?}")), now);
    }
}

/// Disconnects a client that does not log in.
pub(in crate::server) fn watch(connection: &Arc<Connection>) {
    let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
    let connection = Arc::downgrade(connection);
    runtime.spawn(async move {
        tokio::time::sleep(MAX_TIME).await;
        if let Some(connection) = Weak::upgrade(&connection)
            && connection.session().is_none()
        {
            connection.close();
        }
    });
}

impl<T> Default for StepwiseExchange<T> {
    fn default() -> Self {
        Self(Mutex::new(LoginState::None))
    }
}

impl<T> StepwiseExchange<T> {
    /// Takes the state to process a step: other steps are refused until the turn is dropped.
    /// Returns the exchange, if one has begun.
    pub(in crate::server) fn take(&self) -> Result<(Turn<'_, T>, Option<T>), ResultCode> {
        match std::mem::replace(&mut *self.0.lock(), LoginState::Busy) {
            LoginState::None => Ok((Turn(self), None)),
            LoginState::Awaited(begun) => Ok((Turn(self), Some(begun))),
            LoginState::Busy => Err(ResultCode::PARAM_ERROR), // a client sends one step at a time
        }
    }
}

/// The exclusive right to process a step.
pub(in crate::server) struct Turn<'a, T>(&'a StepwiseExchange<T>);

impl<T> Turn<'_, T> {
    /// Puts the exchange back, for the next step.
    pub(in crate::server) fn give_back(self, begun: T) {
        *self.0.0.lock() = LoginState::Awaited(begun);
    }
}

impl<T> Drop for Turn<'_, T> {
    fn drop(&mut self) {
        let mut state = self.0.0.lock();
        if matches!(*state, LoginState::Busy) {
            *state = LoginState::None;
        }
    }
}

#[cfg(test)]
mod tests;
