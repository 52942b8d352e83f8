//! Where, and as whom, the program was started.

use std::path::PathBuf;

use admin::{Diagnostic, Settings};
use anyhow::Context;

use crate::cli::Where;

/// Whether the program runs as root.
pub(crate) fn privileged() -> bool {
    rustix::process::geteuid().is_root()
}

/// The current folder.
pub(crate) fn folder() -> anyhow::Result<PathBuf> {
    std::env::current_dir().context("the current folder cannot be found; go to one that exists")
}

/// The state folder that was meant, or what is wrong with the settings that should name it.
pub(crate) fn state(place: &Where) -> anyhow::Result<Result<PathBuf, Vec<Diagnostic>>> {
    Ok(Settings::state_folder(&place.arguments(privileged(), folder()?)))
}

/// What other hosts call this one.
pub(crate) fn host_name() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    if name.trim().is_empty() { "localhost".into() } else { name.trim().into() }
}
