//! The mount that a folder is on, from /proc/self/mountinfo (proc_pid_mountinfo(5)).

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use crate::Refusal;

const TABLE: &str = "/proc/self/mountinfo";

/// One mount.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mount {
    pub(crate) point: PathBuf,
    /// The type of the file system, such as `btrfs` or `fuse`.
    pub(crate) kind: String,
    /// What is mounted: a device, or the name of a ZFS dataset.
    pub(crate) source: String,
}

impl Mount {
    /// The mount that a canonical path is on.
    pub(crate) fn of(path: &Path) -> Result<Self, Refusal> {
        let nowhere = || Refusal::Other(format!("{} is on no mount of {TABLE}; mount /proc", path.display()));
        let mounts = all()?.into_iter().filter(|mount| path.starts_with(&mount.point));
        // The last of those that are equally deep hides the others.
        mounts.max_by_key(|mount| mount.point.components().count()).ok_or_else(nowhere)
    }

    /// Whether the folder is the root of a ZFS dataset: its source is then `pool/name`.
    pub(crate) fn is_zfs_root(&self, folder: &Path) -> bool {
        let is_zfs = self.kind == "zfs" || (self.kind.starts_with("fuse") && self.is_known_to_zfs());
        is_zfs && self.point == folder
    }

    /// zfs-fuse mounts with the type `fuse` and the dataset's name as the source.
    fn is_known_to_zfs(&self) -> bool {
        let is_name = !self.source.is_empty() && !self.source.starts_with(['/', '-']);
        is_name && crate::command::run("zfs", &["list", "-H", "-o", "name", &self.source]).is_ok()
    }

    pub(crate) fn is_ceph(&self) -> bool {
        self.kind == "ceph" || self.kind == "fuse.ceph" || self.kind == "fuse.ceph-fuse"
    }
}

/// All mounts, in the order in which they were mounted.
pub(crate) fn all() -> Result<Vec<Mount>, Refusal> {
    let text = std::fs::read(TABLE).map_err(Refusal::io("read", Path::new(TABLE)))?;
    Ok(text.split(|byte| *byte == b'\n').filter_map(mount).collect())
}

/// `36 35 98:0 /root /point rw,noatime shared:1 - ext4 /dev/root rw`
fn mount(line: &[u8]) -> Option<Mount> {
    let fields: Vec<&[u8]> = line.split(|byte| *byte == b' ').collect();
    let dash = fields.iter().position(|field| *field == b"-")?;
    let text = |at: usize| Some(String::from_utf8_lossy(&unescaped(fields.get(at)?)).into_owned());
    let point = PathBuf::from(OsString::from_vec(unescaped(fields.get(4)?)));
    Some(Mount { point, kind: text(dash + 1)?, source: text(dash + 2)? })
}

/// Spaces, tabs, newlines and backslashes are written as three octal digits.
fn unescaped(field: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(field.len());
    let mut at = 0;
    while let Some(byte) = field.get(at) {
        let digits = field.get(at + 1..at + 4).and_then(|digits| std::str::from_utf8(digits).ok());
        let escaped = digits.and_then(|digits| u8::from_str_radix(digits, 8).ok());
        match (byte, escaped) {
            (b'\\', Some(escaped)) => {
                bytes.push(escaped);
                at += 4;
            }
            (byte, _) => {
                bytes.push(*byte);
                at += 1;
            }
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_with_escaped_spaces_and_optional_fields() {
        let line = b"36 35 98:0 /mnt1 /my\\040disk\\134 rw,noatime master:1 shared:2 - ext3 /dev/root rw";
        let want = Mount { point: "/my disk\\".into(), kind: "ext3".into(), source: "/dev/root".into() };
        assert_eq!(mount(line), Some(want));
        assert_eq!(mount(b""), None);
    }

    #[test]
    fn proc_is_a_mount_of_its_own() {
        assert_eq!(Mount::of(Path::new("/proc/self")).unwrap().kind, "proc");
    }
}
