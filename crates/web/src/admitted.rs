//! Which requests are executed: those with a token, and those of a browser that has logged in.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Instant;

use axum::extract::{ConnectInfo, Request};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::api::Failure;
use crate::guard::RequestAdmission;
use crate::{Api, Scope, same_site, second_factor};

/// The name of the cookie over TLS: browsers accept such a name only with `Secure` and for the whole host.
const SECURE_COOKIE: &str = "__Host-fourfold";
/// The name without TLS.
const COOKIE: &str = "fourfold";

/// The account or the token that sends a request.
#[derive(Debug, Clone)]
pub(crate) struct Actor {
    /// The account; for a token `token NAME`.
    pub(crate) name: String,
    /// The secret of the session, for a browser.
    pub(crate) session: Option<String>,
}

impl Actor {
    /// Refuses what only a person in a session of the console does.
    pub(crate) fn check_person(&self, what: &str) -> Result<(), Failure> {
        if self.session.is_some() {
            return Ok(());
        }
        let hint = format!("{what} is not done with a token: log in (`POST /v1/login`), or use the console");
        Err(Failure::new(StatusCode::FORBIDDEN, hint))
    }
}

/// What the requests of a connection have shown, and how many of them are in flight. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub(crate) struct Standing(Arc<StandingState>);

#[derive(Debug, Default)]
struct StandingState {
    known: AtomicBool,
    in_flight: AtomicUsize,
    transfers: AtomicUsize,
}

/// A request in flight, until it is dropped.
#[derive(Debug)]
pub(crate) struct InFlight(Standing);

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.0.in_flight.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A file that is sent or received, until it is dropped.
#[derive(Debug)]
pub(crate) struct Transfer(Standing);

impl Drop for Transfer {
    fn drop(&mut self) {
        self.0.0.transfers.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Standing {
    /// Whether a file is sent or received over the connection.
    pub(crate) fn is_transferring(&self) -> bool {
        self.0.transfers.load(Ordering::Relaxed) > 0
    }

    /// The sending or receiving of a file begins.
    pub(crate) fn transfer(&self) -> Transfer {
        self.0.transfers.fetch_add(1, Ordering::Relaxed);
        Transfer(self.clone())
    }

    /// Whether a request had a token or a session.
    pub(crate) fn is_known(&self) -> bool {
        self.0.known.load(Ordering::Relaxed)
    }

    /// A request had one.
    pub(crate) fn know(&self) {
        self.0.known.store(true, Ordering::Relaxed);
    }

    /// Whether a request is in flight.
    pub(crate) fn is_busy(&self) -> bool {
        self.0.in_flight.load(Ordering::Relaxed) > 0
    }

    /// A request begins.
    pub(crate) fn busy(&self) -> InFlight {
        self.0.in_flight.fetch_add(1, Ordering::Relaxed);
        InFlight(self.clone())
    }
}

/// Lets a request pass whose token or session permits it.
pub(crate) async fn admitted(api: Api, scope: Scope, mut request: Request, next: Next) -> Response {
    let peer = request.extensions().get::<ConnectInfo<SocketAddr>>().map(|info| info.0);
    let actor = match (bearer(request.headers()).map(str::to_owned), cookie(&api, request.headers())) {
        (Some(token), _) => by_token(&api, peer, token, scope).await,
        (None, Some(secret)) => {
            let (actor, sets_up) = (by_session(&api, &request, secret), second_factor::sets_up(&request));
            match actor {
                Ok(actor) if !sets_up => second_factor::admit(&api, actor).await,
                other => other,
            }
        }
        (None, None) => Err(unknown()),
    };
    match actor {
        Ok(actor) => {
            if let Some(standing) = request.extensions().get::<Standing>() {
                standing.know();
            }
            request.extensions_mut().insert(actor);
            next.run(request).await
        }
        Err(failure) => failure.into_response(),
    }
}

async fn by_token(
    api: &Api,
    peer: Option<SocketAddr>,
    token: String,
    scope: Scope,
) -> Result<Actor, Failure> {
    match api.guard.admit(peer, &token, scope).await {
        RequestAdmission::Admitted(name) => Ok(Actor { name: format!("token {name}"), session: None }),
        RequestAdmission::Unknown => Err(unknown()),
        RequestAdmission::NotPermitted => {
            let hint = format!("the token's scopes do not include `{}`", scope.word());
            Err(Failure::new(StatusCode::FORBIDDEN, hint))
        }
        RequestAdmission::TooMany => {
            let hint = "too many requests with unknown tokens; try again later";
            Err(Failure::new(StatusCode::TOO_MANY_REQUESTS, hint))
        }
    }
}

fn by_session(api: &Api, request: &Request, secret: String) -> Result<Actor, Failure> {
    check_site(request)?;
    match api.logins.find(&secret, |name| api.manage.administrator(name), Instant::now()) {
        Some(name) => Ok(Actor { name, session: Some(secret) }),
        None => Err(Failure::new(StatusCode::UNAUTHORIZED, "the session has ended; log in again")),
    }
}

/// Refuses requests that another site's page has a browser send.
pub(crate) fn check_site(request: &Request) -> Result<(), Failure> {
    same_site::check(request.method(), request.uri(), request.headers())
        .map_err(|why| Failure::new(StatusCode::FORBIDDEN, format!("{why}; open the console itself")))
}

fn unknown() -> Failure {
    let hint = "send the header `Authorization: Bearer TOKEN`; `fourfold token create NAME` makes a token";
    Failure::new(StatusCode::UNAUTHORIZED, hint)
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(header::AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

fn cookie_name(api: &Api) -> &'static str {
    if api.is_secure { SECURE_COOKIE } else { COOKIE }
}

/// The secret of the session that a browser shows.
pub(crate) fn cookie(api: &Api, headers: &HeaderMap) -> Option<String> {
    let texts = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs = texts.flat_map(|text| text.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(name, _)| *name == cookie_name(api)).map(|(_, secret)| secret.to_owned())
}

/// The header that has a browser keep the secret for so many seconds; 0 removes it.
pub(crate) fn set_cookie(api: &Api, secret: &str, seconds: u64) -> String {
    let secure = if api.is_secure { "; Secure" } else { "" };
    format!("{}={secret}; Path=/; HttpOnly; SameSite=Strict; Max-Age={seconds}{secure}", cookie_name(api))
}
