//! The rights of ACLs, with the numbers that NFSv4 and Windows share.

use std::fmt;

/// Rights to a file, as a set of bits: those that a user has, or those that a request needs. The
/// numbers are those that ACLs of NFSv4 (RFC 8881 6.2.1.3.1) and Windows (MS-DTYP 2.4.3) share.
/// Bits without a name here are kept, and have no meaning.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Rights(pub u32);

bitflags::bitflags! {
    impl Rights: u32 {
        /// Nothing.
        const NONE = 0;
        /// Read data, or list a folder.
        const READ_DATA = 1;
        /// Write data, or put a file into a folder.
        const WRITE_DATA = 2;
        /// Write at the end, or put a folder into a folder.
        const APPEND = 4;
        /// Read named streams and extended attributes.
        const READ_NAMED = 8;
        /// Write them.
        const WRITE_NAMED = 0x10;
        /// Execute a file, or pass through a folder.
        const EXECUTE = 0x20;
        /// Remove entries of a folder, whatever their own permissions are.
        const DELETE_CHILD = 0x40;
        /// Read times, size and flags.
        const READ_ATTRIBUTES = 0x80;
        /// Change times and flags.
        const WRITE_ATTRIBUTES = 0x100;
        /// Remove or move it.
        const DELETE = 0x1_0000;
        /// Read the ACL.
        const READ_ACL = 0x2_0000;
        /// Change the ACL and the mode.
        const WRITE_ACL = 0x4_0000;
        /// Become the owner; change the group.
        const TAKE_OWNERSHIP = 0x8_0000;
        /// Wait for it. Nothing here asks for it, but clients do.
        const SYNCHRONIZE = 0x10_0000;
        /// All of them.
        const ALL = 0x1f_01ff;
        /// No right, but a mark of an entry: it stands for what the mode says beside an ACL.
        /// Clients whose ACLs come before a mode and do not replace it do not see such an entry.
        const FROM_MODE = 0x40_0000;
        /// No right of its own: who has it may execute the file over SMB, because he may read it and the mode was all that there
        /// was when an ACL was stored. It adds nothing to the mode. Who loses `EXECUTE` loses it, too.
        const RUNS_AS_READER = 0x80_0000;
        /// Not a right of an entry: give it a name that nothing has, where its user may add. The role to put files in has it for
        /// its own, and no `DELETE`. Who loses `DELETE` loses it, too.
        const RENAMES = 0x20_0000;
        /// Those that change something.
        const CHANGING = 0x2d_0156;
    }
}

impl Rights {
    /// The rights of mode bit 4 (read).
    pub(crate) const BY_READ: Self = Self::READ_DATA.union(Self::READ_NAMED);
    /// The rights of mode bit 2 (write).
    pub(crate) const BY_WRITE: Self =
        Self::WRITE_DATA.union(Self::APPEND).union(Self::WRITE_NAMED).union(Self::WRITE_ATTRIBUTES);
    /// The rights of every user that can name a file, whatever its mode: POSIX has no right to
    /// stat.
    pub(crate) const BY_ANY_MODE: Self = Self::READ_ATTRIBUTES.union(Self::READ_ACL).union(Self::SYNCHRONIZE);
    /// The rights that an owner has beyond that, whatever the mode.
    pub(crate) const BY_OWNING: Self = Self::WRITE_ATTRIBUTES.union(Self::WRITE_ACL);
}

impl fmt::Debug for Rights {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}
