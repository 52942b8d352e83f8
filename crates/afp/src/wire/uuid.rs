//! UUIDs of this host's users and groups, as Macs derive them for local accounts: a fixed prefix,
//! and the number.
//!
//! | identity | UUID |
//! |---|---|
//! | user | FFFFEEEE-DDDD-CCCC-BBBB-AAAA and the number |
//! | group | ABCDEFAB-CDEF-ABCD-EFAB-CDEF and the number |
//! | everyone, the owner, the owning group, users that have logged in | those of the groups 12, 10, 16 and 50 of a Mac |
//! | the owner's own rights, as Windows has them | "fourfold-own" and 0 |
//! | the groups of this host that have one of those numbers | "fourfold-gid" and the number |

use super::acl::Uuid;

/// The identity that a UUID stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UuidIdentity {
    User(u32),
    Group(u32),
    /// All users.
    Everyone,
    /// The file's owner.
    Owner,
    /// The members of the file's group.
    OwningGroup,
    /// All users that have logged in.
    SignedIn,
    /// The file's owner, without the rights that owners have by default.
    OwnerRights,
}

const USER: [u8; 12] = [0xff, 0xff, 0xee, 0xee, 0xdd, 0xdd, 0xcc, 0xcc, 0xbb, 0xbb, 0xaa, 0xaa];
const GROUP: [u8; 12] = [0xab, 0xcd, 0xef, 0xab, 0xcd, 0xef, 0xab, 0xcd, 0xef, 0xab, 0xcd, 0xef];
const OTHER_GROUP: [u8; 12] = *b"fourfold-gid";
const OWNER_RIGHTS: [u8; 12] = *b"fourfold-own";

/// Groups of a Mac that are no groups here, with their meaning.
const WELL_KNOWN: [(u32, UuidIdentity); 4] = [
    (12, UuidIdentity::Everyone),
    (10, UuidIdentity::Owner),
    (16, UuidIdentity::OwningGroup),
    (50, UuidIdentity::SignedIn),
];

/// The number that ends a UUID of a local account.
pub fn number_of(uuid: &Uuid) -> u32 {
    uuid.last_chunk().map_or(0, |number| u32::from_be_bytes(*number))
}

impl UuidIdentity {
    /// The identity of a UUID; `None` if this host does not know it.
    pub fn of(uuid: &Uuid) -> Option<Self> {
        let (start, _) = uuid.split_first_chunk()?;
        let number = number_of(uuid);
        match *start {
            USER => Some(Self::User(number)),
            OTHER_GROUP => Some(Self::Group(number)),
            OWNER_RIGHTS => Some(Self::OwnerRights),
            GROUP => match WELL_KNOWN.iter().find(|(group, _)| *group == number) {
                Some((_, known)) => Some(*known),
                None => Some(Self::Group(number)),
            },
            _ => None,
        }
    }

    /// The UUID of an identity.
    pub fn uuid(self) -> Uuid {
        let (start, number) = match self {
            Self::User(uid) => (USER, uid),
            Self::Group(gid) if WELL_KNOWN.iter().any(|(group, _)| *group == gid) => (OTHER_GROUP, gid),
            Self::Group(gid) => (GROUP, gid),
            Self::OwnerRights => (OWNER_RIGHTS, 0),
            known => (
                GROUP,
                WELL_KNOWN.iter().find(|(_, one)| *one == known).map_or(u32::MAX, |(group, _)| *group),
            ),
        };
        let mut uuid = [0; 16];
        uuid[..12].copy_from_slice(&start);
        uuid[12..].copy_from_slice(&number.to_be_bytes());
        uuid
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uuid(text: &str) -> Uuid {
        u128::from_str_radix(&text.replace('-', ""), 16).unwrap().to_be_bytes()
    }

    #[test]
    fn local_accounts_have_the_uuids_that_macs_make_of_them() {
        // getpwuid and mbr_uid_to_uuid of a Mac: root, and the first user.
        let users =
            [(0, "FFFFEEEE-DDDD-CCCC-BBBB-AAAA00000000"), (501, "FFFFEEEE-DDDD-CCCC-BBBB-AAAA000001F5")];
        for (uid, text) in users {
            assert_eq!(UuidIdentity::User(uid).uuid(), uuid(text));
            assert_eq!(UuidIdentity::of(&uuid(text)), Some(UuidIdentity::User(uid)));
        }
        let staff = "ABCDEFAB-CDEF-ABCD-EFAB-CDEF00000014"; // group 20
        assert_eq!(UuidIdentity::Group(20).uuid(), uuid(staff));
        assert_eq!(UuidIdentity::of(&uuid(staff)), Some(UuidIdentity::Group(20)));
        assert_eq!(UuidIdentity::of(&uuid("5F3A0001-0000-4000-8000-000000000000")), None);
    }

    #[test]
    fn the_group_everyone_is_no_group_of_the_host() {
        let everyone = "ABCDEFAB-CDEF-ABCD-EFAB-CDEF0000000C";
        assert_eq!(UuidIdentity::of(&uuid(everyone)), Some(UuidIdentity::Everyone));
        assert_eq!(UuidIdentity::Everyone.uuid(), uuid(everyone));
        for gid in [10, 12, 16, 50] {
            assert_eq!(UuidIdentity::of(&UuidIdentity::Group(gid).uuid()), Some(UuidIdentity::Group(gid)));
            assert_ne!(UuidIdentity::Group(gid).uuid()[..12], UuidIdentity::Everyone.uuid()[..12]);
        }
        for known in [
            UuidIdentity::Owner,
            UuidIdentity::OwningGroup,
            UuidIdentity::SignedIn,
            UuidIdentity::OwnerRights,
        ] {
            assert_eq!(UuidIdentity::of(&known.uuid()), Some(known));
        }
    }
}
