//! The settings of NFS.

mod audience;
mod sec;
mod tls;

use std::path::Path;

use auth::FileProtocol;

use super::super::diagnostic::Findings;
use super::super::section::Section;
use super::super::server::ServerSettings;
use super::super::share::LocatedShare;
use super::Row;

pub use audience::{HostAudience, TrustedHosts};
pub use sec::ClientSec;
pub use tls::ClientTls;
use tls::NfsTls;

/// What the program knows of NFS.
pub(super) const ROW: Row = Row {
    word: "nfs",
    title: "NFS",
    port: 2049,
    service: "nfs",
    has_datagrams: true,
    files: Some(FileProtocol::Nfs),
    users_log_in: false,
    encrypts: false,
    has_volume_passwords: false,
    kerberos: Some("nfs"),
    kernel_server: Some("nfsd"),
    goes_over_appletalk: false,
};

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
