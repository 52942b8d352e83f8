//! A LUN as the state folder knows it.

use std::path::PathBuf;

/// One LUN.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LunRecord {
    /// The share it belongs to.
    pub share: String,
    /// Its name there.
    pub name: String,
    /// An image in the share, from its folder on; `None`: the server's own file.
    pub file: Option<PathBuf>,
    /// Its NAA identifier: locally assigned, random, and the same for ever.
    pub naa: u64,
    /// What its target is called: LUNs of a share with the same word share one.
    pub target: String,
    /// What follows the prefix in the target's name.
    pub target_suffix: String,
    /// Its number there.
    pub number: u16,
    /// When it was made, in seconds since 1970.
    pub created: u64,
    /// It is one of the settings file, which says how it is served, and whether.
    pub from_settings: bool,
    /// Its file was there once: if it is not, the disk is missing, and an empty one must not take its place.
    pub made: bool,
    /// How it is served.
    pub options: LunOptions,
}

/// How a LUN is served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LunOptions {
    /// Bytes of a block.
    pub block_size: u32,
    /// Nobody may write.
    pub read_only: bool,
    /// Patterns of names of those who see it; all when empty.
    pub initiators: Vec<String>,
    /// Patterns of names of those who may only read.
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

    /// Whether this is the LUN of these names.
    #[must_use]
    pub fn is(&self, share: &str, name: &str) -> bool {
        self.share == share && self.name.eq_ignore_ascii_case(name)
    }

    /// Whether it is in the target of this word.
    pub(super) fn is_in(&self, share: &str, target: &str) -> bool {
        self.share == share && self.target.eq_ignore_ascii_case(target)
    }
}
