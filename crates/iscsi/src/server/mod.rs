//! The target's side.

pub(crate) mod scsi;
mod target;
