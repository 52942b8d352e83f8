//! The settings for a certificate of an issuer: ACME, RFC 8555.

use std::path::{Path, PathBuf};

use super::diagnostic::Findings;
use super::section::Section;

/// The most names of a certificate.
const MOST_NAMES: usize = 100;

/// A certificate that an issuer gives and renews.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AcmeSettings {
    /// The names.
    pub names: Vec<String>,
    /// The URL of the issuer's directory.
    pub directory: String,
    /// The address of mail for the issuer.
    pub email: Option<String>,
    /// How the server shows that the names are its own.
    pub challenge: AcmeChallenge,
    /// The certificates by which the server knows its issuer; `None`: those that the host trusts.
    pub ca: Option<PathBuf>,
}

/// How a server shows that names are its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AcmeChallenge {
    /// By a page at this port, RFC 8555 8.3.
    Http(u16),
    /// By a record that this program puts into the zone, RFC 8555 8.4.
    Dns(PathBuf),
}

/// The settings of a section; relative paths count from `folder`, or from the settings file's folder.
pub(super) fn read(server: &Section, folder: &Path, file: Option<&Path>) -> Option<AcmeSettings> {
    let names = server.texts("acme-names");
    if names.is_empty() {
        return None;
    }
    let port = server.number("acme-http-port").and_then(|port| u16::try_from(port).ok()).unwrap_or(80);
    let challenge = match server.text("acme-challenge").as_deref() {
        Some("dns") => AcmeChallenge::Dns(server.path("acme-dns-hook", folder, file).unwrap_or_default()),
        _ => AcmeChallenge::Http(port),
    };
    Some(AcmeSettings {
        names,
        directory: server.secret("acme-directory").map(|url| url.reveal().to_owned()).unwrap_or_default(),
        email: server.text("acme-email").filter(|text| !text.is_empty()),
        challenge,
        ca: server.path("acme-ca", folder, file),
    })
}

/// The names are such that an issuer can check, and nothing else names the certificate.
pub(super) fn check(server: &Section, settings: Option<&AcmeSettings>, findings: &mut Findings) {
    let Some(acme) = settings else { return };
    let is_dns = matches!(acme.challenge, AcmeChallenge::Dns(_));
    for (name, place) in server.texts_with_places("acme-names") {
        let (plain, is_wild) = name.strip_prefix("*.").map_or((&*name, false), |rest| (rest, true));
        if !auth::is_host_name(plain) || !plain.contains('.') || plain.parse::<std::net::IpAddr>().is_ok() {
            let what = format!("`acme-names` has {name:?}, which no issuer can check");
            findings.error(&place, what, "write a whole name of the public DNS, such as \"nas.example.com\"");
        } else if is_wild && !is_dns {
            let what = format!("{name:?} in `acme-names` cannot be shown by a page");
            findings.error(
                &place,
                what,
                "write `acme-challenge = \"dns\"` and `acme-dns-hook`, or whole names",
            );
        }
    }
    if acme.names.len() > MOST_NAMES {
        let what = format!("`acme-names` has more than {MOST_NAMES} names");
        findings.error(server.place_of("acme-names"), what, "leave some out");
    }
    if is_dns && !server.is_set("acme-dns-hook") {
        let what = "`acme-challenge = \"dns\"` needs a program that changes the zone";
        findings.error(
            server.place_of("acme-challenge"),
            what,
            "write `acme-dns-hook = \"/etc/fourfold/acme-dns\"`",
        );
    }
    if server.is_set("admin-certificate") {
        let what = "`acme-names` gets a certificate, and `admin-certificate` names another one";
        findings.error(server.place_of("acme-names"), what, "leave `admin-certificate` and `admin-key` out");
    }
    if !server.bool("admin-tls") {
        let what = "`acme-names` gets a certificate, and `admin-tls = false` uses none";
        findings.error(server.place_of("acme-names"), what, "leave `admin-tls` on");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::{Arguments, Settings};

    fn load(server: &str) -> Result<Option<AcmeSettings>, String> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("a")).unwrap();
        let text = format!("[server]\n{server}\n[[share]]\nname = \"A\"\npath = \"a\"\n");
        std::fs::write(folder.path().join("fourfold.toml"), text).unwrap();
        match Settings::load(&Arguments::new(false, folder.path().into())) {
            Ok(settings) => Ok(settings.server.acme),
            Err(all) => Err(all.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")),
        }
    }

    #[test]
    fn names_alone_ask_the_default_issuer_by_a_page() {
        assert_eq!(load("").unwrap(), None);
        let acme = load("acme-names = [\"nas.example.com\"]").unwrap().unwrap();
        assert_eq!(acme.challenge, AcmeChallenge::Http(80));
        assert_eq!(acme.directory, "https://acme-v02.api.letsencrypt.org/directory");
        let dns = "acme-names = [\"*.example.com\"]\nacme-challenge = \"dns\"\nacme-dns-hook = \"/etc/hook\"";
        assert_eq!(load(dns).unwrap().unwrap().challenge, AcmeChallenge::Dns("/etc/hook".into()));
    }

    #[test]
    fn what_no_issuer_can_check_is_refused_with_what_to_write() {
        for (server, expected) in [
            ("acme-names = [\"nas\"]", "which no issuer can check"),
            ("acme-names = [\"192.0.2.1\"]", "which no issuer can check"),
            ("acme-names = [\"a b.example\"]", "which no issuer can check"),
            ("acme-names = [\"*.example.com\"]", "acme-challenge = \"dns\""),
            ("acme-names = [\"a.example.com\"]\nacme-challenge = \"dns\"", "acme-dns-hook"),
            ("acme-names = [\"a.example.com\"]\nadmin-tls = false", "leave `admin-tls` on"),
            (
                "acme-names = [\"a.example.com\"]\nadmin-certificate = \"c\"\nadmin-key = \"k\"",
                "leave `admin-certificate`",
            ),
            ("acme-directory = \"http://a/d\"", "https://"),
        ] {
            let refused = load(server).unwrap_err();
            assert!(refused.contains(expected), "{server}: {refused}");
        }
    }
}
