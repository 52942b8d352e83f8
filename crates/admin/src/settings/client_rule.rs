//! The rules of a share for hosts.

use super::kind::ClientMatch;
use super::{ClientSec, ClientTls};

/// `[[share.client]]`: the rights of some hosts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientRule {
    /// The clients of the rule: any of these.
    pub matches: Vec<ClientMatch>,
    /// Read and write, read, or nothing.
    pub access: Access,
    /// The users that act as the anonymous one.
    pub squash: Squash,
    /// The anonymous user.
    pub anon_uid: u32,
    /// Its group.
    pub anon_gid: u32,
    /// The client must use a source port below 1024.
    pub secure: bool,
    /// NFS calls must come over TLS.
    pub tls: ClientTls,
    /// How NFS calls may prove whose they are, the preferred way first.
    pub sec: Vec<ClientSec>,
}

/// The rights of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Read and write.
    ReadWrite,
    /// Read.
    ReadOnly,
    /// No access: the client is refused.
    None,
}

/// The users of a client that act as the anonymous one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Squash {
    /// Uid 0 and gid 0.
    Root,
    /// All users.
    All,
    /// No user.
    None,
}

impl ClientRule {
    /// A rule with the defaults, for these hosts: they may read and write, root is squashed.
    #[must_use]
    pub fn for_hosts(matches: Vec<ClientMatch>) -> Self {
        Self { matches, ..super::build::rule(&super::section::Section::empty(super::Table::Client)) }
    }
}
