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
    /// Entries of the other server that cannot be made here, or not with all that they have besides their data.
    #[serde(default)]
    pub missing: u64,
    /// The first of those that are missing, then of those that failed.
    #[serde(default)]
    pub named: Vec<NotArrived>,
}

/// Something that did not arrive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct NotArrived {
    /// Its path on the other server.
    pub path: String,
    /// Why, in words.
    pub why: String,
}

impl ArrivingStatus {
    /// The state in words.
    #[must_use]
    pub fn words(&self) -> String {
        if self.is_done {
            return "all is here".to_owned();
        }
        let mut words = Vec::new();
        if self.is_away {
            words.push("the old server does not answer".to_owned());
        }
        words.push(format!("{} files, {} left", self.files_left, format_size(self.bytes_left)));
        if self.failed > 0 {
            words.push(format!("{} failed and are tried again", self.failed));
        }
        if self.missing > 0 {
            words.push(format!("{} cannot be made here and are only on the old server", self.missing));
        }
        words.join("; ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_only_on_the_old_server_is_never_all_here() {
        let status = |failed, missing| ArrivingStatus {
            share: "studio".into(),
            from: "smb://old/studio".into(),
            is_done: false,
            is_away: false,
            files: 7,
            bytes: 70,
            files_left: 0,
            bytes_left: 0,
            failed,
            missing,
            named: Vec::new(),
        };
        let words = "0 files, 0 B left; 2 failed and are tried again; 3 cannot be made here and are only on the old server";
        assert_eq!(status(2, 3).words(), words);
        assert_eq!(status(0, 0).words(), "0 files, 0 B left");
        assert_eq!(ArrivingStatus { is_done: true, ..status(0, 0) }.words(), "all is here");
    }
}
