//! Why something was not done, as a sentence that says the next step.

use std::io;
use std::path::{Path, PathBuf};

/// Why an operation was refused or failed.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// The file system of the folder cannot make snapshots.
    #[error(
        "{}: its file system ({kind}) cannot make snapshots; make a pool with `fourfold pool create FILE SIZE DIR` \
         and move the folder into it", folder.display()
    )]
    NoEngine {
        /// The folder.
        folder: PathBuf,
        /// The type of the file system, as in /proc/self/mountinfo.
        kind: String,
    },
    /// A name that no snapshot can have.
    #[error("{name:?} cannot be the name of a snapshot: {why}; choose another name")]
    Name {
        /// The name.
        name: String,
        /// The rule that it breaks.
        why: &'static str,
    },
    /// A name that is taken.
    #[error("there is already a snapshot {name}; choose another name, or remove that snapshot first")]
    Exists {
        /// The name.
        name: String,
    },
    /// A name that no snapshot has.
    #[error("there is no snapshot {name} of {}; `fourfold snapshot list` shows all", folder.display())]
    Missing {
        /// The name.
        name: String,
        /// The folder of the dataset.
        folder: PathBuf,
    },
    /// A snapshot that must not be removed.
    #[error(
        "the snapshot {name} is held ({}); release it first: `fourfold snapshot release TAG SNAPSHOT`",
        tags.join(", ")
    )]
    Held {
        /// The snapshot.
        name: String,
        /// The tags by which it is held.
        tags: Vec<String>,
    },
    /// A tag that does not fit the operation.
    #[error("the snapshot {name} {why}; `fourfold snapshot list` shows the tags of each")]
    Tag {
        /// The snapshot.
        name: String,
        /// What is wrong.
        why: String,
    },
    /// A path that is not inside the dataset or the snapshot.
    #[error("{}: {why}; give a path inside the dataset, without .. and not absolute", path.display())]
    Path {
        /// The path.
        path: PathBuf,
        /// What is wrong.
        why: &'static str,
    },
    /// A file or folder that is in the way.
    #[error("{} exists already; choose another place, or move it away first", path.display())]
    InTheWay {
        /// The file or folder.
        path: PathBuf,
    },
    /// The folder for snapshots is not safe to use.
    #[error("{}: {why}; move it away: the next snapshot makes a new one", path.display())]
    Unsafe {
        /// The folder.
        path: PathBuf,
        /// What is wrong.
        why: &'static str,
    },
    /// The table of times and holds, or of pools, cannot be read.
    #[error(
        "{}: the file is damaged ({why}); restore it from a backup, or move it away: what it recorded is then lost",
        path.display()
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// A program of the host failed.
    #[error("`{command}` failed: {said}")]
    Command {
        /// The command line.
        command: String,
        /// Its message.
        said: String,
    },
    /// The file system has no room left for a snapshot.
    #[error(
        "cannot {what}: the file system is full; remove files or a snapshot (`fourfold snapshot list`, \
         `fourfold snapshot remove SHARE@NAME`), then try again"
    )]
    Full {
        /// The operation.
        what: String,
    },
    /// A program of the host is missing.
    #[error("`{program}` cannot be run ({why}); install the package {package}")]
    Program {
        /// The program.
        program: String,
        /// The package that has it.
        package: &'static str,
        /// The error.
        why: io::Error,
    },
    /// A program of the host did not end in time, and was ended.
    #[error("`{command}` did not end within {seconds} s; check the disk (`dmesg`), then try again")]
    Timeout {
        /// The command line.
        command: String,
        /// The limit.
        seconds: u64,
    },
    /// An error of the file system.
    #[error("cannot {what} {}: {why}", path.display())]
    Io {
        /// The operation.
        what: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The error. It is not the error's `source`: it is part of the sentence.
        why: io::Error,
    },
    /// Something else, with its next step.
    #[error("{0}")]
    Other(String),
    /// A test stopped the operation; see [`crate::steps`].
    #[error("a test stopped this operation")]
    Stopped,
}

impl Refusal {
    /// Makes a function for `map_err`.
    pub(crate) fn io<E: Into<io::Error>>(what: &'static str, path: &Path) -> impl FnOnce(E) -> Self + use<E> {
        let path = path.to_owned();
        move |why| match why.into() {
            why if matches!(why.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded) => {
                Self::Full { what: format!("{what} {}", path.display()) }
            }
            why => Self::Io { what, path, why },
        }
    }
}
