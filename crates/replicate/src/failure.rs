//! Why a replication ended early, as a sentence that says the next step.

use std::io;
use std::path::{Path, PathBuf};

use snapshots::Refusal;

/// Why a replication ended early.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// A file of this side.
    #[error("cannot {what} {}: {why}", path.display())]
    Io {
        /// The operation.
        what: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The error. It is not the error's `source`: it is part of the sentence.
        why: io::Error,
    },
    /// The connection ended or failed.
    #[error("the connection to the other side ended ({0}); run the command again: it continues where it was")]
    Ended(io::Error),
    /// What arrived is no message of this version.
    #[error(
        "the other side sent something else than a replication ({0}); `fourfold` of the same version must be there, and the \
         shell's start-up files must print nothing"
    )]
    Stream(String),
    /// A message that must not come now.
    #[error(
        "the other side sent a message that does not belong here ({0}); use the same version of `fourfold` on both sides"
    )]
    Order(&'static str),
    /// The other side reported why it ended.
    #[error("the other side: {0}")]
    Remote(String),
    /// A snapshot.
    #[error(transparent)]
    Snapshot(#[from] Refusal),
    /// The host refused a look-up of a file by its key.
    #[error("{}: {why}", path.display())]
    Key {
        /// The file.
        path: PathBuf,
        /// The error.
        why: vfs::Error,
    },
    /// The destination is on the source's machine, and overlaps with this source.
    #[error(
        "{} and the destination are one folder, or one is inside the other: nothing was changed; replicate to another place",
        .0.display()
    )]
    Overlap(PathBuf),
    /// Something else, with its next step.
    #[error("{0}")]
    Other(String),
}

/// The result of a part of a replication.
pub(crate) type Result<T> = std::result::Result<T, Failure>;

impl Failure {
    /// Makes a function for `map_err`.
    pub(crate) fn io<E: Into<io::Error>>(what: &'static str, path: &[u8]) -> impl FnOnce(E) -> Self + use<E> {
        let path = shown(path).to_owned();
        move |why| Self::Io { what, path, why: why.into() }
    }
}

/// A path of a dataset, for people and for calls.
pub(crate) fn shown(path: &[u8]) -> &Path {
    use std::os::unix::ffi::OsStrExt;
    Path::new(std::ffi::OsStr::from_bytes(if path.is_empty() { b"." } else { path }))
}
