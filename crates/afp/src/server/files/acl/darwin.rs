//! Conversion between the ACLs of `vfs` and those of a Mac.
//!
//! In a Mac's model, an ACL comes before the file's mode: the mode decides what no entry decides.
//! In `vfs`, an ACL is final. So an ACL from a Mac is stored with entries at its end that repeat
//! the mode ([`vfs::acl::before_mode`]); Macs do not see these entries.

use std::sync::Arc;

use vfs::acl::{Acl, Entry, EntryKind, Inherit, Rights, Who};

use crate::wire::ResultCode;
use crate::wire::acl::{self as wire_acl, Ace, Uuid};
use crate::wire::uuid::UuidIdentity;

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
    (0x10_0000, Rights::SYNCHRONIZE),
];

/// The inheritance flags of entries.
const INHERIT: [(u32, Inherit); 5] = [
    (Ace::INHERITED, Inherit::INHERITED),
    (Ace::FILE_INHERIT, Inherit::FILES),
    (Ace::DIRECTORY_INHERIT, Inherit::FOLDERS),
    (Ace::LIMIT_INHERIT, Inherit::NO_PROPAGATE),
    (Ace::ONLY_INHERIT, Inherit::ONLY),
];

/// The rights of `vfs` for a Mac's rights. Rights that `vfs` does not have are left out.
pub(in crate::server) fn rights_of(darwin: u32) -> Rights {
    let known = RIGHTS.iter().filter(|(bit, _)| darwin & bit != 0);
    known.fold(Rights::NONE, |all, (_, right)| all.union(*right))
}

/// A Mac's rights for the rights of `vfs`.
pub(in crate::server) fn darwin_of(rights: Rights) -> u32 {
    RIGHTS.iter().filter(|(_, right)| rights.contains(*right)).fold(0, |all, (bit, _)| all | bit)
}

/// The ACL that a Mac sees. An ACL that is not stored repeats the mode, which a Mac knows; only its
/// entries for named users and groups are shown.
pub(super) fn shown(acl: &Acl) -> wire_acl::Acl {
    let entries = acl.entries.list.iter().filter(|entry| is_shown(entry, acl)).map(ace_of).collect();
    let flags = if acl.entries.protected { wire_acl::Acl::NO_INHERIT } else { 0 };
    wire_acl::Acl { flags, entries }
}

fn is_shown(entry: &Entry, acl: &Acl) -> bool {
    match acl.stored {
        true => !entry.rights.contains(Rights::FROM_MODE),
        false => matches!(entry.who, Who::User(_) | Who::Group(_)),
    }
}

/// The entries that a Mac sees.
pub(super) fn visible(acl: &Acl) -> Vec<Entry> {
    acl.entries.list.iter().filter(|entry| is_shown(entry, acl)).cloned().collect()
}

/// An entry in the form in which a Mac sends it back, if it sees it.
pub(super) fn as_sent(entry: &Entry, acl: &Acl) -> Option<Entry> {
    entry_of(&ace_of(entry), acl).ok().filter(|_| is_shown(entry, acl))
}

fn ace_of(entry: &Entry) -> Ace {
    let kind = match entry.kind {
        EntryKind::Allow => Ace::PERMIT,
        EntryKind::Deny => Ace::DENY,
    };
    let inherit = INHERIT.iter().filter(|(_, inherit)| entry.inherit.contains(*inherit));
    let flags = inherit.fold(kind, |all, (flag, _)| all | flag);
    Ace { who: uuid_of(&entry.who), flags, rights: darwin_of(entry.rights) }
}

/// The entries of an ACL from a Mac, for a file that had the ACL `before`. Entries of other kinds
/// than these two (audits, alarms) are refused, because they would not be enforced.
pub(super) fn given(acl: &wire_acl::Acl, before: &Acl) -> Result<Vec<Entry>, ResultCode> {
    acl.entries.iter().map(|ace| entry_of(ace, before)).collect()
}

fn entry_of(ace: &Ace, before: &Acl) -> Result<Entry, ResultCode> {
    let kind = match ace.flags & Ace::KIND {
        Ace::PERMIT => EntryKind::Allow,
        Ace::DENY => EntryKind::Deny,
        _ => return Err(ResultCode::PARAM_ERROR),
    };
    let inherit = INHERIT.iter().filter(|(flag, _)| ace.flags & flag != 0);
    let inherit = inherit.fold(Inherit::NONE, |all, (_, inherit)| all.union(*inherit));
    Ok(Entry { kind, inherit, rights: rights_of(ace.rights), who: who_of(&ace.who, before) })
}

/// The UUID that clients see for a user or group.
pub(super) fn uuid_of(who: &Who) -> Uuid {
    match who {
        Who::User(uid) => UuidIdentity::User(*uid).uuid(),
        Who::Group(gid) => UuidIdentity::Group(*gid).uuid(),
        Who::Owner => UuidIdentity::Owner.uuid(),
        Who::OwningGroup => UuidIdentity::OwningGroup.uuid(),
        Who::Everyone => UuidIdentity::Everyone.uuid(),
        Who::SignedIn => UuidIdentity::SignedIn.uuid(),
        Who::OwnerRights => UuidIdentity::OwnerRights.uuid(),
        Who::Foreign(bytes) => stranger(bytes).unwrap_or_else(|| made_up(bytes)),
    }
}

/// The user or group of a UUID, for a file that had this ACL before.
fn who_of(uuid: &Uuid, before: &Acl) -> Who {
    match UuidIdentity::of(uuid) {
        Some(UuidIdentity::User(uid)) => Who::User(uid),
        Some(UuidIdentity::Group(gid)) => Who::Group(gid),
        Some(UuidIdentity::Owner) => Who::Owner,
        Some(UuidIdentity::OwningGroup) => Who::OwningGroup,
        Some(UuidIdentity::Everyone) => Who::Everyone,
        Some(UuidIdentity::SignedIn) => Who::SignedIn,
        Some(UuidIdentity::OwnerRights) => Who::OwnerRights,
        None => {
            let before = before.entries.list.iter().map(|entry| &entry.who);
            let mut foreign = before.filter(|who| matches!(who, Who::Foreign(_)));
            foreign.find(|who| uuid_of(who) == *uuid).cloned().unwrap_or_else(|| kept(uuid))
        }
    }
}

/// The prefix of an unknown UUID: a security identifier with it would be S-1-22-3-…, next to the
/// users and groups of hosts, S-1-22-1 and S-1-22-2. So other clients see an unknown identity, and
/// send it back.
const STRANGER: [u8; 12] = [1, 5, 0, 0, 0, 0, 0, 22, 3, 0, 0, 0];

/// The stored form of a UUID that is unknown to this host.
fn kept(uuid: &Uuid) -> Who {
    Who::Foreign(Arc::from([&STRANGER[..], uuid].concat()))
}

fn stranger(bytes: &[u8]) -> Option<Uuid> {
    bytes.strip_prefix(&STRANGER)?.try_into().ok()
}

/// A UUID for an identity of another system that has no UUID: it is stable, and does not belong to
/// this host. Two identities with the same UUID by chance are both unknown here.
fn made_up(bytes: &[u8]) -> Uuid {
    // FNV-1a, 64 bits.
    let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let mut uuid = *b"fourfold\0\0\0\0\0\0\0\0";
    uuid[8..].copy_from_slice(&hash.to_be_bytes());
    uuid
}

#[cfg(test)]
mod tests {
    use vfs::acl::{Entries, before_mode};

    use super::*;

    fn acl(list: Vec<Entry>) -> Acl {
        let entries = Entries { list, ..Entries::default() };
        Acl { owner: Who::User(1), group: Who::Group(2), entries, stored: true, within_mode: false }
    }

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
    fn entries_come_back_as_they_went_in_their_order() {
        let (user, everyone) = (UuidIdentity::User(1001).uuid(), UuidIdentity::Everyone.uuid());
        let sent = wire_acl::Acl {
            flags: 0,
            entries: vec![
                Ace { who: everyone, flags: Ace::DENY | Ace::INHERITED, rights: 0x10 },
                Ace { who: user, flags: Ace::PERMIT | 0x1e0, rights: 0x1fbe },
                Ace { who: *b"somebody's Mac's", flags: Ace::PERMIT, rights: 2 },
            ],
        };
        let entries = before_mode(given(&sent, &acl(Vec::new())).unwrap(), false, 0o640, true);
        assert_eq!(shown(&Acl { entries, ..acl(Vec::new()) }), sent);
    }

    #[test]
    fn audits_are_refused() {
        let audit = Ace { who: UuidIdentity::Everyone.uuid(), flags: 3, rights: 2 };
        let sent = wire_acl::Acl { flags: 0, entries: vec![audit] };
        assert_eq!(given(&sent, &acl(Vec::new())), Err(ResultCode::PARAM_ERROR));
    }

    #[test]
    fn somebody_of_another_system_comes_back_as_he_was() {
        // A Windows security identifier, S-1-5-21-1.
        let windows = Who::Foreign(Arc::from([1, 2, 0, 0, 0, 0, 0, 5, 21, 0, 0, 0, 1, 0, 0, 0]));
        let before = acl(vec![Entry::allow(windows.clone(), Rights::READ_DATA)]);
        let sent = shown(&before);
        assert_eq!(given(&sent, &before).unwrap(), before.entries.list);
        // A file that never had this identity treats the UUID as unknown. It has no rights here, as
        // before.
        let elsewhere = given(&sent, &acl(Vec::new())).unwrap();
        assert!(matches!(&elsewhere[0].who, Who::Foreign(bytes) if stranger(bytes).is_some()));
    }

    #[test]
    fn what_a_mac_writes_back_is_what_it_was() {
        let marked = |rights: Rights| rights.union(Rights::RUNS_AS_READER);
        let acl = acl(vec![
            Entry::allow(Who::Owner, marked(Rights::READ_DATA)),
            Entry::deny(Who::User(7), Rights::EXECUTE).inherited_by(Inherit::INHERITED),
            Entry::allow(Who::Everyone, Rights::READ_DATA.union(Rights::FROM_MODE)),
            Entry::allow(Who::Foreign(Arc::from([1, 1, 0, 0, 0, 0, 0, 5, 9, 0, 0, 0])), Rights::ALL),
        ]);
        let sent = given(&shown(&acl), &acl).unwrap();
        let back = |sent| vfs::acl::written_back(&acl.entries.list, sent, |entry| as_sent(entry, &acl));
        assert_eq!(back(sent.clone()), None);
        let fewer = back(sent[1..].to_vec()).unwrap();
        assert_eq!(fewer, [acl.entries.list[1].clone(), acl.entries.list[3].clone()]);
        assert_eq!(back(sent[..1].to_vec()).unwrap(), acl.entries.list[..1], "with its mark");
    }
}
