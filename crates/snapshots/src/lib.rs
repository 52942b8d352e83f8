//! Snapshots of folders, made by what the host's file system offers.
//!
//! ```text
//! dataset.rs   a folder with snapshots: find the engine, then create, remove, list, rename, hold, release
//! engine/      btrfs and folders of snapshots (shelf.rs), ZFS; tree.rs copies trees with all metadata
//! accounting.rs  space and limits that the host keeps
//! schedule.rs  which snapshots are due; keeping.rs: taking, renumbering and removing them
//! difference.rs  what changed, by path; stored.rs: what the server keeps beside files in its own store
//! copied.rs    what a program does to a copy before it is a snapshot
//! pools.rs     btrfs in image files, for hosts whose file systems make no snapshots
//! refusal.rs   the one error type: each sentence says the next step
//! streamed.rs  what `zfs receive` makes beside a dataset
//! steps.rs     where tests stop an operation, as a crash would
//! ```

pub mod steps;

mod accounting;
mod command;
mod copied;
mod dataset;
mod difference;
mod engine;
mod keeping;
mod name;
mod pools;
mod refusal;
mod schedule;
mod stored;
mod streamed;
mod table_file;

pub use accounting::Usage;
pub use copied::{AfterCopy, after_copy};
pub use dataset::{Dataset, EngineKind, Snapshot};
pub use difference::{Change, What};
pub use keeping::Report;
pub use name::check as check_name;
pub use pools::{Pool, Pools};
pub use refusal::Refusal;
pub use schedule::{Period, Schedule};
pub use streamed::StreamFolder;

/// The folder in a dataset's folder that holds its snapshots, if its engine keeps them in a folder.
pub const FOLDER: &str = ".fourfold-snapshots";

/// The file in that folder that makes a dataset a replica: it follows another dataset, and clients may only read.
pub const REPLICA: &str = ".replica";

/// Whether a dataset is a replica.
#[must_use]
pub fn is_replica(folder: &std::path::Path) -> bool {
    folder.join(FOLDER).join(REPLICA).symlink_metadata().is_ok()
}
