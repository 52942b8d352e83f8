//! Comparing, on btrfs and XFS.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{XattrFlags, lsetxattr};
use snapshots::{Dataset, What};

use crate::scene::{Mounted, at, plant, run, text};

/// A planted dataset with the snapshot `s`.
fn dataset(kind: &str) -> Option<(Mounted, Dataset)> {
    let mounted = Mounted::new(kind)?;
    let folder = mounted.root().join("share");
    if kind == "btrfs" {
        assert!(run("btrfs", &["-q", "subvolume", "create", text(&folder)]));
    } else {
        fs::create_dir(&folder).unwrap();
    }
    plant(&folder);
    let dataset = Dataset::find(&folder).unwrap();
    dataset.create("s", at(1)).unwrap();
    Some((mounted, dataset))
}

fn change(folder: &Path) {
    fs::write(folder.join("docs/deep/er/b"), vec![8; 100_000]).unwrap();
    fs::remove_file(folder.join("sparse")).unwrap();
    fs::create_dir(folder.join("added")).unwrap();
    fs::write(folder.join("added/file"), b"x").unwrap();
    lsetxattr(folder.join("docs"), "user.on-a-folder", b"no", XattrFlags::empty()).unwrap();
    fs::set_permissions(folder.join("pipe"), fs::Permissions::from_mode(0o600)).unwrap();
    fs::remove_file(folder.join("dangling")).unwrap();
    std::os::unix::fs::symlink("/elsewhere", folder.join("dangling")).unwrap();
    // The same size and time: only the content differs.
    let time = folder.join("tool").metadata().unwrap().modified().unwrap();
    fs::write(folder.join("tool"), b"!#").unwrap();
    fs::File::open(folder.join("tool")).unwrap().set_modified(time).unwrap();
    assert_eq!(folder.join("tool").metadata().unwrap().uid(), 1234);
}

fn changes(dataset: &Dataset, newer: Option<&str>) -> Vec<(String, What)> {
    let all = dataset.diff("s", newer).unwrap();
    all.into_iter().map(|change| (text(&change.path).to_owned(), change.what)).collect()
}

fn want(rows: &[(&str, What)]) -> Vec<(String, What)> {
    rows.iter().map(|(path, what)| ((*path).to_owned(), what.clone())).collect()
}

fn compares(kind: &str) {
    let Some((_mounted, dataset)) = dataset(kind) else { return };
    assert_eq!(changes(&dataset, None), []);
    change(dataset.folder());
    let rows = want(&[
        ("added", What::Added),
        ("added/file", What::Added),
        ("dangling", What::Modified),
        ("docs", What::Modified),
        ("docs/deep/er/b", What::Modified),
        ("pipe", What::Modified),
        ("sparse", What::Removed),
        ("tool", What::Modified),
    ]);
    assert_eq!(changes(&dataset, None), rows);
    dataset.create("t", at(2)).unwrap();
    fs::write(dataset.folder().join("later"), b"").unwrap();
    assert_eq!(changes(&dataset, Some("t")), rows);
}

#[test]
fn changes_by_path_on_btrfs() {
    compares("btrfs");
}

#[test]
fn changes_by_path_on_xfs() {
    compares("xfs");
}

#[test]
fn renames_are_known_by_inodes_and_told_once() {
    let Some((_mounted, dataset)) = dataset("btrfs") else { return };
    let folder = dataset.folder();
    fs::rename(folder.join("tool"), folder.join("docs/instrument")).unwrap();
    fs::rename(folder.join("docs/deep"), folder.join("moved")).unwrap();
    fs::write(folder.join("moved/er/b"), b"changed").unwrap();
    fs::rename(folder.join("moved/same as a"), folder.join("moved/er/other")).unwrap();
    // A dataset below this one is not entered.
    let below = dataset.make_subdataset(Path::new("below")).unwrap();
    fs::write(below.join("file"), b"x").unwrap();
    let from = |path: &str| What::Renamed { from: PathBuf::from(path) };
    let rows = want(&[
        ("below", What::Added),
        ("docs/instrument", from("tool")),
        ("moved", from("docs/deep")),
        ("moved/er/b", What::Modified),
        ("moved/er/other", from("docs/deep/same as a")),
    ]);
    assert_eq!(changes(&dataset, None), rows);
    dataset.create("t", at(2)).unwrap();
    let since = dataset.diff("t", None).unwrap();
    assert_eq!(since, []);
}
