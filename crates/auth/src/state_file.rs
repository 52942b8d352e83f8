//! The TOML files of the state folder. Each begins with the version of its format.

use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;
use toml_edit::Item;
use toml_edit::de::Deserializer;

use crate::durable;
use crate::reason::reason;

/// What is the same for all files of one kind.
#[derive(Debug, Clone, Copy)]
pub struct StateFile {
    /// The version of the format that this program writes.
    pub format: u32,
    /// What a person does if the file is damaged, besides restoring it from a backup.
    pub if_damaged: &'static str,
}

/// Why a file was not read or written.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// An error of the file system.
    #[error("{}: {why}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The error. It is not the error's `source`: it is part of the line, and would be reported
        /// twice.
        why: io::Error,
    },
    /// The file was written by a later version.
    #[error(
        "{}: the file has format {found}, and this program knows formats up to {known}; use the newer program \
         that wrote it",
        path.display()
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// The version in the file.
        found: u32,
        /// The latest version that this program knows.
        known: u32,
    },
    /// The file does not have this program's format.
    #[error("{}: the file is damaged ({reason}); restore it from a backup{instead}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The parser's message.
        reason: String,
        /// [`StateFile::if_damaged`].
        instead: &'static str,
    },
}

impl FileError {
    /// An error of the file system at this path.
    pub fn io(path: &Path) -> impl Fn(io::Error) -> Self {
        move |why| Self::Io { path: path.into(), why }
    }
}

impl StateFile {
    /// Reads the file at `path`. `None`: there is no file.
    ///
    /// # Errors
    /// It cannot be read or parsed.
    pub fn read<T: DeserializeOwned>(&self, path: &Path) -> Result<Option<T>, FileError> {
        match std::fs::read_to_string(path) {
            Ok(text) => self.parse(path, &text).map(Some),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(why) => Err(FileError::io(path)(why)),
        }
    }

    /// The content of a text. `path` is for messages. The version is read first: the rest of a later version is unknown.
    ///
    /// # Errors
    /// It was written by a later version, or is damaged.
    pub fn parse<T: DeserializeOwned>(&self, path: &Path, text: &str) -> Result<T, FileError> {
        let damaged = |error: toml_edit::de::Error| self.damaged(path, reason(text, &error));
        let document = toml_edit::Document::parse(text).map_err(|error| damaged(error.into()))?;
        let format = document.get("format").and_then(Item::as_integer);
        let Some(found) = format.and_then(|format| u32::try_from(format).ok()) else {
            return Err(self.damaged(path, "it does not say its format".into()));
        };
        if found > self.format {
            return Err(FileError::Newer { path: path.into(), found, known: self.format });
        }
        T::deserialize(Deserializer::from(document)).map_err(damaged)
    }

    /// The text of a content, which has the version in its first field, `format`. `path` is for messages.
    ///
    /// # Errors
    /// The content cannot be written as TOML.
    pub fn text(&self, path: &Path, content: &impl Serialize) -> Result<String, FileError> {
        toml_edit::ser::to_string_pretty(content).map_err(|error| self.damaged(path, error.to_string()))
    }

    /// Replaces the file at `path`. On return it is on the disk.
    ///
    /// # Errors
    /// The old file is still complete.
    pub fn write(&self, path: &Path, content: &impl Serialize) -> Result<(), FileError> {
        durable::replace(path, self.text(path, content)?.as_bytes()).map_err(FileError::io(path))
    }

    /// The file is damaged, for this reason.
    #[must_use]
    pub fn damaged(&self, path: &Path, reason: String) -> FileError {
        FileError::Damaged { path: path.into(), reason, instead: self.if_damaged }
    }
}
