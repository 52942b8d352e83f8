//! What the kernel knows of single TCP connections: round trips, losses, what waits. It is asked by netlink, sock_diag(7), which
//! needs neither the socket nor a privilege. A question costs about two microseconds, and nothing on the way of a request.

mod tcp_info;

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink, recv, send, socket_with,
};

pub use tcp_info::TcpInfo;

/// `SOCK_DIAG_BY_FAMILY`, linux/sock_diag.h.
const BY_FAMILY: u16 = 20;
/// `NLMSG_ERROR`, linux/netlink.h.
const ERROR: u16 = 2;
/// `NLM_F_REQUEST`.
const REQUEST: u16 = 1;
/// `INET_DIAG_INFO`, linux/inet_diag.h: the attribute with a `struct tcp_info`, and its bit in a request.
const INFO: u16 = 2;
const WANTS_INFO: u8 = 1 << (INFO - 1);
/// `INET_DIAG_NOCOOKIE`: any socket with these addresses.
const NO_COOKIE: [u8; 8] = [0xFF; 8];
/// Bytes of a `struct nlmsghdr`, of a `struct inet_diag_req_v2` and of a `struct inet_diag_msg`.
const HEADER: usize = 16;
const QUESTION: usize = 56;
const MESSAGE: usize = 72;
/// The longest message of the kernel that is taken. One about a connection has some 400 bytes.
const LONGEST: usize = 4096;
/// Messages that are skipped at most, because they belong to earlier questions.
const MOST_SKIPPED: usize = 8;
const AF_INET: u8 = 2;
const AF_INET6: u8 = 10;
const IPPROTO_TCP: u8 = 6;

/// The way to ask.
pub struct SockDiag {
    socket: OwnedFd,
    /// The number of the last question.
    number: u32,
}

impl SockDiag {
    /// Opens it.
    ///
    /// # Errors
    /// The kernel does not have it, or a sandbox forbids it.
    pub fn open() -> io::Result<Self> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, Some(netlink::SOCK_DIAG))?;
        Ok(Self { socket, number: 0 })
    }

    /// What the kernel knows of the connection between these addresses; `None` if it is not there.
    ///
    /// # Errors
    /// The kernel does not answer.
    pub fn tcp_info(&mut self, local: SocketAddr, remote: SocketAddr) -> io::Result<Option<TcpInfo>> {
        self.number = self.number.wrapping_add(1);
        send(&self.socket, &question(self.number, local, remote), SendFlags::empty())?;
        let mut message = [0; LONGEST];
        for _ in 0..MOST_SKIPPED {
            let (length, _) = recv(&self.socket, &mut message[..], RecvFlags::DONTWAIT)?;
            match answer(&message[..length.min(LONGEST)], self.number) {
                KernelAnswer::Other => {}
                KernelAnswer::Connection(info) => return Ok(Some(info)),
                KernelAnswer::Refused(code) if code == -Errno::NOENT.raw_os_error() => return Ok(None),
                KernelAnswer::Refused(code) => return Err(io::Error::from_raw_os_error(-code)),
            }
        }
        Err(io::ErrorKind::InvalidData.into())
    }
}

/// A request for one connection, with its number.
fn question(number: u32, local: SocketAddr, remote: SocketAddr) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(HEADER + QUESTION);
    bytes.extend_from_slice(&((HEADER + QUESTION) as u32).to_ne_bytes());
    bytes.extend_from_slice(&BY_FAMILY.to_ne_bytes());
    bytes.extend_from_slice(&REQUEST.to_ne_bytes());
    bytes.extend_from_slice(&number.to_ne_bytes());
    bytes.extend_from_slice(&[0; 4]); // our port id: the kernel gives one
    let family = if local.is_ipv4() { AF_INET } else { AF_INET6 };
    bytes.extend_from_slice(&[family, IPPROTO_TCP, WANTS_INFO, 0]);
    bytes.extend_from_slice(&u32::MAX.to_ne_bytes()); // all states
    bytes.extend_from_slice(&local.port().to_be_bytes());
    bytes.extend_from_slice(&remote.port().to_be_bytes());
    for address in [local.ip(), remote.ip()] {
        let mut padded = [0; 16];
        match address {
            IpAddr::V4(address) => padded[..4].copy_from_slice(&address.octets()),
            IpAddr::V6(address) => padded = address.octets(),
        }
        bytes.extend_from_slice(&padded);
    }
    // A connection to a link-local address belongs to an interface.
    let interface = match local {
        SocketAddr::V6(local) => local.scope_id(),
        SocketAddr::V4(_) => 0,
    };
    bytes.extend_from_slice(&interface.to_ne_bytes());
    bytes.extend_from_slice(&NO_COOKIE);
    bytes
}

/// What a message of the kernel says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KernelAnswer {
    /// Nothing about the question.
    Other,
    /// The number of an error, negative as the kernel has it.
    Refused(i32),
    /// The connection.
    Connection(TcpInfo),
}

/// Reads a message of the kernel, which may be the answer to the question of this number.
#[must_use]
pub fn answer(message: &[u8], number: u32) -> KernelAnswer {
    let u16_at = |at: usize| Some(u16::from_ne_bytes(message.get(at..at + 2)?.try_into().ok()?));
    let u32_at = |at: usize| Some(u32::from_ne_bytes(message.get(at..at + 4)?.try_into().ok()?));
    if u32_at(8) != Some(number) {
        return KernelAnswer::Other;
    }
    match u16_at(4) {
        Some(ERROR) => {
            u32_at(HEADER).map_or(KernelAnswer::Other, |code| KernelAnswer::Refused(code.cast_signed()))
        }
        Some(BY_FAMILY) => {
            let attributes = message.get(HEADER + MESSAGE..).unwrap_or_default();
            let info = attribute(attributes, INFO).and_then(TcpInfo::decode);
            info.map_or(KernelAnswer::Other, KernelAnswer::Connection)
        }
        _ => KernelAnswer::Other,
    }
}

/// The value of an attribute of this type, linux/netlink.h: length and type, then the value, padded to four bytes.
fn attribute(mut bytes: &[u8], wanted: u16) -> Option<&[u8]> {
    const HEAD: usize = 4;
    while bytes.len() >= HEAD {
        let length = usize::from(u16::from_ne_bytes([bytes[0], bytes[1]]));
        let kind = u16::from_ne_bytes([bytes[2], bytes[3]]);
        let value = bytes.get(HEAD..length)?;
        if kind == wanted {
            return Some(value);
        }
        bytes = bytes.get(length.next_multiple_of(4)..)?;
    }
    None
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn the_kernel_tells_of_a_connection_what_it_has_carried() {
        let Ok(mut diag) = SockDiag::open() else {
            return eprintln!("skipped: this sandbox has no sock_diag");
        };
        for address in ["127.0.0.1:0", "[::1]:0"] {
            let Ok(listener) = TcpListener::bind(address) else { continue };
            let mut near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let mut far = listener.accept().unwrap().0;
            near.write_all(&[7; 1000]).unwrap();
            far.read_exact(&mut [0; 1000]).unwrap();
            let of = |diag: &mut SockDiag, end: &TcpStream| {
                diag.tcp_info(end.local_addr().unwrap(), end.peer_addr().unwrap())
            };
            let Ok(info) = of(&mut diag, &near) else { return eprintln!("skipped: no inet_diag") };
            let info = info.expect("it is connected");
            assert!(
                info.data_segments_out >= 1 && info.send_segment >= 536 && info.path_mtu >= 576,
                "{info:?}"
            );
            assert_eq!(info.retransmitted, 0);
            assert!(of(&mut diag, &far).unwrap().expect("it is connected").data_segments_in >= 1);
            let nobody = SocketAddr::new(near.local_addr().unwrap().ip(), 1);
            assert_eq!(diag.tcp_info(nobody, nobody).unwrap(), None, "no such connection");
        }
    }

    #[test]
    fn an_attribute_that_is_longer_than_the_message_is_none() {
        assert_eq!(attribute(&[200, 0, 2, 0, 1], 2), None);
        assert_eq!(attribute(&[0, 0, 1, 0, 1, 2, 3, 4], 2), None, "shorter than its own head");
        let two = [5_u16.to_ne_bytes(), 8_u16.to_ne_bytes()].concat();
        let two = [two, vec![1, 0, 0, 0], [6_u16.to_ne_bytes(), 2_u16.to_ne_bytes()].concat(), vec![7, 8]];
        assert_eq!(attribute(&two.concat(), 2), Some(&[7, 8][..]));
    }

    #[test]
    fn an_answer_to_another_question_is_not_taken() {
        let mut refused = vec![0; HEADER + 4];
        refused[4..6].copy_from_slice(&ERROR.to_ne_bytes());
        refused[8..12].copy_from_slice(&9_u32.to_ne_bytes());
        refused[HEADER..].copy_from_slice(&(-2_i32).to_ne_bytes());
        assert_eq!(answer(&refused, 9), KernelAnswer::Refused(-2));
        assert_eq!(answer(&refused, 8), KernelAnswer::Other);
        assert_eq!(answer(&refused[..10], 9), KernelAnswer::Other);
    }
}
