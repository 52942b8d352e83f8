//! The request to restore files of a snapshot, and its answer. Scripts read the answer: fields may be
//! added, never renamed or removed.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The most files and folders that an answer names. The others are only counted.
pub const MOST_NAMED: usize = 10_000;

/// A request to restore a file or folder. Paths are bytes, because names need not be UTF-8; they are
/// relative to the folder of the share, and an empty one is that folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RestoreRequest {
    /// The share.
    pub share: String,
    /// Its snapshot.
    pub snapshot: String,
    /// The path in the snapshot.
    pub path: Vec<u8>,
    /// The path in the share.
    pub to: Vec<u8>,
    /// An existing file that differs is not replaced.
    #[serde(default)]
    pub keep: bool,
    /// What a restored folder has and the snapshot does not is removed.
    #[serde(default)]
    pub delete: bool,
    /// Nothing is changed.
    #[serde(default)]
    pub dry_run: bool,
}

/// What a restore did, or in a dry run would do.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RestoreReport {
    /// Files and folders that are again what they were.
    pub restored: u64,
    /// Those that were the same already.
    pub unchanged: u64,
    /// Those that the snapshot does not have.
    pub removed: u64,
    /// Those that stay as they are.
    pub refused: u64,
    /// Folders of other datasets, which have snapshots of their own.
    pub other_datasets: u64,
    /// All but the unchanged ones, as far as they are named.
    pub entries: Vec<RestoredEntry>,
    /// Nothing was changed.
    pub dry_run: bool,
}

/// A file or folder in the answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RestoredEntry {
    /// Its path in the share. Bytes that are not UTF-8 are replaced.
    pub path: String,
    /// `restored`, `removed`, `refused` or `other-dataset`.
    pub did: String,
    /// Why it was refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}
