//! Which folders are offered to whom, and as whom a caller acts there.

use std::net::IpAddr;
use std::sync::Arc;

use ipnet::IpNet;
use vfs::{Caller, Volume};

use super::Origin;

/// A port that only the superuser of a UNIX client may use.
const RESERVED_PORTS: std::ops::Range<u16> = 1..1024;

/// Whose ids are replaced by the anonymous ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Squash {
    /// Nobody's.
    None,
    /// The superuser's.
    Root,
    /// Everybody's.
    All,
}

/// What clients of one address range may do. The first rule that fits a client counts.
#[derive(Debug, Clone)]
pub struct Rule {
    /// Which clients; `None` is everybody.
    pub clients: Option<IpNet>,
    /// May connect at all.
    pub allowed: bool,
    /// May change something.
    pub writable: bool,
    /// Whose ids are replaced.
    pub squash: Squash,
    /// The ids they are replaced by.
    pub anonymous: (u32, u32),
    /// Must call from a port below 1024.
    pub reserved_port: bool,
}

impl Rule {
    /// Everybody reads and writes; the superuser of a client is nobody here.
    pub fn everybody() -> Self {
        Self {
            clients: None,
            allowed: true,
            writable: true,
            squash: Squash::Root,
            anonymous: (65_534, 65_534),
            reserved_port: false,
        }
    }

    fn fits(&self, address: IpAddr) -> bool {
        self.clients.is_none_or(|clients| clients.contains(&address.to_canonical()))
    }

    /// As whom a caller with these ids acts.
    pub(crate) fn caller(&self, uid: u32, gid: u32, groups: &[u32]) -> Caller {
        let (anonymous_uid, anonymous_gid) = self.anonymous;
        match self.squash {
            Squash::All => Caller::new(anonymous_uid, anonymous_gid, &[]),
            Squash::None => Caller::new(uid, gid, groups),
            Squash::Root => {
                let group = |gid: u32| if gid == 0 { anonymous_gid } else { gid };
                let groups: Vec<u32> = groups.iter().map(|&gid| group(gid)).collect();
                Caller::new(if uid == 0 { anonymous_uid } else { uid }, group(gid), &groups)
            }
        }
    }
}

/// How an export is offered.
#[derive(Debug, Clone)]
pub struct ExportOptions {
    /// Client rules, the first that fits counts; a client that none fits is refused.
    pub rules: Vec<Rule>,
    /// MKNOD may make devices.
    pub device_nodes: bool,
}

impl Default for ExportOptions {
    fn default() -> Self {
        Self { rules: vec![Rule::everybody()], device_nodes: false }
    }
}

/// One share as NFS offers it, at the path `/name`.
pub struct Export {
    /// The share's name.
    pub name: String,
    /// The share's number in file handles: the same for ever, another for each share.
    pub tag: u32,
    /// Its files.
    pub volume: Arc<Volume>,
    /// To whom, and how.
    pub options: ExportOptions,
}

impl Export {
    /// The rule for a client; `None` when it is refused.
    pub(crate) fn rule(&self, origin: Origin) -> Option<&Rule> {
        let rule = self.options.rules.iter().find(|rule| rule.fits(origin.address))?;
        let port_fits = !rule.reserved_port || RESERVED_PORTS.contains(&origin.port);
        if rule.allowed && !port_fits {
            tracing::info!(client = %origin.address, port = origin.port, export = self.name,
                "refused: this client must call from a port below 1024 (Linux: resvport, macOS: mount_nfs -o resvport)");
        }
        (rule.allowed && port_fits).then_some(rule)
    }
}
