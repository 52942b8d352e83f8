//! HFS+ and HFSX: Apple's Technical Note 1150, and what macOS added since (`hfs_format.h` of Apple's public sources).
//!
//! ```text
//! wrapper ─► volume header ─► journal (replayed in memory) ─► extents overflow ─► catalogue, attributes ─► forks
//! ```

mod attributes;
mod btree;
mod catalogue;
mod checking;
mod files;
mod folding;
mod fork;
mod header;
mod journal;
mod keys;
mod names;
mod volume;

use std::sync::Arc;

use crate::check::Steps;
use crate::tree::FileSystem;
use crate::{ReadAt, Result};

/// Opens a volume, to be listed with the others of its image.
pub fn volume(bytes: Arc<dyn ReadAt>) -> crate::Volume {
    let (name, format, files) = match open(bytes) {
        Ok(files) => (files.name(), files.format(), Ok(files)),
        Err(error) => (String::new(), "HFS+".into(), Err(error)),
    };
    crate::Volume { name, format, files, snapshots: Vec::new() }
}

/// Opens a volume.
///
/// # Errors
///
/// [`crate::Error::Damaged`] if both volume headers, or the header of a tree, are damaged.
pub fn open(bytes: Arc<dyn ReadAt>) -> Result<Arc<dyn FileSystem>> {
    Ok(Arc::new(volume::Volume::open(bytes)?))
}

/// Checks a volume: its headers, its trees, what their records say of each other, and the blocks that they use.
///
/// # Errors
///
/// What the source says. Damage is reported to `steps`.
pub fn check(bytes: Arc<dyn ReadAt>, steps: &mut Steps<'_>) -> Result<()> {
    checking::check(bytes, steps)
}

/// Whether these bytes end with the copy of a header whose volume is as long as they are: then the first header is damaged.
pub(crate) fn has_alternate_header(bytes: &dyn ReadAt) -> bool {
    let length = bytes.length();
    let copy = header::Headers::read(bytes).copy;
    copy.is_ok_and(|copy| {
        let behind = length.checked_sub(copy.volume_length());
        behind.is_some_and(|behind| behind < u64::from(copy.block_size))
    })
}
