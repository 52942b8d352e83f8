//! The rights to files and folders of a share: who may do what, from where it comes, and changes of it.

use admin::control::{PersonAnswer, RightsQuestion, RightsRequest, RightsStatus};
use axum::Extension;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};
use vfs::names::from_text_view;

use crate::Api;
use crate::admitted::Actor;
use crate::api::{Body, Failure, blocking, body};
use crate::author::{Author, Peer};
use crate::console::{answered, check_inside};
use crate::jobs::JobStatus;

/// The longest name in a request in bytes.
const LONGEST_NAME: usize = 1024;

/// The wanted file or folder.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct RightsPlace {
    /// The share.
    share: String,
    /// Its path in the share; empty: the share's own folder. Bytes that are no UTF-8 are U+EF80 to U+EFFF.
    #[serde(default)]
    path: String,
}

/// The wanted person, and the file or folder.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct RightsOfPerson {
    /// An account, `guests`, or the number of a user of NFS.
    person: String,
    /// The share.
    share: String,
    /// The path in the share; empty: the share's own folder.
    #[serde(default)]
    path: String,
}

/// A role on a file or folder.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewRights {
    /// The share.
    share: String,
    /// The path in the share. The roles of the share itself are its settings `owners`, `editors`, `contributors`, `readers`, `drop`.
    path: String,
    /// An account, `@group`, `everyone` or `guests`.
    who: String,
    /// `owner`, `editor`, `reader` or `none`: it counts there and below, in place of the share's roles. Null: the share's count again.
    role: Option<String>,
    /// The password of the administrator whose session this is.
    own_password: Option<String>,
}

/// Files and folders whose rights are to be what the roles say.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RightsReset {
    /// The share.
    share: String,
    /// The path in the share; empty: the share's own folder.
    #[serde(default)]
    path: String,
    /// Everything below, too.
    #[serde(default)]
    recursive: bool,
    /// What was set on files and folders themselves goes, too: the roles of the share count again everywhere.
    #[serde(default)]
    all: bool,
    /// Only count what would change. This needs no password.
    #[serde(default)]
    dry_run: bool,
    /// The password of the administrator whose session this is.
    own_password: Option<String>,
}

/// Files and folders that are to be looked at.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RightsCheck {
    /// The share.
    share: String,
    /// The path in the share; empty: the share's own folder.
    #[serde(default)]
    path: String,
}

/// Changes of rights that are to be taken back.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RightsUndo {
    /// The share.
    share: String,
    /// The record: `record` in the result of the job that made the changes.
    record: String,
    /// The password of the administrator whose session this is.
    own_password: Option<String>,
}

/// Who may do what with a file or folder: the roles of the share, what was set on the way, and what it comes to for each account.
#[utoipa::path(get, path = "/v1/rights", params(RightsPlace), security(("token" = ["read"])), responses((status = 200, description = "The rights", body = RightsStatus), (status = "4XX", description = "Refused", body = Failure)))]
pub(crate) async fn rights(
    State(api): State<Api>,
    place: Result<Query<RightsPlace>, QueryRejection>,
) -> Result<Response, Failure> {
    let Query(RightsPlace { share, path }) = place.map_err(wrong)?;
    check(&path, &[&share])?;
    answered(blocking(move || api.manage.rights(&share, &from_text_view(&path))).await?)
}

/// Whether one person may open, change and remove a file or folder, and by what.
#[utoipa::path(get, path = "/v1/rights/of", params(RightsOfPerson), security(("token" = ["read"])), responses((status = 200, description = "What the person may do", body = PersonAnswer), (status = "4XX", description = "Refused", body = Failure)))]
pub(crate) async fn rights_of(
    State(api): State<Api>,
    of: Result<Query<RightsOfPerson>, QueryRejection>,
) -> Result<Response, Failure> {
    let Query(RightsOfPerson { person, share, path }) = of.map_err(wrong)?;
    check(&path, &[&share, &person])?;
    answered(blocking(move || api.manage.rights_of(&person, &share, &from_text_view(&path))).await?)
}

/// Starts a job that gives somebody a role on a file or folder, and on everything below. Its result has the counts and the record
/// with which it is taken back.
#[utoipa::path(post, path = "/v1/rights", request_body = NewRights, security(("token" = ["write"])), responses((status = 200, description = "The job", body = JobStatus), (status = "4XX", description = "Refused", body = Failure)))]
pub(crate) async fn set(
    State(api): State<Api>,
    (Extension(actor), peer): (Extension<Actor>, Peer),
    new: Body<NewRights>,
) -> Result<Response, Failure> {
    let NewRights { share, path, who, role, own_password } = body(new)?;
    check(&path, &[&share, &who])?;
    verified(&api, (&actor, peer), own_password).await?;
    start(api, actor, (share, path), RightsQuestion::Set { who, role }).await
}

/// Starts a job that brings files and folders to what the roles, and the lists of the folders above, say.
#[utoipa::path(post, path = "/v1/rights/reset", request_body = RightsReset, security(("token" = ["write"])), responses((status = 200, description = "The job", body = JobStatus), (status = "4XX", description = "Refused", body = Failure)))]
pub(crate) async fn reset(
    State(api): State<Api>,
    (Extension(actor), peer): (Extension<Actor>, Peer),
    reset: Body<RightsReset>,
) -> Result<Response, Failure> {
    let RightsReset { share, path, recursive, all, dry_run, own_password } = body(reset)?;
    check(&path, &[&share])?;
    if !dry_run {
        verified(&api, (&actor, peer), own_password).await?;
    }
    start(api, actor, (share, path), RightsQuestion::Reset { recursive, all, dry_run }).await
}

/// Starts a job that takes the changes of another one back.
#[utoipa::path(post, path = "/v1/rights/undo", request_body = RightsUndo, security(("token" = ["write"])), responses((status = 200, description = "The job", body = JobStatus), (status = "4XX", description = "Refused", body = Failure)))]
pub(crate) async fn undo(
    State(api): State<Api>,
    (Extension(actor), peer): (Extension<Actor>, Peer),
    undo: Body<RightsUndo>,
) -> Result<Response, Failure> {
    let RightsUndo { share, record, own_password } = body(undo)?;
    check("", &[&share, &record])?;
    verified(&api, (&actor, peer), own_password).await?;
    start(api, actor, (share, String::new()), RightsQuestion::Undo { record }).await
}

/// Starts a job that looks for files and folders with which local programs may do something else than the roles say.
#[utoipa::path(post, path = "/v1/rights/check", request_body = RightsCheck, security(("token" = ["write"])), responses((status = 200, description = "The job", body = JobStatus), (status = "4XX", description = "Refused", body = Failure)))]
pub(crate) async fn check_tree(
    State(api): State<Api>,
    Extension(actor): Extension<Actor>,
    asked: Body<RightsCheck>,
) -> Result<Response, Failure> {
    let RightsCheck { share, path } = body(asked)?;
    check(&path, &[&share])?;
    start(api, actor, (share, path), RightsQuestion::Check).await
}

async fn verified(api: &Api, author: (&Actor, Peer), own_password: Option<String>) -> Result<(), Failure> {
    Author::of(api, author, own_password).await?.check_verified("who may use the files of a share")
}

async fn start(
    api: Api,
    actor: Actor,
    (share, path): (String, String),
    question: RightsQuestion,
) -> Result<Response, Failure> {
    let request = RightsRequest { share, path: from_text_view(&path), question };
    let start = move || api.jobs.start(api.manage.rights_job(request)?, &actor.name);
    answered(blocking(start).await?)
}

fn wrong(error: QueryRejection) -> Failure {
    Failure::new(StatusCode::BAD_REQUEST, error.body_text())
}

fn check(path: &str, names: &[&String]) -> Result<(), Failure> {
    check_inside(path)?;
    let is_wrong = |name: &&&String| name.len() > LONGEST_NAME || name.contains(['\0', '\n']);
    match names.iter().find(is_wrong) {
        None => Ok(()),
        Some(_) => {
            let hint = format!("a name has at most {LONGEST_NAME} bytes, in one line");
            Err(Failure::new(StatusCode::BAD_REQUEST, hint))
        }
    }
}
