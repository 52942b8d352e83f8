//! Who is signed in to the console, and the tokens of programs: listed, and ended.
//!
//! Ending only takes away: it needs a session, and no further password.

use std::time::Instant;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use vfs::backend::host::as_ourselves;

use crate::Api;
use crate::admitted::Actor;
use crate::api::{Body, Done, Failure, blocking, body, done};
use crate::tokens::{self, TokenError};

/// A session of the console.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub(crate) struct SessionInfo {
    /// Its number, which no other session of this run of the server has.
    pub(crate) number: u64,
    /// The account.
    pub(crate) account: String,
    /// The address of the browser at the login.
    pub(crate) from: String,
    /// How it logged in: `password` or `Kerberos`.
    pub(crate) method: &'static str,
    /// Seconds since the login.
    pub(crate) since_s: u64,
    /// Seconds since the last request.
    pub(crate) idle_s: u64,
    /// It is the session of this request.
    pub(crate) is_this: bool,
}

/// A token of a program, without its secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub(crate) struct TokenInfo {
    /// Its name.
    name: String,
    /// `metrics`, `read`, `write`.
    scopes: Vec<&'static str>,
    /// When it was made, in seconds since 1970.
    created: u64,
}

/// Who is signed in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub(crate) struct SignIns {
    /// The sessions of the console, the newest first.
    sessions: Vec<SessionInfo>,
    /// The tokens.
    tokens: Vec<TokenInfo>,
}

/// The sessions of the console, and the tokens of programs without their secrets.
#[utoipa::path(get, path = "/v1/logins", security(("token" = ["read"])), responses((status = 200, description = "Who is signed in", body = SignIns), (status = "4XX", description = "Refused", body = Failure)))]
pub(crate) async fn logins(
    State(api): State<Api>,
    Extension(actor): Extension<Actor>,
) -> Result<Response, Failure> {
    let sessions = api.logins.list(actor.session.as_deref(), Instant::now());
    let state = api.guard.state().to_owned();
    let tokens = blocking(move || as_server(|| tokens::read(&state))).await?;
    let tokens =
        tokens.map_err(|why| Failure::new(StatusCode::CONFLICT, why))?.into_iter().map(|token| TokenInfo {
            scopes: token.scopes.iter().map(|scope| scope.word()).collect(),
            name: token.name,
            created: token.created,
        });
    Ok(Json(SignIns { sessions, tokens: tokens.collect() }).into_response())
}

/// Does something with the state folder, on a thread that may have acted as somebody else before. The error in words.
fn as_server<T>(work: impl FnOnce() -> Result<T, TokenError>) -> Result<T, String> {
    as_ourselves(work).map_err(|error| error.to_string())?.map_err(|error| error.to_string())
}

/// What is to end: one of the two.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct EndedLogin {
    /// The number of a session of the console.
    session: Option<u64>,
    /// The name of a token.
    token: Option<String>,
}

/// Ends a session of the console, or removes a token: its program is refused from the next request on. Only a session of the
/// console does that.
#[utoipa::path(post, path = "/v1/logins/end", request_body = EndedLogin, responses((status = 200, description = "It has ended", body = Done), (status = "4XX", description = "Refused", body = Failure)))]
pub(crate) async fn end(
    State(api): State<Api>,
    Extension(actor): Extension<Actor>,
    ended: Body<EndedLogin>,
) -> Result<Response, Failure> {
    let wanted = body(ended)?;
    actor.check_person("ending the sessions and tokens of others")?;
    match (wanted.session, wanted.token) {
        (Some(number), None) => {
            let account = api.logins.end_numbered(number).ok_or_else(|| {
                Failure::new(StatusCode::CONFLICT, "there is no such session: it has ended already")
            })?;
            tracing::info!(by = actor.name, account, "session of the console ended");
            done(Ok(vec![format!("the session of {account} has ended")]))
        }
        (None, Some(token)) => {
            let state = api.guard.state().to_owned();
            let name = token.clone();
            let removed = blocking(move || as_server(|| tokens::remove(&state, &name))).await?;
            removed.map_err(|why| Failure::new(StatusCode::CONFLICT, why))?;
            tracing::info!(by = actor.name, token, "token removed");
            done(Ok(vec![format!("the token {token} has ended")]))
        }
        _ => Err(Failure::new(StatusCode::BAD_REQUEST, "name either `session` or `token`")),
    }
}
