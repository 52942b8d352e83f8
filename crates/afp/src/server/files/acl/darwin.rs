//! Conversion between the ACLs of `vfs` and those of a Mac.
//!
//! In a Mac's model, an ACL comes before the file's mode: the mode decides what no entry decides.
//! In `vfs`, an ACL is final. So an ACL from a Mac is stored with entries at its end that repeat
//! the mode ([`vfs::acl::before_mode`]); Macs do not see these entries.

use vfs::acl::{Acl, Entry, Rights, Who};

use crate::darwin_acl::{self, account_of, darwin_of, flags_of, kind_of, rights_of, stranger};
use crate::wire::ResultCode;
use crate::wire::acl::{self as wire_acl, KauthAce, Uuid};
use crate::wire::uuid::UuidIdentity;

/// The ACL that a Mac sees. An ACL that is not stored repeats the mode, which a Mac knows; only its
/// entries for named users and groups are shown.
pub(super) fn shown(acl: &Acl) -> wire_acl::KauthAcl {
    let entries = acl.entries.list.iter().filter(|entry| is_shown(entry, acl)).map(ace_of).collect();
    let flags = if acl.entries.protected { wire_acl::KauthAcl::NO_INHERIT } else { 0 };
    wire_acl::KauthAcl { flags, entries }
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

fn ace_of(entry: &Entry) -> KauthAce {
    let flags = flags_of(entry.kind, entry.inherit);
    KauthAce { who: uuid_of(&entry.who), flags, rights: darwin_of(entry.rights) }
}

/// The entries of an ACL from a Mac, for a file that had the ACL `before`. Entries of other kinds
/// than these two (audits, alarms) are refused, because they would not be enforced.
pub(super) fn given(acl: &wire_acl::KauthAcl, before: &Acl) -> Result<Vec<Entry>, ResultCode> {
    acl.entries.iter().map(|ace| entry_of(ace, before)).collect()
}

fn entry_of(ace: &KauthAce, before: &Acl) -> Result<Entry, ResultCode> {
    let (kind, inherit) = kind_of(ace.flags).ok_or(ResultCode::PARAM_ERROR)?;
    Ok(Entry { kind, inherit, rights: rights_of(ace.rights), who: who_of(&ace.who, before) })
}

/// The UUID that clients see for a user or group.
pub(super) fn uuid_of(who: &Who) -> Uuid {
    match who {
        Who::Foreign(bytes) => darwin_acl::uuid_of(who).unwrap_or_else(|| made_up(bytes)),
        known => darwin_acl::uuid_of(known).expect("only accounts of other systems have no UUID"),
    }
}

/// The user or group of a UUID, for a file that had this ACL before.
fn who_of(uuid: &Uuid, before: &Acl) -> Who {
    if let Some(identity) = UuidIdentity::of(uuid) {
        return account_of(identity);
    }
    let before = before.entries.list.iter().map(|entry| &entry.who);
    let mut foreign = before.filter(|who| matches!(who, Who::Foreign(_)));
    foreign.find(|who| uuid_of(who) == *uuid).cloned().unwrap_or_else(|| stranger(uuid))
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
    use std::sync::Arc;

    use vfs::acl::{Entries, Inherit, before_mode};

    use super::*;

    fn acl(list: Vec<Entry>) -> Acl {
        let entries = Entries { list, ..Entries::default() };
        Acl {
            owner: Who::User(1),
            group: Who::Group(2),
            entries,
            stored: true,
            within_mode: false,
            team: None,
        }
    }

    #[test]
    fn entries_come_back_as_they_went_in_their_order() {
        let (user, everyone) = (UuidIdentity::User(1001).uuid(), UuidIdentity::Everyone.uuid());
        let sent = wire_acl::KauthAcl {
            flags: 0,
            entries: vec![
                KauthAce { who: everyone, flags: KauthAce::DENY | KauthAce::INHERITED, rights: 0x10 },
                KauthAce { who: user, flags: KauthAce::PERMIT | 0x1e0, rights: 0x1fbe },
                KauthAce { who: *b"somebody's Mac's", flags: KauthAce::PERMIT, rights: 2 },
            ],
        };
        let entries = before_mode(given(&sent, &acl(Vec::new())).unwrap(), false, 0o640, true);
        assert_eq!(shown(&Acl { entries, ..acl(Vec::new()) }), sent);
    }

    #[test]
    fn audits_are_refused() {
        let audit = KauthAce { who: UuidIdentity::Everyone.uuid(), flags: 3, rights: 2 };
        let sent = wire_acl::KauthAcl { flags: 0, entries: vec![audit] };
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
        assert!(
            matches!(&elsewhere[0].who, Who::Foreign(_)) && darwin_acl::uuid_of(&elsewhere[0].who).is_some()
        );
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
