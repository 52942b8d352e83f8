//! Whole access control lists, RFC 8881 6.2. The crate `nfs` has the same for a server, with statuses instead of losses.

use ::nfs::wire::v4::acls::{Ace, AceType, Aces, FlaggedAces};
use ::nfs::wire::v4::attributes::{self as attribute, Values};
use ::nfs::wire::v4::files::CompoundOperation;
use ::nfs::wire::v4::types::Bitmap;
use ::nfs::wire::xdr::{Encode, Opaque};
use vfs::acl::samba::{sid_of_text, text_of_sid};
use vfs::acl::{Entries, Entry, EntryKind, Inherit, Rights, Who};
use wire::Writer;

use super::Nfs4;
use super::metadata::{AUTO_INHERIT, GROUP, INHERITED, PASSED_ON, found};
use super::naming::IdMapper;
use crate::stranger_name;
use crate::{Error, Result};

/// ACL4_PROTECTED, RFC 8881 6.4.3.2.
const PROTECTED: u32 = 2;
/// The identities with a name, RFC 8881 6.2.1.5, and the owner's own rights, MS-DTYP 2.4.2.4, as Fourfold names them.
const SPECIAL: [(&str, Who); 5] = [
    ("OWNER@", Who::Owner),
    ("GROUP@", Who::OwningGroup),
    ("EVERYONE@", Who::Everyone),
    ("AUTHENTICATED@", Who::SignedIn),
    ("S-1-3-4", Who::OwnerRights),
];

impl Nfs4 {
    /// The list of a file, if it says more than a mode.
    pub(super) fn whole_acl(&mut self, path: &str) -> Result<Option<Entries>> {
        let Some(number) = self.acl_attribute() else { return Ok(None) };
        let answer = match self.on_name(path, CompoundOperation::GetAttr(Bitmap::of(&[number]))) {
            Err(error) if error.ends_session() => return Err(error),
            other => other?,
        };
        match found(&answer, path)?.values() {
            Err(Error::Refused(_) | Error::Unsupported(_)) => Ok(None),
            values => entries(&values?, &mut self.naming),
        }
    }

    /// Gives a file this list, and no other entries. `false`: the server keeps no lists.
    pub(super) fn set_whole_acl(&mut self, path: &str, entries: &Entries) -> Result<bool> {
        let Some(number) = self.acl_attribute() else { return Ok(false) };
        let mut w = Writer::new();
        entries.list.iter().for_each(|entry| put(entry, number == attribute::DACL, &mut w));
        let aces = Aces::new(entries.list.len() as u32, w.as_bytes());
        let flag = |on, bit| if on { bit } else { 0 };
        let flags = flag(entries.protected, PROTECTED) | flag(entries.auto_inherited, AUTO_INHERIT);
        let mut values = Values::default();
        match number {
            attribute::DACL => values.dacl = Some(FlaggedAces { flags, aces }),
            _ => values.acl = Some(aces),
        }
        self.set(path, &values, number).map(|()| true)
    }
}

/// The list of these attributes. `None`: the server told no list, or it only says a mode.
pub(super) fn entries(values: &Values<'_>, naming: &mut IdMapper) -> Result<Option<Entries>> {
    let (flags, aces) = match (values.dacl, values.acl) {
        (Some(FlaggedAces { flags, aces }), _) => (flags, aces),
        (None, Some(aces)) => (0, aces),
        (None, None) => return Ok(None),
    };
    let list: Vec<Entry> =
        aces.iter().filter_map(|ace| entry(&ace, naming).transpose()).collect::<Result<_>>()?;
    if flags & PROTECTED == 0 && says_mode(&list) {
        return Ok(None);
    }
    Ok(Some(Entries { list, protected: flags & PROTECTED != 0, auto_inherited: flags & AUTO_INHERIT != 0 }))
}

/// An entry; `None` for one that neither allows nor denies.
fn entry(ace: &Ace<'_>, naming: &mut IdMapper) -> Result<Option<Entry>> {
    let kind = match ace.kind {
        AceType::ALLOWED => EntryKind::Allow,
        AceType::DENIED => EntryKind::Deny,
        _ => return Ok(None),
    };
    let inherited = if ace.flags & INHERITED != 0 { Inherit::INHERITED } else { Inherit::NONE };
    let inherit = Inherit((ace.flags & PASSED_ON) as u8).union(inherited);
    let who = who(&ace.who, ace.flags & GROUP != 0, naming)?;
    Ok(Some(Entry { kind, inherit, rights: Rights(ace.mask & Rights::ALL.0), who }))
}

fn who(name: &[u8], is_group: bool, naming: &mut IdMapper) -> Result<Who> {
    if let Some((_, who)) = SPECIAL.iter().find(|(special, _)| special.as_bytes() == name) {
        return Ok(who.clone());
    }
    let text = String::from_utf8_lossy(name);
    if let Some(sid) = sid_of_text(&text) {
        return Ok(Who::Foreign(sid.into()));
    }
    let who = naming.account(name, is_group);
    who.ok_or_else(|| Error::Other(format!("an account whose name cannot be kept: {text}")))
}

/// Whether a list says no more than a mode, as servers without lists of their own show it: what the owner, the group and everyone may
/// do here. A mode has one bit for changing data and for writing behind them.
fn says_mode(list: &[Entry]) -> bool {
    list.iter().all(|entry| {
        let writes = [Rights::WRITE_DATA, Rights::APPEND].map(|right| entry.rights.contains(right));
        matches!(entry.who, Who::Owner | Who::OwningGroup | Who::Everyone)
            && entry.inherit == Inherit::NONE
            && writes[0] == writes[1]
    })
}

fn put(entry: &Entry, is_dacl: bool, w: &mut Writer) {
    let kind = if entry.kind == EntryKind::Allow { AceType::ALLOWED } else { AceType::DENIED };
    let is_inherited = is_dacl && entry.inherit.contains(Inherit::INHERITED);
    let mut flags = u32::from(entry.inherit.0) & PASSED_ON | if is_inherited { INHERITED } else { 0 };
    let name = match &entry.who {
        Who::User(number) | Who::Group(number) => number.to_string(),
        Who::Foreign(sid) => match stranger_name(sid) {
            Some((name, is_group)) => {
                flags |= if is_group { GROUP } else { 0 };
                name.to_owned()
            }
            None => text_of_sid(sid),
        },
        other => SPECIAL.iter().find(|(_, who)| who == other).map_or("", |(name, _)| name).to_owned(),
    };
    if matches!(entry.who, Who::Group(_) | Who::OwningGroup) {
        flags |= GROUP;
    }
    Ace { kind, flags, mask: entry.rights.0 & Rights::ALL.0, who: Opaque::new(name.as_bytes()) }.encode(w);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stranger;

    fn read(list: &[Entry], is_dacl: bool) -> Option<Entries> {
        let mut w = Writer::new();
        list.iter().for_each(|entry| put(entry, is_dacl, &mut w));
        let aces = Aces::new(list.len() as u32, w.as_bytes());
        let values = match is_dacl {
            true => Values { dacl: Some(FlaggedAces { flags: PROTECTED, aces }), ..Values::default() },
            false => Values { acl: Some(aces), ..Values::default() },
        };
        entries(&values, &mut IdMapper::empty()).unwrap()
    }

    #[test]
    fn every_identity_comes_back() {
        let sid = |text| Who::Foreign(sid_of_text(text).unwrap().into());
        let all = [
            Who::User(54_321),
            Who::Group(54_321),
            Who::Owner,
            Who::OwningGroup,
            Who::Everyone,
            Who::SignedIn,
            Who::OwnerRights,
            sid("S-1-5-21-1-2-3-1001"),
            stranger("no-such-user@example.org", false).unwrap(),
            stranger("no-such-group@example.org", true).unwrap(),
        ];
        let list = all.map(|who| Entry::allow(who, Rights::READ_DATA).inherited_by(Inherit::INHERITED));
        let there = read(&list, true).unwrap();
        assert!(there.protected && !there.auto_inherited);
        assert_eq!(there.list, list);
        // Only `dacl` says what was inherited, RFC 8881 6.4.3.2.
        assert!(read(&list, false).unwrap().list.iter().all(|entry| entry.inherit == Inherit::NONE));
    }

    #[test]
    fn a_list_that_only_says_a_mode_is_none() {
        let (write, both) = (Rights::WRITE_DATA, Rights::WRITE_DATA.union(Rights::APPEND));
        let mode = vec![
            Entry::allow(Who::Owner, both),
            Entry::deny(Who::OwningGroup, both),
            Entry::allow(Who::Everyone, Rights::READ_DATA),
        ];
        assert_eq!(read(&mode, false), None);
        assert_eq!(read(&mode, true).unwrap().list, mode); // it is protected
        for more in [
            Entry::allow(Who::User(7), Rights::READ_DATA),
            Entry::allow(Who::Owner, write),
            Entry::allow(Who::Owner, both).inherited_by(Inherit::FILES),
        ] {
            assert!(read(&[mode.clone(), vec![more]].concat(), false).is_some());
        }
    }

    #[test]
    fn audits_are_left_out() {
        let audit = Ace { kind: AceType::AUDIT, flags: 0, mask: 1, who: Opaque::new(b"7") };
        assert_eq!(entry(&audit, &mut IdMapper::empty()).unwrap(), None);
    }
}
