//! Virtual addresses: each is at one live server, and another one takes it when that server is lost.
//!
//! ```text
//! fourfold/CLUSTER/addresses/ADDRESS   the number of its server; with the lease of the server
//! ```
//!
//! The key goes with the lease, so an address has a new server only when the former one may not answer any more. The
//! kernel removes the address from a host whose server does not renew it, because it is added with a lifetime.

mod announce;
mod netlink;
mod plan;

use std::io;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

pub(crate) use plan::{AddressAssignment, plan};

/// How long the command of the administrator may take.
const COMMAND_WITHIN: Duration = Duration::from_secs(10);
/// How often it is looked whether it has ended.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// A virtual address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    /// The address, of IPv4 or IPv6.
    pub ip: IpAddr,
    /// The length of its network's prefix.
    pub prefix: u8,
    /// The device that gets it.
    pub device: String,
}

/// How addresses get to this host.
#[derive(Debug, Clone)]
pub(crate) enum AddressMethod {
    /// By the kernel.
    Kernel,
    /// By a command of the administrator: `COMMAND add|remove ADDRESS/PREFIX DEVICE`.
    Command(PathBuf),
}

impl AddressMethod {
    /// This host has the address from now on, for so many seconds, and tells its network.
    pub(crate) fn take(&self, address: &Address, seconds: u32) -> io::Result<()> {
        match self {
            Self::Kernel => netlink::add(address, seconds).and_then(|()| announce::announce(address)),
            Self::Command(command) => run(command, "add", address),
        }
    }

    /// It has it for so many seconds more. `tells`: it tells the network again, as the first time may have been lost.
    pub(crate) fn renew(&self, address: &Address, seconds: u32, tells: bool) -> io::Result<()> {
        match self {
            Self::Kernel if tells => self.take(address, seconds),
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
pub(crate) fn connections(ip: IpAddr) -> usize {
    let table = std::fs::read_to_string("/proc/net/tcp").unwrap_or_default();
    let table6 = std::fs::read_to_string("/proc/net/tcp6").unwrap_or_default();
    count(&table, ip) + count(&table6, ip)
}

/// The established ones of a table: of IPv4, or of IPv6, which has mapped addresses, too.
fn count(table: &str, ip: IpAddr) -> usize {
    const ESTABLISHED: &str = "01";
    let own = match ip {
        IpAddr::V4(ip) => [hex(&ip.octets()), hex(&ip.to_ipv6_mapped().octets())],
        IpAddr::V6(ip) => [hex(&ip.octets()), String::new()],
    };
    let is_it = |line: &&str| {
        let mut words = line.split_whitespace();
        let (local, state) = (words.nth(1).unwrap_or_default(), words.nth(1).unwrap_or_default());
        let local = local.split(':').next().unwrap_or_default();
        state == ESTABLISHED && !local.is_empty() && own.iter().any(|own| own == local)
    };
    table.lines().filter(is_it).count()
}

/// An address as these tables have it: words of four bytes, each as a number of this host.
fn hex(octets: &[u8]) -> String {
    let (words, _) = octets.as_chunks::<4>();
    words.iter().map(|word| format!("{:08X}", u32::from_ne_bytes(*word))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn established_connections_to_an_address_are_counted() {
        // From Linux 6.12, little-endian.
        let table = "  sl  local_address rem_address   st tx_queue rx_queue\n\
                     0: 0700020A:01BD 0200020A:D431 01 00000000:00000000\n\
                     1: 0700020A:01BD 00000000:0000 0A 00000000:00000000\n\
                     2: 0800020A:01BD 0200020A:D431 01 00000000:00000000\n";
        let table6 = "0: 0000000000000000FFFF00000700020A:01BD 0000000000000000FFFF00000200020A:D431 01 0:0\n\
             1: B80D0120000000000000000007000000:01BD B80D0120000000000000000002000000:D431 01 0:0\n";
        if cfg!(target_endian = "little") {
            let of = |table, ip: &str| count(table, ip.parse().unwrap());
            assert_eq!(of(table, "10.2.0.7"), 1);
            assert_eq!(of(table6, "10.2.0.7"), 1);
            assert_eq!(of(table6, "10.2.0.9"), 0);
            assert_eq!(of(table6, "2001:db8::7"), 1);
            assert_eq!(of(table6, "2001:db8::8"), 0);
        }
    }
}
