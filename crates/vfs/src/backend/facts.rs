//! What a backend says of itself.

/// Space of a volume, in bytes, and its files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "statvfs(3)")]
pub struct Space {
    pub total: u64,
    pub free: u64,
    pub available: u64,
    pub files: u64,
    pub files_free: u64,
    pub block_size: u32,
    /// The quota that leaves least.
    pub quota: Option<Allowance>,
}

/// What a quota still allows, and what is used of it, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "see above")]
pub struct Allowance {
    pub left: u64,
    pub used: u64,
}

/// What the host's file system can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Longest name, in bytes.
    pub name: u32,
    /// Largest file, in bytes.
    pub file_size: u64,
    /// Most hard links to one file.
    pub links: u32,
    /// Largest extended attribute, in bytes; 0 where there are none.
    pub xattr: u32,
    /// Steps in which the host keeps times, in nanoseconds.
    pub time_step_ns: u32,
}

/// Whether [`Backend::by_key`](super::Backend::by_key) finds the file that a key names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finds {
    /// If it exists: `Stale` is certain.
    Always,
    /// If it was seen before, or a search finds it; its entry has the same key.
    IfSeen,
    /// Files have keys of another form now.
    Never,
}
