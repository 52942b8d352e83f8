//! The state that a server reports. Scripts read it: fields may be added, never renamed or removed.

use std::net::SocketAddr;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::appletalk::AppleTalkStatus;
use super::arriving::ArrivingStatus;
use super::disks::DiskHealth;
use super::doctor::DoctorStatus;
use super::find::SearchStatus;
use super::links::LinkStatus;
use super::streams::StreamsStatus;
use super::waits::LoopsStatus;
use crate::settings::Protocol;

/// A running server.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct Status {
    /// The program's version.
    pub version: String,
    /// Its process id.
    pub pid: u32,
    /// Seconds since it started.
    pub uptime_s: u64,
    /// Its state folder.
    #[schema(value_type = String)]
    pub state: PathBuf,
    /// The settings file that it reads, if there is one.
    #[schema(value_type = Option<String>)]
    pub settings: Option<PathBuf>,
    /// The address of its console for browsers, if it has one.
    pub console: Option<String>,
    /// Its sockets.
    pub listeners: Vec<ListenerStatus>,
    /// Its shares.
    pub shares: Vec<ShareStatus>,
    /// The shares that are not served because of their folders.
    pub not_served: Vec<AbsentShareStatus>,
    /// Who is connected.
    pub sessions: Vec<SessionStatus>,
    /// The files that they have open.
    pub opens: Vec<OpenStatus>,
    /// How many files clients may have open, and have.
    #[serde(default)]
    pub open_files: OpenFilesStatus,
    /// The event loops, and how they wait.
    pub loops: LoopsStatus,
    /// The ranges that they have locked.
    pub locks: Vec<LockStatus>,
    /// Their leases.
    pub leases: Vec<LeaseStatus>,
    /// The domain whose users may log in with passwords.
    pub domain: Option<DomainStatus>,
    /// AppleTalk, if the server speaks it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub appletalk: Option<AppleTalkStatus>,
    /// The links of the namespace.
    pub links: Vec<LinkStatus>,
    /// The shares whose files arrive from another server.
    pub arriving: Vec<ArrivingStatus>,
    /// The indexes of shares.
    #[serde(default)]
    pub searches: Vec<SearchStatus>,
    /// What is reserved for streams.
    #[serde(default)]
    pub streams: StreamsStatus,
    /// The health of the machine's disks and file systems.
    #[serde(default)]
    pub disks: DiskHealth,
    /// What a person should know or do, the oldest first.
    pub alerts: Vec<AlertStatus>,
    /// Where the time of each client goes, and what slows it down.
    pub doctor: DoctorStatus,
}

/// How many files clients of all protocols have open, and may have: `open-files` in the settings.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct OpenFilesStatus {
    /// All of them.
    pub open: usize,
    /// The most.
    pub limit: usize,
    /// Those of clients without a login.
    pub guests: usize,
    /// The most of these.
    pub guests_limit: usize,
    /// Opens that were refused since the start, because a client had too many.
    pub refused: u64,
}

/// Whether a domain controller verifies passwords of the domain's users.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DomainStatus {
    /// The DNS name of the domain.
    pub name: String,
    /// The controller that does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub controller: Option<String>,
    /// Why none does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// How much an alert matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Something will go wrong if nothing is done.
    Warning,
    /// Something goes wrong now.
    Critical,
}

impl Severity {
    /// The word in logs and metrics.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Warning => "warning",
            Self::Critical => "critical",
        }
    }
}

/// An alert that is raised.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AlertStatus {
    /// Its kind: `space`, `disk`, `disk-health`, `filesystem`, `logins`, `backup`, `certificate`, `snapshot`, `replication`,
    /// `clock` or `link`; or that of a [`Trouble`](super::Trouble).
    pub name: String,
    /// The share, backup or file that it is about; empty: the server.
    pub about: String,
    /// How much it matters.
    pub severity: Severity,
    /// When it was raised, RFC 3339 in UTC.
    pub since: String,
    /// What is wrong, and what to do.
    pub text: String,
}

/// An operation of a client, with where its time went; times in microseconds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SlowOperation {
    /// `nfs`, `smb`, `afp` or `iscsi`.
    pub protocol: String,
    /// The client's end of the connection.
    #[schema(value_type = String, example = "192.0.2.7:51515")]
    pub client: SocketAddr,
    /// The account; empty: unknown.
    pub user: String,
    /// The share; empty: none.
    pub share: String,
    /// The specification's name of the command.
    pub command: String,
    /// The path of the file in the share; empty: unknown.
    pub path: String,
    /// The specification's name of the status.
    pub result: String,
    /// From the decoding of the request to its reply.
    pub micros: u64,
    /// Waiting for clients to return leases.
    pub leases_micros: u64,
    /// Waiting for a permit of a file that many calls wait for.
    pub permits_micros: u64,
    /// Waiting for a free thread.
    pub queue_micros: u64,
    /// In calls of the host that may wait for the disk.
    pub disk_micros: u64,
    /// Everything else, with calls of the host that usually do not wait.
    pub other_micros: u64,
}

/// A socket.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ListenerStatus {
    /// The protocol or service that answers there.
    pub protocol: Listener,
    /// `tcp` or `udp`.
    pub transport: String,
    /// The address.
    #[schema(value_type = String, example = "192.0.2.7:51515")]
    pub address: SocketAddr,
}

/// The protocol or service that answers at a socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Listener {
    /// Multicast DNS.
    Bonjour,
    /// WS-Discovery.
    Wsd,
    /// The API over HTTP.
    Api,
    /// The witness of a cluster, and the endpoint mapper that leads to it.
    Witness,
    /// A protocol with its own port.
    #[serde(untagged)]
    Protocol(Protocol),
}

impl Listener {
    /// The displayed name.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::Bonjour => "Bonjour",
            Self::Wsd => "WS-Discovery",
            Self::Api => "API",
            Self::Witness => "SMB witness",
            Self::Protocol(protocol) => protocol.title(),
        }
    }
}

/// A share.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ShareStatus {
    /// Its name.
    pub name: String,
    /// Its folder.
    #[schema(value_type = String)]
    pub path: PathBuf,
    /// All changes are refused.
    pub read_only: bool,
    /// It is a team folder: roles say who may do what.
    #[serde(default)]
    pub team: bool,
    /// The mount lines for clients.
    pub mounts: Vec<MountLine>,
}

/// A share that is not served now.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AbsentShareStatus {
    /// Its name.
    pub name: String,
    /// Its folder.
    #[schema(value_type = String)]
    pub path: PathBuf,
    /// Why it is not served.
    pub why: String,
}

/// How clients reach a share.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct MountLine {
    /// The protocol.
    pub protocol: Protocol,
    /// The kind of client: `Linux`, `macOS`.
    pub client: String,
    /// The command to type.
    pub line: String,
    /// An explanation of the line, if it needs one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// A connection, or a client of a protocol without them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SessionStatus {
    /// The protocol.
    pub protocol: Protocol,
    /// The client's address.
    #[schema(value_type = String, example = "192.0.2.7:51515")]
    pub peer: SocketAddr,
    /// `appletalk:NETWORK.NODE:SOCKET` of a client over AppleTalk, whose `peer` only names the connection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub appletalk: Option<String>,
    /// The account or, without one, the Unix user.
    pub user: Option<String>,
    /// Seconds since it began.
    pub since_s: u64,
    /// Requests answered.
    pub requests: u64,
    /// Bytes received.
    pub bytes_in: u64,
    /// Bytes sent.
    pub bytes_out: u64,
    /// The connection is encrypted by TLS. Encryption by SMB does not count.
    #[serde(default)]
    pub tls: bool,
    /// The client has said that it sleeps. Only clients of AFP say so.
    #[serde(default)]
    pub asleep: bool,
}

/// An open file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct OpenStatus {
    /// The share.
    pub share: String,
    /// Its name; `None`: unknown.
    pub file: Option<String>,
    /// Its inode number, for `find -inum`.
    pub inode: u64,
    /// The owner, as far as `vfs` knows it.
    pub owner: String,
    /// The access modes: some of `r`, `w`.
    pub access: String,
    /// The access denied to others: some of `r`, `w`, `d`.
    pub deny: String,
}

/// A locked range.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct LockStatus {
    /// The share.
    pub share: String,
    /// The file's name; `None`: unknown.
    pub file: Option<String>,
    /// Its inode number.
    pub inode: u64,
    /// The owner.
    pub owner: String,
    /// The first byte.
    pub start: u64,
    /// The number of bytes; 0 is to the end.
    pub length: u64,
    /// Other clients may not read it, either.
    pub exclusive: bool,
}

/// A lease.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct LeaseStatus {
    /// The share.
    pub share: String,
    /// The file's name; `None`: unknown.
    pub file: Option<String>,
    /// Its inode number.
    pub inode: u64,
    /// The owner.
    pub owner: String,
    /// The permitted caching: some of `r` (contents), `w` (changes), `h` (the open itself).
    pub caching: String,
    /// It is being recalled.
    pub recalled: bool,
}
