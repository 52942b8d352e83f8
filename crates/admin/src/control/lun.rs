//! What is asked and said about LUNs. Scripts read it: fields may be added, never renamed or removed.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::status::MountLine;

/// What can be asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "lowercase")]
pub enum LunRequest {
    /// All of them.
    List,
    /// Make one, or take one over that is there.
    Create(NewLunRequest),
    /// Give one another size.
    Resize {
        /// Its share.
        share: String,
        /// Its name there.
        name: String,
        /// Bytes.
        size: u64,
        /// Smaller is meant, and what is behind the end goes.
        #[serde(default)]
        shrink: bool,
    },
    /// Remove one.
    Remove {
        /// Its share.
        share: String,
        /// Its name there.
        name: String,
        /// Its file stays.
        #[serde(default)]
        keep_file: bool,
        /// Even while somebody is logged in.
        #[serde(default)]
        force: bool,
    },
    /// Make another one with the same contents.
    Clone {
        /// Its share.
        share: String,
        /// Its name there.
        name: String,
        /// The other one's.
        new: String,
        /// All is copied, even where the file system could share blocks.
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
    /// Bytes; none: as its file, which must be there.
    pub size: Option<u64>,
    /// Bytes of a block.
    pub block_size: u32,
    /// An image inside the share.
    pub file: Option<String>,
    /// Nobody may write.
    pub read_only: bool,
    /// Patterns of names of those who see it.
    pub initiators: Vec<String>,
    /// Patterns of names of those who may only read.
    pub readers: Vec<String>,
    /// What its target is called.
    pub target: Option<String>,
    /// Its number there.
    pub number: Option<u16>,
}

/// A LUN.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
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
    /// Bytes that its file takes of the disk; none: it cannot be told.
    pub used: Option<u64>,
    /// Bytes of a block.
    pub block_size: u32,
    /// Nobody may write.
    pub read_only: bool,
    /// Its file.
    pub file: PathBuf,
    /// The file is the server's own, and goes with the LUN.
    pub own_file: bool,
    /// Patterns of names of those who see it.
    pub initiators: Vec<String>,
    /// Patterns of names of those who may only read.
    pub readers: Vec<String>,
    /// The settings file names it.
    pub from_settings: bool,
    /// Seconds since 1970.
    pub created: u64,
    /// It can be reached.
    pub served: bool,
    /// Why it cannot be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// Who is logged in to its target.
    pub sessions: Vec<LunSession>,
    /// How initiators reach it.
    pub connect: Vec<MountLine>,
}

/// An initiator that is logged in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LunSession {
    /// Its name.
    pub initiator: String,
    /// The account with which it has proved itself.
    pub user: Option<String>,
    /// From where.
    pub peers: Vec<std::net::SocketAddr>,
}

/// How far something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    /// Bytes done.
    pub done: u64,
    /// Bytes in all; 0: it is not known yet, or nothing that is counted in bytes.
    pub total: u64,
}

/// What is answered in the end.
#[derive(Debug, Clone, PartialEq)]
pub enum LunAnswer {
    /// To [`LunRequest::List`].
    Luns(Vec<LunStatus>),
    /// It was done; lines worth saying.
    Done(Vec<String>),
}

impl LunStatus {
    /// `studio/video`.
    #[must_use]
    pub fn full_name(&self) -> String {
        format!("{}/{}", self.share, self.name)
    }

    /// Whether this is the LUN of these names.
    #[must_use]
    pub fn is(&self, share: &str, name: &str) -> bool {
        self.share == share && self.name.eq_ignore_ascii_case(name)
    }
}
