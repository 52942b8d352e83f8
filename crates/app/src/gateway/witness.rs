//! The witness of a cluster (MS-SWN): this server tells clients of the others when their server is lost.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use admin::control::{Listener, ListenerStatus};
use admin::settings::{ClusterAddress, Port};
use admin::{Protocol, ServerSettings};
use anyhow::Context;
use cluster::{Cluster, Topology};
use conn::{Server, Watchdog};
use smb::server::Service;
use smb::server::rpc::{self, ClusterNode, Interface, Rpc, RpcPorts};
use socket2::{SockRef, TcpKeepalive};
use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::fronts::bind::{self, ProtocolListeners};

/// How long the clients of a server that is drained have to move before their sessions end. Witnesses hear of the order after
/// 250 ms at most.
pub(crate) const MOVE_WITHIN: Duration = Duration::from_secs(1);
/// A client that waits for a notice sends nothing, so the host finds out whether it is there.
const KEEPALIVE_AFTER: Duration = Duration::from_secs(60);
const KEEPALIVE_EVERY: Duration = Duration::from_secs(10);
/// The most own addresses that the other servers list.
const MOST_ADDRESSES: usize = 16;

/// The listeners of both services.
pub(crate) struct Listeners {
    mapper: ProtocolListeners,
    witness: ProtocolListeners,
}

impl Listeners {
    /// For a status.
    pub(crate) fn status(&self) -> Vec<ListenerStatus> {
        let all = [&self.mapper, &self.witness].into_iter().flat_map(|bound| &bound.tcp);
        let addresses = all.filter_map(|tcp| tcp.local_addr().ok());
        let status =
            |address| ListenerStatus { protocol: Listener::Witness, transport: "tcp".into(), address };
        addresses.map(status).collect()
    }
}

/// Opens the ports, if this server is one of a cluster with SMB. Without a setting it does without a port 135 that it cannot have.
pub(crate) fn open(server: &ServerSettings, privileged: bool) -> anyhow::Result<Option<Listeners>> {
    let Some(cluster) = &server.cluster else { return Ok(None) };
    let (mapper, is_set) = match cluster.rpc_port {
        Port::Number(port) => (port, true),
        Port::Standard if privileged => (135, false),
        Port::Standard | Port::Off => return Ok(None),
    };
    let witness = match cluster.witness_port {
        Port::Number(port) => port,
        Port::Standard => 0,
        Port::Off => return Ok(None),
    };
    if server.ports.of(Protocol::Smb) == Port::Off {
        return Ok(None);
    }
    let mapper = match listen(server, "the endpoint mapper", "cluster-rpc-port", mapper) {
        Err(error) if !is_set => {
            tracing::warn!("Windows clients are not told when other servers are lost: {error:#}");
            return Ok(None);
        }
        mapper => mapper?,
    };
    let witness = listen(server, "the witness service", "cluster-witness-port", witness)?;
    Ok(Some(Listeners { mapper, witness }))
}

fn listen(server: &ServerSettings, title: &str, key: &str, port: u16) -> anyhow::Result<ProtocolListeners> {
    let bound = bind::bind(&server.listen, port, false).map_err(|(address, error)| {
        anyhow::anyhow!(
            "{title} cannot listen on port {port} of {address}: {error}; `{key}` is another port, or \"off\""
        )
    })?;
    for listener in &bound.tcp {
        keep_alive(listener).with_context(|| format!("the port of {title}"))?;
    }
    Ok(bound)
}

/// Accepted connections have what their listener has.
fn keep_alive(listener: &TcpListener) -> std::io::Result<()> {
    let often = TcpKeepalive::new().with_time(KEEPALIVE_AFTER).with_interval(KEEPALIVE_EVERY);
    SockRef::from(listener).set_tcp_keepalive(&often)
}

/// Answers until the server stops.
pub(crate) fn serve(
    Listeners { mapper, witness }: Listeners,
    service: &Arc<Service>,
    cluster: &Arc<Cluster>,
    connections: &Arc<Server>,
    stopping: &watch::Receiver<bool>,
) {
    let ports = RpcPorts { mapper: mapper.port, witness: witness.port };
    let rpc = Rpc::new(service.clone(), ports, cluster.name().to_owned());
    let watchdog = Watchdog::start("RPC");
    for (bound, serves) in [(mapper, Interface::Mapper), (witness, Interface::Witness)] {
        for listener in bound.tcp {
            let (rpc, watchdog) = (rpc.clone(), watchdog.clone());
            let serve = move |stream, peer| rpc::serve(rpc.clone(), serves, stream, peer, watchdog.clone());
            tokio::spawn(connections.clone().run(listener, stopping.clone(), serve));
        }
    }
    tokio::spawn(follow(rpc, cluster.topology()));
}

/// Tells it of all changes.
async fn follow(rpc: Arc<Rpc>, mut topology: watch::Receiver<Topology>) {
    loop {
        let nodes = nodes(&topology.borrow_and_update());
        if !nodes.is_empty() {
            rpc.adopt(nodes);
        }
        if topology.changed().await.is_err() {
            return;
        }
    }
}

fn nodes(topology: &Topology) -> Vec<ClusterNode> {
    let Topology { members, addresses, drained } = topology;
    let node = |member: &cluster::membership::Member| {
        let held = addresses.iter().filter(|(_, number)| *number == member.number);
        let mut all: Vec<IpAddr> = held.map(|(address, _)| *address).collect();
        all.sort_unstable();
        all.extend(&member.own);
        ClusterNode {
            name: member.name.clone(),
            number: member.number,
            addresses: all,
            is_witness: member.witness,
            is_leaving: drained.contains(&member.number),
        }
    };
    members.iter().map(node).collect()
}

/// The addresses of this server besides the virtual ones: those that it listens on, or all of the host that others can reach.
pub(super) fn own_addresses(listen: &[IpAddr], of_cluster: &[ClusterAddress]) -> Vec<IpAddr> {
    let of_host = || if_addrs::get_if_addrs().unwrap_or_default().into_iter().map(|one| one.ip());
    let mut own: Vec<IpAddr> = match listen.iter().any(IpAddr::is_unspecified) {
        true => of_host().filter(|address| !address.is_loopback() && !is_of_link(*address)).collect(),
        false => listen.to_vec(),
    };
    own.retain(|address| of_cluster.iter().all(|other| other.ip != *address));
    own.sort_unstable();
    own.truncate(MOST_ADDRESSES);
    own
}

/// Whether an address is valid on its link only: RFC 3927, RFC 4291 2.5.6.
fn is_of_link(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => v4.is_link_local(),
        IpAddr::V6(v6) => v6.is_unicast_link_local(),
    }
}

#[cfg(test)]
mod tests {
    use cluster::membership::Member;

    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn each_server_has_its_virtual_addresses_and_its_own() {
        let member = |number: u16| Member {
            number,
            name: format!("gate{number}"),
            address: format!("10.0.0.{number}:7420"),
            own: vec![ip(&format!("10.0.0.{number}"))],
            witness: number == 1,
            ..Member::default()
        };
        let topology = Topology {
            members: vec![member(1), member(2)],
            addresses: vec![(ip("10.0.0.51"), 2), (ip("10.0.0.50"), 2)],
            drained: vec![2],
        };
        let [one, two] = &nodes(&topology)[..] else { panic!() };
        assert_eq!(
            (one.addresses.clone(), one.is_witness, one.is_leaving),
            (vec![ip("10.0.0.1")], true, false)
        );
        assert_eq!(two.addresses, ["10.0.0.50", "10.0.0.51", "10.0.0.2"].map(ip));
        assert_eq!((&*two.name, two.number, two.is_witness, two.is_leaving), ("gate2", 2, false, true));
    }

    #[test]
    fn own_addresses_are_those_that_are_listened_on_without_the_virtual_ones() {
        let of_cluster: Vec<ClusterAddress> = vec!["10.0.0.50/24@eth0".parse().unwrap()];
        let listen = ["10.0.0.50", "10.0.0.2", "127.0.0.1"].map(ip);
        assert_eq!(own_addresses(&listen, &of_cluster), ["10.0.0.2", "127.0.0.1"].map(ip));
        assert!(own_addresses(&[ip("0.0.0.0")], &of_cluster).iter().all(|address| !address.is_loopback()));
    }
}
