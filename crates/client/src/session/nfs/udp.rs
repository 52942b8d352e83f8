//! ONC RPC over UDP, RFC 5531 section 5: a message is a datagram, and a call without an answer is sent again.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs, UdpSocket};
use std::time::{Duration, Instant};

use ::nfs::wire::rpc::xid;

use crate::session::{Reach, Traffic};
use crate::{Error, Result};

/// The most bytes of a read or a write: a datagram has at most 65,507 bytes, and Linux uses up to 32 KiB.
pub(super) const LARGEST: usize = 32 << 10;
/// When a call is sent again.
const AGAIN: Duration = Duration::from_millis(700);
/// The longest datagram.
const MAX_DATAGRAM: usize = 64 << 10;

/// A connected socket and the calls that are not answered yet.
pub(super) struct Datagrams {
    socket: UdpSocket,
    unanswered: Vec<(u32, Vec<u8>)>,
    pub(super) traffic: Traffic,
    timeout: Duration,
}

impl Datagrams {
    pub(super) fn connect(address: &str, reach: &Reach) -> Result<Self> {
        if reach.detour.is_some() {
            return Err(Error::Unsupported("UDP over a link of --link"));
        }
        let unreachable = |error| Error::Unreachable(address.to_owned(), error);
        let none = || unreachable(io::Error::new(io::ErrorKind::NotFound, "the name has no address"));
        let server = address.to_socket_addrs().map_err(unreachable)?.next().ok_or_else(none)?;
        let own: SocketAddr = match server {
            SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
            SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
        };
        let socket = UdpSocket::bind(own).map_err(unreachable)?;
        socket.connect(server).map_err(unreachable)?;
        Ok(Self { socket, unanswered: Vec::new(), traffic: Traffic::default(), timeout: reach.timeout })
    }

    pub(super) fn send(&mut self, call: Vec<u8>) -> io::Result<()> {
        self.socket.send(&call)?;
        self.traffic.sent += call.len() as u64;
        self.unanswered.push((xid(&call), call));
        Ok(())
    }

    /// The next answer. An answer that comes twice is ignored.
    pub(super) fn receive(&mut self) -> io::Result<Vec<u8>> {
        let deadline = Instant::now() + self.timeout;
        let mut datagram = vec![0; MAX_DATAGRAM];
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(io::ErrorKind::TimedOut.into());
            }
            self.socket.set_read_timeout(Some(left.min(AGAIN)))?;
            match self.socket.recv(&mut datagram) {
                Ok(length) => {
                    self.traffic.received += length as u64;
                    let number = xid(&datagram[..length]);
                    if let Some(at) = self.unanswered.iter().position(|(xid, _)| *xid == number) {
                        self.unanswered.swap_remove(at);
                        datagram.truncate(length);
                        return Ok(datagram);
                    }
                }
                Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                    for (_, call) in &self.unanswered {
                        self.socket.send(call)?;
                        self.traffic.sent += call.len() as u64;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lost_call_is_sent_again_and_a_second_answer_is_ignored() {
        let server = UdpSocket::bind("127.0.0.1:0").unwrap();
        let address = server.local_addr().unwrap().to_string();
        let reach = Reach::direct(Duration::from_secs(5));
        let mut client = Datagrams::connect(&address, &reach).unwrap();
        client.send(vec![0, 0, 0, 7, 1]).unwrap();
        let answering = std::thread::spawn(move || {
            let mut call = [0; 16];
            server.recv_from(&mut call).unwrap(); // lost
            let (length, from) = server.recv_from(&mut call).unwrap();
            for _ in 0..2 {
                server.send_to(&call[..length], from).unwrap();
            }
            let (length, _) = server.recv_from(&mut call).unwrap();
            server.send_to(&call[..length], from).unwrap();
        });
        assert_eq!(client.receive().unwrap(), [0, 0, 0, 7, 1]);
        client.send(vec![0, 0, 0, 8]).unwrap();
        assert_eq!(client.receive().unwrap(), [0, 0, 0, 8]);
        answering.join().unwrap();
        assert_eq!(client.traffic.received, 5 + 5 + 4);
    }
}
