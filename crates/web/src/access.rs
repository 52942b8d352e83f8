//! Who may enter a share, and the groups of the accounts.

use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::Api;
use crate::api::{Failure, blocking};
use crate::console::answered;

/// A user, and what the share lets the user do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct Entrant {
    /// The account; empty for guests and users of NFS clients.
    pub account: String,
    /// `account`, `guests` or `nfs`.
    pub kind: &'static str,
    /// As which Unix user.
    pub acts_as: String,
    /// By protocol, whether the user may enter.
    pub protocols: Vec<Entry>,
    /// The user may read the share's folder,
    pub read: bool,
    /// and write there.
    pub write: bool,
}

/// Whether a user may enter over a protocol.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct Entry {
    /// `smb`, `afp` or `nfs`.
    pub protocol: &'static str,
    /// The user may enter.
    pub may: bool,
    /// By which rule.
    pub why: String,
}

/// A group of the server, or a Unix group that an account is in or a share names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct GroupStatus {
    /// Its name; a number if the host has no name for it.
    pub name: String,
    /// Its number; `None`: the host has no such group.
    pub gid: Option<u32>,
    /// It is one of the server's own, which can be changed here.
    pub own: bool,
    /// The accounts that are in it.
    pub accounts: Vec<String>,
    /// The shares that name it in `groups` or in a list of roles.
    pub shares: Vec<String>,
}

/// The share.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct OneShare {
    /// Its name.
    share: String,
}

/// Who may enter a share, over which protocol, by which rule, and what its folder lets them do.
#[utoipa::path(get, path = "/v1/access", params(OneShare), security(("token" = ["read"])), responses((status = 200, description = "The accounts, guests and users of NFS", body = Vec<Entrant>), (status = "4XX", description = "Refused", body = Failure)))]
pub(crate) async fn access(
    State(api): State<Api>,
    of: Result<Query<OneShare>, QueryRejection>,
) -> Result<Response, Failure> {
    let Query(of) = of.map_err(|error| Failure::new(StatusCode::BAD_REQUEST, error.body_text()))?;
    answered(blocking(move || api.manage.access(&of.share)).await?)
}

/// The groups of the server, and the Unix groups that an account is in or a share names.
#[utoipa::path(get, path = "/v1/groups", security(("token" = ["read"])), responses((status = 200, description = "The groups", body = Vec<GroupStatus>), (status = "4XX", description = "Refused", body = Failure)))]
pub(crate) async fn groups(State(api): State<Api>) -> Result<Response, Failure> {
    Ok(Json(blocking(move || api.manage.groups()).await?).into_response())
}
