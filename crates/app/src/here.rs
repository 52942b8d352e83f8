//! Where, and as whom, the program was started.

use std::path::PathBuf;

use anyhow::Context;

/// Whether the program runs as root.
pub(crate) fn privileged() -> bool {
    rustix::process::geteuid().is_root()
}

/// The current folder.
pub(crate) fn folder() -> anyhow::Result<PathBuf> {
    std::env::current_dir().context("the current folder cannot be found; go to one that exists")
}
