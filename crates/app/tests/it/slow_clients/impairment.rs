//! Networks with a fault, made by this process: packets are lost, late, or wait for each other. The kernel's netem does the same, but not
//! every kernel has it.
//!
//! ```text
//! VXLAN device of the hub ─UDP─► socket in the client's namespace ─► VXLAN device of the client
//!                            ◄── socket in the hub's namespace ◄─UDP─
//! ```
//!
//! A VXLAN device sends each packet in a datagram (RFC 7348) to an address where a socket of ours takes it, and hands it on.

use std::collections::VecDeque;
use std::io;
use std::net::{Ipv4Addr, SocketAddrV4, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::{Duration, Instant};

use super::networks::enter;
use crate::bench::links::run;

/// Ports of the devices. Each pair has two.
const FIRST_PORT: usize = 47_000;
/// The packets of the overlay, so that they fit into those of the cable.
const MTU: &str = "1400";
/// How often a thread looks whether it is to end.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// Packets longer than this carry data; shorter ones acknowledge.
const WITH_DATA: usize = 500;

/// What a network does to packets, in both directions.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Impairment {
    /// The time on the way.
    pub(super) delay: Duration,
    /// Packets with data that are lost, of a thousand.
    pub(super) lost: u64,
    /// Bytes per second, and how many bytes wait at most until the rest is lost. 0: no limit.
    pub(super) rate: usize,
    pub(super) queue: usize,
    /// Stations share the air: the mean time until it is free, for up to 64 packets at once.
    pub(super) contention: Duration,
    /// The bytes per second of a port that is half duplex, while the server's is not. A packet of the server that comes while one of
    /// the client is on the cable is lost. 0: both are full duplex.
    pub(super) half_duplex: usize,
}

/// Two VXLAN devices, and the threads between them, which end with it.
pub(super) struct Overlay(Arc<AtomicBool>);

impl Drop for Overlay {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Overlay {
    /// The name of the device of a pair, in both namespaces.
    pub(super) fn device(number: usize) -> String {
        format!("vx{number}")
    }

    /// Makes the devices in the namespaces of hub and client, which have these addresses.
    pub(super) fn begin(
        number: usize,
        [hub, client]: [&str; 2],
        [near, far]: [&str; 2],
        impairment: Impairment,
    ) -> io::Result<Self> {
        let (of_hub, of_client) = (FIRST_PORT + 2 * number, FIRST_PORT + 2 * number + 1);
        let device = Self::device(number);
        for (namespace, remote, port) in [(hub, far, of_hub), (client, near, of_client)] {
            let port = port.to_string();
            let link =
                ["ip", "-n", namespace, "link", "add", &device, "type", "vxlan", "id", "7", "nolearning"];
            let there = ["remote", remote, "dstport", &port];
            let mtu = ["ip", "-n", namespace, "link", "set", &device, "mtu", MTU];
            if !run(&[&link[..], &there].concat()) || !run(&mtu) {
                return Err(io::ErrorKind::Unsupported.into());
            }
        }
        let overlay = Self(Arc::default());
        let on_air = Arc::new(Mutex::new(Instant::now()));
        // A device listens at the port that it sends to. So the socket that takes its packets is in the other namespace.
        for (namespace, at, from, to, is_down) in
            [(client, far, of_hub, of_client, true), (hub, near, of_client, of_hub, false)]
        {
            let socket = socket_in(namespace, &format!("{at}:{from}"))?;
            let to = SocketAddrV4::new(Ipv4Addr::LOCALHOST, to as u16);
            let way =
                Way { impairment, is_down, on_air: on_air.clone(), random: 0x9E37_79B9 + number as u64 };
            let (packets, due) = mpsc::channel();
            let (taking, ends) = (socket.try_clone()?, overlay.0.clone());
            std::thread::spawn(move || take(&taking, way, &packets, &ends));
            std::thread::spawn(move || deliver(&socket, to, &due));
        }
        Ok(overlay)
    }
}

/// A socket of a namespace that this thread is not in.
fn socket_in(namespace: &str, address: &str) -> io::Result<UdpSocket> {
    let opened = std::thread::scope(|scope| {
        let there = scope.spawn(|| {
            enter(namespace)?;
            UdpSocket::bind(address)
        });
        there.join().unwrap_or_else(|_| Err(io::Error::other("a thread in the namespace ended")))
    })?;
    opened.set_read_timeout(Some(LOOK_EVERY))?;
    Ok(opened)
}

type DuePacket = (Instant, Vec<u8>);

/// Takes packets, and decides when they arrive.
fn take(socket: &UdpSocket, mut way: Way, packets: &mpsc::Sender<DuePacket>, ends: &AtomicBool) {
    let mut line = Line::default();
    let mut packet = vec![0; 1 << 16];
    while !ends.load(Ordering::Relaxed) {
        let Ok(length) = socket.recv(&mut packet) else { continue };
        if let Some(due) = way.arrival(&mut line, length, Instant::now())
            && packets.send((due, packet[..length].to_vec())).is_err()
        {
            return;
        }
    }
}

/// Hands packets on when they are due, until no more can come.
fn deliver(socket: &UdpSocket, to: SocketAddrV4, due: &mpsc::Receiver<DuePacket>) {
    while let Ok((at, packet)) = due.recv() {
        std::thread::sleep(at.saturating_duration_since(Instant::now())); // the network's delay
        let _ = socket.send_to(&packet, to); // the test may have removed the device
    }
}

/// One direction.
struct Way {
    impairment: Impairment,
    /// From the server to the client.
    is_down: bool,
    /// Until when packets of the client are on the cable.
    on_air: Arc<Mutex<Instant>>,
    random: u64,
}

/// What waits in front of a line.
#[derive(Default)]
struct Line {
    /// When the line is free, and what waits until then.
    free: Option<Instant>,
    waiting: VecDeque<(Instant, usize)>,
    /// Packets that may still go before others have the air.
    turn: usize,
}

/// Packets that a station sends at once when it has the air.
const AT_ONCE: usize = 64;

impl Way {
    /// When a packet arrives; `None` if it is lost.
    fn arrival(&mut self, line: &mut Line, length: usize, now: Instant) -> Option<Instant> {
        let of = self.impairment;
        if length > WITH_DATA && self.next() % 1000 < of.lost || self.collides(length, now) {
            return None;
        }
        while line.waiting.front().is_some_and(|(at, _)| *at <= now) {
            line.waiting.pop_front();
        }
        let waiting: usize = line.waiting.iter().map(|(_, length)| length).sum();
        if of.queue > 0 && waiting + length > of.queue {
            return None;
        }
        let begin = line.free.map_or(now, |free| free.max(now));
        if line.waiting.is_empty() {
            line.turn = 0;
        }
        let wait = if line.turn == 0 { self.contention() } else { Duration::ZERO };
        line.turn = if line.turn == 0 { AT_ONCE } else { line.turn } - 1;
        let free = begin + wait + time_of(length, of.rate);
        line.free = Some(free);
        line.waiting.push_back((free, length));
        Some(free + of.delay)
    }

    /// Whether a packet meets one of the other direction. The client's port waits and sends again; the server's does not know of it.
    fn collides(&self, length: usize, now: Instant) -> bool {
        let rate = self.impairment.half_duplex;
        if rate == 0 {
            return false;
        }
        let mut until = self.on_air.lock().unwrap_or_else(PoisonError::into_inner);
        if self.is_down {
            return now < *until;
        }
        *until = now.max(*until) + time_of(length, rate);
        false
    }

    /// The time until the air is free: an exponential distribution, eight times its mean at most.
    fn contention(&mut self) -> Duration {
        let part = (self.next() % 1000 + 1) as f64 / 1000.0;
        self.impairment.contention.mul_f64((-part.ln()).min(8.0))
    }

    /// Marsaglia's xorshift: the same numbers in each run.
    fn next(&mut self) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random
    }
}

fn time_of(length: usize, rate: usize) -> Duration {
    if rate == 0 { Duration::ZERO } else { Duration::from_secs_f64(length as f64 / rate as f64) }
}
