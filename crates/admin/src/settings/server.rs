//! `[server]`: its settings as plain data, and how they are read.

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::acme::{self, AcmeSettings};
use super::api::{self, ApiSettings};
use super::cluster::{self, ClusterSettings};
use super::defaults::default_state;
use super::diagnostic::Place;
use super::domain;
use super::flags::Arguments;
use super::host_accounts;
use super::poll::{self, PollSetting};
use super::protocol::Ports;
use super::protocol::settings::{self as protocols, ProtocolSettings};
use super::section::Section;
use super::told::{self, ToldSettings};

/// `[server]`.
#[derive(Debug, Clone, PartialEq)]
pub struct ServerSettings {
    /// The addresses to listen on.
    pub listen: Vec<IpAddr>,
    /// The state folder, absolute.
    pub state: PathBuf,
    /// One port per protocol.
    pub ports: Ports,
    /// What each protocol has for itself.
    pub protocols: ProtocolSettings,
    /// The API over HTTP.
    pub api: ApiSettings,
    /// The certificate that an issuer gives; `None`: none is asked for.
    pub acme: Option<AcmeSettings>,
    /// The audit log, the log of slow operations, and alerts.
    pub told: ToldSettings,
    /// Several servers of one tree; `None`: this server is alone.
    pub cluster: Option<ClusterSettings>,
    /// The settings of Ceph; `None`: where its own programs look for them.
    pub ceph_conf: Option<PathBuf>,
    /// The keytab for logins by Kerberos; `None`: there are none.
    pub kerberos_keytab: Option<PathBuf>,
    /// The realms whose users have accounts; empty: those of the keytab.
    pub kerberos_realms: Vec<String>,
    /// The service of PAM with which users of the host log in; `None`: they do not.
    pub pam_service: Option<String>,
    /// The lowest uid of users of the host that may log in.
    pub host_min_uid: u32,
    /// Landlock restricts the server.
    pub confinement: bool,
    /// The folders in which the console and the API may share others.
    pub share_roots: Vec<PathBuf>,
    /// The domain whose users may log in.
    pub domain: Option<auth::DomainOptions>,
    /// A domain controller verifies passwords of its users.
    pub domain_ntlm: bool,
    /// Whether the shares are announced.
    pub bonjour: Bonjour,
    /// The name that is announced; `None`: the host's.
    pub bonjour_name: Option<String>,
    /// The host user of accounts without a user of their own; `None`: the anonymous user.
    pub default_user: Option<String>,
    /// The format of log lines.
    pub log_format: LogFormat,
    /// The least severe level that is logged: `error`, `warn`, `info`, `debug` or `trace`.
    pub log_level: String,
    /// The budget of all caches, in bytes; `None`: it depends on the machine's memory.
    pub cache_memory: Option<u64>,
    /// The limit of the cache of listings, in bytes; `None`: a part of the budget.
    pub cache_size: Option<u64>,
    /// The limit of files that are kept open; `None`: a part of the budget.
    pub cache_files: Option<u64>,
    /// The most files that clients may have open at once; `None`: a part of the limit of descriptors.
    pub open_files: Option<u64>,
    /// The limit of kept buffers, in bytes; `None`: a part of the budget.
    pub cache_buffers: Option<u64>,
    /// Every file is asked for the ACL that Samba has stored.
    pub samba_acls: bool,
    /// SIDs of Samba and what they are here: [`super::SambaSid`].
    pub samba_sids: Vec<String>,
    /// The most memory for data on the way to and from clients, in bytes; `None`: it depends on the
    /// machine's memory.
    pub transfer_memory: Option<u64>,
    /// Event loops that serve connections; `None` means one per processor.
    pub threads: Option<usize>,
    /// Whether event loops poll before they sleep.
    pub poll: PollSetting,
    /// How often the targets of links are checked; `None`: never.
    pub link_check_interval: Option<Duration>,
    /// How long after a start clients may only reclaim earlier locks.
    pub grace_period: Duration,
}

/// Whether the shares are announced by Bonjour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bonjour {
    /// If other machines can reach them.
    Auto,
    /// Always, at least on this machine.
    On,
    /// Never.
    Off,
}

/// The format of log lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    /// For people.
    Text,
    /// One JSON object per line.
    Json,
}

/// The settings of a section; relative paths count from the settings file's folder, or from that of the command line.
pub(super) fn read(arguments: &Arguments, file: Option<&Path>, server: &Section) -> ServerSettings {
    ServerSettings {
        listen: server.addresses("listen"),
        state: state(arguments, file, server),
        ports: ports(server),
        protocols: protocols::read(server, &arguments.folder, file, &state(arguments, file, server)),
        api: api::read(server, &arguments.folder, file),
        acme: acme::read(server, &arguments.folder, file),
        told: told::read(server, &arguments.folder, file, &state(arguments, file, server)),
        cluster: cluster::read(server, &arguments.folder, file),
        samba_acls: server.bool("samba-acls"),
        samba_sids: server.texts("samba-sids"),
        ceph_conf: server.path("ceph-conf", &arguments.folder, file),
        kerberos_keytab: server
            .path("kerberos-keytab", &arguments.folder, file)
            .or_else(|| domain::keytab(server, &state(arguments, file, server))),
        kerberos_realms: server.texts("kerberos-realms"),
        pam_service: host_accounts::read(server),
        host_min_uid: host_accounts::min_uid(server),
        confinement: server.text("confinement").as_deref() != Some("off"),
        share_roots: server.texts("share-roots").into_iter().map(PathBuf::from).collect(),
        domain: domain::read(server),
        domain_ntlm: server.bool("domain-ntlm"),
        bonjour: match server.text("bonjour").as_deref() {
            Some("on") => Bonjour::On,
            Some("off") => Bonjour::Off,
            _ => Bonjour::Auto,
        },
        bonjour_name: server.text("bonjour-name").filter(|name| !name.trim().is_empty()),
        default_user: server.text("default-user"),
        log_format: match server.text("log-format").as_deref() {
            Some("json") => LogFormat::Json,
            _ => LogFormat::Text,
        },
        log_level: server.text("log-level").unwrap_or_default(),
        cache_memory: server.number("cache-memory"),
        cache_size: server.number("cache-size"),
        cache_files: server.number("cache-files"),
        open_files: server.number("open-files"),
        cache_buffers: server.number("cache-buffers"),
        transfer_memory: server.number("transfer-memory"),
        threads: server.number("threads").and_then(|n| usize::try_from(n).ok()),
        poll: poll::read(server.text("poll").as_deref()),
        link_check_interval: server
            .number("link-check-interval")
            .filter(|milliseconds| *milliseconds > 0)
            .map(Duration::from_millis),
        grace_period: Duration::from_secs(server.number("grace-period").unwrap_or_default()),
    }
}

/// The settings `WORD-port`.
pub(super) fn ports(server: &Section) -> Ports {
    Ports::by(|protocol| server.port(&format!("{}-port", protocol.word())))
}

/// A relative state folder in the file is relative to the file's folder; on the command line, to
/// the current folder.
pub(super) fn state(arguments: &Arguments, file: Option<&Path>, server: &Section) -> PathBuf {
    let Some(set) = server.text("state") else {
        let home = arguments.state_home.as_deref();
        return default_state(arguments.privileged, file, &arguments.folder, home);
    };
    match (server.place_of("state"), file.and_then(Path::parent)) {
        (Place::File { .. }, Some(beside)) => arguments.folder.join(beside).join(set),
        _ => arguments.folder.join(set),
    }
}
