//! The times and holds of snapshots that are folders: a small file beside them, or an attribute of their folder, replaced as a
//! whole.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use cephfs::Inode;
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::{Refusal, table_file};

const NAME: &str = ".table";
/// Users can neither see nor change attributes with such a name.
const ATTRIBUTE: &[u8] = b"trusted.fourfold.snapshots";
const FORMAT: u32 = 1;

/// The records by name. An entry without its folder means nothing, and is dropped by the next
/// recovery: it is written before the snapshot is made, and dropped after the snapshot is removed.
#[derive(Debug, Default)]
pub(super) struct RecordTable {
    path: PathBuf,
    /// The folder of CephFS whose attribute it is; `None`: it is the file `path`.
    of: Option<Arc<Inode>>,
    entries: Vec<Entry>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Entry {
    pub(super) name: String,
    /// Nanoseconds since 1970, UTC.
    created: i64,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) held: Vec<String>,
}

#[derive(Serialize, Deserialize)]
struct SnapshotFile {
    format: u32,
    #[serde(default)]
    snapshot: Vec<Entry>,
}

impl Entry {
    pub(super) fn created(&self) -> SystemTime {
        UNIX_EPOCH + Duration::from_nanos(u64::try_from(self.created).unwrap_or(0))
    }
}

impl RecordTable {
    pub(super) fn read(folder: &Path) -> Result<Self, Refusal> {
        let path = folder.join(NAME);
        let written = table_file::read(&path, FORMAT, |written: &SnapshotFile| written.format)?;
        Ok(Self { path, of: None, entries: written.map(|written| written.snapshot).unwrap_or_default() })
    }

    /// The table in an attribute of a folder of CephFS.
    pub(super) fn of_folder(folder: &Arc<Inode>, path: &Path) -> Result<Self, Refusal> {
        let entries = match folder.xattr(ATTRIBUTE) {
            Ok(text) => {
                let text = String::from_utf8_lossy(&text);
                table_file::parse(path, &text, FORMAT, |written: &SnapshotFile| written.format)?.snapshot
            }
            Err(Errno::NODATA) => Vec::new(),
            Err(why) => return Err(Refusal::io("read", path)(why)),
        };
        Ok(Self { path: path.into(), of: Some(folder.clone()), entries })
    }

    pub(super) fn get(&self, name: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.name == name)
    }

    pub(super) fn put(&mut self, name: &str, now: SystemTime) -> Result<(), Refusal> {
        let created = now.duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        let created = i64::try_from(created).unwrap_or(i64::MAX);
        self.replace(Entry { name: name.to_owned(), created, held: Vec::new() })
    }

    /// Records under a second name what is recorded under the first.
    pub(super) fn copy(&mut self, from: &str, to: &str) -> Result<(), Refusal> {
        let Some(entry) = self.get(from) else { return Ok(()) };
        self.replace(Entry { name: to.to_owned(), ..entry.clone() })
    }

    pub(super) fn replace(&mut self, entry: Entry) -> Result<(), Refusal> {
        self.entries.retain(|other| other.name != entry.name);
        self.entries.push(entry);
        self.write()
    }

    /// Drops the entries that do not fulfil the condition.
    pub(super) fn retain(&mut self, is_kept: impl Fn(&str) -> bool) -> Result<(), Refusal> {
        let before = self.entries.len();
        self.entries.retain(|entry| is_kept(&entry.name));
        if self.entries.len() == before { Ok(()) } else { self.write() }
    }

    fn write(&self) -> Result<(), Refusal> {
        let written = SnapshotFile { format: FORMAT, snapshot: self.entries.clone() };
        let Some(folder) = &self.of else { return table_file::write(&self.path, &written) };
        let text = table_file::text(&self.path, &written)?;
        let set = folder.set_xattr(&folder.mount().server(), ATTRIBUTE, text.as_bytes(), 0);
        set.map_err(Refusal::io("write", &self.path))
    }
}
