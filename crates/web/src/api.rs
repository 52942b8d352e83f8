//! The requests of the API, version 1, and `/metrics`.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use admin::control::{
    CachesAnswer, CachesRequest, CachesStatus, Disconnect, LeaseStatus, LockStatus, OpenStatus,
    SessionStatus, ShareMounts, ShareStatus, Status,
};
use axum::extract::{Query, Request, State};
use axum::http::{HeaderName, HeaderValue, StatusCode, Uri, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router, extract::DefaultBodyLimit};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::admitted::admitted;
pub(crate) use crate::answer::{Body, Done, Failure, blocking, body, done, optional_body};
use crate::jobs::requests as jobs;
use crate::metrics::MEDIA_TYPE;
use crate::{
    Api, Scope, access, accounts, alerts, assets, backups, browsing, certificate, code, console, files, find,
    groups, login, luns, negotiate, rights, second_factor, server, shares, sign_ins, slowest, snapshots,
    store, streams, webhooks,
};

/// The longest body of a request in bytes.
const LONGEST_BODY: usize = 64 * 1024;
/// The rows of a page, unless the client wants fewer or more.
const PAGE: usize = 1000;
/// The most rows of a page.
const LONGEST_PAGE: usize = 10_000;
/// The longest message to users in bytes.
const LONGEST_MESSAGE: usize = 1024;

/// All requests.
pub(crate) fn router(api: Api) -> Router {
    let metrics = Router::new().route("/metrics", get(metrics));
    let guarded = |router: Router<Api>, scope: Scope| {
        let api = api.clone();
        let guard = move |request, next| admitted(api.clone(), scope, request, next);
        router.route_layer(middleware::from_fn(guard))
    };
    Router::new()
        .route("/", get(asset))
        .route("/page/{file}", get(asset))
        .route("/v1/login", get(login::logged_in).post(login::login))
        .route("/v1/login/negotiate", post(negotiate::negotiate))
        .route("/v1/logout", post(login::logout))
        .merge(guarded(metrics, Scope::Metrics))
        .merge(guarded(read(), Scope::Read))
        .merge(guarded(write(), Scope::Write))
        .fallback(|| async { nothing() })
        .method_not_allowed_fallback(|| async {
            Failure::new(StatusCode::METHOD_NOT_ALLOWED, "this path does not take this method")
        })
        .layer(DefaultBodyLimit::max(LONGEST_BODY))
        .layer(middleware::from_fn(harmless))
        .with_state(api)
}

/// What only shows.
fn read() -> Router<Api> {
    Router::new()
        .route("/v1/status", get(status))
        .route("/v1/shares", get(shares))
        .route("/v1/sessions", get(sessions))
        .route("/v1/opens", get(opens))
        .route("/v1/locks", get(locks))
        .route("/v1/leases", get(leases))
        .route("/v1/luns", get(luns::luns))
        .route("/v1/slowest", get(slowest::slowest))
        .route("/v1/caches", get(caches))
        .route("/v1/streams", get(streams::streams))
        .route("/v1/streams/formats", get(streams::formats))
        .route("/v1/mounts", get(mounts))
        .route("/v1/advice", get(jobs::advice))
        .route("/v1/overview", get(console::overview))
        .route("/v1/throughput", get(console::throughput))
        .route("/v1/events", get(console::events))
        .route("/v1/accounts", get(console::accounts))
        .route("/v1/groups", get(access::groups))
        .route("/v1/alerts", get(alerts::alerts))
        .route("/v1/logins", get(sign_ins::logins))
        .route("/v1/second-factor", get(second_factor::second_factor))
        .route("/v1/certificate", get(certificate::certificate))
        .route("/v1/server", get(server::server))
        .route("/v1/disks", get(server::disks))
        .route("/v1/files/data", get(store::download))
        .route("/v1/access", get(access::access))
        .route("/v1/rights", get(rights::rights))
        .route("/v1/rights/of", get(rights::rights_of))
        .route("/v1/password-rule", get(accounts::password_rule))
        .route("/v1/log", get(console::log))
        .route("/v1/metadata-events", get(console::metadata_events))
        .route("/v1/settings", get(console::settings))
        .route("/v1/snapshots", get(snapshots::snapshots))
        .route("/v1/backups", get(backups::backups))
        .route("/v1/images", get(browsing::images))
        .route("/v1/images/files", get(browsing::files))
        .route("/v1/files", get(files::folder))
        .route("/v1/find", get(find::find))
        .route("/v1/code", get(code::code))
        .route("/v1/webhooks", get(webhooks::webhooks))
        .route("/v1/jobs", get(jobs::jobs))
        .route("/v1/jobs/{id}", get(jobs::job))
        .route("/v1/conversions", get(jobs::conversions))
        .route("/v1/benchmarks", get(jobs::benchmarks))
        .route("/v1/benchmarks/{name}", get(jobs::report))
        .route("/v1/comparison", get(jobs::compare))
        .route("/v1/file", get(files::file))
        .route("/v1/openapi.json", get(|| async { Json(crate::openapi::document()) }))
}

/// What changes something.
fn write() -> Router<Api> {
    Router::new()
        .route("/v1/reload", post(reload))
        .route("/v1/restart", post(server::restart))
        .route("/v1/alerts/mute", post(alerts::mute))
        .route("/v1/alerts/unmute", post(alerts::unmute))
        .route("/v1/alerts/test", post(alerts::test))
        .route("/v1/logins/end", post(sign_ins::end))
        .route("/v1/second-factor", post(second_factor::begin))
        .route("/v1/second-factor/confirm", post(second_factor::confirm))
        .route("/v1/second-factor/remove", post(second_factor::remove))
        .route("/v1/certificate", post(certificate::upload))
        .route("/v1/certificate/make", post(certificate::make))
        .route("/v1/certificate/order", post(certificate::order))
        .route("/v1/files/data", post(store::upload))
        .route("/v1/files/folder", post(store::make_folder))
        .route("/v1/files/move", post(store::move_entry))
        .route("/v1/files/remove", post(store::remove))
        .route("/v1/images", post(browsing::open))
        .route("/v1/images/close", post(browsing::close))
        .route("/v1/opens/close", post(server::close))
        .route("/v1/messages", post(say))
        .route("/v1/disconnect", post(disconnect))
        .route("/v1/caches", post(limit_caches))
        .route("/v1/streams", post(streams::reserve))
        .route("/v1/streams/release", post(streams::release))
        .route("/v1/luns", post(luns::create))
        .route("/v1/luns/resize", post(luns::resize))
        .route("/v1/luns/remove", post(luns::remove))
        .route("/v1/settings", post(console::change))
        .route("/v1/settings/undo", post(console::undo))
        .route("/v1/backups/policy", post(backups::change_policy))
        .route("/v1/snapshots", post(snapshots::take_snapshot))
        .route("/v1/snapshots/remove", post(snapshots::remove_snapshot))
        .route("/v1/snapshots/rename", post(snapshots::rename_snapshot))
        .route("/v1/snapshots/hold", post(snapshots::hold_snapshot))
        .route("/v1/snapshots/release", post(snapshots::release_snapshot))
        .route("/v1/snapshots/restore", post(snapshots::restore))
        .route("/v1/rights", post(rights::set))
        .route("/v1/rights/reset", post(rights::reset))
        .route("/v1/rights/undo", post(rights::undo))
        .route("/v1/rights/check", post(rights::check_tree))
        .route("/v1/shares", post(shares::share))
        .route("/v1/shares/change", post(shares::change))
        .route("/v1/shares/remove", post(shares::unshare))
        .route("/v1/shares/rename", post(shares::rename))
        .route("/v1/folders", post(shares::folders))
        .route("/v1/accounts", post(accounts::add))
        .route("/v1/accounts/password", post(accounts::password))
        .route("/v1/accounts/change", post(accounts::change))
        .route("/v1/accounts/remove", post(accounts::remove))
        .route("/v1/accounts/rename", post(accounts::rename))
        .route("/v1/groups", post(groups::add))
        .route("/v1/groups/change", post(groups::set_accounts))
        .route("/v1/groups/remove", post(groups::remove))
        .route("/v1/snapshots/look", post(snapshots::look))
        .route("/v1/webhooks", post(webhooks::add))
        .route("/v1/webhooks/remove", post(webhooks::remove))
        .route("/v1/webhooks/test", post(webhooks::test))
        .route("/v1/jobs", post(jobs::start))
        .route("/v1/jobs/{id}/cancel", post(jobs::cancel))
}

/// The console.
async fn asset(uri: Uri, headers: axum::http::HeaderMap) -> Result<Response, Failure> {
    assets::serve(uri.path(), &headers).ok_or_else(nothing)
}

fn nothing() -> Failure {
    Failure::new(StatusCode::NOT_FOUND, "there is nothing at this path")
}

/// Browsers keep nothing, embed nothing and guess no types, unless a handler says otherwise.
async fn harmless(request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    let headers = [
        (header::CACHE_CONTROL, "no-store"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::CONTENT_SECURITY_POLICY, "default-src 'none'; frame-ancestors 'none'"),
        (header::REFERRER_POLICY, "no-referrer"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ];
    for (name, value) in headers {
        response.headers_mut().entry(name).or_insert(HeaderValue::from_static(value));
    }
    response
}

/// The metrics, for Prometheus.
#[utoipa::path(get, path = "/metrics", security(("token" = ["metrics"])), responses((status = 200, description = "OpenMetrics", body = String, content_type = "application/openmetrics-text"), (status = "4XX", description = "Refused", body = Failure)))]
pub(crate) async fn metrics(State(api): State<Api>) -> Result<Response, Failure> {
    let text = blocking(move || api.metrics.text((api.figures)())).await?;
    let text = text
        .map_err(|error| Failure::new(StatusCode::INTERNAL_SERVER_ERROR, format!("the metrics: {error}")))?;
    Ok(([(header::CONTENT_TYPE, MEDIA_TYPE)], text).into_response())
}

/// All that `fourfold status` shows.
#[utoipa::path(get, path = "/v1/status", security(("token" = ["read"])), responses((status = 200, description = "The state", body = Status), (status = "4XX", description = "Refused", body = Failure)))]
pub(crate) async fn status(State(api): State<Api>) -> Result<Response, Failure> {
    Ok(Json(blocking(move || api.report.status()).await?).into_response())
}

/// The shares, and how clients mount them.
#[utoipa::path(get, path = "/v1/shares", security(("token" = ["read"])), responses((status = 200, description = "The shares", body = Vec<ShareStatus>), (status = "4XX", description = "Refused", body = Failure)))]
pub(crate) async fn shares(State(api): State<Api>) -> Result<Response, Failure> {
    Ok(Json(blocking(move || api.report.status().shares).await?).into_response())
}

/// The part of a list that is wanted.
#[derive(Debug, Clone, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct PageRequest {
    /// The first row.
    #[serde(default)]
    offset: usize,
    /// The most rows: at most 10,000.
    #[serde(default = "PageRequest::usual")]
    #[param(default = 1000)]
    limit: usize,
    /// Only rows that have this in one of their fields, in any case of letters.
    #[serde(default)]
    search: String,
}

impl PageRequest {
    fn usual() -> usize {
        PAGE
    }

    fn of<T: Serialize>(self, mut rows: Vec<T>) -> ListPart<T> {
        let wanted = self.search.to_lowercase();
        if !wanted.is_empty() {
            rows.retain(|row| has(row, &wanted));
        }
        let total = rows.len();
        let rows = rows.into_iter().skip(self.offset).take(self.limit.min(LONGEST_PAGE)).collect();
        ListPart { total, rows }
    }
}

/// Whether a field of a row has this text, in lower case.
fn has(row: &impl Serialize, wanted: &str) -> bool {
    let row = serde_json::to_value(row).unwrap_or_default();
    row.as_object().is_some_and(|fields| {
        fields.values().any(|value| match value.as_str() {
            Some(text) => text.to_lowercase().contains(wanted),
            None => value.as_u64().is_some_and(|number| wanted.parse() == Ok(number)),
        })
    })
}

/// A part of a list.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ListPart<T> {
    /// The rows of the whole list.
    total: usize,
    /// The part that was asked for.
    rows: Vec<T>,
}

type PageQuery = Result<Query<PageRequest>, axum::extract::rejection::QueryRejection>;

fn page(query: PageQuery) -> Result<PageRequest, Failure> {
    query.map(|Query(page)| page).map_err(|error| Failure::new(StatusCode::BAD_REQUEST, error.body_text()))
}

/// Connections, and clients of protocols without them.
#[utoipa::path(get, path = "/v1/sessions", params(PageRequest), security(("token" = ["read"])), responses((status = 200, description = "A part of the list", body = ListPart<SessionStatus>), (status = "4XX", description = "Refused", body = Failure)))]
pub(crate) async fn sessions(State(api): State<Api>, query: PageQuery) -> Result<Response, Failure> {
    let page = page(query)?;
    Ok(Json(blocking(move || page.of(api.report.status().sessions)).await?).into_response())
}

/// Open files.
#[utoipa::path(get, path = "/v1/opens", params(PageRequest), security(("token" = ["read"])), responses((status = 200, description = "A part of the list", body = ListPart<OpenStatus>), (status = "4XX", description = "Refused", body = Failure)))]
pub(crate) async fn opens(State(api): State<Api>, query: PageQuery) -> Result<Response, Failure> {
    let page = page(query)?;
    Ok(Json(blocking(move || page.of(api.report.status().opens)).await?).into_response())
}

/// Locked ranges.
#[utoipa::path(get, path = "/v1/locks", params(PageRequest), security(("token" = ["read"])), responses((status = 200, description = "A part of the list", body = ListPart<LockStatus>), (status = "4XX", description = "Refused", body = Failure)))]
pub(crate) async fn locks(State(api): State<Api>, query: PageQuery) -> Result<Response, Failure> {
    let page = page(query)?;
    Ok(Json(blocking(move || page.of(api.report.status().locks)).await?).into_response())
}

/// Leases of clients.
#[utoipa::path(get, path = "/v1/leases", params(PageRequest), security(("token" = ["read"])), responses((status = 200, description = "A part of the list", body = ListPart<LeaseStatus>), (status = "4XX", description = "Refused", body = Failure)))]
pub(crate) async fn leases(State(api): State<Api>, query: PageQuery) -> Result<Response, Failure> {
    let page = page(query)?;
    Ok(Json(blocking(move || page.of(api.report.status().leases)).await?).into_response())
}

/// The caches, and the memory of the host.
#[utoipa::path(get, path = "/v1/caches", security(("token" = ["read"])), responses((status = 200, description = "The caches", body = CachesStatus), (status = "4XX", description = "Refused", body = Failure)))]
pub(crate) async fn caches(State(api): State<Api>) -> Result<Response, Failure> {
    match blocking(move || api.report.caches(CachesRequest::Show)).await? {
        Ok(CachesAnswer::Shown(status)) => Ok(Json(status).into_response()),
        Ok(_) => Ok(Json(CachesStatus::default()).into_response()),
        Err(errors) => Err(Failure::lines(StatusCode::CONFLICT, errors)),
    }
}

/// The best mount commands of the shares for each client system, each part with its reason, as `fourfold advise --mount`.
#[utoipa::path(get, path = "/v1/mounts", security(("token" = ["read"])), responses((status = 200, description = "The shares with their commands", body = Vec<ShareMounts>), (status = "4XX", description = "Refused", body = Failure)))]
pub(crate) async fn mounts(State(api): State<Api>) -> Result<Response, Failure> {
    match blocking(move || api.report.caches(CachesRequest::Mounts)).await? {
        Ok(CachesAnswer::Mounts(mounts)) => Ok(Json(mounts).into_response()),
        Ok(_) => Ok(Json(Vec::<ShareMounts>::new()).into_response()),
        Err(errors) => Err(Failure::lines(StatusCode::CONFLICT, errors)),
    }
}

/// Limits caches until the server stops.
#[utoipa::path(post, path = "/v1/caches", request_body = Limits, security(("token" = ["write"])), responses((status = 200, description = "The limits, and what they were", body = Done), (status = "4XX", description = "Refused", body = Failure)))]
pub(crate) async fn limit_caches(State(api): State<Api>, limits: Body<Limits>) -> Result<Response, Failure> {
    let Limits { limits } = body(limits)?;
    let request = CachesRequest::Set { limits: limits.into_iter().collect() };
    done(blocking(move || api.report.caches(request)).await?.map(|answer| match answer {
        CachesAnswer::Done(lines) => lines,
        _ => Vec::new(),
    }))
}

/// Limits by the names of caches.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Limits {
    /// As in `fourfold caches set`: `{"directory": "64M"}`.
    limits: BTreeMap<String, String>,
}

/// Reads the settings, the accounts and the certificate again.
#[utoipa::path(post, path = "/v1/reload", security(("token" = ["write"])), responses((status = 200, description = "What was applied, and what waits for a restart", body = Done), (status = "4XX", description = "Refused", body = Failure)))]
pub(crate) async fn reload(State(api): State<Api>) -> Result<Response, Failure> {
    done(blocking(move || api.report.reload()).await?)
}

/// A message. Without further fields it is for all users; else for those whose sessions match all fields.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Message {
    /// At most 1024 bytes.
    text: String,
    /// The account, in any case of letters.
    user: Option<String>,
    /// The client's address.
    #[schema(value_type = Option<String>)]
    client: Option<IpAddr>,
    /// One of its connections.
    #[schema(value_type = Option<String>)]
    connection: Option<SocketAddr>,
}

/// Shows a message to users who are logged in over AFP. Other protocols have no messages.
#[utoipa::path(post, path = "/v1/messages", request_body = Message, security(("token" = ["write"])), responses((status = 200, description = "The users that were told", body = Done), (status = "4XX", description = "Refused", body = Failure)))]
pub(crate) async fn say(State(api): State<Api>, message: Body<Message>) -> Result<Response, Failure> {
    let Message { text, user, client, connection } = body(message)?;
    if text.is_empty() || text.len() > LONGEST_MESSAGE {
        let hint = format!("`text` has 1 to {LONGEST_MESSAGE} bytes");
        return Err(Failure::new(StatusCode::BAD_REQUEST, hint));
    }
    let to = Disconnect { user, client, connection, file: None };
    done(blocking(move || api.report.say(&text, &to)).await?)
}

/// The sessions that match all fields. As [`Disconnect`], but a field with a wrong name is refused: fewer conditions would end more sessions.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Ending {
    /// The account, in any case of letters.
    user: Option<String>,
    /// The client's address.
    #[schema(value_type = Option<String>)]
    client: Option<IpAddr>,
    /// One of its connections.
    #[schema(value_type = Option<String>)]
    connection: Option<SocketAddr>,
    /// The sessions continue, but close this file, which is a path on the server.
    #[schema(value_type = Option<String>)]
    file: Option<PathBuf>,
}

/// Ends sessions, or closes a file in them.
#[utoipa::path(post, path = "/v1/disconnect", request_body = Ending, security(("token" = ["write"])), responses((status = 200, description = "What was ended", body = Done), (status = "4XX", description = "Refused", body = Failure)))]
pub(crate) async fn disconnect(State(api): State<Api>, ending: Body<Ending>) -> Result<Response, Failure> {
    let Ending { user, client, connection, file } = body(ending)?;
    let what = Disconnect { user, client, connection, file };
    if what == Disconnect::default() {
        let hint = "name the sessions by at least one of `user`, `client`, `connection` and `file`";
        return Err(Failure::new(StatusCode::BAD_REQUEST, hint));
    }
    done(blocking(move || api.report.disconnect(&what)).await?)
}
