//! A network of our own. As root, the command runs again inside a fresh network and mount
//! namespace. There ports 111 and 2049 are free, no packet reaches the outside, and `/run` is
//! private (rpcbind is found through a socket there).

use std::os::unix::process::CommandExt;
use std::process::Command;

use anyhow::{Context, Result};

use crate::process;

const MARK: &str = "FOURFOLD_ISOLATED";

/// Whether this process already runs in such a namespace.
pub fn is_isolated() -> bool {
    std::env::var_os(MARK).is_some()
}

/// Starts this command again inside a namespace, if that is possible. Returns if it is not possible
/// or not needed.
pub fn enter() -> Result<()> {
    if is_isolated()
        || !process::is_root()
        || process::find("unshare").is_none()
        || process::find("ip").is_none()
    {
        return Ok(());
    }
    if !Command::new("unshare")
        .args(["--net", "--mount", "true"])
        .status()
        .is_ok_and(|status| status.success())
    {
        return Ok(()); // a container without the right to do so
    }
    let script = "mount -t tmpfs tmpfs /run && ip link set lo up && exec \"$0\" \"$@\"";
    let error = Command::new("unshare")
        .args(["--net", "--mount", "sh", "-c", script])
        .arg(std::env::current_exe()?)
        .args(std::env::args_os().skip(1))
        .env(MARK, "1")
        .exec();
    Err(error).context("cannot start again in a network of our own")
}
