//! The settings of the API over HTTP.

use std::net::IpAddr;
use std::path::{Path, PathBuf};

use super::diagnostic::Findings;
use super::port::Port;
use super::section::Section;

/// The API.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiSettings {
    /// [`Port::Standard`] counts as off.
    pub port: Port,
    /// The addresses to listen on.
    pub listen: Vec<IpAddr>,
    /// Connections are encrypted.
    pub tls: bool,
    /// The files of a certificate and its key; `None`: one that the server makes.
    pub certificate: Option<(PathBuf, PathBuf)>,
    /// An administrator without a second factor may only set one up.
    pub requires_second_factor: bool,
}

/// The settings of a section; relative paths count from `folder`, or from the settings file's folder.
pub(super) fn read(server: &Section, folder: &Path, file: Option<&Path>) -> ApiSettings {
    let path = |key: &str| server.path(key, folder, file);
    ApiSettings {
        port: server.port("admin-port"),
        listen: server.addresses("admin-listen"),
        tls: server.bool("admin-tls"),
        certificate: path("admin-certificate").zip(path("admin-key")),
        requires_second_factor: server.text("admin-second-factor").as_deref() == Some("required"),
    }
}

/// What belongs together is there, and tokens do not cross a network in the clear.
pub(super) fn check(server: &Section, settings: &ApiSettings, findings: &mut Findings) {
    for (key, other) in [("admin-certificate", "admin-key"), ("admin-key", "admin-certificate")] {
        if server.is_set(key) && !server.is_set(other) {
            let what = format!("`{key}` is set, and `{other}` is not");
            let instead =
                format!("write `{other}`, too, or leave both out for a certificate that the server makes");
            findings.error(server.place_of(key), what, instead);
        }
    }
    let open = settings.listen.iter().find(|address| !address.is_loopback());
    if let (false, Some(address)) = (settings.tls, open) {
        let what = format!("without TLS, tokens would cross the network to {address} readable by others");
        let instead = "leave `admin-tls` on, or write `admin-listen = [\"127.0.0.1\"]`";
        findings.error(server.place_of("admin-tls"), what, instead);
    }
}
