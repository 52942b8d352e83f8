//! Ports for programs that must be told one. Tests of other crates include this file, too.

use std::io;
use std::net::{Ipv4Addr, TcpListener, UdpSocket};
use std::sync::atomic::{AtomicU16, Ordering};

/// Ports below those that Linux gives to sockets that ask for any (`ip_local_port_range`). A connection of another program does not get
/// such a port before the program listens that it was chosen for.
const PORTS: std::ops::Range<u16> = 10_000..32_768;
/// The ports from the first one of a process to the first one of the process with the next id.
const APART: u32 = 97;

static NEXT: AtomicU16 = AtomicU16::new(0);

/// A port, of TCP and of UDP, on which no program listens now, at any address. A process gets each port once.
pub(crate) fn free_port() -> io::Result<u16> {
    let count = PORTS.end - PORTS.start;
    let first = (std::process::id().wrapping_mul(APART) % u32::from(count)) as u16;
    let is_free = |port: &u16| {
        let any = (Ipv4Addr::UNSPECIFIED, *port);
        TcpListener::bind(any).is_ok() && UdpSocket::bind(any).is_ok()
    };
    let next = || PORTS.start + (first + NEXT.fetch_add(1, Ordering::Relaxed) % count) % count;
    (0..count).map(|_| next()).find(is_free).ok_or_else(|| io::ErrorKind::AddrInUse.into())
}
