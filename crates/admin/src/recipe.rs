//! Mount lines: the commands with which clients reach a share. Each protocol has a file with its own.

mod afp;
mod iscsi;
mod nfs;
mod smb;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

use crate::control::{BestMount, MountLine, ShareMounts, ShareStatus};
use crate::settings::{BoundPorts, Protocol, ServerSettings, Settings, ShareSettings};

pub use iscsi::{lun, lun_url};

/// What a protocol has for a share that it shows, at this port.
struct MountRecipe {
    protocol: Protocol,
    /// The shortest commands that work.
    lines: fn(&ServerSettings, &ShareSettings, Reachable, u16) -> Vec<MountLine>,
    /// The commands that get the most out of client and server.
    best: fn(&ServerSettings, &ShareSettings, Reachable, u16) -> Vec<BestMount>,
}

/// In the order of the lines.
const RECIPES: [MountRecipe; 3] = [smb::RECIPE, afp::RECIPE, nfs::RECIPE];
/// The better protocol first.
const BEST: [MountRecipe; 3] = [smb::RECIPE, nfs::RECIPE, afp::RECIPE];

/// Where the server is for clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reachable {
    /// The address that they should use, see [`address`].
    pub host: IpAddr,
    /// The ports of the protocols that are on.
    pub ports: BoundPorts,
    /// What they find through port 111.
    pub portmap: PortmapServices,
}

/// The services that clients find on port 111, the only one that kernels ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PortmapServices {
    /// This server's lock service.
    pub locks: bool,
    /// This server's NFS and MOUNT: clients find them without a port in the command.
    pub files: bool,
}

impl MountRecipe {
    /// The port, if clients can reach the share over the protocol.
    fn port(&self, share: &ShareSettings, reach: Reachable) -> Option<u16> {
        reach.ports.of(self.protocol).filter(|_| share.protocols.contains(&self.protocol))
    }
}

/// Every share with its mount lines.
#[must_use]
pub fn shares(settings: &Settings, reach: Reachable) -> Vec<ShareStatus> {
    let of = |share: &ShareSettings| {
        let lines = RECIPES.iter().filter_map(|recipe| {
            let port = recipe.port(share, reach)?;
            Some((recipe.lines)(&settings.server, share, reach, port))
        });
        ShareStatus {
            name: share.name.clone(),
            path: share.written_path(),
            read_only: share.read_only,
            team: share.team.is_some(),
            mounts: lines.flatten().collect(),
        }
    };
    settings.shares.iter().map(of).collect()
}

/// The shares with the best command of each client system, the better protocol first, with the reason for each option. The
/// lines of [`shares`] are the shortest that work; these also get the most out of client and server.
#[must_use]
pub fn best_mounts(settings: &Settings, reach: Reachable) -> Vec<ShareMounts> {
    let of = |share: &ShareSettings| {
        let mounts = BEST.iter().filter_map(|recipe| {
            let port = recipe.port(share, reach)?;
            Some((recipe.best)(&settings.server, share, reach, port))
        });
        ShareMounts { share: share.name.clone(), mounts: mounts.flatten().collect() }
    };
    settings.shares.iter().map(of).collect()
}

fn best(client: &str, command: String, reasons: &[(&str, &str)]) -> BestMount {
    let reasons =
        reasons.iter().map(|(option, reason)| ((*option).to_owned(), (*reason).to_owned())).collect();
    BestMount { client: client.into(), command, reasons }
}

/// The address of a share, with its port unless that is the standard one.
fn url(scheme: &str, share: &str, host: IpAddr, (port, standard): (u16, u16)) -> String {
    let at = match host {
        IpAddr::V4(v4) => v4.to_string(),
        IpAddr::V6(v6) => format!("[{v6}]"),
    };
    let colon_port = if port == standard { String::new() } else { format!(":{port}") };
    let encoded: String = share.bytes().map(percent_encoded).collect();
    format!("{scheme}://{at}{colon_port}/{encoded}")
}

/// An IPv6 address has colons, which are not allowed in a UNC path: it is written as a name of
/// `ipv6-literal.net`, which Windows decodes itself.
fn unc_host(host: IpAddr) -> String {
    match host {
        IpAddr::V4(v4) => v4.to_string(),
        IpAddr::V6(v6) => format!("{}.ipv6-literal.net", v6.to_string().replace(':', "-")),
    }
}

fn percent_encoded(byte: u8) -> String {
    match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => char::from(byte).to_string(),
        other => format!("%{other:02X}"),
    }
}

/// The displayed address of a listener: its own, or, if it listens on all addresses, one that other
/// hosts can reach.
#[must_use]
pub fn address(listening: &[IpAddr]) -> IpAddr {
    let any = listening.iter().find(|address| address.is_unspecified());
    match (any, listening.first()) {
        (Some(any), _) => outward(listening.contains(&IpAddr::V4(Ipv4Addr::UNSPECIFIED)) || any.is_ipv4()),
        (None, Some(first)) => *first,
        (None, None) => IpAddr::V4(Ipv4Addr::LOCALHOST),
    }
}

/// The machine's own address on the default route, or loopback without a route. Connecting a UDP
/// socket sends nothing: it only makes the kernel choose a route. The destinations are reserved for
/// documentation (RFC 5737, RFC 3849).
fn outward(v4: bool) -> IpAddr {
    let by_route = |any: IpAddr, to: IpAddr| {
        let socket = UdpSocket::bind(SocketAddr::new(any, 0)).ok()?;
        socket.connect(SocketAddr::new(to, 9)).ok()?;
        socket.local_addr().ok().map(|local| local.ip()).filter(|ip| !ip.is_unspecified())
    };
    let four = || by_route(Ipv4Addr::UNSPECIFIED.into(), Ipv4Addr::new(192, 0, 2, 1).into());
    let six =
        || by_route(Ipv6Addr::UNSPECIFIED.into(), Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1).into());
    let found = if v4 { four().or_else(six) } else { six() };
    found.unwrap_or(if v4 { Ipv4Addr::LOCALHOST.into() } else { Ipv6Addr::LOCALHOST.into() })
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOST: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 168, 1, 10));

    #[test]
    fn a_listener_on_one_address_is_shown_with_it_and_one_on_all_with_a_real_one() {
        assert_eq!(address(&[HOST]), HOST);
        let any = address(&["::".parse().unwrap(), "0.0.0.0".parse().unwrap()]);
        assert!(!any.is_unspecified(), "{any}");
    }

    mod best;
}
