//! Access control lists as clients of SMB write and read them: security descriptors, MS-SMB2 3.2.4.12 and MS-DTYP 2.4.6.

use ::smb::wire::security::well_known::{EVERYONE, Unix};
use ::smb::wire::security::{
    AccessMask, Ace, AceBody, AceFlags, AceType, Acl, Control, SecurityDescriptor, SecurityInformation, Sid,
};
use ::smb::wire::{Command, InfoType, create, query_info, set_info};
use vfs::acl::{Entry, EntryKind, Inherit, Rights, Who};
use wire::Writer;

use super::metadata::existing;
use super::{LIST_BYTES, Smb, malformed};
use crate::Result;

/// The flags of an entry that say how it is inherited, MS-DTYP 2.4.4.1: the numbers of [`Inherit`].
const INHERITANCE: u8 = 0x1f;

impl Smb {
    /// The owner and the list of a file.
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
                additional_information: (SecurityInformation::OWNER | SecurityInformation::DACL).0,
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
        let mut w = Writer::new();
        descriptor.encode(&mut w);
        let open = |request: &mut create::Request<'_>| {
            existing(request);
            request.desired_access = (AccessMask::READ_CONTROL | AccessMask::WRITE_DAC).0;
        };
        self.with(path, open, |smb, file| {
            let request = set_info::Request {
                info_type: InfoType::SECURITY,
                information_class: 0,
                additional_information: SecurityInformation::DACL.0,
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
        Unix::User(uid) | Unix::NfsUser(uid) => Some(uid),
        _ => None,
    }
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
