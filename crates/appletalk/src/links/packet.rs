//! Packet sockets of Linux, packet(7): the calls that rustix does not have. Only this file of the crate has `unsafe`.
#![allow(unsafe_code, reason = "calls of the kernel with structures that rustix does not have")]

use std::os::fd::{AsRawFd, BorrowedFd};

use rustix::io::Errno;

use crate::address::HardwareAddress;

/// An interface that a socket is bound to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Interface {
    pub(super) address: HardwareAddress,
    pub(super) is_ethernet: bool,
}

/// Binds a packet socket to an interface. From now on it receives frames with a length field instead of a type.
pub(super) fn bind(socket: BorrowedFd<'_>, index: u32) -> Result<(), Errno> {
    let address = libc::sockaddr_ll {
        sll_family: libc::AF_PACKET as u16,
        sll_protocol: (libc::ETH_P_802_2 as u16).to_be(),
        sll_ifindex: number(index)?,
        sll_hatype: 0,
        sll_pkttype: 0,
        sll_halen: 0,
        sll_addr: [0; 8],
    };
    // SAFETY: the kernel reads one `sockaddr_ll`, whose size it gets, and keeps no pointer to it.
    let result =
        unsafe { libc::bind(socket.as_raw_fd(), (&raw const address).cast(), size::<libc::sockaddr_ll>()) };
    outcome(result)
}

/// The interface that the socket is bound to.
pub(super) fn interface(socket: BorrowedFd<'_>) -> Result<Interface, Errno> {
    let mut address = libc::sockaddr_ll {
        sll_family: 0,
        sll_protocol: 0,
        sll_ifindex: 0,
        sll_hatype: 0,
        sll_pkttype: 0,
        sll_halen: 0,
        sll_addr: [0; 8],
    };
    let mut length = size::<libc::sockaddr_ll>();
    // SAFETY: the kernel writes at most `length` bytes, the size of the structure. Every value of its bytes is valid.
    let result = unsafe { libc::getsockname(socket.as_raw_fd(), (&raw mut address).cast(), &raw mut length) };
    outcome(result)?;
    let [a, b, c, d, e, f, ..] = address.sll_addr;
    let is_ethernet = address.sll_hatype == libc::ARPHRD_ETHER && address.sll_halen == 6;
    Ok(Interface { address: HardwareAddress([a, b, c, d, e, f]), is_ethernet })
}

/// Whether an interface is up and its cable is plugged in, netdevice(7): any socket of the same network will do.
pub(super) fn is_running(socket: BorrowedFd<'_>, interface: &str) -> Result<bool, Errno> {
    if interface.len() >= libc::IFNAMSIZ {
        return Err(Errno::NODEV);
    }
    let data = libc::__c_anonymous_ifr_ifru { ifru_slave: [0; libc::IFNAMSIZ] };
    let mut request = libc::ifreq { ifr_name: [0; libc::IFNAMSIZ], ifr_ifru: data };
    for (place, byte) in request.ifr_name.iter_mut().zip(interface.bytes()) {
        *place = byte as libc::c_char;
    }
    // SAFETY: the kernel reads and writes one `ifreq`, and keeps no pointer to it.
    let result = unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCGIFFLAGS as _, &raw mut request) };
    outcome(result)?;
    // SAFETY: all of these bytes are initialized, by us or by the kernel, and every value of them is valid.
    let flags = i32::from(unsafe { request.ifr_ifru.ifru_flags });
    let running = libc::IFF_UP | libc::IFF_RUNNING;
    Ok(flags & running == running)
}

/// Lets the interface receive a multicast address as long as the socket exists.
pub(super) fn join(socket: BorrowedFd<'_>, index: u32, group: HardwareAddress) -> Result<(), Errno> {
    membership(socket, libc::PACKET_ADD_MEMBERSHIP, index, group)
}

/// Takes back [`join`].
pub(super) fn leave(socket: BorrowedFd<'_>, index: u32, group: HardwareAddress) -> Result<(), Errno> {
    membership(socket, libc::PACKET_DROP_MEMBERSHIP, index, group)
}

fn membership(
    socket: BorrowedFd<'_>,
    change: libc::c_int,
    index: u32,
    group: HardwareAddress,
) -> Result<(), Errno> {
    let HardwareAddress([a, b, c, d, e, f]) = group;
    let membership = libc::packet_mreq {
        mr_ifindex: number(index)?,
        mr_type: libc::PACKET_MR_MULTICAST as u16,
        mr_alen: 6,
        mr_address: [a, b, c, d, e, f, 0, 0],
    };
    // SAFETY: the kernel reads one `packet_mreq`, whose size it gets, and keeps no pointer to it.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_PACKET,
            change,
            (&raw const membership).cast(),
            size::<libc::packet_mreq>(),
        )
    };
    outcome(result)
}

fn number(index: u32) -> Result<i32, Errno> {
    i32::try_from(index).map_err(|_| Errno::NODEV)
}

fn size<T>() -> libc::socklen_t {
    size_of::<T>() as libc::socklen_t
}

fn outcome(result: i32) -> Result<(), Errno> {
    match result {
        0 => Ok(()),
        _ => Err(Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO)),
    }
}
