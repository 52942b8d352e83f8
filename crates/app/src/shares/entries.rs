//! How many files and folders a tree has, so that long work can tell when it will end.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// Folders in each other. A tree that is deeper has a loop of bind mounts.
const DEEPEST: usize = 1_000;
/// Entries after which the count asks whether it goes on.
const ASK_EVERY: u64 = 1_024;

/// The entries below a folder. Folders whose names are `skipped` are not counted, nor what is in them. Only names are read, so
/// this takes a small part of the time of a look at each file. `None`: `goes_on` has ended it.
pub(crate) fn count(
    folder: &Path,
    skipped: &dyn Fn(&[u8]) -> bool,
    goes_on: &dyn Fn() -> bool,
) -> Option<u64> {
    let mut count = 0;
    let mut folders: Vec<(PathBuf, usize)> = vec![(folder.into(), 0)];
    while let Some((folder, depth)) = folders.pop() {
        if !goes_on() {
            return None;
        }
        // What cannot be read is reported by the look itself.
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            let name = entry.file_name();
            if is_folder && skipped(OsStr::as_bytes(&name)) {
                continue;
            }
            count += 1;
            if count % ASK_EVERY == 0 && !goes_on() {
                return None;
            }
            if is_folder && depth < DEEPEST {
                folders.push((entry.path(), depth + 1));
            }
        }
    }
    Some(count)
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
}
