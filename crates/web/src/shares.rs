//! Shares: made, changed, ended; and the folders of the server that could become one.
//!
//! All of this needs a person. The answers tell which folders the server has.

use std::collections::BTreeMap;
use std::path::PathBuf;

use axum::Extension;
use axum::extract::State;
use axum::response::Response;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::Api;
use crate::admitted::Actor;
use crate::api::{Body, Done, Failure, blocking, body};
use crate::author::{Author, Peer, changed};
use crate::console::answered;

/// A folder to share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewShare {
    /// The name that clients see.
    pub name: String,
    /// The folder on the server, an absolute path; with `%U` at its end, each user has a folder in it.
    pub path: String,
    /// The folder is made if it is missing. The folder above it is there.
    pub make_folder: bool,
    /// Settings of the share, as `fourfold set` takes them.
    pub properties: BTreeMap<String, String>,
}

/// Settings of a share that change together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShareChange {
    /// The share.
    pub name: String,
    /// The values as `fourfold set` takes them; `None`: the setting is removed.
    pub properties: BTreeMap<String, Option<String>>,
}

/// Folders of the server that could be shared over the network.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, ToSchema)]
pub struct HostFolders {
    /// The folder that was asked for, without links and `..`; `None`: the list has the places to begin at.
    #[schema(value_type = Option<String>)]
    pub path: Option<PathBuf>,
    /// The folder above it, if that could be shared, too.
    #[schema(value_type = Option<String>)]
    pub above: Option<PathBuf>,
    /// The folders in it, sorted by name.
    pub folders: Vec<HostFolder>,
    /// There are more folders than the list has.
    pub more: bool,
}

/// A folder of the server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct HostFolder {
    /// Its name; of a place to begin at, its path.
    pub name: String,
    /// Its path.
    #[schema(value_type = String)]
    pub path: PathBuf,
    /// The shares that it is the folder of.
    pub shares: Vec<String>,
}

/// A folder to share.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SharedFolder {
    /// The name that clients see.
    name: String,
    /// The folder on the server, an absolute path. With `%U` at its end, each user has a folder in it.
    path: String,
    /// Make the folder if it is missing. The folder above it must be there, and may be shared itself.
    #[serde(default)]
    make_folder: bool,
    /// Settings of the share, as `fourfold set` takes them: `{"editors": "ada,grace"}`.
    #[serde(default)]
    properties: BTreeMap<String, String>,
    /// The password of the administrator whose session this is. It is needed for what changes identity or trust.
    own_password: Option<String>,
}

/// Shares a folder of the server, with its settings. The change can be taken back as those of settings.
#[utoipa::path(post, path = "/v1/shares", request_body = SharedFolder, security(("token" = ["write"])), responses((status = 200, description = "It is shared", body = Done), (status = "4XX", description = "Refused", body = Failure)))]
pub(crate) async fn share(
    State(api): State<Api>,
    (Extension(actor), peer): (Extension<Actor>, Peer),
    new: Body<SharedFolder>,
) -> Result<Response, Failure> {
    let SharedFolder { name, path, make_folder, properties, own_password } = body(new)?;
    let by = Author::of(&api, (&actor, peer), own_password).await?;
    let new = NewShare { name, path, make_folder, properties };
    changed(blocking(move || api.manage.share(&new, &by)).await?)
}

/// Settings of a share that change together.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ChangedShare {
    /// The share.
    name: String,
    /// The values as `fourfold set` takes them; null removes the setting, so that it is inherited or counts by default.
    properties: BTreeMap<String, Option<String>>,
    /// The password of the administrator whose session this is. It is needed for what changes identity or trust.
    own_password: Option<String>,
}

/// Changes settings of a share in one step. The change can be taken back as those of single settings.
#[utoipa::path(post, path = "/v1/shares/change", request_body = ChangedShare, security(("token" = ["write"])), responses((status = 200, description = "What was applied", body = Done), (status = "4XX", description = "Refused", body = Failure)))]
pub(crate) async fn change(
    State(api): State<Api>,
    (Extension(actor), peer): (Extension<Actor>, Peer),
    change: Body<ChangedShare>,
) -> Result<Response, Failure> {
    let ChangedShare { name, properties, own_password } = body(change)?;
    let by = Author::of(&api, (&actor, peer), own_password).await?;
    let change = ShareChange { name, properties };
    changed(blocking(move || api.manage.change_share(&change, &by)).await?)
}

/// A share to end.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct EndedShare {
    /// Its name.
    name: String,
    /// The shares below it end, too.
    #[serde(default)]
    recursive: bool,
    /// The password of the administrator whose session this is. It is needed for what changes identity or trust.
    own_password: Option<String>,
}

/// Ends the sharing of a folder, whose files stay. The change can be taken back as those of settings.
#[utoipa::path(post, path = "/v1/shares/remove", request_body = EndedShare, security(("token" = ["write"])), responses((status = 200, description = "It is no longer shared", body = Done), (status = "4XX", description = "Refused", body = Failure)))]
pub(crate) async fn unshare(
    State(api): State<Api>,
    (Extension(actor), peer): (Extension<Actor>, Peer),
    ended: Body<EndedShare>,
) -> Result<Response, Failure> {
    let EndedShare { name, recursive, own_password } = body(ended)?;
    let by = Author::of(&api, (&actor, peer), own_password).await?;
    changed(blocking(move || api.manage.unshare(&name, recursive, &by)).await?)
}

/// Another name for a share.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RenamedShare {
    /// Its name.
    name: String,
    /// The new one.
    new: String,
    /// The password of the administrator whose session this is. It is needed for what changes identity or trust.
    own_password: Option<String>,
}

/// Gives a share another name. Clients must mount it by the new one. The change can be taken back as those of settings.
#[utoipa::path(post, path = "/v1/shares/rename", request_body = RenamedShare, security(("token" = ["write"])), responses((status = 200, description = "It has the new name", body = Done), (status = "4XX", description = "Refused", body = Failure)))]
pub(crate) async fn rename(
    State(api): State<Api>,
    (Extension(actor), peer): (Extension<Actor>, Peer),
    renamed: Body<RenamedShare>,
) -> Result<Response, Failure> {
    let RenamedShare { name, new, own_password } = body(renamed)?;
    let by = Author::of(&api, (&actor, peer), own_password).await?;
    changed(blocking(move || api.manage.rename_share(&name, &new, &by)).await?)
}

/// A folder of the server.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct WantedFolder {
    /// Its absolute path. Without it, the places to begin at: `share-roots`, and the folders of shares.
    path: Option<String>,
    /// The password of the administrator whose session this is.
    own_password: Option<String>,
}

/// The folders in a folder of the server that could be shared over the network. It changes nothing, and needs a person, because
/// it tells which folders the server has.
#[utoipa::path(post, path = "/v1/folders", request_body = WantedFolder, security(("token" = ["write"])), responses((status = 200, description = "The folders", body = HostFolders), (status = "4XX", description = "Refused", body = Failure)))]
pub(crate) async fn folders(
    State(api): State<Api>,
    (Extension(actor), peer): (Extension<Actor>, Peer),
    wanted: Body<WantedFolder>,
) -> Result<Response, Failure> {
    let WantedFolder { path, own_password } = body(wanted)?;
    let by = Author::of(&api, (&actor, peer), own_password).await?;
    by.check_verified("a look at the folders of the server")?;
    answered(blocking(move || api.manage.host_folders(path.as_deref())).await?)
}
