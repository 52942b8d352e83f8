//! The place that PATH names: a share, a path in a share, or a path on this machine.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use admin::{Settings, ShareSettings};
use anyhow::{Context, bail};

use crate::host::here;

/// The share, and the path in it.
pub(super) fn of(path: &OsStr, settings: &Settings) -> anyhow::Result<(String, Vec<u8>)> {
    let bytes = path.as_bytes();
    if bytes.starts_with(b"/") || bytes.starts_with(b".") {
        return on_this_machine(path, settings);
    }
    let inside = |share: &&ShareSettings| {
        let rest = bytes.strip_prefix(share.name.as_bytes());
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
    };
    let share = settings.shares.iter().filter(inside).max_by_key(|share| share.name.len());
    let share = share.with_context(|| {
        let names: Vec<&str> = settings.shares.iter().map(|share| &*share.name).collect();
        let (path, names) = (path.display(), names.join(", "));
        format!(
            "{path} begins with no share; the shares are: {names}. A path on this machine begins with / or ."
        )
    })?;
    let rest = &bytes[share.name.len()..];
    Ok((share.name.clone(), trimmed(rest)))
}

fn on_this_machine(path: &OsStr, settings: &Settings) -> anyhow::Result<(String, Vec<u8>)> {
    let full = here::folder()?.join(path);
    let full = full.canonicalize().with_context(|| format!("{} is not there", full.display()))?;
    let in_share = settings.shares.iter().filter_map(|share| {
        let top = share.path.canonicalize().ok()?;
        let below = full.strip_prefix(&top).ok()?.as_os_str().as_bytes().to_vec();
        Some((top.components().count(), share, below))
    });
    match in_share.max_by_key(|(depth, ..)| *depth) {
        Some((_, share, below)) => Ok((share.name.clone(), below)),
        None => bail!("{} is in the folder of no share; `fourfold list` shows the folders", full.display()),
    }
}

/// Without slashes at its ends.
fn trimmed(path: &[u8]) -> Vec<u8> {
    let names = path.split(|byte| *byte == b'/').filter(|name| !name.is_empty());
    names.collect::<Vec<_>>().join(&b'/')
}
