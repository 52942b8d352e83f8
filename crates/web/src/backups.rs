//! The backups of Macs.

use axum::extract::State;
use axum::response::Response;
use serde::Serialize;
use utoipa::ToSchema;

use crate::Api;
use crate::api::{Failure, blocking};
use crate::console::answered;

/// The backups of a Mac.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct BackupStatus {
    /// The share.
    pub share: String,
    /// The name of the bundle without its ending: usually that of the Mac.
    pub mac: String,
    /// The model of the Mac, as it says.
    pub model: Option<String>,
    /// How it is.
    pub state: BackupState,
    /// When the newest backup was completed, in seconds since 1970, as the Mac says; `None` before the first backup.
    pub completed: Option<i64>,
    /// When the bundle was last changed, in seconds since 1970.
    pub changed: i64,
    /// Bytes of its bands; `None`: the bundle is not complete.
    pub size: Option<u64>,
    /// The space of the share for all backups,
    pub limit: Option<u64>,
    /// and what of it is left, or of the disk.
    pub free: Option<u64>,
    /// Who has it open for writing.
    pub users: Vec<String>,
    /// Bytes that they have sent in their sessions. Its growth is the speed of the backup.
    pub received: u64,
}

/// How the backups of a Mac are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BackupState {
    /// The Mac has checked the bundle and found it damaged: it wants to begin a new one.
    Damaged,
    /// A Mac writes into it now.
    BackingUp,
    /// No backup has been completed.
    Incomplete,
    /// The newest backup is older than seven days.
    Overdue,
    /// All is well.
    Good,
}

/// The backups of Macs, in the shares with `time-machine`.
#[utoipa::path(get, path = "/v1/backups", security(("token" = ["read"])), responses((status = 200, description = "The backups", body = Vec<BackupStatus>), (status = "4XX", description = "Refused", body = Failure)))]
pub(crate) async fn backups(State(api): State<Api>) -> Result<Response, Failure> {
    answered(blocking(move || api.manage.backups()).await?)
}
