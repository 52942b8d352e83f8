//! LUNs: which disks the shares have for iSCSI, and who each of them is.
//!
//! ```text
//! luns.toml (what `fourfold lun` made, and the identity of all) ─┐
//!                                                                ├─► resolve ─► Lun: what is served, and how
//! settings file: [[share.lun]] ──────────────────────────────────┘
//! ```
//!
//! A LUN belongs to a share, and is named `share/name`. What the settings say of it wins over what is in the state folder,
//! but who it is (its NAA identifier, its target and number there) is made once and kept there.

mod file;
mod names;
mod record;
mod resolve;

use std::path::PathBuf;

pub use file::{LunError, LunFile, NewLun};
pub use names::split;
pub use record::{LunOptions, LunRecord};
pub use resolve::{Lun, Resolved, own_prefix, prefix, resolve};

/// Sizes of LUNs are whole blocks of so many bytes, whatever their own block size.
pub const LUN_BLOCK: u64 = 4096;
/// Bytes of the smallest LUN that is made: less is a size whose unit was forgotten.
pub const SMALLEST_LUN: u64 = 1 << 20;

/// The file of a LUN that is the server's own, from the share's folder on.
#[must_use]
pub fn own_file(name: &str) -> PathBuf {
    let folder = String::from_utf8_lossy(vfs::OwnFolder::LUNS.name());
    PathBuf::from(folder.as_ref()).join(own_file_name(name))
}

/// Its name in the server's own folder.
#[must_use]
pub fn own_file_name(name: &str) -> String {
    format!("{name}.img")
}
