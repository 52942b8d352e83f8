//! The stream of a replication, version 3.
//!
//! ```text
//! frame = kind (1) · zeros (3) · length (4) · CRC-32C of the payload (4) · payload
//! ```
//! Numbers are big-endian. Paths are relative to the dataset's folder, without a leading slash; the empty path is
//! the folder itself.
//!
//! ```text
//! sender                                    receiver
//! Hello ──────────────────────────────────►
//!       ◄────────────────────────────────── State
//! for each snapshot, the oldest first:
//!   Begin ────────────────────────────────►
//!   Stream …, StreamEnd ──────────────────►           what `btrfs send` or `zfs send` writes, if both sides are on it
//!   Entry, Names …, Turn ─────────────────►           a batch
//!       ◄────────────────────────────────── Wants     files whose data it lacks; none: the batch is done
//!   File, Data, Zeros …, End ─────────────►           for each of them; then Wants again
//!   Done ─────────────────────────────────►
//!       ◄────────────────────────────────── Finished  its snapshot is taken
//! Snapshots ──────────────────────────────►           names and holds of all snapshots
//!       ◄────────────────────────────────── Finished
//! ```
//! The receiver does not want files whose data have arrived by the stream. Instead of any message either side may send Failed.

pub mod btrfs;
pub mod entry;
pub mod frame;
pub mod message;

pub use entry::{Entry, Kind, Owner, Place, Stamp};
pub use frame::{HEAD, Head, MAX_PAYLOAD};
pub use message::{Begin, Id, Message, Native, Receiving, Row, State, StreamFormat, Want};

/// The version of the stream.
pub const VERSION: u16 = 3;
/// The longest path, in bytes: what Linux takes at once (PATH_MAX without the final zero).
pub const MAX_PATH: usize = 4095;
