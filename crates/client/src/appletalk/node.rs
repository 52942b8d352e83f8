//! A workstation on a link, and the stream of its session. Both block.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::time::{Duration, Instant};

use appletalk::asp::Client;
use appletalk::links::{self, Link, LinkName};
use appletalk::nbp::FoundName;
use appletalk::stack::{LinkKind, PortConfig};
use appletalk::{
    Address, Datagram, DatagramKind, Endpoint, EntityName, Output, PortId, Stack, StackConfig, StackEvent,
};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::AspFrames;

/// A node with one link.
#[derive(Debug)]
pub struct Workstation {
    link: Box<dyn Link>,
    stack: Stack,
    arrived: VecDeque<Datagram>,
    events: VecDeque<StackEvent>,
}

impl Workstation {
    /// The most names that a search returns.
    const MOST_NAMES: usize = 64;

    /// Opens a link. The node looks for an address as soon as it is used.
    ///
    /// # Errors
    /// The link cannot be opened.
    pub fn open(name: &LinkName) -> io::Result<Self> {
        let link = links::open(name).map_err(io::Error::other)?;
        let kind = link.hardware_address().map_or(LinkKind::LocalTalk, LinkKind::EtherTalk);
        let port = PortConfig { label: name.to_string(), link: kind, hint: None, seed: None };
        let mut seed = [0; 8];
        getrandom::fill(&mut seed).map_err(io::Error::other)?;
        let random_seed = u64::from_ne_bytes(seed);
        let config = StackConfig { ports: vec![port], zone: None, is_router: false, random_seed };
        let stack = Stack::new(config, Instant::now()).map_err(io::Error::other)?;
        Ok(Self { link, stack, arrived: VecDeque::new(), events: VecDeque::new() })
    }

    /// The services with this name, which may have wildcards.
    ///
    /// # Errors
    /// The link fails, or there is no address and no answer in this time.
    pub fn find(&mut self, name: EntityName, timeout: Duration) -> io::Result<Vec<FoundName>> {
        let now = Instant::now();
        let searched = self.stack.lookup(name, Self::MOST_NAMES, now).map_err(io::Error::other)?;
        loop {
            self.step(now + timeout)?;
            while let Some(event) = self.events.pop_front() {
                match event {
                    StackEvent::Found { id, names } if id == searched => return Ok(names),
                    _ => {}
                }
            }
            if Instant::now() >= now + timeout {
                return Err(io::ErrorKind::TimedOut.into());
            }
        }
    }

    /// A session with the server of this address, as soon as the client of AFP opens one.
    ///
    /// # Errors
    /// There is no free socket.
    pub fn session(mut self, server: Endpoint, timeout: Duration) -> io::Result<AspStream> {
        let socket = self.stack.open_socket(None).map_err(io::Error::other)?;
        let mut tid = [0; 2];
        getrandom::fill(&mut tid).map_err(io::Error::other)?;
        let local = Endpoint::new(Address::default(), socket);
        let client = Client::new(local, server, u16::from_ne_bytes(tid));
        Ok(AspStream { node: self, frames: AspFrames::new(client), socket, timeout })
    }

    /// Does what is due, and waits until something arrives or the time has come.
    fn step(&mut self, until: Instant) -> io::Result<()> {
        self.stack.tick(Instant::now());
        self.carry_out()?;
        if self.arrived.is_empty() && self.events.is_empty() {
            let until = self.stack.deadline().map_or(until, |deadline| deadline.min(until));
            self.wait(until)?;
            let now = Instant::now();
            while let Some(frame) = self.link.receive().map_err(io::Error::other)? {
                self.stack.receive(PortId(0), frame, now);
            }
            self.carry_out()?;
        }
        Ok(())
    }

    fn wait(&mut self, until: Instant) -> io::Result<()> {
        let mut flags = PollFlags::IN;
        flags.set(PollFlags::OUT, self.link.has_backlog());
        let timeout = Timespec::try_from(until.saturating_duration_since(Instant::now())).ok();
        poll(&mut [PollFd::new(&self.link, flags)], timeout.as_ref())?;
        self.link.flush().map_err(io::Error::other)
    }

    fn carry_out(&mut self) -> io::Result<()> {
        while let Some(output) = self.stack.take_output() {
            match output {
                Output::Frame { bytes, .. } => self.link.send(&bytes).map_err(io::Error::other)?,
                Output::Join { group, .. } => self.link.join(group).map_err(io::Error::other)?,
                Output::Leave { .. } => {}
                Output::Delivered(datagram) => self.arrived.push_back(datagram),
                Output::Event(event) => self.events.push_back(event),
            }
        }
        Ok(())
    }
}

/// A session with a server as a stream of DSI's frames.
#[derive(Debug)]
pub struct AspStream {
    node: Workstation,
    frames: AspFrames,
    socket: u8,
    /// How long a read waits.
    timeout: Duration,
}

impl AspStream {
    fn send(&mut self) -> io::Result<()> {
        while let Some(packet) = self.frames.take_output() {
            let (source, destination) = (packet.source, packet.destination);
            let (kind, payload) = (DatagramKind::ATP, packet.payload);
            // What cannot be sent now is sent again.
            let datagram = Datagram { destination, source, hops: 0, kind, payload };
            let _ = self.node.stack.send(datagram, Instant::now());
        }
        self.node.carry_out()
    }

    fn receive(&mut self) -> io::Result<()> {
        self.node.events.clear();
        while let Some(datagram) = self.node.arrived.pop_front() {
            if datagram.kind == DatagramKind::ATP && datagram.destination.socket == self.socket {
                let now = Instant::now();
                self.frames.receive(datagram.source, &datagram.payload, now).map_err(io::Error::other)?;
            }
        }
        self.frames.tick(Instant::now()).map_err(io::Error::other)
    }
}

impl Read for AspStream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let end = Instant::now() + self.timeout;
        loop {
            self.send()?;
            let count = self.frames.read(buffer).map_err(io::Error::other)?;
            if count > 0 || buffer.is_empty() {
                return Ok(count);
            }
            if Instant::now() >= end {
                return Err(io::ErrorKind::TimedOut.into());
            }
            self.node.step(self.frames.deadline().map_or(end, |deadline| deadline.min(end)))?;
            self.receive()?;
        }
    }
}

impl Write for AspStream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.frames.write(bytes, Instant::now()).map_err(io::Error::other)?;
        self.send()?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
