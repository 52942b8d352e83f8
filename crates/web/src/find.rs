//! Searches in the shares, with the rights of the person at the console.

use admin::control::{FindAnswer, FindRequest};
use axum::Extension;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;
use utoipa::IntoParams;
use vfs::names::from_text_view;

use crate::Api;
use crate::admitted::Actor;
use crate::api::{Failure, blocking};
use crate::author::Peer;
use crate::console::{answered, check_inside};
use crate::store::person;

/// The most files of one answer.
const MOST_ROWS: usize = 1000;

/// What is to be found.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct Asked {
    /// What is asked, in the language of docs/search.md.
    query: String,
    /// The share; empty: all shares.
    #[serde(default)]
    share: String,
    /// The path of a folder in the share: only what is in it or below.
    #[serde(default)]
    path: String,
    /// Search in snapshots, for what is not at its place any more.
    #[serde(default)]
    snapshots: bool,
    /// The most files: at most 1000.
    #[serde(default = "Asked::usual")]
    #[param(default = 100)]
    limit: usize,
}

impl Asked {
    fn usual() -> usize {
        100
    }
}

/// The files that match and that the account of the session may list.
#[utoipa::path(get, path = "/v1/find", params(Asked), security(("token" = ["read"])), responses((status = 200, description = "What was found", body = FindAnswer), (status = "4XX", description = "Refused", body = Failure)))]
pub(crate) async fn find(
    State(api): State<Api>,
    Extension(actor): Extension<Actor>,
    peer: Peer,
    asked: Result<Query<Asked>, QueryRejection>,
) -> Result<Response, Failure> {
    let refused = |error: QueryRejection| Failure::new(StatusCode::BAD_REQUEST, error.body_text());
    let Query(Asked { query, share, path, snapshots, limit }) = asked.map_err(refused)?;
    check_inside(&path)?;
    let by = person(&actor, peer)?;
    let request = FindRequest {
        query,
        share: Some(share).filter(|share| !share.is_empty()),
        path: from_text_view(&path).to_vec(),
        account: None,
        snapshots,
        limit: limit.clamp(1, MOST_ROWS),
    };
    answered(blocking(move || api.manage.find(&by, &request)).await?)
}
