//! The snapshots of the shares: shown, taken, held, removed; and files restored from them.

use admin::control::{RestoreReport, RestoreRequest};
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};
use vfs::names::from_text_view;

use crate::Api;
use crate::api::{Body, Done, Failure, blocking, body, done};
use crate::console::{answered, check_inside};
use crate::manage::SnapshotsStatus;

/// The snapshots of one share, or of all.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct OfShare {
    /// The share.
    share: Option<String>,
}

/// The snapshots.
#[utoipa::path(get, path = "/v1/snapshots", params(OfShare), security(("token" = ["read"])), responses((status = 200, description = "The snapshots", body = SnapshotsStatus), (status = "4XX", description = "Refused", body = Failure)))]
pub(crate) async fn snapshots(
    State(api): State<Api>,
    of: Result<Query<OfShare>, QueryRejection>,
) -> Result<Response, Failure> {
    let Query(of) = of.map_err(|error| Failure::new(StatusCode::BAD_REQUEST, error.body_text()))?;
    answered(blocking(move || api.manage.snapshots(of.share.as_deref())).await?)
}

/// Shows clients the snapshots that there are now: another program has taken, renamed or removed some.
#[utoipa::path(post, path = "/v1/snapshots/look", security(("token" = ["write"])), responses((status = 200, description = "They are shown", body = Done), (status = "4XX", description = "Refused", body = Failure)))]
pub(crate) async fn look(State(api): State<Api>) -> Result<Response, Failure> {
    done(blocking(move || api.report.look_at_snapshots()).await?)
}

/// A snapshot to take.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewSnapshot {
    /// The share.
    share: String,
    /// Its name; without one, it is named by its time.
    name: Option<String>,
}

/// Takes a snapshot.
#[utoipa::path(post, path = "/v1/snapshots", request_body = NewSnapshot, security(("token" = ["write"])), responses((status = 200, description = "Its name", body = Done), (status = "4XX", description = "Refused", body = Failure)))]
pub(crate) async fn take_snapshot(
    State(api): State<Api>,
    new: Body<NewSnapshot>,
) -> Result<Response, Failure> {
    let NewSnapshot { share, name } = body(new)?;
    done(blocking(move || api.manage.take_snapshot(&share, name.as_deref())).await?)
}

/// A snapshot.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NamedSnapshot {
    /// The share.
    share: String,
    /// Its name.
    name: String,
}

/// Removes a snapshot.
#[utoipa::path(post, path = "/v1/snapshots/remove", request_body = NamedSnapshot, security(("token" = ["write"])), responses((status = 200, description = "It is removed", body = Done), (status = "4XX", description = "Refused", body = Failure)))]
pub(crate) async fn remove_snapshot(
    State(api): State<Api>,
    named: Body<NamedSnapshot>,
) -> Result<Response, Failure> {
    let NamedSnapshot { share, name } = body(named)?;
    done(blocking(move || api.manage.remove_snapshot(&share, &name)).await?)
}

/// A new name of a snapshot.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Renaming {
    /// The share.
    share: String,
    /// Its name now.
    name: String,
    /// Its new name.
    new: String,
}

/// Gives a snapshot another name.
#[utoipa::path(post, path = "/v1/snapshots/rename", request_body = Renaming, security(("token" = ["write"])), responses((status = 200, description = "It has the name", body = Done), (status = "4XX", description = "Refused", body = Failure)))]
pub(crate) async fn rename_snapshot(
    State(api): State<Api>,
    renaming: Body<Renaming>,
) -> Result<Response, Failure> {
    let Renaming { share, name, new } = body(renaming)?;
    done(blocking(move || api.manage.rename_snapshot(&share, &name, &new)).await?)
}

/// A tag that keeps a snapshot.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Holding {
    /// The share.
    share: String,
    /// The name of the snapshot.
    name: String,
    /// A word that says who needs it.
    tag: String,
}

/// Keeps a snapshot from being removed, also by the schedule, until the tag is released.
#[utoipa::path(post, path = "/v1/snapshots/hold", request_body = Holding, security(("token" = ["write"])), responses((status = 200, description = "It is held", body = Done), (status = "4XX", description = "Refused", body = Failure)))]
pub(crate) async fn hold_snapshot(
    State(api): State<Api>,
    holding: Body<Holding>,
) -> Result<Response, Failure> {
    let Holding { share, name, tag } = body(holding)?;
    done(blocking(move || api.manage.hold_snapshot(&share, &name, &tag)).await?)
}

/// Releases a tag of a snapshot.
#[utoipa::path(post, path = "/v1/snapshots/release", request_body = Holding, security(("token" = ["write"])), responses((status = 200, description = "It is released", body = Done), (status = "4XX", description = "Refused", body = Failure)))]
pub(crate) async fn release_snapshot(
    State(api): State<Api>,
    holding: Body<Holding>,
) -> Result<Response, Failure> {
    let Holding { share, name, tag } = body(holding)?;
    done(blocking(move || api.manage.release_snapshot(&share, &name, &tag)).await?)
}

/// A file or folder to restore.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Restoring {
    /// The share.
    share: String,
    /// The name of the snapshot.
    snapshot: String,
    /// The path in the share.
    path: String,
    /// Where to restore it to: another path in the share. Without one, it is restored in place.
    to: Option<String>,
    /// Only say what would be done.
    #[serde(default)]
    dry_run: bool,
}

/// Restores a file or folder of a snapshot. Files that are not in the snapshot stay.
#[utoipa::path(post, path = "/v1/snapshots/restore", request_body = Restoring, security(("token" = ["write"])), responses((status = 200, description = "What was restored", body = RestoreReport), (status = "4XX", description = "Refused", body = Failure)))]
pub(crate) async fn restore(State(api): State<Api>, asked: Body<Restoring>) -> Result<Response, Failure> {
    let Restoring { share, snapshot, path, to, dry_run } = body(asked)?;
    let to = to.unwrap_or_else(|| path.clone());
    for given in [&path, &to] {
        check_inside(given)?;
    }
    let request = RestoreRequest {
        share,
        snapshot,
        path: from_text_view(&path),
        to: from_text_view(&to),
        dry_run,
        delete: false,
        keep: false,
    };
    answered(blocking(move || api.report.restore(request, &|_| true)).await?)
}
