//! Who a file belongs to and who may use it, and how much of that may be given to a copy.
//!
//! The rule: **nobody may do more with a copy than with the original**. If the owner or the group of the original cannot be kept,
//! other users are the owner and the group of the copy, so the mode is cut ([`within`]).

use std::sync::OnceLock;

use vfs::acl::{Entries, Entry, Rights, Who, entries_of_mode};

/// Who owns a file and who may use it, as far as a server tells.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FileSecurity {
    /// Its owner.
    pub owner: Option<Who>,
    /// Its group.
    pub group: Option<Who>,
    /// The permissions of Unix, 12 bits. Beside a list they give nobody more than the list. `None`: the server does not show them.
    pub mode: Option<u32>,
    /// The access control list, if it says more than the mode.
    pub list: Option<Entries>,
    /// The POSIX ACLs of a file of this machine.
    pub posix: PosixAcls,
}

/// The POSIX ACLs of a file, as the host keeps them: `system.posix_acl_access` and `system.posix_acl_default`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PosixAcls {
    /// That of the file, if it says more than the mode.
    pub access: Option<Vec<u8>>,
    /// That which is passed on to new files of a folder.
    pub default: Option<Vec<u8>>,
}

const SET_USER: u32 = 0o4000;
const SET_GROUP: u32 = 0o2000;
const STICKY: u32 = 0o1000;

/// A mode for a file whose owner or group could not be kept: whoever was the owner or in the group is now one of those that the
/// mode has other bits for, and gets no more by them.
#[must_use]
pub fn within(mode: u32, owner_is_kept: bool, group_is_kept: bool) -> u32 {
    let (user, mut group, mut others) = (mode >> 6 & 7, mode >> 3 & 7, mode & 7);
    let mut special = mode & 0o7000;
    if !owner_is_kept {
        group &= user;
        others &= user;
        special &= !SET_USER;
    }
    if !group_is_kept {
        others &= group;
        group = others;
        special &= !SET_GROUP;
    }
    special | user << 6 | group << 3 | others
}

/// The entries that say what a mode says. In a folder with the sticky bit only the owners of files may remove them.
#[must_use]
pub fn entries_of(mode: u32, is_folder: bool) -> Vec<Entry> {
    let mut list = entries_of_mode(mode, is_folder);
    if mode & STICKY != 0 {
        for entry in list.iter_mut().filter(|entry| entry.who != Who::Owner) {
            entry.rights = entry.rights.difference(Rights::DELETE_CHILD);
        }
    }
    list
}

/// The umask of this process when it was asked for first: what users want to be taken from the modes of new files.
#[must_use]
pub fn umask() -> u32 {
    const USUAL: u32 = 0o022;
    static UMASK: OnceLock<u32> = OnceLock::new();
    *UMASK.get_or_init(|| {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("Umask:"));
        line.and_then(|octal| u32::from_str_radix(octal.trim(), 8).ok()).unwrap_or(USUAL)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mode_is_cut_where_owner_or_group_are_lost() {
        for (mode, owner, group, expected) in [
            (0o4755, true, true, 0o4755),
            (0o6750, false, true, 0o2750),
            (0o6750, true, false, 0o4700), // others are in the group of the copy
            (0o640, true, false, 0o600),
            (0o644, false, false, 0o644),
            (0o604, true, false, 0o600), // the members of the old group had nothing
            (0o077, false, true, 0),     // the old owner had nothing
            (0o1777, false, false, 0o1777),
        ] {
            assert_eq!(within(mode, owner, group), expected, "{mode:o} {owner} {group}");
        }
    }

    #[test]
    fn others_remove_nothing_from_a_sticky_folder() {
        let removes = |mode| {
            let entry = entries_of(mode, true).into_iter().rfind(|entry| entry.who == Who::Everyone).unwrap();
            entry.rights.contains(Rights::DELETE_CHILD)
        };
        assert!(removes(0o777) && !removes(0o1777));
    }
}
