//! Replication of a dataset: the destination gets the source's snapshots, one after another, and is read-only until it is
//! promoted.
//!
//! ```text
//! wire/        the stream of a replication; link.rs sends and receives it
//! source/      the tree of a snapshot: what changed since an older one (walk.rs), described.rs, forks.rs
//! sender.rs    one run: which snapshots, and how; sent.rs: each of them; files.rs: the data of files
//! receiver/    the other side: session.rs the messages, apply.rs entries, data.rs their data, names.rs the snapshots
//! content.rs   checksums of content without its holes
//! native/      what btrfs and ZFS do for it: which paths have changed (btrfs), and the streams of `btrfs send` and `zfs send`
//! keys.rs      the keys by which forks and sidecars name their file: other ones at the destination
//! record.rs    what a destination knows of its source, on the disk
//! location.rs  whether source and destination overlap
//! host.rs      the calls of the host
//! ```

mod content;
mod failure;
mod files;
mod host;
mod keys;
mod link;
mod location;
mod native;
mod receiver;
mod record;
mod sender;
mod sent;
mod source;

pub mod wire;

pub use failure::Failure;
pub use link::Link;
pub use receiver::{forget, promote, receive, unmake};
pub use sender::{Method, Options, Plan, Progress, SnapshotFunction, common, plan, send};
