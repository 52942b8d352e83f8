//! Who may do what: one model of access control for every protocol.
//!
//! A file has an [`Acl`]: the one that somebody has set, which is stored beside the file (`stored.rs`), or one that says
//! the same as its mode (`mode.rs`). A stored one counts for everybody, whichever protocol they come by, for as long as
//! the file's owner, group and mode are those it was stored with: after a chmod or chown the mode counts again.
//! `enforce.rs` is where the operations of a volume ask; while a volume has never had a stored ACL that is one atomic load.

mod beside_mode;
mod creating;
mod enforce;
mod evaluate;
mod inherit;
mod known;
mod mode;
mod operations;
mod rights;
pub mod stored;
#[cfg(test)]
mod tests;

use std::sync::Arc;

pub use self::beside_mode::before_mode;
pub(crate) use self::creating::New;
pub(crate) use self::enforce::server;
pub(crate) use self::known::Known;
pub use self::mode::entries_of_mode;
pub(crate) use self::operations::{POSIX, RightsAttribute};
pub use self::rights::Rights;
pub(crate) use self::stored::ATTRIBUTE as STORED_ACL;

/// The most entries of one ACL.
pub const MAX_ENTRIES: usize = 1_000;
/// The longest identity of another system, in bytes.
pub const MAX_FOREIGN: usize = 68;

/// Somebody, or several.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Who {
    /// The user of this number.
    User(u32),
    /// The members of the group of this number.
    Group(u32),
    /// Whoever owns the file. In an entry to be inherited: whoever makes the new file.
    Owner,
    /// The members of the file's group; in an entry to be inherited, of the new file's.
    OwningGroup,
    /// Everybody.
    Everyone,
    /// Everybody who has said who they are: all but [`NOBODY`].
    SignedIn,
    /// The owner again; where there is an entry for this, an owner has by owning only what such entries say.
    OwnerRights,
    /// Somebody of another system, who is never anybody of this one. Kept as it was given, at most [`MAX_FOREIGN`] bytes.
    Foreign(Arc<[u8]>),
}

/// The user whom nobody trusts, by custom.
pub const NOBODY: u32 = 65_534;

/// Whether an entry gives or takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EntryKind {
    /// Its rights are given, unless an entry before it has taken them.
    Allow,
    /// Its rights are taken, unless an entry before it has given them.
    Deny,
}

/// What becomes of an entry in what is made inside a folder, as a set of bits. The numbers are those of MS-DTYP 2.4.4.1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Inherit(pub u8);

bitflags::bitflags! {
    impl Inherit: u8 {
        /// The entry is about this file alone, and was given to it.
        const NONE = 0;
        /// Files inherit it.
        const FILES = 1;
        /// Folders inherit it.
        const FOLDERS = 2;
        /// Folders that inherit it do not pass it on.
        const NO_PROPAGATE = 4;
        /// It says nothing about this folder, only about what is made in it.
        const ONLY = 8;
        /// It was inherited.
        const INHERITED = 16;
    }
}

/// One line of an ACL.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Entry {
    /// Gives or takes.
    pub kind: EntryKind,
    /// What becomes of it inside.
    pub inherit: Inherit,
    /// What.
    pub rights: Rights,
    /// To or from whom.
    pub who: Who,
}

impl Entry {
    /// An entry that gives, about one file alone.
    pub fn allow(who: Who, rights: Rights) -> Self {
        Self { kind: EntryKind::Allow, inherit: Inherit::NONE, rights, who }
    }

    /// An entry that takes, about one file alone.
    pub fn deny(who: Who, rights: Rights) -> Self {
        Self { kind: EntryKind::Deny, ..Self::allow(who, rights) }
    }

    /// The same, inherited so.
    #[must_use]
    pub fn inherited_by(self, inherit: Inherit) -> Self {
        Self { inherit, ..self }
    }
}

/// The entries of an ACL, in the order in which they count, and how they came about.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Entries {
    /// The entries. None at all give nobody anything.
    pub list: Vec<Entry>,
    /// What the folder above would pass on is not wanted.
    pub protected: bool,
    /// What was inherited is marked so.
    pub auto_inherited: bool,
}

/// Who may do what to a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Acl {
    /// Its owner: a user. One of another system is kept, and the host's owner is who has an owner's rights.
    pub owner: Who,
    /// Its group. One of another system is kept, and the host's group is another then.
    pub group: Who,
    /// The entries.
    pub entries: Entries,
    /// It was set and is stored. Otherwise it says in other words what the mode says.
    pub stored: bool,
}

/// Changes to an ACL; what is `None` stays.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AclChange {
    /// The new owner: a user, or one of another system, who is only kept.
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
