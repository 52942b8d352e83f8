use std::fmt;

/// What may be done to a file, as a set of bits, or what somebody wants to do. The numbers are those that ACLs of NFSv4
/// (RFC 8881 6.2.1.3.1) and Windows (MS-DTYP 2.4.3) share. Bits without a name here are kept, and mean nothing.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Rights(pub u32);

impl Rights {
    /// Nothing.
    pub const NONE: Self = Self(0);
    /// Read data, or list a folder.
    pub const READ_DATA: Self = Self(1);
    /// Write data, or put a file into a folder.
    pub const WRITE_DATA: Self = Self(2);
    /// Write at the end, or put a folder into a folder.
    pub const APPEND: Self = Self(4);
    /// Read named streams and extended attributes.
    pub const READ_NAMED: Self = Self(8);
    /// Write them.
    pub const WRITE_NAMED: Self = Self(0x10);
    /// Execute a file, or pass through a folder.
    pub const EXECUTE: Self = Self(0x20);
    /// Remove entries of a folder, whatever they say themselves.
    pub const DELETE_CHILD: Self = Self(0x40);
    /// Read times, size and flags.
    pub const READ_ATTRIBUTES: Self = Self(0x80);
    /// Change times and flags.
    pub const WRITE_ATTRIBUTES: Self = Self(0x100);
    /// Remove or move it.
    pub const DELETE: Self = Self(0x1_0000);
    /// Read the ACL.
    pub const READ_ACL: Self = Self(0x2_0000);
    /// Change the ACL and the mode.
    pub const WRITE_ACL: Self = Self(0x4_0000);
    /// Become the owner; change the group.
    pub const TAKE_OWNERSHIP: Self = Self(0x8_0000);
    /// Wait for it. Nothing here asks for it, but clients do.
    pub const SYNCHRONIZE: Self = Self(0x10_0000);
    /// All of them.
    pub const ALL: Self = Self(0x1f_01ff);
    /// No right, but a mark of an entry: it stands for what the mode says beside an ACL, for those whose ACLs come before a
    /// mode and do not replace it. They do not see such an entry.
    pub const FROM_MODE: Self = Self(0x40_0000);
    /// Those that change something.
    pub const CHANGING: Self = Self(0xd_0156);

    /// What mode bit 4 (read) gives.
    pub(crate) const BY_READ: Self = Self(Self::READ_DATA.0 | Self::READ_NAMED.0);
    /// What mode bit 2 (write) gives.
    pub(crate) const BY_WRITE: Self =
        Self(Self::WRITE_DATA.0 | Self::APPEND.0 | Self::WRITE_NAMED.0 | Self::WRITE_ATTRIBUTES.0);
    /// What everybody has who can name a file, whatever its mode: POSIX has no right to stat.
    pub(crate) const BY_ANY_MODE: Self =
        Self(Self::READ_ATTRIBUTES.0 | Self::READ_ACL.0 | Self::SYNCHRONIZE.0);
    /// What an owner has beyond that, whatever the mode.
    pub(crate) const BY_OWNING: Self = Self(Self::WRITE_ATTRIBUTES.0 | Self::WRITE_ACL.0);

    /// Whether every bit of `other` is in this set.
    pub fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether a bit of `other` is in this set.
    pub fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Bits in either.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Bits in both.
    #[must_use]
    pub const fn intersection(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Bits not in `other`.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
}

impl fmt::Debug for Rights {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}
