//! The settings of RPC-with-TLS, RFC 9289.

use std::path::{Path, PathBuf};

use crate::settings::diagnostic::Findings;
use crate::settings::section::Section;

/// What TLS for clients of NFS needs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NfsTls {
    /// The files of a certificate and its key; `None`: those of the API.
    pub certificate: Option<(PathBuf, PathBuf)>,
    /// The certificates that certificates of clients are checked against; `None`: clients show none.
    pub client_ca: Option<PathBuf>,
}

/// Whether clients of a rule must use TLS for NFS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ClientTls {
    /// As they like.
    #[default]
    Optional,
    /// They must.
    Required,
    /// They must, with a certificate.
    Mutual,
}

impl ClientTls {
    pub(in crate::settings) fn of(rule: &Section) -> Self {
        match rule.text("tls").as_deref() {
            Some("required") => Self::Required,
            Some("mutual") => Self::Mutual,
            _ => Self::Optional,
        }
    }
}

/// The settings of a section; relative paths count from `folder`, or from the settings file's folder.
pub(in crate::settings) fn read(server: &Section, folder: &Path, file: Option<&Path>) -> NfsTls {
    let path = |key: &str| server.path(key, folder, file);
    NfsTls { certificate: path("nfs-certificate").zip(path("nfs-key")), client_ca: path("nfs-client-ca") }
}

/// What belongs together is there, and can be read.
pub(in crate::settings) fn check(
    server: &Section,
    settings: &NfsTls,
    shares: &[Section],
    findings: &mut Findings,
) {
    for (key, other) in [("nfs-certificate", "nfs-key"), ("nfs-key", "nfs-certificate")] {
        if server.is_set(key) && !server.is_set(other) {
            let what = format!("`{key}` is set, and `{other}` is not");
            let instead = format!("write `{other}`, too, or leave both out for the certificate of the API");
            findings.error(server.place_of(key), what, instead);
        }
    }
    let files =
        settings.certificate.iter().flat_map(|(chain, key)| [("nfs-certificate", chain), ("nfs-key", key)]);
    for (key, path) in files.chain(settings.client_ca.iter().map(|path| ("nfs-client-ca", path))) {
        if let Err(error) = std::fs::File::open(path) {
            let what = format!("`{key}`: {} cannot be read: {error}", path.display());
            let instead = "write the path of a file that the server's user may read, or remove the line";
            findings.error(server.place_of(key), what, instead);
        }
    }
    let rules = shares.iter().flat_map(|share| &share.clients);
    for rule in rules.filter(|rule| ClientTls::of(rule) == ClientTls::Mutual && settings.client_ca.is_none())
    {
        let what = "`tls = \"mutual\"`, and nothing says which certificates of clients are trusted";
        let instead = "write `nfs-client-ca` in [server], or `tls = \"required\"`";
        findings.error(rule.place_of("tls"), what, instead);
    }
}
