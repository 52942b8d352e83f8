//! The requests about rights to files of a share, and their answers. Scripts read the answers: fields may be added, never renamed or
//! removed.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A request about the rights to a file or folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RightsRequest {
    /// The share.
    pub share: String,
    /// The path in the share, in bytes; empty: the share's folder.
    pub path: Vec<u8>,
    /// What is asked.
    #[serde(flatten)]
    pub question: RightsQuestion,
}

/// What is asked about a file or folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case")]
pub enum RightsQuestion {
    /// The roles, and what everyone who has any may do.
    Show,
    /// What one person may do, and why.
    Of {
        /// An account, `guests`, or the number of a user of NFS.
        person: String,
    },
    /// Gives somebody a role there and below, in place of the share's.
    Set {
        /// An account, `@group`, `everyone` or `guests`.
        who: String,
        /// `owner`, `editor`, `reader` or `none`. `None`: the share's role counts again.
        role: Option<String>,
    },
    /// Looks there and below for what does not say what the roles say.
    Check,
    /// Brings files and folders to what the roles, and the lists of the folders above, say.
    Reset {
        /// Everything below, too.
        recursive: bool,
        /// What was set on files and folders themselves goes, too.
        all: bool,
        /// Only counts what would change.
        dry_run: bool,
    },
    /// Takes the changes of a reset, or of `Set`, back. Share and path are those in the record.
    Undo {
        /// The name of the record.
        record: String,
    },
}

/// The answer to a [`RightsRequest`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RightsAnswer {
    /// To `Show`.
    Shown(Box<RightsStatus>),
    /// To `Of`.
    Of(Box<PersonAnswer>),
    /// To all others.
    Done(Box<RightsReport>),
}

/// Who may do what with a file or folder.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RightsStatus {
    /// The share whose roles count: it may be one inside the share that was asked for.
    pub share: String,
    /// The path in the share that was asked for. Bytes that are not UTF-8 are replaced.
    pub path: String,
    /// `file` or `folder`.
    pub kind: String,
    /// The owner of the file: an account, or the number of a Unix user.
    pub owner: String,
    /// The share has roles. Without them, mode and list of the file say who may do what.
    pub is_team_folder: bool,
    /// The roles of the share.
    pub roles: Vec<RoleStatus>,
    /// What was set on the file or folder, or on a folder above, in the order in which it counts: before the roles.
    pub entries: Vec<RightsEntry>,
    /// The list is protected: the roles of the share do not count here.
    pub is_cut_off: bool,
    /// What the accounts and guests may do that may do anything. At most 1000 accounts are looked at.
    pub people: Vec<PersonStatus>,
    /// Users of the share that may do less with its folder than the share promises. Only the share's folder has them.
    #[serde(default)]
    pub refused: Vec<PersonStatus>,
}

/// A role in a share.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RoleStatus {
    /// An account, `@group`, `everyone` or `guests`.
    pub who: String,
    /// `owner`, `editor`, `contributor`, `reader` or `drop`.
    pub role: String,
}

/// Entries of a list about one user or group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RightsEntry {
    /// An account, `@group`, `everyone`, `guests`, `owner` or `owning group`; or an identity of another system.
    pub who: String,
    /// The role that the entries say: `owner`, `editor`, `reader` or `none`. `None`: they say something else.
    pub role: Option<String>,
    /// The operations that they give: see [`OperationAnswer`].
    pub gives: Vec<String>,
    /// The operations that they take.
    pub takes: Vec<String>,
    /// They were inherited from a folder above.
    pub inherited: bool,
}

/// What an account, or guests, may do with a file or folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PersonStatus {
    /// The account, or `guests`.
    pub who: String,
    /// The operations: see [`OperationAnswer`].
    pub may: Vec<String>,
    /// All of it in words.
    pub summary: String,
    /// Where it comes from, in words: `editor as a member of @studio`.
    pub why: String,
}

/// What one person may do with a file or folder.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PersonAnswer {
    /// Who was asked for.
    pub person: String,
    /// The share.
    pub share: String,
    /// The path in it.
    pub path: String,
    /// `file` or `folder`.
    pub kind: String,
    /// Each operation.
    pub operations: Vec<OperationAnswer>,
    /// All of it in words.
    pub summary: String,
    /// Where it comes from, in words.
    pub why: Vec<String>,
}

/// Whether a person may do something.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct OperationAnswer {
    /// `read` (a folder: list it), `write` (a folder: add to it), `remove` (or rename it) or `rights` (say who may do what).
    pub operation: String,
    /// The operation in words.
    pub what: String,
    /// The person may do it.
    pub may: bool,
}

/// What was found or changed in a tree.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RightsReport {
    /// The share.
    pub share: String,
    /// The path in it.
    pub path: String,
    /// Files and folders that were looked at.
    pub looked: u64,
    /// Those that do not say what the roles say.
    pub found: u64,
    /// Those of them with which somebody may do more than the roles let.
    pub too_wide: u64,
    /// Those that were changed, or would be.
    pub changed: u64,
    /// Those that could not be looked at or changed.
    pub failed: u64,
    /// It was ended before all was looked at.
    pub ended: bool,
    /// The name of the record with which the changes are taken back.
    pub record: Option<String>,
    /// What cannot be better on this disk, in words.
    pub notes: Vec<String>,
    /// What does not say what the roles say, as far as it is named: 1000 at most.
    pub findings: Vec<RightsFinding>,
}

/// A file or folder that does not say what the roles say.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RightsFinding {
    /// Its path in the share. Bytes that are not UTF-8 are replaced.
    pub path: String,
    /// A word for it: `lacks`, `exceeds`, `world-writable`, `foreign-owner`, `no-setgid`, `sticky`, `no-default-acl`,
    /// `unsealed-list`, `stale-list` or `failed`.
    pub kind: String,
    /// What it means.
    pub what: String,
    /// What mends it.
    pub remedy: String,
}
