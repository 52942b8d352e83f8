//! The integration tests of this crate: one program, so that it is linked once.

#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "tests")]

mod difference;
mod engines;
mod keeping;
mod odd_trees;
mod pools;
mod power;
mod scene;
mod zfs;
