//! Routers between EtherTalk and LocalTalk.

use std::time::Duration;

use super::network::{Faults, Network, ether, local, range, seeded, zone};
use crate::address::{Address, Endpoint};
use crate::name::MacName;
use crate::stack::StackEvent;
use crate::wire::ddp::{Datagram, DatagramKind};

/// EtherTalk 3-5 (Hall, Attic) with two routers, behind which are LocalTalk 7 (Cellar) and LocalTalk 9 (Hall).
struct Museum {
    network: Network,
    routers: [usize; 2],
    ether: usize,
    cellar: usize,
    hall: usize,
}

fn museum(seed: u64, faults: Faults) -> Museum {
    let mut network = Network::new(seed);
    network.faults = faults;
    let first = [(0, seeded(ether(1), 3, 5, &["Hall", "Attic"])), (1, seeded(local(), 7, 7, &["Cellar"]))];
    let one = network.add(&first, None, true);
    let second = [(0, ether(2)), (2, seeded(local(), 9, 9, &["Hall"]))];
    let other = network.add(&second, None, true);
    let ether_node = network.add(&[(0, ether(3))], Some("Attic"), false);
    let (cellar, hall) = (network.end_node(1, local()), network.end_node(2, local()));
    network.seconds(90);
    Museum { network, routers: [one, other], ether: ether_node, cellar, hall }
}

fn networks(network: &Network, node: usize) -> Vec<(u16, u8, Vec<MacName>)> {
    let routes = network.stacks[node].routes();
    routes.into_iter().map(|route| (route.network.first(), route.distance, route.zones)).collect()
}

#[test]
fn routers_learn_networks_and_zones_from_each_other() {
    let Museum { network, routers, .. } = museum(1, Faults::default());
    let (hall, attic, cellar) = (zone("Hall"), zone("Attic"), zone("Cellar"));
    let both = vec![hall.clone(), attic.clone()];
    let first = [(3, 0, both.clone()), (7, 0, vec![cellar.clone()]), (9, 1, vec![hall.clone()])];
    assert_eq!(networks(&network, routers[0]), first);
    let second = [(3, 0, both), (7, 1, vec![cellar.clone()]), (9, 0, vec![hall.clone()])];
    assert_eq!(networks(&network, routers[1]), second, "the default zone of 3-5 comes first");
    assert_eq!(network.stacks[routers[1]].zones(), [attic, cellar, hall]);
}

#[test]
fn names_are_found_in_their_zone_from_every_network() {
    let Museum { mut network, ether, cellar, hall, .. } = museum(1, Faults::default());
    let servers = [(ether, "In the attic"), (cellar, "In the cellar"), (hall, "In the hall")]
        .map(|(node, name)| network.register(node, name));
    for node in [ether, cellar, hall] {
        for (zone, server) in ["Attic", "Cellar", "Hall"].into_iter().zip(servers) {
            let found = network.find(node, "=", zone);
            let endpoints: Vec<Endpoint> = found.iter().map(|found| found.endpoint).collect();
            assert_eq!(endpoints, [server], "{zone} from {node}");
        }
        assert!(network.find(node, "=", "Roof").is_empty());
    }
    let own = |network: &mut Network, node| network.find(node, "=", "*").len();
    assert_eq!([ether, cellar, hall].map(|node| own(&mut network, node)), [1; 3], "* is the own zone");
}

fn send_echo(network: &mut Network, from: usize, to: usize) -> Option<Datagram> {
    let socket = network.stacks[from].open_socket(None).unwrap();
    let to = network.stacks[to].ports()[0].address.unwrap();
    let datagram = Datagram {
        destination: Endpoint::new(to, 4),
        source: Endpoint::new(Address::default(), socket),
        hops: 0,
        kind: DatagramKind::AEP,
        payload: b"\x01ping".to_vec(),
    };
    network.stacks[from].send(datagram, network.now).unwrap();
    network.seconds(3);
    network.stacks[from].close_socket(socket);
    network.delivered.pop().map(|(_, datagram)| datagram)
}

#[test]
fn datagrams_pass_two_routers_and_count_them() {
    let Museum { mut network, ether, cellar, hall, .. } = museum(1, Faults::default());
    let reply = send_echo(&mut network, cellar, hall).unwrap();
    assert_eq!((reply.hops, reply.source.address.network, reply.destination.address.network), (2, 9, 7));
    let reply = send_echo(&mut network, ether, cellar).unwrap();
    assert_eq!((reply.hops, reply.source.address.network), (1, 7));
}

#[test]
fn a_servers_name_on_a_router_is_in_its_zone_only() {
    let Museum { mut network, routers, ether, cellar, hall } = museum(1, Faults::default());
    let server = network.register(routers[0], "Museum");
    for node in [ether, cellar, hall] {
        assert_eq!(network.find(node, "=", "Hall").len(), 1, "the default zone of the first port");
        assert!(network.find(node, "=", "Cellar").is_empty() && network.find(node, "=", "Attic").is_empty());
    }
    assert_eq!(network.find(hall, "Museum", "Hall")[0].endpoint, server);
    assert!(send_echo(&mut network, hall, routers[0]).is_some());
    assert_eq!(network.find(routers[0], "=", "*")[0].endpoint, server, "it finds its own names");
}

#[test]
fn a_lost_router_is_forgotten_with_what_was_behind_it() {
    let Museum { mut network, routers, hall, ether, .. } = museum(1, Faults::default());
    network.dark.insert(routers[1]);
    network.seconds(100);
    assert!(network.has_event(routers[0], |event| *event == StackEvent::RouteLost(range(9, 9))));
    assert_eq!(networks(&network, routers[0]).len(), 2);
    assert!(send_echo(&mut network, ether, hall).is_none());
    network.dark.remove(&routers[1]);
    network.seconds(40);
    assert_eq!(networks(&network, routers[0]).len(), 3, "it comes back");
}

#[test]
fn lost_doubled_and_late_frames_delay_but_do_not_break() {
    for seed in 1..=10 {
        let faults = Faults { lost: 100, doubled: 100, late: 300 };
        let Museum { mut network, routers, ether, cellar, hall } = museum(seed, faults);
        network.seconds(120);
        for router in routers {
            let complete = networks(&network, router);
            assert_eq!(complete.len(), 3, "seed {seed}");
            assert!(complete.iter().all(|(_, _, zones)| !zones.is_empty()), "seed {seed}: {complete:?}");
        }
        let servers = [(ether, "In the attic"), (cellar, "In the cellar"), (hall, "In the hall")]
            .map(|(node, name)| network.register(node, name));
        let mut addresses: Vec<Address> = servers.iter().map(|server| server.address).collect();
        addresses.dedup();
        assert_eq!(addresses.len(), 3);
        let found = |network: &mut Network, node, zone| {
            (0..5).find_map(|_| network.find(node, "=", zone).first().map(|found| found.endpoint))
        };
        assert_eq!(found(&mut network, cellar, "Hall"), Some(servers[2]), "seed {seed}");
        assert_eq!(found(&mut network, hall, "Cellar"), Some(servers[1]), "seed {seed}");
        assert_eq!(found(&mut network, hall, "Attic"), Some(servers[0]), "seed {seed}");
    }
}

#[test]
fn many_nodes_on_a_lossy_link_have_different_addresses() {
    let mut network = Network::new(3);
    network.faults = Faults { lost: 50, doubled: 50, late: 300 };
    let nodes: Vec<usize> = (0..60).map(|_| network.end_node(0, local())).collect();
    network.seconds(60);
    let mut numbers: Vec<u8> =
        nodes.iter().map(|node| network.stacks[*node].ports()[0].address.unwrap().node).collect();
    numbers.sort_unstable();
    numbers.dedup();
    assert_eq!(numbers.len(), 60);
}

#[test]
fn a_router_sends_its_table_every_ten_seconds() {
    let Museum { mut network, routers, .. } = museum(1, Faults::default());
    network.sent.clear();
    network.run(Duration::from_secs(100));
    let is_data = |frame: &[u8]| frame.starts_with(&[255]) && frame[2] == 1 && frame[7] == 1;
    let data = network
        .sent
        .iter()
        .filter(|((node, port), frame)| (*node, *port) == (routers[0], 1) && is_data(frame));
    let frames: Vec<&Vec<u8>> = data.map(|(_, frame)| frame).collect();
    assert_eq!(frames.len(), 10);
    // To all on LocalTalk: version, then 3-5 at distance 0 and 9 at distance 1; not 7 itself.
    let own = network.stacks[routers[0]].ports()[1].address.unwrap().node;
    let data = [255, own, 1, 0, 21, 1, 1, 1, 0, 7, 8, own, 0, 0, 0x82, 0, 3, 0x80, 0, 5, 0x82, 0, 9, 1];
    assert!(frames.iter().all(|frame| frame[..] == data));
}

#[test]
fn an_answer_goes_back_through_the_router_that_the_question_came_from() {
    let Museum { mut network, routers, ether, cellar, hall } = museum(1, Faults::default());
    for (node, router) in [(cellar, routers[0]), (hall, routers[1])] {
        network.sent.clear();
        assert!(send_echo(&mut network, node, ether).is_some());
        let is_datagram = |frame: &[u8]| frame[20..22] == [0x80, 0x9b];
        let replies = network.sent.iter().filter(|((from, _), frame)| *from == ether && is_datagram(frame));
        let stations: Vec<u8> = replies.map(|(_, frame)| frame[5]).collect();
        // Chapter 4, "Optional best router forwarding algorithm": the stations of the routers end in 1 and 2.
        assert_eq!(stations, [if router == routers[0] { 1 } else { 2 }]);
    }
}
