//! What is inside a disk image: from a file or bundle to the file systems in it.
//!
//! ```text
//! Source ─► container (sparse bundle, sparse image, UDIF, raw; encrypted or not) ─► partitions ─► Volume
//! ```

use std::fmt;
use std::sync::Arc;

use formats::Time;

use crate::tree::FileSystem;
use crate::{ReadAt, Result, containers, content, partitions};

/// The files of a bundle, by paths relative to it, with `/` between the names.
pub trait Files: Send + Sync {
    /// Opens a file.
    ///
    /// # Errors
    ///
    /// [`crate::Error::NotFound`] if there is no such file; what the source says otherwise.
    fn open(&self, path: &str) -> Result<Arc<dyn ReadAt>>;

    /// The names in a folder, without `.` and `..`.
    ///
    /// # Errors
    ///
    /// [`crate::Error::NotFound`] if there is no such folder; what the source says otherwise.
    fn list(&self, folder: &str) -> Result<Vec<String>>;
}

/// Where an image is.
#[derive(Clone)]
pub enum Source {
    /// A file: a raw image, a sparse image, a UDIF image, a disk.
    File(Arc<dyn ReadAt>),
    /// A folder: a sparse bundle.
    Bundle(Arc<dyn Files>),
}

/// What opens an encrypted image. It is never shown.
#[derive(Clone)]
pub struct Passphrase(String);

impl Passphrase {
    /// A passphrase as a person has typed it.
    #[must_use]
    pub fn new(text: String) -> Self {
        Self(text)
    }

    /// Its bytes in UTF-8.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

impl fmt::Debug for Passphrase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Passphrase(…)")
    }
}

/// A file system in an image.
#[derive(Clone)]
pub struct Volume {
    /// Its name; empty if that is encrypted.
    pub name: String,
    /// The format, as [`FileSystem::format`] says it.
    pub format: String,
    /// Its files, or why they cannot be shown: [`crate::Error::Passphrase`], [`crate::Error::NotSupported`].
    pub files: Result<Arc<dyn FileSystem>>,
    /// The snapshots that it has of itself, the oldest first.
    pub snapshots: Vec<Snapshot>,
}

/// What opens a snapshot when it is asked for.
pub type OpenSnapshot = Arc<dyn Fn() -> Result<Arc<dyn FileSystem>> + Send + Sync>;

/// A snapshot of a file system, which the file system itself has.
#[derive(Clone)]
pub struct Snapshot {
    /// Its name.
    pub name: String,
    /// When it was taken.
    pub taken: Time,
    /// Opens it.
    pub open: OpenSnapshot,
}

/// Finds the file systems in an image. One that cannot be shown is in the list all the same.
///
/// # Errors
///
/// [`crate::Error::Passphrase`] if the image is encrypted as a whole and `passphrase` does not open it;
/// [`crate::Error::NotSupported`] for a container that is not known; [`crate::Error::Damaged`].
pub fn open(source: &Source, passphrase: Option<&Passphrase>) -> Result<Vec<Volume>> {
    let disk = containers::open(source, passphrase)?.disk;
    let mut volumes = Vec::new();
    for partition in partitions::read(&disk)?.partitions {
        let bytes = partition.bytes(&disk);
        volumes.extend(content::volumes(content::of(&partition, &bytes), bytes, passphrase));
    }
    Ok(volumes)
}
