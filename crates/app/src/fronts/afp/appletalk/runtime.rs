//! The work of the thread: polls links, sessions and orders, and moves what has arrived.

use std::os::fd::OwnedFd;
use std::sync::mpsc::{Receiver, Sender};
use std::time::{Duration, Instant};

use admin::settings::AppleTalkSettings;
use appletalk::asp::{self, SessionHandle, SocketPair};
use appletalk::links::InterfaceMonitor;
use appletalk::stack::Output;
use appletalk::{Datagram, DatagramKind, PortId};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use super::bridge::Bridge;
use super::cables::Cable;
use super::network::Network;
use super::{Order, Work, report};

/// The sockets of the server: for its name and its sessions. Both are of those that are assigned dynamically.
pub(super) const SOCKETS: SocketPair = SocketPair { listening: 129, session: 130 };
/// How long the end waits for workstations to hear of it.
const GOODBYE: Duration = Duration::from_millis(1500);
/// How long the thread rests when the system refuses to poll.
const BROKEN_PAUSE: Duration = Duration::from_millis(100);

/// Everything that the thread has.
pub(super) struct Runtime {
    pub(super) work: Work,
    pub(super) cables: Vec<Cable>,
    /// `None`: the kernel does not tell of changes, and links are looked at from time to time.
    interfaces: Option<InterfaceMonitor>,
    /// Interfaces have changed, and the links were not looked at yet.
    has_changed: bool,
    /// `None` until a link is open.
    pub(super) network: Option<Network>,
    pub(super) bridge: Bridge,
    /// The order to stop: when it is carried out at the latest.
    stopping: Option<(Instant, Sender<()>)>,
}

/// What can be used without waiting.
#[derive(Default)]
struct Ready {
    interfaces: bool,
    cables: Vec<usize>,
    sessions: Vec<SessionHandle>,
}

/// Works until the order to stop.
pub(super) fn run(work: Work, orders: &Receiver<Order>, wake: &OwnedFd) {
    let mut runtime = Runtime::new(work);
    runtime.refresh();
    loop {
        let now = Instant::now();
        runtime.connect(now);
        runtime.transfer(now);
        if runtime.is_over(now) {
            return;
        }
        let ready = runtime.wait(wake, now);
        let now = Instant::now();
        runtime.receive(&ready, now);
        while let Ok(order) = orders.try_recv() {
            runtime.obey(order, now); // other settings replace the links, which `ready` numbers
        }
        if let Some(network) = &mut runtime.network {
            network.stack.tick(now);
        }
        runtime.bridge.tick(now);
    }
}

impl Runtime {
    fn new(mut work: Work) -> Self {
        let adopt = std::mem::replace(&mut work.adopt, Box::new(|_, _| false));
        let asp = asp::Server::new(SOCKETS, asp::MAX_SESSIONS, random() as u16);
        Self {
            cables: work.settings.links.iter().cloned().map(Cable::new).collect(),
            interfaces: monitor(),
            has_changed: false,
            work,
            network: None,
            bridge: Bridge::new(asp, adopt),
            stopping: None,
        }
    }

    fn obey(&mut self, order: Order, now: Instant) {
        match order {
            Order::Serve(work) => self.change(work, now),
            Order::Refresh => self.refresh(),
            // Who asked may have given up.
            Order::Report(to) => drop(to.send(report::of(self, now))),
            Order::Stop(done) => {
                self.bridge.asp.set_accepting(false);
                self.stopping = Some((now + GOODBYE, done));
            }
        }
    }

    /// Goes on with other settings. Sessions stay if their links do: a new stack tries the addresses that the ports had first.
    fn change(&mut self, Work { settings, name, .. }: Work, now: Instant) {
        let is_same = |one: &AppleTalkSettings, other: &AppleTalkSettings| {
            *one == AppleTalkSettings { name: one.name.clone(), ..other.clone() }
        };
        let (is_same, is_renamed) = (is_same(&self.work.settings, &settings), self.work.name != name);
        (self.work.settings, self.work.name) = (settings, name);
        if is_renamed {
            tracing::info!(name = self.work.name, "AppleTalk has another name for the server");
            self.refresh();
        }
        match &mut self.network {
            Some(network) if is_same && is_renamed => network.rename(&self.work.name, now),
            _ if is_same => {}
            _ => self.begin_again(now),
        }
    }

    /// Replaces the links and the stack by those of the settings.
    fn begin_again(&mut self, now: Instant) {
        let former =
            self.network.take().map(|network| network.former_ports(&self.cables)).unwrap_or_default();
        let mut cables = std::mem::take(&mut self.cables);
        cables.iter_mut().for_each(|cable| cable.leave_all(now));
        for link in self.work.settings.links.clone() {
            let known = cables.iter().position(|cable| *cable.name() == link);
            self.cables.push(known.map_or_else(|| Cable::new(link), |at| cables.swap_remove(at)));
        }
        for cable in &mut self.cables {
            cable.open(now);
            cable.take_returned(); // all ports are new
        }
        tracing::info!(links = self.cables.len(), "AppleTalk begins again, with other settings");
        self.network = Network::new(&self.work, &self.cables, &former, now);
    }

    /// Takes what workstations are told before a session from the settings of the AFP server.
    fn refresh(&mut self) {
        let block = (self.work.status)(&self.work.name);
        if self.bridge.asp.set_status(block).is_err() {
            tracing::warn!("the server's information is too long for AppleTalk, and stays as it was");
        }
    }

    /// Opens links that are due. The stack gets a port for each one that is new; the port of one that was away begins anew.
    fn connect(&mut self, now: Instant) {
        let mut has_opened = false;
        let has_changed = std::mem::take(&mut self.has_changed);
        for cable in &mut self.cables {
            cable.tick(has_changed, now);
            has_opened |= cable.open(now);
        }
        let returned =
            self.cables.iter_mut().enumerate().filter_map(|(at, cable)| cable.take_returned().then_some(at));
        let returned: Vec<usize> = returned.collect();
        match &mut self.network {
            Some(network) if network.has_all(&self.cables) => {
                let ports: Vec<PortId> = returned.into_iter().filter_map(|at| network.port_of(at)).collect();
                return ports.into_iter().for_each(|port| network.stack.link_returned(port, now));
            }
            _ if !has_opened => return,
            _ => {}
        }
        let former =
            self.network.as_ref().map(|network| network.former_ports(&self.cables)).unwrap_or_default();
        if let Some(network) = Network::new(&self.work, &self.cables, &former, now) {
            self.network = Some(network);
        }
    }

    /// Waits until something can be done.
    fn wait(&self, wake: &OwnedFd, now: Instant) -> Ready {
        enum Place {
            Wake,
            Interfaces,
            Cable(usize),
            Session(SessionHandle),
        }
        let flags = |waits: bool| if waits { PollFlags::IN | PollFlags::OUT } else { PollFlags::IN };
        let mut sockets = vec![(Place::Wake, PollFd::new(wake, PollFlags::IN))];
        if let Some(interfaces) = &self.interfaces {
            sockets.push((Place::Interfaces, PollFd::new(interfaces, PollFlags::IN)));
        }
        for (at, cable) in self.cables.iter().enumerate() {
            if let Some((socket, waits)) = cable.socket(now) {
                sockets.push((Place::Cable(at), PollFd::from_borrowed_fd(socket, flags(waits))));
            }
        }
        for (session, socket, waits) in self.bridge.sockets() {
            sockets.push((Place::Session(session), PollFd::from_borrowed_fd(socket, flags(waits))));
        }
        let (places, mut sockets): (Vec<Place>, Vec<PollFd<'_>>) = sockets.into_iter().unzip();
        let timeout = self.deadline(now).map(|at| at.saturating_duration_since(now));
        let timeout = timeout.and_then(|timeout| Timespec::try_from(timeout).ok());
        match poll(&mut sockets, timeout.as_ref()) {
            Ok(_) => {}
            Err(Errno::INTR) => return Ready::default(),
            Err(error) => {
                tracing::error!(%error, "AppleTalk cannot wait for its links");
                std::thread::sleep(BROKEN_PAUSE);
                return Ready::default();
            }
        }
        let mut ready = Ready::default();
        for (place, _) in places.into_iter().zip(&sockets).filter(|(_, socket)| !socket.revents().is_empty())
        {
            match place {
                Place::Wake => drop(rustix::io::read(wake, &mut [0; 8])), // it counts what is looked for anyway
                Place::Interfaces => ready.interfaces = true,
                Place::Cable(at) => ready.cables.push(at),
                Place::Session(session) => ready.sessions.push(session),
            }
        }
        ready
    }

    fn deadline(&self, now: Instant) -> Option<Instant> {
        let cables = self.cables.iter().filter_map(|cable| cable.deadline(now));
        let stack = self.network.as_ref().and_then(|network| network.stack.deadline());
        let stop = self.stopping.as_ref().map(|(at, _)| *at);
        cables.chain(stack).chain(self.bridge.deadline()).chain(stop).min()
    }

    fn receive(&mut self, ready: &Ready, now: Instant) {
        if ready.interfaces
            && let Some(interfaces) = &self.interfaces
        {
            self.has_changed = interfaces.take_change();
        }
        for &at in &ready.cables {
            let port = self.network.as_ref().and_then(|network| network.port_of(at));
            self.cables[at].flush(now);
            let network = &mut self.network;
            self.cables[at].receive(now, |frame| {
                if let (Some(network), Some(port)) = (network.as_mut(), port) {
                    network.stack.receive(port, frame, now);
                }
            });
        }
        ready.sessions.iter().for_each(|session| self.bridge.receive(*session, now));
    }

    /// Moves datagrams between the stack and the sessions, and frames to the links, until nothing waits.
    fn transfer(&mut self, now: Instant) {
        let Some(network) = &mut self.network else { return };
        loop {
            let mut is_quiet = true;
            while let Some(output) = network.stack.take_output() {
                is_quiet = false;
                match output {
                    Output::Frame { port, bytes } => self.cables[network.cable_of(port)].send(&bytes, now),
                    Output::Join { port, group } => self.cables[network.cable_of(port)].join(group, now),
                    Output::Leave { port, group } => {
                        self.cables[network.cable_of(port)].leave(group, now);
                    }
                    Output::Delivered(datagram) if datagram.kind == DatagramKind::ATP => {
                        let Datagram { source, destination, payload, .. } = datagram;
                        self.bridge.asp.receive(source, destination, &payload, now);
                    }
                    Output::Delivered(_) => {}
                    Output::Event(event) => network.note(event, &self.cables, now),
                }
            }
            self.bridge.take_events(now);
            while let Some(out) = self.bridge.asp.take_output() {
                is_quiet = false;
                let datagram = Datagram {
                    destination: out.destination,
                    source: out.source,
                    hops: 0,
                    kind: DatagramKind::ATP,
                    payload: out.payload,
                };
                if let Err(error) = network.stack.send(datagram, now) {
                    tracing::debug!(%error, destination = %out.destination, "a packet of AppleTalk is lost");
                }
            }
            if is_quiet {
                return;
            }
        }
    }

    /// Ends what is left if the order to stop is due. Answers whether all has ended.
    fn is_over(&mut self, now: Instant) -> bool {
        let Some((until, _)) = &self.stopping else { return false };
        if self.bridge.len() > 0 && now < *until {
            return false;
        }
        self.bridge.end(now);
        self.transfer(now);
        self.cables.iter_mut().for_each(|cable| cable.flush(now));
        true
    }
}

/// What tells of pulled cables at once.
fn monitor() -> Option<InterfaceMonitor> {
    let monitor = InterfaceMonitor::open();
    if let Err(error) = &monitor {
        tracing::warn!(%error, "AppleTalk notices changes of interfaces some seconds later");
    }
    monitor.ok()
}

/// A number that others do not foresee. Without randomness it is 0, which costs at most some retries.
pub(super) fn random() -> u64 {
    let mut bytes = [0; 8];
    let _ = getrandom::fill(&mut bytes);
    u64::from_ne_bytes(bytes)
}
