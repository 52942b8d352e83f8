//! What the entries of a Mac's ACL say in the terms of `vfs`, and back: rights, inheritance, accounts. The server and the
//! client of AFP use it.

use std::sync::Arc;

use vfs::acl::{EntryKind, Inherit, Rights, Who};

use crate::wire::acl::{KauthAce, Uuid};
use crate::wire::uuid::UuidIdentity;

/// The right to wait for a file, which only servers give.
pub const SYNCHRONIZE: u32 = 0x10_0000;

/// The rights of both models, Apple Filing Protocol Reference, "ACL Access Rights".
const RIGHTS: [(u32, Rights); 14] = [
    (0x0002, Rights::READ_DATA),
    (0x0004, Rights::WRITE_DATA),
    (0x0008, Rights::EXECUTE),
    (0x0010, Rights::DELETE),
    (0x0020, Rights::APPEND),
    (0x0040, Rights::DELETE_CHILD),
    (0x0080, Rights::READ_ATTRIBUTES),
    (0x0100, Rights::WRITE_ATTRIBUTES),
    (0x0200, Rights::READ_NAMED),
    (0x0400, Rights::WRITE_NAMED),
    (0x0800, Rights::READ_ACL),
    (0x1000, Rights::WRITE_ACL),
    (0x2000, Rights::TAKE_OWNERSHIP),
    (SYNCHRONIZE, Rights::SYNCHRONIZE),
];

/// The inheritance flags of entries.
const INHERIT: [(u32, Inherit); 5] = [
    (KauthAce::INHERITED, Inherit::INHERITED),
    (KauthAce::FILE_INHERIT, Inherit::FILES),
    (KauthAce::DIRECTORY_INHERIT, Inherit::FOLDERS),
    (KauthAce::LIMIT_INHERIT, Inherit::NO_PROPAGATE),
    (KauthAce::ONLY_INHERIT, Inherit::ONLY),
];

/// The prefix of an unknown UUID: a security identifier with it would be S-1-22-3-…, next to the
/// users and groups of hosts, S-1-22-1 and S-1-22-2. So other clients see an unknown identity, and
/// send it back.
const STRANGER: [u8; 12] = [1, 5, 0, 0, 0, 0, 0, 22, 3, 0, 0, 0];

/// The rights of `vfs` for a Mac's rights. Rights that `vfs` does not have are left out.
#[must_use]
pub fn rights_of(darwin: u32) -> Rights {
    let known = RIGHTS.iter().filter(|(bit, _)| darwin & bit != 0);
    known.fold(Rights::NONE, |all, (_, right)| all.union(*right))
}

/// A Mac's rights for the rights of `vfs`.
#[must_use]
pub fn darwin_of(rights: Rights) -> u32 {
    RIGHTS.iter().filter(|(_, right)| rights.contains(*right)).fold(0, |all, (bit, _)| all | bit)
}

/// What the flags of an entry say of its kind and its inheritance. `None`: it is of another kind, an audit or an alarm.
#[must_use]
pub fn kind_of(flags: u32) -> Option<(EntryKind, Inherit)> {
    let kind = match flags & KauthAce::KIND {
        KauthAce::PERMIT => EntryKind::Allow,
        KauthAce::DENY => EntryKind::Deny,
        _ => return None,
    };
    let inherit = INHERIT.iter().filter(|(flag, _)| flags & flag != 0);
    Some((kind, inherit.fold(Inherit::NONE, |all, (_, inherit)| all.union(*inherit))))
}

/// The flags of an entry of this kind and inheritance.
#[must_use]
pub fn flags_of(kind: EntryKind, inherit: Inherit) -> u32 {
    let kind = match kind {
        EntryKind::Allow => KauthAce::PERMIT,
        EntryKind::Deny => KauthAce::DENY,
    };
    let flags = INHERIT.iter().filter(|(_, one)| inherit.contains(*one));
    flags.fold(kind, |all, (flag, _)| all | flag)
}

/// The account of a UUID that has one.
#[must_use]
pub fn account_of(identity: UuidIdentity) -> Who {
    match identity {
        UuidIdentity::User(uid) => Who::User(uid),
        UuidIdentity::Group(gid) => Who::Group(gid),
        UuidIdentity::Owner => Who::Owner,
        UuidIdentity::OwningGroup => Who::OwningGroup,
        UuidIdentity::Everyone => Who::Everyone,
        UuidIdentity::SignedIn => Who::SignedIn,
        UuidIdentity::OwnerRights => Who::OwnerRights,
    }
}

/// The account of a UUID that is unknown to this host.
#[must_use]
pub fn stranger(uuid: &Uuid) -> Who {
    Who::Foreign(Arc::from([&STRANGER[..], uuid].concat()))
}

/// The UUID of an account. `None`: it is of another system, and has no UUID.
#[must_use]
pub fn uuid_of(who: &Who) -> Option<Uuid> {
    let identity = match who {
        Who::User(uid) => UuidIdentity::User(*uid),
        Who::Group(gid) => UuidIdentity::Group(*gid),
        Who::Owner => UuidIdentity::Owner,
        Who::OwningGroup => UuidIdentity::OwningGroup,
        Who::Everyone => UuidIdentity::Everyone,
        Who::SignedIn => UuidIdentity::SignedIn,
        Who::OwnerRights => UuidIdentity::OwnerRights,
        Who::Foreign(bytes) => return bytes.strip_prefix(&STRANGER)?.try_into().ok(),
    };
    Some(identity.uuid())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Apple Filing Protocol Reference, "ACL Access Rights"; RFC 8881 6.2.1.3.1 for the tree's numbers.
    #[test]
    fn rights_have_the_numbers_of_macs() {
        assert_eq!(darwin_of(Rights(0x1 | 0x2 | 0x20)), 0x2 | 0x4 | 0x8);
        assert_eq!(rights_of(0x10 | 0x40), Rights(0x1_0000 | 0x40));
        assert_eq!(rights_of(0x20 | 0x80 | 0x100), Rights(0x4 | 0x80 | 0x100));
        assert_eq!(darwin_of(Rights::ALL), 0x10_3ffe);
        assert_eq!(rights_of(u32::MAX), Rights::ALL);
    }

    #[test]
    fn each_account_of_this_host_and_each_stranger_has_a_uuid() {
        let uuid = *b"0123456789abcdef";
        assert_eq!(uuid_of(&stranger(&uuid)), Some(uuid));
        for who in [Who::User(7), Who::Group(7), Who::Owner, Who::OwningGroup, Who::Everyone, Who::SignedIn] {
            let uuid = uuid_of(&who).unwrap();
            assert_eq!(account_of(UuidIdentity::of(&uuid).unwrap()), who);
        }
    }
}
