//! Virtual addresses: each is at one live server, and another one takes it when that server is lost.
//!
//! ```text
//! fourfold/CLUSTER/addresses/ADDRESS   the number of its server; with the lease of the server
//! ```
//!
//! The key goes with the lease, so an address has a new server only when the former one may not answer any more. The
//! kernel removes the address from a host whose server does not renew it, because it is added with a lifetime.

mod netlink;
mod plan;

use std::io;
use std::net::{Ipv4Addr, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

pub(crate) use plan::{Held, plan};

/// How long the command of the administrator may take.
const COMMAND_WITHIN: Duration = Duration::from_secs(10);
/// How often it is looked whether it has ended.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// The discard service: what is sent there is not read.
const DISCARD: u16 = 9;

/// A virtual address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    /// The address.
    pub ip: Ipv4Addr,
    /// The length of its network's prefix.
    pub prefix: u8,
    /// The device that gets it.
    pub device: String,
}

impl Address {
    /// Two other addresses of its network.
    fn neighbours(&self) -> Vec<Ipv4Addr> {
        let host_bits = 32 - u32::from(self.prefix);
        if host_bits < 3 {
            return Vec::new();
        }
        let mask = u32::MAX.checked_shl(host_bits).unwrap_or(0);
        let network = u32::from(self.ip) & mask;
        let last = network | !mask;
        let all = [last - 1, last - 2, network + 1].map(Ipv4Addr::from);
        all.into_iter().filter(|other| *other != self.ip).take(2).collect()
    }
}

/// How addresses get to this host.
#[derive(Debug, Clone)]
pub(crate) enum Way {
    /// By the kernel.
    Kernel,
    /// By a command of the administrator: `COMMAND add|remove ADDRESS/PREFIX DEVICE`.
    Command(PathBuf),
}

impl Way {
    /// This host has the address from now on, for so many seconds, and tells its network.
    pub(crate) fn take(&self, address: &Address, seconds: u32) -> io::Result<()> {
        match self {
            Self::Kernel => netlink::add(address, seconds).and_then(|()| announce(address)),
            Self::Command(command) => run(command, "add", address),
        }
    }

    /// It has it for so many seconds more.
    pub(crate) fn renew(&self, address: &Address, seconds: u32) -> io::Result<()> {
        match self {
            Self::Kernel => netlink::add(address, seconds),
            Self::Command(_) => Ok(()),
        }
    }

    /// This host does not have it any more.
    pub(crate) fn release(&self, address: &Address) -> io::Result<()> {
        match self {
            Self::Kernel => netlink::remove(address),
            Self::Command(command) => run(command, "remove", address),
        }
    }
}

/// Has the kernel ask the network for other addresses: each host that hears the question learns where this address is, as
/// the question has both of its addresses (RFC 826). A gratuitous ARP says no more, and would need raw sockets.
fn announce(address: &Address) -> io::Result<()> {
    let socket = UdpSocket::bind((address.ip, 0))?;
    for neighbour in address.neighbours() {
        let _ = netlink::forget_neighbour(&address.device, neighbour); // not known
        let _ = socket.send_to(&[0], (neighbour, DISCARD)); // only the question for it matters
    }
    Ok(())
}

fn run(command: &Path, what: &str, address: &Address) -> io::Result<()> {
    let network = format!("{}/{}", address.ip, address.prefix);
    let mut words = Command::new(command);
    words.args([what, &network, &address.device]).stdin(Stdio::null()).stdout(Stdio::null());
    let (mut child, until) = (words.spawn()?, Instant::now() + COMMAND_WITHIN);
    let refused = |why: &str| Err(io::Error::other(format!("{}: {why}", command.display())));
    loop {
        match child.try_wait()? {
            Some(status) if status.success() => return Ok(()),
            Some(status) => return refused(&status.to_string()),
            None if Instant::now() >= until => {
                child.kill()?;
                child.wait()?;
                return refused("it took too long");
            }
            None => std::thread::sleep(LOOK_EVERY),
        }
    }
}

/// How many TCP connections of this host use an address, by `/proc/net/tcp` (proc_net_tcp.rst of Linux).
pub(crate) fn connections(ip: Ipv4Addr) -> usize {
    let table = std::fs::read_to_string("/proc/net/tcp").unwrap_or_default();
    let table6 = std::fs::read_to_string("/proc/net/tcp6").unwrap_or_default();
    count(&table, ip) + count(&table6, ip)
}

/// The established ones of a table: of IPv4, or of IPv6 with mapped addresses.
fn count(table: &str, ip: Ipv4Addr) -> usize {
    const ESTABLISHED: &str = "01";
    let own = format!("{:08X}", u32::from_ne_bytes(ip.octets()));
    let is_it = |line: &&str| {
        let mut words = line.split_whitespace();
        let (local, state) = (words.nth(1).unwrap_or_default(), words.nth(1).unwrap_or_default());
        let local = local.split(':').next().unwrap_or_default();
        let mapped = format!("0000000000000000{:08X}", u32::from_ne_bytes([0, 0, 0xff, 0xff]));
        state == ESTABLISHED && (local == own || local.strip_prefix(&mapped) == Some(&own))
    };
    table.lines().filter(is_it).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_other_hosts_of_the_network() {
        let of =
            |last, prefix| Address { ip: [192, 0, 2, last].into(), prefix, device: "e".into() }.neighbours();
        assert_eq!(of(7, 24), [Ipv4Addr::new(192, 0, 2, 254), Ipv4Addr::new(192, 0, 2, 253)]);
        assert_eq!(of(254, 24), [Ipv4Addr::new(192, 0, 2, 253), Ipv4Addr::new(192, 0, 2, 1)]);
        assert!(of(1, 32).is_empty());
    }

    #[test]
    fn established_connections_to_an_address_are_counted() {
        // From Linux 6.12, little-endian.
        let table = "  sl  local_address rem_address   st tx_queue rx_queue\n\
                     0: 0700020A:01BD 0200020A:D431 01 00000000:00000000\n\
                     1: 0700020A:01BD 00000000:0000 0A 00000000:00000000\n\
                     2: 0800020A:01BD 0200020A:D431 01 00000000:00000000\n";
        let table6 =
            "0: 0000000000000000FFFF00000700020A:01BD 0000000000000000FFFF00000200020A:D431 01 0:0\n";
        if cfg!(target_endian = "little") {
            assert_eq!(count(table, [10, 2, 0, 7].into()), 1);
            assert_eq!(count(table6, [10, 2, 0, 7].into()), 1);
            assert_eq!(count(table, [10, 2, 0, 9].into()), 0);
        }
    }
}
