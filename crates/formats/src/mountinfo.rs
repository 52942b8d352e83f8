//! The kernel's list of mounts, proc_pid_mountinfo(5). The caller reads `/proc/self/mountinfo` and passes its bytes.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::path::PathBuf;

/// A mounted file system: one line of the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MountInfo {
    /// The host's number of the mount, which ends with it.
    pub id: i32,
    /// The device number of the file system, as in [`FileId`](crate::FileId).
    pub device: u32,
    /// The folder of the file system that is mounted.
    pub root: PathBuf,
    /// The place where it is mounted.
    pub point: PathBuf,
    /// The type of the file system, such as `btrfs` or `fuse`.
    pub kind: String,
    /// What is mounted: a device, or the name of a ZFS dataset.
    pub source: String,
}

/// The mounts of a list, in the order in which they were mounted. Lines that are not understood are left out.
pub fn mounts(list: &[u8]) -> impl Iterator<Item = MountInfo> {
    list.split(|byte| *byte == b'\n').filter_map(MountInfo::parse)
}

impl MountInfo {
    /// `36 35 98:0 /root /point rw,noatime shared:1 - ext4 /dev/root rw`
    fn parse(line: &[u8]) -> Option<Self> {
        let fields: Vec<&[u8]> = line.split(|byte| *byte == b' ').collect();
        let [id, _, device, root, point, ..] = fields.as_slice() else { return None };
        let dash = fields.iter().position(|field| *field == b"-")?;
        let text = |at: usize| Some(String::from_utf8_lossy(&unescaped(fields.get(at)?)).into_owned());
        let path = |field: &[u8]| PathBuf::from(OsString::from_vec(unescaped(field)));
        let (major, minor) = str::from_utf8(device).ok()?.split_once(':')?;
        Some(Self {
            id: str::from_utf8(id).ok()?.parse().ok()?,
            device: crate::FileId::device_of(major.parse().ok()?, minor.parse().ok()?),
            root: path(root),
            point: path(point),
            kind: text(dash + 1)?,
            source: text(dash + 2)?,
        })
    }
}

/// Spaces, tabs, newlines and backslashes are written as three octal digits.
fn unescaped(field: &[u8]) -> Vec<u8> {
    let (mut bytes, mut rest) = (Vec::with_capacity(field.len()), field);
    while let Some((first, after)) = rest.split_first() {
        let digits =
            after.get(..3).filter(|_| *first == b'\\').and_then(|digits| str::from_utf8(digits).ok());
        match digits.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(byte) => (bytes.push(byte), rest = &after[3..]).1,
            None => (bytes.push(*first), rest = after).1,
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FileId;

    #[test]
    fn a_line_has_escaped_spaces_and_optional_fields() {
        let list =
            b"36 35 98:0 /mnt1 /my\\040disk\\134 rw,noatime master:1 shared:2 - ext3 /dev/root rw\n37\n";
        let expected = MountInfo {
            id: 36,
            device: FileId::device_of(98, 0),
            root: "/mnt1".into(),
            point: "/my disk\\".into(),
            kind: "ext3".into(),
            source: "/dev/root".into(),
        };
        assert_eq!(mounts(list).collect::<Vec<_>>(), [expected]);
        assert_eq!(mounts(b"36 35 98:0 /\n\n").count(), 0);
    }
}
