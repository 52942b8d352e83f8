//! Changes in folders, sent to other programs by HTTP.

use axum::Extension;
use axum::extract::State;
use axum::response::Response;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::Api;
use crate::admitted::Actor;
use crate::api::{Body, Done, Failure, blocking, body, done};
use crate::author::{Author, Peer};
use crate::console::{answered, check_inside};

/// A webhook to make.
#[derive(Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewWebhook {
    /// The share, or a folder of it: `studio/scenes`.
    pub folder: String,
    /// Also all folders below.
    #[serde(default)]
    pub below: bool,
    /// Where changes are sent to: `http` or `https`.
    pub url: String,
    /// The secret of the signatures: 16 to 200 bytes. It is never shown.
    pub secret: String,
    /// The password of the administrator whose session this is.
    pub own_password: Option<String>,
}

// Without the secrets, and without the path of the URL, which may be one.
impl std::fmt::Debug for NewWebhook {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "NewWebhook({}, below: {})", self.folder, self.below)
    }
}

/// A webhook.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct WebhookStatus {
    /// Its number.
    pub id: u64,
    /// The folder that is watched.
    pub folder: String,
    /// Also all folders below.
    pub below: bool,
    /// Where changes are sent to.
    pub url: String,
    /// Messages that were sent since the server started,
    pub sent: u64,
    /// and those that could not be sent, also not by the last attempt.
    pub failed: u64,
    /// Changes that are lost: those of messages that could not be sent.
    pub lost: u64,
    /// How often there were more changes than the server keeps for the webhook.
    pub missed: u64,
    /// When the last message was accepted, in seconds since 1970; `None`: none since the server started.
    pub last_sent: Option<u64>,
    /// Why nothing is sent now; empty: all is well.
    pub error: String,
}

/// The webhooks.
#[utoipa::path(get, path = "/v1/webhooks", security(("token" = ["read"])), responses((status = 200, description = "The webhooks, without their secrets", body = Vec<WebhookStatus>), (status = "4XX", description = "Refused", body = Failure)))]
pub(crate) async fn webhooks(State(api): State<Api>) -> Result<Response, Failure> {
    answered(blocking(move || Ok(api.manage.webhooks())).await?)
}

/// Makes a webhook. It is kept over restarts.
#[utoipa::path(post, path = "/v1/webhooks", request_body = NewWebhook, security(("token" = ["write"])), responses((status = 200, description = "It is made", body = WebhookStatus), (status = "4XX", description = "Refused", body = Failure)))]
pub(crate) async fn add(
    State(api): State<Api>,
    (Extension(actor), peer): (Extension<Actor>, Peer),
    new: Body<NewWebhook>,
) -> Result<Response, Failure> {
    let mut new = body(new)?;
    check_inside(&new.folder)?;
    let author = Author::of(&api, (&actor, peer), new.own_password.take()).await?;
    author.check_verified("a webhook")?;
    answered(blocking(move || api.manage.add_webhook(new)).await?)
}

/// A webhook.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ThisWebhook {
    /// Its number.
    id: u64,
}

/// Removes a webhook.
#[utoipa::path(post, path = "/v1/webhooks/remove", request_body = ThisWebhook, security(("token" = ["write"])), responses((status = 200, description = "It is removed", body = Done), (status = "4XX", description = "Refused", body = Failure)))]
pub(crate) async fn remove(State(api): State<Api>, this: Body<ThisWebhook>) -> Result<Response, Failure> {
    let ThisWebhook { id } = body(this)?;
    done(blocking(move || api.manage.remove_webhook(id)).await?)
}

/// Sends a message without changes to a webhook, once: `{"folder": …, "changes": [], "test": true, …}`.
#[utoipa::path(post, path = "/v1/webhooks/test", request_body = ThisWebhook, security(("token" = ["write"])), responses((status = 200, description = "The program has accepted it", body = Done), (status = "4XX", description = "Refused", body = Failure)))]
pub(crate) async fn test(State(api): State<Api>, this: Body<ThisWebhook>) -> Result<Response, Failure> {
    let ThisWebhook { id } = body(this)?;
    done(blocking(move || api.manage.test_webhook(id)).await?)
}
