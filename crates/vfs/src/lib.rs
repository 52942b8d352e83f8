//! The tree: one model of files, names, opens, locks and Mac metadata that every protocol is a view of.
//!
//! Nothing here knows a protocol. See ARCHITECTURE.md, from "Identity" on.

pub mod acl;
mod attributes;
pub mod backend;
mod backups;
mod busy;
mod caller;
mod changed;
mod coherence;
mod description;
mod entry_name;
mod error;
pub mod events;
mod exchange;
mod folded;
mod forks;
mod homes;
pub mod index;
mod inhibited;
mod links;
mod listing;
mod local;
pub mod mac;
mod metadata;
pub mod names;
mod open;
mod operation;
mod own_folders;
mod paths;
mod payload;
mod permission;
mod pool;
mod sidecars;
mod site;
pub mod state;
pub mod streams;
mod volume;
mod whereabouts;
mod xattrs;

pub use attributes::{Attributes, FileId, HostKey, Kind, SetAttributes, SetTime, Time};
pub use caller::{Access, Caller};
pub use description::{Description, Wanted};
pub use error::{Error, Result};
pub use links::MAX_LINKS;
pub use listing::{CacheBudget, Details, Entry, Page};
pub use local::{MAX_WATCHED, Watching};
pub use open::{Allocated, Beside, Open, OpenOptions, ReadBytes};
pub use own_folders::{Misplaced, OwnFolder, Untrusted, is_own_name};
pub use paths::{MAX_PATH_DEPTH, PathError, Resolved};
pub use payload::Payload;
pub use pool::{DiskCalls, disk_calls};
pub use sidecars::Looked;
pub use site::Site;
pub use volume::{Actor, Change, Made, Node, ReadData, Volume, VolumeOptions};
pub use xattrs::{Xattr, XattrChange};
