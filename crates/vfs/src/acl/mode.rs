//! A mode expressed as an ACL, and an ACL summed up in a mode.

use super::evaluate::{Seeker, evaluate};
use super::posix::PosixAcl;
use super::{Acl, Entries, Entry, EntryKind, Inherit, Rights, Who};
use crate::{Access, Attributes, Caller, Kind};

/// What a POSIX ACL lets a caller do to the data.
pub(crate) fn by_posix_acl(attributes: &Attributes, posix: &[u8], caller: &Caller) -> Access {
    let acl = derive(attributes, Some(posix));
    Access(bits_of(acl.rights(caller, attributes.uid, attributes.gid)) as u8)
}

/// The three bits of a mode, as a set.
const ALL_BITS: u32 = 7;

/// The ACL of a file as the host has it: its mode, and the value of its POSIX ACL, if that says
/// more than the mode.
pub(crate) fn derive(attributes: &Attributes, posix: Option<&[u8]>) -> Acl {
    let is_folder = attributes.kind == Kind::Folder;
    let classes = posix.and_then(Classes::parse).unwrap_or_else(|| Classes::of_mode(attributes.mode));
    Acl {
        owner: Who::User(attributes.uid),
        group: Who::Group(attributes.gid),
        entries: Entries { list: classes.entries(is_folder), ..Entries::default() },
        stored: false,
        within_mode: false,
        team: None,
    }
}

/// The entries that say the same as a mode.
pub fn entries_of_mode(mode: u32, is_folder: bool) -> Vec<Entry> {
    Classes::of_mode(mode).entries(is_folder)
}

/// The entries that say the same as a POSIX ACL of the host. `None`: it is none.
pub fn entries_of_posix(value: &[u8], is_folder: bool) -> Option<Vec<Entry>> {
    Some(Classes::parse(value)?.entries(is_folder))
}

/// The rights that three bits of a mode give.
pub(crate) fn rights_of(bits: u32, is_folder: bool) -> Rights {
    let bit = |bit, rights| if bits & bit == bit { rights } else { Rights::NONE };
    // The host removes an entry for a caller that may write to the folder and pass through it.
    let both = if is_folder { bit(3, Rights::DELETE_CHILD) } else { Rights::NONE };
    bit(4, Rights::BY_READ).union(bit(2, Rights::BY_WRITE)).union(bit(1, Rights::EXECUTE)).union(both)
}

/// The rights that a class does not have which lacks these bits.
pub(super) fn rights_without(bits: u32, is_folder: bool) -> Rights {
    let needs_both = is_folder && bits & 3 != 0;
    rights_of(bits, is_folder).union(if needs_both { Rights::DELETE_CHILD } else { Rights::NONE })
}

/// The classes of POSIX 1003.1e 23.1.5, with the mask applied. The first class that the caller
/// belongs to decides alone. Of the groups, all that the caller belongs to decide.
struct Classes {
    owner: u32,
    users: Vec<(u32, u32)>,
    owning_group: u32,
    groups: Vec<(u32, u32)>,
    others: u32,
}

impl Classes {
    fn of_mode(mode: u32) -> Self {
        Self::of(PosixAcl::of_mode(mode))
    }

    /// The host's `system.posix_acl_access`.
    fn parse(value: &[u8]) -> Option<Self> {
        PosixAcl::decode(value).map(Self::of)
    }

    fn of(acl: PosixAcl) -> Self {
        let masked = |list: &[(u32, u32)]| list.iter().map(|&(id, bits)| (id, acl.masked(bits))).collect();
        Self {
            owner: acl.owner,
            users: masked(&acl.users),
            owning_group: acl.masked(acl.owning_group),
            groups: masked(&acl.groups),
            others: acl.others,
        }
    }

    /// In the order in which the classes apply. If a later class has a right that an earlier one
    /// lacks, an entry in between takes it.
    fn entries(&self, is_folder: bool) -> Vec<Entry> {
        let rights = |bits| rights_of(bits, is_folder);
        let without = |bits| rights_without(bits, is_folder);
        let mut list = Vec::new();
        let in_groups = self.groups.iter().fold(self.owning_group, |all, (_, bits)| all | bits);
        let after_users = self.users.iter().fold(in_groups | self.others, |all, (_, bits)| all | bits);
        let owner = rights(self.owner).union(Rights::BY_OWNING).union(Rights::BY_ANY_MODE);
        list.push(Entry::allow(Who::Owner, owner));
        // An owner without write permission still changes times and flags.
        take(&mut list, Who::Owner, without(after_users & !self.owner).difference(Rights::BY_OWNING));
        for &(user, bits) in &self.users {
            list.push(Entry::allow(Who::User(user), rights(bits).union(Rights::BY_ANY_MODE)));
            take(&mut list, Who::User(user), without((in_groups | self.others) & !bits));
        }
        let groups = self.groups.iter().map(|&(group, bits)| (Who::Group(group), bits));
        let groups: Vec<(Who, u32)> =
            [(Who::OwningGroup, self.owning_group)].into_iter().chain(groups).collect();
        for (who, bits) in &groups {
            list.push(Entry::allow(who.clone(), rights(*bits).union(Rights::BY_ANY_MODE)));
        }
        for (who, bits) in groups {
            take(&mut list, who, without(self.others & !bits));
        }
        list.push(Entry::allow(Who::Everyone, rights(self.others).union(Rights::BY_ANY_MODE)));
        list
    }
}

fn take(list: &mut Vec<Entry>, who: Who, rights: Rights) {
    if rights != Rights::NONE {
        list.push(Entry::deny(who, rights));
    }
}

/// The permission bits that come nearest to an ACL, for clients that see the mode only. They give
/// no user more than the ACL does, as far as the members of groups are known. A right that is taken
/// from a named user is given to no class to which that user may belong.
pub fn summary(entries: &[Entry], uid: u32, gid: u32) -> u32 {
    let class = |is: &dyn Fn(&Who) -> bool, owns| bits_of(evaluate(entries, &Seeker { is, owns }));
    let is_owner = |who: &Who| matches!(who, Who::Owner | Who::OwnerRights) || *who == Who::User(uid);
    let in_group = |who: &Who| *who == Who::OwningGroup || *who == Who::Group(gid);
    let is_local = |who: &Who| matches!(who, Who::Everyone | Who::SignedIn);
    let owner = class(&|who| is_owner(who) || is_local(who), true);
    let group = class(&|who| in_group(who) || is_local(who), false);
    let others = class(&|who| *who == Who::Everyone, false);
    let takes_by_name = |entry: &&Entry| {
        let by_class = is_owner(&entry.who) || in_group(&entry.who) || entry.who == Who::Everyone;
        entry.kind == EntryKind::Deny && !entry.inherit.contains(Inherit::ONLY) && !by_class
    };
    let taken = entries.iter().filter(takes_by_name).fold(Rights::NONE, |all, entry| all.union(entry.rights));
    let left = ALL_BITS & !touched(taken);
    owner << 6 | (group & left) << 3 | (others & left)
}

/// The mode bits of these rights. A caller that may not append does not get the write bit.
fn bits_of(rights: Rights) -> u32 {
    let bit = |needs, bit| if rights.contains(needs) { bit } else { 0 };
    bit(Rights::READ_DATA, 4) | bit(Rights::WRITE_DATA.union(Rights::APPEND), 2) | bit(Rights::EXECUTE, 1)
}

/// The mode bits of which these rights contain a part.
fn touched(rights: Rights) -> u32 {
    let bit = |of, bit| if rights.intersects(of) { bit } else { 0 };
    bit(Rights::READ_DATA, 4) | bit(Rights::WRITE_DATA.union(Rights::APPEND), 2) | bit(Rights::EXECUTE, 1)
}
