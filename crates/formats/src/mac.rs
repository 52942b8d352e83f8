//! Mac metadata and its on-disk layouts: bytes to values and back, no I/O.
//!
//! [`Metadata`] is the one model of what a file is besides its forks. Everything else here is a
//! layout that some server or client writes. It is read into that model and, if other servers read
//! it too, written from it.

pub mod apple_double;
pub mod attr;
pub mod binary;
pub mod binhex;
pub mod bits;
mod crc;
pub mod depot;
pub mod fields;
pub mod finder_info;
pub mod info_stream;
pub mod layout;
pub mod model;
pub mod netatalk;
pub mod netatalk_list;
pub mod plist;
pub mod portable;
pub mod problem;
pub mod resource;
pub mod samba;
pub mod sidecar;
pub mod sparse_bundle;
pub mod tags;
pub mod time;
pub mod time_machine;

pub use bits::{DosAttributes, FileBits, FinderFlags};
pub use finder_info::FinderInfo;
pub use model::{Metadata, StoredParts, Times};
pub use problem::{Problem, Source};
pub use sidecar::SidecarHead;

pub use crate::Time;
