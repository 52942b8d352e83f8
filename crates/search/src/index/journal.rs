//! What is to be looked at: entries that were changed since the last segment was written. After a crash they are looked at again.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use wire::Reader;

use crate::entry::FolderKey;
use crate::error::{At, IndexFailure};

const NAME: &str = "changes";
/// Bytes of a journal after which a segment is written.
pub(crate) const LONG: u64 = 4 << 20;

/// The open journal.
pub(crate) struct Journal {
    path: PathBuf,
    file: File,
    length: u64,
}

impl Journal {
    /// Opens or makes the journal of an index.
    pub(crate) fn open(folder: &Path) -> Result<Self, IndexFailure> {
        let path = folder.join(NAME);
        let file = OpenOptions::new().create(true).append(true).open(&path).at(&path)?;
        let length = file.metadata().at(&path)?.len();
        Ok(Self { path, file, length })
    }

    /// The entries that a journal names. What was cut off by a crash is left out.
    pub(crate) fn read(folder: &Path) -> Vec<(FolderKey, Vec<u8>)> {
        let bytes = fs::read(folder.join(NAME)).unwrap_or_default();
        let mut r = Reader::new(&bytes);
        let mut entries = Vec::new();
        while let Ok(entry) = record(&mut r) {
            entries.push(entry);
        }
        entries
    }

    /// Adds entries. They survive the end of this process, not that of the host.
    pub(crate) fn add<'a>(
        &mut self,
        entries: impl Iterator<Item = (&'a FolderKey, &'a [u8])>,
    ) -> Result<(), IndexFailure> {
        let mut bytes = Vec::new();
        for (folder, name) in entries {
            bytes.push(folder.len() as u8);
            bytes.extend(&folder[..]);
            bytes.extend((name.len() as u16).to_le_bytes());
            bytes.extend(name);
        }
        self.file.write_all(&bytes).at(&self.path)?;
        self.length += bytes.len() as u64;
        Ok(())
    }

    pub(crate) fn is_long(&self) -> bool {
        self.length > LONG
    }

    /// All of it is in segments.
    pub(crate) fn clear(&mut self) -> Result<(), IndexFailure> {
        if self.length > 0 {
            self.file.set_len(0).at(&self.path)?;
            self.length = 0;
        }
        Ok(())
    }
}

fn record(r: &mut Reader<'_>) -> Result<(FolderKey, Vec<u8>), wire::Malformed> {
    let length = usize::from(r.u8()?);
    let folder = FolderKey::from(r.take(length)?);
    let length = usize::from(r.u16_le()?);
    Ok((folder, r.take(length)?.to_vec()))
}
