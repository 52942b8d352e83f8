//! What the program does to a copy of a folder's tree before it becomes a snapshot.
//!
//! The copies of files are new files. A program that keeps data by the identity of files, as the
//! server does for streams, puts the identities right then.

use std::io;
use std::path::Path;
use std::sync::OnceLock;

use crate::Refusal;

/// What is done: to the copy, which is the second path, of the folder at the first one.
pub type AfterCopy = fn(&Path, &Path) -> io::Result<()>;

static AFTER_COPY: OnceLock<AfterCopy> = OnceLock::new();

/// Sets what is done to each copy. Later calls change nothing.
pub fn after_copy(what: AfterCopy) {
    let _ = AFTER_COPY.set(what);
}

pub(crate) fn copied(folder: &Path, copy: &Path) -> Result<(), Refusal> {
    let Some(after) = AFTER_COPY.get() else { return Ok(()) };
    after(folder, copy).map_err(Refusal::io("finish the copy of", folder))
}
