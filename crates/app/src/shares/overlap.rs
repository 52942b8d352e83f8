//! Whether two folders of this machine are one, or one is inside the other. [`migrate`] has the proof for servers.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// Folders in each other.
const DEEPEST: usize = 200;

/// A folder by its device and inode: links, and mounts of one folder at two places, have the same.
fn number(folder: &Path) -> Option<(u64, u64)> {
    fs::metadata(folder).ok().filter(fs::Metadata::is_dir).map(|about| (about.dev(), about.ino()))
}

/// Whether a folder is another one, or its path leads through it.
pub(crate) fn is_in(inner: &Path, outer: &Path) -> bool {
    let Some(wanted) = number(outer) else { return false };
    let path = inner.canonicalize().unwrap_or_else(|_| inner.to_path_buf());
    path.ancestors().any(|folder| number(folder) == Some(wanted))
}

/// Whether a folder is another one or anywhere below it, also if it is mounted elsewhere, too. All folders below are looked at.
pub(crate) fn is_found_in(inner: &Path, outer: &Path) -> bool {
    is_in(inner, outer) || number(inner).is_some_and(|inner| has(outer, inner, 0))
}

fn has(folder: &Path, wanted: (u64, u64), depth: usize) -> bool {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    folders.any(|entry| {
        let path = entry.path();
        number(&path) == Some(wanted) || depth < DEEPEST && has(&path, wanted, depth + 1)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_does_not_hide_that_a_folder_is_inside() {
        let top = tempfile::tempdir().unwrap();
        let at = |name: &str| top.path().join(name);
        fs::create_dir_all(at("a/b/c")).unwrap();
        fs::create_dir(at("other")).unwrap();
        std::os::unix::fs::symlink(at("a/b"), at("link")).unwrap();
        for (inner, outer, expected) in [
            ("a", "a", true),
            ("a/b/c", "a", true),
            ("link/c", "a", true),
            ("a/b/c", "link", true),
            ("a", "a/b", false),
            ("other", "a", false),
            ("missing", "a", false),
        ] {
            assert_eq!(is_in(&at(inner), &at(outer)), expected, "{inner} {outer}");
            assert_eq!(is_found_in(&at(inner), &at(outer)), expected, "{inner} {outer}");
        }
    }
}
