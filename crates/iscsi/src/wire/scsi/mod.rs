//! SCSI: command descriptor blocks, one file per command, and what is sent back. Numbers are big-endian.

mod sense;
mod status;

pub use sense::{Asc, Field, Key, Sense};
pub use status::Status;
