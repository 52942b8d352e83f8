//! The tree: one model of files, names, opens, locks and Mac metadata that every protocol is a view of.
//!
//! Nothing here knows a protocol. ARCHITECTURE.md follows a request through it, and docs/design has a page for each of its parts.

mod access;
pub mod acl;
pub mod arriving;
pub mod backend;
mod backups;
mod caller;
mod changing;
mod described;
mod faces;
mod finding;
mod homes;
mod image_source;
pub mod index;
mod listing;
mod local;
mod open;
mod permission;
pub mod quota;
mod ranks;
mod restoring;
pub mod scrub;
mod searching;
mod site;
pub mod streams;
mod traffic;
mod volume;
#[cfg(test)]
#[path = "../tests/it/waiting/blocking.rs"]
mod waiting;

pub use access::{ModeRule, RightsObserver, RightsRecord, RightsWork, ShareRules};
pub use backend::{DistrustReason, MAX_PATH_DEPTH, Node};
pub use backups::{
    BackupBundles, BackupImage, BackupJournals, BackupLimits, BandSum, BandSums, BandWork, BandsChecked,
    ImageObserver, ImageProblem, JournalPoint, MacBackup, backup_stem,
};
pub use caller::{Access, Caller};
pub use changing::early::EarlyWrite;
pub use changing::permitted::{PermittedActor, Plan};
pub use coherence::{events, noted, served, state};
pub use described::description::{Description, DescriptionParts};
pub use described::relayout::{Relayout, RelayoutOptions};
pub use described::sidecars::LookupResult;
pub use described::xattrs::XattrChange;
pub use faces::{CachingTree, MacTree, ReadData, Stateless, StoredRights};
pub use finding::links::MAX_LINKS;
pub use finding::own_folders::{OwnFolderConflict, OwnFolders};
pub use finding::paths::{PathError, ResolvedPath};
pub use formats::{
    Attributes, Error, FileId, HostKey, IdMap, Kind, LastingKey, OwnFolder, Result, SetAttributes, SetTime,
    Time, is_own_name, mac, names,
};
pub use image_source::{image_at, image_of};
pub use listing::{CacheBudget, Details, Entry, Page};
pub use local::{MAX_WATCHED, WatchedClosings, Watching};
pub use open::{
    AllocatedRanges, Beside, Hold, Holder, Open, OpenCounts, OpenOptions, OpenPermit, ReadBytes, Still,
    TakenOver,
};
pub use resources::{DiskCalls, Payload, caches, disk_calls, reserved};
pub use restoring::{Restore, RestoreObserver, RestoreOptions, RestoreOutcome};
pub use searching::{
    Candidate, Finder, FinderStatus, FoundEntry, FoundPage, PastCandidate, PastEntry, PastPage, Search,
    SearchPlace, Searches, Surveyed,
};
pub use site::Site;
pub use streams::xattrs::Xattr;
pub use traffic::Traffic;
pub use volume::{Actor, Change, ClientProfile, CreatedEntry, Denials, Volume, VolumeOptions};
