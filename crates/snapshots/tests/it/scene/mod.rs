//! File systems in loop-mounted images, which are gone when they are dropped.

#![allow(dead_code, clippy::unwrap_used, clippy::print_stdout, reason = "a test")]

pub(crate) mod zfs;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::{CWD, FileType, Mode, XattrFlags, lgetxattr, llistxattr, lsetxattr, mknodat};

/// One mounted file system in an image file.
pub(crate) struct Mounted {
    dir: tempfile::TempDir,
}

impl Mounted {
    /// `None`, with a message on standard output, if this user may not mount.
    pub(crate) fn new(kind: &str) -> Option<Self> {
        if !rustix::process::geteuid().is_root() {
            println!("skipped: mounting needs root");
            return None;
        }
        let mounted = Self { dir: tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap() };
        let (image, root) = (mounted.image(), mounted.root());
        fs::File::create(&image).unwrap().set_len(if kind == "xfs" { 400 } else { 256 } << 20).unwrap();
        fs::create_dir(&root).unwrap();
        let mounts = run(&format!("mkfs.{kind}"), &["-q", text(&image)])
            && run("mount", &["-o", "loop", text(&image), text(&root)]);
        if !mounts {
            println!("skipped: no {kind} or no loop device");
            return None;
        }
        Some(mounted)
    }

    pub(crate) fn image(&self) -> PathBuf {
        self.dir.path().join("image")
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.dir.path().join("root")
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        run("umount", &["-l", text(&self.root())]);
    }
}

pub(crate) fn run(program: &str, words: &[&str]) -> bool {
    Command::new(program).args(words).output().is_ok_and(|output| output.status.success())
}

pub(crate) fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Unmounts. A child of another test has the open files until it runs its program, so a few tries may be needed.
pub(crate) fn unmount(place: &Path) -> bool {
    (0..50).any(|_| {
        let is_done = run("umount", &[text(place)]);
        if !is_done {
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
        is_done
    })
}

/// A time of the tests' clock.
pub(crate) fn at(seconds: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(1_700_000_000 + seconds)
}

/// A tree with every kind of entry and metadata.
pub(crate) fn plant(root: &Path) {
    fs::create_dir_all(root.join("docs/deep/er")).unwrap();
    fs::write(root.join("docs/a"), b"alpha").unwrap();
    fs::hard_link(root.join("docs/a"), root.join("docs/deep/same as a")).unwrap();
    fs::write(root.join("docs/deep/er/b"), vec![7; 100_000]).unwrap();
    std::os::unix::fs::symlink("docs/a", root.join("link")).unwrap();
    std::os::unix::fs::symlink("/nowhere", root.join("dangling")).unwrap();
    let sparse = fs::File::create(root.join("sparse")).unwrap();
    sparse.set_len(8 << 20).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&sparse, b"end", (8 << 20) - 3).unwrap();
    fs::write(root.join("tool"), b"#!").unwrap();
    mknodat(CWD, root.join("pipe"), FileType::Fifo, Mode::RUSR, 0).unwrap();
    let attribute = |name: &str, key: &str, value: &[u8]| {
        lsetxattr(root.join(name), key, value, XattrFlags::empty()).unwrap();
    };
    attribute("docs/a", "user.tag", b"red");
    attribute("docs/a", "user.large", &[3; 3000]);
    attribute("docs", "user.on-a-folder", b"yes");
    attribute("link", "trusted.on-a-link", b"yes");
    // Version 2; user::rw-, user:1000:r--, group::r--, mask::r--, other::---
    let acl: Vec<u8> = [[1u16, 6, 0xFFFF, 0xFFFF], [2, 4, 1000, 0], [4, 4, 0xFFFF, 0xFFFF]]
        .iter()
        .chain(&[[16, 4, 0xFFFF, 0xFFFF], [32, 0, 0xFFFF, 0xFFFF]])
        .flatten()
        .flat_map(|word| word.to_le_bytes())
        .collect();
    attribute("docs/deep/er/b", "system.posix_acl_access", &[&2u32.to_le_bytes()[..], &acl].concat());
    std::os::unix::fs::lchown(root.join("tool"), Some(1234), Some(4321)).unwrap();
    std::os::unix::fs::lchown(root.join("link"), Some(1234), Some(4321)).unwrap();
    fs::set_permissions(root.join("tool"), fs::Permissions::from_mode(0o4751)).unwrap();
    fs::set_permissions(root.join("docs/deep"), fs::Permissions::from_mode(0o2705)).unwrap();
    let old = fs::FileTimes::new().set_modified(at(5)).set_accessed(at(6));
    for name in ["docs/a", "docs/deep"] {
        fs::File::open(root.join(name)).unwrap().set_times(old).unwrap();
    }
}

/// All that is known of a tree, by path: kind, mode, owners, time, size, links, attributes, content.
pub(crate) fn described(root: &Path) -> BTreeMap<PathBuf, String> {
    let mut all = BTreeMap::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let inner = path.strip_prefix(root).unwrap().to_owned();
            if inner.starts_with(snapshots::FOLDER) {
                continue;
            }
            let facts = path.symlink_metadata().unwrap();
            if facts.is_dir() {
                folders.push(path.clone());
            }
            all.insert(inner, one(&path, &facts));
        }
    }
    all
}

fn one(path: &Path, facts: &fs::Metadata) -> String {
    let content = match facts.file_type() {
        kind if kind.is_file() => checksum(&fs::read(path).unwrap()).to_string(),
        kind if kind.is_symlink() => format!("-> {}", fs::read_link(path).unwrap().display()),
        kind if kind.is_fifo() => "pipe".into(),
        _ => "folder".into(),
    };
    let links = if facts.is_dir() { 0 } else { facts.nlink() };
    // A file system's own space for folders differs.
    let (size, blocks) = if facts.is_dir() { (0, false) } else { (facts.size(), facts.blocks() > 2048) };
    let (mode, time) = (facts.mode(), (facts.mtime(), facts.mtime_nsec()));
    let owner = (facts.uid(), facts.gid());
    format!("{mode:o} {owner:?} {time:?} {size} {blocks} {links} {:?} {content}", attributes(path))
}

fn attributes(path: &Path) -> BTreeMap<String, u64> {
    let mut names = vec![0; 65_536];
    let length = llistxattr(path, &mut names[..]).unwrap();
    // XFS shows ACLs a second time.
    let is_own = |name: &[u8]| name.is_empty() || name.starts_with(b"trusted.SGI_ACL_");
    let names = names[..length].split(|byte| *byte == 0).filter(|name| !is_own(name));
    let value = |name: &[u8]| {
        let name = String::from_utf8(name.to_vec()).unwrap();
        let mut value = vec![0; 65_536];
        let length = lgetxattr(path, &*name, &mut value[..]).unwrap();
        (name, checksum(&value[..length]))
    };
    names.map(value).collect()
}

fn checksum(bytes: &[u8]) -> u64 {
    use std::hash::{DefaultHasher, Hasher};
    let mut hasher = DefaultHasher::new();
    hasher.write(bytes);
    hasher.finish()
}

/// The names of the snapshots, the newest first.
pub(crate) fn names(dataset: &snapshots::Dataset) -> Vec<String> {
    dataset.list().unwrap().into_iter().map(|snapshot| snapshot.name).collect()
}
