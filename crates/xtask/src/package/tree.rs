//! The files of a package, and the archives that are made of them.

use std::collections::BTreeMap;
use std::io::Write;

use anyhow::{Context, Result};
use flate2::{Compression, GzBuilder};
use tar::{EntryType, Header};

#[derive(Clone, Debug)]
enum TreeNode {
    Folder { mode: u32 },
    File { mode: u32, bytes: Vec<u8> },
}

/// A folder, or a file with its bytes.
#[derive(Clone, Copy, Debug)]
pub struct TreeEntry<'a> {
    pub path: &'a str,
    mode: u32,
    pub bytes: Option<&'a [u8]>,
}

impl TreeEntry<'_> {
    /// The mode with the bits of the kind, as stat(2) has it.
    pub fn whole_mode(&self) -> u32 {
        self.mode | if self.bytes.is_some() { 0o100_000 } else { 0o040_000 }
    }
}

/// Files by their paths, without a slash at the beginning. Folders above a file need not be added.
#[derive(Clone, Debug, Default)]
pub struct PackedTree(BTreeMap<String, TreeNode>);

impl PackedTree {
    pub fn file(&mut self, path: &str, bytes: impl Into<Vec<u8>>) {
        self.insert(path, TreeNode::File { mode: 0o644, bytes: bytes.into() });
    }

    pub fn program(&mut self, path: &str, bytes: impl Into<Vec<u8>>) {
        self.insert(path, TreeNode::File { mode: 0o755, bytes: bytes.into() });
    }

    pub fn folder(&mut self, path: &str, mode: u32) {
        self.insert(path, TreeNode::Folder { mode });
    }

    fn insert(&mut self, path: &str, node: TreeNode) {
        for (end, _) in path.match_indices('/') {
            self.0.entry(path[..end].to_owned()).or_insert(TreeNode::Folder { mode: 0o755 });
        }
        self.0.insert(path.to_owned(), node);
    }

    /// The paths and contents of the files.
    pub fn files(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.0.iter().filter_map(|(path, node)| match node {
            TreeNode::File { bytes, .. } => Some((path.as_str(), bytes.as_slice())),
            _ => None,
        })
    }

    /// All folders and files, in the order of their paths.
    pub fn entries(&self) -> impl Iterator<Item = TreeEntry<'_>> {
        self.0.iter().map(|(path, node)| match node {
            TreeNode::Folder { mode } => TreeEntry { path, mode: *mode, bytes: None },
            TreeNode::File { mode, bytes } => TreeEntry { path, mode: *mode, bytes: Some(bytes) },
        })
    }

    /// What the files take on a disk with blocks of 1 KiB, in KiB, as Debian counts.
    pub fn kib(&self) -> u64 {
        let file = |bytes: &[u8]| (bytes.len() as u64).div_ceil(1024);
        self.0
            .values()
            .map(|node| if let TreeNode::File { bytes, .. } = node { file(bytes) } else { 1 })
            .sum()
    }

    /// All below `prefix` as a tar archive: sorted, owned by root, with this time.
    pub fn tar(&self, prefix: &str, time: u64) -> Result<Vec<u8>> {
        let mut archive = tar::Builder::new(Vec::new());
        for (path, node) in &self.0 {
            let mut header = Header::new_gnu();
            let (kind, mode, bytes): (_, _, &[u8]) = match node {
                TreeNode::Folder { mode } => (EntryType::Directory, *mode, &[]),
                TreeNode::File { mode, bytes } => (EntryType::Regular, *mode, bytes),
            };
            header.set_entry_type(kind);
            header.set_mode(mode);
            header.set_uid(0);
            header.set_gid(0);
            header.set_username("root")?;
            header.set_groupname("root")?;
            header.set_mtime(time);
            header.set_size(bytes.len() as u64);
            let slash = if kind == EntryType::Directory { "/" } else { "" };
            let path = format!("{prefix}{path}{slash}");
            archive.append_data(&mut header, &path, bytes).with_context(|| format!("cannot pack {path}"))?;
        }
        Ok(archive.into_inner()?)
    }
}

/// Compressed as well as it can be, without a name and a time.
pub fn gzip(bytes: &[u8]) -> Result<Vec<u8>> {
    compressed(bytes, Compression::best())
}

/// Compressed without a name and a time.
pub fn compressed(bytes: &[u8], how: Compression) -> Result<Vec<u8>> {
    let mut encoder = GzBuilder::new().mtime(0).write(Vec::new(), how);
    encoder.write_all(bytes)?;
    Ok(encoder.finish()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(paths: &[&str]) -> PackedTree {
        let mut tree = PackedTree::default();
        for path in paths {
            tree.file(path, path.as_bytes());
        }
        tree.folder("var/lib/x", 0o700);
        tree
    }

    #[test]
    fn the_same_files_give_the_same_bytes_in_any_order() {
        let pack = |paths: &[&str]| gzip(&tree(paths).tar("./", 1_795_000_000).unwrap()).unwrap();
        let first = pack(&["usr/bin/b", "etc/a.toml", "usr/share/doc/b/c"]);
        assert_eq!(first, pack(&["usr/share/doc/b/c", "usr/bin/b", "etc/a.toml"]));
        assert_ne!(first, pack(&["usr/share/doc/b/d", "usr/bin/b", "etc/a.toml"]));
    }

    #[test]
    fn entries_have_a_fixed_owner_and_time_and_come_after_their_folder() {
        let bytes = tree(&["usr/bin/b"]).tar("", 77).unwrap();
        let mut archive = tar::Archive::new(bytes.as_slice());
        let found: Vec<(String, u32)> = archive
            .entries()
            .unwrap()
            .map(|entry| {
                let entry = entry.unwrap();
                let header = entry.header();
                assert_eq!(
                    (header.uid().unwrap(), header.gid().unwrap(), header.mtime().unwrap()),
                    (0, 0, 77)
                );
                (entry.path().unwrap().display().to_string(), header.mode().unwrap())
            })
            .collect();
        let found: Vec<(&str, u32)> = found.iter().map(|(path, mode)| (path.as_str(), *mode)).collect();
        assert_eq!(
            found,
            [
                ("usr/", 0o755),
                ("usr/bin/", 0o755),
                ("usr/bin/b", 0o644),
                ("var/", 0o755),
                ("var/lib/", 0o755),
                ("var/lib/x/", 0o700)
            ]
        );
    }
}
