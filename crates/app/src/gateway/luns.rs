//! What the servers of a cluster have in common of LUNs, in etcd; and where initiators reach this server.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use admin::luns::LunTable;
use admin::settings::{ClusterAddress, candidates};
use admin::{Protocol, ServerSettings};
use anyhow::Context;
use cluster::{Cluster, Text};

use super::texts::OfMember;
use crate::shares::volumes::Volumes;

/// The table of LUNs: that of the cluster, or that of the state folder.
pub(crate) fn table(volumes: &Volumes) -> LunTable {
    match &volumes.cluster {
        Some(cluster) => {
            LunTable::in_common(volumes.state(), Arc::new(OfMember(cluster.clone(), Text::Luns)))
        }
        None => LunTable::alone(volumes.state()),
    }
}

/// The identity of which the names of targets are made: that of the cluster, or else `own`.
pub(crate) fn target_identity(cluster: Option<&Arc<Cluster>>, own: [u8; 16]) -> anyhow::Result<[u8; 16]> {
    let found = cluster.map_or(Ok(own), |cluster| cluster.target_identity(own));
    found.map_err(anyhow::Error::msg).context("the names of targets in the cluster are not known")
}

/// Where initiators reach this server whatever its virtual addresses are: its own addresses in their networks. Without
/// virtual addresses, the address for the other servers.
pub(super) fn portals(server: &ServerSettings, privileged: bool) -> Vec<SocketAddr> {
    let Some(cluster) = &server.cluster else { return Vec::new() };
    let port = candidates(server.ports.of(Protocol::Iscsi), Protocol::Iscsi, privileged).first().copied();
    let Some(port) = port.filter(|port| *port != 0) else { return Vec::new() };
    let own = if_addrs::get_if_addrs().unwrap_or_default().into_iter().map(|one| one.ip());
    let is_beside = |ip: &IpAddr| cluster.addresses.iter().any(|address| is_in(*ip, address));
    let is_own = |ip: &IpAddr| cluster.addresses.iter().all(|address| address.ip != *ip);
    let mut found: Vec<IpAddr> = own.filter(|ip| is_beside(ip) && is_own(ip)).collect();
    if found.is_empty() {
        found.push(cluster.listen.ip());
    }
    found.into_iter().map(|ip| SocketAddr::new(ip, port)).collect()
}

/// Whether an address is in the network of a virtual one.
fn is_in(ip: IpAddr, address: &ClusterAddress) -> bool {
    let same = |one: u128, other: u128, length: u32| {
        let rest = length.saturating_sub(u32::from(address.prefix));
        one.checked_shr(rest).unwrap_or(0) == other.checked_shr(rest).unwrap_or(0)
    };
    match (ip, address.ip) {
        (IpAddr::V4(one), IpAddr::V4(other)) => {
            same(u128::from(one.to_bits()), u128::from(other.to_bits()), 32)
        }
        (IpAddr::V6(one), IpAddr::V6(other)) => {
            !one.is_unicast_link_local() && same(one.to_bits(), other.to_bits(), 128)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_beside_virtual_ones_are_those_of_their_networks() {
        let virtual_one = |text: &str| text.parse::<ClusterAddress>().unwrap();
        let (four, six) = (virtual_one("10.0.0.50/24@eth0"), virtual_one("2001:db8::50/64@eth0"));
        let is = |ip: &str, address| is_in(ip.parse().unwrap(), address);
        assert!(is("10.0.0.1", &four) && !is("10.0.1.1", &four) && !is("::1", &four));
        assert!(is("2001:db8::1", &six) && !is("2001:db8:0:1::1", &six) && !is("10.0.0.1", &six));
        assert!(is("192.0.2.1", &virtual_one("10.0.0.50/0@eth0")));
    }
}
