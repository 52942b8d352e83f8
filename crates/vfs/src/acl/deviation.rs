//! Where the disk lets local programs do other things than the roles of the share say.

use std::collections::BTreeMap;

use super::Who;
use super::disk::{DiskForm, SETGID, STICKY};
use super::posix::PosixAcl;

/// Something on the disk of a team folder that does not say what its roles say.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Deviation {
    /// Local programs of these users may not do what their roles let them.
    Lacks {
        /// They: a user, a group, the owner, the owning group, or all others.
        who: Who,
        /// What is missing: read 4, write 2, execute 1.
        bits: u32,
        /// It concerns what is made in this folder, not the folder.
        passed_on: bool,
    },
    /// Local programs of these users may do more than their roles let them.
    Exceeds {
        /// They: a user, a group, the owner, the owning group, or all others.
        who: Who,
        /// What is too much: read 4, write 2, execute 1.
        bits: u32,
        /// It concerns what is made in this folder, not the folder.
        passed_on: bool,
    },
    /// What local programs make in this folder gets another group: the setgid bit is missing.
    NoSetgid,
    /// Only owners remove entries of this folder locally: the sticky bit is set.
    Sticky,
    /// What local programs make in this folder has no rights of the roles: the default ACL is missing.
    NoDefault,
    /// There is a list that this server has not sealed, or that was changed since. It has no effect.
    UnsealedList,
    /// The list is not what its folder passes on, as after a move of a large folder.
    StaleList,
    /// It belongs to a user without a role, who can change the mode.
    ForeignOwner,
    /// The list takes something from a group. POSIX cannot say that, so local programs of groups are left out altogether.
    GroupsLeftOut,
    /// The file system keeps no POSIX ACLs, so only owner, group and others have their rights.
    NoPosixAcls,
}

impl Deviation {
    /// Whether it is only said, because there is nothing to mend: the file system, or POSIX, cannot do better.
    pub fn is_note(&self) -> bool {
        matches!(self, Self::GroupsLeftOut | Self::NoPosixAcls)
    }

    /// Whether a reset mends it.
    pub fn is_mendable(&self) -> bool {
        !self.is_note() && *self != Self::ForeignOwner
    }

    /// Whether users get more than their roles give them.
    pub fn is_too_wide(&self) -> bool {
        matches!(self, Self::Exceeds { .. })
    }
}

/// What the disk says of a file or folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DiskState {
    /// Its ACL, or the classes of its mode.
    pub(crate) access: PosixAcl,
    /// What a folder passes on.
    pub(crate) default: Option<PosixAcl>,
    /// Its mode.
    pub(crate) mode: u32,
    /// Its setgid bit can be set.
    pub(crate) keeps_setgid: bool,
}

impl DiskState {
    /// What differs from a form that has a default ACL if it is one of a folder.
    pub(crate) fn deviations(&self, form: &DiskForm, is_folder: bool) -> Vec<Deviation> {
        let mut found = compare(&self.access, &form.access, false);
        if is_folder && self.keeps_setgid && self.mode & SETGID == 0 {
            found.push(Deviation::NoSetgid);
        }
        if is_folder && self.mode & STICKY != 0 {
            found.push(Deviation::Sticky);
        }
        match (&self.default, &form.default) {
            (None, Some(_)) => found.push(Deviation::NoDefault),
            (Some(is), Some(form)) => found.extend(compare(is, form, true)),
            (_, None) => {}
        }
        found
    }
}

/// Compares what is effective: bits that the mask takes do not matter.
fn compare(is: &PosixAcl, form: &PosixAcl, passed_on: bool) -> Vec<Deviation> {
    let mut found = Vec::new();
    let mut differs = |who: Who, is: u32, form: u32| {
        if form & !is != 0 {
            found.push(Deviation::Lacks { who: who.clone(), bits: form & !is, passed_on });
        }
        if is & !form != 0 {
            found.push(Deviation::Exceeds { who, bits: is & !form, passed_on });
        }
    };
    differs(Who::Owner, is.owner, form.owner);
    for (user, is, form) in named((is, &is.users), (form, &form.users)) {
        differs(Who::User(user), is, form);
    }
    differs(Who::OwningGroup, is.masked(is.owning_group), form.masked(form.owning_group));
    for (group, is, form) in named((is, &is.groups), (form, &form.groups)) {
        differs(Who::Group(group), is, form);
    }
    differs(Who::Everyone, is.others, form.others);
    found
}

/// The bits of all users, or all groups, that one of two lists names. Who is not named is one of the others.
fn named(is: (&PosixAcl, &[(u32, u32)]), form: (&PosixAcl, &[(u32, u32)])) -> Vec<(u32, u32, u32)> {
    let others = [is.0.others, form.0.others];
    let mut all: BTreeMap<u32, [u32; 2]> = BTreeMap::new();
    for (which, (acl, list)) in [is, form].into_iter().enumerate() {
        // The first of two entries counts.
        for (id, bits) in list.iter().rev() {
            all.entry(*id).or_insert(others)[which] = acl.masked(*bits);
        }
    }
    all.into_iter().map(|(id, [is, form])| (id, is, form)).collect()
}
