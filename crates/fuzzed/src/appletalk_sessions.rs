//! Transactions and sessions over AppleTalk: what any node can send to a server, and a server to a workstation.

use std::time::{Duration, Instant};

use appletalk::asp::{Client, ClientEvent, QUANTUM, Server, ServerEvent, SocketPair};
use appletalk::atp::MAX_TRANSACTIONS;
use appletalk::wire::{asp, atp};
use appletalk::{Address, Endpoint};

const SLS: Endpoint = Endpoint::new(Address::new(4, 9), 129);
const SSS: Endpoint = Endpoint::new(Address::new(4, 9), 130);
const WORKSTATION: Endpoint = Endpoint::new(Address::new(3, 7), 200);

/// A packet of ATP: what was decoded encodes to the same bytes, but for bits that have no meaning.
pub fn packet(data: &[u8]) {
    let Ok(packet) = atp::Packet::decode(data) else { return };
    assert_eq!(atp::Packet::decode(&packet.encode()), Ok(packet));
}

/// The user bytes and the data of a packet of ASP.
pub fn headers(data: &[u8]) {
    let Some((user, rest)) = data.split_first_chunk::<4>() else { return };
    if let Ok(header) = asp::Header::decode(*user) {
        assert_eq!(asp::Header::decode(header.encode()), Ok(header));
    }
    assert_eq!(asp::OpenSessionReply::decode(*user).encode(), *user);
    if let Ok(room) = asp::room::decode(rest) {
        assert_eq!(asp::room::encode(room), rest);
    }
}

/// Packets for a server: each is a byte of flags, a byte of length, and the packet. A bit of the flags decides the socket, one whether
/// another node sends it, two what the server's client does with a command, and the others let time pass.
pub fn server(data: &[u8]) {
    let sockets = SocketPair { listening: SLS.socket, session: SSS.socket };
    let (mut server, mut now) = (Server::new(sockets, 4, 0), Instant::now());
    server.set_status(vec![1; 700]).expect("700 bytes");
    for (flags, packet) in steps(data) {
        now += Duration::from_secs(u64::from(flags >> 4));
        server.tick(now);
        while server.take_output().is_some() {}
        let destination = if flags & 1 == 0 { SSS } else { SLS };
        let address = Address::new(3, if flags & 2 == 0 { 7 } else { 8 });
        server.receive(Endpoint { address, ..WORKSTATION }, destination, packet, now);
        assert!(std::iter::from_fn(|| server.take_output()).count() <= atp::MAX_PACKETS + 1);
        while let Some(event) = server.take_event() {
            if let ServerEvent::Command(command) = event {
                assert!(command.room <= QUANTUM && command.block.len() <= atp::MAX_DATA);
                if flags & 4 != 0 && command.is_write {
                    server.write_continue(command.token, packet.len() * 20, now).expect("a write");
                }
                if flags & 8 != 0 {
                    let sent = server.reply(command.token, 0, vec![2; packet.len() * 20], now);
                    assert!(sent.is_ok_and(|sent| sent <= command.room));
                }
            }
            assert!(std::iter::from_fn(|| server.take_output()).count() <= atp::MAX_PACKETS + 1);
        }
        assert!(server.transactions() <= 2 * MAX_TRANSACTIONS && server.sessions().count() <= 4);
    }
}

/// Packets for a workstation that has a session and always writes something.
pub fn workstation(data: &[u8]) {
    let (mut client, mut now) = (Client::new(WORKSTATION, SLS, 0), Instant::now());
    client.open(now).expect("the first call");
    client.receive(SLS, &[0x90, 0, 0, 1, SSS.socket, 1, 0, 0], now);
    for (flags, packet) in steps(data) {
        now += Duration::from_secs(u64::from(flags >> 4));
        client.tick(now);
        let _ = client.write(b"write", vec![3; 5_000], QUANTUM, now);
        while client.take_output().is_some() {}
        client.receive(if flags & 1 == 0 { SSS } else { SLS }, packet, now);
        assert!(std::iter::from_fn(|| client.take_output()).count() <= atp::MAX_PACKETS + 1);
        while let Some(event) = client.take_event() {
            if let ClientEvent::Reply(reply) = event {
                assert!(reply.data.len() <= QUANTUM && reply.written <= QUANTUM);
            }
        }
    }
}

fn steps(mut data: &[u8]) -> impl Iterator<Item = (u8, &[u8])> {
    std::iter::from_fn(move || {
        let ([flags, length], rest) = data.split_first_chunk::<2>()?;
        let (packet, rest) = rest.split_at(usize::from(*length).min(rest.len()));
        data = rest;
        Some((*flags, packet))
    })
}
