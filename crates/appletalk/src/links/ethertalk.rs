//! EtherTalk phase 2 on a network interface: a packet socket of Linux. It needs `CAP_NET_RAW` to be opened, and nothing
//! afterwards. A frame that another program of this host sends on the interface is not received: the kernel gives it to
//! the cable only.

use std::collections::BTreeSet;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netdevice, recv, send, socket_with,
};

use super::backlog::Backlog;
use super::{Link, LinkCounters, LinkError, LinkName, MOST_FOREIGN, packet};
use crate::address::HardwareAddress;
use crate::wire::elap::ElapFrame;

/// The longest frame, in bytes: Ethernet's header, LLC and SNAP, the extended header of DDP, 586 bytes of data.
const MAX_FRAME: usize = 14 + 8 + 13 + 586;
/// Frames that wait for the interface: 0.6 MB, the replies of 128 transactions.
const MOST_WAITING: usize = 1024;
/// Longer than a frame, so that a longer one is seen to be too long.
const BUFFER: usize = MAX_FRAME + 64;
/// How many zones' addresses one link receives.
const MOST_GROUPS: usize = 256;
/// How many interfaces an error lists, by their numbers.
const MOST_LISTED: u32 = 64;

/// EtherTalk on one interface.
#[derive(Debug)]
pub struct EtherTalkLink {
    name: LinkName,
    socket: OwnedFd,
    index: u32,
    groups: BTreeSet<HardwareAddress>,
    address: HardwareAddress,
    buffer: [u8; BUFFER],
    backlog: Backlog,
    counters: LinkCounters,
}

impl EtherTalkLink {
    /// Opens EtherTalk on an interface. The multicast address of all nodes is joined.
    ///
    /// # Errors
    ///
    /// There is no such interface, it is no Ethernet, or the capability is missing.
    pub fn open(interface: &str) -> Result<Self, LinkError> {
        let name = LinkName::EtherTalk { interface: interface.to_owned() };
        let of_socket = |error| match error {
            Errno::PERM | Errno::ACCESS => LinkError::NoCapability { link: name.clone() },
            _ => LinkError::of_use(&name, "open a packet socket", error),
        };
        // Without a protocol it receives nothing before it is bound.
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let socket = socket_with(AddressFamily::PACKET, SocketType::RAW, flags, None).map_err(of_socket)?;
        let missing = |_| no_interface(&name, interface, socket.as_fd());
        let index = netdevice::name_to_index(&socket, interface).map_err(missing)?;
        let failed = |error| LinkError::of_use(&name, "bind a packet socket", error);
        packet::bind(socket.as_fd(), index).map_err(failed)?;
        let found = packet::interface(socket.as_fd()).map_err(failed)?;
        if !found.is_ethernet {
            return Err(LinkError::NotEthernet { link: name, interface: interface.to_owned() });
        }
        let mut link = Self {
            name,
            socket,
            index,
            groups: BTreeSet::new(),
            address: found.address,
            buffer: [0; BUFFER],
            backlog: Backlog::new(MOST_WAITING),
            counters: LinkCounters::default(),
        };
        link.join(HardwareAddress::EVERYONE)?;
        Ok(link)
    }

    /// The error of the open link. A removed interface is reported as one that is down.
    fn failure(&self, what: &'static str, error: Errno) -> LinkError {
        match LinkError::of_use(&self.name, what, error) {
            LinkError::Down { link } if self.is_removed() => LinkError::Gone { link },
            other => other,
        }
    }

    /// Whether the interface no longer exists, or is another one of the same name.
    fn is_removed(&self) -> bool {
        let LinkName::EtherTalk { interface } = &self.name else { return false };
        netdevice::name_to_index(&self.socket, interface) != Ok(self.index)
    }

    fn transmit(socket: &OwnedFd, frame: &[u8]) -> Result<usize, Errno> {
        send(socket, frame, SendFlags::NOSIGNAL)
    }
}

/// Whether an interface with this address takes the frame. In promiscuous mode, the socket sees frames for others, too.
fn is_for(frame: &ElapFrame<'_>, own: HardwareAddress) -> bool {
    (frame.destination == own || frame.destination.is_multicast()) && frame.source != own
}

/// The error for an interface that does not exist.
pub(super) fn no_interface(link: &LinkName, interface: &str, socket: BorrowedFd<'_>) -> LinkError {
    let known = (1..=MOST_LISTED).filter_map(|index| netdevice::index_to_name(socket, index).ok());
    let known = known.collect::<Vec<_>>().join(", ");
    LinkError::NoInterface { link: link.clone(), interface: interface.to_owned(), known }
}

impl AsFd for EtherTalkLink {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Link for EtherTalkLink {
    fn name(&self) -> &LinkName {
        &self.name
    }

    fn hardware_address(&self) -> Option<HardwareAddress> {
        Some(self.address)
    }

    fn send(&mut self, frame: &[u8]) -> Result<(), LinkError> {
        let most = MAX_FRAME;
        if frame.len() > most {
            return Err(LinkError::Unsendable { link: self.name.clone(), length: frame.len(), most });
        }
        if !self.backlog.push(frame.to_vec()) {
            self.counters.lost += 1;
            return Ok(());
        }
        self.flush()
    }

    fn join(&mut self, group: HardwareAddress) -> Result<(), LinkError> {
        if self.groups.contains(&group) || self.groups.len() == MOST_GROUPS {
            return Ok(());
        }
        let failed = |error| LinkError::of_use(&self.name, "join a multicast address", error);
        packet::join(self.socket.as_fd(), self.index, group).map_err(failed)?;
        self.groups.insert(group);
        Ok(())
    }

    fn leave(&mut self, group: HardwareAddress) -> Result<(), LinkError> {
        if !self.groups.remove(&group) {
            return Ok(());
        }
        let failed = |error| LinkError::of_use(&self.name, "leave a multicast address", error);
        packet::leave(self.socket.as_fd(), self.index, group).map_err(failed)
    }

    fn receive(&mut self) -> Result<Option<&[u8]>, LinkError> {
        for _ in 0..MOST_FOREIGN {
            let length = match recv(&self.socket, &mut self.buffer[..], RecvFlags::TRUNC) {
                Ok((_, length)) => length,
                Err(Errno::AGAIN) => return Ok(None),
                Err(Errno::INTR) => continue,
                Err(error) => return Err(self.failure("receive", error)),
            };
            // A frame that does not fit is not AppleTalk's.
            let frame = self.buffer.get(..length).unwrap_or_default();
            if ElapFrame::decode(frame).is_ok_and(|frame| is_for(&frame, self.address)) {
                self.counters.received += 1;
                return Ok(Some(&self.buffer[..length]));
            }
        }
        Ok(None)
    }

    fn has_backlog(&self) -> bool {
        !self.backlog.is_empty()
    }

    fn flush(&mut self) -> Result<(), LinkError> {
        let (sent, outcome) = self.backlog.flush(|frame| Self::transmit(&self.socket, frame));
        self.counters.sent += sent;
        match outcome {
            Ok(()) => Ok(()),
            Err(error) => {
                self.counters.lost += 1;
                // The queue of the interface is full.
                if error == Errno::NOBUFS { Ok(()) } else { Err(self.failure("send", error)) }
            }
        }
    }

    fn check(&mut self) -> Result<(), LinkError> {
        let LinkName::EtherTalk { interface } = &self.name else { return Ok(()) };
        let link = self.name.clone();
        match packet::is_running(self.socket.as_fd(), interface) {
            _ if self.is_removed() => Err(LinkError::Gone { link }),
            Ok(true) => Ok(()),
            Ok(false) => Err(LinkError::Down { link }),
            Err(error) => Err(self.failure("look at the interface", error)),
        }
    }

    fn counters(&self) -> LinkCounters {
        self.counters
    }
}
