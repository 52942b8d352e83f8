//! Groups of the server's own: made, changed, removed. They say who people are, so a person who gives the own password changes
//! them.

use axum::Extension;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;
use utoipa::ToSchema;

use crate::Api;
use crate::accounts::LONGEST_NAME;
use crate::admitted::Actor;
use crate::api::{Body, Done, Failure, blocking, body, done};
use crate::author::{Author, Peer};

/// A change of a group of the server's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupChange {
    /// The group.
    pub name: String,
    /// What is changed.
    pub what: GroupEdit,
    /// The account that changes it.
    pub by: String,
}

/// What is changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GroupEdit {
    /// It is made of these accounts.
    Add(Vec<String>),
    /// It has these accounts, and no others.
    Accounts(Vec<String>),
    /// It is removed.
    Remove,
}

/// A group and its accounts.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct GroupAccounts {
    /// The group.
    name: String,
    /// The accounts in it.
    accounts: Vec<String>,
    /// The password of the administrator whose session this is.
    own_password: Option<String>,
}

/// A group.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct OneGroup {
    /// The group.
    name: String,
    /// The password of the administrator whose session this is.
    own_password: Option<String>,
}

/// Makes a group of the server's own.
#[utoipa::path(post, path = "/v1/groups", request_body = GroupAccounts, security(("token" = ["write"])), responses((status = 200, description = "It is made", body = Done), (status = "4XX", description = "Refused", body = Failure)))]
pub(crate) async fn add(
    State(api): State<Api>,
    (Extension(actor), peer): (Extension<Actor>, Peer),
    new: Body<GroupAccounts>,
) -> Result<Response, Failure> {
    let GroupAccounts { name, accounts, own_password } = body(new)?;
    change(api, (actor, peer), (name, GroupEdit::Add(accounts)), own_password).await
}

/// Gives a group of the server's own these accounts, and no others.
#[utoipa::path(post, path = "/v1/groups/change", request_body = GroupAccounts, security(("token" = ["write"])), responses((status = 200, description = "It has these accounts", body = Done), (status = "4XX", description = "Refused", body = Failure)))]
pub(crate) async fn set_accounts(
    State(api): State<Api>,
    (Extension(actor), peer): (Extension<Actor>, Peer),
    changed: Body<GroupAccounts>,
) -> Result<Response, Failure> {
    let GroupAccounts { name, accounts, own_password } = body(changed)?;
    change(api, (actor, peer), (name, GroupEdit::Accounts(accounts)), own_password).await
}

/// Removes a group of the server's own. Its accounts stay.
#[utoipa::path(post, path = "/v1/groups/remove", request_body = OneGroup, security(("token" = ["write"])), responses((status = 200, description = "It is removed", body = Done), (status = "4XX", description = "Refused", body = Failure)))]
pub(crate) async fn remove(
    State(api): State<Api>,
    (Extension(actor), peer): (Extension<Actor>, Peer),
    one: Body<OneGroup>,
) -> Result<Response, Failure> {
    let OneGroup { name, own_password } = body(one)?;
    change(api, (actor, peer), (name, GroupEdit::Remove), own_password).await
}

async fn change(
    api: Api,
    (actor, peer): (Actor, Peer),
    (name, what): (String, GroupEdit),
    own_password: Option<String>,
) -> Result<Response, Failure> {
    let accounts: &[String] = match &what {
        GroupEdit::Add(accounts) | GroupEdit::Accounts(accounts) => accounts,
        GroupEdit::Remove => &[],
    };
    if accounts.iter().chain([&name]).any(|text| text.len() > LONGEST_NAME) {
        let hint = format!("a name has at most {LONGEST_NAME} bytes");
        return Err(Failure::new(StatusCode::BAD_REQUEST, hint));
    }
    let author = Author::of(&api, (&actor, peer), own_password).await?;
    author.check_verified("a group that is made, changed or removed")?;
    let change = GroupChange { name, what, by: author.name };
    done(blocking(move || api.manage.change_group(&change)).await?)
}
