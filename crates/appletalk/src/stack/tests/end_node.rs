//! Nodes that do not route, alone and with a router.

use std::time::Duration;

use super::network::{Network, ether, local, range, seeded, zone};
use crate::address::{Address, Endpoint, NetworkRange};
use crate::name::EntityName;
use crate::stack::{PortConfig, PortId, SendError, SocketError, StackEvent};
use crate::wire::ddp::{Datagram, DatagramKind};

#[test]
fn nodes_on_a_localtalk_without_a_router_find_each_other() {
    let mut network = Network::new(1);
    let (one, other) = (network.end_node(0, local()), network.end_node(0, local()));
    network.seconds(10);
    let address = |node: usize| network.stacks[node].ports()[0].address.unwrap();
    assert!(address(one).node >= 128 && address(one).network == 0, "chapter 1: a server's number");
    assert_ne!(address(one), address(other));
    let server = network.register(one, "Museum");
    let found = network.find(other, "=", "*");
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].endpoint, found[0].name.object.clone()), (server, zone("Museum")));
}

#[test]
fn an_ethertalk_without_a_router_is_in_the_startup_range() {
    let mut network = Network::new(1);
    let (one, other) = (network.end_node(0, ether(1)), network.end_node(0, ether(2)));
    network.seconds(10);
    let port = &network.stacks[one].ports()[0];
    assert!(NetworkRange::STARTUP.contains(port.address.unwrap().network) && port.is_ready);
    assert_eq!((port.network, port.router), (None, None));
    let server = network.register(one, "Museum");
    assert_eq!(network.find(other, "mus≈", "*")[0].endpoint, server);
    assert!(network.find(other, "Muse", "*").is_empty());
}

#[test]
fn a_node_takes_its_network_and_zone_from_the_router() {
    let mut network = Network::new(1);
    network.add(&[(0, seeded(ether(1), 3, 5, &["Hall", "Attic"]))], None, true);
    network.seconds(20);
    let plain = network.end_node(0, ether(2));
    let attic = network.add(&[(0, ether(3))], Some("attic"), false);
    let wrong = network.add(&[(0, ether(4))], Some("Roof"), false);
    network.seconds(20);
    for (node, expected) in [(plain, "Hall"), (attic, "Attic"), (wrong, "Hall")] {
        let port = &network.stacks[node].ports()[0];
        assert!(range(3, 5).contains(port.address.unwrap().network), "{expected}");
        assert_eq!((port.network, port.zone.clone()), (Some(range(3, 5)), Some(zone(expected))));
        assert_eq!(network.stacks[node].zones(), [zone("Attic"), zone("Hall")]);
    }
    let refused = StackEvent::ZoneRefused { port: PortId(0), wanted: zone("Roof"), used: zone("Hall") };
    assert!(network.has_event(wrong, |event| *event == refused));
}

#[test]
fn a_router_that_appears_later_is_used() {
    let mut network = Network::new(1);
    let (ether_node, local_node) = (network.end_node(0, ether(2)), network.end_node(1, local()));
    network.seconds(10);
    assert_eq!(network.stacks[local_node].ports()[0].address.unwrap().network, 0);
    let ports = [(0, seeded(ether(1), 3, 5, &["Hall"])), (1, seeded(local(), 7, 7, &["Cellar"]))];
    network.add(&ports, None, true);
    network.seconds(40);
    let address = |node: usize| network.stacks[node].ports()[0].address.unwrap();
    assert!(range(3, 5).contains(address(ether_node).network));
    assert_eq!(address(local_node).network, 7);
    assert!(network.stacks.iter().all(|stack| stack.ports()[0].is_ready));
}

#[test]
fn a_router_that_is_silent_for_50_seconds_is_lost() {
    let mut network = Network::new(1);
    let ports = [(0, seeded(ether(1), 3, 5, &["Hall"])), (1, seeded(local(), 7, 7, &["Cellar"]))];
    let router = network.add(&ports, None, true);
    let (ether_node, local_node) = (network.end_node(0, ether(2)), network.end_node(1, local()));
    network.seconds(40);
    network.dark.insert(router);
    network.seconds(39); // it spoke at most 10 seconds before
    assert!(network.stacks[ether_node].ports()[0].router.is_some());
    network.seconds(12);
    for node in [ether_node, local_node] {
        assert_eq!(network.stacks[node].ports()[0].router, None);
        assert!(network.has_event(node, |event| *event == StackEvent::RouterLost { port: PortId(0) }));
    }
    // Chapter 5: THIS-NET stays on LocalTalk; on EtherTalk, range and zone are forgotten.
    assert_eq!(network.stacks[local_node].ports()[0].network, Some(range(7, 7)));
    let port = &network.stacks[ether_node].ports()[0];
    assert_eq!((port.network, port.zone.clone()), (None, None));
}

#[test]
fn a_name_in_use_is_reported_with_its_owner() {
    let mut network = Network::new(1);
    let (one, other) = (network.end_node(0, ether(1)), network.end_node(0, ether(2)));
    network.seconds(10);
    let server = network.register(one, "Museum");
    let socket = network.stacks[other].open_socket(None).unwrap();
    let name = EntityName::from_text("MUSEUM", "AFPServer", "*").unwrap();
    let id = network.stacks[other].register(name, socket, network.now).unwrap();
    network.seconds(5);
    assert!(network.has_event(other, |event| *event == StackEvent::NameTaken { id, by: server }));
    assert!(network.stacks[other].names().is_empty());
}

fn echo(to: Address, from_socket: u8) -> Datagram {
    Datagram {
        destination: Endpoint::new(to, 4),
        source: Endpoint::new(Address::default(), from_socket),
        hops: 0,
        kind: DatagramKind::AEP,
        payload: b"\x01ping".to_vec(),
    }
}

#[test]
fn an_echo_comes_back_to_the_socket_that_sent_it() {
    let mut network = Network::new(1);
    let (one, other) = (network.end_node(0, local()), network.end_node(0, local()));
    network.seconds(10);
    let socket = network.stacks[one].open_socket(None).unwrap();
    let to = network.stacks[other].ports()[0].address.unwrap();
    network.stacks[one].send(echo(to, socket), network.now).unwrap();
    network.seconds(1);
    let own = network.stacks[one].ports()[0].address.unwrap();
    let [(node, reply)] = &network.delivered[..] else { panic!("{:?}", network.delivered) };
    assert_eq!((*node, &reply.payload[..]), (one, &b"\x02ping"[..]));
    assert_eq!((reply.source, reply.destination), (Endpoint::new(to, 4), Endpoint::new(own, socket)));
}

#[test]
fn short_headers_are_used_within_a_localtalk_network() {
    let mut network = Network::new(1);
    let (one, other) = (network.end_node(0, local()), network.end_node(0, local()));
    network.seconds(10);
    let (own, to) = (network.stacks[one].ports()[0].address, network.stacks[other].ports()[0].address);
    let (own, to) = (own.unwrap(), to.unwrap());
    let socket = network.stacks[one].open_socket(Some(200)).unwrap();
    network.sent.clear();
    network.stacks[one].send(echo(to, socket), network.now).unwrap();
    network.run(Duration::from_millis(5));
    let frame = [&[to.node, own.node, 1, 0, 10, 4, 200, 4][..], b"\x01ping"].concat();
    assert_eq!(network.sent[0].1, frame);
}

#[test]
fn what_cannot_be_sent_is_an_error() {
    let mut network = Network::new(1);
    let node = network.end_node(0, local());
    let now = network.now;
    let stack = &mut network.stacks[node];
    let to = Address::new(0, 200);
    assert_eq!(stack.send(echo(to, 130), now), Err(SendError::SocketClosed));
    assert_eq!(stack.open_socket(Some(2)), Err(SocketError::InUse), "it is the stack's own");
    assert_eq!(stack.open_socket(Some(255)), Err(SocketError::Invalid));
    let socket = stack.open_socket(None).unwrap();
    assert!(socket >= 128, "appendix C: dynamic sockets");
    assert_eq!(stack.open_socket(Some(socket)), Err(SocketError::InUse));
    assert_eq!(stack.send(echo(to, socket), now), Err(SendError::NoAddress));
    let long = Datagram { payload: vec![0; 587], ..echo(to, socket) };
    assert_eq!(stack.send(long, now), Err(SendError::TooLong));
    assert_eq!(stack.take_output(), None);
    network.seconds(10);
    let stack = &mut network.stacks[node];
    while stack.take_output().is_some() {}
    stack.close_socket(socket);
    assert_eq!(stack.send(echo(to, socket), network.now), Err(SendError::SocketClosed));
}

#[test]
fn datagrams_to_closed_sockets_and_other_nodes_are_ignored() {
    let mut network = Network::new(1);
    let (one, other) = (network.end_node(0, local()), network.end_node(0, local()));
    network.seconds(10);
    let socket = network.stacks[one].open_socket(Some(200)).unwrap();
    let to = network.stacks[other].ports()[0].address.unwrap();
    let datagram = Datagram { destination: Endpoint::new(to, 201), ..echo(to, socket) };
    network.stacks[one].send(datagram.clone(), network.now).unwrap();
    network.seconds(1);
    assert!(network.delivered.is_empty());
    network.stacks[other].open_socket(Some(201)).unwrap();
    network.stacks[one].send(datagram, network.now).unwrap();
    network.seconds(1);
    assert_eq!(network.delivered.len(), 1);
}

#[test]
fn two_ports_of_an_end_node_are_two_networks() {
    let mut network = Network::new(1);
    let server = network.add(&[(0, ether(1)), (1, local())], None, false);
    let (ether_node, local_node) = (network.end_node(0, ether(2)), network.end_node(1, local()));
    network.seconds(10);
    network.register(server, "Museum");
    let addresses: Vec<Address> =
        network.stacks[server].ports().iter().map(|port| port.address.unwrap()).collect();
    assert_eq!(network.find(ether_node, "=", "*")[0].endpoint.address, addresses[0]);
    assert_eq!(network.find(local_node, "=", "*")[0].endpoint.address, addresses[1]);
}

#[test]
fn two_ports_never_have_the_same_address() {
    let mut network = Network::new(1);
    let hinted = || PortConfig { hint: Some(Address::new(0, 200)), ..local() };
    let node = network.add(&[(0, hinted()), (1, hinted())], None, false);
    network.seconds(10);
    let addresses: Vec<Address> =
        network.stacks[node].ports().iter().map(|port| port.address.unwrap()).collect();
    assert_eq!(addresses[0], Address::new(0, 200));
    assert_ne!(addresses[0], addresses[1]);
}

#[test]
fn a_source_without_its_network_is_the_same_node() {
    let mut network = Network::new(1);
    let node = network.end_node(0, local());
    network.seconds(10);
    let early = network.stacks[node].ports()[0].address.unwrap();
    let router = network.add(&[(0, seeded(local(), 7, 7, &["Cellar"]))], None, true);
    network.seconds(40);
    let socket = network.stacks[node].open_socket(None).unwrap();
    let to = network.stacks[router].ports()[0].address.unwrap();
    let datagram = Datagram { source: Endpoint::new(early, socket), ..echo(to, socket) };
    network.stacks[node].send(datagram, network.now).unwrap();
    network.seconds(1);
    let (_, reply) = network.delivered.pop().unwrap();
    assert_eq!((early.network, reply.destination.address), (0, Address::new(7, early.node)));
}

#[test]
fn a_node_whose_link_was_away_gives_way_to_the_one_that_took_its_address() {
    for port in [ether(1), local()] {
        let mut network = Network::new(1);
        let (away, watcher) = (network.end_node(0, port.clone()), network.end_node(0, other(&port, 2)));
        network.seconds(10);
        let before = network.register(away, "Museum");
        network.dark.insert(away);
        let hint = Some(before.address);
        let taker = network.end_node(0, PortConfig { hint, ..other(&port, 3) });
        network.seconds(10);
        let address = |network: &Network, node: usize| network.stacks[node].ports()[0].address;
        assert_eq!(address(&network, taker), hint);
        network.dark.remove(&away);
        let now = network.now;
        network.stacks[away].link_returned(PortId(0), now);
        network.seconds(10);
        assert_eq!(address(&network, taker), hint);
        let after = address(&network, away).unwrap();
        assert_ne!(Some(after), hint);
        let found = network.find(watcher, "Museum", "*");
        assert_eq!(found[0].endpoint, Endpoint { address: after, ..before });
    }
}

#[test]
fn a_node_whose_link_was_away_finds_its_network_again() {
    let mut network = Network::new(1);
    network.add(&[(0, seeded(ether(1), 3, 5, &["Hall"]))], None, true);
    network.seconds(20);
    let node = network.end_node(0, ether(2));
    network.seconds(20);
    let (before, now) = (network.stacks[node].ports()[0].clone(), network.now);
    network.stacks[node].link_returned(PortId(0), now);
    assert_eq!(network.stacks[node].ports()[0].network, None);
    network.seconds(20);
    assert_eq!(network.stacks[node].ports()[0], before, "the same address, network and zone");
}

/// A port of the same kind on another station.
fn other(port: &PortConfig, station: u8) -> PortConfig {
    if port.link == local().link { local() } else { ether(station) }
}
