//! The request to scrub a share or what the server keeps of all shares, and its answer. Scripts read the answer: fields may be
//! added, never renamed or removed.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A request to look for what is not as the server leaves it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScrubRequest {
    /// The share. Without one: what the state folder has of all shares.
    pub share: Option<String>,
    /// The path in the share, in bytes; an empty one is the share's folder, with all that belongs to the share.
    pub path: Vec<u8>,
    /// Mends what can be mended without losing data. Else nothing is changed.
    pub repair: bool,
}

/// What a scrub has found.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ScrubReport {
    /// The share or folder; `None`: the state folder.
    pub share: Option<String>,
    /// Files, folders and rows that were looked at.
    pub looked: u64,
    /// What is wrong.
    pub found: u64,
    /// What of it was mended.
    pub mended: u64,
    /// What of it a repair would mend.
    pub mendable: u64,
    /// What could not be looked at.
    pub unreadable: u64,
    /// It was ended before all was looked at.
    pub ended: bool,
    /// What is wrong, as far as it is named: 10,000 at most.
    pub findings: Vec<ScrubFinding>,
}

/// What is wrong with a file, or with what the server keeps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ScrubFinding {
    /// Where: a path in the share or in the state folder. Bytes that are not UTF-8 are replaced.
    pub path: String,
    /// A word for what is wrong, such as `sidecar-alone`.
    pub kind: String,
    /// What is wrong.
    pub what: String,
    /// What it means for clients.
    pub meaning: String,
    /// What mends it.
    pub remedy: String,
    /// `mendable`, `mended` or `left`.
    pub outcome: String,
    /// Why it was left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Where it was moved to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moved_to: Option<String>,
}

impl ScrubReport {
    /// What is wrong and was not mended.
    #[must_use]
    pub fn left(&self) -> u64 {
        self.found - self.mended
    }
}
