//! A LUN in the state folder.

use std::path::PathBuf;

/// One LUN.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LunRecord {
    /// The share that it belongs to.
    pub share: String,
    /// Its name there.
    pub name: String,
    /// An image in the share, relative to its folder; `None`: the server's own file.
    pub file: Option<PathBuf>,
    /// Its NAA identifier: locally assigned, random and permanent.
    pub naa: u64,
    /// The word for its target: LUNs of a share with the same word share a target.
    pub target: String,
    /// The part after the prefix in the target's name.
    pub target_suffix: String,
    /// Its number there.
    pub number: u16,
    /// The time of its creation, in seconds since 1970.
    pub created: u64,
    /// The settings file has it, and decides whether and how it is served.
    pub from_settings: bool,
    /// Its file has existed: if it does not exist now, the disk is missing, and an empty one must
    /// not replace it.
    pub made: bool,
    /// It is a snapshot of the LUN with this name in the same share.
    pub snapshot_of: Option<String>,
    /// The options.
    pub options: LunOptions,
}

/// The options of a LUN.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LunOptions {
    /// Bytes of a block.
    pub block_size: u32,
    /// All writes are refused.
    pub read_only: bool,
    /// Patterns of the names of initiators that see it; if empty, all see it.
    pub initiators: Vec<String>,
    /// Patterns of the names of initiators that may only read.
    pub readers: Vec<String>,
}

impl Default for LunOptions {
    fn default() -> Self {
        Self { block_size: 512, read_only: false, initiators: Vec::new(), readers: Vec::new() }
    }
}

impl LunRecord {
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

    /// Whether it is in the target with this word.
    pub(super) fn is_in(&self, share: &str, target: &str) -> bool {
        self.share == share && self.target.eq_ignore_ascii_case(target)
    }
}
