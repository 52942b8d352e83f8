//! Why an index cannot be read or written.

use std::io;
use std::path::{Path, PathBuf};

/// Why an index cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum IndexFailure {
    /// The disk of the state folder fails or is full.
    #[error("{}: {error}", path.display())]
    Disk {
        /// The file.
        path: PathBuf,
        /// What the host says.
        error: io::Error,
    },
    /// The bytes contradict the format.
    #[error("{} is damaged: {problem}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        problem: &'static str,
    },
    /// The file is of another version of this program.
    #[error("{} is of another version", path.display())]
    OtherVersion {
        /// The file.
        path: PathBuf,
    },
}

impl IndexFailure {
    pub(crate) fn damaged(path: &Path, problem: &'static str) -> Self {
        Self::Damaged { path: path.to_owned(), problem }
    }

    /// Whether the files have to be made anew.
    pub(crate) fn needs_rebuilding(&self) -> bool {
        !matches!(self, Self::Disk { .. })
    }
}

/// Adds the path to errors of the host. A file that ends too early is damaged.
pub(crate) trait At<T> {
    fn at(self, path: &Path) -> Result<T, IndexFailure>;
}

impl<T> At<T> for io::Result<T> {
    fn at(self, path: &Path) -> Result<T, IndexFailure> {
        self.map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => IndexFailure::damaged(path, "it ends too early"),
            io::ErrorKind::NotFound => IndexFailure::damaged(path, "it is missing"),
            _ => IndexFailure::Disk { path: path.to_owned(), error },
        })
    }
}
