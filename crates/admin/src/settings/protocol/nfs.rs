//! The settings of NFS.

mod audience;
mod sec;
mod tls;

use std::path::Path;

use super::super::diagnostic::Findings;
use super::super::section::Section;
use super::super::server::ServerSettings;
use super::super::share::LocatedShare;

pub use audience::{HostAudience, TrustedHosts};
pub use sec::ClientSec;
pub use tls::ClientTls;
use tls::NfsTls;

/// The settings of `[server]` for NFS.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NfsSettings {
    /// NFSv3 is served.
    pub version_3: bool,
    /// The minor versions of NFSv4 that are served: 0 to 2.
    pub minor_versions: Vec<u32>,
    /// The domain of users' and groups' names over NFSv4; `None`: numbers.
    pub domain: Option<String>,
    /// TLS for clients.
    pub tls: NfsTls,
    /// The hosts that need no login.
    pub clients: TrustedHosts,
}

/// The settings of a section; relative paths count from `folder`, or from the settings file's folder. `state` is the state folder.
pub(super) fn read(server: &Section, folder: &Path, file: Option<&Path>, state: &Path) -> NfsSettings {
    let versions = server.texts("nfs-versions");
    let minor = |version: &String| version.strip_prefix("4.")?.parse().ok();
    NfsSettings {
        version_3: versions.iter().any(|version| version == "3"),
        minor_versions: versions.iter().filter_map(minor).collect(),
        domain: server.text("nfs4-domain").filter(|domain| !domain.trim().is_empty()),
        tls: tls::read(server, folder, file),
        clients: audience::read(server, state),
    }
}

/// What the rules of shares for clients need is there, and a default of an earlier version is reported.
pub(super) fn check(
    server: &Section,
    settings: &ServerSettings,
    (sections, shares): (&[Section], &[LocatedShare]),
    findings: &mut Findings,
) {
    tls::check(server, &settings.protocols.nfs.tls, sections, findings);
    sec::check(settings.kerberos_keytab.is_some(), sections, findings);
    audience::check(settings, shares, findings);
}
