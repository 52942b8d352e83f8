//! The server itself: what waits for its next start, a restart, and files that clients have open and that are to be closed.

use admin::control::DiskHealth;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::admitted::Actor;
use crate::api::{Body, Done, Failure, blocking, body, done};
use crate::{Api, IssuerStatus};

/// What the console asks of the server as a whole.
pub trait ServerControl {
    /// How it is.
    fn server(&self) -> ServerState;

    /// The health of the machine's disks and file systems, as it was seen last.
    fn disks(&self) -> DiskHealth;

    /// Whether the slowest operations are recorded also while no client asks for them.
    fn records_slowest(&self) -> bool;

    /// Whether administrators without a second factor may only set one up. It does not block.
    fn requires_second_factor(&self) -> bool;

    /// What an issuer of certificates is asked for; `None`: none is asked.
    fn issuer(&self) -> Option<IssuerStatus>;

    /// Has the issuer give a certificate, which is taken into use. It is called where a tokio runtime is entered.
    ///
    /// # Errors
    /// It gives none, or none is asked; the lines say why.
    fn order_certificate(&self, by: &str) -> Result<Vec<String>, Vec<String>>;

    /// Stops the server, so that what started it starts it again. It answers before that.
    ///
    /// # Errors
    /// Nothing would start it again; the lines say so.
    fn restart(&self, by: &str) -> Result<Vec<String>, Vec<String>>;

    /// Closes a file, which has this inode number in this share, for all clients that have it open. Their sessions continue.
    ///
    /// # Errors
    /// No client that can be told has it open; the lines say so.
    fn close_open(&self, share: &str, inode: u64) -> Result<Vec<String>, Vec<String>>;
}

/// The server itself.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, ToSchema)]
pub struct ServerState {
    /// The keys of settings that differ from those in force until the next start.
    pub waiting: Vec<String>,
    /// A restart is possible: a service manager would start the server again.
    pub can_restart: bool,
}

/// The server itself: what waits for its next start, and whether it can be restarted from here.
#[utoipa::path(get, path = "/v1/server", security(("token" = ["read"])), responses((status = 200, description = "The server", body = ServerState), (status = "4XX", description = "Refused", body = Failure)))]
pub(crate) async fn server(State(api): State<Api>) -> Result<Response, Failure> {
    Ok(Json(blocking(move || api.manage.server()).await?).into_response())
}

/// The health of the machine's disks and file systems, as it was seen last.
#[utoipa::path(get, path = "/v1/disks", security(("token" = ["read"])), responses((status = 200, description = "The disks", body = DiskHealth), (status = "4XX", description = "Refused", body = Failure)))]
pub(crate) async fn disks(State(api): State<Api>) -> Result<Response, Failure> {
    Ok(Json(blocking(move || api.manage.disks()).await?).into_response())
}

/// Restarts the server. Clients lose their connections and connect again. Only a session of the console does that, and only where
/// a service manager starts the server again.
#[utoipa::path(post, path = "/v1/restart", responses((status = 200, description = "It stops now", body = Done), (status = "4XX", description = "Refused", body = Failure)))]
pub(crate) async fn restart(
    State(api): State<Api>,
    Extension(actor): Extension<Actor>,
) -> Result<Response, Failure> {
    actor.check_person("a restart of the server")?;
    done(blocking(move || api.manage.restart(&actor.name)).await?)
}

/// A file that clients have open, as `GET /v1/opens` lists it.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct WantedOpen {
    /// The share.
    share: String,
    /// The inode number.
    inode: u64,
}

/// Closes a file for all clients of SMB and AFP that have it open. Their sessions continue.
#[utoipa::path(post, path = "/v1/opens/close", request_body = WantedOpen, security(("token" = ["write"])), responses((status = 200, description = "What was closed", body = Done), (status = "4XX", description = "Refused", body = Failure)))]
pub(crate) async fn close(State(api): State<Api>, wanted: Body<WantedOpen>) -> Result<Response, Failure> {
    let WantedOpen { share, inode } = body(wanted)?;
    done(blocking(move || api.manage.close_open(&share, inode)).await?)
}
