//! The table of links.

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use ipnet::IpNet;

use crate::target::Target;
use crate::text;

/// How long clients keep a referral without a setting.
pub const DEFAULT_TTL: Duration = Duration::from_secs(300);

/// All links and sites.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Table {
    /// The links, in the order written.
    pub links: Vec<Link>,
    /// The sites.
    pub sites: Vec<Site>,
}

/// A place that leads clients to other servers.
#[derive(Debug, Clone, PartialEq)]
pub struct Link {
    /// The share, and the names on the way to it: `studio/archive`.
    pub path: String,
    /// Where it leads, the preferred one first.
    pub targets: Vec<Target>,
    /// What it is for.
    pub comment: String,
    /// How long clients keep a referral.
    pub ttl: Duration,
    /// Which of several targets clients take.
    pub order: TargetOrder,
    /// Clients go back to a better target when it is up again.
    pub failback: bool,
    /// The targets are checked.
    pub checked: bool,
    /// The file with the account for the checks.
    pub credentials: Option<PathBuf>,
}

impl Link {
    /// The text of its symbolic link.
    #[must_use]
    pub fn text(&self) -> String {
        text::write(&self.targets)
    }
}

/// Which of several targets clients take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TargetOrder {
    /// The first that is up.
    Listed,
    /// All of them, in turn.
    Spread,
}

/// Clients and servers that are near each other.
#[derive(Debug, Clone, PartialEq)]
pub struct Site {
    /// Its name.
    pub name: String,
    /// The networks of the clients.
    pub networks: Vec<IpNet>,
    /// The servers, by the names in targets.
    pub servers: Vec<String>,
}

impl Site {
    /// Whether a server belongs to it.
    #[must_use]
    pub fn has(&self, host: &str) -> bool {
        self.servers.iter().any(|server| server.eq_ignore_ascii_case(host))
    }
}

impl Table {
    /// The site of a client: that of the smallest network that has its address.
    #[must_use]
    pub fn site_of(&self, address: IpAddr) -> Option<&Site> {
        let address = address.to_canonical();
        let width = |site: &Site| {
            let of = site.networks.iter().filter(|network| network.contains(&address));
            of.map(IpNet::prefix_len).max()
        };
        let sites = self.sites.iter().filter_map(|site| Some((width(site)?, site)));
        sites.max_by_key(|(width, _)| *width).map(|(_, site)| site)
    }

    /// The site of this name.
    #[must_use]
    pub fn site_named(&self, name: &str) -> Option<&Site> {
        self.sites.iter().find(|site| site.name.eq_ignore_ascii_case(name))
    }
}
