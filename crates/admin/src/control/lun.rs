//! Requests and answers about LUNs. Scripts read them: fields may be added, never renamed or
//! removed.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::status::MountLine;

/// A request about LUNs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "lowercase")]
pub enum LunRequest {
    /// Lists all LUNs.
    List,
    /// Makes a LUN, or takes an existing file over.
    Create(NewLunRequest),
    /// Changes the size of a LUN.
    Resize {
        /// Its share.
        share: String,
        /// Its name there.
        name: String,
        /// Bytes.
        size: u64,
        /// The LUN may become smaller, and the data beyond the end are lost.
        #[serde(default)]
        shrink: bool,
    },
    /// Removes a LUN.
    Remove {
        /// Its share.
        share: String,
        /// Its name there.
        name: String,
        /// Its file stays.
        #[serde(default)]
        keep_file: bool,
        /// Also while initiators are logged in.
        #[serde(default)]
        force: bool,
    },
    /// Makes a read-only LUN with the contents of this moment.
    Snapshot {
        /// The share of the LUN.
        share: String,
        /// Its name there.
        name: String,
        /// The name of the snapshot.
        new: String,
        /// All data are copied, even if the file system could share blocks.
        #[serde(default)]
        copy: bool,
    },
    /// Makes another LUN with the same contents.
    Clone {
        /// Its share.
        share: String,
        /// Its name there.
        name: String,
        /// The name of the new LUN.
        new: String,
        /// All data are copied, even if the file system could share blocks.
        #[serde(default)]
        copy: bool,
    },
}

/// A LUN to make.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewLunRequest {
    /// Its share.
    pub share: String,
    /// Its name there.
    pub name: String,
    /// Bytes; `None`: the size of its file, which must exist.
    pub size: Option<u64>,
    /// Bytes of a block.
    pub block_size: u32,
    /// An image inside the share.
    pub file: Option<String>,
    /// All writes are refused.
    pub read_only: bool,
    /// Patterns of the names of initiators that see it.
    pub initiators: Vec<String>,
    /// Patterns of the names of initiators that may only read.
    pub readers: Vec<String>,
    /// The word for its target.
    pub target: Option<String>,
    /// Its number there.
    pub number: Option<u16>,
}

/// A LUN.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct LunStatus {
    /// Its share.
    pub share: String,
    /// Its name there.
    pub name: String,
    /// Its target's whole name.
    pub target: String,
    /// Its number there.
    pub number: u16,
    /// Its NAA identifier in hexadecimal digits, as initiators show it.
    pub naa: String,
    /// Bytes.
    pub size: u64,
    /// Bytes that its file uses on the disk; `None`: unknown.
    pub used: Option<u64>,
    /// Bytes of a block.
    pub block_size: u32,
    /// All writes are refused.
    pub read_only: bool,
    /// Its file.
    #[schema(value_type = String)]
    pub file: PathBuf,
    /// The file is the server's own, and is removed with the LUN.
    pub own_file: bool,
    /// Patterns of the names of initiators that see it.
    pub initiators: Vec<String>,
    /// Patterns of the names of initiators that may only read.
    pub readers: Vec<String>,
    /// It is a snapshot of the LUN with this name in the same share.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshot_of: Option<String>,
    /// The settings file names it.
    pub from_settings: bool,
    /// Seconds since 1970.
    pub created: u64,
    /// It is served.
    pub served: bool,
    /// Why it is not served.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// The other server of the cluster that serves its blocks now. This one shows it in the standby state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active_at: Option<String>,
    /// The initiators that are logged in to its target.
    pub sessions: Vec<LunSession>,
    /// How initiators reach it.
    pub connect: Vec<MountLine>,
}

/// An initiator that is logged in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LunSession {
    /// Its name.
    pub initiator: String,
    /// The authenticated account.
    pub user: Option<String>,
    /// Its addresses.
    #[schema(value_type = Vec<String>)]
    pub peers: Vec<std::net::SocketAddr>,
}

/// The progress of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    /// Bytes done.
    pub done: u64,
    /// Bytes in all; 0: unknown, or not counted in bytes.
    pub total: u64,
}

/// The final answer.
#[derive(Debug, Clone, PartialEq)]
pub enum LunAnswer {
    /// The answer to [`LunRequest::List`].
    Luns(Vec<LunStatus>),
    /// The request was executed; lines about it.
    Done(Vec<String>),
}

impl LunStatus {
    /// `studio/video`.
    #[must_use]
    pub fn full_name(&self) -> String {
        format!("{}/{}", self.share, self.name)
    }

    /// Whether this is the LUN with these names.
    #[must_use]
    pub fn is(&self, share: &str, name: &str) -> bool {
        self.share == share && self.name.eq_ignore_ascii_case(name)
    }
}
