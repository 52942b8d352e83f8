//! Why accounts are not read or changed.

use super::{MOST_GROUPS, MOST_MEMBERS};
use crate::FileError;
use crate::secret::{MAX_CHAP_SECRET, MIN_CHAP_SECRET};

/// Why the accounts were not read or changed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file cannot be read or written.
    #[error(transparent)]
    File(#[from] FileError),
    /// An account with this name exists.
    #[error("there is an account {0:?} already; `fourfold user passwd` sets its password")]
    Exists(String),
    /// There is no account with this name.
    #[error("there is no account {0:?}; `fourfold user list` shows them, `fourfold user add` makes one")]
    Missing(String),
    /// The name is not allowed.
    #[error(
        "{0:?} cannot be an account's name: 1 to 64 characters with none of / \\ : or spaces at its ends"
    )]
    BadName(String),
    /// A password must have at least one character.
    #[error("the password is empty; type one")]
    EmptyPassword,
    /// It has characters that old Macs do not have.
    #[error(
        "the password has characters that old Macs cannot type; choose others, or leave out --legacy-password"
    )]
    NotMacRoman,
    /// It is not valid as a CHAP secret.
    #[error(
        "as a CHAP secret the password must have {MIN_CHAP_SECRET} to {MAX_CHAP_SECRET} bytes (Windows wants {MIN_CHAP_SECRET} to 16); choose \
         another, or leave out --chap-secret"
    )]
    NotChapSecret,
    /// They are too many, or one is no group.
    #[error(
        "an account can have at most {MOST_GROUPS} further groups, and {} is not a valid group id",
        u32::MAX
    )]
    Groups,
    /// A group with this name exists.
    #[error("there is a group {0:?} already; `fourfold group modify` changes its members")]
    GroupExists(String),
    /// There is no group of the server's own with this name.
    #[error(
        "there is no group {0:?} of this server; `fourfold group list` shows them, `fourfold group add` makes one"
    )]
    MissingGroup(String),
    /// The name is not allowed.
    #[error(
        "{0:?} cannot be a group's name: 1 to 64 characters with none of / \\ : @ , or spaces at its ends, no number, and neither \
         `everyone` nor `guests`"
    )]
    BadGroupName(String),
    /// An account is not in a group.
    #[error("the account {0:?} is not in the group {1:?}")]
    NoMember(String, String),
    /// There are too many.
    #[error("a group can have at most {MOST_MEMBERS} members")]
    Members,
    /// All are used.
    #[error("all Unix numbers for accounts and groups of the server are used: give --uid")]
    NoNumber,
    /// Those that the servers of a cluster have in common cannot be read or changed.
    #[error("the accounts of the cluster cannot be asked for or changed: {0}")]
    Cluster(String),
    /// The system gives no random numbers.
    #[error("the system gives no random numbers for the password's salt")]
    NoRandomness,
}
