//! The integration tests of this crate: one program, so that it is linked once.

#![allow(clippy::unwrap_used, reason = "tests")]

mod changed_files;
mod forks;
mod hostile;
mod hostile_stream;
mod native;
mod scene;
mod zfs;
