//! The mount that a folder is on, and which engine's it is.

use std::path::Path;

use formats::mountinfo::{self, MountInfo};

use crate::Refusal;

const TABLE: &str = "/proc/self/mountinfo";

/// The mount that a canonical path is on.
pub(crate) fn of(path: &Path) -> Result<MountInfo, Refusal> {
    let nowhere = || Refusal::Other(format!("{} is on no mount of {TABLE}; mount /proc", path.display()));
    let mounts = all()?.into_iter().filter(|mount| path.starts_with(&mount.point));
    // The last of those that are equally deep hides the others.
    mounts.max_by_key(|mount| mount.point.components().count()).ok_or_else(nowhere)
}

/// All mounts, in the order in which they were mounted.
pub(crate) fn all() -> Result<Vec<MountInfo>, Refusal> {
    let list = std::fs::read(TABLE).map_err(Refusal::io("read", Path::new(TABLE)))?;
    Ok(mountinfo::mounts(&list).collect())
}

/// Whether the folder is the root of a ZFS dataset: its source is then `pool/name`.
pub(crate) fn is_zfs_root(mount: &MountInfo, folder: &Path) -> bool {
    let is_zfs = mount.kind == "zfs" || (mount.kind.starts_with("fuse") && is_known_to_zfs(&mount.source));
    is_zfs && mount.point == folder
}

/// zfs-fuse mounts with the type `fuse` and the dataset's name as the source.
fn is_known_to_zfs(source: &str) -> bool {
    let is_name = !source.is_empty() && !source.starts_with(['/', '-']);
    is_name && crate::command::run("zfs", &["list", "-H", "-o", "name", source]).is_ok()
}

pub(crate) fn is_ceph(mount: &MountInfo) -> bool {
    mount.kind == "ceph" || mount.kind == "fuse.ceph" || mount.kind == "fuse.ceph-fuse"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proc_is_a_mount_of_its_own() {
        assert_eq!(of(Path::new("/proc/self")).unwrap().kind, "proc");
    }
}
