//! Logging in to the console, and out of it.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

use auth::second_factor::FactorVerdict;
use auth::{Account, Attempt, Event, Login, Refusal};
use axum::Json;
use axum::extract::{ConnectInfo, Request, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::admitted::{check_site, cookie, set_cookie};
use crate::answer::{Failure, blocking};
use crate::logins::{self, LONGEST_LIFE};
use crate::{Api, second_factor};

/// The longest body of a login in bytes.
const LONGEST_LOGIN: usize = 4 * 1024;
/// How long the body may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// The name and the password of an account.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Credentials {
    /// The account. It must have `admin`.
    user: String,
    /// Its password.
    password: String,
    /// A code of its authenticator app, or a recovery code, if it has a second factor.
    code: Option<String>,
}

/// Whose session it is.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct LoggedIn {
    /// The account; `None`: there is no session.
    pub(crate) user: Option<String>,
    /// `/v1/login/negotiate` takes Kerberos tickets. Left out if it does not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) kerberos: Option<bool>,
    /// `second_factor`: the account has to set one up, and may do nothing else before (`admin-second-factor`). Left out if it has not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) needs: Option<&'static str>,
}

impl LoggedIn {
    /// The session of an account, as it begins.
    pub(crate) async fn of(api: &Api, user: String) -> Self {
        let needs = second_factor::needs(api, &user).await;
        Self { user: Some(user), kerberos: None, needs }
    }
}

/// Whose session the cookie is of.
#[utoipa::path(get, path = "/v1/login", responses((status = 200, description = "The account, or null", body = LoggedIn), (status = "4XX", description = "Refused", body = Failure)))]
pub(crate) async fn logged_in(State(api): State<Api>, request: Request) -> Result<Response, Failure> {
    check_site(&request)?;
    let user = cookie(&api, request.headers())
        .and_then(|secret| api.logins.find(&secret, |name| api.manage.administrator(name), Instant::now()));
    let kerberos = api.manage.kerberos().map(|_| true);
    let needs = match &user {
        Some(user) => second_factor::needs(&api, user).await,
        None => None,
    };
    Ok(Json(LoggedIn { user, kerberos, needs }).into_response())
}

/// Begins a session. The answer sets its cookie. Later requests of the session need the header `X-Fourfold-Console: 1` if they change something.
#[utoipa::path(post, path = "/v1/login", request_body = Credentials, responses((status = 200, description = "The session has begun", body = LoggedIn), (status = "4XX", description = "Refused", body = Failure)))]
pub(crate) async fn login(State(api): State<Api>, request: Request) -> Result<Response, Failure> {
    check_site(&request)?;
    let peer = request.extensions().get::<ConnectInfo<SocketAddr>>().map(|info| info.0);
    let peer = peer.unwrap_or_else(|| (Ipv4Addr::UNSPECIFIED, 0).into());
    let read = axum::body::to_bytes(request.into_body(), LONGEST_LOGIN);
    let body = match tokio::time::timeout(PATIENCE, read).await {
        Ok(Ok(body)) => body,
        Ok(Err(_)) => {
            let hint = format!("the body of a login has at most {LONGEST_LOGIN} bytes");
            return Err(Failure::new(StatusCode::PAYLOAD_TOO_LARGE, hint));
        }
        Err(_) => return Err(Failure::new(StatusCode::REQUEST_TIMEOUT, "the body did not come in time")),
    };
    let Credentials { user, password, code } = serde_json::from_slice(&body)
        .map_err(|_| Failure::new(StatusCode::BAD_REQUEST, r#"send {"user": "…", "password": "…"}"#))?;
    let secret = verified(&api, peer, user.clone(), (password, code)).await?;
    let cookie = set_cookie(&api, &secret, LONGEST_LIFE.as_secs());
    Ok(([(header::SET_COOKIE, cookie)], Json(LoggedIn::of(&api, user).await)).into_response())
}

/// The result of a check.
enum Verdict {
    /// The password is right, and the account has `admin`.
    Administrator(Account),
    /// The password is right, and the account does not have `admin`.
    Other,
    /// The password is right, and a code is needed; the delay of the answer.
    Code(Result<FactorVerdict, String>, Duration),
    /// The login is refused; the delay of the answer.
    Refused(Refusal, Duration),
}

/// Begins a session of an administrator whose password is right. Its secret.
async fn verified(
    api: &Api,
    peer: SocketAddr,
    user: String,
    (password, code): (String, Option<String>),
) -> Result<String, Failure> {
    let account = checked(api, peer, user, (password, LoginFactor::Code(code))).await?;
    let now = Instant::now();
    let record = logins::record(&api.login_guard, peer, (&account.name, "password"), now);
    let secret = api.logins.begin(account, record, now);
    let hint = "the system gives no random numbers for a session";
    secret.ok_or_else(|| Failure::new(StatusCode::INTERNAL_SERVER_ERROR, hint))
}

/// What is checked beside a password.
pub(crate) enum LoginFactor {
    /// The code that was typed, for an account with a second factor.
    Code(Option<String>),
    /// Nothing: the session has begun with a code.
    OfSession,
}

/// Checks the password of an administrator, and a code, slowly after wrong ones.
pub(crate) async fn checked(
    api: &Api,
    peer: SocketAddr,
    user: String,
    (password, factor): (String, LoginFactor),
) -> Result<Account, Failure> {
    let guard = &api.login_guard;
    let line = Login { protocol: "api", peer, user: &user, method: "password" };
    let too_many =
        || Failure::new(StatusCode::TOO_MANY_REQUESTS, "too many logins wait already; try again later");
    let Some(attempt) = guard.limiter.admit(peer.ip(), &user, Instant::now()) else {
        guard.log.tell(&line, Event::Refused, Instant::now());
        return Err(too_many());
    };
    tokio::time::sleep(attempt.wait).await;
    let one = api.verifying.clone().acquire_owned().await.map_err(|_| too_many())?;
    let (checking, name) = (api.clone(), user.clone());
    // The client can end its request at any time. The check then goes on with its permit, and its failure counts.
    let verdict = blocking(move || {
        let _one = one;
        judge(&checking, &attempt, (&name, &password, factor))
    });
    let refused = |why: &str, status, text: String| {
        guard.log.tell(&line, Event::Failed(why), Instant::now());
        Err(Failure::new(status, text))
    };
    match verdict.await? {
        Verdict::Administrator(account) => Ok(account),
        Verdict::Other => {
            let text = format!(
                "{user} may not administer this server; `fourfold user modify {user} --admin on` permits it"
            );
            refused("the account may not administer the server", StatusCode::FORBIDDEN, text)
        }
        Verdict::Code(found, delay) => {
            tokio::time::sleep(delay).await;
            if matches!(found, Ok(FactorVerdict::Wrong | FactorVerdict::Wait(_))) {
                guard.log.tell(&line, Event::Failed("wrong code of the second factor"), Instant::now());
            }
            Err(second_factor::refusal(found, StatusCode::UNAUTHORIZED).unwrap_or_else(too_many))
        }
        Verdict::Refused(why @ Refusal::NoController, _) => {
            let text = "no domain controller can verify the password now; try again later".to_owned();
            refused(why.text(), StatusCode::SERVICE_UNAVAILABLE, text)
        }
        Verdict::Refused(why, delay) => {
            tokio::time::sleep(delay).await;
            refused(why.text(), StatusCode::UNAUTHORIZED, "the name or the password is wrong".into())
        }
    }
}

/// Checks a password and a code. It blocks.
fn judge(api: &Api, attempt: &Attempt, (name, password, factor): (&str, &str, LoginFactor)) -> Verdict {
    let limiter = &api.login_guard.limiter;
    let account = match api.manage.verify(name, password) {
        Ok(account) => account,
        Err(Refusal::NoController) => return Verdict::Refused(Refusal::NoController, Duration::ZERO),
        Err(why) => return Verdict::Refused(why, limiter.failed(attempt, Instant::now())),
    };
    if let LoginFactor::Code(code) = factor {
        match second_factor::check(&api.factors, &account.name, code.as_deref()) {
            Ok(FactorVerdict::Right | FactorVerdict::NotSet) => {}
            // Guesses of codes cost as those of passwords.
            wrong @ Ok(FactorVerdict::Wrong) => {
                return Verdict::Code(wrong, limiter.failed(attempt, Instant::now()));
            }
            other => return Verdict::Code(other, Duration::ZERO),
        }
    }
    limiter.succeeded(attempt, Instant::now());
    if api.manage.administrator(name).is_some() { Verdict::Administrator(account) } else { Verdict::Other }
}

/// Ends the session.
#[utoipa::path(post, path = "/v1/logout", responses((status = 200, description = "The session has ended", body = LoggedIn), (status = "4XX", description = "Refused", body = Failure)))]
pub(crate) async fn logout(State(api): State<Api>, request: Request) -> Result<Response, Failure> {
    check_site(&request)?;
    if let Some(secret) = cookie(&api, request.headers()) {
        api.logins.end(&secret);
    }
    let cookie = set_cookie(&api, "", 0);
    Ok(([(header::SET_COOKIE, cookie)], Json(LoggedIn { user: None, kerberos: None, needs: None }))
        .into_response())
}
