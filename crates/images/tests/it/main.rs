//! Whole images: what is shown of them, and what a check finds.

#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "tests")]

mod apfs;
mod common;
mod containers;
mod exfat;
mod ext;
mod fat;
mod hfsplus;
mod hfsplus_damage;
mod journal;
mod third_party;
mod writer;
