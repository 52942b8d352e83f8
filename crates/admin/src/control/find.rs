//! The request to find files, its answer, and how the indexes of shares are. Scripts read the answer: fields may be added, never
//! renamed or removed.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::settings::units::format_size;

/// The most files of one answer.
pub const MOST_FOUND: usize = 10_000;

/// A request to find files.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FindRequest {
    /// What is asked, in the language of docs/search.md.
    pub query: String,
    /// The share. Without one: all shares.
    #[serde(default)]
    pub share: Option<String>,
    /// The path of a folder in the share, in bytes: only what is in it or below.
    #[serde(default)]
    pub path: Vec<u8>,
    /// The account by whose rights is searched. Without one: the user of the host that asks, which the server learns from the
    /// socket.
    #[serde(default)]
    pub account: Option<String>,
    /// Search in snapshots, for what is not at its place any more.
    #[serde(default)]
    pub snapshots: bool,
    /// The most files.
    pub limit: usize,
}

/// What was found.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct FindAnswer {
    /// The files and folders, share by share.
    pub files: Vec<FoundFile>,
    /// There are more.
    pub more: bool,
    /// Shares whose index is not complete yet, or is not kept up to date: something may be missing.
    pub incomplete: Vec<String>,
    /// Shares of the request without an index.
    pub without_index: Vec<String>,
}

/// A file or folder that was found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct FoundFile {
    /// The share.
    pub share: String,
    /// The path in the share. Bytes that are no UTF-8 are U+EF80 to U+EFFF.
    pub path: String,
    /// The path on the server, in bytes.
    pub host_path: Vec<u8>,
    /// What people call it, such as `pdf` or `folder`.
    pub kind: String,
    /// Bytes of its data; none for a folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// When its data was changed, in seconds since 1970.
    pub modified: i64,
    /// The newest snapshot that has it, if snapshots were searched. The paths are those that it had.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshot: Option<FoundSnapshot>,
}

/// A snapshot in which a file was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FoundSnapshot {
    /// Its name, such as `hourly.3`.
    pub name: String,
    /// When it was taken, in seconds since 1970.
    pub taken: i64,
}

/// How the index of a share is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SearchStatus {
    /// The share.
    pub share: String,
    /// The words of contents are indexed, too.
    pub contents: bool,
    /// Entries of the index.
    pub entries: u64,
    /// Its bytes in the state folder.
    pub bytes: u64,
    /// It is being built or compared: folders that are done, and folders that are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub building: Option<(u64, u64)>,
    /// Why it is not kept up to date.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// Snapshots that were not read yet.
    #[serde(default)]
    pub unread_snapshots: usize,
}

impl SearchStatus {
    /// The state in words.
    #[must_use]
    pub fn words(&self) -> String {
        let size = format!("{} entries, {}", self.entries, format_size(self.bytes));
        match (&self.problem, self.building) {
            (Some(problem), _) => format!("{size}; stopped: {problem}"),
            (None, Some((done, total))) => format!("{size}; being built: {done} of {total} folders"),
            (None, None) if self.unread_snapshots > 0 => {
                format!("{size}; snapshots to be read: {}", self.unread_snapshots)
            }
            (None, None) => size,
        }
    }
}
