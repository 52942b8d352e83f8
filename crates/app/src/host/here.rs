//! The environment in which the program was started.

use std::net::IpAddr;
use std::path::PathBuf;

use admin::{Arguments, Diagnostic, ServerSettings, Settings, control};
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

/// The folder of this user's programs' state, by the XDG Base Directory Specification: a relative
/// path is ignored.
pub(crate) fn state_home() -> Option<PathBuf> {
    let absolute = |path: &PathBuf| path.is_absolute();
    let set = std::env::var_os("XDG_STATE_HOME").map(PathBuf::from).filter(absolute);
    set.or_else(|| Some(std::env::home_dir().filter(absolute)?.join(".local/state")))
}

/// The selected state folder, or the errors of the settings that should name it.
pub(crate) fn state(place: &Where) -> anyhow::Result<Result<PathBuf, Vec<Diagnostic>>> {
    Ok(Settings::state_folder(&place.arguments(privileged(), folder()?)))
}

/// The arguments of the server that runs with the selected state folder, of which some shares may be only on its command
/// line; without such a server, those of this command.
pub(crate) fn of_server(place: &Where) -> anyhow::Result<Arguments> {
    Ok(of_running(place.arguments(privileged(), folder()?)))
}

/// The arguments of the running server that uses the same state folder as `own`. If no such server runs, or if `own` names a
/// settings file, these are `own`.
pub(crate) fn of_running(own: Arguments) -> Arguments {
    if own.config.is_some() {
        return own;
    }
    let Ok(state) = Settings::state_folder(&own) else { return own };
    // A server that does not answer is an error of the command that asks it later.
    control::started_with(&state).map_or(own, Arguments::from)
}

/// The host's name.
pub(crate) fn host_name() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    if name.trim().is_empty() { "localhost".into() } else { name.trim().into() }
}

/// The machine type that Macs show: it determines the icon.
pub(crate) const MODEL: &str = "MacSamba";

/// The displayed name of the server: the setting, otherwise the host's name without its domain.
pub(crate) fn server_name(settings: &ServerSettings) -> String {
    let host = || host_name().split('.').next().unwrap_or_default().to_owned();
    settings.bonjour_name.clone().unwrap_or_else(host)
}

/// The reachable addresses of a server that listens on these: for "every address", the host's
/// current addresses that are valid for all clients.
pub(crate) fn reachable(listen: &[IpAddr]) -> Vec<IpAddr> {
    let own = if_addrs::get_if_addrs().unwrap_or_default();
    let far = |one: &if_addrs::Interface| !one.is_loopback() && !one.is_link_local();
    let own: Vec<IpAddr> = own.iter().filter(|one| far(one)).map(if_addrs::Interface::ip).collect();
    let all_of = |any: &IpAddr| own.iter().copied().filter(|ip| ip.is_ipv4() == any.is_ipv4()).collect();
    let of = |ip: &IpAddr| if ip.is_unspecified() { all_of(ip) } else { vec![*ip] };
    listen.iter().flat_map(of).collect()
}
