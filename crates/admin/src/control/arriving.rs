//! Shares whose files arrive from another server.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::settings::units::format_size;

/// How far a share with a `from` is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ArrivingStatus {
    /// The share.
    pub share: String,
    /// The URL that its files come from, without the password.
    pub from: String,
    /// All files are here: the other server is not needed any more.
    pub is_done: bool,
    /// The other server did not answer the last request.
    pub is_away: bool,
    /// Files that have arrived since the start of this server.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Files that are not here, as of the last look at all folders.
    pub files_left: u64,
    /// Their bytes.
    pub bytes_left: u64,
    /// Files and folders that failed in the last pass.
    pub failed: u64,
}

impl ArrivingStatus {
    /// The state in words.
    #[must_use]
    pub fn words(&self) -> String {
        let left = format!("{} files, {} left", self.files_left, format_size(self.bytes_left));
        match (self.is_done, self.is_away, self.failed) {
            (true, ..) => "all is here".to_owned(),
            (_, true, _) => format!("the old server does not answer; {left}"),
            (.., 0) => left,
            (.., failed) => format!("{left}; {failed} failed, see the log"),
        }
    }
}
