//! What others may send: bounded memory, no other's session, never more bytes out than allowed.

use std::time::{Duration, Instant};

use super::network::{FAIR, Happened, Network, Random, SERVER, SESSION, SLS, SSS, workstation};
use crate::asp::{Client, ClientEvent, MAX_SESSIONS, Server, ServerEvent, SocketPair};
use crate::atp::MAX_TRANSACTIONS;
use crate::{Address, Endpoint};

const STATUS_BYTES: usize = 700;

fn server() -> Server {
    let mut server = Server::new(SocketPair { listening: SLS.socket, session: SESSION }, MAX_SESSIONS, 99);
    server.set_status(vec![7; STATUS_BYTES]).unwrap();
    server
}

/// How many packets and bytes a server sends.
fn drain(server: &mut Server) -> (usize, usize) {
    let packets: Vec<_> = std::iter::from_fn(|| server.take_output()).collect();
    (packets.len(), packets.iter().map(|packet| packet.payload.len()).sum())
}

#[test]
fn another_node_cannot_use_a_session() {
    let mut network = Network::new(1, 5, FAIR);
    network.open_all();
    network.run(Duration::from_secs(1));
    let forger = Endpoint::new(Address::new(3, 66), 200);
    for function in 0..=255 {
        for tid in 0..4 {
            for control in [0x40, 0x60, 0x80, 0x90, 0xc0] {
                let packet = [control, 1, 0, tid, function, 1, 0, 0, 0];
                network.server.receive(forger, SSS, &packet, network.now);
            }
        }
    }
    assert_eq!((network.server.take_event(), drain(&mut network.server)), (None, (0, 0)));
    // Its tickles keep no session of others alive.
    network.clients.clear();
    let mut ended = false;
    for _ in 0..121 {
        let tickle = [0x40, 0, 0, 1, 5, 1, 0, 0];
        network.server.receive(forger, SLS, &tickle, network.now);
        let happened = network.run(Duration::from_secs(1));
        ended |= happened.at_server.iter().any(|event| matches!(event, ServerEvent::Closed { .. }));
    }
    assert!(ended);
}

#[test]
fn a_broadcast_gets_no_answer() {
    let (mut server, now) = (server(), Instant::now());
    let status = [0x40, 0xff, 0, 1, 3, 0, 0, 0];
    for node in [0, 255] {
        server.receive(workstation(0), Endpoint::new(Address::new(4, node), SLS.socket), &status, now);
        server.receive(Endpoint::new(Address::new(3, node), 200), SLS, &status, now);
    }
    assert_eq!(drain(&mut server), (0, 0));
    server.receive(workstation(0), SLS, &status, now);
    assert_eq!(drain(&mut server), (2, STATUS_BYTES + 16));
}

#[test]
fn a_flood_for_the_status_is_answered_slowly() {
    let (mut server, start) = (server(), Instant::now());
    let mut packets = 0;
    for millisecond in 0..10_000 {
        let now = start + Duration::from_millis(millisecond);
        server.receive(workstation(0), SLS, &[0x40, 0xff, 0, 1, 3, 0, 0, 0], now);
        packets += drain(&mut server).0;
    }
    assert_eq!(packets, 2 * (8 + 39));
}

#[test]
fn a_flood_of_openings_leaves_nothing_but_sessions() {
    let (mut server, start) = (server(), Instant::now());
    for count in 0..200_000_u32 {
        let [_, network, node, socket] = count.wrapping_mul(2_654_435_761).to_be_bytes();
        let source = Endpoint::new(Address::new(u16::from(network) + 1, node.clamp(1, 254)), socket.max(1));
        let tid = count.to_be_bytes();
        server.receive(source, SLS, &[0x64, 0xff, tid[2], tid[3], 4, socket.max(1), 1, 0], start);
        let (packets, bytes) = drain(&mut server);
        assert!(packets <= 2 && bytes <= 16, "an answer of 8 bytes and a tickle");
    }
    let events = std::iter::from_fn(|| server.take_event()).count();
    assert_eq!((server.sessions().count(), events), (MAX_SESSIONS, MAX_SESSIONS));
    assert!(server.transactions() <= 2 * MAX_SESSIONS);
    let mut now = start;
    while let Some(deadline) = server.deadline() {
        assert!(deadline > now && deadline <= start + Duration::from_secs(600));
        now = deadline;
        server.tick(now);
        drain(&mut server);
    }
    assert_eq!((server.sessions().count(), server.transactions()), (0, 0));
}

/// A workstation with a session that sends whatever it likes: in each step so many packets out as ATP allows, and so much memory.
#[test]
fn any_packets_of_a_session_stay_within_the_limits() {
    for seed in 0..20 {
        let (mut server, mut now, mut random) = (server(), Instant::now(), Random(seed));
        server.receive(workstation(0), SLS, &[0x60, 1, 0, 1, 4, 200, 1, 0], now);
        drain(&mut server);
        let mut next = 0_u16;
        for _ in 0..5_000 {
            let packet = any_packet(&mut random, next);
            let socket = if random.below(4) == 0 { SLS.socket } else { SESSION };
            server.receive(workstation(0), Endpoint::new(SERVER, socket), &packet, now);
            let (packets, _) = drain(&mut server);
            assert!(packets <= 9, "a response has eight packets");
            while let Some(event) = server.take_event() {
                let ServerEvent::Command(command) = event else { continue };
                next = next.wrapping_add(1);
                if command.is_write && random.below(2) == 0 {
                    server.write_continue(command.token, random.below(10_000) as usize, now).unwrap();
                }
                if random.below(3) > 0 {
                    let data = vec![1; random.below(10_000) as usize];
                    let sent = server.reply(command.token, -1, data, now).unwrap();
                    assert!(sent <= command.room);
                }
                assert!(drain(&mut server).0 <= 9);
            }
            if random.below(100) == 0 {
                now += Duration::from_millis(random.below(5_000));
                server.tick(now);
                drain(&mut server);
            }
            assert!(server.transactions() <= MAX_TRANSACTIONS);
        }
        assert!(server.transactions() <= 100, "32 responses of a node, and what the server asks for");
    }
}

/// A packet that is often valid.
fn any_packet(random: &mut Random, next: u16) -> Vec<u8> {
    let control = [0x40, 0x60, 0x64, 0x67, 0x80, 0x90, 0x88, 0xc0, 0x00, 0xff][random.below(10) as usize];
    let bitmap = [0, 1, 0xff, 0x80, random.next() as u8][random.below(5) as usize];
    let tid = [0, random.below(200) as u16, 100][random.below(3) as usize];
    let sequence = if random.below(2) == 0 { next } else { random.below(8) as u16 };
    let function = random.below(10) as u8;
    let length = random.below(600) as usize;
    let head =
        [control, bitmap, (tid >> 8) as u8, tid as u8, function, 1, (sequence >> 8) as u8, sequence as u8];
    let packet = [&head[..], &vec![9; length]].concat();
    let cut = if random.below(50) == 0 { random.below(9) as usize } else { packet.len() };
    packet[..cut.min(packet.len())].to_vec()
}

#[test]
fn a_client_survives_a_hostile_server() {
    for seed in 0..20 {
        let (now, mut random) = (Instant::now(), Random(seed));
        let mut client = Client::new(workstation(0), SLS, 0);
        client.open(now).unwrap();
        client.receive(SLS, &[0x90, 0, 0, 1, SESSION, 1, 0, 0], now);
        for _ in 0..2_000 {
            let _ = client.write(b"w", vec![1; 5_000], 4_624, now);
            client.receive(SSS, &any_packet(&mut random, 0), now);
            let sent = std::iter::from_fn(|| client.take_output()).count();
            assert!(sent <= 10, "{sent}");
            while let Some(event) = client.take_event() {
                if let ClientEvent::Reply(reply) = event {
                    assert!(reply.data.len() <= 4_624 && reply.written <= 4_624);
                }
            }
            if client.session_id().is_none() {
                break;
            }
        }
    }
}

/// All numbers of a network but the server's: each node opens sessions, and sends whatever it likes from any socket, for any session.
#[test]
fn all_nodes_of_a_network_leave_a_workstation_its_session() {
    let mut network = Network::new(1, 3, FAIR);
    network.open_all();
    let mut random = Random(17);
    for round in 0..300_u32 {
        for node in (1..=254).filter(|node| *node != SERVER.node) {
            let source = Endpoint::new(Address::new(SERVER.network, node), 1 + random.below(254) as u8);
            let mut packet = any_packet(&mut random, round as u16);
            if random.below(4) == 0 {
                packet = vec![0x67, 1, 0, round as u8, 4, source.socket, 1, 0]; // OpenSess
            } else if let Some(session) = packet.get_mut(5) {
                *session = random.next() as u8;
            }
            let socket = if random.below(2) == 0 { SLS.socket } else { SESSION };
            network.server.receive(source, Endpoint::new(SERVER, socket), &packet, network.now);
        }
        network.clients[0].command(b"honest", 4_624, network.now).unwrap();
        let mut is_answered = false;
        while !is_answered {
            let mut happened = Happened::default();
            assert!(network.step(network.now + Duration::from_secs(60), &mut happened), "no answer");
            for event in happened.at_server {
                let ServerEvent::Command(command) = event else { continue };
                let is_honest = command.block == b"honest";
                // Some of the others are never answered, and some have ended their session meanwhile.
                if is_honest || random.below(3) > 0 {
                    let answered = network.server.reply(command.token, 0, vec![1; 4_624], network.now);
                    assert!(answered.is_ok() || !is_honest);
                }
            }
            is_answered = happened.at_clients.iter().any(|(_, event)| matches!(event, ClientEvent::Reply(_)));
        }
        assert!(network.server.sessions().count() <= MAX_SESSIONS);
        assert!(network.server.transactions() <= 2 * MAX_TRANSACTIONS);
    }
}
