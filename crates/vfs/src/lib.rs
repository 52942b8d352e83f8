//! The tree: one model of files, names, opens, locks and Mac metadata that every protocol is a view of.
//!
//! Nothing here knows a protocol. ARCHITECTURE.md follows a request through it, and docs/design has a page for each of its parts.

mod access;
pub mod acl;
pub mod arriving;
mod attributes;
pub mod backend;
mod backups;
pub mod caches;
mod caller;
mod changing;
mod described;
mod error;
pub mod events;
mod finding;
mod guarding;
mod homes;
pub mod index;
mod listing;
mod local;
pub mod mac;
pub mod names;
pub mod noted;
mod open;
mod payload;
mod permission;
mod pool;
pub mod quota;
mod restoring;
pub mod scrub;
mod site;
pub mod state;
pub mod streams;
mod traffic;
mod volume;
#[cfg(test)]
#[path = "../tests/it/waiting/blocking.rs"]
mod waiting;

pub use attributes::{Attributes, FileId, HostKey, Kind, LastingKey, SetAttributes, SetTime, Time};
pub use backend::{DistrustReason, MAX_PATH_DEPTH, Node};
pub use backups::MacBackup;
pub use caller::{Access, Caller};
pub use changing::permitted::{PermittedActor, Plan};
pub use described::description::{Description, DescriptionParts};
pub use described::relayout::{Relayout, RelayoutOptions};
pub use described::sidecars::LookupResult;
pub use described::xattrs::XattrChange;
pub use error::{Error, Result};
pub use finding::links::MAX_LINKS;
pub use finding::own_folders::OwnFolderConflict;
pub use finding::paths::{PathError, ResolvedPath};
pub use listing::{CacheBudget, Details, Entry, Page};
pub use local::{MAX_WATCHED, Watching};
pub use names::own::{OwnFolder, is_own_name};
pub use open::{
    AllocatedRanges, Beside, Hold, Holder, Open, OpenCounts, OpenOptions, OpenPermit, ReadBytes, Still,
    TakenOver,
};
pub use payload::Payload;
pub use pool::{DiskCalls, disk_calls};
pub use restoring::{Restore, RestoreObserver, RestoreOptions, RestoreOutcome};
pub use site::Site;
pub use streams::xattrs::Xattr;
pub use traffic::Traffic;
pub use volume::{Actor, Change, CreatedEntry, Denials, ReadData, Volume, VolumeOptions};
