//! The target's side.

mod chap;
pub(crate) mod login;
pub(crate) mod scsi;
mod target;
