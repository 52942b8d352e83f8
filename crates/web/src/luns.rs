//! The LUNs: shown, made, resized, removed.

use admin::control::{LunAnswer, LunRequest, LunStatus, NewLunRequest};
use admin::settings::units::{is_without_unit, parse_size};
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use serde::Deserialize;
use utoipa::ToSchema;

use crate::Api;
use crate::admitted::Actor;
use crate::api::{Body, Done, Failure, blocking, body, done};
use crate::author::{Author, Peer};

/// The LUNs of all shares.
#[utoipa::path(get, path = "/v1/luns", security(("token" = ["read"])), responses((status = 200, description = "The LUNs", body = Vec<LunStatus>), (status = "4XX", description = "Refused", body = Failure)))]
pub(crate) async fn luns(State(api): State<Api>) -> Result<Response, Failure> {
    match blocking(move || api.report.lun(LunRequest::List, &|_| true)).await? {
        Ok(LunAnswer::Luns(luns)) => Ok(Json(luns).into_response()),
        Ok(LunAnswer::Done(_)) => Ok(Json(Vec::<()>::new()).into_response()),
        Err(errors) => Err(Failure::lines(StatusCode::CONFLICT, errors)),
    }
}

/// A LUN to make.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewLun {
    /// Its share.
    share: String,
    /// Its name there.
    name: String,
    /// Its size with a unit: `500G`. Without one, it has the size of its file, which exists.
    size: Option<String>,
    /// Bytes of a block: 512 or 4096.
    #[serde(default = "NewLun::usual_block")]
    #[schema(default = 512)]
    block_size: u32,
    /// An image inside the share; without one, the server makes a file.
    file: Option<String>,
    /// All writes are refused.
    #[serde(default)]
    read_only: bool,
    /// Patterns of the names of initiators that see it. Empty: all do.
    #[serde(default)]
    initiators: Vec<String>,
    /// Patterns of the names of initiators that may only read.
    #[serde(default)]
    readers: Vec<String>,
    /// The word for its target.
    target: Option<String>,
    /// Its number there.
    number: Option<u16>,
    /// The password of the administrator whose session this is. It is needed for `file`.
    own_password: Option<String>,
}

impl NewLun {
    fn usual_block() -> u32 {
        512
    }
}

/// A size with its unit in bytes.
fn bytes(text: &str) -> Result<u64, Failure> {
    let refused = |error: String| Failure::new(StatusCode::BAD_REQUEST, error);
    if is_without_unit(text) {
        return Err(refused(format!("{text:?} has no unit; write {text}G for GiB, or {text}B for bytes")));
    }
    parse_size(text).ok_or_else(|| refused(format!("{text:?} is no size; write one such as 500G")))
}

async fn execute(api: Api, request: LunRequest) -> Result<Response, Failure> {
    done(blocking(move || api.report.lun(request, &|_| true)).await?.map(|answer| match answer {
        LunAnswer::Done(lines) => lines,
        LunAnswer::Luns(_) => Vec::new(),
    }))
}

/// Makes a LUN, as `fourfold lun create`.
#[utoipa::path(post, path = "/v1/luns", request_body = NewLun, security(("token" = ["write"])), responses((status = 200, description = "It is made", body = Done), (status = "4XX", description = "Refused", body = Failure)))]
pub(crate) async fn create(
    State(api): State<Api>,
    (Extension(actor), peer): (Extension<Actor>, Peer),
    new: Body<NewLun>,
) -> Result<Response, Failure> {
    let mut new = body(new)?;
    let author = Author::of(&api, (&actor, peer), new.own_password.take()).await?;
    if new.file.is_some() {
        author.check_verified("a LUN of a file that exists")?;
    }
    let is_pattern = |name: &&String| name.is_empty() || name.contains(char::is_whitespace);
    if let Some(wrong) = new.initiators.iter().chain(&new.readers).find(is_pattern) {
        let hint = format!("{wrong:?} is no name of initiators; write one such as iqn.1993-08.org.debian:*");
        return Err(Failure::new(StatusCode::BAD_REQUEST, hint));
    }
    let request = NewLunRequest {
        size: new.size.as_deref().map(bytes).transpose()?,
        share: new.share,
        name: new.name,
        block_size: new.block_size,
        file: new.file,
        read_only: new.read_only,
        initiators: new.initiators,
        readers: new.readers,
        target: new.target,
        number: new.number,
    };
    execute(api, LunRequest::Create(request)).await
}

/// A new size of a LUN.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Resizing {
    /// Its share.
    share: String,
    /// Its name there.
    name: String,
    /// Its size with a unit: `500G`.
    size: String,
    /// It may become smaller, and the data beyond the end are lost.
    #[serde(default)]
    shrink: bool,
}

/// Changes the size of a LUN, as `fourfold lun resize`.
#[utoipa::path(post, path = "/v1/luns/resize", request_body = Resizing, security(("token" = ["write"])), responses((status = 200, description = "It has the size", body = Done), (status = "4XX", description = "Refused", body = Failure)))]
pub(crate) async fn resize(State(api): State<Api>, resizing: Body<Resizing>) -> Result<Response, Failure> {
    let Resizing { share, name, size, shrink } = body(resizing)?;
    let size = bytes(&size)?;
    execute(api, LunRequest::Resize { share, name, size, shrink }).await
}

/// A LUN to remove.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct OldLun {
    /// Its share.
    share: String,
    /// Its name there.
    name: String,
    /// Its file stays.
    #[serde(default)]
    keep_file: bool,
    /// Also while initiators are logged in.
    #[serde(default)]
    force: bool,
}

/// Removes a LUN, as `fourfold lun remove`. Its data are lost, unless its file stays.
#[utoipa::path(post, path = "/v1/luns/remove", request_body = OldLun, security(("token" = ["write"])), responses((status = 200, description = "It is removed", body = Done), (status = "4XX", description = "Refused", body = Failure)))]
pub(crate) async fn remove(State(api): State<Api>, old: Body<OldLun>) -> Result<Response, Failure> {
    let OldLun { share, name, keep_file, force } = body(old)?;
    execute(api, LunRequest::Remove { share, name, keep_file, force }).await
}
