//! What the console asks: an overview, the throughput, events, accounts, settings and snapshots.

use std::sync::Arc;
use std::time::Instant;

use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::admitted::Actor;
use crate::api::{Body, Done, Failure, blocking, body, optional_body};
use crate::author::{Author, Peer, changed};
use crate::history::{Span, Throughput};
use crate::log_lines::Log;
use crate::manage::{AccountStatus, Overview, SettingChange, SettingsStatus};
use crate::{Api, events, history, second_factor, slowest, watching};

/// How the server is, in a few numbers and words.
#[utoipa::path(get, path = "/v1/overview", security(("token" = ["read"])), responses((status = 200, description = "The overview", body = Overview), (status = "4XX", description = "Refused", body = Failure)))]
pub(crate) async fn overview(State(api): State<Api>) -> Result<Response, Failure> {
    Ok(Json(blocking(move || api.manage.overview()).await?).into_response())
}

/// The wanted part of the throughput.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct ThroughputQuery {
    /// `minutes`: ten minutes by the second; `day`: a day by the minute.
    #[serde(default)]
    #[param(inline)]
    span: WantedSpan,
    /// The number of a step: only later steps are sent.
    #[serde(default)]
    after: u64,
}

#[derive(Debug, Clone, Copy, Default, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum WantedSpan {
    #[default]
    Minutes,
    Day,
}

/// The throughput and latency by protocol over time.
#[utoipa::path(get, path = "/v1/throughput", params(ThroughputQuery), security(("token" = ["read"])), responses((status = 200, description = "The throughput", body = Throughput), (status = "4XX", description = "Refused", body = Failure)))]
pub(crate) async fn throughput(
    State(api): State<Api>,
    query: Result<Query<ThroughputQuery>, QueryRejection>,
) -> Result<Response, Failure> {
    let Query(query) = query.map_err(|error| Failure::new(StatusCode::BAD_REQUEST, error.body_text()))?;
    let span = match query.span {
        WantedSpan::Minutes => Span::Minutes,
        WantedSpan::Day => Span::Day,
    };
    Ok(Json(api.history.since(span, query.after)).into_response())
}

/// Whose changes are wanted.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct Listening {
    /// A share, or a folder of it: `studio/scenes`. Then the events are `change`, with what happened to a file there, `missed`
    /// (look at the whole folder again) and `gone` (the folder itself is removed).
    folder: Option<String>,
    /// Also all folders below.
    #[serde(default)]
    below: bool,
}

/// Changes as server-sent events: `holdings` (how much clients hold), `settings`, `snapshots`, `jobs` (a job as it is now), `missed` (the listener was too slow for so many events).
#[utoipa::path(get, path = "/v1/events", params(Listening), security(("token" = ["read"])), responses((status = 200, description = "Events, until the client closes; connections end after ten minutes", body = String, content_type = "text/event-stream"), (status = "4XX", description = "Refused", body = Failure), (status = 503, description = "Too many listeners", body = Failure)))]
pub(crate) async fn events(
    State(api): State<Api>,
    Extension(actor): Extension<Actor>,
    listening: Result<Query<Listening>, QueryRejection>,
) -> Result<Response, Failure> {
    let Query(Listening { folder, below }) =
        listening.map_err(|error| Failure::new(StatusCode::BAD_REQUEST, error.body_text()))?;
    let asked = api.clone();
    let may_listen = move || match &actor.session {
        Some(secret) => {
            let administrator = |name: &str| asked.manage.administrator(name);
            asked.logins.goes_on(secret, administrator, Instant::now())
                && second_factor::is_due(&asked, &actor.name) == Ok(false)
        }
        None => true,
    };
    let too_many = || {
        let hint = "there are too many listeners already; close one, or ask again later";
        Failure::new(StatusCode::SERVICE_UNAVAILABLE, hint)
    };
    let body = match folder {
        None => api.events.listen(may_listen).ok_or_else(too_many)?,
        Some(folder) => {
            check_inside(&folder)?;
            let place = api.places.take().ok_or_else(too_many)?;
            let watched = blocking(move || api.manage.watch(&folder, below)).await?;
            let watched = watched.map_err(|lines| Failure::lines(StatusCode::CONFLICT, lines))?;
            events::body(watching::send(watched, place), Arc::default(), may_listen)
        }
    };
    Ok(([(header::CONTENT_TYPE, "text/event-stream")], body).into_response())
}

/// The wanted lines of the log.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct After {
    /// The number of a line: only later lines are sent.
    #[serde(default)]
    after: u64,
}

/// The newest lines of the log: at most 1000, of the levels info, warn and error, as far as `log-level` permits them.
#[utoipa::path(get, path = "/v1/log", params(After), security(("token" = ["read"])), responses((status = 200, description = "The lines", body = Log), (status = "4XX", description = "Refused", body = Failure)))]
pub(crate) async fn log(
    State(api): State<Api>,
    wanted: Result<Query<After>, QueryRejection>,
) -> Result<Response, Failure> {
    let Query(After { after }) =
        wanted.map_err(|error| Failure::new(StatusCode::BAD_REQUEST, error.body_text()))?;
    Ok(Json(api.log.since(after)).into_response())
}

/// What became of Mac metadata: kept over a safe save, lost, not readable. At most 500 events, which other lines of the
/// log do not push out.
#[utoipa::path(get, path = "/v1/metadata-events", params(After), security(("token" = ["read"])), responses((status = 200, description = "The lines", body = Log), (status = "4XX", description = "Refused", body = Failure)))]
pub(crate) async fn metadata_events(
    State(api): State<Api>,
    wanted: Result<Query<After>, QueryRejection>,
) -> Result<Response, Failure> {
    let Query(After { after }) =
        wanted.map_err(|error| Failure::new(StatusCode::BAD_REQUEST, error.body_text()))?;
    Ok(Json(api.log.of_metadata(after)).into_response())
}

/// All accounts.
#[utoipa::path(get, path = "/v1/accounts", security(("token" = ["read"])), responses((status = 200, description = "The accounts", body = Vec<AccountStatus>), (status = "4XX", description = "Refused", body = Failure)))]
pub(crate) async fn accounts(State(api): State<Api>) -> Result<Response, Failure> {
    Ok(Json(blocking(move || api.manage.accounts()).await?).into_response())
}

pub(crate) fn answered<T: Serialize>(result: Result<T, Vec<String>>) -> Result<Response, Failure> {
    result
        .map(|value| Json(value).into_response())
        .map_err(|lines| Failure::lines(StatusCode::CONFLICT, lines))
}

/// The settings with their sources, and the changes that can be taken back.
#[utoipa::path(get, path = "/v1/settings", security(("token" = ["read"])), responses((status = 200, description = "The settings", body = SettingsStatus), (status = "4XX", description = "Refused", body = Failure)))]
pub(crate) async fn settings(State(api): State<Api>) -> Result<Response, Failure> {
    answered(blocking(move || api.manage.settings()).await?)
}

/// A change of a setting.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Change {
    /// The share; without it, a setting of the server.
    share: Option<String>,
    /// The key in the settings file.
    key: String,
    /// The value as `fourfold set` takes it. Null removes the setting, so that it is inherited or counts by default.
    value: Option<String>,
    /// The password of the administrator whose session this is. It is needed for what changes identity or trust.
    own_password: Option<String>,
}

/// Changes a setting in the settings file, whose comments stay, and applies it. A change that `fourfold check` would refuse is refused.
#[utoipa::path(post, path = "/v1/settings", request_body = Change, security(("token" = ["write"])), responses((status = 200, description = "What was applied, and what waits for a restart", body = Done), (status = "4XX", description = "Refused", body = Failure)))]
pub(crate) async fn change(
    State(api): State<Api>,
    (Extension(actor), peer): (Extension<Actor>, Peer),
    change: Body<Change>,
) -> Result<Response, Failure> {
    let Change { share, key, value, own_password } = body(change)?;
    let by = Author::of(&api, (&actor, peer), own_password).await?;
    let change = SettingChange { share, key, value, by };
    changed(blocking(move || api.manage.change(&change)).await?)
}

/// A change to take back.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Undo {
    /// The password of the administrator whose session this is. It is needed for what changes identity or trust.
    own_password: Option<String>,
}

/// Takes the newest change of a setting back. The last 20 changes can be taken back until the server stops.
#[utoipa::path(post, path = "/v1/settings/undo", request_body = Undo, security(("token" = ["write"])), responses((status = 200, description = "What was applied", body = Done), (status = "4XX", description = "Refused", body = Failure)))]
pub(crate) async fn undo(
    State(api): State<Api>,
    (Extension(actor), peer): (Extension<Actor>, Peer),
    undo: axum::body::Bytes,
) -> Result<Response, Failure> {
    let Undo { own_password } = optional_body(&undo)?;
    let by = Author::of(&api, (&actor, peer), own_password).await?;
    changed(blocking(move || api.manage.undo(&by)).await?)
}

/// Refuses a path that could lead out of its share. The empty path is the whole share.
pub(crate) fn check_inside(path: &str) -> Result<(), Failure> {
    if path.split('/').any(|part| matches!(part, "." | "..")) || path.contains('\0') {
        let hint = format!("{path:?}: give a path relative to the share's folder, without `.` and `..`");
        return Err(Failure::new(StatusCode::BAD_REQUEST, hint));
    }
    Ok(())
}

/// Keeps the history, and tells listeners when clients hold something else. Until the API stops.
pub(crate) async fn look(api: Api, mut stopping: tokio::sync::watch::Receiver<bool>) {
    let mut every = tokio::time::interval(history::EVERY);
    every.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Skip);
    let mut told = None;
    loop {
        let stops = tokio::select! {
            _ = every.tick() => false,
            _ = stopping.wait_for(|stop| *stop) => true,
        };
        if api.manage.records_slowest() {
            let recording = api.clone();
            let _ = tokio::task::spawn_blocking(move || slowest::record(&recording, stops)).await; // a panic there was logged
        }
        if stops {
            return end(&api.jobs).await;
        }
        api.history.tick(&api.metrics.by_protocol());
        if !api.events.has_listeners() {
            told = None;
            continue;
        }
        let manage = api.manage.clone();
        let Ok(now) = tokio::task::spawn_blocking(move || manage.holdings()).await else { continue };
        if told.as_ref() != Some(&now) {
            api.events.tell("holdings", &now);
            told = Some(now);
        }
    }
}

/// Jobs have so long to end when the server stops.
const ENDING: u32 = 20;

/// Tells the jobs to end, and waits for them for two seconds: they end processes and remove files.
async fn end(jobs: &crate::Jobs) {
    jobs.cancel_all();
    for _ in 0..ENDING {
        if !jobs.is_busy() {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
}
