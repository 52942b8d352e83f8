//! A bridge for tests with other projects' programs (`cargo xtask interop appletalk`): it takes their connections over TCP, and each
//! of them becomes a session of ASP with our server. So programs that know only TCP test AFP over AppleTalk, unmodified.
//!
//! ```text
//! afp_spectest ── DSI, TCP ──► listener ─► Session: Blocks ─► AspFrames ─► Stack ─► link ── AppleTalk ──► fourfold
//! ```
//!
//! Usage: `asp_bridge LINK NAME`. It looks for the server of this name, and writes the port at which it listens on the loopback. It
//! ends when its standard input does. Without arguments it does nothing.

mod blocks;
mod session;

use std::collections::VecDeque;
use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use appletalk::links::{self, Link, LinkName};
use appletalk::stack::{LinkKind, Output, PortConfig, PortId, Stack, StackConfig, StackEvent};
use appletalk::{Address, Datagram, DatagramKind, Endpoint, EntityName};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use session::Session;

/// How long the server is looked for.
const LIMIT: Duration = Duration::from_secs(30);
/// From the first transaction of one session to that of the next: sessions with the same numbers at one socket are far apart in time.
const TIDS: u16 = 4099;
/// The most that a turn waits.
const TURN: Duration = Duration::from_millis(200);

type Failure = Box<dyn std::error::Error>;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [link, name] = &words[..] else { return skipped() };
    let Ok(link) = link.parse::<LinkName>() else { return skipped() };
    match bridge(&link, name) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("asp_bridge: {error}");
            ExitCode::FAILURE
        }
    }
}

fn skipped() -> ExitCode {
    eprintln!("skipped: `cargo xtask interop appletalk` runs it with a link and a name");
    ExitCode::SUCCESS
}

fn bridge(link: &LinkName, name: &str) -> Result<(), Failure> {
    let mut bridge = Bridge::new(link)?;
    bridge.find(EntityName::from_text(name, "AFPServer", "*").ok_or("no name")?)?;
    writeln!(std::io::stdout(), "{}", bridge.listener.local_addr()?.port())?;
    while bridge.turn()? {}
    Ok(())
}

/// The node, and the sessions through it.
struct Bridge {
    stack: Stack,
    link: Box<dyn Link>,
    listener: TcpListener,
    server: Endpoint,
    sessions: Vec<Session>,
    /// The first transaction of the next session.
    tid: u16,
    events: VecDeque<StackEvent>,
}

impl Bridge {
    fn new(link: &LinkName) -> Result<Self, Failure> {
        let link = links::open(link)?;
        let kind = link.hardware_address().map_or(LinkKind::LocalTalk, LinkKind::EtherTalk);
        let config = PortConfig { label: link.name().to_string(), link: kind, hint: None, seed: None };
        let random_seed = std::process::id().into();
        let config = StackConfig { ports: vec![config], zone: None, is_router: false, random_seed };
        let stack = Stack::new(config, Instant::now())?;
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        listener.set_nonblocking(true)?;
        let server = Endpoint::new(Address::default(), 0);
        Ok(Self { stack, link, listener, server, sessions: Vec::new(), tid: 1, events: VecDeque::new() })
    }

    /// Waits until the server has its name, and the stack an address.
    fn find(&mut self, name: EntityName) -> Result<(), Failure> {
        let until = Instant::now() + LIMIT;
        while Instant::now() < until {
            let searched = self.stack.lookup(name.clone(), 1, Instant::now())?;
            let found = loop {
                match self.events.pop_front() {
                    Some(StackEvent::Found { id, names }) if id == searched => break names,
                    Some(_) => {}
                    None => _ = self.turn()?,
                }
            };
            if let Some(found) = found.first() {
                self.server = found.endpoint;
                return Ok(());
            }
        }
        Err("there is no server of this name".into())
    }

    /// Does what is due, and waits. Whether it goes on.
    fn turn(&mut self) -> Result<bool, Failure> {
        let now = Instant::now();
        while let Some(frame) = self.link.receive()? {
            self.stack.receive(PortId(0), frame, now);
        }
        self.stack.tick(now);
        self.accept()?;
        self.carry(now)?;
        let stack = &mut self.stack;
        self.sessions.retain(|session| {
            if session.is_over() {
                stack.close_socket(session.socket);
            }
            !session.is_over()
        });
        self.wait()
    }

    fn accept(&mut self) -> Result<(), Failure> {
        loop {
            match self.listener.accept() {
                Ok((stream, _)) => {
                    let socket = self.stack.open_socket(None)?;
                    self.sessions.push(Session::new(stream, socket, self.server, self.tid)?);
                    self.tid = self.tid.wrapping_add(TIDS);
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Moves what waits between connections, sessions and the link, until nothing does.
    fn carry(&mut self, now: Instant) -> Result<(), Failure> {
        loop {
            let mut is_quiet = true;
            while let Some(output) = self.stack.take_output() {
                is_quiet = false;
                match output {
                    Output::Frame { bytes, .. } => self.link.send(&bytes)?,
                    Output::Join { group, .. } => self.link.join(group)?,
                    Output::Leave { group, .. } => self.link.leave(group)?,
                    Output::Event(event) => self.events.push_back(event),
                    Output::Delivered(datagram) if datagram.kind == DatagramKind::ATP => {
                        let socket = datagram.destination.socket;
                        let session = self.sessions.iter_mut().find(|session| session.socket == socket);
                        session.into_iter().for_each(|session| {
                            session.arrived(datagram.source, &datagram.payload, now);
                        });
                    }
                    Output::Delivered(_) => {}
                }
            }
            for session in &mut self.sessions {
                session.advance(now);
                while let Some(packet) = session.take_output() {
                    is_quiet = false;
                    let (source, destination) = (packet.source, packet.destination);
                    let (kind, payload) = (DatagramKind::ATP, packet.payload);
                    // What cannot be sent now is sent again.
                    let _ = self.stack.send(Datagram { destination, source, hops: 0, kind, payload }, now);
                }
            }
            if is_quiet {
                return Ok(());
            }
        }
    }

    /// Waits until something arrives or is due. False: the standard input has ended.
    fn wait(&mut self) -> Result<bool, Failure> {
        let now = Instant::now();
        let deadlines = self.sessions.iter().filter_map(Session::deadline).chain(self.stack.deadline());
        let until = deadlines.min().map_or(TURN, |at| at.saturating_duration_since(now).min(TURN));
        let until = Timespec::try_from(until)?;
        let (input, writes) = (std::io::stdin(), PollFlags::IN | PollFlags::OUT);
        let flags = |waits: bool| if waits { writes } else { PollFlags::IN };
        let mut ends = vec![
            PollFd::new(&input, PollFlags::IN),
            PollFd::new(&self.link, flags(self.link.has_backlog())),
            PollFd::new(&self.listener, PollFlags::IN),
        ];
        let open = self.sessions.iter().filter(|session| !session.is_closing());
        ends.extend(open.map(|session| PollFd::new(session, flags(session.has_backlog()))));
        poll(&mut ends, Some(&until))?;
        let has_input = !ends[0].revents().is_empty();
        drop(ends);
        self.link.flush()?;
        Ok(!has_input || input.lock().read(&mut [0; 64])? > 0)
    }
}
