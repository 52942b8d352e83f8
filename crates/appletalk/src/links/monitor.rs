//! Changes of the host's interfaces: a cable is pulled out or put in, an interface or an address comes or goes.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{AddressFamily, RecvFlags, SocketFlags, SocketType, bind, recv, socket_with};

/// Groups of rtnetlink(7): interfaces, and addresses of IPv4, by which LToUDP finds its way.
const GROUPS: u32 = (libc::RTMGRP_LINK | libc::RTMGRP_IPV4_IFADDR) as u32;
/// Messages that one call takes.
const MOST_AT_ONCE: usize = 64;

/// A descriptor that can be read when interfaces have changed. [`Link::check`](super::Link::check) says what that means for a link.
#[derive(Debug)]
pub struct InterfaceMonitor(OwnedFd);

impl InterfaceMonitor {
    /// Watches all interfaces of this network namespace. It needs no privilege.
    ///
    /// # Errors
    /// The kernel gives no socket of rtnetlink.
    pub fn open() -> io::Result<Self> {
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let route = None; // NETLINK_ROUTE is 0
        let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, route)?;
        bind(&socket, &SocketAddrNetlink::new(0, GROUPS))?;
        Ok(Self(socket))
    }

    /// Whether something may have changed since the last call. The messages are not looked at: the kernel drops some if there are many.
    pub fn take_change(&self) -> bool {
        let mut has_changed = false;
        for _ in 0..MOST_AT_ONCE {
            match recv(&self.0, &mut [0; 1][..], RecvFlags::TRUNC) {
                Ok(_) | Err(Errno::NOBUFS) => has_changed = true,
                Err(Errno::INTR) => {}
                Err(_) => break,
            }
        }
        has_changed
    }
}

impl AsFd for InterfaceMonitor {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
