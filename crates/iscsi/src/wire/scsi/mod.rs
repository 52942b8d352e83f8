//! SCSI: command descriptor blocks, one file per command, and what is sent back. Numbers are big-endian.

mod access;
mod cache;
mod read;
mod sense;
mod status;
mod write;

pub use access::Access;
pub use cache::Cache;
pub use read::Read;
pub use sense::{Asc, Field, Key, Sense};
pub use status::Status;
pub use write::Write;
