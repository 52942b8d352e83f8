//! LUNs: the disks of the shares for iSCSI, and their identities.
//!
//! ```text
//! luns.toml (the LUNs of `fourfold lun`, all identities) ─┐
//!                                                                ├─► resolve ─► Lun: what is served, and how
//! settings file: [[share.lun]] ──────────────────────────────────┘
//! ```
//!
//! A LUN belongs to a share, and is named `share/name`. The settings override the state folder. But
//! a LUN's identity (its NAA identifier, its target and number there) is made once and stored in
//! the state folder. The servers of a cluster have one table of them in common (`table.rs`).

mod file;
mod names;
mod record;
mod resolve;
mod table;

use std::path::PathBuf;

pub use file::{LunError, LunFile, NewLun};
pub use names::split;
pub use record::{LunOptions, LunRecord};
pub use resolve::{Lun, LunResolution, own_prefix, prefix, resolve, resolve_as_noted};
pub use table::LunTable;

/// The sizes of LUNs are multiples of this many bytes, whatever their block size is.
pub const LUN_BLOCK: u64 = 4096;
/// The smallest size of a new LUN in bytes: a smaller one lacks its unit by mistake.
pub const SMALLEST_LUN: u64 = 1 << 20;

/// The path of a LUN's own file, relative to the share's folder.
#[must_use]
pub fn own_file(name: &str) -> PathBuf {
    let folder = String::from_utf8_lossy(formats::OwnFolder::LUNS.name());
    PathBuf::from(folder.as_ref()).join(own_file_name(name))
}

/// The name of that file in the server's own folder.
#[must_use]
pub fn own_file_name(name: &str) -> String {
    format!("{name}.img")
}
