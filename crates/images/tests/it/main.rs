//! The integration tests of `images`, in one program.

#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "tests")]

mod apfs;
