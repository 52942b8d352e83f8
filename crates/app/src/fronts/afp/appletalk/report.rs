//! What is known of AppleTalk, for a status.

use std::time::Instant;

use admin::control::{AppleTalkLinkStatus, AppleTalkNode, AppleTalkRoute, AppleTalkStatus};
use appletalk::MacName;
use appletalk::stack::{HeardNode, PortId, RouteStatus};

use super::network::Network;
use super::runtime::Runtime;

pub(super) fn of(runtime: &Runtime, now: Instant) -> AppleTalkStatus {
    let links = runtime.cables.iter().map(|cable| cable.report()).collect();
    let status =
        AppleTalkStatus { links, router: runtime.work.settings.router, ..AppleTalkStatus::default() };
    match &runtime.network {
        Some(network) => with_network(status, network, now),
        None => status,
    }
}

fn with_network(mut status: AppleTalkStatus, network: &Network, now: Instant) -> AppleTalkStatus {
    let ports = network.stack.ports();
    for port in &ports {
        let link: &mut AppleTalkLinkStatus = &mut status.links[network.cable_of(port.port)];
        link.node = port.address.map(|address| address.to_string());
        link.networks = port.network.map(|network| network.to_string());
        if let (None, Some(conflict)) = (&link.problem, &port.conflict) {
            link.problem = Some(conflict.to_string());
        }
    }
    let link = |port: PortId| status.links[network.cable_of(port)].link.clone();
    let route = |route: &RouteStatus| AppleTalkRoute {
        networks: route.network.to_string(),
        distance: route.distance,
        by: match route.next {
            Some(next) => format!("{}, {next}", link(route.port)),
            None => link(route.port),
        },
        zones: route.zones.iter().map(MacName::to_string).collect(),
    };
    let mut heard = network.stack.heard(now);
    heard.sort_by_key(|node| node.ago);
    let node = |node: &HeardNode| AppleTalkNode {
        node: node.address.to_string(),
        link: link(node.port),
        since_s: node.ago.as_secs(),
        router: node.is_router,
    };
    let (routes, heard) =
        (network.stack.routes().iter().map(route).collect(), heard.iter().map(node).collect());
    let zone = ports.iter().find_map(|port| port.zone.as_ref());
    let zone = zone.map_or_else(|| "*".into(), MacName::to_string);
    let (object, kind) = (&network.name.object, &network.name.kind);
    AppleTalkStatus {
        name: network.is_registered.then(|| format!("{object}:{kind}@{zone}")),
        routes,
        zones: network.stack.zones().iter().map(MacName::to_string).collect(),
        heard,
        ..status
    }
}
