//! Alerts: those that are raised, and those that people have made quiet.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::Api;
use crate::admitted::Actor;
use crate::api::{Body, Done, Failure, blocking, body, done};

/// The longest time for which an alert is muted, in seconds: a year.
const LONGEST: u64 = 365 * 86_400;
/// The longest name of an alert, and of what it is about, in bytes.
const LONGEST_NAME: usize = 1024;

/// What keeps the alerts.
pub trait AlertDesk {
    /// The alerts that are raised, the oldest first, and then those that are quiet and not raised.
    fn alerts(&self) -> Vec<AlertReport>;

    /// Makes an alert quiet: for so many seconds, or, without them, until it is over or becomes worse.
    ///
    /// # Errors
    /// It cannot be kept; the lines say why.
    fn mute(&self, alert: &AlertName, seconds: Option<u64>, by: &str) -> Result<Vec<String>, Vec<String>>;

    /// Tells of an alert again.
    ///
    /// # Errors
    /// It is not quiet, or that cannot be kept; the lines say so.
    fn unmute(&self, alert: &AlertName, by: &str) -> Result<Vec<String>, Vec<String>>;

    /// Sends a test message by mail and to the webhook, as alerts go. It is called where a tokio runtime is entered.
    ///
    /// # Errors
    /// One of them was not accepted, or no way is set; the lines say why.
    fn test(&self) -> Result<Vec<String>, Vec<String>>;
}

/// Which alert.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AlertName {
    /// Its kind, as in `GET /v1/status`.
    pub name: String,
    /// The share, backup or file that it is about; empty: the server.
    pub about: String,
}

/// Who has made an alert quiet, and until when.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct AlertMute {
    /// The account.
    pub by: String,
    /// When, in seconds since 1970.
    pub at: u64,
    /// Until when, in seconds since 1970; `None`: until it is over, or becomes worse.
    pub until: Option<u64>,
}

/// An alert, for the console.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct AlertReport {
    /// Its kind.
    pub name: String,
    /// What it is about.
    pub about: String,
    /// It is raised now.
    pub raised: bool,
    /// `critical` or `warning`; empty if it is not raised.
    pub severity: String,
    /// When it was raised, RFC 3339 in UTC; empty if it is not raised.
    pub since: String,
    /// What is wrong, and what to do.
    pub text: String,
    /// It is quiet: no message tells of it.
    pub quiet: Option<AlertMute>,
}

/// The alerts that are raised, and those that are quiet.
#[utoipa::path(get, path = "/v1/alerts", security(("token" = ["read"])), responses((status = 200, description = "The alerts", body = Vec<AlertReport>), (status = "4XX", description = "Refused", body = Failure)))]
pub(crate) async fn alerts(State(api): State<Api>) -> Result<Response, Failure> {
    Ok(Json(blocking(move || api.manage.alerts()).await?).into_response())
}

/// An alert to make quiet.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct MutedAlert {
    /// Its kind.
    name: String,
    /// What it is about.
    #[serde(default)]
    about: String,
    /// For so many seconds. Without it, until it is over or becomes worse.
    seconds: Option<u64>,
}

fn named(name: String, about: String) -> Result<AlertName, Failure> {
    if name.is_empty() || name.len().max(about.len()) > LONGEST_NAME {
        let hint = format!("`name` has 1 to {LONGEST_NAME} bytes, and `about` no more");
        return Err(Failure::new(StatusCode::BAD_REQUEST, hint));
    }
    Ok(AlertName { name, about })
}

/// Makes an alert quiet: no mail and no webhook tells of it, and the overview does not count it. Only a session of the console
/// does that.
#[utoipa::path(post, path = "/v1/alerts/mute", request_body = MutedAlert, responses((status = 200, description = "It is quiet", body = Done), (status = "4XX", description = "Refused", body = Failure)))]
pub(crate) async fn mute(
    State(api): State<Api>,
    Extension(actor): Extension<Actor>,
    muted: Body<MutedAlert>,
) -> Result<Response, Failure> {
    let MutedAlert { name, about, seconds } = body(muted)?;
    actor.check_person("making an alert quiet")?;
    let alert = named(name, about)?;
    if seconds.is_some_and(|seconds| seconds == 0 || seconds > LONGEST) {
        return Err(Failure::new(StatusCode::BAD_REQUEST, format!("`seconds` is 1 to {LONGEST}, a year")));
    }
    done(blocking(move || api.manage.mute(&alert, seconds, &actor.name)).await?)
}

/// An alert that is quiet.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct QuietAlert {
    /// Its kind.
    name: String,
    /// What it is about.
    #[serde(default)]
    about: String,
}

/// Tells of an alert again.
#[utoipa::path(post, path = "/v1/alerts/unmute", request_body = QuietAlert, security(("token" = ["write"])), responses((status = 200, description = "It is told again", body = Done), (status = "4XX", description = "Refused", body = Failure)))]
pub(crate) async fn unmute(
    State(api): State<Api>,
    Extension(actor): Extension<Actor>,
    alert: Body<QuietAlert>,
) -> Result<Response, Failure> {
    let QuietAlert { name, about } = body(alert)?;
    let alert = named(name, about)?;
    done(blocking(move || api.manage.unmute(&alert, &actor.name)).await?)
}

/// Sends a test message by mail and to the webhook, as alerts go.
#[utoipa::path(post, path = "/v1/alerts/test", security(("token" = ["write"])), responses((status = 200, description = "What has accepted it", body = Done), (status = "4XX", description = "Refused", body = Failure)))]
pub(crate) async fn test(State(api): State<Api>) -> Result<Response, Failure> {
    done(blocking(move || api.manage.test()).await?)
}
