//! Where a folder is, so that the other side of a replication can tell whether it has the same folder, one around it or one inside
//! it: ssh may lead back to this machine. A destination gets what the source has and loses the rest, so the two must not overlap.
//!
//! A folder is known by the boot ID of the kernel, its device and its inode. Links, bind mounts and containers do not change
//! them. Copies of a virtual machine have the same machine ID, but not the same boot ID.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use sha2::{Digest, Sha256};

use crate::record::boot;
use crate::wire::Id;

/// What is hashed before a folder, so that no snapshot has its identity.
const FOLDER: &[u8] = b"the folder of a dataset";
const ABOVE: &[u8] = b"above the folder of a dataset";

/// A folder and those above it, by device and inode. Empty if the kernel tells no boot ID.
pub(crate) struct FolderLocation {
    boot: String,
    /// The folder itself comes first.
    folders: Vec<(u64, u64)>,
}

impl FolderLocation {
    pub(crate) fn of(folder: &Path) -> Self {
        let boot = boot();
        let path = folder.canonicalize().unwrap_or_else(|_| folder.to_path_buf());
        let known = path.ancestors().filter(|_| !boot.is_empty());
        let folders =
            known.map_while(|folder| folder.metadata().ok()).map(|about| (about.dev(), about.ino()));
        Self { folders: folders.collect(), boot }
    }

    /// What the other side is told of it.
    pub(crate) fn ids(&self) -> impl Iterator<Item = Id> + '_ {
        let kinds = std::iter::once(FOLDER).chain(std::iter::repeat(ABOVE));
        self.folders.iter().zip(kinds).map(|(folder, kind)| self.id(kind, *folder))
    }

    /// Whether the folder of which the other side has sent these identities is this one, around this one, or inside it.
    pub(crate) fn overlaps(&self, ids: &[Id]) -> bool {
        let is_inside = self.folders.first().is_some_and(|own| ids.contains(&self.id(ABOVE, *own)));
        is_inside || self.folders.iter().any(|folder| ids.contains(&self.id(FOLDER, *folder)))
    }

    fn id(&self, kind: &[u8], (device, inode): (u64, u64)) -> Id {
        let hash = Sha256::new().chain_update(kind).chain_update(&self.boot);
        let digest = hash.chain_update(device.to_be_bytes()).chain_update(inode.to_be_bytes()).finalize();
        let mut id = Id::default();
        id.copy_from_slice(&digest[..16]);
        id
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test")]
mod tests {
    use super::*;

    #[test]
    fn a_folder_overlaps_itself_and_those_around_and_inside() {
        let top = tempfile::tempdir().unwrap();
        let at = |name: &str| top.path().join(name);
        std::fs::create_dir_all(at("a/b/c")).unwrap();
        std::fs::create_dir_all(at("a/d")).unwrap();
        std::os::unix::fs::symlink(at("a/b"), at("link")).unwrap();
        for (source, destination, expected) in [
            ("a/b", "a/b", true),
            ("a/b", "link", true),
            ("a/b", "link/c", true),
            ("link/c", "a", true),
            ("a/b", "a/d", false),
            ("a/b/c", "a/d", false),
        ] {
            let ids: Vec<Id> = FolderLocation::of(&at(destination)).ids().collect();
            assert_eq!(FolderLocation::of(&at(source)).overlaps(&ids), expected, "{source} {destination}");
        }
    }

    #[test]
    fn another_machine_overlaps_with_nothing() {
        let folder = std::env::temp_dir();
        let here = FolderLocation::of(&folder);
        let there = FolderLocation { boot: "another".into(), folders: here.folders.clone() };
        assert!(!here.overlaps(&there.ids().collect::<Vec<Id>>()));
        let silent = FolderLocation { boot: String::new(), folders: Vec::new() };
        assert!(!silent.overlaps(&here.ids().collect::<Vec<Id>>()));
        assert!(!here.overlaps(&[]), "an older receiver tells nothing");
    }
}
