//! The settings of a server that is one of several of one tree.

mod address;
mod etcd;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

pub use address::ClusterAddress;
pub use etcd::{EtcdSettings, EtcdTls};

use super::diagnostic::Findings;
use super::port::Port;
use super::section::Section;
use super::share::LocatedShare;

/// The longest name of a cluster or of a server in it.
const MAX_NAME: usize = 63;

/// What a server needs to be one of several.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClusterSettings {
    /// Where etcd is.
    pub etcd: EtcdSettings,
    /// The name of the cluster.
    pub name: String,
    /// The name of this server.
    pub server: String,
    /// Where the other servers connect.
    pub listen: SocketAddr,
    /// The certificate of this server.
    pub certificate: PathBuf,
    /// Its key.
    pub key: PathBuf,
    /// The certificates of the issuers of all servers of the cluster.
    pub ca: PathBuf,
    /// The virtual addresses.
    pub addresses: Vec<ClusterAddress>,
    /// What gives them to this host and takes them away, instead of the server.
    pub address_command: Option<PathBuf>,
    /// The port of the endpoint mapper; [`Port::Off`]: this server is no witness.
    pub rpc_port: Port,
    /// The port of the witness service.
    pub witness_port: Port,
}

/// What belongs to `cluster`.
const WITH_CLUSTER: [&str; 5] =
    ["cluster-server", "cluster-listen", "cluster-certificate", "cluster-key", "cluster-ca"];

/// What a cluster can do without.
const OF_ADDRESSES: [&str; 2] = ["cluster-addresses", "cluster-address-command"];
const OF_WITNESS: [&str; 2] = ["cluster-rpc-port", "cluster-witness-port"];

/// The settings of a section, if they are complete; relative paths count from `folder`, or from the
/// settings file's folder.
pub(super) fn read(server: &Section, folder: &Path, file: Option<&Path>) -> Option<ClusterSettings> {
    let path = |key: &str| server.path(key, folder, file);
    Some(ClusterSettings {
        etcd: etcd::read(server, folder, file)?,
        name: server.text("cluster-name")?,
        server: server.text("cluster-server")?,
        listen: server.text("cluster-listen")?.parse().ok()?,
        certificate: path("cluster-certificate")?,
        key: path("cluster-key")?,
        ca: path("cluster-ca")?,
        addresses: server.texts("cluster-addresses").iter().filter_map(|text| text.parse().ok()).collect(),
        address_command: path("cluster-address-command"),
        rpc_port: server.port("cluster-rpc-port"),
        witness_port: server.port("cluster-witness-port"),
    })
}

/// All of it is there and fits, and no share has what a cluster cannot serve.
pub(super) fn check(
    server: &Section,
    settings: Option<&ClusterSettings>,
    (sections, shares): (&[Section], &[LocatedShare]),
    findings: &mut Findings,
) {
    if !server.is_set("cluster") {
        check_continuous(sections, findings);
        // As `check --print` writes them.
        let is_default = |key: &str| match key {
            "cluster-addresses" => server.texts(key).is_empty(),
            "cluster-witness-port" => server.port(key) == Port::Number(0),
            _ => false,
        };
        let all = WITH_CLUSTER.into_iter().chain(etcd::OF_ETCD).chain(OF_ADDRESSES).chain(OF_WITNESS);
        for key in all.filter(|key| server.is_set(key) && !is_default(key)) {
            let what = format!("`{key}` is set, and `cluster` is not");
            findings.error(server.place_of(key), what, "write `cluster`, too, or remove the line");
        }
        return;
    }
    for key in WITH_CLUSTER.into_iter().filter(|key| !server.is_set(key)) {
        let what = format!("`cluster` is set, and `{key}` is not");
        findings.error(
            server.place_of("cluster"),
            what,
            "docs/cluster.md has an example of all that it needs",
        );
    }
    etcd::check(server, settings.map(|settings| &settings.etcd), findings);
    if server.text("cluster-listen").is_some_and(|listen| listen.parse::<SocketAddr>().is_err()) {
        let instead = "write an address of this server that the others reach, with a port: `10.0.0.1:7420`";
        findings.error(server.place_of("cluster-listen"), "`cluster-listen` is not ADDRESS:PORT", instead);
    }
    for key in ["cluster-name", "cluster-server"] {
        if server.text(key).is_some_and(|name| !is_name(&name)) {
            let instead = format!("use up to {MAX_NAME} of a-z, 0-9, `-` and `.`");
            findings.error(server.place_of(key), format!("`{key}` is not a name"), instead);
        }
    }
    check_addresses(server, findings);
    let Some(settings) = settings else { return };
    if settings.listen.ip().is_unspecified() {
        let instead = "write the one address that the other servers connect to";
        findings.error(server.place_of("cluster-listen"), "`cluster-listen` is every address", instead);
    }
    let files = [("certificate", &settings.certificate), ("key", &settings.key), ("ca", &settings.ca)];
    for (key, path) in files {
        check_readable(server, &format!("cluster-{key}"), path, findings);
    }
    for (_, share) in shares {
        if share.local_recall {
            let what = format!(
                "the share {} has `local-recall`, which takes other servers for local programs",
                share.name
            );
            findings.error(server.place_of("cluster"), what, "turn `local-recall` off");
        }
    }
}

/// The virtual addresses of LUNs are those of the cluster, and LUNs of a target have one.
pub(super) fn check_luns(
    settings: Option<&ClusterSettings>,
    shares: &[LocatedShare],
    findings: &mut Findings,
) {
    let known = settings.map(|settings| settings.addresses.as_slice()).unwrap_or_default();
    for (_, share) in shares {
        for (at, lun) in share.luns.iter().enumerate() {
            let Some(address) = &lun.address else { continue };
            let place = &lun.places.address;
            if !known.iter().any(|one| address.parse() == Ok(one.ip)) {
                let what = format!("`address`: `{address}` is not in `cluster-addresses`");
                findings.error(place, what, "write one of them, or remove the line");
            }
            let mut others = share.luns[..at].iter().filter(|other| other.address.is_some());
            if let Some(other) = others.find(|other| {
                other.target().eq_ignore_ascii_case(lun.target()) && other.address != lun.address
            }) {
                let what = format!("the LUN {:?} of the same target has another `address`", other.name);
                findings.error(place, what, "write the same address, or put one of them into another target");
            }
        }
    }
}

/// No share of a server that is alone is `continuous`: no other server could go on with what clients have open.
fn check_continuous(sections: &[Section], findings: &mut Findings) {
    let is_written =
        |section: &&Section| section.bool("continuous") && section.inherited_from("continuous").is_none();
    for section in sections.iter().filter(is_written) {
        let what = "`continuous` is set, and `cluster` is not: no other server can go on with what clients have open";
        let instead = "write `cluster` below `[server]` (docs/cluster.md), or remove the line";
        findings.error(section.place_of("continuous"), what, instead);
    }
}

fn check_readable(server: &Section, key: &str, path: &Path, findings: &mut Findings) {
    if let Err(error) = std::fs::File::open(path) {
        let what = format!("`{key}`: {} cannot be read: {error}", path.display());
        let instead = "write the path of a file that the server's user may read";
        findings.error(server.place_of(key), what, instead);
    }
}

/// The virtual addresses are addresses, and each is there once.
fn check_addresses(server: &Section, findings: &mut Findings) {
    let mut seen = Vec::new();
    for (text, place) in server.texts_with_places("cluster-addresses") {
        let parsed = text.parse::<ClusterAddress>();
        let why = match &parsed {
            Err(why) => Some(*why),
            Ok(address) => seen.contains(&address.ip).then_some("it is there twice"),
        };
        if let Some(why) = why {
            let instead = "write ADDRESS/PREFIX@DEVICE, such as `10.0.0.50/24@eth0`";
            findings.error(&place, format!("`cluster-addresses`: `{text}`: {why}"), instead);
        }
        seen.extend(parsed.map(|address| address.ip));
    }
    if server.is_set("cluster-address-command") && seen.is_empty() {
        let what = "`cluster-address-command` is set, and `cluster-addresses` is not";
        findings.error(server.place_of("cluster-address-command"), what, "write `cluster-addresses`, too");
    }
}

pub(super) fn is_name(name: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'.');
    (1..=MAX_NAME).contains(&name.len()) && name.bytes().all(fits)
}
