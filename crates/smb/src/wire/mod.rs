//! Bytes to values and back. No I/O, clock or session here.
//!
//! One file for each command (its request and its response), MS-SMB2 2.2; `fscc` for what travels inside them. The doc of
//! a type cites its section; its fields are in layout order and mean what they mean there.
#![allow(missing_docs)]

pub mod status;

pub use status::Status;
