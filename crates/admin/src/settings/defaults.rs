//! Defaults that depend on who runs the server, and where.

use std::path::{Path, PathBuf};

use super::kind::Port;
use super::model::Protocol;

/// The port a protocol uses when none is set: the standard one for root, else the standard one + 10000.
///
/// `None` for the admin API, which stays off until it is given a port.
#[must_use]
pub fn default_port(protocol: Protocol, privileged: bool) -> Option<u16> {
    let standard = match protocol {
        Protocol::Nfs => 2049,
        Protocol::Smb => 445,
        Protocol::Afp => 548,
        Protocol::Iscsi => 3260,
        Protocol::Portmap => 111,
        Protocol::Admin => return None,
    };
    Some(if privileged { standard } else { standard + 10_000 })
}

/// The ports to try, in this order, for what was set. Root falls back to the ordinary user's port where the standard
/// one cannot be bound, because another server has it or a container forbids it. None: the protocol is off.
#[must_use]
pub fn candidates(port: Port, protocol: Protocol, privileged: bool) -> Vec<u16> {
    match port {
        Port::Off => Vec::new(),
        Port::Number(number) => vec![number],
        Port::Standard if privileged => {
            [true, false].into_iter().filter_map(|p| default_port(protocol, p)).collect()
        }
        Port::Standard => default_port(protocol, false).into_iter().collect(),
    }
}

/// The state folder when none is set: `/var/lib/fourfold` for root, else `.fourfold` beside the settings file, or in
/// the current folder when there is none.
#[must_use]
pub fn default_state(privileged: bool, file: Option<&Path>, folder: &Path) -> PathBuf {
    if privileged {
        return PathBuf::from("/var/lib/fourfold");
    }
    match file.and_then(Path::parent) {
        Some(beside) => folder.join(beside).join(".fourfold"),
        None => folder.join(".fourfold"),
    }
}

/// The settings file when none is named: `fourfold.toml` in the current folder, else, for root,
/// `/etc/fourfold/fourfold.toml`.
#[must_use]
pub fn find_file(privileged: bool, folder: &Path) -> Option<PathBuf> {
    let here = PathBuf::from("fourfold.toml");
    if folder.join(&here).exists() {
        return Some(here);
    }
    let system = PathBuf::from("/etc/fourfold/fourfold.toml");
    (privileged && system.exists()).then_some(system)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ordinary_user_gets_the_standard_port_plus_10000() {
        let ports = [Protocol::Nfs, Protocol::Smb, Protocol::Afp, Protocol::Iscsi, Protocol::Portmap];
        assert_eq!(ports.map(|p| default_port(p, false)), [12049, 10445, 10548, 13260, 10111].map(Some));
        assert_eq!(ports.map(|p| default_port(p, true)), [2049, 445, 548, 3260, 111].map(Some));
    }

    #[test]
    fn only_a_port_that_was_not_set_has_a_second_choice() {
        assert_eq!(candidates(Port::Standard, Protocol::Nfs, true), [2049, 12049]);
        assert_eq!(candidates(Port::Standard, Protocol::Nfs, false), [12049]);
        assert_eq!(candidates(Port::Number(2049), Protocol::Nfs, true), [2049]);
        assert!(candidates(Port::Off, Protocol::Nfs, true).is_empty());
        assert!(candidates(Port::Standard, Protocol::Admin, true).is_empty());
    }

    #[test]
    fn state_lies_beside_the_settings() {
        let here = Path::new("/home/ada");
        assert_eq!(default_state(false, None, here), Path::new("/home/ada/.fourfold"));
        assert_eq!(default_state(false, Some(Path::new("/srv/f.toml")), here), Path::new("/srv/.fourfold"));
        assert_eq!(default_state(true, None, here), Path::new("/var/lib/fourfold"));
    }
}
