//! Floods and forged requests: tables do not grow without end, and this node floods no other.

use std::time::{Duration, Instant};

use super::network::{Network, ether, local, seeded};
use crate::address::{Address, Endpoint, HardwareAddress};
use crate::asp::{self, QUANTUM, Server, ServerEvent, SocketPair};
use crate::atp::MAX_TRANSACTIONS;
use crate::candidates::RandomNumbers;
use crate::limits::{HEARD, OUTPUTS, ROUTES, ZONES};
use crate::name::EntityName;
use crate::stack::{Output, PortId, Stack};
use crate::wire::atp::MAX_PACKETS;
use crate::wire::ddp::{Datagram, DatagramKind};
use crate::wire::elap::{ElapContent, ElapFrame};
use crate::wire::nbp::{NbpFunction, NbpPacket, NbpTuple};
use crate::wire::rtmp::{RouterPacket, RoutingTuple};
use crate::wire::zip::ZipMessage;

const STRANGER: HardwareAddress = HardwareAddress([2, 9, 9, 9, 9, 9]);

/// A router with 15 names, EtherTalk 3-5 and LocalTalk 7.
fn router() -> (Network, usize) {
    let mut network = Network::new(1);
    let ports = [(0, seeded(ether(1), 3, 5, &["Hall"])), (1, seeded(local(), 7, 7, &["Cellar"]))];
    let node = network.add(&ports, None, true);
    network.seconds(30);
    for number in 0..15 {
        network.register(node, &format!("{number:031}"));
    }
    (network, node)
}

fn frame(destination: HardwareAddress, datagram: &Datagram) -> Vec<u8> {
    let bytes = datagram.encode_long().unwrap();
    ElapFrame { destination, source: STRANGER, content: ElapContent::Datagram(&bytes) }.encode()
}

fn lookup(asker: Endpoint, function: NbpFunction, zone: &str) -> Datagram {
    let name = EntityName::from_text("=", "=", zone).unwrap();
    let tuples = vec![NbpTuple { endpoint: asker, enumerator: 0, name }];
    Datagram {
        destination: Endpoint::new(Address::EVERYONE, 2),
        source: asker,
        hops: 0,
        kind: DatagramKind::NBP,
        payload: NbpPacket { function, id: 1, tuples }.encode(),
    }
}

fn sent_bytes(stack: &mut Stack) -> usize {
    let mut bytes = 0;
    while let Some(output) = stack.take_output() {
        if let Output::Frame { bytes: frame, .. } = output {
            bytes += frame.len();
        }
    }
    bytes
}

#[test]
fn a_broadcast_is_answered_with_at_most_eight_times_its_bytes() {
    let (mut network, node) = router();
    let asker = Endpoint::new(Address::new(4, 77), 200);
    let request = lookup(asker, NbpFunction::LOOKUP, "*");
    let now = network.now;
    let stack = &mut network.stacks[node];
    stack.receive(PortId(0), &frame(HardwareAddress::EVERYONE, &request), now);
    let answered = sent_bytes(stack);
    assert!(answered <= 8 * request.long_length() + 22, "{answered}");
    let own = stack.ports()[0].address.unwrap();
    let direct = Datagram { destination: Endpoint::new(own, 2), ..request };
    let HardwareAddress(station) = HardwareAddress([2, 0, 0, 0, 0, 1]);
    stack.receive(PortId(0), &frame(HardwareAddress(station), &direct), now);
    assert!(sent_bytes(stack) > 15 * 47, "a question to this node alone gets all names");
}

#[test]
fn answers_never_go_to_more_than_one_node() {
    let (mut network, node) = router();
    let now = network.now;
    let own = network.stacks[node].ports()[0].address.unwrap();
    let asker = Endpoint::new(Address::new(4, 77), 200);
    for forged in [Address::new(4, 255), Address::new(0, 255), Address::new(7, 255), Address::new(4, 0)] {
        for function in [NbpFunction::LOOKUP, NbpFunction::BROADCAST_REQUEST, NbpFunction::FORWARD_REQUEST] {
            let request = lookup(Endpoint::new(forged, 200), function, "Hall");
            let request = Datagram { source: asker, destination: Endpoint::new(own, 2), ..request };
            network.stacks[node].receive(
                PortId(0),
                &frame(HardwareAddress([2, 0, 0, 0, 0, 1]), &request),
                now,
            );
            assert_eq!(sent_bytes(&mut network.stacks[node]), 0, "{forged} {function:?}");
        }
        let from_all =
            Datagram { source: Endpoint::new(forged, 200), ..lookup(asker, NbpFunction::LOOKUP, "*") };
        network.stacks[node].receive(PortId(0), &frame(HardwareAddress::EVERYONE, &from_all), now);
        assert_eq!(sent_bytes(&mut network.stacks[node]), 0, "{forged}");
    }
}

#[test]
fn a_search_by_broadcast_is_not_spread() {
    let (mut network, node) = router();
    let asker = Endpoint::new(Address::new(4, 77), 200);
    let request = lookup(asker, NbpFunction::BROADCAST_REQUEST, "Cellar");
    let now = network.now;
    let stack = &mut network.stacks[node];
    stack.receive(PortId(0), &frame(HardwareAddress::EVERYONE, &request), now);
    assert_eq!(sent_bytes(stack), 0);
    let own = stack.ports()[0].address.unwrap();
    let direct = Datagram { destination: Endpoint::new(own, 2), ..request };
    stack.receive(PortId(0), &frame(HardwareAddress([2, 0, 0, 0, 0, 1]), &direct), now);
    assert!(sent_bytes(stack) > 0);
}

#[test]
fn one_asker_is_answered_at_a_limited_rate() {
    let (mut network, node) = router();
    let now = network.now;
    let own = network.stacks[node].ports()[0].address.unwrap();
    let asker = Endpoint::new(Address::new(4, 77), 200);
    let question = ZipMessage::GetNetInfo(Default::default()).encode();
    let kinds = [
        (2, DatagramKind::NBP, lookup(asker, NbpFunction::BROADCAST_REQUEST, "Hall").payload),
        (4, DatagramKind::AEP, b"\x01ping".to_vec()),
        (6, DatagramKind::ZIP, question),
        (1, DatagramKind::RTMP_REQUEST, vec![1]),
        (1, DatagramKind::RTMP_REQUEST, vec![3]),
        (6, DatagramKind::ZIP, ZipMessage::Query(vec![3; 200]).encode()),
    ];
    for (socket, kind, payload) in kinds {
        let destination = Endpoint::new(own, socket);
        let request = frame(
            HardwareAddress([2, 0, 0, 0, 0, 1]),
            &Datagram { destination, source: asker, hops: 0, kind, payload },
        );
        let stack = &mut network.stacks[node];
        (0..2_000).for_each(|_| stack.receive(PortId(0), &request, now));
        let mut frames = 0;
        while stack.take_output().is_some() {
            frames += 1;
        }
        assert!(frames <= 64 * 3, "{kind:?}: {frames}");
    }
}

#[test]
fn forged_routers_do_not_fill_tables_without_end() {
    let (mut network, node) = router();
    let now = network.now;
    for sender in 1..=250_u8 {
        let tuples = (0..90).map(|number| {
            let first = 100 + u16::from(sender) * 90 + number;
            let range = crate::address::NetworkRange::new(first, first).unwrap();
            RoutingTuple { range, is_extended: false, distance: 1 }
        });
        let address = Address::new(4, sender);
        let range = crate::address::NetworkRange::new(3, 5);
        let packet = RouterPacket { sender: address, range, tuples: tuples.collect() };
        let datagram = Datagram {
            destination: Endpoint::new(Address::EVERYONE, 1),
            source: Endpoint::new(address, 1),
            hops: 0,
            kind: DatagramKind::RTMP_DATA,
            payload: packet.encode(),
        };
        network.stacks[node].receive(PortId(0), &frame(HardwareAddress::EVERYONE, &datagram), now);
    }
    assert_eq!(network.stacks[node].routes().len(), ROUTES);
    network.stacks[node].tick(now);
    for first in 100..1_000 {
        let zones = (0..10).map(|number| {
            let zone = crate::name::MacName::from_text(&format!("{first} {number}")).unwrap();
            (first, zone)
        });
        let datagram = Datagram {
            destination: Endpoint::new(network.stacks[node].ports()[0].address.unwrap(), 6),
            source: Endpoint::new(Address::new(4, 1), 6),
            hops: 0,
            kind: DatagramKind::ZIP,
            payload: ZipMessage::Reply(zones.collect()).encode(),
        };
        network.stacks[node].receive(PortId(0), &frame(HardwareAddress([2, 0, 0, 0, 0, 1]), &datagram), now);
    }
    assert!(network.stacks[node].zones().len() <= ZONES);
    assert!(network.stacks[node].heard(now).len() <= HEARD);
}

#[test]
fn outputs_that_are_not_taken_are_bounded() {
    let (mut network, node) = router();
    let mut now = network.now;
    for _ in 0..2 * OUTPUTS {
        now += Duration::from_secs(10);
        network.stacks[node].tick(now);
    }
    let mut count = 0;
    while network.stacks[node].take_output().is_some() {
        count += 1;
    }
    assert_eq!(count, OUTPUTS);
    assert!(network.stacks[node].dropped_outputs() > 0);
}

/// Packets of ATP and ASP to the sockets of a server, from a node that begins as the stranger.
fn session_frames(own: Address) -> Vec<Vec<u8>> {
    let mut frames = Vec::new();
    for (socket, control) in
        [129, 130].iter().flat_map(|to| [0x40, 0x60, 0x64, 0x80, 0x98, 0xc0].map(|c| (*to, c)))
    {
        for function in 1..=9 {
            let head = [
                control,
                0xff,
                0,
                1,
                function,
                if function == 4 { 200 } else { 1 },
                0,
                u8::from(function == 4),
            ];
            let datagram = Datagram {
                destination: Endpoint::new(own, socket),
                source: Endpoint::new(Address::new(4, 77), 200),
                hops: 0,
                kind: DatagramKind::ATP,
                payload: [&head[..], b"data"].concat(),
            };
            frames.push(frame(HardwareAddress([2, 0, 0, 0, 0, 1]), &datagram));
        }
    }
    frames
}

/// A server of sessions, whose commands are answered with as much as there is room for.
fn serve_sessions(server: &mut Server, datagram: &Datagram, now: Instant) {
    let Datagram { source, destination, payload, .. } = datagram;
    server.receive(*source, *destination, payload, now);
    while let Some(event) = server.take_event() {
        match event {
            ServerEvent::Command(command) if command.is_write => {
                server.write_continue(command.token, QUANTUM, now).unwrap();
            }
            ServerEvent::Command(asp::Command { token, .. }) | ServerEvent::WriteData { token, .. } => {
                server.reply(token, 0, vec![1; QUANTUM], now).unwrap();
            }
            _ => {}
        }
    }
    // A packet that ends a write lets the commands behind it go on.
    let most = (1 + asp::MAX_WAITING_COMMANDS) * MAX_PACKETS + 1;
    assert!(std::iter::from_fn(|| server.take_output()).count() <= most);
}

/// `FOURFOLD_FRAMES=10000000` has so many mutated.
#[test]
fn mutated_frames_never_panic() {
    let count = std::env::var("FOURFOLD_FRAMES").map_or(60_000, |text| text.parse().unwrap());
    let (mut network, node) = router();
    let client = network.end_node(0, ether(8));
    network.seconds(20);
    network.register(client, "Museum");
    network.find(client, "=", "Hall");
    let mut seen: Vec<((usize, u8), Vec<u8>)> = network.sent.clone();
    let mut server = Server::new(SocketPair { listening: 129, session: 130 }, asp::MAX_SESSIONS, 5);
    server.set_status(vec![7; 700]).unwrap();
    for socket in [129, 130] {
        let _ = network.stacks[node].open_socket(Some(socket));
    }
    let own = network.stacks[node].ports()[0].address.unwrap();
    seen.extend(session_frames(own).into_iter().map(|frame| ((node, 0), frame)));
    let (mut random, mut now, mut commands) = (RandomNumbers::new(5), network.now, 0_u64);
    for round in 0..count {
        let (plug, frame) = &seen[random.below(seen.len() as u32) as usize];
        let mut frame = frame.clone();
        for _ in 0..random.below(4) {
            let at = random.below(frame.len() as u32) as usize;
            frame[at] = random.below(256) as u8;
        }
        frame.truncate(if random.below(8) == 0 { random.below(70) as usize } else { frame.len() });
        for (stack, port) in [(node, plug.1), (node, 1 - plug.1), (client, 0)] {
            network.stacks[stack].receive(PortId(port), &frame, now);
            while let Some(output) = network.stacks[stack].take_output() {
                if let Output::Delivered(datagram) = output {
                    commands += 1;
                    serve_sessions(&mut server, &datagram, now);
                }
            }
        }
        if round % 100 == 0 {
            now += Duration::from_millis(500);
            network.stacks[node].tick(now);
            network.stacks[client].tick(now);
            server.tick(now);
            while server.take_output().is_some() || server.take_event().is_some() {}
        }
    }
    let stack = &mut network.stacks[node];
    assert!(
        stack.routes().len() <= ROUTES && stack.zones().len() <= ZONES && stack.heard(now).len() <= HEARD
    );
    assert!(server.transactions() <= 2 * MAX_TRANSACTIONS && server.sessions().count() <= asp::MAX_SESSIONS);
    assert!(commands > count / 50, "{commands} datagrams of ATP arrived");
}
