//! The hosts that NFS serves without a login: `nfs-clients`, and what counts without it.
//!
//! By AUTH_SYS a client states its users' numbers, and the server cannot check them. So a share that is not open to guests
//! is given only to hosts that somebody has named: in `[[share.client]]`, or in `nfs-clients`.

use std::path::Path;

use crate::settings::client_rule::{Access, ClientRule, Squash};
use crate::settings::diagnostic::{Findings, Place};
use crate::settings::kind::ClientMatch;
use crate::settings::model::ShareSettings;
use crate::settings::port::Port;
use crate::settings::protocol::Protocol;
use crate::settings::section::Section;
use crate::settings::server::ServerSettings;
use crate::settings::share::LocatedShare;

/// `nfs-clients`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TrustedHosts {
    /// These hosts.
    Named(Vec<ClientMatch>),
    /// It is not written.
    Unset,
    /// It is not written, and the state folder was made by a version that served all hosts.
    UnsetByEarlierVersion,
}

/// The hosts that get a share without a login, by NFS.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostAudience {
    /// Those that the client rules of the share say.
    Rules,
    /// These, with the rights of a rule that says nothing else. Empty: none.
    Hosts(Vec<ClientMatch>),
    /// All, and every user of theirs is a guest: a team folder in which guests have a role.
    Guests,
    /// All, because an earlier version has begun the server. Otherwise it would be none.
    AllAsBefore,
}

impl HostAudience {
    /// The rule for the hosts that get a share without client rules; `None`: there are no such hosts.
    #[must_use]
    pub fn rule(&self) -> Option<ClientRule> {
        match self {
            Self::Rules => None,
            Self::Hosts(hosts) if hosts.is_empty() => None,
            Self::Hosts(hosts) => Some(ClientRule::for_hosts(hosts.clone())),
            Self::Guests => {
                let all = ClientRule::for_hosts(vec![ClientMatch::Any]);
                Some(ClientRule { squash: Squash::All, ..all })
            }
            Self::AllAsBefore => Some(ClientRule::for_hosts(vec![ClientMatch::Any])),
        }
    }

    /// Whether no host gets the share without a login.
    #[must_use]
    pub fn is_nobody(&self) -> bool {
        *self == Self::Hosts(Vec::new())
    }
}

impl ServerSettings {
    /// The hosts that get a share without a login.
    #[must_use]
    pub fn audience(&self, share: &ShareSettings) -> HostAudience {
        match &self.protocols.nfs.clients {
            _ if !share.clients.is_empty() => HostAudience::Rules,
            TrustedHosts::Named(hosts) => HostAudience::Hosts(hosts.clone()),
            _ if share.is_open_to_guests() && share.team.is_some() => HostAudience::Guests,
            _ if share.is_open_to_guests() => HostAudience::Hosts(vec![ClientMatch::Any]),
            _ if share.team.is_some() => HostAudience::Hosts(Vec::new()),
            TrustedHosts::Unset => HostAudience::Hosts(Vec::new()),
            TrustedHosts::UnsetByEarlierVersion => HostAudience::AllAsBefore,
        }
    }

    /// The hosts that `nfs-clients` names.
    #[must_use]
    pub fn trusted_hosts(&self) -> &[ClientMatch] {
        match &self.protocols.nfs.clients {
            TrustedHosts::Named(hosts) => hosts,
            TrustedHosts::Unset | TrustedHosts::UnsetByEarlierVersion => &[],
        }
    }

    /// Whether clients of NFS can prove whose their calls are, by Kerberos or by TLS with a certificate.
    #[must_use]
    pub fn has_logins_of_hosts(&self) -> bool {
        self.kerberos_keytab.is_some() || self.protocols.nfs.tls.client_ca.is_some()
    }

    /// Whether NFS gives a share to any host, with or without a login.
    #[must_use]
    pub fn gives_by_nfs(&self, share: &ShareSettings) -> bool {
        match self.audience(share) {
            HostAudience::Rules => share.clients.iter().any(|rule| rule.access != Access::None),
            audience => !audience.is_nobody() || self.has_logins_of_hosts(),
        }
    }
}

pub(super) fn read(server: &Section, state: &Path) -> TrustedHosts {
    match server.is_set("nfs-clients") {
        true => TrustedHosts::Named(server.matches("nfs-clients")),
        false if crate::state::has_defaults_before(state, 1) => TrustedHosts::UnsetByEarlierVersion,
        false => TrustedHosts::Unset,
    }
}

/// Reports the shares that all hosts get only because an earlier version has begun the server.
pub(super) fn check(settings: &ServerSettings, shares: &[LocatedShare], findings: &mut Findings) {
    if settings.ports.of(Protocol::Nfs) == Port::Off {
        return;
    }
    let is_open = |share: &&ShareSettings| {
        share.protocols.contains(&Protocol::Nfs) && settings.audience(share) == HostAudience::AllAsBefore
    };
    let open: Vec<String> =
        shares.iter().map(|(_, share)| share).filter(is_open).map(|share| share.name.clone()).collect();
    if !open.is_empty() {
        let what = format!(
            "NFS gives {} to every host without a login, as the earlier version did that has begun this server; in a new \
             server no host gets a share that is not named",
            open.join(", ")
        );
        let instead = "write `nfs-clients = [\"192.168.1.0/24\"]` in [server] with the hosts that you trust, \
                       `nfs-clients = \"all\"` to keep it, or `[[share.client]]`";
        findings.note(&Place::Default, what, instead);
    }
}

#[cfg(test)]
mod tests {
    use crate::settings::{Arguments, ClientMatch, HostAudience, Settings};

    /// The settings with a new state folder, or one that an earlier version has made.
    fn load(server: &str, share: &str, is_earlier: bool) -> Settings {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("a")).unwrap();
        drop(crate::State::open(&folder.path().join("state")).unwrap());
        let identity = folder.path().join("state/identity.toml");
        if is_earlier {
            let text = std::fs::read_to_string(&identity).unwrap().replace("defaults = 1\n", "");
            std::fs::write(&identity, text).unwrap();
        }
        let text = format!(
            "[server]\nstate = \"state\"\n{server}\n[[share]]\nname = \"A\"\npath = \"a\"\n{share}\n"
        );
        std::fs::write(folder.path().join("fourfold.toml"), text).unwrap();
        Settings::load(&Arguments::new(false, folder.path().into())).unwrap()
    }

    fn audience(server: &str, share: &str, is_earlier: bool) -> HostAudience {
        let settings = load(server, share, is_earlier);
        settings.server.audience(&settings.shares[0])
    }

    #[test]
    fn a_share_is_given_to_hosts_that_somebody_has_named() {
        let any = || HostAudience::Hosts(vec![ClientMatch::Any]);
        assert!(audience("", "", false).is_nobody());
        assert_eq!(audience("", "guests = true", false), any());
        assert_eq!(audience("nfs-clients = \"all\"", "", false), any());
        assert_eq!(audience("nfs-clients = [\"all\"]", "", false), any());
        let net = ClientMatch::Net("192.168.1.0/24".parse().unwrap());
        assert_eq!(audience("nfs-clients = [\"192.168.1.0/24\"]", "", false), HostAudience::Hosts(vec![net]));
        assert!(audience("nfs-clients = []", "guests = true", false).is_nobody(), "what is written counts");
        assert_eq!(audience("", "readers = [\"guests\"]", true), HostAudience::Guests);
        assert_eq!(HostAudience::Guests.rule().map(|rule| rule.squash), Some(crate::Squash::All));
        assert!(
            audience("", "editors = [\"ada\"]", true).is_nobody(),
            "earlier versions had no team folders"
        );
        let rule = "[[share.client]]\nmatch = \"10.0.0.1\"";
        assert_eq!(audience("nfs-clients = \"all\"", rule, false), HostAudience::Rules);
    }

    #[test]
    fn a_share_is_given_by_nfs_if_any_host_may_come_in() {
        let gives = |server: &str, share: &str| {
            let settings = load(server, share, false);
            settings.server.gives_by_nfs(&settings.shares[0])
        };
        assert!(!gives("", "") && !gives("", "editors = [\"ada\"]"));
        assert!(gives("nfs-clients = [\"10.0.0.1\"]", "") && gives("", "readers = [\"guests\"]"));
        let rule = |access: &str| format!("[[share.client]]\nmatch = \"*\"\naccess = \"{access}\"");
        assert!(gives("", &rule("ro")) && !gives("nfs-clients = \"all\"", &rule("none")));
        let mut closed = load("", "", false);
        closed.server.kerberos_keytab = Some("keytab".into());
        assert!(closed.server.gives_by_nfs(&closed.shares[0]), "a login counts from any host");
    }

    #[test]
    fn a_server_of_an_earlier_version_serves_all_until_told() {
        assert_eq!(audience("", "", true), HostAudience::AllAsBefore);
        assert!(audience("nfs-clients = []", "", true).is_nobody());
        let notes = |server: &str, share: &str, is_earlier| {
            let notes = load(server, share, is_earlier).notes;
            notes.iter().filter(|note| note.what.contains("every host without a login")).count()
        };
        assert_eq!(notes("", "", true), 1);
        for (server, share, is_earlier) in [
            ("", "", false),
            ("", "guests = true", true),
            ("", "nfs = false", true),
            ("nfs-port = \"off\"", "", true),
            ("nfs-clients = \"all\"", "", true),
            ("", "[[share.client]]\nmatch = \"*\"", true),
        ] {
            assert_eq!(notes(server, share, is_earlier), 0, "{server} {share}");
        }
    }
}
