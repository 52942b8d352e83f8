//! Why the index cannot be used, in sentences for the operator.

use std::path::{Path, PathBuf};

/// The failures of the index. Each message says what the operator can do about it.
#[derive(Debug, thiserror::Error)]
pub enum IndexError {
    /// Another process holds the file.
    #[error(
        "{path}: in use: another server runs with this state folder; stop it or give --state another folder"
    )]
    InUse {
        /// The file.
        path: PathBuf,
    },
    /// The file says a format version that this program does not know.
    #[error(
        "{path}: written by a newer version of this program (format {found}, this one knows {known}): run that \
         version, or restore the file from before the upgrade"
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// The version it says.
        found: u64,
        /// The newest version that this program knows.
        known: u64,
    },
    /// The file's content cannot be what this program wrote.
    #[error(
        "{path}: damaged ({why}): restore it from a backup, or move it away and start again; then every volume and \
         file gets a new id, and clients must mount again and renew their aliases"
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// A tenant has given all the numbers that it may give in a volume.
    #[error("every number of the volume has been given")]
    Exhausted,
    /// A table that peers fill has reached its named limit.
    #[error("too many entries")]
    TooMany,
    /// A name or value is longer than its named limit.
    #[error("name or value too long")]
    TooLong,
    /// What several servers have in common cannot be read or changed.
    #[error("what the servers of the cluster have in common: {0}")]
    Shared(String),
    /// The disk under the state folder failed, or is full.
    #[error("{path}: {why}")]
    Disk {
        /// The file or folder.
        path: PathBuf,
        /// What the host said.
        why: String,
    },
}

impl IndexError {
    /// The file has content that the program did not write.
    pub fn damaged(path: &Path, why: impl ToString) -> Self {
        Self::Damaged { path: path.to_owned(), why: why.to_string() }
    }

    pub(super) fn disk(path: &Path, why: impl ToString) -> Self {
        Self::Disk { path: path.to_owned(), why: why.to_string() }
    }

    /// The meaning of a database failure for its file.
    pub(super) fn database(path: &Path, error: redb::Error) -> Self {
        match error {
            redb::Error::DatabaseAlreadyOpen => Self::InUse { path: path.to_owned() },
            redb::Error::Io(error) if !is_about_content(&error) => Self::disk(path, error),
            redb::Error::PreviousIo => Self::disk(path, "the disk failed before"),
            other => Self::damaged(path, other),
        }
    }
}

/// Whether an I/O error tells of bytes that are wrong or missing rather than of the disk.
fn is_about_content(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{InvalidData, UnexpectedEof};
    matches!(error.kind(), InvalidData | UnexpectedEof)
}
