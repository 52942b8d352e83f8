//! A node of AppleTalk for tests with other projects' programs (`cargo xtask interop appletalk`). It reads questions from its standard
//! input, a line each, and writes a line for each answer:
//!
//! | question | answer |
//! |---|---|
//! | `state` | `NODE NETWORKS ZONE`, once the node is ready and has its name |
//! | `zones` | the zones that it knows, in order, with `\|` between them |
//! | `find OBJECT:TYPE@ZONE` | the first name that it finds, `OBJECT:TYPE NODE:SOCKET`, or nothing |
//! | `echo NETWORK.NODE` | `yes`, or `no` after five seconds |
//! | `guest NETWORK.NODE:SOCKET` | what a guest of this AFP server does: see `guest.rs` |
//!
//! Usage: `node LINK OBJECT:TYPE [FIRST-LAST ZONE...]`. With networks and zones it is a router. Without arguments it does nothing.

mod guest;

use std::collections::VecDeque;
use std::io::{Read, Write};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use appletalk::links::{self, Link, LinkName};
use appletalk::stack::{LinkKind, Output, PortConfig, SeedNetwork, Stack, StackConfig, StackEvent};
use appletalk::wire::ddp::{Datagram, DatagramKind};
use appletalk::{Address, Endpoint, EntityName, MacName, NetworkRange};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// The socket of the echo protocol.
const ECHO: u8 = 4;
/// How long an answer may take.
const LIMIT: Duration = Duration::from_secs(20);
const ECHO_LIMIT: Duration = Duration::from_secs(5);
/// The most that a turn waits: the next question may have been read already.
const TURN: Duration = Duration::from_millis(200);

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [link, name, seed @ ..] = &words[..] else { return skipped() };
    let (Ok(link), Some(name)) = (link.parse::<LinkName>(), entity(name)) else { return skipped() };
    match serve(&link, name, seed) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("node: {error}");
            ExitCode::FAILURE
        }
    }
}

fn skipped() -> ExitCode {
    eprintln!("skipped: `cargo xtask interop appletalk` runs it with a link and a name");
    ExitCode::SUCCESS
}

type Failure = Box<dyn std::error::Error>;

/// `OBJECT:TYPE@ZONE`; without a zone, it is the node's own.
fn entity(text: &str) -> Option<EntityName> {
    let (object, rest) = text.split_once(':')?;
    let (kind, zone) = rest.split_once('@').unwrap_or((rest, "*"));
    EntityName::from_text(object, kind, zone)
}

/// `NETWORK.NODE`.
fn node(text: &str) -> Option<Address> {
    let (network, number) = text.split_once('.')?;
    Some(Address::new(network.parse().ok()?, number.parse().ok()?))
}

/// `NETWORK.NODE:SOCKET`.
fn endpoint(text: &str) -> Option<Endpoint> {
    let (address, socket) = text.split_once(':')?;
    Some(Endpoint::new(node(address)?, socket.parse().ok()?))
}

/// `FIRST-LAST ZONE...`.
fn seed(words: &[String]) -> Result<Option<SeedNetwork>, Failure> {
    let [range, zones @ ..] = words else { return Ok(None) };
    let (first, last) = range.split_once('-').unwrap_or((range, range));
    let range = NetworkRange::assignable(first.parse()?, last.parse()?).ok_or("no range of networks")?;
    let zones = zones.iter().map(|zone| MacName::from_text(zone)).collect::<Option<_>>();
    Ok(Some(SeedNetwork { range, zones: zones.ok_or("no zone")? }))
}

fn serve(link: &LinkName, name: EntityName, seed_words: &[String]) -> Result<(), Failure> {
    let mut node = Node::new(links::open(link)?, name, seed(seed_words)?)?;
    let mut unread = String::new();
    loop {
        if let Some((question, rest)) = unread.split_once('\n') {
            let (question, rest) = (question.to_owned(), rest.to_owned());
            let mut output = std::io::stdout().lock();
            writeln!(output, "{}", node.answer(&question)?)?;
            output.flush()?;
            unread = rest;
        } else if node.turn(true)? {
            let mut bytes = [0; 1024];
            let length = std::io::stdin().lock().read(&mut bytes)?;
            if length == 0 {
                return Ok(());
            }
            unread.push_str(std::str::from_utf8(&bytes[..length])?);
        }
    }
}

struct Node {
    stack: Stack,
    link: Box<dyn Link>,
    socket: u8,
    is_registered: bool,
    /// What is for the question that is answered now.
    outputs: VecDeque<Output>,
}

impl Node {
    fn new(link: Box<dyn Link>, name: EntityName, seed: Option<SeedNetwork>) -> Result<Self, Failure> {
        let kind = link.hardware_address().map_or(LinkKind::LocalTalk, LinkKind::EtherTalk);
        let port = PortConfig { label: link.name().to_string(), link: kind, hint: None, seed };
        let config = StackConfig {
            is_router: port.seed.is_some(),
            ports: vec![port],
            zone: None,
            random_seed: std::process::id().into(),
        };
        let now = Instant::now();
        let mut stack = Stack::new(config, now)?;
        let socket = stack.open_socket(None)?;
        stack.register(name, socket, now).map_err(|error| format!("{error:?}"))?;
        Ok(Self { stack, link, socket, is_registered: false, outputs: VecDeque::new() })
    }

    /// Does what is due, and waits for frames. Whether there is something to read on the standard input, if that is asked for.
    fn turn(&mut self, with_input: bool) -> Result<bool, Failure> {
        let port = self.stack.ports()[0].port;
        while let Some(frame) = self.link.receive()? {
            self.stack.receive(port, frame, Instant::now());
        }
        self.stack.tick(Instant::now());
        while let Some(output) = self.stack.take_output() {
            match output {
                Output::Frame { bytes, .. } => self.link.send(&bytes)?,
                Output::Join { group, .. } => self.link.join(group)?,
                Output::Leave { group, .. } => self.link.leave(group)?,
                Output::Event(StackEvent::Registered(_)) => self.is_registered = true,
                Output::Event(StackEvent::NameTaken { by, .. }) => {
                    return Err(format!("the name is that of {by}").into());
                }
                other => self.outputs.push_back(other),
            }
        }
        let until = self.stack.deadline().map_or(TURN, |at| at.saturating_duration_since(Instant::now()));
        let until = Timespec::try_from(until.min(TURN))?;
        let input = std::io::stdin();
        let writes = if self.link.has_backlog() { PollFlags::OUT } else { PollFlags::empty() };
        let mut ends =
            vec![PollFd::new(&self.link, PollFlags::IN | writes), PollFd::new(&input, PollFlags::IN)];
        ends.truncate(if with_input { 2 } else { 1 });
        poll(&mut ends, Some(&until))?;
        let is_readable = ends.get(1).is_some_and(|end| !end.revents().is_empty());
        drop(ends);
        self.link.flush()?;
        Ok(is_readable)
    }

    /// Takes turns until `find` has something.
    fn until<T>(
        &mut self,
        limit: Duration,
        mut find: impl FnMut(&mut Self) -> Option<T>,
    ) -> Result<Option<T>, Failure> {
        let deadline = Instant::now() + limit;
        while Instant::now() < deadline {
            if let Some(found) = find(self) {
                return Ok(Some(found));
            }
            self.turn(false)?;
        }
        Ok(None)
    }

    fn answer(&mut self, question: &str) -> Result<String, Failure> {
        let (verb, rest) = question.split_once(' ').unwrap_or((question, ""));
        match verb {
            "state" => Ok(self.until(LIMIT, Self::state)?.unwrap_or_else(|| "not ready".into())),
            "zones" => {
                let known = |node: &mut Self| Some(node.stack.zones()).filter(|zones| !zones.is_empty());
                let zones = self.until(LIMIT, known)?.unwrap_or_default();
                Ok(joined(zones.iter().map(MacName::to_string)))
            }
            "find" => self.find(entity(rest).ok_or("no name")?),
            "echo" => self.echo(rest),
            "guest" => guest::visit(self, endpoint(rest).ok_or("no socket")?),
            _ => Err(format!("there is no question {question:?}").into()),
        }
    }

    fn state(&mut self) -> Option<String> {
        let port =
            self.stack.ports().into_iter().next().filter(|port| port.is_ready && self.is_registered)?;
        Some(format!("{} {} {}", port.address?, port.network?, port.zone?))
    }

    fn find(&mut self, name: EntityName) -> Result<String, Failure> {
        let id = self.stack.lookup(name, 1, Instant::now()).map_err(|error| format!("{error:?}"))?;
        let found = self.until(LIMIT, |node| match node.outputs.pop_front()? {
            Output::Event(StackEvent::Found { id: found, names }) if found == id => Some(names),
            _ => None,
        })?;
        let lines = found.unwrap_or_default().into_iter();
        Ok(joined(lines.map(|one| format!("{}:{} {}", one.name.object, one.name.kind, one.endpoint))))
    }

    fn echo(&mut self, there: &str) -> Result<String, Failure> {
        let request = Datagram {
            destination: Endpoint::new(node(there).ok_or("no node")?, ECHO),
            source: Endpoint::new(Address::default(), self.socket),
            hops: 0,
            kind: DatagramKind::AEP,
            payload: b"\x01Is somebody there?".to_vec(),
        };
        self.stack.send(request, Instant::now())?;
        let heard = self.until(ECHO_LIMIT, |node| match node.outputs.pop_front()? {
            Output::Delivered(reply) if reply.payload == b"\x02Is somebody there?" => Some(()),
            _ => None,
        })?;
        Ok(if heard.is_some() { "yes".into() } else { "no".into() })
    }
}

fn joined(texts: impl Iterator<Item = String>) -> String {
    let mut texts: Vec<String> = texts.collect();
    texts.sort();
    texts.join("|")
}
