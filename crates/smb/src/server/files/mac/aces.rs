//! Mode, owner and group in a Mac's access control lists (server capability NFS_ACE): entries that deny nothing, whose SIDs
//! are numbers. A Mac reads the mode there, and changes it by sending such an entry. So does Linux with the POSIX extensions.

use vfs::Attributes;

use super::posix_mode;
use crate::wire::security::well_known::EntryNumber;
use crate::wire::security::{AccessMask, Ace, AceBody, AceFlags, SecurityDescriptor};

/// Adds the entries to a list that a Mac asked for.
pub(in crate::server) fn add(descriptor: &mut SecurityDescriptor, of: &Attributes) {
    let Some(dacl) = &mut descriptor.dacl else { return };
    let mode = EntryNumber::Mode(u32::from(posix_mode(of)));
    let numbers = [mode, EntryNumber::User(of.uid), EntryNumber::Group(of.gid)];
    let entry = |number: EntryNumber| Ace::deny(number.sid(), AccessMask::NONE, AceFlags::NONE);
    dacl.aces.extend(numbers.map(entry));
}

/// The changes that a Mac asks for with a list.
#[derive(Debug, Default, PartialEq, Eq)]
pub(in crate::server) struct MacAclChange {
    /// The mode that the client wants, without the type: a Mac means the permission bits alone.
    pub(in crate::server) mode: Option<u32>,
    /// The list has other entries as well.
    pub(in crate::server) is_list: bool,
}

/// Takes the entries out of a list that a Mac sent.
pub(in crate::server) fn take(descriptor: &mut SecurityDescriptor) -> MacAclChange {
    let mut taken = MacAclChange { mode: None, is_list: true };
    let Some(dacl) = &mut descriptor.dacl else { return taken };
    let before = dacl.aces.len();
    dacl.aces.retain(|ace| match number_of(ace) {
        Some(EntryNumber::Mode(mode)) => {
            taken.mode.get_or_insert(mode & 0o7777);
            false
        }
        Some(EntryNumber::User(_) | EntryNumber::Group(_)) => false,
        None => true,
    });
    taken.is_list = before == 0 || !dacl.aces.is_empty();
    taken
}

fn number_of(ace: &Ace) -> Option<EntryNumber> {
    match &ace.body {
        AceBody::Plain { sid, .. } => EntryNumber::of(sid),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::security::{Acl as Dacl, Control, Sid};

    fn sid(text: &str) -> Sid {
        text.parse().unwrap()
    }

    fn list(aces: Vec<Ace>) -> SecurityDescriptor {
        let control = Control::DACL_PRESENT;
        SecurityDescriptor { control, dacl: Some(Dacl::new(aces)), ..Default::default() }
    }

    fn denies(text: &str) -> Ace {
        Ace::deny(sid(text), AccessMask::NONE, AceFlags::NONE)
    }

    #[test]
    fn a_list_of_such_entries_alone_changes_the_mode_alone() {
        // S-1-5-88-3: the third number is the mode, in decimal. 33261 is 0o100755.
        let mut sent = list(vec![denies("S-1-5-88-3-33261"), denies("S-1-5-88-1-501")]);
        assert_eq!(take(&mut sent), MacAclChange { mode: Some(0o755), is_list: false });
    }

    #[test]
    fn other_entries_are_left() {
        let everyone = Ace::allow(sid("S-1-1-0"), AccessMask::READ_DATA, AceFlags::NONE);
        let mut sent = list(vec![everyone.clone(), denies("S-1-5-88-2-20"), denies("S-1-5-88-2-21")]);
        assert_eq!(take(&mut sent), MacAclChange { mode: None, is_list: true });
        assert_eq!(sent.dacl.unwrap().aces, [everyone]);
        assert_eq!(take(&mut list(vec![])), MacAclChange { mode: None, is_list: true });
    }
}
