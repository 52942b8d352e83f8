//! Where, and as whom, the program was started.

use std::net::IpAddr;
use std::path::PathBuf;

use admin::{Diagnostic, ServerSettings, Settings};
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

/// Where this user's programs keep their state, by the XDG Base Directory Specification: a relative path counts as none.
pub(crate) fn state_home() -> Option<PathBuf> {
    let absolute = |path: &PathBuf| path.is_absolute();
    let set = std::env::var_os("XDG_STATE_HOME").map(PathBuf::from).filter(absolute);
    set.or_else(|| Some(std::env::home_dir().filter(absolute)?.join(".local/state")))
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

/// What kind of machine Macs show it as: an icon of theirs goes with it.
pub(crate) const MODEL: &str = "MacSamba";

/// What people read as the server's name: the set one, else the host's without its domain.
pub(crate) fn server_name(settings: &ServerSettings) -> String {
    let host = || host_name().split('.').next().unwrap_or_default().to_owned();
    settings.bonjour_name.clone().unwrap_or_else(host)
}

/// Where a server that listens on these addresses can be reached: of "every address" those that the host has now and
/// that mean the same everywhere.
pub(crate) fn reachable(listen: &[IpAddr]) -> Vec<IpAddr> {
    let own = if_addrs::get_if_addrs().unwrap_or_default();
    let far = |one: &if_addrs::Interface| !one.is_loopback() && !one.is_link_local();
    let own: Vec<IpAddr> = own.iter().filter(|one| far(one)).map(if_addrs::Interface::ip).collect();
    let all_of = |any: &IpAddr| own.iter().copied().filter(|ip| ip.is_ipv4() == any.is_ipv4()).collect();
    let of = |ip: &IpAddr| if ip.is_unspecified() { all_of(ip) } else { vec![*ip] };
    listen.iter().flat_map(of).collect()
}
