//! The backups of Macs: how they are, and what counts for each.

use admin::control::BackupStatus;
use axum::Extension;
use axum::extract::State;
use axum::response::Response;
use serde::Deserialize;
use utoipa::ToSchema;

use crate::Api;
use crate::admitted::Actor;
use crate::api::{Body, Done, Failure, blocking, body};
use crate::author::{Author, Peer, changed};
use crate::console::answered;

/// What is to count for the backups of one Mac. What is not given stays as it is.
#[derive(Debug, Clone, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PolicyChange {
    /// The share.
    pub share: String,
    /// The name of the bundle without its ending.
    pub mac: String,
    /// The size that the share is said to have to this Mac, such as `800G`, or `none`.
    pub limit: Option<String>,
    /// How old its newest backup may become before there is an alert: `14d`, `never`, or `usual`.
    pub alert: Option<String>,
    /// It backs up no longer.
    pub retired: Option<bool>,
}

/// The backups of Macs: those in shares with `time-machine`, and bundles of Time Machine in others.
#[utoipa::path(get, path = "/v1/backups", security(("token" = ["read"])), responses((status = 200, description = "The backups", body = Vec<BackupStatus>), (status = "4XX", description = "Refused", body = Failure)))]
pub(crate) async fn backups(State(api): State<Api>) -> Result<Response, Failure> {
    answered(blocking(move || api.manage.backups()).await?)
}

/// Changes what counts for the backups of one Mac, in the setting `time-machine-macs`.
#[utoipa::path(post, path = "/v1/backups/policy", request_body = PolicyChange, security(("token" = ["write"])), responses((status = 200, description = "What was applied", body = Done), (status = "4XX", description = "Refused", body = Failure)))]
pub(crate) async fn change_policy(
    State(api): State<Api>,
    (Extension(actor), peer): (Extension<Actor>, Peer),
    change: Body<PolicyChange>,
) -> Result<Response, Failure> {
    let change = body(change)?;
    let by = Author::of(&api, (&actor, peer), None).await?;
    changed(blocking(move || api.manage.change_backup_policy(&change, &by)).await?)
}
