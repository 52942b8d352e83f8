//! What the server keeps beside files: sidecars, and the store of streams in the folder of a dataset.
//! docs/on-disk-format.md has the layouts. A change of it is a change of its file.

use std::collections::HashMap;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::lgetxattr;

use crate::difference::same_content;

/// The store, in the folder of a dataset.
pub(crate) const STORE: &str = ".fourfold-streams";
/// On a sidecar: the file that it belongs to.
const OWNER: &str = "user.fourfold.owner";
/// Attributes with keys of the host, which are others in a copy of the file.
pub(crate) const BOOKKEEPING: [&[u8]; 4] =
    [b"user.fourfold.owner", b"user.fourfold.sidecar", b"user.fourfold.absorbed", b"user.fourfold.moving"];

/// The folders of one tree's store, by the inode numbers of their files.
#[derive(Debug, Default)]
pub(crate) struct TreeStore {
    folders: HashMap<u64, PathBuf>,
    /// Whether all folders are understood.
    pub(crate) is_known: bool,
}

impl TreeStore {
    /// Lists the store of a tree.
    pub(crate) fn of(tree: &Path) -> Self {
        let mut store = Self { folders: HashMap::new(), is_known: true };
        let Ok(listed) = fs::read_dir(tree.join(STORE)) else { return store };
        for entry in listed.flatten() {
            let Some(key) = key(entry.file_name().as_bytes()) else { continue };
            match inode(&key) {
                Some(inode) => _ = store.folders.insert(inode, entry.path()),
                None => store.is_known = false,
            }
        }
        store
    }

    /// Whether the store has the same for a file of this inode number as another store for another one.
    pub(crate) fn is_same(&self, inode: u64, other: &Self, other_inode: u64) -> io::Result<bool> {
        match (self.folders.get(&inode), other.folders.get(&other_inode)) {
            (None, None) => Ok(true),
            (Some(one), Some(other)) => same_folder(one, other),
            (Some(only), None) | (None, Some(only)) => Ok(files(only)?.is_empty()),
        }
    }
}

/// A key in hexadecimal digits, as the folders of a store are named.
fn key(name: &[u8]) -> Option<Vec<u8>> {
    wire::hex::decode_any(std::str::from_utf8(name).ok()?)
}

/// The inode number in a file handle of Linux, after the byte with its type: those of btrfs and XFS
/// (include/linux/exportfs.h, enum `fid_type`).
fn inode(key: &[u8]) -> Option<u64> {
    let (kind, handle) = key.split_first()?;
    match kind {
        // FILEID_BTRFS_WITHOUT_PARENT and with it; XFS_FILEID_TYPE_64FLAG with FILEID_INO32_GEN.
        0x4d..=0x4f | 0x81 | 0x82 => Some(u64::from_ne_bytes(handle.get(..8)?.try_into().ok()?)),
        // FILEID_INO32_GEN, and with the parent.
        1 | 2 => Some(u32::from_ne_bytes(handle.get(..4)?.try_into().ok()?).into()),
        _ => None,
    }
}

fn files(folder: &Path) -> io::Result<Vec<(std::ffi::OsString, Metadata)>> {
    let mut files: Vec<_> = fs::read_dir(folder)?
        .flatten()
        .filter_map(|entry| Some((entry.file_name(), entry.metadata().ok()?)))
        .filter(|(name, _)| name != "unfinished")
        .collect();
    files.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(files)
}

fn same_folder(one: &Path, other: &Path) -> io::Result<bool> {
    let (mine, theirs) = (files(one)?, files(other)?);
    let kind = |all: &[(std::ffi::OsString, Metadata)]| -> Vec<_> {
        all.iter().map(|(name, facts)| (name.clone(), facts.len())).collect()
    };
    if kind(&mine) != kind(&theirs) {
        return Ok(false);
    }
    for (name, _) in &mine {
        if !same_content(&one.join(name), &other.join(name))? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The path of the file that a sidecar of the server belongs to, in the same tree.
pub(crate) fn owner_of_sidecar(tree: &Path, sidecar: &Path) -> Option<PathBuf> {
    let name = sidecar.file_name()?.as_bytes().strip_prefix(b"._")?;
    let mut probe = [0; 256];
    lgetxattr(tree.join(sidecar), OWNER, &mut probe[..]).ok()?;
    Some(sidecar.with_file_name(std::ffi::OsStr::from_bytes(name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handles_have_the_inode_number() {
        let number = 259_u64.to_ne_bytes();
        let folder = |kind: u8, handle: &[u8]| {
            let bytes = [&[kind][..], handle, &[9; 8]].concat();
            let name: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            key(name.as_bytes()).and_then(|key| inode(&key))
        };
        assert_eq!(folder(0x4d, &number), Some(259));
        assert_eq!(folder(0x81, &number), Some(259));
        assert_eq!(folder(1, &259_u32.to_ne_bytes()), Some(259));
        assert_eq!(folder(0xff, &number), None);
        assert_eq!(key(b"restoring"), None);
    }
}
