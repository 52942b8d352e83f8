//! What a server says of itself. Scripts read it: fields may be added, never renamed or removed.

use std::net::SocketAddr;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::settings::Protocol;

/// A running server.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Status {
    /// The program's version.
    pub version: String,
    /// Its process.
    pub pid: u32,
    /// Seconds since it started.
    pub uptime_s: u64,
    /// Its state folder.
    pub state: PathBuf,
    /// The settings file that it reads, if there is one.
    pub settings: Option<PathBuf>,
    /// Its sockets.
    pub listeners: Vec<ListenerStatus>,
    /// Its shares.
    pub shares: Vec<ShareStatus>,
    /// The shares that are not served because of their folders.
    pub not_served: Vec<AbsentShareStatus>,
    /// Who is connected.
    pub sessions: Vec<SessionStatus>,
    /// What they have open.
    pub opens: Vec<OpenStatus>,
    /// What they have locked.
    pub locks: Vec<LockStatus>,
    /// What they may cache.
    pub leases: Vec<LeaseStatus>,
}

/// A socket.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ListenerStatus {
    /// Who answers there.
    pub protocol: Listener,
    /// `tcp` or `udp`.
    pub transport: String,
    /// Where.
    pub address: SocketAddr,
}

/// Who answers at a socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Listener {
    /// Multicast DNS.
    Bonjour,
    /// WS-Discovery.
    Wsd,
    /// A protocol with a port of its own.
    #[serde(untagged)]
    Protocol(Protocol),
}

impl Listener {
    /// The name people read.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::Bonjour => "Bonjour",
            Self::Wsd => "WS-Discovery",
            Self::Protocol(protocol) => protocol.title(),
        }
    }
}

/// A share.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ShareStatus {
    /// Its name.
    pub name: String,
    /// Its folder.
    pub path: PathBuf,
    /// Nobody may change anything.
    pub read_only: bool,
    /// How clients reach it.
    pub mounts: Vec<MountLine>,
}

/// A share that is not served now.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AbsentShareStatus {
    /// Its name.
    pub name: String,
    /// Its folder.
    pub path: PathBuf,
    /// Why it is not served.
    pub why: String,
}

/// How clients reach a share.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MountLine {
    /// Over which protocol.
    pub protocol: Protocol,
    /// For which client, as people call it: `Linux`, `macOS`.
    pub client: String,
    /// What to type.
    pub line: String,
    /// Why it is as it is, where that is not plain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// A connection, or a client of a protocol without them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SessionStatus {
    /// Over which protocol.
    pub protocol: Protocol,
    /// From where.
    pub peer: SocketAddr,
    /// The account or, where there is none, the Unix user.
    pub user: Option<String>,
    /// Seconds since it began.
    pub since_s: u64,
    /// Requests answered.
    pub requests: u64,
    /// Bytes received.
    pub bytes_in: u64,
    /// Bytes sent.
    pub bytes_out: u64,
}

/// A file someone has open.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OpenStatus {
    /// In which share.
    pub share: String,
    /// Its name; `None`: it is not known.
    pub file: Option<String>,
    /// Its inode number, which `find -inum` finds.
    pub inode: u64,
    /// Who, as far as the tree knows.
    pub owner: String,
    /// What they may do: some of `r`, `w`.
    pub access: String,
    /// What others may not: some of `r`, `w`, `d`.
    pub deny: String,
}

/// A locked range.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LockStatus {
    /// In which share.
    pub share: String,
    /// The file's name; `None`: it is not known.
    pub file: Option<String>,
    /// Its inode number.
    pub inode: u64,
    /// Who.
    pub owner: String,
    /// The first byte.
    pub start: u64,
    /// How many; 0 is to the end.
    pub length: u64,
    /// Nobody else may read it either.
    pub exclusive: bool,
}

/// A promise to tell before something changes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LeaseStatus {
    /// In which share.
    pub share: String,
    /// The file's name; `None`: it is not known.
    pub file: Option<String>,
    /// Its inode number.
    pub inode: u64,
    /// Who.
    pub owner: String,
    /// What may be cached: some of `r` (contents), `w` (changes), `h` (the open itself).
    pub caching: String,
    /// It is being taken back.
    pub recalled: bool,
}
