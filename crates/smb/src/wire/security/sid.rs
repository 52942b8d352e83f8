//! Well-known SIDs. [`Sid`] itself is in the crate `wire`.

pub use wire::Sid;

/// SIDs that mean the same everywhere, MS-DTYP 2.4.2.4, and SIDs that contain UNIX numbers.
pub mod well_known {
    use super::Sid;

    pub const NOBODY: Sid = Sid::new(0, &[0]);
    pub const EVERYONE: Sid = Sid::new(1, &[0]);
    pub const CREATOR_OWNER: Sid = Sid::new(3, &[0]);
    pub const CREATOR_GROUP: Sid = Sid::new(3, &[1]);
    pub const OWNER_RIGHTS: Sid = Sid::new(3, &[4]);
    pub const NETWORK: Sid = Sid::new(5, &[2]);
    pub const ANONYMOUS: Sid = Sid::new(5, &[7]);
    pub const AUTHENTICATED_USERS: Sid = Sid::new(5, &[11]);
    pub const SYSTEM: Sid = Sid::new(5, &[18]);
    pub const BUILTIN: Sid = Sid::new(5, &[32]);
    pub const ADMINISTRATORS: Sid = Sid::new(5, &[32, 544]);
    pub const USERS: Sid = Sid::new(5, &[32, 545]);
    pub const GUESTS: Sid = Sid::new(5, &[32, 546]);

    /// The first number of a user or group in the domain of the server's own accounts.
    const FIRST_RID: u32 = 1000;

    const UNIX_USERS: Sid = Sid::new(22, &[1]);
    const UNIX_GROUPS: Sid = Sid::new(22, &[2]);
    const ENTRY_USERS: Sid = Sid::new(5, &[88, 1]);
    const ENTRY_GROUPS: Sid = Sid::new(5, &[88, 2]);
    const ENTRY_MODES: Sid = Sid::new(5, &[88, 3]);

    /// The domain of the own accounts of the server with this number: S-1-5-21 and three numbers that stay.
    pub fn own_domain(server: &[u8; 16]) -> Sid {
        let number = |at: usize| u32::from_le_bytes(std::array::from_fn(|byte| server[at * 4 + byte]));
        Sid::new(5, &[21, number(0), number(1), number(2)])
    }

    /// The UNIX number of the user or group that a SID means.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Unix {
        /// Its SID is S-1-22-1-uid, as Samba has it.
        User(u32),
        /// Its SID is S-1-22-2-gid.
        Group(u32),
    }

    impl Unix {
        /// The user or group of a SID. `None` if it is shorter or longer than these, or begins differently.
        pub fn of(sid: &Sid) -> Option<Self> {
            match (number_below(sid, &UNIX_USERS), number_below(sid, &UNIX_GROUPS), EntryNumber::of(sid)) {
                (Some(uid), ..) | (.., Some(EntryNumber::User(uid))) => Some(Self::User(uid)),
                (_, Some(gid), _) | (.., Some(EntryNumber::Group(gid))) => Some(Self::Group(gid)),
                _ => None,
            }
        }

        /// Its number in the domain of the server's own accounts: of a user an even one, of a group an odd one, both from
        /// 1000 on, as Samba has them. `None` if there are not enough numbers.
        pub fn rid(self) -> Option<u32> {
            let (number, odd) = match self {
                Self::User(uid) => (uid, 0),
                Self::Group(gid) => (gid, 1),
            };
            number.checked_mul(2)?.checked_add(FIRST_RID + odd)
        }

        /// The user or group with a number in the domain of the server's own accounts.
        pub fn of_rid(rid: u32) -> Option<Self> {
            let number = rid.checked_sub(FIRST_RID)?;
            Some(if number.is_multiple_of(2) { Self::User(number / 2) } else { Self::Group(number / 2) })
        }

        /// The user or group of a SID in `domain`, the domain of the server's own accounts.
        pub fn of_domain(sid: &Sid, domain: &Sid) -> Option<Self> {
            Self::of_rid(number_below(sid, domain)?)
        }

        /// Its SID.
        pub fn sid(self) -> Sid {
            match self {
                Self::User(uid) => Sid::new(22, &[1, uid]),
                Self::Group(gid) => Sid::new(22, &[2, gid]),
            }
        }
    }

    /// The UNIX number in an entry that NFS servers on Windows, and Macs, add to an access control list.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum EntryNumber {
        /// S-1-5-88-1-uid.
        User(u32),
        /// S-1-5-88-2-gid.
        Group(u32),
        /// S-1-5-88-3-mode.
        Mode(u32),
    }

    impl EntryNumber {
        /// The number in a SID. `None` if it is shorter or longer than these, or begins differently.
        pub fn of(sid: &Sid) -> Option<Self> {
            None.or_else(|| number_below(sid, &ENTRY_USERS).map(Self::User))
                .or_else(|| number_below(sid, &ENTRY_GROUPS).map(Self::Group))
                .or_else(|| number_below(sid, &ENTRY_MODES).map(Self::Mode))
        }

        /// Its SID.
        pub fn sid(self) -> Sid {
            match self {
                Self::User(uid) => Sid::new(5, &[88, 1, uid]),
                Self::Group(gid) => Sid::new(5, &[88, 2, gid]),
                Self::Mode(mode) => Sid::new(5, &[88, 3, mode]),
            }
        }
    }

    /// The last number of a SID that consists of `prefix` and this number.
    fn number_below(sid: &Sid, prefix: &Sid) -> Option<u32> {
        match sid.below(prefix) {
            Some([number]) => Some(*number),
            _ => None,
        }
    }
}
