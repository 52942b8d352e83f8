//! ACLs of NFSv4 over the one model of the tree, RFC 7530 6 and RFC 8881 6.
//!
//! | the tree | `who` |
//! |---|---|
//! | user, group | `name@domain` or a number; a group has ACE4_IDENTIFIER_GROUP |
//! | owner, owning group, everyone, signed in | OWNER@, GROUP@, EVERYONE@, AUTHENTICATED@ |
//! | the owner's own rights, an identity of another system | the text of its SID: S-1-3-4, S-1-5-21-… |
//!
//! Rights have the same numbers in both.

mod sent;

use std::fmt::Write as _;
use std::sync::Arc;

use vfs::Kind;
use vfs::acl::{Acl, Entries, Entry, EntryKind, Inherit, Rights, Who};
use wire::{Reader, Writer};

use crate::server::naming::{NamedId, Naming};
use crate::wire::v4::acls::{Ace, AceType, Aces};
use crate::wire::v4::types::{OwnerName, Status};
use crate::wire::xdr::Encode;

pub(super) use self::sent::SentList;

/// ACL4_SUPPORT_ALLOW_ACL and ACL4_SUPPORT_DENY_ACL: the value of `aclsupport`.
pub(super) const SUPPORT: u32 = 3;
/// ACE4_FILE_INHERIT_ACE, ACE4_DIRECTORY_INHERIT_ACE, ACE4_NO_PROPAGATE_INHERIT_ACE and ACE4_INHERIT_ONLY_ACE: the numbers of
/// the tree.
const INHERITANCE: u32 = 0xf;
/// ACE4_SUCCESSFUL_ACCESS_ACE_FLAG and ACE4_FAILED_ACCESS_ACE_FLAG, which mean nothing in entries that allow or deny.
const AUDITING: u32 = 0x30;
/// ACE4_IDENTIFIER_GROUP.
const GROUP: u32 = 0x40;
/// ACE4_INHERITED_ACE, which only `dacl` has.
const INHERITED: u32 = 0x80;
/// ACE4_WRITE_RETENTION and ACE4_WRITE_RETENTION_HOLD: no file here has a retention.
const RETENTION: u32 = 0x600;
/// ACL4_AUTO_INHERIT and ACL4_PROTECTED of `dacl`.
const AUTO_INHERIT: u32 = 1;
const PROTECTED: u32 = 2;
/// ACL4_DEFAULTED, which is not kept.
const DEFAULTED: u32 = 4;
/// Entries with these flags are inherited.
const PASSED_ON: Inherit = Inherit::FILES.union(Inherit::FOLDERS);
/// The identities that the tree knows by a name, RFC 8881 6.2.1.5.
const SPECIAL: &[(&str, Who)] = &[
    ("OWNER@", Who::Owner),
    ("GROUP@", Who::OwningGroup),
    ("EVERYONE@", Who::Everyone),
    ("AUTHENTICATED@", Who::SignedIn),
];
/// OWNER RIGHTS, MS-DTYP 2.4.2.4.
const OWNER_RIGHTS: &str = "S-1-3-4";
/// The SID of nobody.
const NOBODY: &str = "S-1-0-0";

/// The entries of an ACL as they are on the wire, and how many.
pub(super) struct EncodedAcl {
    count: u32,
    bytes: Vec<u8>,
    /// aclflag4.
    pub(super) flags: u32,
}

impl EncodedAcl {
    /// The entries for `acl`, or for `dacl`.
    pub(super) fn new(naming: &Naming, acl: &Acl, is_dacl: bool) -> Self {
        let mut w = Writer::new();
        for entry in &acl.entries.list {
            put(naming, entry, is_dacl, &mut w);
        }
        let flag = |on, bit| if on { bit } else { 0 };
        let Entries { ref list, protected, auto_inherited } = acl.entries;
        let flags = flag(auto_inherited, AUTO_INHERIT) | flag(protected, PROTECTED);
        Self { count: list.len() as u32, bytes: w.into_bytes(), flags } // at most MAX_ENTRIES
    }

    pub(super) fn aces(&self) -> Aces<'_> {
        Aces::new(self.count, &self.bytes)
    }
}

fn put(naming: &Naming, entry: &Entry, is_dacl: bool, w: &mut Writer) {
    let kind = match entry.kind {
        EntryKind::Allow => AceType::ALLOWED,
        EntryKind::Deny => AceType::DENIED,
    };
    let mut flags = u32::from(entry.inherit.0) & INHERITANCE;
    if is_dacl && entry.inherit.contains(Inherit::INHERITED) {
        flags |= INHERITED;
    }
    let name = match &entry.who {
        Who::User(uid) => naming.name(NamedId::User(*uid)),
        Who::Group(gid) => naming.name(NamedId::Group(*gid)),
        Who::OwnerRights => OWNER_RIGHTS.to_owned(),
        Who::Foreign(sid) => sid_text(sid).unwrap_or_else(|| NOBODY.to_owned()),
        special @ (Who::Owner | Who::OwningGroup | Who::Everyone | Who::SignedIn) => {
            let found = SPECIAL.iter().find(|(_, who)| who == special);
            found.map_or(NOBODY, |(name, _)| name).to_owned()
        }
    };
    if matches!(entry.who, Who::Group(_) | Who::OwningGroup) {
        flags |= GROUP;
    }
    let who = OwnerName::new(&name.as_bytes()[..name.len().min(OwnerName::LIMIT)]);
    Ace { kind, flags, mask: entry.rights.0 & Rights::ALL.0, who }.encode(w);
}

/// Only entries that allow or deny are kept, RFC 7530 6.2.1.1: the others would not be enforced.
fn entry(naming: &Naming, ace: &Ace<'_>, is_dacl: bool) -> Result<Entry, Status> {
    let kind = match ace.kind {
        AceType::ALLOWED => EntryKind::Allow,
        AceType::DENIED => EntryKind::Deny,
        _ => return Err(Status::ATTRNOTSUPP),
    };
    if ace.flags & !(INHERITANCE | AUDITING | GROUP | INHERITED) != 0
        || ace.mask & !(Rights::ALL.0 | RETENTION) != 0
    {
        return Err(Status::INVAL);
    }
    let mut inherit = Inherit((ace.flags & INHERITANCE) as u8);
    // RFC 7530 6.2.1.4.1: such an entry would apply to nothing.
    if inherit.contains(Inherit::ONLY) && !inherit.intersects(PASSED_ON) {
        return Err(Status::ATTRNOTSUPP);
    }
    if is_dacl && ace.flags & INHERITED != 0 {
        inherit = inherit.union(Inherit::INHERITED);
    }
    let who = who(naming, &ace.who, ace.flags & GROUP != 0)?;
    Ok(Entry { kind, inherit, rights: Rights(ace.mask & Rights::ALL.0), who })
}

/// The special identities that this server cannot tell from others are unknown, RFC 8881 6.2.1.5: INTERACTIVE@, NETWORK@,
/// DIALUP@, BATCH@, ANONYMOUS@ and SERVICE@.
fn who(naming: &Naming, name: &[u8], is_group: bool) -> Result<Who, Status> {
    if let Some((_, special)) = SPECIAL.iter().find(|(special, _)| special.as_bytes() == name) {
        return Ok(special.clone());
    }
    if let Some(text) = std::str::from_utf8(name).ok().filter(|text| text.starts_with("S-1-")) {
        return if text == OWNER_RIGHTS { Ok(Who::OwnerRights) } else { foreign(text) };
    }
    if is_group { naming.group(name).map(Who::Group) } else { naming.user(name).map(Who::User) }
}

/// Whether an ACL may be set on an object of this kind, RFC 7530 6.2.1.4.1: only folders pass entries on.
fn check_for(kind: Kind, entries: &[Entry]) -> Result<(), Status> {
    let passes_on = || entries.iter().any(|entry| entry.inherit.intersects(PASSED_ON));
    match kind {
        Kind::Folder => Ok(()),
        Kind::File if !passes_on() => Ok(()),
        _ => Err(Status::ATTRNOTSUPP),
    }
}

/// An identity of another system, MS-DTYP 2.4.2.1. Those that the tree has under another name are not taken as foreign ones:
/// Everyone, Authenticated Users, CREATOR OWNER and CREATOR GROUP, and the users and groups of Unix hosts.
fn foreign(text: &str) -> Result<Who, Status> {
    let numbers: Option<Vec<u32>> = text.split('-').skip(2).map(|number| number.parse().ok()).collect();
    let numbers = numbers.filter(|numbers| (2..=16).contains(&numbers.len())).ok_or(Status::BADOWNER)?;
    let is_known = matches!(numbers[..], [1, 0] | [5, 11] | [3, ..] | [22, 1 | 2, ..] | [5, 88, ..]);
    if is_known {
        return Err(Status::BADOWNER);
    }
    let mut w = Writer::new();
    w.u8(1);
    w.u8((numbers.len() - 1) as u8); // at most 15
    w.u16_be(0);
    w.u32_be(numbers[0]);
    numbers[1..].iter().for_each(|number| w.u32_le(*number));
    Ok(Who::Foreign(Arc::from(w.into_bytes())))
}

/// The text of a SID.
fn sid_text(bytes: &[u8]) -> Option<String> {
    let mut r = Reader::new(bytes);
    let (revision, count) = (r.u8().ok()?, r.u8().ok()?);
    let (high, low) = (r.u16_be().ok()?, r.u32_be().ok()?);
    if (revision, high) != (1, 0) || r.remaining() != usize::from(count) * 4 {
        return None;
    }
    let mut text = format!("S-1-{low}");
    for _ in 0..count {
        let _ = write!(text, "-{}", r.u32_le().ok()?); // into a string: never fails
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use auth::UnixAccounts;

    use super::*;

    fn naming() -> Naming {
        let accounts = UnixAccounts::parse("ada:x:1000:100::/:\n", "staff:x:100:\n");
        Naming::new(Some("example.org".into()), accounts)
    }

    fn ace(flags: u32, mask: u32, who: &str) -> Result<Entry, Status> {
        let ace = Ace { kind: AceType::ALLOWED, flags, mask, who: OwnerName::new(who.as_bytes()) };
        entry(&naming(), &ace, false)
    }

    /// RFC 8881 6.2.1.5, and the users and groups of 5.9.
    #[test]
    fn names_and_identities_correspond() {
        let foreign = Who::Foreign(Arc::from([1, 2, 0, 0, 0, 0, 0, 5, 21, 0, 0, 0, 9, 0, 0, 0]));
        for (name, flags, who) in [
            ("OWNER@", 0, Who::Owner),
            ("GROUP@", GROUP, Who::OwningGroup),
            ("EVERYONE@", 0, Who::Everyone),
            ("AUTHENTICATED@", 0, Who::SignedIn),
            ("ada@example.org", 0, Who::User(1000)),
            ("staff@example.org", GROUP, Who::Group(100)),
            ("1234", 0, Who::User(1234)),
            ("1234", GROUP, Who::Group(1234)),
            ("S-1-3-4", 0, Who::OwnerRights),
            ("S-1-5-21-9", 0, foreign),
        ] {
            let entry = ace(flags, 1, name).expect(name);
            assert_eq!(entry, Entry::allow(who, Rights::READ_DATA));
            let mut w = Writer::new();
            put(&naming(), &entry, false, &mut w);
            let mut expected = Writer::new();
            [0, flags, 1].iter().for_each(|word| expected.u32_be(*word));
            crate::wire::xdr::put_opaque(&mut expected, name.as_bytes());
            assert_eq!(w.as_bytes(), expected.as_bytes(), "{name}");
        }
        // The flag means nothing for special identities, 6.2.1.4.1.
        assert_eq!(ace(GROUP, 0, "EVERYONE@").unwrap().who, Who::Everyone);
    }

    #[test]
    fn unknown_identities_are_refused() {
        for name in [
            "NETWORK@",
            "ANONYMOUS@",
            "ada@other.org",
            "ada",
            "S-1-1-0",
            "S-1-5-11",
            "S-1-3-0",
            "S-1-22-1-1000",
        ] {
            assert_eq!(ace(0, 1, name).err(), Some(Status(10039)), "{name}"); // NFS4ERR_BADOWNER
        }
        assert_eq!(ace(0, 1, "").err(), Some(Status(22)));
    }

    /// RFC 7530 6.2.1.1 and 6.2.1.4.1.
    #[test]
    fn entries_that_would_not_be_enforced_are_refused() {
        for kind in [2, 3, 4] {
            let audit = Ace { kind: AceType(kind), flags: 0, mask: 1, who: OwnerName::new(b"OWNER@") };
            assert_eq!(entry(&naming(), &audit, false).err(), Some(Status(10032))); // NFS4ERR_ATTRNOTSUPP
        }
        assert_eq!(ace(8, 1, "OWNER@").err(), Some(Status(10032))); // inherit-only, by nothing
        assert_eq!(ace(0x100, 1, "OWNER@").err(), Some(Status(22)));
        assert_eq!(ace(0, 1 << 22, "OWNER@").err(), Some(Status(22)));
        assert_eq!(ace(0, 0x601, "OWNER@").unwrap().rights, Rights::READ_DATA);
        let inherited = [ace(3, 1, "OWNER@").unwrap()];
        assert_eq!(check_for(Kind::Folder, &inherited), Ok(()));
        assert_eq!(check_for(Kind::File, &inherited), Err(Status(10032)));
        assert_eq!(check_for(Kind::Link, &[]), Err(Status(10032)));
    }

    /// RFC 8881 6.2.1.4.1: only `dacl` says that an entry was inherited.
    #[test]
    fn only_dacl_tells_what_was_inherited() {
        let sent = Ace { kind: AceType::DENIED, flags: 0x81, mask: 2, who: OwnerName::new(b"OWNER@") };
        let by = |is_dacl| entry(&naming(), &sent, is_dacl).unwrap().inherit;
        assert_eq!((by(false), by(true)), (Inherit::FILES, Inherit::FILES.union(Inherit::INHERITED)));
        let list = vec![entry(&naming(), &sent, true).unwrap()];
        let acl = Acl {
            owner: Who::User(1),
            group: Who::Group(1),
            entries: Entries { list, protected: true, auto_inherited: true },
            stored: true,
            within_mode: false,
            team: None,
        };
        let flags = |is_dacl| EncodedAcl::new(&naming(), &acl, is_dacl).aces().iter().next().unwrap().flags;
        assert_eq!((flags(false), flags(true)), (1, 0x81));
        assert_eq!(EncodedAcl::new(&naming(), &acl, true).flags, 3);
        assert_eq!(SentList::dacl(&naming(), 8, &Aces::default()).err(), Some(Status(22)));
    }

    #[test]
    fn what_is_written_back_is_what_it_was() {
        let who =
            [Who::Owner, Who::OwningGroup, Who::Everyone, Who::User(1000), Who::Group(100), Who::OwnerRights];
        let mut list = Vec::new();
        for (number, who) in who.into_iter().enumerate() {
            let rights = Rights(0x1f_01ff >> number).intersection(Rights::ALL).union(Rights::RUNS_AS_READER);
            list.push(Entry::allow(who.clone(), rights).inherited_by(Inherit((number as u8 % 4) | 16)));
            list.push(Entry::deny(who, Rights::WRITE_DATA.union(Rights::FROM_MODE)));
        }
        let entries = Entries { list, protected: true, auto_inherited: true };
        let acl = Acl {
            owner: Who::User(1),
            group: Who::Group(1),
            entries,
            stored: true,
            within_mode: false,
            team: None,
        };
        for is_dacl in [false, true] {
            let read = EncodedAcl::new(&naming(), &acl, is_dacl);
            let sent = |aces: &Aces<'_>| match is_dacl {
                true => SentList::dacl(&naming(), read.flags, aces).unwrap(),
                false => SentList::acl(&naming(), aces).unwrap(),
            };
            assert_eq!(sent(&read.aces()).after(&naming(), &acl, Kind::File), Ok(None));
            // A new entry in front of them, as `nfs4_setfacl -a` puts it.
            let new = Entry::deny(Who::User(2000), Rights::READ_DATA);
            let mut w = Writer::new();
            put(&naming(), &new, is_dacl, &mut w);
            w.put(&read.bytes);
            let more = Aces::new(read.count + 1, w.as_bytes());
            let changed = sent(&more).after(&naming(), &acl, Kind::File).unwrap().unwrap();
            assert_eq!((&changed.list[0], &changed.list[1..]), (&new, &acl.entries.list[..]));
            assert!(changed.protected && changed.auto_inherited);
        }
    }
}
