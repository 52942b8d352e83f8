//! The address of etcd, and how a server authenticates to it.

use std::path::{Path, PathBuf};

use super::super::diagnostic::Findings;
use super::super::section::Section;

/// How a server reaches etcd.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EtcdSettings {
    /// The members, each `host:port`.
    pub members: Vec<String>,
    /// The files for TLS. `None`: in clear.
    pub tls: Option<EtcdTls>,
    /// The file with a user and a password of etcd.
    pub credentials: Option<PathBuf>,
}

/// The files for TLS to etcd.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EtcdTls {
    /// The certificate that the server shows.
    pub certificate: PathBuf,
    /// Its key.
    pub key: PathBuf,
    /// The certificates of the issuers of etcd's own certificates.
    pub ca: PathBuf,
}

/// The settings for TLS, each with the one that counts without it.
const OF_TLS: [(&str, &str); 3] = [
    ("cluster-etcd-certificate", "cluster-certificate"),
    ("cluster-etcd-key", "cluster-key"),
    ("cluster-etcd-ca", "cluster-ca"),
];
pub(super) const OF_ETCD: [&str; 4] =
    ["cluster-etcd-ca", "cluster-etcd-certificate", "cluster-etcd-key", "cluster-etcd-credentials"];

/// The settings of a section, if they are complete.
pub(super) fn read(server: &Section, folder: &Path, file: Option<&Path>) -> Option<EtcdSettings> {
    let path = |key: &str| server.path(key, folder, file);
    let (members, is_tls) = members(&server.text("cluster")?).ok()?;
    let [certificate, key, ca] = OF_TLS.map(|(own, other)| path(own).or_else(|| path(other)));
    let tls = match is_tls {
        true => Some(EtcdTls { certificate: certificate?, key: key?, ca: ca? }),
        false => None,
    };
    Some(EtcdSettings { members, tls, credentials: path("cluster-etcd-credentials") })
}

/// `etcd://host:port,host:port`, with TLS `etcds://…`; or URLs as `etcdctl --endpoints` has them,
/// `https://host:port,https://host:port`. Returns the members, and whether they want TLS.
fn members(text: &str) -> Result<(Vec<String>, bool), String> {
    let schemes = [
        ("etcd://", false, false),
        ("etcds://", true, false),
        ("http://", false, true),
        ("https://", true, true),
    ];
    let found = schemes.into_iter().find(|(scheme, ..)| text.starts_with(scheme));
    let (scheme, is_tls, is_each) = found.ok_or("it does not begin with `etcd://` or `etcds://`")?;
    let list = if is_each { text } else { &text[scheme.len()..] };
    let mut hosts = Vec::new();
    for host in list.split(',').map(str::trim) {
        let host = match is_each {
            true => host.strip_prefix(scheme).ok_or(format!("`{host}` does not begin with `{scheme}`"))?,
            false => host,
        };
        let (name, port) = host.rsplit_once(':').ok_or(format!("`{host}` has no port"))?;
        if name.is_empty() || name.contains(['/', '@']) || port.parse::<u16>().is_err() {
            return Err(format!("`{host}` is not HOST:PORT"));
        }
        hosts.push(host.to_owned());
    }
    Ok((hosts, is_tls))
}

/// `cluster` names members, and what belongs to TLS is set with TLS only.
pub(super) fn check(server: &Section, settings: Option<&EtcdSettings>, findings: &mut Findings) {
    let text = server.text("cluster").unwrap_or_default();
    match members(&text) {
        Err(why) => {
            let instead = "write the members of etcd as `etcd://HOST:PORT,HOST:PORT`, with TLS `etcds://…`";
            findings.error(server.place_of("cluster"), format!("`cluster`: {why}"), instead);
        }
        Ok((_, false)) => {
            for (key, _) in OF_TLS.into_iter().filter(|(key, _)| server.is_set(key)) {
                let what = format!("`{key}` is set, and `cluster` is without TLS");
                findings.error(
                    server.place_of(key),
                    what,
                    "write `etcds://` in `cluster`, or remove the line",
                );
            }
        }
        Ok((_, true)) => {}
    }
    let [certificate, key] = ["cluster-etcd-certificate", "cluster-etcd-key"];
    for (set, missing) in [(certificate, key), (key, certificate)] {
        if server.is_set(set) && !server.is_set(missing) {
            let what = format!("`{set}` is set, and `{missing}` is not");
            findings.error(server.place_of(set), what, "a certificate and its key belong together");
        }
    }
    let Some(settings) = settings else { return };
    let tls = settings
        .tls
        .iter()
        .flat_map(|tls| [(OF_ETCD[0], &tls.ca), (certificate, &tls.certificate), (key, &tls.key)]);
    let login = settings.credentials.iter().map(|path| (OF_ETCD[3], path));
    for (key, path) in tls.chain(login).filter(|(key, _)| server.is_set(key)) {
        super::check_readable(server, key, path, findings);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_of_etcd_are_hosts_with_ports() {
        let of = |text| members(text).unwrap();
        let two = vec!["a:2379".to_owned(), "[::1]:2380".to_owned()];
        assert_eq!(of("etcd://a:2379,[::1]:2380"), (two.clone(), false));
        assert_eq!(of("etcds://a:2379, [::1]:2380"), (two.clone(), true));
        assert_eq!(of("https://a:2379,https://[::1]:2380"), (two.clone(), true)); // etcdctl --endpoints
        assert_eq!(of("http://a:2379,http://[::1]:2380"), (two, false));
        for wrong in
            ["a:1", "etcd://", "etcd://a", "etcd://a:x", "etcd://a:1,", "etcd://a/b:1", "etcds://u@a:1"]
        {
            assert!(members(wrong).is_err(), "{wrong}");
        }
        for wrong in ["https://a:1,http://b:1", "https://a:1,b:1", "http://a:1/", "ftp://a:1"] {
            assert!(members(wrong).is_err(), "{wrong}");
        }
    }
}
