//! What servers that count the files of a folder together tell each other: the quota is counted by one, and the others follow.

use formats::Result;

/// What a server has changed since it was asked last.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changes {
    /// Inode numbers, and what the files counted with before their first change.
    pub files: Vec<(u64, u64)>,
    /// Nothing is left out.
    pub is_whole: bool,
}

/// The other servers that change files of a folder while this one counts them. They follow already.
pub trait Others {
    /// What they have changed since this was called last. Waits for them.
    ///
    /// # Errors
    /// They do not answer: there is no result.
    fn changed(&mut self) -> Result<Changes>;
}

/// The result of a recount.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RecountResult {
    /// What all files took when it began.
    pub bytes: u64,
    /// What clients of this server had changed by then, since it counts.
    pub own: i64,
    /// Nothing was missed.
    pub is_exact: bool,
}
