//! LToUDP: frames of LocalTalk in UDP multicast, as Mini vMac, Snow and bridges with TashTalk speak it. No privilege is
//! needed. The group's last two bytes are the letters LT.
//!
//! ```text
//! 0                     4
//! | id of the sender    | LLAP frame, without check sequence …
//! ```
//!
//! A sender receives its own datagrams, too, and recognizes them by its id. Programs take their process id; this server
//! takes a random number.

use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::os::fd::{AsFd, BorrowedFd};

use ::wire::{Malformed, Reader};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, netdevice, recv, sendto, sockopt};
use socket2::{Domain, InterfaceIndexOrAddress, Protocol, Socket, Type};

use super::backlog::Backlog;
use super::{Link, LinkCounters, LinkError, LinkName, MAX_LLAP_FRAME, MOST_FOREIGN, ethertalk, is_for_hosts};
use crate::address::HardwareAddress;
use crate::wire::llap::LlapFrame;

/// The multicast group.
const GROUP: Ipv4Addr = Ipv4Addr::new(239, 192, 76, 84);
/// The UDP port.
const PORT: u16 = 1954;
/// The length of the sender's id, in bytes.
const SENDER: usize = 4;
/// Routers do not forward LocalTalk.
const TIME_TO_LIVE: u32 = 1;
/// Frames that wait for the network.
const MOST_WAITING: usize = 1024;
/// Longer than a datagram, so that a longer one is seen to be too long.
const BUFFER: usize = SENDER + MAX_LLAP_FRAME + 64;

/// A datagram of LToUDP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LToUdpDatagram<'a> {
    /// The id of the program that sent it.
    pub sender: [u8; 4],
    /// An LLAP frame.
    pub frame: LlapFrame<'a>,
}

impl<'a> LToUdpDatagram<'a> {
    /// From the payload of UDP.
    ///
    /// # Errors
    /// It has no id, or no frame.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let mut r = Reader::new(bytes);
        let sender = r.array()?;
        Ok(Self { sender, frame: LlapFrame::decode(r.rest())? })
    }
}

/// Where the group is joined: the kernel forgets that with the interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum GroupRoute {
    /// On the interface of the name.
    Interface(u32),
    /// On the one that the host's routes choose: the own address there.
    Chosen(Option<SocketAddr>),
}

/// LocalTalk in UDP multicast.
#[derive(Debug)]
pub struct LToUdpLink {
    name: LinkName,
    socket: Socket,
    route: Option<GroupRoute>,
    sender: [u8; 4],
    buffer: [u8; BUFFER],
    backlog: Backlog,
    counters: LinkCounters,
}

impl LToUdpLink {
    /// Opens LToUDP on an interface, or on the one that the host's routes choose.
    ///
    /// # Errors
    ///
    /// There is no such interface, the host has no route for multicast, or another program has the port for itself.
    pub fn open(interface: Option<&str>) -> Result<Self, LinkError> {
        let name = LinkName::LToUdp { interface: interface.map(str::to_owned) };
        let failed = |what| {
            let name = name.clone();
            move |error: std::io::Error| LinkError::Io { link: name, what, source: error }
        };
        let socket = Socket::new(Domain::IPV4, Type::DGRAM.nonblocking(), Some(Protocol::UDP))
            .map_err(failed("open a socket"))?;
        // Emulators on this host have the same port.
        socket.set_reuse_address(true).map_err(failed("share the port"))?;
        socket.set_reuse_port(true).map_err(failed("share the port"))?;
        // Bound to the group, the socket receives what is sent to the group only.
        let bound = socket.bind(&SocketAddrV4::new(GROUP, PORT).into());
        bound.map_err(|error| of_bind(&name, error))?;
        socket.set_multicast_all_v4(false).map_err(failed("choose its groups"))?;
        socket.set_multicast_ttl_v4(TIME_TO_LIVE).map_err(failed("limit the way of datagrams"))?;
        let index = match interface {
            None => 0,
            Some(wanted) => netdevice::name_to_index(&socket, wanted)
                .map_err(|_| ethertalk::no_interface(&name, wanted, socket.as_fd()))?,
        };
        if index != 0 {
            let any = Ipv4Addr::UNSPECIFIED;
            sockopt::set_ip_multicast_if_with_ifindex(&socket, &any, &any, index)
                .map_err(|error| failed("choose the interface")(error.into()))?;
        }
        let joined = socket.join_multicast_v4_n(&GROUP, &InterfaceIndexOrAddress::Index(index));
        joined.map_err(|error| of_join(&name, error))?;
        let mut sender = [0; SENDER];
        let no_random = |error: getrandom::Error| std::io::Error::other(error.to_string());
        getrandom::fill(&mut sender).map_err(no_random).map_err(failed("choose an id"))?;
        let route = group_route(&socket, interface);
        Ok(Self {
            name,
            socket,
            route,
            sender,
            buffer: [0; BUFFER],
            backlog: Backlog::new(MOST_WAITING),
            counters: LinkCounters::default(),
        })
    }

    fn transmit(socket: &Socket, datagram: &[u8]) -> Result<usize, Errno> {
        sendto(socket, datagram, SendFlags::NOSIGNAL, &SocketAddrV4::new(GROUP, PORT))
    }
}

/// `None`: there is no such interface, or no route.
fn group_route(socket: &Socket, interface: Option<&str>) -> Option<GroupRoute> {
    match interface {
        Some(name) => netdevice::name_to_index(socket, name).ok().map(GroupRoute::Interface),
        None => {
            let probe = Socket::new(Domain::IPV4, Type::DGRAM, Some(Protocol::UDP)).ok()?;
            probe.connect(&SocketAddrV4::new(GROUP, PORT).into()).ok()?;
            let own = probe.local_addr().ok()?.as_socket().map(|own| SocketAddr::new(own.ip(), 0));
            Some(GroupRoute::Chosen(own))
        }
    }
}

fn of_bind(link: &LinkName, error: std::io::Error) -> LinkError {
    match Errno::from_io_error(&error) {
        Some(Errno::ADDRINUSE) => LinkError::PortTaken { link: link.clone(), port: PORT },
        _ => LinkError::Io { link: link.clone(), what: "bind the port", source: error },
    }
}

fn of_join(link: &LinkName, error: std::io::Error) -> LinkError {
    match (link, Errno::from_io_error(&error)) {
        (LinkName::LToUdp { interface: None }, Some(Errno::NODEV | Errno::NETUNREACH)) => {
            LinkError::NoRoute { link: link.clone() }
        }
        _ => LinkError::Io { link: link.clone(), what: "join the multicast group", source: error },
    }
}

impl AsFd for LToUdpLink {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Link for LToUdpLink {
    fn name(&self) -> &LinkName {
        &self.name
    }

    fn hardware_address(&self) -> Option<HardwareAddress> {
        None
    }

    fn send(&mut self, frame: &[u8]) -> Result<(), LinkError> {
        let most = MAX_LLAP_FRAME;
        if frame.len() > most {
            return Err(LinkError::Unsendable { link: self.name.clone(), length: frame.len(), most });
        }
        if !self.backlog.push([&self.sender[..], frame].concat()) {
            self.counters.lost += 1;
            return Ok(());
        }
        self.flush()
    }

    fn join(&mut self, _: HardwareAddress) -> Result<(), LinkError> {
        Ok(())
    }

    fn leave(&mut self, _: HardwareAddress) -> Result<(), LinkError> {
        Ok(())
    }

    fn receive(&mut self) -> Result<Option<&[u8]>, LinkError> {
        for _ in 0..MOST_FOREIGN {
            let length = match recv(&self.socket, &mut self.buffer[..], RecvFlags::TRUNC) {
                Ok((_, length)) => length,
                Err(Errno::AGAIN) => return Ok(None),
                Err(Errno::INTR | Errno::CONNREFUSED) => continue,
                Err(error) => return Err(LinkError::of_use(&self.name, "receive", error)),
            };
            let Ok(datagram) = LToUdpDatagram::decode(self.buffer.get(..length).unwrap_or_default()) else {
                self.counters.malformed += 1;
                continue;
            };
            if datagram.sender != self.sender && is_for_hosts(&datagram.frame) {
                self.counters.received += 1;
                return Ok(Some(&self.buffer[SENDER..length]));
            }
        }
        Ok(None)
    }

    fn has_backlog(&self) -> bool {
        !self.backlog.is_empty()
    }

    fn flush(&mut self) -> Result<(), LinkError> {
        let (sent, outcome) = self.backlog.flush(|datagram| Self::transmit(&self.socket, datagram));
        self.counters.sent += sent;
        match outcome {
            Ok(()) => Ok(()),
            Err(error) => {
                self.counters.lost += 1;
                // The queue of the interface is full.
                if error == Errno::NOBUFS {
                    Ok(())
                } else {
                    Err(LinkError::of_use(&self.name, "send", error))
                }
            }
        }
    }

    fn check(&mut self) -> Result<(), LinkError> {
        let LinkName::LToUdp { interface } = &self.name else { return Ok(()) };
        match group_route(&self.socket, interface.as_deref()) == self.route {
            true => Ok(()),
            false => Err(LinkError::Gone { link: self.name.clone() }),
        }
    }

    fn counters(&self) -> LinkCounters {
        self.counters
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::llap::LlapKind;

    #[test]
    fn a_datagram_is_the_id_of_its_sender_and_a_frame() {
        let enquiry = LlapFrame { destination: 7, source: 7, kind: LlapKind::ENQUIRY, data: &[] };
        let datagram = LToUdpDatagram { sender: [0, 0, 0x12, 0x34], frame: enquiry };
        assert_eq!(LToUdpDatagram::decode(&[0, 0, 0x12, 0x34, 7, 7, 0x81]), Ok(datagram));
    }

    #[test]
    fn a_datagram_without_a_frame_is_refused() {
        assert!(LToUdpDatagram::decode(&[1, 2, 3]).is_err());
        assert!(LToUdpDatagram::decode(&[1, 2, 3, 4, 0xFF, 7]).is_err());
    }
}
