//! The POSIX ACLs of Linux, as the values of two attributes of a file: POSIX 1003.1e 23.1, and `include/uapi/linux/posix_acl_xattr.h`
//! for the bytes.

/// The attribute in which the host keeps the ACL of a file.
pub(crate) const ACCESS: &[u8] = b"system.posix_acl_access";
/// The attribute in which the host keeps what a folder passes on to what is made in it.
pub(crate) const DEFAULT: &[u8] = b"system.posix_acl_default";

/// The version of the value, and the id of entries that name no user or group.
const VERSION: u32 = 2;
const NO_ID: u32 = u32::MAX;
/// Read, write, execute.
const BITS: u32 = 7;

/// A POSIX ACL: the bits (read 4, write 2, execute 1) of each class, as they stand there. The mask counts for all but `owner` and
/// `others`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct PosixAcl {
    /// Of the file's owner.
    pub(crate) owner: u32,
    /// Of users by their numbers.
    pub(crate) users: Vec<(u32, u32)>,
    /// Of the file's group.
    pub(crate) owning_group: u32,
    /// Of groups by their numbers.
    pub(crate) groups: Vec<(u32, u32)>,
    /// The most that users, the owning group and groups get. There is one if a user or a group is named.
    pub(crate) mask: Option<u32>,
    /// Of all others.
    pub(crate) others: u32,
}

impl PosixAcl {
    /// The three classes of a mode.
    pub(crate) fn of_mode(mode: u32) -> Self {
        Self {
            owner: mode >> 6 & BITS,
            owning_group: mode >> 3 & BITS,
            others: mode & BITS,
            ..Self::default()
        }
    }

    /// The permission bits that a file with this ACL shows, 23.1.3: the mask takes the place of the group.
    pub(crate) fn mode(&self) -> u32 {
        self.owner << 6 | self.mask.unwrap_or(self.owning_group) << 3 | self.others
    }

    /// The bits that a class has behind the mask.
    pub(crate) fn masked(&self, bits: u32) -> u32 {
        bits & self.mask.unwrap_or(BITS)
    }

    /// Reads the value of the attribute. `None`: it is no POSIX ACL.
    pub(crate) fn decode(value: &[u8]) -> Option<Self> {
        let (version, entries) = value.split_first_chunk()?;
        if u32::from_le_bytes(*version) != VERSION || !entries.len().is_multiple_of(8) {
            return None;
        }
        let mut acl = Self::default();
        for entry in entries.chunks_exact(8) {
            let short = |at: usize| u16::from_le_bytes([entry[at], entry[at + 1]]);
            let bits = u32::from(short(2)) & BITS;
            let id = u32::from_le_bytes([entry[4], entry[5], entry[6], entry[7]]);
            match short(0) {
                0x01 => acl.owner = bits,
                0x02 => acl.users.push((id, bits)),
                0x04 => acl.owning_group = bits,
                0x08 => acl.groups.push((id, bits)),
                0x10 => acl.mask = Some(bits),
                0x20 => acl.others = bits,
                _ => return None,
            }
        }
        Some(acl)
    }

    /// The value of the attribute. The host demands this order of the entries, and rising numbers.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let named = |tag: u16, list: &[(u32, u32)]| {
            let mut list: Vec<(u16, u32, u32)> = list.iter().map(|&(id, bits)| (tag, bits, id)).collect();
            list.sort_unstable_by_key(|(.., id)| *id);
            list
        };
        let entries = [(0x01, self.owner, NO_ID)]
            .into_iter()
            .chain(named(0x02, &self.users))
            .chain([(0x04, self.owning_group, NO_ID)])
            .chain(named(0x08, &self.groups))
            .chain(self.mask.map(|bits| (0x10, bits, NO_ID)))
            .chain([(0x20, self.others, NO_ID)]);
        let mut value = VERSION.to_le_bytes().to_vec();
        for (tag, bits, id) in entries {
            value.extend(tag.to_le_bytes());
            value.extend((bits as u16).to_le_bytes());
            value.extend(id.to_le_bytes());
        }
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// user::rwx user:1000:r-- group::--- group:50:rw- mask::rw- other::---, by hand from posix_acl_xattr.h.
    const VALUE: &[u8] = b"\x02\0\0\0\
        \x01\0\x07\0\xff\xff\xff\xff\
        \x02\0\x04\0\xe8\x03\0\0\
        \x04\0\0\0\xff\xff\xff\xff\
        \x08\0\x06\0\x32\0\0\0\
        \x10\0\x06\0\xff\xff\xff\xff\
        \x20\0\0\0\xff\xff\xff\xff";

    fn acl() -> PosixAcl {
        PosixAcl {
            owner: 7,
            users: vec![(1000, 4)],
            owning_group: 0,
            groups: vec![(50, 6)],
            mask: Some(6),
            others: 0,
        }
    }

    #[test]
    fn a_value_is_read_and_written_as_linux_has_it() {
        assert_eq!(PosixAcl::decode(VALUE), Some(acl()));
        assert_eq!(acl().encode(), VALUE);
    }

    #[test]
    fn the_group_bits_of_the_mode_are_the_mask() {
        assert_eq!(acl().mode(), 0o760);
        assert_eq!(PosixAcl::of_mode(0o751).mode(), 0o751);
    }

    #[test]
    fn entries_are_written_in_the_order_of_their_numbers() {
        let mixed = PosixAcl { users: vec![(9, 4), (3, 4)], mask: Some(4), ..PosixAcl::default() };
        let read = PosixAcl::decode(&mixed.encode()).unwrap();
        assert_eq!(read.users, [(3, 4), (9, 4)]);
    }

    #[test]
    fn other_values_are_no_posix_acl() {
        assert_eq!(PosixAcl::decode(&[]), None);
        assert_eq!(PosixAcl::decode(b"\x03\0\0\0"), None);
        assert_eq!(PosixAcl::decode(&VALUE[..VALUE.len() - 1]), None);
        assert_eq!(PosixAcl::decode(b"\x02\0\0\0\x40\0\x07\0\xff\xff\xff\xff"), None);
    }
}
