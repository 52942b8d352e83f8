//! How many files and folders a tree has, so that long work can tell when it will end.

use std::ffi::OsStr;
use std::fs::{self, ReadDir};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// Folders in each other. A tree that is deeper has a loop of bind mounts.
const DEEPEST: usize = 1_000;
/// Names of a folder that are kept at once: as many as the folders of one page, and no more of a folder with a million of them.
const PAGE: usize = 1_024;
/// Entries after which the count asks whether it goes on.
const ASK_EVERY: u64 = 1_024;

/// The entries below a folder. Folders whose names are `skipped` are not counted, nor what is in them. Only names are read, so
/// this takes a small part of the time of a look at each file. `None`: `goes_on` has ended it.
pub(crate) fn count(
    folder: &Path,
    skipped: &dyn Fn(&[u8]) -> bool,
    goes_on: &dyn Fn() -> bool,
) -> Option<u64> {
    let mut levels = vec![CountedFolder::open(folder)];
    let (mut count, mut asked) = (0, 0);
    while let Some(level) = levels.last_mut() {
        if let Some(inner) = level.inner.pop() {
            levels.push(CountedFolder::open(&inner));
            continue;
        }
        match level.entries.take() {
            None => _ = levels.pop(),
            Some(entries) => {
                count += level.read_page(entries, skipped);
                if levels.len() > DEEPEST {
                    levels.pop();
                }
            }
        }
        if count >= asked {
            if !goes_on() {
                return None;
            }
            asked = count + ASK_EVERY;
        }
    }
    Some(count)
}

/// A folder on the way.
struct CountedFolder {
    /// Its entries that are not read yet; `None`: all are, or it cannot be read, which the look itself reports.
    entries: Option<ReadDir>,
    /// Folders among those that were read last, to be counted yet.
    inner: Vec<PathBuf>,
}

impl CountedFolder {
    fn open(folder: &Path) -> Self {
        Self { entries: fs::read_dir(folder).ok(), inner: Vec::new() }
    }

    /// Reads the next entries, and counts them.
    fn read_page(&mut self, mut entries: ReadDir, skipped: &dyn Fn(&[u8]) -> bool) -> u64 {
        let (mut count, mut read) = (0, 0);
        for entry in entries.by_ref().take(PAGE) {
            read += 1;
            let Ok(entry) = entry else { continue };
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if is_folder && skipped(OsStr::as_bytes(&entry.file_name())) {
                continue;
            }
            count += 1;
            if is_folder {
                self.inner.push(entry.path());
            }
        }
        self.entries = (read == PAGE).then_some(entries);
        count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_counted_without_folders_of_servers_until_it_is_ended() {
        let top = tempfile::tempdir().unwrap();
        fs::create_dir_all(top.path().join("films/raw")).unwrap();
        fs::create_dir_all(top.path().join("@eaDir/films")).unwrap();
        for name in ["one", "films/two", "films/raw/three", "@eaDir/four"] {
            fs::write(top.path().join(name), "text").unwrap();
        }
        let skipped = |name: &[u8]| name == b"@eaDir";
        assert_eq!(count(top.path(), &skipped, &|| true), Some(5), "two folders and three files");
        assert_eq!(count(top.path(), &|_| false, &|| true), Some(8));
        assert_eq!(count(top.path(), &skipped, &|| false), None);
        assert_eq!(count(&top.path().join("nothing"), &skipped, &|| true), Some(0));
    }

    #[test]
    fn of_a_large_folder_only_a_page_of_names_is_kept() {
        const FOLDERS: usize = 3 * PAGE + 7;
        let top = tempfile::tempdir().unwrap();
        (0..FOLDERS).for_each(|number| fs::create_dir(top.path().join(number.to_string())).unwrap());
        let (mut level, mut count) = (CountedFolder::open(top.path()), 0);
        while let Some(entries) = level.entries.take() {
            count += level.read_page(entries, &|_| false);
            assert!(level.inner.len() <= PAGE);
            level.inner.clear();
        }
        assert_eq!(count, FOLDERS as u64);
        assert_eq!(super::count(top.path(), &|_| false, &|| true), Some(FOLDERS as u64));
    }
}
