//! Permissions of the files of a volume: which callers may do what, by the model of `crate::acl`.
//!
//! The operations of a volume ask `enforce.rs`. If a volume has never had a stored ACL, that is one
//! atomic load.

mod awaited_mode;
mod creating;
mod disk;
mod enforce;
mod known;
mod operations;
mod share_rules;
mod team;
mod team_changes;
mod tree;

pub(crate) use self::awaited_mode::AwaitedModes;
pub(crate) use self::enforce::{MovingRight, Permissions};
pub(crate) use self::known::{KEY_FILE, StoredAclCache};
pub(crate) use self::operations::RightsAttribute;
pub use self::share_rules::{ModeRule, ShareRules};
pub(crate) use self::team::TeamFolders;
pub use self::tree::{RightsObserver, RightsRecord, RightsWork};
