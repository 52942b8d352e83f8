//! What an ACL allows a caller: MS-DTYP 2.5.3.2, which is RFC 8881 6.2.1 with an owner's own
//! rights.

use super::{Acl, Entry, EntryKind, Inherit, NOBODY, Rights, Who};
use crate::Caller;

/// A caller, as far as entries need it.
pub(super) struct Seeker<'a> {
    pub(super) is: &'a dyn Fn(&Who) -> bool,
    pub(super) owns: bool,
}

impl Acl {
    /// Everything that the caller may do to a file of this owner and group on this host. The
    /// superuser may do everything.
    pub fn rights(&self, caller: &Caller, uid: u32, gid: u32) -> Rights {
        if caller.uid == 0 {
            return Rights::ALL;
        }
        let is = |who: &Who| match who {
            Who::User(user) => caller.uid == *user,
            Who::Group(group) => caller.in_group(*group),
            Who::Owner | Who::OwnerRights => caller.uid == uid,
            Who::OwningGroup => caller.in_group(gid),
            Who::Everyone => true,
            Who::SignedIn => caller.uid != NOBODY,
            Who::Foreign(_) => false,
        };
        evaluate(&self.entries.list, &Seeker { is: &is, owns: caller.uid == uid })
    }
}

/// In order: the first entry that names a right and matches the caller decides that right.
pub(super) fn evaluate(entries: &[Entry], seeker: &Seeker<'_>) -> Rights {
    let about_this = || entries.iter().filter(|entry| !entry.inherit.contains(Inherit::ONLY));
    let limited = || about_this().any(|entry| entry.who == Who::OwnerRights);
    let (mut given, mut taken) = (Rights::NONE, Rights::NONE);
    if seeker.owns && !limited() {
        given = Rights::READ_ACL.union(Rights::WRITE_ACL);
    }
    for entry in about_this().filter(|entry| (seeker.is)(&entry.who)) {
        match entry.kind {
            EntryKind::Allow => given = given.union(entry.rights.difference(taken)),
            EntryKind::Deny => taken = taken.union(withdrawn(entry.rights).difference(given)),
        }
    }
    given.difference(Rights::FROM_MODE)
}

/// The rights that an entry takes.
fn withdrawn(rights: Rights) -> Rights {
    if rights.contains(Rights::EXECUTE) { rights.union(Rights::RUNS_AS_READER) } else { rights }
}
