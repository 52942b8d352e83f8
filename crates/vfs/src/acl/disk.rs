//! What the roles of a share and the entries of a list are on the disk, for local programs: the permission bits and POSIX ACLs that
//! come nearest, and give no user or group more than it has.
//!
//! ```text
//! user with a role, or named by an entry      user:UID     what the roles and entries of this user and of everyone give
//! group with a role, or named by an entry     group:GID    the same for its members
//! everyone, guests                            other
//! the anonymous user, if it has less          user:65534
//! the file's group                            group        what everyone has, so that it does not matter which one it is
//! the file's owner                            owner        all that no entry takes: an owner can change the bits anyway
//! ```
//!
//! POSIX cannot say "adds, and removes only its own" beside "removes all": contributors only read, and a drop box takes nothing
//! from local programs. A group cannot be denied something that another group gives: then no group, and no user of whom the groups
//! are not known here, gets it. What a folder passes on counts for files and folders alike: the less of both.

use auth::{Grantee, RoleSet, Roles};

use super::posix::PosixAcl;
use super::team::{TeamPlace, all_rights_of, entries_then_roles};
use super::{Entry, EntryKind, Inherit, NOBODY, Rights, Who};

/// The number of a group that is not known: it has no members, and the host takes no entry for it.
const UNKNOWN: u32 = u32::MAX;

/// Folders keep their group, so that what is made in them has the same.
pub(crate) const SETGID: u32 = 0o2000;
/// Only owners remove entries of a folder: not what an editor may do.
pub(crate) const STICKY: u32 = 0o1000;
/// The bits of files that no program is.
const DATA: u32 = 6;
const ALL_BITS: u32 = 7;
pub(super) const EXECUTES: u32 = 0o100;

/// What says who may do what with a file or folder.
pub(crate) struct RightsSource<'a> {
    /// The roles of the share. `None`: the list is cut off from them.
    pub(crate) roles: Option<&'a Roles>,
    /// The entries of its own list, without those of the roles.
    pub(crate) list: &'a [Entry],
    /// The list was set when there were no roles: it gives nothing that the roles do not give, too.
    pub(crate) older: bool,
    /// What it is.
    pub(crate) place: TeamPlace,
    /// Its owner.
    pub(crate) uid: u32,
    /// Its mode.
    pub(crate) mode: u32,
}

/// The form of a file or folder on the disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DiskForm {
    /// Who may do what with it.
    pub(crate) access: PosixAcl,
    /// What a folder passes on.
    pub(crate) default: Option<PosixAcl>,
    /// An entry takes something from a group, which POSIX cannot say.
    pub(crate) leaves_out_groups: bool,
}

impl DiskForm {
    /// The permission bits on a disk without POSIX ACLs, for a file of this group.
    pub(crate) fn mode_alone(&self, gid: u32) -> u32 {
        let PosixAcl { owner, owning_group, ref groups, mask, others, .. } = self.access;
        let of_group = groups.iter().find(|(group, _)| *group == gid).map_or(0, |(_, bits)| *bits);
        // The mask of a file that is no program has no right to execute.
        let group = (of_group | owning_group) & mask.unwrap_or(ALL_BITS);
        owner << 6 | group << 3 | others
    }
}

/// A class of POSIX 1003.1e 23.1.5.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PermissionClass {
    Owner(Option<u32>),
    User(u32),
    OwningGroup,
    Group(u32),
    Others,
}

/// The purpose for which entries are evaluated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Purpose {
    /// The file itself.
    Itself,
    /// A file that is made in the folder.
    NewFile,
    /// A folder that is made in the folder.
    NewFolder,
}

impl RightsSource<'_> {
    /// The form on a disk with POSIX ACLs.
    pub(crate) fn form(&self) -> DiskForm {
        let is_own = self.place == TeamPlace::Root
            || self.list.iter().any(|entry| !entry.inherit.contains(Inherit::INHERITED));
        let access = match self.place {
            TeamPlace::File => {
                let limit = if self.mode & EXECUTES != 0 { ALL_BITS } else { DATA };
                self.acl(&|class| self.bits(class, Purpose::Itself)).limited(limit)
            }
            // What the folder above has passed on is the less of a file and a folder.
            _ if !is_own => {
                self.acl(&|class| self.bits(class, Purpose::Itself) & self.bits(class, Purpose::NewFile))
            }
            _ => self.acl(&|class| self.bits(class, Purpose::Itself)),
        };
        let default = (self.place != TeamPlace::File).then(|| {
            self.acl(&|class| {
                let class = if matches!(class, PermissionClass::Owner(_)) {
                    PermissionClass::Owner(None)
                } else {
                    class
                };
                self.bits(class, Purpose::NewFile) & self.bits(class, Purpose::NewFolder)
            })
        });
        DiskForm { access, default, leaves_out_groups: self.list.iter().any(takes_from_group) }
    }

    fn acl(&self, bits: &dyn Fn(PermissionClass) -> u32) -> PosixAcl {
        let others = bits(PermissionClass::Others);
        let is_named = |user: &u32| *user != NOBODY || bits(PermissionClass::User(NOBODY)) != others;
        let users: Vec<(u32, u32)> = self
            .users()
            .into_iter()
            .filter(is_named)
            .map(|user| (user, bits(PermissionClass::User(user))))
            .collect();
        let groups: Vec<(u32, u32)> =
            self.groups().into_iter().map(|group| (group, bits(PermissionClass::Group(group)))).collect();
        let owning_group = bits(PermissionClass::OwningGroup);
        let named = users.iter().chain(&groups).map(|(_, bits)| *bits);
        let mask = (!users.is_empty() || !groups.is_empty())
            .then(|| named.fold(owning_group, |all, bits| all | bits));
        PosixAcl {
            owner: bits(PermissionClass::Owner(Some(self.uid))),
            users,
            owning_group,
            groups,
            mask,
            others,
        }
    }

    /// The users that have an entry, in the order of their numbers.
    fn users(&self) -> Vec<u32> {
        let of_role = |grantee: &Grantee| match grantee {
            Grantee::User { uid, .. } => uid.filter(|uid| *uid != NOBODY),
            _ => None,
        };
        let of_entry = |entry: &Entry| match entry.who {
            Who::User(uid) => Some(uid),
            _ => None,
        };
        self.named(&of_role, &of_entry, Some(NOBODY))
    }

    /// The groups that have an entry, in the order of their numbers.
    fn groups(&self) -> Vec<u32> {
        let of_role = |grantee: &Grantee| match grantee {
            Grantee::Group(gid) => Some(*gid).filter(|gid| *gid != UNKNOWN),
            _ => None,
        };
        let of_entry = |entry: &Entry| match entry.who {
            Who::Group(gid) => Some(gid).filter(|gid| *gid != UNKNOWN),
            _ => None,
        };
        self.named(&of_role, &of_entry, None)
    }

    fn named(
        &self,
        of_role: &dyn Fn(&Grantee) -> Option<u32>,
        of_entry: &dyn Fn(&Entry) -> Option<u32>,
        always: Option<u32>,
    ) -> Vec<u32> {
        let roles =
            self.roles.iter().flat_map(|roles| roles.entries()).filter_map(|entry| of_role(&entry.grantee));
        let mut all: Vec<u32> = roles.chain(self.list.iter().filter_map(of_entry)).chain(always).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    fn bits(&self, class: PermissionClass, purpose: Purpose) -> u32 {
        let place = match purpose {
            Purpose::Itself => self.place,
            Purpose::NewFile => TeamPlace::File,
            Purpose::NewFolder => TeamPlace::Folder,
        };
        let rights = self.rights(class, place, purpose);
        let in_it = || self.rights(class, TeamPlace::File, Purpose::NewFile);
        let removes = rights.contains(Rights::DELETE_CHILD) || in_it().contains(Rights::DELETE);
        bits_of(rights, place == TeamPlace::File || removes)
    }

    fn rights(&self, class: PermissionClass, place: TeamPlace, purpose: Purpose) -> Rights {
        let counts = |entry: &&Entry| match purpose {
            Purpose::Itself => !entry.inherit.contains(Inherit::ONLY),
            Purpose::NewFile => entry.inherit.contains(Inherit::FILES),
            Purpose::NewFolder => entry.inherit.contains(Inherit::FOLDERS),
        };
        let by_roles = match (class, self.roles) {
            (_, None) => Rights::NONE,
            (PermissionClass::Owner(_), Some(_)) => Rights::ALL,
            (_, Some(roles)) => all_rights_of(roles_of(class, roles), place, false),
        };
        let limit = if self.older { by_roles } else { Rights(u32::MAX) };
        let meant = self.list.iter().filter(counts).filter(|entry| self.is_meant(class, entry));
        entries_then_roles(meant, limit, by_roles)
    }

    /// Whether an entry counts for a class. Of whom the groups are not known here loses what any group loses. The owner may be in
    /// any group that is given something.
    fn is_meant(&self, class: PermissionClass, entry: &Entry) -> bool {
        let takes = entry.kind == EntryKind::Deny;
        match (&entry.who, class) {
            (Who::Everyone, _) => true,
            (Who::SignedIn, class) => class != PermissionClass::User(NOBODY),
            (Who::Owner | Who::OwnerRights, PermissionClass::Owner(_)) => true,
            (Who::User(user), PermissionClass::Owner(owner)) => owner == Some(*user),
            (Who::User(user), PermissionClass::User(this)) => *user == this,
            (Who::Group(_) | Who::OwningGroup, PermissionClass::Owner(_)) => !takes,
            (Who::Group(group), PermissionClass::Group(this)) => takes || *group == this,
            (Who::OwningGroup, PermissionClass::OwningGroup) => true,
            (Who::Group(_), PermissionClass::User(_) | PermissionClass::OwningGroup) => takes,
            (Who::OwningGroup, PermissionClass::User(_) | PermissionClass::Group(_)) => takes,
            _ => false,
        }
    }
}

impl PosixAcl {
    /// No class has other bits than these: the mask says it where there is one.
    fn limited(self, limit: u32) -> Self {
        Self {
            owner: self.owner & limit,
            others: self.others & limit,
            owning_group: if self.mask.is_some() { self.owning_group } else { self.owning_group & limit },
            mask: self.mask.map(|mask| mask & limit),
            ..self
        }
    }
}

fn takes_from_group(entry: &Entry) -> bool {
    entry.kind == EntryKind::Deny && matches!(entry.who, Who::Group(_) | Who::OwningGroup)
}

/// The roles that all of a class have.
fn roles_of(class: PermissionClass, roles: &Roles) -> RoleSet {
    let is_meant = |grantee: &Grantee| match grantee {
        Grantee::Guests => true,
        _ if class == PermissionClass::User(NOBODY) => false,
        Grantee::Everyone => true,
        Grantee::User { uid, .. } => matches!(class, PermissionClass::User(user) if *uid == Some(user)),
        Grantee::Group(gid) => class == PermissionClass::Group(*gid),
    };
    roles.set_of(roles.entries().iter().filter(|entry| is_meant(&entry.grantee)).map(|entry| entry.role))
}

/// The bits that give nothing more than these rights. Who may write to a folder locally removes from it, too, whoever owns the entry.
fn bits_of(rights: Rights, may_write: bool) -> u32 {
    let bit = |needs, bit| if rights.contains(needs) { bit } else { 0 };
    let writes = if may_write { bit(Rights::WRITE_DATA.union(Rights::APPEND), 2) } else { 0 };
    bit(Rights::READ_DATA, 4) | writes | bit(Rights::EXECUTE, 1)
}
