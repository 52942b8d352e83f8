//! What the checks of file systems in images say: problems, and how far they are. A check reads only.

/// Something that is wrong, by structure and place, and by file where that is known.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Problem {
    /// The structure in the words of its specification, such as "catalogue node 17".
    pub structure: String,
    /// Where it begins, in bytes of the partition that has the file system.
    pub place: u64,
    /// What is wrong.
    pub problem: String,
    /// The path of the file that is affected, from the root of its volume, if that is known.
    pub file: Option<String>,
}

/// What watches a check.
pub trait Observer {
    /// A problem was found. A check stops by itself after [`MOST_PROBLEMS`].
    fn problem(&mut self, problem: Problem);

    /// `done` of `total` bytes of metadata have been read; `total` is an estimate that may grow. The check stops if this
    /// returns `false`.
    fn progress(&mut self, done: u64, total: u64) -> bool;
}

/// How a check ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Completion {
    /// Everything was read. It is sound if no problem was told.
    Whole,
    /// The observer stopped it, or there were too many problems.
    Stopped,
    /// Something could not be checked: the text says what and why, such as an encrypted volume without its passphrase.
    Partial(String),
}

/// How many problems a check tells before it stops: the rest would only follow from the first ones.
pub const MOST_PROBLEMS: usize = 1000;
