//! Many zones, several routers on the same networks, questions of nodes and of other routers.

use std::time::Duration;

use super::network::{Network, ether, local, range, seeded, zone};
use crate::address::{Address, Endpoint, HardwareAddress};
use crate::name::MacName;
use crate::stack::{Output, PortId, StackEvent};
use crate::wire::ddp::{Datagram, DatagramKind};
use crate::wire::elap::{ElapContent, ElapFrame};
use crate::wire::rtmp::RouterPacket;
use crate::wire::zip::{ZipMessage, ZoneListKind, ZoneListReply, ZoneListRequest};

const STATION: HardwareAddress = HardwareAddress([2, 9, 9, 9, 9, 9]);

/// 100 zones with names of 32 bytes: they need seven packets.
fn many() -> Vec<String> {
    (0..100).map(|number| format!("{number:032}")).collect()
}

/// A router with many zones at EtherTalk 3-5, and LocalTalk 7.
fn router(network: &mut Network) -> usize {
    let zones = many();
    let zones: Vec<&str> = zones.iter().map(String::as_str).collect();
    let ports = [(0, seeded(ether(1), 3, 5, &zones)), (1, seeded(local(), 7, 7, &["Cellar"]))];
    let node = network.add(&ports, None, true);
    network.seconds(30);
    node
}

#[test]
fn lists_that_need_several_packets_are_learned_whole() {
    let mut network = Network::new(1);
    router(&mut network);
    let second = network.add(&[(0, ether(2)), (2, seeded(local(), 9, 9, &["Hall"]))], None, true);
    let end_node = network.end_node(0, ether(3));
    network.seconds(60);
    for node in [second, end_node] {
        let mut zones = network.stacks[node].zones();
        zones.retain(|zone| zone.as_bytes().len() == 32);
        assert_eq!(zones, many().iter().map(|text| zone(text)).collect::<Vec<MacName>>(), "{node}");
    }
}

#[test]
fn a_node_on_localtalk_learns_its_zone() {
    let mut network = Network::new(1);
    router(&mut network);
    let node = network.end_node(1, local());
    network.seconds(30);
    assert_eq!(network.stacks[node].ports()[0].zone, Some(zone("Cellar")));
    assert_eq!(network.stacks[node].zones().len(), 101);
}

/// What a stack answers to a datagram on EtherTalk, sent by a node with this address: the frame's destination and data.
fn ask(
    network: &mut Network,
    from: Address,
    datagram: (u8, DatagramKind, Vec<u8>),
) -> Vec<(HardwareAddress, Datagram)> {
    let (socket, kind, payload) = datagram;
    let own = network.stacks[0].ports()[0].address.unwrap();
    let (destination, source) = (Endpoint::new(own, socket), Endpoint::new(from, 200));
    let bytes = Datagram { destination, source, hops: 0, kind, payload }.encode_long().unwrap();
    let station = HardwareAddress([2, 0, 0, 0, 0, 1]);
    let frame = ElapFrame { destination: station, source: STATION, content: ElapContent::Datagram(&bytes) };
    let now = network.now;
    let stack = &mut network.stacks[0];
    stack.receive(PortId(0), &frame.encode(), now);
    let mut answers = Vec::new();
    while let Some(output) = stack.take_output() {
        let Output::Frame { bytes, .. } = output else { continue };
        let frame = ElapFrame::decode(&bytes).unwrap();
        if let ElapContent::Datagram(content) = frame.content {
            answers.push((frame.destination, Datagram::decode_long(content).unwrap()));
        }
    }
    answers
}

#[test]
fn an_address_that_the_link_cannot_have_is_answered_by_broadcast() {
    let mut network = Network::new(1);
    router(&mut network);
    let question = || (6, DatagramKind::ZIP, ZipMessage::GetNetInfo(MacName::default()).encode());
    for (from, station, address) in [
        (Address::new(4, 77), STATION, Address::new(4, 77)),
        (Address::new(0xff12, 77), STATION, Address::new(0xff12, 77)),
        (Address::new(900, 77), HardwareAddress::EVERYONE, Address::EVERYONE),
    ] {
        let answers = ask(&mut network, from, question());
        let [(to, datagram)] = &answers[..] else { panic!("{answers:?}") };
        assert_eq!((*to, datagram.destination), (station, Endpoint::new(address, 200)), "{from}");
        let Ok(ZipMessage::NetInfo(info)) = ZipMessage::decode(&datagram.payload) else { panic!() };
        assert_eq!((info.first, info.last, info.flags), (3, 5, 0x80), "an empty zone is not valid");
        assert_eq!(info.default_zone, Some(zone(&many()[0])));
    }
}

#[test]
fn zone_lists_come_in_parts_with_an_index() {
    let mut network = Network::new(1);
    router(&mut network);
    let mut zones = Vec::new();
    for part in 0..7 {
        let start = zones.len() as u16 + 1;
        let request = ZoneListRequest { transaction: part, kind: ZoneListKind::LOCAL, start };
        let answers = ask(&mut network, Address::new(4, 77), (6, DatagramKind::ATP, request.encode()));
        let reply = ZoneListReply::decode(&answers[0].1.payload).unwrap();
        assert_eq!((reply.transaction, reply.is_last), (part, part == 5), "17 zones of 33 bytes in 578");
        zones.extend(reply.zones);
        if part == 5 {
            break;
        }
    }
    assert_eq!(zones.len(), 100);
    let request = ZoneListRequest { transaction: 9, kind: ZoneListKind::ALL, start: 500 };
    let answers = ask(&mut network, Address::new(4, 77), (6, DatagramKind::ATP, request.encode()));
    let reply = ZoneListReply::decode(&answers[0].1.payload).unwrap();
    assert_eq!((reply.zones.len(), reply.is_last), (0, true), "an index behind the end");
}

#[test]
fn routes_are_told_with_or_without_split_horizon() {
    let mut network = Network::new(1);
    router(&mut network);
    for (function, networks) in [(1, vec![3]), (2, vec![3, 7]), (3, vec![3, 7])] {
        let request = (1, DatagramKind::RTMP_REQUEST, vec![function]);
        let answers = ask(&mut network, Address::new(4, 77), request);
        let packet = RouterPacket::decode(&answers[0].1.payload).unwrap();
        let told: Vec<u16> = packet.tuples.iter().map(|tuple| tuple.range.first()).collect();
        assert_eq!((packet.range, told), (Some(range(3, 5)), networks), "function {function}");
    }
}

#[test]
fn two_routers_of_the_same_networks_make_no_loop() {
    for is_together in [true, false] {
        let mut network = Network::new(1);
        let ports =
            |station| [(0, seeded(ether(station), 3, 5, &["Hall"])), (1, seeded(local(), 7, 7, &["Cellar"]))];
        let one = network.add(&ports(1), None, true);
        network.seconds(if is_together { 0 } else { 60 });
        let other = network.add(&ports(2), None, true);
        let (ether_node, local_node) = (network.end_node(0, ether(3)), network.end_node(1, local()));
        network.seconds(60);
        for router in [one, other] {
            let distances: Vec<u8> =
                network.stacks[router].routes().iter().map(|route| route.distance).collect();
            assert_eq!(distances, [0, 0]);
            assert!(network.stacks[router].ports().iter().all(|port| port.is_seeded));
        }
        let server = network.register(local_node, "Museum");
        network.sent.clear();
        let found = network.find(ether_node, "=", "Cellar");
        assert_eq!(found.iter().map(|found| found.endpoint).collect::<Vec<_>>(), [server]);
        assert!(network.sent.len() < 60, "{} frames", network.sent.len());
        let refused = |event: &StackEvent| matches!(event, StackEvent::SeedRefused { .. });
        assert!(!network.has_event(one, refused) && !network.has_event(other, refused));
    }
}

#[test]
fn a_zone_that_is_renamed_is_taken_over() {
    let mut network = Network::new(1);
    let router = network.add(&[(0, seeded(ether(1), 3, 5, &["Hall"]))], None, true);
    network.seconds(30);
    let node = network.end_node(0, ether(3));
    network.seconds(20);
    let notify = ZipMessage::Notify { old: zone("hall"), multicast: None, new: zone("Attic") };
    let own = network.stacks[router].ports()[0].address.unwrap();
    let datagram = Datagram {
        destination: Endpoint::new(Address::EVERYONE, 6),
        source: Endpoint::new(own, 6),
        hops: 0,
        kind: DatagramKind::ZIP,
        payload: notify.encode(),
    };
    let bytes = datagram.encode_long().unwrap();
    let source = HardwareAddress([2, 0, 0, 0, 0, 1]);
    let content = ElapContent::Datagram(&bytes);
    network.send((router, 0), ElapFrame { destination: HardwareAddress::EVERYONE, source, content }.encode());
    network.run(Duration::from_millis(10));
    assert_eq!(network.stacks[node].ports()[0].zone, Some(zone("Attic")));
}

#[test]
fn a_router_without_another_one_still_has_names() {
    let mut network = Network::new(1);
    let node = network.add(&[(0, local())], None, true);
    let other = network.end_node(0, local());
    network.seconds(20);
    let server = network.register(node, "Museum");
    assert_eq!(network.find(other, "=", "*")[0].endpoint, server);
    assert!(!network.stacks[node].ports()[0].is_ready, "no router has said which network this is");
}
