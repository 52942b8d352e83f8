//! The client of AFP against a server of ASP, both in memory.

use std::io::{self, Read, Write};
use std::time::Instant;

use afp::client::Client;
use afp::wire::dsi::Command;
use appletalk::asp::{self, Server, ServerEvent, SocketPair};
use appletalk::{Address, Endpoint};
use wire::Writer;

use super::AspFrames;

const WORKSTATION: Endpoint = Endpoint::new(Address::new(3, 7), 200);
const SLS: Endpoint = Endpoint::new(Address::new(4, 9), 129);

/// A server that answers a command with its own bytes, and a write with how many bytes it got. A command `x` ends the session.
struct Echo {
    frames: AspFrames,
    server: Server,
    written: Vec<u8>,
}

impl Echo {
    fn new() -> Self {
        let mut server = Server::new(SocketPair { listening: 129, session: 130 }, 4, 9);
        server.set_status(b"status".to_vec()).unwrap();
        let frames = AspFrames::new(asp::Client::new(WORKSTATION, SLS, 5));
        Self { frames, server, written: Vec::new() }
    }

    fn run(&mut self) {
        let now = Instant::now();
        loop {
            let mut is_quiet = true;
            while let Some(packet) = self.frames.take_output() {
                is_quiet = false;
                self.server.receive(packet.source, packet.destination, &packet.payload, now);
            }
            while let Some(event) = self.server.take_event() {
                is_quiet = false;
                match event {
                    ServerEvent::Command(command) if command.is_write => {
                        self.server.write_continue(command.token, asp::QUANTUM, now).unwrap();
                    }
                    ServerEvent::Command(command) if command.block == b"x" => {
                        self.server.close(command.token.session, now).unwrap();
                    }
                    ServerEvent::Command(command) => {
                        self.server.attention(command.token.session, 0x2000, now).unwrap();
                        self.server.reply(command.token, -5_000, command.block, now).unwrap();
                    }
                    ServerEvent::WriteData { token, data } => {
                        self.server.reply(token, data.len() as i32, Vec::new(), now).unwrap();
                        self.written.extend(data);
                    }
                    _ => {}
                }
            }
            while let Some(packet) = self.server.take_output() {
                is_quiet = false;
                let _ = self.frames.receive(packet.source, &packet.payload, now);
            }
            if is_quiet {
                return;
            }
        }
    }
}

impl Read for Echo {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.run();
        self.frames.read(buffer).map_err(io::Error::other)
    }
}

impl Write for Echo {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.frames.write(bytes, Instant::now()).map_err(io::Error::other)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn frames_of_afp_are_calls_of_asp() {
    let mut client = Client::open(Echo::new()).unwrap();
    assert_eq!(client.status().unwrap(), b"status");
    let echo = client.call(7, |w| w.put(b"seven")).unwrap();
    assert_eq!((echo.code().0, &echo.payload[..]), (-5_000, &b"\x07seven"[..]));
    let write = client.call_with_data(33, |w: &mut Writer| w.u8(0), &[5; 1_000]).unwrap();
    assert_eq!((write.code().0, client.link().written.len()), (1_000, 1_000));
    let attention = client.unasked.iter().map(|frame| (frame.header.command, &frame.payload[..]));
    assert_eq!(attention.collect::<Vec<_>>(), [(Command::ATTENTION, &[0x20, 0][..])]);
    assert!(client.ask(Command::CLOSE_SESSION, 0, &[]).is_ok());
    assert!(client.call(7, |_| ()).is_err());
}

#[test]
fn a_session_that_ends_fails_the_call() {
    let mut client = Client::open(Echo::new()).unwrap();
    assert!(client.call(b'x', |_| ()).is_err());
    assert!(client.call(7, |_| ()).is_err());
}
