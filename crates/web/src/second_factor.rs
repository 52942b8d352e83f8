//! The second factor of an account: a code of an authenticator app, which a login to the console needs beside the password.
//!
//! A person sets the own one, and gives the own password with it; then other sessions of the account end. An administrator takes away
//! the one of somebody else, whose phone is lost.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use auth::second_factor::{self as factors, FactorTime, FactorVerdict, SecondFactors};
use auth::{FileError, is_same_name};
use axum::extract::{Request, State};
use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use vfs::backend::host::as_ourselves;

use crate::admitted::Actor;
use crate::answer::{Body, Done, Failure, blocking, body, done, optional_body};
use crate::author::{Author, Peer};
use crate::code::CodeDrawing;
use crate::{Api, code};

/// The time now.
pub(crate) fn now() -> FactorTime {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    FactorTime { unix_s: since.map_or(0, |since| since.as_secs()), instant: Instant::now() }
}

/// Checks the code that an account has typed, on a thread that may have acted as somebody else before.
pub(crate) fn check(
    factors: &SecondFactors,
    account: &str,
    typed: Option<&str>,
) -> Result<FactorVerdict, String> {
    as_server(|| factors.check(account, typed, now()))
}

/// The word for what a session needs before anything else: a second factor of its account.
const NEEDS: &str = "second_factor";

/// Whether an account has to set up a second factor before its session may do anything else. It blocks.
pub(crate) fn is_due(api: &Api, account: &str) -> Result<bool, String> {
    Ok(api.manage.requires_second_factor() && as_server(|| api.factors.status(account))?.is_none())
}

/// What a session of an account needs before anything else. A file that cannot be read is no second factor.
pub(crate) async fn needs(api: &Api, account: &str) -> Option<&'static str> {
    if !api.manage.requires_second_factor() {
        return None;
    }
    let (api, account) = (api.clone(), account.to_owned());
    let is_set = matches!(blocking(move || is_due(&api, &account)).await, Ok(Ok(false)));
    (!is_set).then_some(NEEDS)
}

/// Whether a request is one of those that set up a second factor.
pub(crate) fn sets_up(request: &Request) -> bool {
    let (get, post) = (request.method() == Method::GET, request.method() == Method::POST);
    match request.uri().path() {
        "/v1/second-factor" => get || post,
        "/v1/second-factor/confirm" => post,
        _ => false,
    }
}

/// Lets a session do more than set up a second factor, if its account has one or needs none.
pub(crate) async fn admit(api: &Api, actor: Actor) -> Result<Actor, Failure> {
    let Some(needed) = needs(api, &actor.name).await else { return Ok(actor) };
    let hint = format!(
        "{} has to set up a second factor first (`admin-second-factor`): the page Sign-ins and certificate, or \
         `POST /v1/second-factor`",
        actor.name
    );
    Err(Failure::new(StatusCode::FORBIDDEN, hint).needing(needed))
}

fn as_server<T, E: ToString>(work: impl FnOnce() -> Result<T, E>) -> Result<T, String> {
    as_ourselves(work).map_err(|error| error.to_string())?.map_err(|error| error.to_string())
}

/// Who needs a code.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SecondFactorStatus {
    /// The account of this session; null for a token.
    account: Option<String>,
    /// When its second factor was set, in seconds since 1970; null: it has none.
    since: Option<u64>,
    /// Recovery codes that it has left.
    recovery_codes: usize,
    /// All accounts with a second factor.
    accounts: Vec<String>,
    /// Each administrator needs one (`admin-second-factor`).
    required: bool,
}

/// The second factor of the session's account, and which accounts have one.
#[utoipa::path(get, path = "/v1/second-factor", security(("token" = ["read"])), responses((status = 200, description = "Who needs a code", body = SecondFactorStatus), (status = "4XX", description = "Refused", body = Failure)))]
pub(crate) async fn second_factor(
    State(api): State<Api>,
    Extension(actor): Extension<Actor>,
) -> Result<Response, Failure> {
    let account = actor.session.is_some().then_some(actor.name);
    let work = move || {
        as_server(|| {
            let own = account.as_deref().map(|account| api.factors.status(account)).transpose()?.flatten();
            let accounts = factors::accounts(api.guard.state())?;
            let recovery_codes = own.map_or(0, |own| own.recovery_codes);
            Ok::<_, FileError>(SecondFactorStatus {
                account,
                since: own.map(|own| own.since),
                recovery_codes,
                accounts,
                required: api.manage.requires_second_factor(),
            })
        })
    };
    let status = blocking(work).await?.map_err(|why| Failure::new(StatusCode::CONFLICT, why))?;
    Ok(Json(status).into_response())
}

/// Who wants a second factor.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct WantedFactor {
    /// The password of the administrator whose session this is.
    own_password: Option<String>,
}

/// A secret for an authenticator app.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ShownSecret {
    /// The secret, to be typed.
    secret: String,
    /// The same, as a QR code says it.
    uri: String,
    /// The QR code.
    code: CodeDrawing,
}

/// A secret for the authenticator app of the session's account. It counts when `/v1/second-factor/confirm` has its first code, within 15
/// minutes.
#[utoipa::path(post, path = "/v1/second-factor", request_body = WantedFactor, responses((status = 200, description = "The secret, which is not shown again", body = ShownSecret), (status = "4XX", description = "Refused", body = Failure)))]
pub(crate) async fn begin(
    State(api): State<Api>,
    (Extension(actor), peer): (Extension<Actor>, Peer),
    wanted: axum::body::Bytes,
) -> Result<Response, Failure> {
    let WantedFactor { own_password } = optional_body(&wanted)?;
    let by = Author::of(&api, (&actor, peer), own_password).await?;
    by.check_verified("the second factor of an account")?;
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let begun = blocking(move || as_server(|| api.factors.begin(&by.name, &host, Instant::now()))).await?;
    let shown = begun.map_err(|why| Failure::new(StatusCode::CONFLICT, why))?;
    let drawn = code::drawing(&shown.uri).ok_or_else(|| {
        Failure::new(
            StatusCode::CONFLICT,
            "the name of the account or of the server is too long for a QR code",
        )
    })?;
    Ok(Json(ShownSecret { secret: shown.text, uri: shown.uri, code: drawn }).into_response())
}

/// The first code of an app.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct FirstCode {
    /// Six digits.
    code: String,
}

/// The codes for a lost phone.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct RecoveryCodes {
    /// Each counts once in place of a code of the app. They are not shown again.
    recovery_codes: Vec<String>,
}

/// Sets the second factor: each login of the account to the console needs a code from now on. Its other sessions end.
#[utoipa::path(post, path = "/v1/second-factor/confirm", request_body = FirstCode, responses((status = 200, description = "It is set", body = RecoveryCodes), (status = "4XX", description = "Refused", body = Failure)))]
pub(crate) async fn confirm(
    State(api): State<Api>,
    Extension(actor): Extension<Actor>,
    first: Body<FirstCode>,
) -> Result<Response, Failure> {
    let FirstCode { code } = body(first)?;
    actor.check_person("setting a second factor")?;
    let (factors, name) = (api.factors.clone(), actor.name.clone());
    let set = move || as_server(|| factors.confirm(&name, &code, now()));
    let recovery_codes = blocking(set).await?.map_err(|why| Failure::new(StatusCode::CONFLICT, why))?;
    api.logins.end_others(&actor.name, actor.session.as_deref().unwrap_or_default());
    tracing::info!(by = actor.name, "second factor set");
    Ok(Json(RecoveryCodes { recovery_codes }).into_response())
}

/// Whose second factor ends.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct EndedFactor {
    /// The account. Without it, that of the session.
    account: Option<String>,
    /// A code of the own app, or a recovery code; for the own one only.
    code: Option<String>,
    /// The password of the administrator whose session this is.
    own_password: Option<String>,
}

/// Takes a second factor away. For the own one a code is needed, too.
#[utoipa::path(post, path = "/v1/second-factor/remove", request_body = EndedFactor, responses((status = 200, description = "Its account has none now", body = Done), (status = "4XX", description = "Refused", body = Failure)))]
pub(crate) async fn remove(
    State(api): State<Api>,
    (Extension(actor), peer): (Extension<Actor>, Peer),
    ended: Body<EndedFactor>,
) -> Result<Response, Failure> {
    let EndedFactor { account, code, own_password } = body(ended)?;
    let by = Author::of(&api, (&actor, peer), own_password).await?;
    by.check_verified("the second factor of an account")?;
    let account = account.unwrap_or_else(|| by.name.clone());
    if is_same_name(&account, &by.name) {
        let (factors, name) = (api.factors.clone(), by.name.clone());
        let checked = blocking(move || check(&factors, &name, code.as_deref())).await?;
        if let Some(refused) = refusal(checked, StatusCode::FORBIDDEN) {
            return Err(refused);
        }
    }
    let login = if api.manage.requires_second_factor() {
        "has to set up another second factor at the next login"
    } else {
        "logs in with the password alone now"
    };
    let (state, name) = (api.guard.state().to_owned(), account.clone());
    let removed = blocking(move || as_server(|| factors::remove(&state, &name))).await?;
    match removed {
        Ok(true) => {
            tracing::info!(by = by.name, account, "second factor removed");
            done(Ok(vec![format!("{account} {login}")]))
        }
        Ok(false) => done(Err(vec![format!("{account} has no second factor")])),
        Err(why) => done(Err(vec![why])),
    }
}

/// What a check of a code comes to, if it does not permit what was asked for: `status` says so.
pub(crate) fn refusal(checked: Result<FactorVerdict, String>, status: StatusCode) -> Option<Failure> {
    let needed = |hint: String| Some(Failure::new(status, hint).needing("code"));
    match checked {
        Ok(FactorVerdict::Right | FactorVerdict::NotSet) => None,
        Ok(FactorVerdict::Missing) => {
            needed("type the code that your authenticator app shows, or a recovery code".into())
        }
        Ok(FactorVerdict::Wrong) => {
            needed("the code is wrong, or was used before: wait for the next one".into())
        }
        Ok(FactorVerdict::Wait(pause)) => needed(format!(
            "too many wrong codes: wait {} s, or type a recovery code",
            pause.as_secs().max(1)
        )),
        Err(why) => Some(Failure::new(StatusCode::INTERNAL_SERVER_ERROR, why)),
    }
}
