//! The server's account in a domain, as the state folder keeps it, and the keytab that is made of its password.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use auth::durable;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::keys::{self, VersionedPassword};

/// The services of the server, in the names of its account (servicePrincipalName).
const SERVICES: &[&str] = &["HOST", "cifs", "nfs", "HTTP", "afpserver"];

/// The machine account, as the state folder keeps it. Only the server's user can read it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// The DNS name of the domain.
    pub domain: String,
    /// The domain's SID.
    pub sid: String,
    /// The short name of the domain, such as `LAB`.
    pub short: String,
    /// The account's name, such as `FILER$`.
    pub account: String,
    /// The DNS name of the server.
    pub host: String,
    /// A domain controller that is asked first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub controller: Option<String>,
    /// When the password was set, in seconds since 1970.
    pub changed: u64,
    /// The version of its keys.
    pub version: u32,
    pub(crate) password: String,
    /// The one before: clients have tickets for its keys.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) previous: Option<String>,
}

/// Without the passwords.
impl std::fmt::Debug for Machine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Machine({} of {}, keys of version {})", self.account, self.domain, self.version)
    }
}

/// The file with the machine account.
#[must_use]
pub fn machine_file(state: &Path) -> PathBuf {
    state.join("domain-machine.toml")
}

/// The keytab of a server that has joined.
#[must_use]
pub fn keytab(state: &Path) -> PathBuf {
    state.join("domain.keytab")
}

impl Machine {
    /// The machine account of a state folder.
    ///
    /// # Errors
    /// The server has not joined, or the file is damaged.
    pub fn read(state: &Path) -> Result<Self, Error> {
        let path = machine_file(state);
        let failure = |why: String| Error::File { path: path.display().to_string(), why };
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Err(Error::NotJoined),
            Err(error) => return Err(failure(error.to_string())),
        };
        toml_edit::de::from_str(&text).map_err(|error| failure(error.message().to_owned()))
    }

    /// Keeps it, and then its keys.
    pub(crate) fn write(&self, state: &Path) -> Result<(), Error> {
        let put = |path: PathBuf, bytes: &[u8]| {
            let failure = |error: std::io::Error| Error::File {
                path: path.display().to_string(),
                why: error.to_string(),
            };
            durable::replace(&path, bytes).map_err(failure)
        };
        let failure = |why: String| Error::File { path: machine_file(state).display().to_string(), why };
        let text = toml_edit::ser::to_string(self).map_err(|error| failure(error.to_string()))?;
        put(machine_file(state), text.as_bytes())?;
        let old = self.previous.as_deref().zip(self.version.checked_sub(1));
        let old = old.map(|(password, version)| VersionedPassword { password, version });
        let passwords: Vec<VersionedPassword<'_>> =
            [VersionedPassword { password: &self.password, version: self.version }]
                .into_iter()
                .chain(old)
                .collect();
        let keys =
            keys::keytab(&self.realm(), &self.principals(), &self.salt(), &passwords, self.changed as u32);
        put(keytab(state), &keys.ok_or_else(|| failure("no keys can be made of the password".into()))?)
    }

    /// The realm of the domain.
    #[must_use]
    pub fn realm(&self) -> String {
        self.domain.to_uppercase()
    }

    /// The principal of the account.
    #[must_use]
    pub fn principal(&self) -> String {
        format!("{}@{}", self.account, self.realm())
    }

    /// How old the password is.
    #[must_use]
    pub fn age(&self, now: SystemTime) -> Duration {
        let changed = SystemTime::UNIX_EPOCH + Duration::from_secs(self.changed);
        now.duration_since(changed).unwrap_or_default()
    }

    /// The names of the services, with the whole host name and the short one.
    pub(crate) fn services(&self) -> Vec<String> {
        let short = self.host.split('.').next().unwrap_or(&self.host);
        let of = |service: &&str| [format!("{service}/{}", self.host), format!("{service}/{short}")];
        SERVICES.iter().flat_map(of).collect()
    }

    fn principals(&self) -> Vec<String> {
        let lower = |name: String| name.strip_prefix("HOST/").map(|host| format!("host/{host}"));
        let hosts = self.services().into_iter().filter_map(lower);
        [self.account.clone()].into_iter().chain(self.services()).chain(hosts).collect()
    }

    /// What Active Directory mixes with the password of a computer, MS-KILE 3.1.1.2.
    fn salt(&self) -> String {
        let name = self.account.trim_end_matches('$').to_lowercase();
        format!("{}host{name}.{}", self.realm(), self.domain.to_lowercase())
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn machine() -> Machine {
        Machine {
            domain: "lab.test".into(),
            sid: "S-1-5-21-1-2-3".into(),
            short: "LAB".into(),
            account: "FILER$".into(),
            host: "filer.lab.test".into(),
            controller: None,
            changed: 1_000_000,
            version: 3,
            password: "secret".into(),
            previous: Some("older".into()),
        }
    }

    #[test]
    fn the_account_is_kept_with_its_keys_for_the_servers_user_only() {
        let state = tempfile::tempdir().unwrap();
        assert_eq!(Machine::read(state.path()), Err(Error::NotJoined));
        machine().write(state.path()).unwrap();
        assert_eq!(Machine::read(state.path()), Ok(machine()));
        for path in [machine_file(state.path()), keytab(state.path())] {
            assert_eq!(std::fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o600);
        }
        let entries = kerberos::entries(&std::fs::read(keytab(state.path())).unwrap()).unwrap();
        let has = |name: &str, version| {
            entries
                .iter()
                .any(|entry| entry.to_string() == name && entry.version == version && entry.kind == 18)
        };
        assert!(has("cifs/filer.lab.test@LAB.TEST", 3) && has("cifs/filer.lab.test@LAB.TEST", 2));
        assert!(has("FILER$@LAB.TEST", 3) && has("host/filer@LAB.TEST", 3));
    }

    /// MS-KILE 3.1.1.2.
    #[test]
    fn the_salt_is_of_the_realm_and_the_hosts_name() {
        assert_eq!(machine().salt(), "LAB.TESThostfiler.lab.test");
        assert_eq!(machine().age(SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_060)).as_secs(), 60);
    }
}
