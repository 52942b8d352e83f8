//! Logging in to the console, and out of it.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

use auth::{Account, Event, Login, Refusal};
use axum::Json;
use axum::extract::{ConnectInfo, Request, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::Api;
use crate::admitted::{check_site, cookie, set_cookie};
use crate::api::{Failure, blocking};
use crate::logins::{self, LONGEST_LIFE};

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
}

/// Whose session it is.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct LoggedIn {
    /// The account; `None`: there is no session.
    pub(crate) user: Option<String>,
    /// `/v1/login/negotiate` takes Kerberos tickets. Left out if it does not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) kerberos: Option<bool>,
}

/// Whose session the cookie is of.
#[utoipa::path(get, path = "/v1/login", responses((status = 200, description = "The account, or null", body = LoggedIn), (status = "4XX", description = "Refused", body = Failure)))]
pub(crate) async fn logged_in(State(api): State<Api>, request: Request) -> Result<Response, Failure> {
    check_site(&request)?;
    let user = cookie(&api, request.headers())
        .and_then(|secret| api.logins.find(&secret, |name| api.manage.administrator(name), Instant::now()));
    let kerberos = api.manage.kerberos().map(|_| true);
    Ok(Json(LoggedIn { user, kerberos }).into_response())
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
    let Credentials { user, password } = serde_json::from_slice(&body)
        .map_err(|_| Failure::new(StatusCode::BAD_REQUEST, r#"send {"user": "…", "password": "…"}"#))?;
    let secret = verified(&api, peer, user.clone(), password).await?;
    let cookie = set_cookie(&api, &secret, LONGEST_LIFE.as_secs());
    Ok(([(header::SET_COOKIE, cookie)], Json(LoggedIn { user: Some(user), kerberos: None })).into_response())
}

/// The result of a check.
enum Verdict {
    /// The password is right, and the account has `admin`.
    Administrator(Account),
    /// The password is right, and the account does not have `admin`.
    Other,
    /// The login is refused; the delay of the answer.
    Refused(Refusal, Duration),
}

/// Begins a session of an administrator whose password is right. Its secret.
async fn verified(api: &Api, peer: SocketAddr, user: String, password: String) -> Result<String, Failure> {
    let account = checked(api, peer, user, password).await?;
    let now = Instant::now();
    let record = logins::record(&api.login_guard, peer, (&account.name, "password"), now);
    let secret = api.logins.begin(account, record, now);
    let hint = "the system gives no random numbers for a session";
    secret.ok_or_else(|| Failure::new(StatusCode::INTERNAL_SERVER_ERROR, hint))
}

/// Checks the password of an administrator, slowly after wrong ones.
pub(crate) async fn checked(
    api: &Api,
    peer: SocketAddr,
    user: String,
    password: String,
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
    let (manage, name, limits) = (api.manage.clone(), user.clone(), guard.clone());
    // The client can end its request at any time. The check then goes on with its permit, and its failure counts.
    let verdict = blocking(move || {
        let _one = one;
        match manage.verify(&name, &password) {
            Ok(account) => {
                limits.limiter.succeeded(&attempt, Instant::now());
                if manage.administrator(&name).is_some() {
                    Verdict::Administrator(account)
                } else {
                    Verdict::Other
                }
            }
            Err(Refusal::NoController) => Verdict::Refused(Refusal::NoController, Duration::ZERO),
            Err(why) => Verdict::Refused(why, limits.limiter.failed(&attempt, Instant::now())),
        }
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

/// Ends the session.
#[utoipa::path(post, path = "/v1/logout", responses((status = 200, description = "The session has ended", body = LoggedIn), (status = "4XX", description = "Refused", body = Failure)))]
pub(crate) async fn logout(State(api): State<Api>, request: Request) -> Result<Response, Failure> {
    check_site(&request)?;
    if let Some(secret) = cookie(&api, request.headers()) {
        api.logins.end(&secret);
    }
    let cookie = set_cookie(&api, "", 0);
    Ok(([(header::SET_COOKIE, cookie)], Json(LoggedIn { user: None, kerberos: None })).into_response())
}
