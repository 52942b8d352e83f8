//! Permissions: one model of access control for every protocol.
//!
//! A file has an [`Acl`]: one that a client has set, which is stored beside the file (`stored.rs`),
//! or one that says the same as its mode (`mode.rs`). A stored ACL applies to all users, over every
//! protocol, as long as the file's owner, group and mode are those with which it was stored: after
//! a chmod or chown the mode applies again. Here is the model, without I/O; `crate::access` applies
//! it to the files of a volume.

pub(crate) mod beside_mode;
pub(crate) mod deviation;
pub(crate) mod disk;
mod evaluate;
pub(crate) mod inherit;
pub(crate) mod mode;
pub(crate) mod posix;
mod rights;
pub mod samba;
pub mod stored;
pub(crate) mod team;
#[cfg(test)]
mod tests;
mod written_back;

use std::sync::Arc;

pub use self::beside_mode::before_mode;
pub use self::deviation::Deviation;
pub(crate) use self::mode::by_posix_acl;
pub use self::mode::{entries_of_mode, entries_of_posix, summary};
pub(crate) use self::posix::ACCESS as POSIX_ACL;
pub use self::rights::Rights;
pub(crate) use self::samba::ATTRIBUTE as SAMBAS_ACL;
pub(crate) use self::stored::{ATTRIBUTE as STORED_ACL, StoredAcl};
pub use self::team::{TeamRights, rights_of_role};
pub use self::written_back::{recognized, written_back};

/// The most entries of one ACL.
pub const MAX_ENTRIES: usize = 1_000;
/// The longest identity of another system, in bytes.
pub const MAX_FOREIGN: usize = 68;

/// The users that an entry of an ACL is about.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Who {
    /// The user of this number.
    User(u32),
    /// The members of the group of this number.
    Group(u32),
    /// The owner of the file. In an entry to be inherited: the user that makes the new file.
    Owner,
    /// The members of the file's group; in an entry to be inherited, of the new file's.
    OwningGroup,
    /// All users.
    Everyone,
    /// All users that have logged in: all but [`NOBODY`].
    SignedIn,
    /// The owner again. If there is an entry for this, the ownership gives only the rights in such
    /// entries.
    OwnerRights,
    /// A user or group of another system, which is no user of this one. Kept as it was given, at
    /// most [`MAX_FOREIGN`] bytes.
    Foreign(Arc<[u8]>),
}

/// The user that has no rights by custom.
pub const NOBODY: u32 = 65_534;

/// Whether an entry gives or takes rights.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EntryKind {
    /// Its rights are given, unless an entry before it has taken them.
    Allow,
    /// Its rights are taken, unless an entry before it has given them.
    Deny,
}

/// How files and folders that are made in a folder inherit an entry, as a set of bits. The numbers
/// are those of MS-DTYP 2.4.4.1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Inherit(pub u8);

bitflags::bitflags! {
    impl Inherit: u8 {
        /// The entry applies to this file alone, and was given to it.
        const NONE = 0;
        /// Files inherit it.
        const FILES = 1;
        /// Folders inherit it.
        const FOLDERS = 2;
        /// Folders that inherit it do not pass it on.
        const NO_PROPAGATE = 4;
        /// It does not apply to this folder, only to what is made in it.
        const ONLY = 8;
        /// It was inherited.
        const INHERITED = 16;
    }
}

/// One line of an ACL.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Entry {
    /// Whether it gives or takes rights.
    pub kind: EntryKind,
    /// How files and folders inside inherit it.
    pub inherit: Inherit,
    /// The rights.
    pub rights: Rights,
    /// The users that get or lose the rights.
    pub who: Who,
}

impl Entry {
    /// An entry that gives rights, for one file alone.
    pub fn allow(who: Who, rights: Rights) -> Self {
        Self { kind: EntryKind::Allow, inherit: Inherit::NONE, rights, who }
    }

    /// An entry that takes rights, for one file alone.
    pub fn deny(who: Who, rights: Rights) -> Self {
        Self { kind: EntryKind::Deny, ..Self::allow(who, rights) }
    }

    /// The same entry with this inheritance.
    #[must_use]
    pub fn inherited_by(self, inherit: Inherit) -> Self {
        Self { inherit, ..self }
    }
}

/// The entries of an ACL, in the order in which they apply, and their origin.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Entries {
    /// The entries. An empty list gives no rights to any user.
    pub list: Vec<Entry>,
    /// Entries of the folder above are not inherited.
    pub protected: bool,
    /// Inherited entries are marked so.
    pub auto_inherited: bool,
}

/// The permissions of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Acl {
    /// Its owner: a user. An owner of another system is kept; then the host's owner has the rights
    /// of the owner.
    pub owner: Who,
    /// Its group. A group of another system is kept; then the host's group is another one.
    pub group: Who,
    /// The entries.
    pub entries: Entries,
    /// It was set and is stored. Otherwise it expresses the mode.
    pub stored: bool,
    /// The host's mode and POSIX ACL bind, too: the caller gets what both give. So it is with Samba's.
    pub within_mode: bool,
    /// The roles that decide about a file in a team folder.
    pub team: Option<TeamRights>,
}

impl Acl {
    /// The entries that were set on the file, or on a folder above it. Those of the roles of a team folder are none of them.
    pub fn set_entries(&self) -> &[Entry] {
        let list = &self.entries.list;
        self.team.as_ref().map_or(&list[..], |team| team.set(list))
    }

    /// Whether it is in a team folder, whose roles do not count for it.
    pub fn is_cut_off(&self) -> bool {
        self.team.as_ref().is_some_and(TeamRights::is_cut)
    }
}

/// Changes to an ACL. What is `None` is not changed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AclChange {
    /// The new owner: a user, or one of another system, which is only kept.
    pub owner: Option<Who>,
    /// The new group, or one of another system, which is only kept.
    pub group: Option<Who>,
    /// The new entries.
    pub entries: Option<Entries>,
}

/// The ACL that a new file is to have.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CreateAcl {
    /// Its entries. Unless they are protected, what the folder passes on comes after them.
    pub entries: Entries,
}

/// The permissions that a new file gets.
#[derive(Debug, Clone, Copy, Default)]
pub struct NewPermissions<'a> {
    /// Those of a file that is given no ACL and inherits none.
    pub mode: u32,
    /// The ACL that it is given.
    pub acl: Option<&'a CreateAcl>,
    /// What becomes of an ACL that it inherits alone.
    pub inherited: ModeInheritance,
}

/// What becomes of an ACL that a new file inherits, if the client has also said a mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ModeInheritance {
    /// It counts, and the mode does not.
    #[default]
    AsItIs,
    /// It says exactly this mode of the file's owner, its group and all others, and gives other users and groups no more than
    /// the mode gives the group.
    Saying(u32),
    /// The same, but it gives no user more than before.
    Within(u32),
}
