//! The dialogs of figures 11-1 to 11-9, byte for byte.

use std::time::{Duration, Instant};

use super::network::{SERVER, SESSION, SLS, SSS, workstation};
use crate::Endpoint;
use crate::asp::{
    Client, ClientEvent, CloseReason, Command, QUANTUM, Reply, Server, ServerEvent, SocketPair,
};

const WSS: u8 = 200;

struct Desk {
    server: Server,
    now: Instant,
}

impl Desk {
    fn new() -> Self {
        let sockets = SocketPair { listening: SLS.socket, session: SESSION };
        Self { server: Server::new(sockets, 64, 0x00ff), now: Instant::now() }
    }

    /// What the server sends when a packet arrives at a socket.
    fn tell(&mut self, socket: u8, bytes: &[u8]) -> Vec<Vec<u8>> {
        self.server.receive(workstation(0), Endpoint::new(SERVER, socket), bytes, self.now);
        self.sent()
    }

    fn sent(&mut self) -> Vec<Vec<u8>> {
        let packets = std::iter::from_fn(|| self.server.take_output());
        packets.map(|packet| packet.payload).collect()
    }

    fn event(&mut self) -> ServerEvent {
        self.server.take_event().expect("an event")
    }

    /// Opens session 1, whose tickles are transaction 0x0100.
    fn opened() -> Self {
        let mut desk = Self::new();
        desk.tell(SLS.socket, &[0x60, 1, 0, 1, 4, WSS, 1, 0]);
        desk.event();
        desk
    }

    fn command(&mut self) -> Command {
        let ServerEvent::Command(command) = self.event() else { panic!("not a command") };
        command
    }
}

#[test]
fn the_status_is_in_packets_of_the_bitmap() {
    let mut desk = Desk::new();
    let request = [0x40, 0xff, 0, 1, 3, 0, 0, 0];
    assert_eq!(desk.tell(SLS.socket, &request), <[Vec<u8>; 0]>::default(), "there is no status yet");
    desk.server.set_status(vec![7; 600]).unwrap();
    let packets = desk.tell(SLS.socket, &request);
    assert_eq!(packets[0], [&[0x80, 0, 0, 1, 0, 0, 0, 0][..], &[7; 578]].concat());
    assert_eq!(packets[1..], [[&[0x90, 1, 0, 1, 0, 0, 0, 0][..], &[7; 22]].concat()]);
    assert_eq!(desk.tell(SLS.socket, &[0x40, 1, 0, 1, 3, 0, 0, 0]).len(), 1);
    assert!(desk.server.set_status(vec![0; QUANTUM + 1]).is_err());
    assert_eq!(desk.server.transactions(), 0);
}

#[test]
fn a_session_is_opened_and_tickled() {
    let mut desk = Desk::new();
    let open = [0x60, 1, 0, 1, 4, WSS, 1, 0];
    let answer = vec![0x90, 0, 0, 1, SESSION, 1, 0, 0];
    let tickle = vec![0x40, 0, 1, 0, 5, 1, 0, 0];
    assert_eq!(desk.tell(SLS.socket, &open), [answer.clone(), tickle.clone()]);
    let ServerEvent::Opened { session, workstation: at } = desk.event() else { panic!("not opened") };
    assert_eq!((session.id(), at), (1, workstation(0)));
    desk.now += Duration::from_secs(1);
    assert_eq!(desk.tell(SLS.socket, &open), [answer], "a duplicate opens nothing");
    assert_eq!(desk.server.take_event(), None);
    desk.now += Duration::from_secs(29);
    desk.server.tick(desk.now);
    assert_eq!(desk.sent(), [tickle], "the same transaction, after 30 seconds");
}

#[test]
fn a_wrong_version_and_a_busy_server_are_errors() {
    let mut desk = Desk::new();
    let version_2 = [0x60, 1, 0, 1, 4, WSS, 2, 0];
    assert_eq!(desk.tell(SLS.socket, &version_2), [[0x90, 0, 0, 1, 0, 0, 0xfb, 0xd6]]); // -1066
    desk.server.set_accepting(false);
    let open = [0x60, 1, 0, 2, 4, WSS, 1, 0];
    assert_eq!(desk.tell(SLS.socket, &open), [[0x90, 0, 0, 2, 0, 0, 0xfb, 0xd1]]); // -1071
    desk.server.set_accepting(true);
    let no_socket = [0x60, 1, 0, 3, 4, 0, 1, 0];
    assert_eq!(desk.tell(SLS.socket, &no_socket), [[0x90, 0, 0, 3, 0, 0, 0xfb, 0xd2]]); // -1070
    assert_eq!((desk.server.take_event(), desk.server.transactions()), (None, 0));
}

#[test]
fn a_command_gets_its_result_and_data() {
    // Figure 11-5.
    let mut desk = Desk::opened();
    let request = [&[0x60, 0b11, 0, 2, 2, 1, 0, 0][..], b"open"].concat();
    assert_eq!(desk.tell(SESSION, &request), <[Vec<u8>; 0]>::default());
    let command = desk.command();
    assert_eq!((command.is_write, &command.block[..], command.room), (false, &b"open"[..], 1_156));
    assert_eq!(desk.server.reply(command.token, -5_023, vec![1; 2_000], desk.now), Ok(1_156));
    let packets = desk.sent();
    assert_eq!(packets[0], [&[0x80, 0, 0, 2, 0xff, 0xff, 0xec, 0x61][..], &[1; 578]].concat());
    assert_eq!(packets[1..], [[&[0x90, 1, 0, 2, 0, 0, 0, 0][..], &[1; 578]].concat()]);
    assert!(desk.server.reply(command.token, 0, Vec::new(), desk.now).is_err(), "it is answered once");
    desk.now += Duration::from_secs(1);
    assert_eq!(desk.tell(SESSION, &[&[0x60, 0b10, 0, 2, 2, 1, 0, 0][..], b"open"].concat()).len(), 1);
    desk.tell(SESSION, &[0xc0, 0, 0, 2, 0, 0, 0, 0]);
    let late = desk.tell(SESSION, &request);
    assert_eq!((late.len(), desk.server.take_event()), (0, None), "page 11-14: a delayed duplicate");
}

#[test]
fn the_data_of_a_write_is_asked_for() {
    // Figure 11-7.
    let mut desk = Desk::opened();
    desk.tell(SESSION, &[&[0x60, 1, 0, 2, 6, 1, 0, 1][..], b"write 600"].concat());
    let write = desk.command();
    assert!(write.is_write);
    desk.server.write_continue(write.token, 600, desk.now).unwrap();
    assert!(desk.server.write_continue(write.token, 600, desk.now).is_err());
    assert_eq!(desk.sent(), [[0x60, 0b11, 1, 1, 7, 1, 0, 1, 0x02, 0x58]]);
    assert!(desk.tell(SESSION, &[&[0x80, 0, 1, 1, 0, 0, 0, 0][..], &[1; 578]].concat()).is_empty());
    let release = [0xc0, 0, 1, 1, 0, 0, 0, 0];
    let more_than_asked = [&[0x90, 1, 1, 1, 0, 0, 0, 0][..], &[2; 100]].concat();
    assert_eq!(desk.tell(SESSION, &more_than_asked), [release]);
    let data = [vec![1; 578], vec![2; 22]].concat();
    assert_eq!(desk.event(), ServerEvent::WriteData { token: write.token, data });
    desk.server.reply(write.token, 0, vec![0, 0, 2, 0x58], desk.now).unwrap();
    assert_eq!(desk.sent(), [[0x90, 0, 0, 2, 0, 0, 0, 0, 0, 0, 2, 0x58]]);
}

#[test]
fn a_write_is_refused_without_its_data() {
    // Figure 11-6.
    let mut desk = Desk::opened();
    desk.tell(SESSION, &[0x60, 1, 0, 2, 6, 1, 0, 1]);
    let write = desk.command();
    desk.server.reply(write.token, -1, Vec::new(), desk.now).unwrap();
    assert_eq!(desk.sent(), [[0x90, 0, 0, 2, 0xff, 0xff, 0xff, 0xff]]);
    assert!(desk.server.write_continue(write.token, 1, desk.now).is_err());
}

#[test]
fn an_attention_is_acknowledged() {
    // Figure 11-8.
    let mut desk = Desk::opened();
    let session = desk.server.sessions().next().unwrap().0;
    assert!(desk.server.attention(session, 0, desk.now).is_err());
    desk.server.attention(session, 0x4000, desk.now).unwrap();
    desk.server.attention(session, 0x8005, desk.now).unwrap();
    assert_eq!(desk.sent(), [[0x40, 1, 1, 1, 8, 1, 0x40, 0]], "one after another");
    let next = desk.tell(SESSION, &[0x90, 0, 1, 1, 0, 0, 0, 0]);
    assert_eq!(next, [[0x40, 1, 1, 2, 8, 1, 0x80, 5]]);
    let done = |code, is_acknowledged| ServerEvent::AttentionDone { session, code, is_acknowledged };
    assert_eq!(desk.event(), done(0x4000, true));
    for _ in 0..6 {
        desk.now += Duration::from_secs(2);
        desk.server.tick(desk.now);
    }
    assert_eq!(desk.event(), done(0x8005, false));
}

#[test]
fn a_workstation_closes_its_session() {
    // Figure 11-2.
    let mut desk = Desk::opened();
    let session = desk.server.sessions().next().unwrap().0;
    desk.tell(SESSION, &[0x60, 1, 0, 2, 2, 1, 0, 0]);
    let token = desk.command().token;
    let close = [0x40, 1, 0, 3, 1, 1, 0, 0];
    let answer = [0x90, 0, 0, 3, 0, 0, 0, 0];
    assert_eq!(desk.tell(SESSION, &close), [answer]);
    assert_eq!(desk.event(), ServerEvent::Closed { session, reason: CloseReason::Workstation });
    assert!(desk.server.reply(token, 0, Vec::new(), desk.now).is_err());
    desk.now += Duration::from_secs(1);
    assert_eq!(desk.tell(SESSION, &close), [answer], "the answer was lost");
    desk.now += Duration::from_secs(60);
    desk.server.tick(desk.now);
    assert_eq!((desk.sent().len(), desk.server.deadline()), (0, None), "no tickles are left");
}

#[test]
fn a_server_closes_a_session() {
    // Figure 11-3.
    let mut desk = Desk::opened();
    let session = desk.server.sessions().next().unwrap().0;
    desk.sent();
    desk.server.close(session, desk.now).unwrap();
    assert!(desk.server.close(session, desk.now).is_err());
    let close = [0x40, 1, 1, 1, 1, 1, 0, 0];
    assert_eq!(desk.sent(), [close]);
    desk.now += Duration::from_secs(1);
    desk.server.tick(desk.now);
    assert_eq!(desk.sent(), [close]);
    desk.tell(SESSION, &[0x90, 0, 1, 1, 0, 0, 0, 0]);
    assert_eq!((desk.server.take_event(), desk.server.deadline().is_some()), (None, true));
    desk.server.tick(desk.now + Duration::from_secs(60));
    assert_eq!(desk.server.transactions(), 0);
}

/// What a client has sent.
fn sent(client: &mut Client) -> Vec<Vec<u8>> {
    std::iter::from_fn(|| client.take_output()).map(|packet| packet.payload).collect()
}

#[test]
fn a_workstation_sends_what_the_figures_show() {
    let (mut client, now) = (Client::new(workstation(0), SLS, 0), Instant::now());
    client.status(now).unwrap();
    assert_eq!(sent(&mut client), [[0x40, 0xff, 0, 1, 3, 0, 0, 0]]);
    client.receive(SLS, &[0x90, 0, 0, 1, 0, 0, 0, 0, b'x'], now);
    assert_eq!(client.take_event(), Some(ClientEvent::Status(Some(b"x".to_vec()))));
    client.open(now).unwrap();
    assert_eq!(sent(&mut client), [[0x60, 1, 0, 2, 4, WSS, 1, 0]]);
    client.receive(SLS, &[0x90, 0, 0, 2, SESSION, 9, 0, 0], now);
    assert_eq!(sent(&mut client), [[0xc0, 0, 0, 2, 0, 0, 0, 0], [0x40, 0, 0, 3, 5, 9, 0, 0]]);
    assert_eq!(client.take_event(), Some(ClientEvent::Opened(Ok(()))));
    client.write(b"w", b"data".to_vec(), 0, now).unwrap();
    assert_eq!(sent(&mut client), [[0x60, 1, 0, 4, 6, 9, 0, 0, b'w']]);
    client.receive(SSS, &[0x60, 1, 0x77, 1, 7, 9, 0, 0, 0, 3], now);
    assert_eq!(sent(&mut client), [[0x90, 0, 0x77, 1, 0, 0, 0, 0, b'd', b'a', b't']]);
    client.receive(SSS, &[0x90, 0, 0, 4, 0, 0, 0, 5], now);
    let reply = Reply { result: 5, data: Vec::new(), is_cut: false, written: 3 };
    assert_eq!(client.take_event(), Some(ClientEvent::Reply(reply)));
    sent(&mut client);
    client.receive(SSS, &[0x40, 1, 0x77, 2, 8, 9, 0x40, 0], now);
    assert_eq!(sent(&mut client), [[0x90, 0, 0x77, 2, 0, 0, 0, 0]]);
    assert_eq!(client.take_event(), Some(ClientEvent::Attention(0x4000)));
    client.command(b"c", 578, now).unwrap();
    assert_eq!(sent(&mut client), [[0x60, 0b11, 0, 5, 2, 9, 0, 1, b'c']], "one packet more, page 11-37");
    client.receive(SSS, &[0x40, 1, 0x77, 3, 1, 9, 0, 0], now);
    assert_eq!(sent(&mut client), [[0x90, 0, 0x77, 3, 0, 0, 0, 0]]);
    assert_eq!((client.take_event(), client.session_id()), (Some(ClientEvent::Closed), None));
    assert!(client.command(b"c", 0, now).is_err());
}

#[test]
fn a_reply_that_is_too_long_is_known_as_cut() {
    for (room, length, is_cut) in
        [(578, 578, false), (578, 579, true), (600, 601, true), (4_624, 5_000, false)]
    {
        let mut desk = Desk::opened();
        let (mut client, now) = (Client::new(workstation(0), SLS, 0), desk.now);
        client.open(now).unwrap();
        client.receive(SLS, &[0x90, 0, 0, 1, SESSION, 1, 0, 0], now);
        client.command(b"c", room, now).unwrap();
        for packet in sent(&mut client) {
            desk.tell(SESSION, &packet);
        }
        let token = desk.command().token;
        desk.server.reply(token, 0, vec![1; length], now).unwrap();
        for packet in desk.sent() {
            client.receive(SSS, &packet, now);
        }
        client.take_event();
        let Some(ClientEvent::Reply(reply)) = client.take_event() else { panic!("no reply") };
        assert_eq!((reply.is_cut, reply.data.len()), (is_cut, length.min(room)));
    }
}
