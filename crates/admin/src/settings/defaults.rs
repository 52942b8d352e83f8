//! Defaults that depend on the user and the place of the server.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::port::Port;
use super::protocol::Protocol;

/// The port of a protocol by default: the standard one for root, otherwise the standard one +
/// 10000.
#[must_use]
pub fn default_port(protocol: Protocol, privileged: bool) -> u16 {
    let standard = protocol.standard_port();
    if privileged { standard } else { standard + 10_000 }
}

/// The ports to try for a setting, in this order. Root falls back to the ordinary user's port if
/// the standard one cannot be bound, because another server has it or a container forbids it.
/// Empty: the protocol is off.
#[must_use]
pub fn candidates(port: Port, protocol: Protocol, privileged: bool) -> Vec<u16> {
    match port {
        Port::Off => Vec::new(),
        Port::Number(number) => vec![number],
        Port::Standard if privileged => {
            [true, false].into_iter().map(|p| default_port(protocol, p)).collect()
        }
        Port::Standard => vec![default_port(protocol, false)],
    }
}

/// The name of the state folder, in the folder of the user's programs' state.
const STATE: &str = "fourfold";
/// The state folder's name in earlier versions, next to the settings file or in the current folder.
const EARLIER_STATE: &str = ".fourfold";

/// The state folder by default: `/var/lib/fourfold` for root. For other users it is the one that an
/// earlier version made next to the settings file or, without one, in the current folder; otherwise
/// `fourfold` in `state_home`. Without a home folder, it has the place of earlier versions.
#[must_use]
pub fn default_state(
    privileged: bool,
    file: Option<&Path>,
    folder: &Path,
    state_home: Option<&Path>,
) -> PathBuf {
    if privileged {
        return PathBuf::from("/var/lib/fourfold");
    }
    let beside = file.and_then(Path::parent).map_or(folder.to_owned(), |beside| folder.join(beside));
    let earlier = beside.join(EARLIER_STATE);
    match state_home {
        Some(home) if !is_own_state(&earlier) => home.join(STATE),
        _ => earlier,
    }
}

/// Whether a folder is a state folder of this user. Another user's folder would contain that user's
/// accounts.
fn is_own_state(folder: &Path) -> bool {
    let Ok(metadata) = std::fs::symlink_metadata(folder) else { return false };
    let own = metadata.is_dir() && metadata.uid() == rustix::process::geteuid().as_raw();
    own && ["identity.toml", "accounts.toml"].iter().any(|name| folder.join(name).is_file())
}

/// The settings file by default: `fourfold.toml` in the current folder, otherwise, for root,
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
        assert_eq!(ports.map(|p| default_port(p, false)), [12049, 10445, 10548, 13260, 10111]);
        assert_eq!(ports.map(|p| default_port(p, true)), [2049, 445, 548, 3260, 111]);
    }

    #[test]
    fn only_a_port_that_was_not_set_has_a_second_choice() {
        assert_eq!(candidates(Port::Standard, Protocol::Nfs, true), [2049, 12049]);
        assert_eq!(candidates(Port::Standard, Protocol::Nfs, false), [12049]);
        assert_eq!(candidates(Port::Number(2049), Protocol::Nfs, true), [2049]);
        assert!(candidates(Port::Off, Protocol::Nfs, true).is_empty());
    }

    #[test]
    fn state_lies_in_the_home_folder_wherever_the_settings_are() {
        let (here, home) = (Path::new("/home/ada/work"), Some(Path::new("/home/ada/.local/state")));
        let state = Path::new("/home/ada/.local/state/fourfold");
        assert_eq!(default_state(false, None, here, home), state);
        assert_eq!(default_state(false, Some(Path::new("/srv/f.toml")), here, home), state);
        assert_eq!(default_state(true, None, here, home), Path::new("/var/lib/fourfold"));
    }

    #[test]
    fn without_a_home_folder_it_lies_beside_the_settings() {
        let here = Path::new("/home/ada");
        assert_eq!(default_state(false, None, here, None), Path::new("/home/ada/.fourfold"));
        let file = Some(Path::new("/srv/f.toml"));
        assert_eq!(default_state(false, file, here, None), Path::new("/srv/.fourfold"));
    }

    #[test]
    fn what_an_earlier_version_made_is_used_if_it_is_this_users_own() {
        let folder = tempfile::tempdir().unwrap();
        let (here, home) = (folder.path(), Some(Path::new("/home/ada/.local/state")));
        let state = Path::new("/home/ada/.local/state/fourfold");
        std::fs::create_dir(here.join(".fourfold")).unwrap();
        assert_eq!(default_state(false, None, here, home), state, "an empty folder has no state");
        std::fs::write(here.join(".fourfold/accounts.toml"), "").unwrap();
        assert_eq!(default_state(false, None, here, home), here.join(".fourfold"));
        std::fs::rename(here.join(".fourfold"), here.join("real")).unwrap();
        std::os::unix::fs::symlink("real", here.join(".fourfold")).unwrap();
        assert_eq!(default_state(false, None, here, home), state, "a link may lead to another user's");
    }
}
