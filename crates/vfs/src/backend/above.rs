//! Paths from a folder upwards.

use super::Node;
use crate::{Error, Result};

/// The most components of a path.
pub const MAX_PATH_DEPTH: usize = 512;

/// The name that a folder has in the one above it.
pub(crate) fn name_in(above: &Node, folder: &Node) -> Result<Vec<u8>> {
    if let Some(name) = above.unlisted_name(&**folder) {
        return Ok(name);
    }
    let mut found = None;
    above.list(0, &mut |entry| {
        if entry.id == folder.id() && !matches!(entry.name, b"." | b"..") {
            found = Some(entry.name.to_vec());
        }
        found.is_none()
    })?;
    found.ok_or(Error::Stale)
}
