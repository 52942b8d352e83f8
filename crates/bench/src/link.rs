//! A slow network on one machine: the clients' connections begin in a network namespace of their own, and
//! cross a pair of virtual interfaces with a token bucket in each direction.
//!
//! ```text
//! a client's socket ─► far end ═ token buckets ═ near end ─► server that listens on all addresses
//!    (namespace)                                   └► relay ─► server that listens on 127.0.0.1 only
//! ```
//!
//! Only sockets are in the namespace; the threads are not. The namespace has no name. The kernel removes it,
//! and with it both interfaces, when this process and its connections end, also after SIGKILL.

mod relay;

use std::fs::File;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::os::fd::AsFd;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use serde::{Deserialize, Serialize};

use crate::record::{Baseline, BaselineUnit};
use crate::{Error, Result, Target, machine, raw};
use client::{Detour, Reach};

/// How long the namespace may take to appear.
const PATIENCE: Duration = Duration::from_secs(5);
/// Networks that are reserved for documentation, RFC 5737: no host has them.
const NETWORKS: [[u8; 3]; 3] = [[192, 0, 2], [198, 51, 100], [203, 0, 113]];
/// Pairs of addresses in each of them.
const PAIRS: usize = 64;
/// The interface in the namespace.
const FAR: &str = "far0";
/// The MTU of both ends.
const MTU: u64 = 1500;

/// The speed of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Rate {
    /// Fast Ethernet.
    #[serde(rename = "100M")]
    Fast,
    /// Gigabit Ethernet.
    #[serde(rename = "1G")]
    Gigabit,
    /// 10 Gigabit Ethernet.
    #[serde(rename = "10G")]
    TenGigabit,
    /// IEEE 802.11g. Of its 54 Mbit/s TCP gets about 22.
    #[serde(rename = "wifi-g")]
    WifiG,
}

impl Rate {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Fast, Self::Gigabit, Self::TenGigabit, Self::WifiG];

    /// Its name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Fast => "100M",
            Self::Gigabit => "1G",
            Self::TenGigabit => "10G",
            Self::WifiG => "wifi-g",
        }
    }

    /// Bytes per second, with the headers of Ethernet and IP.
    fn bytes(self) -> f64 {
        match self {
            Self::Fast => 12.5e6,
            Self::Gigabit => 125e6,
            Self::TenGigabit => 1250e6,
            Self::WifiG => 2.75e6,
        }
    }

    /// Arguments of `tc qdisc`, the best first. A bucket must hold what arrives between two ticks of the
    /// kernel.
    fn disciplines(self) -> &'static [&'static str] {
        match self {
            Self::Fast => &["tbf rate 100mbit burst 64kb latency 50ms"],
            Self::Gigabit => &["tbf rate 1gbit burst 1mb latency 20ms"],
            Self::TenGigabit => &["tbf rate 10gbit burst 10mb latency 20ms"],
            Self::WifiG => {
                &["netem delay 1500us rate 22mbit limit 200", "tbf rate 22mbit burst 16kb latency 100ms"]
            }
        }
    }
}

impl std::fmt::Display for Rate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

/// A link that exists. It is removed when it is dropped.
#[derive(Debug)]
pub(crate) struct Link {
    rate: Rate,
    /// The near end.
    name: String,
    near: Ipv4Addr,
    namespace: File,
}

impl Link {
    /// Makes the namespace and both ends.
    pub(crate) fn make(rate: Rate) -> Result<Arc<Self>> {
        let failed = |error: io::Error| {
            Error::Other(format!(
                "the link {rate} cannot be made: {error}. It needs root, iproute2, util-linux, and a kernel \
                 with network namespaces, veth and tbf"
            ))
        };
        Self::try_make(rate).map(Arc::new).map_err(failed)
    }

    fn try_make(rate: Rate) -> io::Result<Self> {
        static MADE: AtomicUsize = AtomicUsize::new(0);
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let process = std::process::id() as usize;
        let (near, far) = free_pair(process + number)?;
        let (holder, namespace) = namespace()?;
        let link = Self { rate, name: format!("ffb{process}n{number}"), near, namespace };
        let (name, holder_id) = (&link.name, holder.0.id());
        run(&format!("ip link add {name} type veth peer name {FAR} netns {holder_id}"))?;
        run(&format!("ip address add {near}/30 dev {name}"))?;
        run(&format!("ip link set dev {name} up"))?;
        link.inside(|| {
            run("ip link set dev lo up")?;
            run(&format!("ip address add {far}/30 dev {FAR}"))?;
            run(&format!("ip link set dev {FAR} up"))
        })?;
        link.shape()?;
        Ok(link)
    }

    /// Gives both ends the best discipline that the kernel has.
    fn shape(&self) -> io::Result<()> {
        let mut refused = io::ErrorKind::Unsupported.into();
        for discipline in self.rate.disciplines() {
            let near = || run(&format!("tc qdisc replace dev {} root {discipline}", self.name));
            let far = || self.inside(|| run(&format!("tc qdisc replace dev {FAR} root {discipline}")));
            match near().and_then(|()| far()) {
                Ok(()) => return Ok(()),
                Err(error) => refused = error,
            }
        }
        Err(refused)
    }

    /// Does something in the namespace, on a thread of its own: a thread stays where it moved.
    fn inside<T: Send>(&self, act: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
        std::thread::scope(|scope| {
            let thread = scope.spawn(|| {
                move_into_link_name_space(self.namespace.as_fd(), Some(LinkNameSpaceType::Network))?;
                act()
            });
            thread.join().unwrap_or_else(|_| Err(io::Error::other("a thread in the namespace ended")))
        })
    }

    /// What raw TCP reaches across the link, and what the link is.
    pub(crate) fn baselines(self: &Arc<Self>, target: &Target, timeout: Duration) -> Vec<Baseline> {
        use crate::baseline::name;
        let reach = Reach { detour: Some(self.clone()), ..Reach::direct(timeout) };
        let (to, from) = self.raw(&reach).map_or((None, None), |(to, from)| (Some(to), Some(from)));
        let values = [
            (name::LINK, Some(self.rate.bytes()), BaselineUnit::BytesPerSecond),
            (name::RAW_TO, to, BaselineUnit::BytesPerSecond),
            (name::RAW_FROM, from, BaselineUnit::BytesPerSecond),
            (name::MTU, Some(MTU as f64), BaselineUnit::Bytes),
        ];
        let of = |(name, value, unit)| {
            Some(Baseline {
                link: Some(self.rate),
                ..crate::baseline::baseline(name, Some(target), value?, unit)
            })
        };
        values.into_iter().filter_map(of).collect()
    }

    fn raw(&self, reach: &Reach) -> Result<(f64, f64)> {
        let listener = TcpListener::bind((self.near, 0)).map_err(|error| Error::Other(error.to_string()))?;
        let address = listener.local_addr().map_err(|error| Error::Other(error.to_string()))?.to_string();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for _ in 0..2 {
                    // The near end of the measurement says why it failed.
                    let Ok(stream) = relay::accept(&listener, reach.timeout) else { return };
                    let _ = raw::serve(stream);
                }
            });
            raw::measure(reach, &address)
        })
    }

    pub(crate) fn rate(&self) -> Rate {
        self.rate
    }
}

impl Detour for Link {
    /// A connection across the link with a server of this machine.
    fn connect(
        &self,
        address: &str,
        timeout: Duration,
        open: &(dyn Fn(SocketAddr) -> io::Result<TcpStream> + Sync),
    ) -> Result<TcpStream> {
        let unreachable = |error| Error::Unreachable(address.to_owned(), error);
        let resolved = address.to_socket_addrs().map_err(unreachable)?;
        let server = resolved.into_iter().find(|address| machine::is_own(address.ip()));
        let server = server.ok_or_else(|| {
            Error::Other(format!("{address} is not on this machine: a link leads to this machine only"))
        })?;
        let at = if server.ip() == self.near || machine::listens_everywhere(server.port()) {
            Ok(SocketAddr::from((self.near, server.port())))
        } else {
            relay::start(self.near, server, timeout)
        };
        at.and_then(|at| self.inside(move || open(at))).map_err(unreachable)
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        // It may be gone already: then the kernel has removed it with the other end.
        let _ = run(&format!("ip link delete dev {}", self.name));
    }
}

/// A process in the namespace; ended when dropped. It also ends with this process, which holds its input.
struct Holder(Child);

impl Drop for Holder {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A new network namespace, and a process in it. The file keeps the namespace.
fn namespace() -> io::Result<(Holder, File)> {
    let mut command = Command::new("unshare");
    command.args(["--net", "cat"]).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut holder = Holder(command.spawn()?);
    let path = format!("/proc/{}/ns/net", holder.0.id());
    let own = std::fs::read_link("/proc/self/ns/net")?;
    let deadline = Instant::now() + PATIENCE;
    while std::fs::read_link(&path)? == own {
        if holder.0.try_wait()?.is_some() {
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, "no namespace may be made here"));
        }
        if Instant::now() > deadline {
            return Err(io::ErrorKind::TimedOut.into());
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    Ok((holder, File::open(path)?))
}

/// Two addresses of a network that this machine does not have. The search begins at a place that depends on
/// the number.
fn free_pair(number: usize) -> io::Result<(Ipv4Addr, Ipv4Addr)> {
    let all = NETWORKS.len() * PAIRS;
    for at in (number..number + all).map(|number| number % all) {
        let [a, b, c] = NETWORKS[at / PAIRS];
        let base = (at % PAIRS) as u8 * 4;
        let (near, far) = (Ipv4Addr::new(a, b, c, base + 1), Ipv4Addr::new(a, b, c, base + 2));
        if !machine::is_own(near.into()) && !machine::is_own(far.into()) {
            return Ok((near, far));
        }
    }
    Err(io::Error::new(io::ErrorKind::AddrInUse, "all addresses for links are used"))
}

/// Runs a program with these words.
fn run(words: &str) -> io::Result<()> {
    let mut all = words.split(' ');
    let output = Command::new(all.next().unwrap_or_default()).args(all).stdin(Stdio::null()).output()?;
    match output.status.success() {
        true => Ok(()),
        false => {
            let said = String::from_utf8_lossy(&output.stderr);
            Err(io::Error::other(format!("`{words}` says: {}", said.lines().next().unwrap_or("nothing"))))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_of_addresses_lie_in_networks_for_documentation() {
        let (near, far) = free_pair(65).unwrap();
        assert_eq!(near, Ipv4Addr::new(198, 51, 100, 5));
        assert_eq!(far, Ipv4Addr::new(198, 51, 100, 6));
    }

    #[test]
    fn a_program_that_fails_says_why() {
        let error = run("ls /there/is/no/such/folder").unwrap_err().to_string();
        assert!(error.contains("ls /there/is/no/such/folder") && error.contains("No such file"), "{error}");
        assert!(run("true").is_ok());
    }
}
