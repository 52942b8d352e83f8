//! Bytes in, bytes out. A [`Reader`] walks received bytes and never past their end; a [`Writer`] appends to a
//! buffer. Both exist in big-endian and little-endian use: the methods name the byte order, because AFP, NFS and
//! iSCSI are big-endian and SMB is little-endian, and a codec that mixes them should show where.
//!
//! The macros make a codec out of a declaration: [`layout!`] and [`packed!`] structures, [`number!`] and [`bits!`] numbers with
//! names.
//!
//! No I/O, no clock, no state, no dependencies.

mod client_address;
pub mod hex;
mod layout;
mod number;
mod packed;
mod reader;
mod sid;
mod writer;

pub use client_address::{AppleTalkClient, ClientAddress, ClientIp, is_appletalk};
pub use layout::{BigEndian, Field, LittleEndian};
pub use packed::BitField;
pub use reader::{Malformed, Reader};
pub use sid::Sid;
pub use writer::Writer;
