//! Why a link cannot be opened or used, and what to do next.

use std::io;
use std::path::PathBuf;

use rustix::io::Errno;

use super::LinkName;

/// A link that cannot be opened or used. The message says what to do next.
#[derive(Debug, thiserror::Error)]
pub enum LinkError {
    /// The named interface does not exist.
    #[error(
        "{link}: there is no network interface {interface}; there are: {known}. Write one of them in `links`"
    )]
    NoInterface {
        /// The link.
        link: LinkName,
        /// The name that the host does not have.
        interface: String,
        /// The interfaces of the host, separated by commas.
        known: String,
    },
    /// The interface has no Ethernet addresses.
    #[error(
        "{link}: {interface} is no Ethernet, and EtherTalk needs one. Use another interface, or `ltoudp`"
    )]
    NotEthernet {
        /// The link.
        link: LinkName,
        /// The interface.
        interface: String,
    },
    /// The kernel refuses a packet socket.
    #[error(
        "{link}: it needs the capability CAP_NET_RAW. Add it to AmbientCapabilities= and CapabilityBoundingSet= of the \
         service's unit, or start the server as root; `ltoudp` needs no capability"
    )]
    NoCapability {
        /// The link.
        link: LinkName,
    },
    /// The kernel knows no way for the multicast group.
    #[error("{link}: the host has no route for multicast. Name an interface, as in `ltoudp:eth0`")]
    NoRoute {
        /// The link.
        link: LinkName,
    },
    /// Another program has the UDP port for itself.
    #[error(
        "{link}: a program that does not share UDP port {port} uses it. `ss -ulpn 'sport = {port}'` names it: end it, or \
         take another version of it"
    )]
    PortTaken {
        /// The link.
        link: LinkName,
        /// The port of LToUDP.
        port: u16,
    },
    /// There is no such device.
    #[error(
        "{link}: there is no device {}. Is the adapter plugged in? `ls /dev/serial/by-id` lists those of USB",
        device.display()
    )]
    NoDevice {
        /// The link.
        link: LinkName,
        /// The path.
        device: PathBuf,
    },
    /// The server may not open the device.
    #[error(
        "{link}: the server may not open {}. Add its user to the group of the device (on Debian: `adduser USER \
         dialout`), and start it again",
        device.display()
    )]
    NoAccess {
        /// The link.
        link: LinkName,
        /// The path.
        device: PathBuf,
    },
    /// The path leads to something else than a serial line.
    #[error("{link}: {} is no serial line of 1 Mbit/s ({source}). Use the device of the TashTalk", device.display())]
    NotSerial {
        /// The link.
        link: LinkName,
        /// The path.
        device: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
    /// Another program has the serial line.
    #[error("{link}: another program uses {}. End it; `fuser {}` names it", device.display(), device.display())]
    Busy {
        /// The link.
        link: LinkName,
        /// The path.
        device: PathBuf,
    },
    /// The interface is down, or its cable is pulled out. The link works again when it is back.
    #[error("{link}: the interface is down, or its cable is pulled out. AppleTalk continues when it is back")]
    Down {
        /// The link.
        link: LinkName,
    },
    /// The interface or the device was removed.
    #[error("{link}: the device was removed. The server opens it again when it is back")]
    Gone {
        /// The link.
        link: LinkName,
    },
    /// The caller sends what is no frame of this link.
    #[error("{link}: {length} bytes are no frame, or more than the {most} that one has")]
    Unsendable {
        /// The link.
        link: LinkName,
        /// The length of the frame, in bytes.
        length: usize,
        /// The most that the link carries, in bytes.
        most: usize,
    },
    /// Something else.
    #[error("{link}: cannot {what}: {source}")]
    Io {
        /// The link.
        link: LinkName,
        /// What was done.
        what: &'static str,
        /// What the kernel said.
        source: io::Error,
    },
}

impl LinkError {
    /// Whether the link has to be opened again. Otherwise it may be used again later.
    pub fn is_lasting(&self) -> bool {
        !matches!(self, Self::Down { .. } | Self::Unsendable { .. } | Self::Io { .. })
    }

    /// The error of a link that is open.
    pub(super) fn of_use(link: &LinkName, what: &'static str, error: Errno) -> Self {
        let link = link.clone();
        match error {
            Errno::NETDOWN | Errno::NETUNREACH | Errno::HOSTUNREACH => Self::Down { link },
            Errno::NXIO | Errno::NODEV | Errno::IO => Self::Gone { link },
            _ => Self::Io { link, what, source: error.into() },
        }
    }
}
