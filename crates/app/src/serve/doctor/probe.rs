//! Which packets reach a client: tried when segments of a connection vanish.
//!
//! A datagram of a certain size goes to a port of the client at which nothing listens, and may not be divided on the way (RFC
//! 8899 calls this probing). If it arrives, the client's host answers that the port is closed (ICMP, RFC 1122 4.1.3.1), and the
//! socket is refused. A host whose firewall answers nothing tells nothing.

use std::io::{self, ErrorKind};
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::time::Duration;

use conn::diag::TcpInfo;
use rustix::net::sockopt::{
    Ipv4PathMtuDiscovery, Ipv6PathMtuDiscovery, set_ip_mtu_discover, set_ipv6_mtu_discover,
};

/// The port that traceroute uses: nothing listens there.
const PORT: u16 = 33_434;
/// Attempts for each size. Hosts answer a few times at once, and then once a second.
const ATTEMPTS: usize = 3;
const ANSWER_WITHIN: Duration = Duration::from_millis(500);
/// The smallest packets that are tried: those that every path carries, RFC 791 and RFC 8200 section 5.
const LEAST: (u32, u32) = (576, 1280);
/// Bytes of the headers of IP and UDP.
const HEADERS: (u32, u32) = (28, 48);
/// Attempts to send the same data again, without an answer, after which packets may be vanishing.
const VANISHING: u8 = 2;

/// The largest packet that reaches a client, and the size that this end sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PathSize {
    pub(super) passes: u32,
    pub(super) sent: u32,
}

/// Whether segments of a connection may vanish because of their size: data are sent again and again, and nothing comes back. Data that
/// a filter of this machine drops are not sent at all, and tried again in the same way. A client that was switched off looks the
/// same, and so does one that takes nothing, until they are tried.
pub(super) fn is_suspicious(path: &TcpInfo) -> bool {
    path.backoff >= VANISHING && (path.unacknowledged > 0 || path.not_sent > 0) && path.path_mtu > LEAST.1
}

/// Tries which packets reach a host. `None`: it does not answer even to small ones.
pub(super) fn largest(client: IpAddr, sent: u32) -> Option<PathSize> {
    let mut path = PathProbe::open(client).ok()?;
    search(if client.is_ipv4() { LEAST.0 } else { LEAST.1 }, sent, &mut |size| path.passes(size))
}

/// The largest size that passes: by halves. `least` must pass.
fn search(least: u32, sent: u32, passes: &mut dyn FnMut(u32) -> bool) -> Option<PathSize> {
    if !passes(least) {
        return None;
    }
    let (mut low, mut high) = (least, sent.max(least));
    if passes(high) {
        return Some(PathSize { passes: high, sent });
    }
    while high - low > 1 {
        let middle = u32::midpoint(low, high);
        if passes(middle) { low = middle } else { high = middle }
    }
    Some(PathSize { passes: low, sent })
}

struct PathProbe {
    socket: UdpSocket,
    headers: u32,
}

impl PathProbe {
    fn open(client: IpAddr) -> io::Result<Self> {
        let any: IpAddr = match client {
            IpAddr::V4(_) => std::net::Ipv4Addr::UNSPECIFIED.into(),
            IpAddr::V6(_) => std::net::Ipv6Addr::UNSPECIFIED.into(),
        };
        let socket = UdpSocket::bind(SocketAddr::new(any, 0))?;
        socket.set_read_timeout(Some(ANSWER_WITHIN))?;
        // Not divided, and whatever the host believes of the path.
        match client {
            IpAddr::V4(_) => set_ip_mtu_discover(&socket, Ipv4PathMtuDiscovery::PROBE)?,
            IpAddr::V6(_) => set_ipv6_mtu_discover(&socket, Ipv6PathMtuDiscovery::PROBE)?,
        }
        socket.connect(SocketAddr::new(client, PORT))?;
        Ok(Self { socket, headers: if client.is_ipv4() { HEADERS.0 } else { HEADERS.1 } })
    }

    /// Whether a packet of this size arrives.
    fn passes(&mut self, size: u32) -> bool {
        let data = vec![0; size.saturating_sub(self.headers) as usize];
        for _ in 0..ATTEMPTS {
            match self.socket.send(&data) {
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::ConnectionRefused => return true, // the answer to the one before
                Err(_) => return false, // longer than this end's interface sends
            }
            match self.socket.recv(&mut [0; 16]) {
                Err(error) if error.kind() == ErrorKind::ConnectionRefused => return true,
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
                _ => return false,
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_size_that_passes_is_found_to_the_byte() {
        for limit in [576, 1279, 1472, 1500, 8999] {
            let mut tried = 0;
            let found = search(576, 9000, &mut |size| {
                tried += 1;
                size <= limit
            });
            assert_eq!(found, Some(PathSize { passes: limit, sent: 9000 }));
            assert!(tried <= 16, "{tried}");
        }
        assert_eq!(search(576, 1500, &mut |_| true), Some(PathSize { passes: 1500, sent: 1500 }));
        assert_eq!(search(576, 1500, &mut |_| false), None, "a host that says nothing");
    }

    #[test]
    fn data_that_are_sent_again_and_again_are_suspicious() {
        let vanishing = TcpInfo { backoff: 3, unacknowledged: 4, path_mtu: 9000, ..TcpInfo::default() };
        assert!(is_suspicious(&vanishing));
        assert!(!is_suspicious(&TcpInfo { backoff: 0, ..vanishing }), "a client that acknowledges");
        assert!(!is_suspicious(&TcpInfo { unacknowledged: 0, ..vanishing }), "nothing waits");
        // As Linux 6.18 tells of READ replies that iptables drops on their way out: backoff 3, 2,664,320 bytes not sent.
        assert!(is_suspicious(&TcpInfo { unacknowledged: 0, not_sent: 2_664_320, ..vanishing }));
    }

    #[test]
    fn every_size_reaches_this_machine() {
        let found = largest([127, 0, 0, 1].into(), 1500);
        if let Some(found) = found {
            assert_eq!(found.passes, 1500); // else its firewall answers nothing
        }
    }
}
