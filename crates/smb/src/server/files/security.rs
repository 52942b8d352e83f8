//! Access rights in the form of Windows: SIDs, masks and descriptors on the wire, ACLs in the tree.
//!
//! | the tree | the wire |
//! |---|---|
//! | user, group of this host | S-1-22-1-uid, S-1-22-2-gid |
//! | owner, owning group, in an entry to be inherited | CREATOR OWNER, CREATOR GROUP |
//! | owner, owning group, in any other | the SID of the file's owner, group |
//! | everyone, signed in, the owner's own rights | Everyone, Authenticated Users, OWNER RIGHTS |
//! | an identity of another system | the SID's bytes, as they came |

use vfs::Kind;
use vfs::acl::{Acl, AclChange, Entries, Entry, EntryKind, Inherit, Rights, Who, written_back};
use wire::{Reader, Writer};

use crate::server::clients::open::File;
use crate::wire::Status;
use crate::wire::security::well_known::{self, Unix};
use crate::wire::security::{
    AccessMask, Ace, AceBody, AceFlags, AceType, Acl as Dacl, Control, GenericMapping, SecurityDescriptor,
    SecurityInformation, Sid,
};

/// Entries with these flags are inherited by files or folders inside.
const PASSED_ON: Inherit = Inherit::FILES.union(Inherit::FOLDERS);
/// The inheritance flags of an entry. The two models have the same numbers for them.
const INHERIT_FLAGS: u8 = 0x1F;

/// The SID that clients see for an identity. `entry` says whether and how the entry that names it
/// is inherited.
fn sid_of(who: &Who, entry: Inherit, acl: &Acl) -> Sid {
    let is_passed_on = entry.intersects(PASSED_ON);
    match who {
        Who::User(uid) => Unix::User(*uid).sid(),
        Who::Group(gid) => Unix::Group(*gid).sid(),
        Who::Owner if is_passed_on => well_known::CREATOR_OWNER,
        Who::OwningGroup if is_passed_on => well_known::CREATOR_GROUP,
        Who::Owner => owner_sid(acl),
        Who::OwningGroup => group_sid(acl),
        Who::Everyone => well_known::EVERYONE,
        Who::SignedIn => well_known::AUTHENTICATED_USERS,
        Who::OwnerRights => well_known::OWNER_RIGHTS,
        // Foreign identities came from this protocol, or from another one with SIDs.
        Who::Foreign(bytes) => Sid::decode(&mut Reader::new(bytes)).unwrap_or(well_known::NOBODY),
    }
}

fn owner_sid(acl: &Acl) -> Sid {
    match &acl.owner {
        // The tree names an owner by its uid or SID.
        Who::Owner | Who::OwningGroup => well_known::NOBODY,
        other => sid_of(other, Inherit::NONE, acl),
    }
}

fn group_sid(acl: &Acl) -> Sid {
    match &acl.group {
        Who::Owner | Who::OwningGroup => well_known::NOBODY,
        other => sid_of(other, Inherit::NONE, acl),
    }
}

/// The identity of a SID in the tree. CREATOR OWNER in an entry that is not inherited matches no
/// user: no token has that SID.
fn who_of(sid: &Sid, entry: Inherit) -> Who {
    if let Some(unix) = Unix::of(sid) {
        return match unix {
            Unix::User(uid) => Who::User(uid),
            Unix::Group(gid) => Who::Group(gid),
        };
    }
    let is_passed_on = entry.intersects(PASSED_ON);
    match *sid {
        well_known::CREATOR_OWNER if is_passed_on => Who::Owner,
        well_known::CREATOR_GROUP if is_passed_on => Who::OwningGroup,
        well_known::EVERYONE => Who::Everyone,
        well_known::AUTHENTICATED_USERS => Who::SignedIn,
        well_known::OWNER_RIGHTS => Who::OwnerRights,
        _ => foreign(sid),
    }
}

fn foreign(sid: &Sid) -> Who {
    let mut w = Writer::new();
    sid.encode(&mut w);
    Who::Foreign(w.into_bytes().into())
}

/// The stored form of a NULL list: an entry for everyone with a bit that no real entry has, which
/// identifies it.
fn null_entry() -> Entry {
    Entry::allow(Who::Everyone, Rights(AccessMask::FILE_ALL.0 | AccessMask::MAXIMUM_ALLOWED.0))
}

/// The ACL that the clients of an open file are shown.
pub(in crate::server) fn shown_of(file: &File) -> Result<Acl, Status> {
    let found = file.open.found()?;
    Ok(as_shown(file.open.volume().acl(&found)?, found.attributes.kind == Kind::Folder))
}

/// The ACL of a file with all that counts over SMB: where only the mode applies, some rights that no bit of it stands for
/// are shown, too (`beyond_mode` in `create/access.rs` gives them). So a client that adds an entry, and sends the others back,
/// takes nothing from anybody.
pub(in crate::server) fn as_shown(mut acl: Acl, is_folder: bool) -> Acl {
    if !acl.stored {
        acl.entries.list.iter_mut().for_each(|entry| add_what_is_beyond(entry, is_folder));
    }
    acl
}

fn add_what_is_beyond(entry: &mut Entry, is_folder: bool) {
    let mut more = Rights::NONE;
    if !is_folder && entry.rights.contains(Rights::READ_DATA) && !entry.rights.contains(Rights::EXECUTE) {
        more = more.union(Rights::RUNS_AS_READER);
    }
    if !is_folder && entry.rights.contains(Rights::WRITE_DATA) {
        more = more.union(Rights::DELETE_CHILD);
    }
    if entry.kind == EntryKind::Allow && entry.who == Who::Owner {
        more = more.union(Rights::TAKE_OWNERSHIP).union(Rights::READ_NAMED).union(Rights::WRITE_NAMED);
    }
    entry.rights = entry.rights.union(more);
}

/// The mask that clients see for rights.
pub(in crate::server) fn mask_of(rights: Rights) -> AccessMask {
    let mask = AccessMask(rights.difference(Rights::RUNS_AS_READER).0);
    if rights.contains(Rights::RUNS_AS_READER) { mask | AccessMask::EXECUTE } else { mask }
}

/// The parts of a file's descriptor that are asked for, MS-FSA 2.1.5.13.
pub(in crate::server) fn descriptor(acl: &Acl, parts: SecurityInformation) -> SecurityDescriptor {
    let mut descriptor = SecurityDescriptor { control: Control::SELF_RELATIVE, ..Default::default() };
    if parts.contains(SecurityInformation::OWNER) {
        descriptor.owner = Some(owner_sid(acl));
    }
    if parts.contains(SecurityInformation::GROUP) {
        descriptor.group = Some(group_sid(acl));
    }
    if parts.contains(SecurityInformation::DACL) {
        descriptor.control |= Control::DACL_PRESENT;
        if acl.entries.protected {
            descriptor.control |= Control::DACL_PROTECTED;
        }
        if acl.entries.auto_inherited {
            descriptor.control |= Control::DACL_AUTO_INHERITED;
        }
        if acl.entries.list == [null_entry()] {
            return descriptor;
        }
        descriptor.dacl = Some(Dacl::new(acl.entries.list.iter().map(|entry| ace_of(entry, acl)).collect()));
    }
    descriptor
}

fn ace_of(entry: &Entry, acl: &Acl) -> Ace {
    let (sid, mask) = (sid_of(&entry.who, entry.inherit, acl), mask_of(entry.rights));
    let flags = AceFlags(entry.inherit.0);
    match entry.kind {
        EntryKind::Allow => Ace::allow(sid, mask, flags),
        EntryKind::Deny => Ace::deny(sid, mask, flags),
    }
}

/// The entries that a descriptor gives a file, if it has any. A NULL list lets every user do everything.
fn entries(descriptor: &SecurityDescriptor) -> Result<Option<Entries>, Status> {
    let control = descriptor.control;
    if !control.contains(Control::DACL_PRESENT) {
        return Ok(None);
    }
    let list = match &descriptor.dacl {
        None => vec![null_entry()],
        Some(dacl) => dacl.aces.iter().map(entry_of).collect::<Result<_, _>>()?,
    };
    // MS-DTYP 2.5.3.4.1 keeps what is inherited automatically only for who asks for it.
    let auto_inherited = control.contains(Control::DACL_AUTO_INHERITED | Control::DACL_AUTO_INHERIT_REQUIRED);
    Ok(Some(Entries { list, protected: control.contains(Control::DACL_PROTECTED), auto_inherited }))
}

/// The entries that a client gives a file which has had `before`; `None` if it writes back what it has read. What was inherited
/// automatically stays so if the client says it again: a descriptor that is read has no DACL_AUTO_INHERIT_REQUIRED.
fn changed(descriptor: &SecurityDescriptor, mut given: Entries, before: &Acl) -> Option<Entries> {
    let was = &before.entries;
    given.auto_inherited |= was.auto_inherited && descriptor.control.contains(Control::DACL_AUTO_INHERITED);
    let has_same_flags = (given.protected, given.auto_inherited) == (was.protected, was.auto_inherited);
    let as_sent = |entry: &Entry| match *entry == null_entry() {
        true => Some(entry.clone()),
        false => entry_of(&ace_of(entry, before)).ok(),
    };
    match written_back(&was.list, given.list, as_sent) {
        None if has_same_flags => None,
        list => Some(Entries { list: list.unwrap_or_else(|| was.list.clone()), ..given }),
    }
}

/// Only entries that allow or deny are accepted. Others (conditions, object types, audits) are
/// refused, because the server would not enforce them.
fn entry_of(ace: &Ace) -> Result<Entry, Status> {
    let kind = match ace.kind {
        AceType::ALLOWED => EntryKind::Allow,
        AceType::DENIED => EntryKind::Deny,
        _ => return Err(Status::INVALID_ACL),
    };
    let AceBody::Plain { mask, sid, .. } = &ace.body else { return Err(Status::INVALID_ACL) };
    let inherit = Inherit(ace.flags.0 & INHERIT_FLAGS);
    let rights = Rights(mask.mapped(&GenericMapping::FILE).0);
    Ok(Entry { kind, inherit, rights, who: who_of(sid, inherit) })
}

/// The change that a client makes with a descriptor, MS-FSA 2.1.5.17. An owner or group that this host does not know is kept with
/// the file, and has no effect. `before`: what the client is shown of an existing file.
pub(in crate::server) fn change(
    descriptor: &SecurityDescriptor,
    parts: SecurityInformation,
    before: Option<&Acl>,
) -> Result<AclChange, Status> {
    let mut change = AclChange::default();
    if parts.contains(SecurityInformation::OWNER) {
        change.owner = match descriptor.owner.as_ref().map(|sid| (sid, who_of(sid, Inherit::NONE))) {
            Some((_, Who::User(uid))) => Some(Who::User(uid)),
            Some((sid, _)) => Some(foreign(sid)),
            None => return Err(Status::INVALID_OWNER),
        };
    }
    if parts.contains(SecurityInformation::GROUP) {
        change.group = match descriptor.group.as_ref().map(|sid| (sid, who_of(sid, Inherit::NONE))) {
            Some((_, Who::Group(gid))) => Some(Who::Group(gid)),
            Some((sid, _)) => Some(foreign(sid)),
            None => return Err(Status::INVALID_SECURITY_DESCR),
        };
    }
    if parts.contains(SecurityInformation::DACL) {
        // To set a list and give none is to set a NULL one.
        let all = || Entries { list: vec![null_entry()], ..Entries::default() };
        let given = entries(descriptor)?.unwrap_or_else(all);
        change.entries = match before {
            Some(before) => changed(descriptor, given, before),
            None => Some(given),
        };
    }
    Ok(change)
}

#[cfg(test)]
mod written_back_tests;

#[cfg(test)]
mod tests {
    use super::*;

    const OWNER: u32 = 1000;
    const GROUP: u32 = 100;

    fn acl(list: Vec<Entry>) -> Acl {
        let entries = Entries { list, ..Entries::default() };
        Acl {
            owner: Who::User(OWNER),
            group: Who::Group(GROUP),
            entries,
            stored: true,
            within_mode: false,
            team: None,
        }
    }

    fn sid(text: &str) -> Sid {
        text.parse().unwrap()
    }

    /// MS-DTYP 2.4.2.4 has the well-known ones.
    const SIDS: &[(&str, Who)] = &[
        ("S-1-1-0", Who::Everyone),
        ("S-1-5-11", Who::SignedIn),
        ("S-1-3-4", Who::OwnerRights),
        ("S-1-22-1-1234", Who::User(1234)),
        ("S-1-22-2-5678", Who::Group(5678)),
    ];

    #[test]
    fn sids_and_identities_correspond() {
        let acl = acl(Vec::new());
        for (text, who) in SIDS {
            assert_eq!(who_of(&sid(text), Inherit::NONE), *who);
            assert_eq!(sid_of(who, Inherit::NONE, &acl).to_string(), *text);
        }
    }

    #[test]
    fn somebody_of_another_system_comes_back_as_he_went() {
        let stranger = sid("S-1-5-21-1-2-3-1104");
        let who = who_of(&stranger, Inherit::NONE);
        assert!(matches!(who, Who::Foreign(_)));
        assert_eq!(sid_of(&who, Inherit::NONE, &acl(Vec::new())), stranger);
    }

    /// MS-DTYP 2.4.2.4: CREATOR OWNER is a placeholder in an inheritable ACE.
    #[test]
    fn a_creator_is_the_owner_only_of_what_inherits_the_entry() {
        assert_eq!(who_of(&sid("S-1-3-0"), Inherit::FILES), Who::Owner);
        assert!(matches!(who_of(&sid("S-1-3-0"), Inherit::NONE), Who::Foreign(_)));
        let acl = acl(Vec::new());
        assert_eq!(sid_of(&Who::Owner, Inherit::FOLDERS, &acl).to_string(), "S-1-3-0");
        assert_eq!(sid_of(&Who::Owner, Inherit::NONE, &acl).to_string(), "S-1-22-1-1000");
        assert_eq!(sid_of(&Who::OwningGroup, Inherit::NONE, &acl).to_string(), "S-1-22-2-100");
    }

    /// MS-DTYP 2.5.3.4.1; GENERIC_READ of a file is FILE_GENERIC_READ, MS-SMB2 2.2.13.1.1.
    #[test]
    fn generic_rights_are_kept_as_what_they_stand_for() {
        let ace = Ace::allow(sid("S-1-1-0"), AccessMask::GENERIC_READ, AceFlags::NONE);
        assert_eq!(entry_of(&ace).unwrap().rights, Rights(0x0012_0089));
    }

    #[test]
    fn a_null_list_lets_everybody_in_and_an_empty_one_nobody() {
        let null = SecurityDescriptor { control: Control::DACL_PRESENT, ..Default::default() };
        let kept = acl(entries(&null).unwrap().unwrap().list);
        assert_eq!(
            kept.rights(&vfs::Caller::new(7, 7, &[]), OWNER, GROUP).intersection(Rights::ALL),
            Rights::ALL
        );
        let shown = descriptor(&kept, SecurityInformation::DACL);
        assert!(shown.control.contains(Control::DACL_PRESENT) && shown.dacl.is_none());
        let empty = SecurityDescriptor { dacl: Some(Dacl::new(Vec::new())), ..null };
        assert!(entries(&empty).unwrap().unwrap().list.is_empty());
        assert_eq!(entries(&SecurityDescriptor::default()), Ok(None));
    }

    /// MS-DTYP 2.4.6: DI is kept only together with DC.
    #[test]
    fn that_entries_were_inherited_is_kept_for_who_asks_for_it() {
        let with = |control| {
            let set = SecurityDescriptor { control: Control::DACL_PRESENT | control, ..Default::default() };
            entries(&set).unwrap().unwrap().auto_inherited
        };
        assert!(!with(Control::DACL_AUTO_INHERITED));
        assert!(!with(Control::DACL_AUTO_INHERIT_REQUIRED));
        assert!(with(Control::DACL_AUTO_INHERITED | Control::DACL_AUTO_INHERIT_REQUIRED));
    }

    #[test]
    fn conditions_and_object_types_are_refused() {
        let mut ace = Ace::allow(sid("S-1-1-0"), AccessMask::READ_DATA, AceFlags::NONE);
        for kind in [AceType::ALLOWED_CALLBACK, AceType::ALLOWED_OBJECT, AceType::AUDIT] {
            ace.kind = kind;
            assert_eq!(entry_of(&ace), Err(Status::INVALID_ACL));
        }
    }

    #[test]
    fn only_what_is_asked_for_is_said() {
        let acl = acl(vec![Entry::allow(Who::Owner, Rights::ALL)]);
        let owner = descriptor(&acl, SecurityInformation::OWNER);
        assert_eq!((owner.owner, owner.group, owner.dacl), (Some(sid("S-1-22-1-1000")), None, None));
        let dacl = descriptor(&acl, SecurityInformation::DACL);
        assert!(dacl.control.contains(Control::DACL_PRESENT) && dacl.owner.is_none());
        let full = Ace::allow(sid("S-1-22-1-1000"), AccessMask::FILE_ALL, AceFlags::NONE);
        assert_eq!(dacl.dacl, Some(Dacl::new(vec![full])));
    }

    #[test]
    fn an_owner_whom_the_host_does_not_know_is_kept() {
        let set = |text| SecurityDescriptor { owner: Some(sid(text)), ..Default::default() };
        let owner = |text| change(&set(text), SecurityInformation::OWNER, None).map(|change| change.owner);
        assert_eq!(owner("S-1-22-1-7"), Ok(Some(Who::User(7))));
        assert_eq!(owner("S-1-5-32-544"), Ok(Some(foreign(&sid("S-1-5-32-544")))));
        let nobody = change(&SecurityDescriptor::default(), SecurityInformation::OWNER, None);
        assert_eq!(nobody, Err(Status::INVALID_OWNER));
    }
}
