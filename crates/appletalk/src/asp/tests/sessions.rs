//! Rules of sessions: order, silence, limits, ends.

use std::time::Duration;

use super::network::{FAIR, FOUL, Happened, Network, SESSION, SLS, SSS, Weather, workstation};
use crate::asp::{
    ClientEvent, CloseReason, Command, MAX_SESSIONS_OF_NODE, MAX_WAITING_ATTENTIONS, MAX_WAITING_COMMANDS,
    Server, ServerEvent, SessionHandle, SocketPair,
};
use crate::wire::asp::Error;
use crate::{Address, Endpoint};

fn commands(happened: Happened) -> Vec<Command> {
    let command = |event| match event {
        ServerEvent::Command(command) => Some(command),
        _ => None,
    };
    happened.at_server.into_iter().filter_map(command).collect()
}

fn first_session(server: &Server) -> SessionHandle {
    server.sessions().next().expect("a session").0
}

#[test]
fn tickles_keep_an_idle_session_for_a_day() {
    // Three tickles must not be lost in a row.
    let mut network = Network::new(3, 5, Weather { lost: 10, ..FOUL });
    network.open_all();
    let happened = network.run(Duration::from_secs(86_400));
    assert!(happened.at_server.is_empty() && happened.at_clients.is_empty());
    // Both ends of three sessions, every 30 seconds.
    assert!(network.sent < 2 * 3 * 86_400 / 30 * 11 / 10);
}

#[test]
fn a_pulled_cable_ends_a_session_in_two_minutes() {
    let mut network = Network::new(1, 5, FAIR);
    network.open_all();
    network.run(Duration::from_secs(300));
    let session = first_session(&network.server);
    network.weather = Weather { lost: 1_000, ..FAIR };
    let happened = network.run(Duration::from_secs(89));
    assert!(happened.at_server.is_empty() && happened.at_clients.is_empty());
    let happened = network.run(Duration::from_secs(33));
    assert_eq!(happened.at_server, [ServerEvent::Closed { session, reason: CloseReason::TimedOut }]);
    assert_eq!(happened.at_clients, [(0, ClientEvent::Closed)]);
    network.run(Duration::from_secs(600));
    assert_eq!((network.server.transactions(), network.server.deadline()), (0, None));
}

#[test]
fn a_long_command_is_not_executed_again() {
    let mut network = Network::new(1, 5, FOUL);
    network.open_all();
    let now = network.now;
    network.clients[0].command(b"slow", 4_624, now).unwrap();
    let mut commands = commands(network.run(Duration::from_secs(3_000)));
    assert_eq!(commands.len(), 1);
    let now = network.now;
    network.server.reply(commands.remove(0).token, 7, Vec::new(), now).unwrap();
    let happened = network.run(Duration::from_secs(30));
    assert!(matches!(&happened.at_clients[..], [(0, ClientEvent::Reply(reply))] if reply.result == 7));
}

#[test]
fn a_server_that_closes_ends_the_command() {
    let mut network = Network::new(1, 5, FAIR);
    network.open_all();
    let now = network.now;
    network.clients[0].command(b"slow", 0, now).unwrap();
    let token = commands(network.run(Duration::from_secs(1))).remove(0).token;
    let now = network.now;
    network.server.close(token.session, now).unwrap();
    assert!(network.server.reply(token, 0, Vec::new(), now).is_err());
    let happened = network.run(Duration::from_secs(1));
    assert_eq!((happened.at_clients, happened.at_server), (vec![(0, ClientEvent::Closed)], Vec::new()));
}

#[test]
fn a_workstation_closes_and_opens_again() {
    let mut network = Network::new(1, 5, FAIR);
    network.open_all();
    let first = first_session(&network.server);
    let now = network.now;
    network.clients[0].close(now).unwrap();
    let happened = network.run(Duration::from_secs(1));
    assert_eq!(happened.at_clients, [(0, ClientEvent::Closed)]);
    network.open_all();
    let second = first_session(&network.server);
    assert!(first != second && first.id() != second.id(), "a late packet must not meet another session");
}

#[test]
fn a_lost_server_is_no_server() {
    let mut network = Network::new(1, 5, Weather { lost: 1_000, ..FAIR });
    let now = network.now;
    network.clients[0].open(now).unwrap();
    let happened = network.run(Duration::from_secs(60));
    assert_eq!(happened.at_clients, [(0, ClientEvent::Opened(Err(Error::NO_SERVER)))]);
    let now = network.now;
    network.clients[0].status(now).unwrap();
    assert_eq!(network.run(Duration::from_secs(60)).at_clients, [(0, ClientEvent::Status(None))]);
}

#[test]
fn sessions_are_limited_in_all_and_for_each_node() {
    let mut network = Network::new(0, 5, FAIR);
    let mut open = |node: u8, socket: u8| {
        let source = Endpoint::new(Address::new(3, node), socket);
        network.server.receive(source, SLS, &[0x60, 1, 0, socket, 4, socket, 1, 0], network.now);
        let error = network.server.take_output().unwrap().payload[6..8].to_vec();
        while network.server.take_output().is_some() {}
        error == [0, 0]
    };
    let of_one_node = (1..100).filter(|socket| open(1, *socket)).count();
    assert_eq!(of_one_node, MAX_SESSIONS_OF_NODE);
    let of_others = (2..250).filter(|node| open(*node, 1)).count();
    assert_eq!(of_one_node + of_others, 64);
    assert_eq!(network.server.sessions().count(), 64);
}

/// Gives requests to the server: transaction, name and number of a command. Returns the names of the commands that it announces.
fn requests(network: &mut Network, requests: &[(u16, u8, u16)]) -> Vec<u8> {
    let announced = announced(network, requests);
    announced.iter().map(|command| command.block[0]).collect()
}

fn announced(network: &mut Network, requests: &[(u16, u8, u16)]) -> Vec<Command> {
    for (tid, name, sequence) in requests {
        let [tid, tid_low] = tid.to_be_bytes();
        let [high, low] = sequence.to_be_bytes();
        let request = [0x60, 1, tid, tid_low, 2, 1, high, low, *name];
        network.server.receive(workstation(0), SSS, &request, network.now);
    }
    let at_server = std::iter::from_fn(|| network.server.take_event()).collect();
    commands(Happened { at_server, at_clients: Vec::new() })
}

fn with_session() -> Network {
    let mut network = Network::new(1, 5, FAIR);
    network.open_all();
    network.run(Duration::from_secs(1));
    network
}

#[test]
fn commands_are_numbered_from_zero_or_one() {
    for first in [0, 1] {
        let mut network = with_session();
        assert_eq!(requests(&mut network, &[(500, b'a', first)]), b"a");
    }
    let mut network = with_session();
    assert_eq!(requests(&mut network, &[(500, b'a', 2), (501, b'b', 0xffff)]), b"");
}

#[test]
fn numbers_wrap_around_after_65535() {
    let mut network = with_session();
    for count in 0..=70_000_u32 {
        let number = count as u16;
        let command = announced(&mut network, &[(number, b'a', number)]).remove(0);
        network.server.reply(command.token, 0, Vec::new(), network.now).unwrap();
        while network.server.take_output().is_some() {}
        let [high, low] = number.to_be_bytes();
        network.server.receive(workstation(0), SSS, &[0xc0, 0, high, low, 0, 0, 0, 0], network.now);
    }
}

#[test]
fn commands_wait_for_the_one_in_flight() {
    let mut network = with_session();
    let burst: Vec<_> = (0..20).map(|n| (500 + n, b'a' + n as u8, n)).collect();
    let (mut waiting, mut seen) = (announced(&mut network, &burst), Vec::new());
    while let Some(command) = waiting.pop() {
        assert!(waiting.is_empty(), "one at a time");
        seen.push(command.block[0]);
        network.server.reply(command.token, 0, Vec::new(), network.now).unwrap();
        waiting = announced(&mut network, &[]);
    }
    assert_eq!((seen.len(), &seen[..]), (1 + MAX_WAITING_COMMANDS, &b"abcde"[..]));
    assert_eq!(requests(&mut network, &[(600, b'f', 5)]), b"f", "what had no room is sent again");
}

#[test]
fn a_number_out_of_order_waits_for_its_turn() {
    let mut network = with_session();
    assert_eq!(requests(&mut network, &[(500, b'b', 2)]), b"");
    let first = announced(&mut network, &[(501, b'a', 1)]).remove(0);
    network.server.reply(first.token, 0, Vec::new(), network.now).unwrap();
    assert_eq!(requests(&mut network, &[(500, b'b', 2)]), b"b");
}

#[test]
fn attentions_are_limited_and_never_twice() {
    let mut network = with_session();
    let session = first_session(&network.server);
    let mut taken = 0;
    for code in 1..100 {
        taken += usize::from(network.server.attention(session, code, network.now).is_ok());
    }
    assert_eq!(taken, 1 + MAX_WAITING_ATTENTIONS);
    network.weather = FOUL;
    let happened = network.run(Duration::from_secs(60));
    let codes: Vec<_> = happened.at_clients.iter().map(|(_, event)| event.clone()).collect();
    assert_eq!(codes, (1..=5).map(ClientEvent::Attention).collect::<Vec<_>>());
}

#[test]
fn a_workstation_may_send_from_any_socket_of_its_node() {
    let mut network = with_session();
    let other_socket = Endpoint { socket: 77, ..workstation(0) };
    network.server.receive(other_socket, SSS, &[0x60, 1, 0, 1, 2, 1, 0, 0, b'x'], network.now);
    let Some(ServerEvent::Command(command)) = network.server.take_event() else { panic!("no command") };
    network.server.reply(command.token, 0, Vec::new(), network.now).unwrap();
    assert_eq!(network.server.take_output().unwrap().destination, other_socket);
}

#[test]
fn one_socket_can_be_both() {
    let sockets = SocketPair { listening: SESSION, session: SESSION };
    let (mut server, now) = (Server::new(sockets, 64, 0), std::time::Instant::now());
    server.receive(workstation(0), SSS, &[0x60, 1, 0, 1, 4, 200, 1, 0], now);
    server.receive(workstation(0), SSS, &[0x60, 1, 0, 2, 2, 1, 0, 0], now);
    let events: Vec<_> = std::iter::from_fn(|| server.take_event()).collect();
    assert!(matches!(events[..], [ServerEvent::Opened { .. }, ServerEvent::Command(_)]));
}
