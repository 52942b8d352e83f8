//! The journal: a line of JSON for each file that was copied. The last line may be cut by a crash; then it is ignored.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};

use client::tree::{Stamp, TreeEntry};
use lock::Mutex;
use serde::{Deserialize, Serialize};

use crate::ranks;
use crate::{Error, Result};

/// The longest line that is read.
const LONGEST_LINE: usize = 64 << 10;

/// The first line: which copy it is of.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct JournalHead {
    from: String,
    to: String,
}

/// A copied file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct JournalEntry {
    path: String,
    #[serde(flatten)]
    state: SourceState,
    /// SHA-256 of the data.
    sum: String,
}

/// What tells a changed file from an unchanged one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SourceState {
    length: u64,
    modified: Option<Stamp>,
    changed: Option<Stamp>,
}

impl SourceState {
    pub(crate) fn of(entry: &TreeEntry) -> Self {
        Self { length: entry.length, modified: entry.modified, changed: entry.changed }
    }
}

#[derive(Debug)]
pub(crate) struct MigrationJournal {
    path: PathBuf,
    known: HashMap<String, SourceState>,
    file: Mutex<File, ranks::Migration>,
}

impl MigrationJournal {
    /// Opens it, or makes it.
    pub(crate) fn open(path: &Path, from: &str, to: &str) -> Result<Self> {
        let failed =
            |error: &dyn std::fmt::Display| Error::Journal { path: path.to_owned(), why: error.to_string() };
        let mut file = OpenOptions::new()
            .read(true)
            .append(true)
            .create(true)
            .open(path)
            .map_err(|error| failed(&error))?;
        let head = JournalHead { from: from.to_owned(), to: to.to_owned() };
        let mut known = HashMap::new();
        let (mut is_first, mut ends_whole) = (true, true);
        let mut lines = BufReader::new(&file);
        let mut line = Vec::new();
        loop {
            line.clear();
            let count = lines.read_until(b'\n', &mut line).map_err(|error| failed(&error))?;
            if count == 0 {
                break;
            }
            ends_whole = line.ends_with(b"\n");
            if count > LONGEST_LINE {
                return Err(failed(&"it is no journal of a migration"));
            }
            if std::mem::take(&mut is_first) {
                match serde_json::from_slice::<JournalHead>(&line) {
                    Ok(found) if found == head => {}
                    Ok(found) => {
                        let why = format!(
                            "it belongs to the copy of {} to {}; name another file with --journal",
                            found.from, found.to
                        );
                        return Err(failed(&why));
                    }
                    Err(_) => return Err(failed(&"it is no journal of a migration")),
                }
            } else if let Ok(copied) = serde_json::from_slice::<JournalEntry>(&line) {
                known.insert(copied.path, copied.state);
            }
        }
        if is_first {
            let mut line = serde_json::to_vec(&head).map_err(|error| failed(&error))?;
            line.push(b'\n');
            file.write_all(&line).map_err(|error| failed(&error))?;
        } else if !ends_whole {
            file.write_all(b"\n").map_err(|error| failed(&error))?;
        }
        Ok(Self { path: path.to_owned(), known, file: Mutex::new(file) })
    }

    /// Whether the journal has the file in another state. `None`: it does not have it.
    pub(crate) fn has_changed(&self, path: &str, entry: &TreeEntry) -> Option<bool> {
        self.known.get(path).map(|state| *state != SourceState::of(entry))
    }

    /// Adds a file that was copied.
    pub(crate) fn add(&self, path: &str, entry: &TreeEntry, sum: &str) -> Result<()> {
        let failed = |error: &dyn std::fmt::Display| Error::Journal {
            path: self.path.clone(),
            why: error.to_string(),
        };
        let copied =
            JournalEntry { path: path.to_owned(), state: SourceState::of(entry), sum: sum.to_owned() };
        let mut line = serde_json::to_vec(&copied).map_err(|error| failed(&error))?;
        line.push(b'\n');
        let mut file = self.file.lock();
        file.write_all(&line).map_err(|error| failed(&error))
    }
}

#[cfg(test)]
mod tests {
    use client::tree::Kind;

    use super::*;

    fn entry(length: u64, changed: i64) -> TreeEntry {
        let (modified, changed) = (Some((7, 8)), Some((changed, 0)));
        TreeEntry {
            name: "a".into(),
            kind: Kind::File,
            length,
            modified,
            changed,
            links: 1,
            is_locked: false,
            mode: None,
            owner: None,
        }
    }

    #[test]
    fn a_journal_that_was_cut_goes_on() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal");
        let journal = MigrationJournal::open(&path, "smb://a/b", "/c").unwrap();
        journal.add("x/a", &entry(5, 1), "00").unwrap();
        journal.add("x/b", &entry(6, 1), "00").unwrap();
        let whole = std::fs::read(&path).unwrap();
        std::fs::write(&path, &whole[..whole.len() - 9]).unwrap();
        let journal = MigrationJournal::open(&path, "smb://a/b", "/c").unwrap();
        assert_eq!(journal.has_changed("x/a", &entry(5, 1)), Some(false));
        assert_eq!(journal.has_changed("x/a", &entry(5, 2)), Some(true));
        assert_eq!(journal.has_changed("x/b", &entry(6, 1)), None);
        journal.add("x/b", &entry(6, 1), "00").unwrap();
        let journal = MigrationJournal::open(&path, "smb://a/b", "/c").unwrap();
        assert_eq!(journal.has_changed("x/b", &entry(6, 1)), Some(false));
    }

    #[test]
    fn the_journal_of_another_copy_and_any_other_file_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal");
        MigrationJournal::open(&path, "smb://a/b", "/c").unwrap();
        let other = MigrationJournal::open(&path, "smb://a/b", "/d").unwrap_err().to_string();
        assert!(other.contains("--journal"), "{other}");
        std::fs::write(&path, "[shares]\n").unwrap();
        assert!(MigrationJournal::open(&path, "smb://a/b", "/c").is_err());
        assert_eq!(std::fs::read(&path).unwrap(), b"[shares]\n");
    }
}
