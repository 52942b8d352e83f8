//! Access control lists as clients of SMB write and read them: security descriptors, MS-SMB2 3.2.4.12 and MS-DTYP 2.4.6.

use ::smb::wire::security::well_known::{
    AUTHENTICATED_USERS, CREATOR_GROUP, CREATOR_OWNER, EVERYONE, OWNER_RIGHTS, Unix,
};
use ::smb::wire::security::{
    AccessMask, Ace, AceBody, AceFlags, AceType, Acl, Control, SecurityDescriptor, SecurityInformation, Sid,
};
use ::smb::wire::{Command, InfoType, create, query_info, set_info};
use vfs::acl::{Entries, Entry, EntryKind, Inherit, Rights, Who, summary};
use wire::{Reader, Writer};

use super::classes::Owners;
use super::metadata::existing;
use super::{LIST_BYTES, Smb, malformed};
use crate::Result;
use crate::security::{FileSecurity, entries_of};

/// The flags of an entry that say how it is inherited, MS-DTYP 2.4.4.1: the numbers of [`Inherit`].
const INHERITANCE: u8 = 0x1f;

impl Smb {
    /// The list of a file, unless it only says a mode, or is not shown to this account.
    pub(super) fn whole_acl(&mut self, path: &str) -> Result<Option<Entries>> {
        let descriptor = match self.descriptor(path) {
            Err(error) if error.ends_session() => return Err(error),
            Err(_) => return Ok(None),
            Ok(descriptor) => descriptor,
        };
        let Some(dacl) = descriptor.dacl.as_ref().filter(|_| !says_mode(&descriptor)) else {
            return Ok(None);
        };
        Ok(Some(Entries {
            list: entries(&descriptor, dacl),
            protected: descriptor.control.contains(Control::DACL_PROTECTED),
            auto_inherited: descriptor.control.contains(Control::DACL_AUTO_INHERITED),
        }))
    }

    /// Gives a file this list, and no other entries.
    pub(super) fn set_whole_acl(&mut self, path: &str, entries: &Entries) -> Result<()> {
        let there = self.descriptor(path)?;
        let aces = entries.list.iter().filter_map(|entry| {
            let sid = sid_of(&entry.who, entry.inherit, &there)?;
            let (mask, flags) = (AccessMask(entry.rights.0 & Rights::ALL.0), AceFlags(entry.inherit.0));
            Some(match entry.kind {
                EntryKind::Allow => Ace::allow(sid, mask, flags),
                EntryKind::Deny => Ace::deny(sid, mask, flags),
            })
        });
        let mut control = Control(0);
        if entries.protected {
            control |= Control::DACL_PROTECTED;
        }
        if entries.auto_inherited {
            control |= Control::DACL_AUTO_INHERITED | Control::DACL_AUTO_INHERIT_REQUIRED;
        }
        let dacl = Some(Acl::new(aces.collect()));
        let descriptor = SecurityDescriptor { control, dacl, ..SecurityDescriptor::default() };
        self.set_descriptor(path, &descriptor, SecurityInformation::DACL, AccessMask::WRITE_DAC)
    }

    /// Owner, group, and the list or the mode that it says. A file whose descriptor is not shown, or that has no list, has none:
    /// who may use it is not known.
    pub(super) fn whole_security(&mut self, path: &str) -> Result<FileSecurity> {
        let descriptor = match self.descriptor(path) {
            Err(error) if error.ends_session() => return Err(error),
            Err(_) => return Ok(FileSecurity::default()),
            Ok(descriptor) => descriptor,
        };
        Ok(security(&descriptor))
    }

    /// Gives a file to a user of Unix, unless it is that user's already.
    pub(super) fn set_owner(&mut self, path: &str, uid: u32) -> Result<()> {
        let sid = Unix::User(uid).sid();
        if self.descriptor(path)?.owner == Some(sid) {
            return Ok(());
        }
        let descriptor = SecurityDescriptor { owner: Some(sid), ..SecurityDescriptor::default() };
        self.set_descriptor(path, &descriptor, SecurityInformation::OWNER, AccessMask::WRITE_OWNER)
    }

    /// Gives a file to a group of Unix, unless it has that group already.
    pub(super) fn set_group(&mut self, path: &str, gid: u32) -> Result<()> {
        let sid = Unix::Group(gid).sid();
        if self.descriptor(path)?.group == Some(sid) {
            return Ok(());
        }
        let descriptor = SecurityDescriptor { group: Some(sid), ..SecurityDescriptor::default() };
        self.set_descriptor(path, &descriptor, SecurityInformation::GROUP, AccessMask::WRITE_OWNER)
    }

    /// Gives a file the list that says what a mode says, and no entries that it inherits.
    pub(super) fn set_mode(&mut self, path: &str, mode: u32, is_folder: bool) -> Result<()> {
        let list = entries_of(mode, is_folder);
        self.set_whole_acl(path, &Entries { list, ..Entries::default() })
    }

    /// A new file is its owner's alone. A server without lists, or one that keeps them from this user, has it as its folder says.
    pub(super) fn restrict(&mut self, path: &str) -> Result<()> {
        match self.set_mode(path, 0o600, false) {
            Err(error) if error.ends_session() => Err(error),
            _ => Ok(()),
        }
    }

    /// The owner, the group and the list of a file.
    pub(super) fn descriptor(&mut self, path: &str) -> Result<SecurityDescriptor> {
        let open = |request: &mut create::Request<'_>| {
            existing(request);
            request.desired_access = AccessMask::READ_CONTROL.0;
        };
        let bytes = self.with(path, open, |smb, file| {
            let request = query_info::Request {
                info_type: InfoType::SECURITY,
                information_class: 0,
                output_buffer_length: LIST_BYTES,
                additional_information: (SecurityInformation::OWNER
                    | SecurityInformation::GROUP
                    | SecurityInformation::DACL)
                    .0,
                flags: query_info::Flags::NONE,
                file,
                input: &[],
            };
            let answer = smb.call(Command::QUERY_INFO, |w| request.encode(w))?;
            Ok(query_info::Response::decode(&answer.message).map_err(malformed)?.data)
        })?;
        SecurityDescriptor::decode(&bytes).map_err(malformed)
    }

    /// The entries for users of Unix.
    pub(super) fn acl(&mut self, path: &str) -> Result<Vec<Entry>> {
        let aces = self.descriptor(path)?.dacl.map(|acl| acl.aces).unwrap_or_default();
        Ok(aces.iter().filter_map(entry_of).collect())
    }

    /// Puts entries before those that the file has.
    pub(super) fn put_acl(&mut self, path: &str, entries: &[Entry]) -> Result<()> {
        let before = self.descriptor(path)?;
        let everything = || vec![Ace::allow(EVERYONE, AccessMask(Rights::ALL.0), AceFlags::NONE)];
        let old = before.dacl.map_or_else(everything, |acl| acl.aces);
        let protected = Control(before.control.0 & Control::DACL_PROTECTED.0);
        // Windows sets lists so: what is made in the folder is then marked as inherited, MS-DTYP 2.5.3.4.2.
        let inheriting = Control::DACL_AUTO_INHERITED | Control::DACL_AUTO_INHERIT_REQUIRED;
        let descriptor = SecurityDescriptor {
            control: protected | inheriting,
            dacl: Some(Acl::new(entries.iter().filter_map(ace_of).chain(old).collect())),
            ..SecurityDescriptor::default()
        };
        self.set_descriptor(path, &descriptor, SecurityInformation::DACL, AccessMask::WRITE_DAC)
    }

    /// Sets this part of a descriptor, for which this access is needed.
    fn set_descriptor(
        &mut self,
        path: &str,
        descriptor: &SecurityDescriptor,
        part: SecurityInformation,
        access: AccessMask,
    ) -> Result<()> {
        let mut w = Writer::new();
        descriptor.encode(&mut w);
        let open = |request: &mut create::Request<'_>| {
            existing(request);
            request.desired_access = (AccessMask::READ_CONTROL | access).0;
        };
        self.with(path, open, |smb, file| {
            let request = set_info::Request {
                info_type: InfoType::SECURITY,
                information_class: 0,
                additional_information: part.0,
                file,
                data: w.as_bytes(),
            };
            smb.call(Command::SET_INFO, |w| request.encode(w)).map(drop)
        })
    }
}

/// The user of Unix of a SID: S-1-22-1-uid, or S-1-5-88-1-uid.
pub(super) fn uid_of(sid: &Sid) -> Option<u32> {
    match Unix::of(sid)? {
        Unix::User(uid) => Some(uid),
        Unix::Group(_) => None,
    }
}

fn security(descriptor: &SecurityDescriptor) -> FileSecurity {
    let account = |sid: &Sid, is_group: bool| match who_of(sid, Inherit::NONE) {
        Who::User(_) if is_group => None,
        Who::Group(_) if !is_group => None, // Windows' Administrators may own files
        who @ (Who::User(_) | Who::Group(_) | Who::Foreign(_)) => Some(who),
        _ => None,
    };
    let mut security = FileSecurity {
        owner: descriptor.owner.as_ref().and_then(|sid| account(sid, false)),
        group: descriptor.group.as_ref().and_then(|sid| account(sid, true)),
        ..FileSecurity::default()
    };
    let Some(dacl) = &descriptor.dacl else { return security };
    let mut list = entries(descriptor, dacl);
    if says_mode(descriptor) {
        let of_class = |who: &Who| match Some(who) {
            who if who == who_is(descriptor.owner.as_ref()).as_ref() => Some(Who::Owner),
            who if who == who_is(descriptor.group.as_ref()).as_ref() => Some(Who::OwningGroup),
            _ => None,
        };
        list.iter_mut().for_each(|entry| entry.who = of_class(&entry.who).unwrap_or(entry.who.clone()));
        security.mode = Some(summary(&list, u32::MAX, u32::MAX));
        return security;
    }
    // A list of kinds of entries that are not known here, such as conditions, would say something else without them.
    let is_whole = dacl.aces.iter().all(|ace| whole_entry(ace).is_some() || is_no_right(ace.kind));
    if is_whole {
        let number = |who: &Option<Who>| match who {
            Some(Who::User(number) | Who::Group(number)) => *number,
            _ => u32::MAX,
        };
        security.mode = Some(summary(&list, number(&security.owner), number(&security.group)));
        security.list = Some(Entries {
            list,
            protected: descriptor.control.contains(Control::DACL_PROTECTED),
            auto_inherited: descriptor.control.contains(Control::DACL_AUTO_INHERITED),
        });
    }
    security
}

/// The entries of a list; those of a server of Unix with the order of its classes.
fn entries(descriptor: &SecurityDescriptor, dacl: &Acl) -> Vec<Entry> {
    let list = dacl.aces.iter().filter_map(whole_entry).collect();
    let (owner, group) = (who_is(descriptor.owner.as_ref()), who_is(descriptor.group.as_ref()));
    Owners { owner: owner.as_ref(), group: group.as_ref() }.exact(list)
}

fn who_is(sid: Option<&Sid>) -> Option<Who> {
    sid.map(|sid| who_of(sid, Inherit::NONE))
}

/// Whether an entry neither gives nor takes rights: one that is written to logs, or a label.
fn is_no_right(kind: AceType) -> bool {
    /// SYSTEM_AUDIT, SYSTEM_ALARM, their forms for objects and callbacks, SYSTEM_MANDATORY_LABEL to
    /// SYSTEM_SCOPED_POLICY_ID: MS-DTYP 2.4.4.1.
    const NO_RIGHTS: [u8; 11] = [2, 3, 7, 8, 0xd, 0xe, 0xf, 0x10, 0x11, 0x12, 0x13];
    NO_RIGHTS.contains(&kind.0)
}

/// Whether a list says no more than a mode: what its owner, its group and everyone may do, as servers of Unix show it.
fn says_mode(descriptor: &SecurityDescriptor) -> bool {
    let Some(dacl) = &descriptor.dacl else { return true };
    let of_mode = [descriptor.owner.as_ref(), descriptor.group.as_ref(), Some(&EVERYONE)];
    let mut seen = Vec::new();
    // smbd protects each list that it makes of a mode. A list of Windows that is protected may say no more, but must stay protected.
    let is_of_unix = |sid: &Option<Sid>| sid.as_ref().is_some_and(|sid| Unix::of(sid).is_some());
    let may_be = !descriptor.control.contains(Control::DACL_PROTECTED)
        || is_of_unix(&descriptor.owner)
        || is_of_unix(&descriptor.group);
    may_be
        && dacl.aces.iter().all(|ace| match &ace.body {
            AceBody::Plain { sid, .. } => {
                let is_new = !seen.contains(&sid);
                seen.push(sid);
                is_new
                    && ace.kind == AceType::ALLOWED
                    && ace.flags.0 & INHERITANCE == 0
                    && of_mode.contains(&Some(sid))
            }
            _ => false,
        })
}

/// An entry of any account. `None`: it neither allows nor denies.
fn whole_entry(ace: &Ace) -> Option<Entry> {
    let kind = match ace.kind {
        AceType::ALLOWED => EntryKind::Allow,
        AceType::DENIED => EntryKind::Deny,
        _ => return None,
    };
    let AceBody::Plain { mask, sid, .. } = &ace.body else { return None };
    let inherit = Inherit(ace.flags.0 & INHERITANCE);
    Some(Entry { kind, inherit, rights: Rights(mask.0), who: who_of(sid, inherit) })
}

fn who_of(sid: &Sid, inherit: Inherit) -> Who {
    let is_passed_on = inherit.intersects(Inherit::FILES.union(Inherit::FOLDERS));
    match Unix::of(sid) {
        Some(Unix::User(uid)) => return Who::User(uid),
        Some(Unix::Group(gid)) => return Who::Group(gid),
        None => {}
    }
    match *sid {
        CREATOR_OWNER if is_passed_on => Who::Owner,
        CREATOR_GROUP if is_passed_on => Who::OwningGroup,
        EVERYONE => Who::Everyone,
        AUTHENTICATED_USERS => Who::SignedIn,
        OWNER_RIGHTS => Who::OwnerRights,
        _ => {
            let mut w = Writer::new();
            sid.encode(&mut w);
            Who::Foreign(w.into_bytes().into())
        }
    }
}

/// The SID of an account. The owner and the group of a file are those that it has there.
fn sid_of(who: &Who, inherit: Inherit, there: &SecurityDescriptor) -> Option<Sid> {
    let is_passed_on = inherit.intersects(Inherit::FILES.union(Inherit::FOLDERS));
    Some(match who {
        Who::User(uid) => Unix::User(*uid).sid(),
        Who::Group(gid) => Unix::Group(*gid).sid(),
        Who::Owner if is_passed_on => CREATOR_OWNER,
        Who::OwningGroup if is_passed_on => CREATOR_GROUP,
        Who::Owner => there.owner?,
        Who::OwningGroup => there.group?,
        Who::Everyone => EVERYONE,
        Who::SignedIn => AUTHENTICATED_USERS,
        Who::OwnerRights => OWNER_RIGHTS,
        Who::Foreign(bytes) => Sid::decode(&mut Reader::new(bytes)).ok()?,
    })
}

fn entry_of(ace: &Ace) -> Option<Entry> {
    let kind = match ace.kind {
        AceType::ALLOWED => EntryKind::Allow,
        AceType::DENIED => EntryKind::Deny,
        _ => return None,
    };
    let AceBody::Plain { mask, sid, .. } = &ace.body else { return None };
    let inherit = Inherit(ace.flags.0 & INHERITANCE);
    Some(Entry { kind, inherit, rights: Rights(mask.0), who: Who::User(uid_of(sid)?) })
}

fn ace_of(entry: &Entry) -> Option<Ace> {
    let Who::User(uid) = entry.who else { return None };
    let (sid, mask, flags) = (Unix::User(uid).sid(), AccessMask(entry.rights.0), AceFlags(entry.inherit.0));
    Some(match entry.kind {
        EntryKind::Allow => Ace::allow(sid, mask, flags),
        EntryKind::Deny => Ace::deny(sid, mask, flags),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_keep_their_kind_rights_and_flags() {
        let entries = crate::metadata::acl::passes_on();
        let aces: Vec<Ace> = entries.iter().filter_map(ace_of).collect();
        // MS-DTYP 2.4.4.1: OBJECT_INHERIT 1, CONTAINER_INHERIT 2, NO_PROPAGATE 4, INHERIT_ONLY 8; denied is 1.
        let heads: Vec<_> = aces.iter().map(|ace| (ace.kind.0, ace.flags.0)).collect();
        assert_eq!(heads, [(1, 9), (1, 6), (0, 3)]);
        assert_eq!(aces.iter().filter_map(entry_of).collect::<Vec<_>>(), entries);
    }
}
