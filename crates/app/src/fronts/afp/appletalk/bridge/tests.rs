//! A workstation at one side, and the test as the AFP server at the other; without a network.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Receiver, channel};

use afp::wire::dsi::Command;
use appletalk::Address;
use appletalk::asp::{Client, ClientEvent, Server, SocketPair};

use super::*;

const WORKSTATION: Endpoint = Endpoint::new(Address::new(2, 17), 250);
const LISTENING: Endpoint = Endpoint::new(Address::new(2, 1), 128);

struct Scene {
    bridge: Bridge,
    workstation: Client,
    /// The AFP server's ends.
    accepted: Receiver<(OwnedFd, AppleTalkClient)>,
    now: Instant,
}

impl Scene {
    fn new() -> Self {
        let (sender, accepted) = channel();
        let server = Server::new(SocketPair { listening: 128, session: 129 }, 4, 0);
        let adopt: Adopt = Box::new(move |end, client| sender.send((end, client)).is_ok());
        let workstation = Client::new(WORKSTATION, LISTENING, 0);
        Self { bridge: Bridge::new(server, adopt), workstation, accepted, now: Instant::now() }
    }

    /// Everything that is on its way arrives. Returns what the workstation is told.
    fn exchange(&mut self) -> Vec<ClientEvent> {
        loop {
            let all: Vec<SessionHandle> = self.bridge.sockets().map(|(handle, ..)| handle).collect();
            all.into_iter().for_each(|handle| self.bridge.receive(handle, self.now));
            let mut is_quiet = true;
            while let Some(out) = self.bridge.asp.take_output() {
                assert_eq!(out.destination, WORKSTATION);
                self.workstation.receive(out.source, &out.payload, self.now);
                is_quiet = false;
            }
            while let Some(out) = self.workstation.take_output() {
                self.bridge.asp.receive(out.source, out.destination, &out.payload, self.now);
                is_quiet = false;
            }
            self.bridge.take_events(self.now);
            if is_quiet {
                return std::iter::from_fn(|| self.workstation.take_event()).collect();
            }
        }
    }

    /// Opens a session; returns the AFP server's end of it, whose DSI session is open.
    fn open(&mut self) -> (UnixStream, AppleTalkClient) {
        self.workstation.open(self.now).unwrap();
        assert_eq!(self.exchange(), [ClientEvent::Opened(Ok(()))]);
        let (end, client) = self.accepted.try_recv().unwrap();
        let mut end = UnixStream::from(end);
        assert_eq!(frame(&mut end), (Command::OPEN_SESSION.0, 0, 0, Vec::new()));
        (end, client)
    }
}

/// The next frame of the bridge: command, number, offset of the data, payload.
fn frame(end: &mut UnixStream) -> (u8, u8, u8, Vec<u8>) {
    let mut head = [0; 16];
    end.read_exact(&mut head).unwrap();
    let mut payload = vec![0; usize::from(head[10]) << 8 | usize::from(head[11])];
    end.read_exact(&mut payload).unwrap();
    assert_eq!((head[0], head[2]), (0, 0), "a request");
    (head[1], head[3], head[7], payload)
}

fn send(end: &mut UnixStream, is_reply: u8, command: Command, (id, code): (u8, i32), payload: &[u8]) {
    let head =
        [&[is_reply, command.0, 0, id][..], &code.to_be_bytes(), &[0, 0, 0, payload.len() as u8, 0, 0, 0, 0]];
    end.write_all(&head.concat()).unwrap();
    end.write_all(payload).unwrap();
}

fn replied(events: Vec<ClientEvent>) -> (i32, Vec<u8>) {
    match &events[..] {
        [ClientEvent::Reply(reply)] => (reply.result, reply.data.clone()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_command_goes_to_afp_and_its_result_comes_back() {
    let mut scene = Scene::new();
    let (mut afp, client) = scene.open();
    assert_eq!((client.network, client.node, client.socket), (2, 17, 250));
    for (id, code) in [(1, 0), (2, -5019)] {
        scene.workstation.command(b"a command", QUANTUM, scene.now).unwrap();
        assert_eq!(scene.exchange(), []);
        assert_eq!(frame(&mut afp), (Command::COMMAND.0, id, 0, b"a command".to_vec()));
        send(&mut afp, 1, Command::COMMAND, (id, code), b"result");
        assert_eq!(replied(scene.exchange()), (code, b"result".to_vec()));
    }
}

#[test]
fn the_data_of_a_write_follow_its_command() {
    let mut scene = Scene::new();
    let (mut afp, _) = scene.open();
    let data: Vec<u8> = (0..QUANTUM).map(|at| at as u8).collect();
    scene.workstation.write(b"write", data.clone(), QUANTUM, scene.now).unwrap();
    assert_eq!(scene.exchange(), []);
    assert_eq!(frame(&mut afp), (Command::WRITE.0, 1, 5, [&b"write"[..], &data].concat()));
    send(&mut afp, 1, Command::WRITE, (1, 0), &[0, 0, 0x12, 0x10]);
    assert_eq!(replied(scene.exchange()), (0, vec![0, 0, 0x12, 0x10]));
}

#[test]
fn a_shutdown_is_announced_before_the_session_ends() {
    let mut scene = Scene::new();
    let (mut afp, _) = scene.open();
    send(&mut afp, 0, Command::ATTENTION, (0, 0), &[0x80, 0]);
    drop(afp);
    assert_eq!(scene.exchange(), [ClientEvent::Attention(0x8000), ClientEvent::Closed]);
    assert_eq!((scene.bridge.len(), scene.bridge.asp.sessions().count()), (0, 0));
}

#[test]
fn a_session_ends_although_its_workstation_is_silent() {
    let mut scene = Scene::new();
    let (mut afp, _) = scene.open();
    send(&mut afp, 0, Command::ATTENTION, (0, 0), &[0x80, 0]);
    drop(afp);
    let all: Vec<SessionHandle> = scene.bridge.sockets().map(|(handle, ..)| handle).collect();
    all.into_iter().for_each(|handle| scene.bridge.receive(handle, scene.now));
    assert_eq!((scene.bridge.len(), scene.bridge.sockets().count()), (1, 0));
    scene.bridge.tick(scene.now + LAST_ATTENTION);
    assert_eq!(scene.bridge.len(), 0);
}

#[test]
fn the_tickles_of_afp_are_answered_here() {
    let mut scene = Scene::new();
    let (mut afp, _) = scene.open();
    send(&mut afp, 0, Command::TICKLE, (0, 0), &[]);
    assert_eq!(scene.exchange(), []);
    assert_eq!(frame(&mut afp).0, Command::TICKLE.0);
}

#[test]
fn afp_hears_that_a_workstation_has_ended_its_session() {
    let mut scene = Scene::new();
    let (mut afp, _) = scene.open();
    scene.workstation.close(scene.now).unwrap();
    assert_eq!(scene.exchange(), [ClientEvent::Closed]);
    assert_eq!(frame(&mut afp).0, Command::CLOSE_SESSION.0);
    assert_eq!(afp.read(&mut [0]).unwrap(), 0);
}

#[test]
fn afp_hears_of_a_workstation_that_has_vanished() {
    let mut scene = Scene::new();
    let (mut afp, _) = scene.open();
    scene.bridge.tick(scene.now + asp::SESSION_TIMEOUT);
    assert_eq!(frame(&mut afp).0, Command::CLOSE_SESSION.0);
    assert_eq!((afp.read(&mut [0]).unwrap(), scene.bridge.len()), (0, 0));
}

#[test]
fn a_session_that_afp_does_not_take_is_closed() {
    let mut scene = Scene::new();
    scene.bridge.adopt = Box::new(|_, _| false);
    scene.workstation.open(scene.now).unwrap();
    assert_eq!(scene.exchange(), [ClientEvent::Opened(Ok(())), ClientEvent::Closed]);
}
