//! Copies a tree of files from one server to another with all that files are, and proves what arrived.
//!
//! ```text
//! walk (one thread) ─► jobs ─► workers: copy, compare ─► journal, report
//!  lists both sides              a session with each side
//!  makes folders
//! ```
//!
//! A file is done when its date is right: the date is written last. So a copy that was interrupted goes on where it stopped, and
//! a later pass copies what has changed since.

mod accounts;
mod arriving;
mod comparing;
mod copying;
mod journal;
mod limit;
mod overlap;
mod ranks;
mod report;
mod rights;
mod walk;
mod worker;

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use client::Target;

pub use accounts::Accounts;
pub use arriving::OldServer;
pub use limit::Limit;
pub use overlap::is_one_folder;
pub use report::{Failure, Loss, Progress, Report, RightsReport};

/// Why a copy did not begin, or ended.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A server fails.
    #[error("{0}: {1}")]
    Server(String, client::Error),
    /// The journal cannot be read or written.
    #[error("the journal {path}: {why}", path = .path.display())]
    Journal {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// What is copied would be written into what it is copied from.
    #[error(
        "{from} and {to} are one folder, or one is inside the other: nothing was copied and nothing was removed. Name a destination \
         that is not in the source, and does not have the source in it"
    )]
    Overlap {
        /// The source.
        from: String,
        /// The destination.
        to: String,
    },
    /// The user ended it.
    #[error("stopped; the same command goes on where it stopped")]
    Stopped,
}

impl Error {
    fn overlap(plan: &Plan) -> Self {
        Self::Overlap { from: plan.from.to_string(), to: plan.to.to_string() }
    }
}

/// The result of a copy.
pub type Result<T> = std::result::Result<T, Error>;

/// What is done with the two trees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Copies what is new or has changed, and compares what was copied if `verify` is set.
    Copy {
        /// Reads back each copied file.
        verify: bool,
        /// Removes from the destination what the source does not have.
        delete: bool,
    },
    /// Changes nothing: compares all files.
    Compare,
    /// Changes nothing: counts what a copy would do. No data are read, and the destination gets no probe: if it is the source, a copy
    /// says so.
    Plan {
        /// Counts what the source does not have.
        delete: bool,
    },
}

/// What is copied, and how.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Where files come from.
    pub from: Target,
    /// Where they go to.
    pub to: Target,
    /// The entries of the source's folder that are copied; empty: all.
    pub only: Vec<String>,
    /// The name that the only entry gets in the destination; `None`: its own.
    pub as_name: Option<String>,
    /// What is done.
    pub mode: Mode,
    /// Files that are copied at the same time, each with its own sessions.
    pub streams: usize,
    /// Bytes per second, by the time of the day.
    pub limits: Vec<Limit>,
    /// Which account of the source is which one of the destination.
    pub accounts: Accounts,
    /// Where the copied files are noted, so that a later pass sees changes that the date does not show.
    pub journal: Option<PathBuf>,
    /// How long a server may take for an answer.
    pub timeout: Duration,
}

/// Copies or compares. `watch` is called about ten times a second.
///
/// # Errors
/// A server cannot be reached or refuses the login, the journal cannot be used, or `stop` was set. What happens to single files
/// is in the report.
pub fn run(plan: &Plan, stop: &AtomicBool, watch: &mut dyn FnMut(&Progress)) -> Result<Report> {
    walk::run(plan, stop, watch)
}
