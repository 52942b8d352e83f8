//! What an ACL allows a caller: MS-DTYP 2.5.3.2, which is RFC 8881 6.2.1 with an owner's own
//! rights.

use super::{Acl, Entry, EntryKind, Inherit, NOBODY, Rights, Who};
use crate::{Access, Attributes, Caller, Kind};

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
        if let Some(team) = &self.team {
            return team.rights(caller, (uid, gid), &self.entries.list);
        }
        let is = |who: &Who| who.means(caller, (uid, gid));
        evaluate(&self.entries.list, &Seeker { is: &is, owns: caller.uid == uid })
    }
}

impl Acl {
    /// What the caller may do to the data of a file with these attributes.
    pub(crate) fn access(&self, caller: &Caller, of: &Attributes) -> Access {
        let rights = self.rights(caller, of.uid, of.gid);
        let writes = match of.kind {
            Kind::Folder => Rights::WRITE_DATA.union(Rights::APPEND).union(Rights::DELETE_CHILD),
            _ => Rights::WRITE_DATA,
        };
        let bit = |of, bit| if rights.intersects(of) { bit } else { Access::NONE };
        // In a team folder the mode says whether a file can be executed, and the roles by whom.
        let runs = self.team.is_none() || of.kind != Kind::File || of.mode & 0o111 != 0;
        let executes = if runs { Rights::EXECUTE } else { Rights::NONE };
        bit(Rights::READ_DATA, Access::READ)
            .union(bit(writes, Access::WRITE))
            .union(bit(executes, Access::EXECUTE))
    }
}

impl Who {
    /// Whether a caller is meant, in an entry of a file of this owner and group.
    pub(super) fn means(&self, caller: &Caller, (uid, gid): (u32, u32)) -> bool {
        match self {
            Self::User(user) => caller.uid == *user,
            Self::Group(group) => caller.in_group(*group),
            Self::Owner | Self::OwnerRights => caller.uid == uid,
            Self::OwningGroup => caller.in_group(gid),
            Self::Everyone => true,
            Self::SignedIn => caller.uid != NOBODY,
            Self::Foreign(_) => false,
        }
    }
}

/// In order: the first entry that names a right and matches the caller decides that right.
pub(super) fn evaluate(entries: &[Entry], seeker: &Seeker<'_>) -> Rights {
    let limits = |entry: &Entry| !entry.inherit.contains(Inherit::ONLY) && entry.who == Who::OwnerRights;
    let by_owning = match seeker.owns && !entries.iter().any(limits) {
        true => Rights::READ_ACL.union(Rights::WRITE_ACL),
        false => Rights::NONE,
    };
    decided(entries, seeker.is, by_owning).0.difference(Rights::FROM_MODE)
}

/// The rights that entries give and take, after some were given.
pub(super) fn decided<'a>(
    entries: impl IntoIterator<Item = &'a Entry>,
    is: &dyn Fn(&Who) -> bool,
    given: Rights,
) -> (Rights, Rights) {
    let about_this = entries.into_iter().filter(|entry| !entry.inherit.contains(Inherit::ONLY));
    in_order(about_this.filter(|entry| is(&entry.who)), given)
}

/// The same of entries that all count. The first one that names a right decides it.
pub(super) fn in_order<'a>(entries: impl IntoIterator<Item = &'a Entry>, given: Rights) -> (Rights, Rights) {
    let (mut given, mut taken) = (given, Rights::NONE);
    for entry in entries {
        match entry.kind {
            EntryKind::Allow => given = given.union(entry.rights.difference(taken)),
            EntryKind::Deny => taken = taken.union(withdrawn(entry.rights).difference(given)),
        }
    }
    (given, taken)
}

/// The rights that an entry takes.
fn withdrawn(rights: Rights) -> Rights {
    let with = |right, more| if rights.contains(right) { more } else { Rights::NONE };
    rights.union(with(Rights::EXECUTE, Rights::RUNS_AS_READER)).union(with(Rights::DELETE, Rights::RENAMES))
}
