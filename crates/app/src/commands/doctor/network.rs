//! The network: ports that other programs have, and the sizes of packets.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, UdpSocket};
use std::path::Path;

use admin::settings::candidates;
use admin::{Port, Protocol, Settings};

use super::{DoctorFinding, firewall};
use crate::host::here;

/// Interfaces are named below it.
const INTERFACES: &str = "/sys/class/net";
/// The usual size of packets on Ethernet.
const USUAL_MTU: u32 = 1500;
/// Processes whose sockets are looked at.
const MOST_PROCESSES: usize = 20_000;

/// Looks at the ports that these settings need, at the firewall and at the interfaces. Without settings it looks at the
/// default ports.
pub(super) fn look(settings: Option<&Settings>) -> Vec<DoctorFinding> {
    let services = services(settings);
    let is_ours = settings.is_some_and(|settings| admin::control::status(&settings.server.state).is_ok());
    let mut findings: Vec<DoctorFinding> = services.iter().map(|service| port(service, is_ours)).collect();
    let ports: Vec<(Option<Protocol>, u16)> = services
        .iter()
        .filter(|service| !service.is_local())
        .map(|service| (service.protocol, service.port))
        .collect();
    findings.push(firewall::judged(&ports, firewall::rules().as_deref()));
    findings.extend(packets(&interfaces(Path::new(INTERFACES))));
    findings
}

/// A service of the server and where it listens.
struct Service {
    /// `None`: the API.
    protocol: Option<Protocol>,
    port: u16,
    /// The settings ask for this port and no other.
    is_fixed: bool,
    addresses: Vec<IpAddr>,
}

impl Service {
    fn title(&self) -> &'static str {
        self.protocol.map_or("API", Protocol::title)
    }

    fn word(&self) -> &'static str {
        self.protocol.map_or("admin", Protocol::word)
    }

    /// Only programs of this machine reach it.
    fn is_local(&self) -> bool {
        self.addresses.iter().all(IpAddr::is_loopback)
    }

    fn has_udp(&self) -> bool {
        self.protocol.is_some_and(Protocol::has_datagrams)
    }
}

/// The services that are on, each with the port that it tries first.
fn services(settings: Option<&Settings>) -> Vec<Service> {
    let everywhere = || vec![Ipv4Addr::UNSPECIFIED.into(), Ipv6Addr::UNSPECIFIED.into()];
    let service = |protocol: Protocol| {
        let set = settings.map_or(Port::Standard, |settings| settings.server.ports.of(protocol));
        let port = candidates(set, protocol, here::privileged()).into_iter().find(|port| *port != 0)?;
        let addresses = settings.map_or_else(everywhere, |settings| settings.server.listen.clone());
        Some(Service { protocol: Some(protocol), port, is_fixed: set != Port::Standard, addresses })
    };
    let api = settings.and_then(|settings| match settings.server.api.port {
        Port::Number(port) if port != 0 => Some(Service {
            protocol: None,
            port,
            is_fixed: true,
            addresses: settings.server.api.listen.clone(),
        }),
        _ => None,
    });
    Protocol::ALL.into_iter().filter_map(service).chain(api).collect()
}

fn port(service: &Service, is_ours: bool) -> DoctorFinding {
    let about = format!("{} port {}", service.title(), service.port);
    if is_ours {
        return DoctorFinding::fine(about, "the running server of this state folder has it");
    }
    let refused =
        |address: &IpAddr| Some((*address, refused(service, SocketAddr::new(*address, service.port))?));
    match service.addresses.iter().find_map(refused) {
        None => DoctorFinding::fine(about, "free"),
        Some((address, BindFailure::InUse)) => in_use(service, about, address),
        Some((address, BindFailure::Other(why))) => {
            let mend = format!("choose another port or address: --{}-port, --listen", service.word());
            DoctorFinding::problem(about, format!("the server cannot listen on {address}: {why}"), mend)
        }
    }
}

/// Another program has the port. It is a problem only if the settings ask for this very port.
fn in_use(service: &Service, about: String, address: IpAddr) -> DoctorFinding {
    let holder = holder(service.port);
    let name = holder.as_ref().map(|(name, _)| name.as_str()).or_else(|| kernels(service));
    let found = match (&holder, name) {
        (Some((name, pid)), _) => format!("{name} (process {pid}) listens on {address}"),
        (None, Some(_)) => format!("the kernel's NFS server listens on {address}"),
        (None, None) => format!("another program listens on {address}"),
    };
    if service.protocol == Some(Protocol::Portmap) {
        return DoctorFinding::fine(about, format!("{found}; the server registers with it"));
    }
    let stop = match name.and_then(unit) {
        Some(unit) => format!("`sudo systemctl disable --now {unit}`"),
        None if holder.is_none() => {
            format!("find it with `sudo ss -lntup 'sport = :{}'` and stop it", service.port)
        }
        None => "stop it".to_owned(),
    };
    let mend = format!("{stop}, or choose another port: --{}-port", service.word());
    if service.is_fixed {
        return DoctorFinding::problem(about, found, mend);
    }
    let found = format!("{found}; the server will use another port, which clients must be told");
    DoctorFinding::warning(about, found, mend)
}

/// The kernel's NFS server holds its port without a process. Other users cannot see the processes of root.
fn kernels(service: &Service) -> Option<&'static str> {
    service.protocol.filter(|_| here::privileged())?.kernel_server()
}

/// The unit by which Debian starts a server.
fn unit(program: &str) -> Option<&'static str> {
    let units = [
        ("fourfold", "fourfold"),
        ("smbd", "smbd"),
        ("afpd", "netatalk"),
        ("netatalk", "netatalk"),
        ("ganesha", "nfs-ganesha"),
        ("nfsd", "nfs-server"),
        ("tgtd", "tgt"),
        ("rpcbind", "rpcbind"),
    ];
    units.into_iter().find(|(name, _)| program.starts_with(name)).map(|(_, unit)| unit)
}

enum BindFailure {
    InUse,
    Other(String),
}

/// Why the server could not listen there; `None`: it can, or the host has no such kind of address.
fn refused(service: &Service, at: SocketAddr) -> Option<BindFailure> {
    let bound = TcpListener::bind(at).map(drop);
    let bound = if service.has_udp() { bound.and_then(|()| UdpSocket::bind(at).map(drop)) } else { bound };
    match bound {
        Ok(()) => None,
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => Some(BindFailure::InUse),
        Err(_) if at.ip().is_ipv6() && at.ip().is_unspecified() => None, // a host without IPv6
        Err(error) => Some(BindFailure::Other(error.to_string())),
    }
}

/// The program that listens on a port of TCP or UDP, and its process, if this user may see it.
fn holder(port: u16) -> Option<(String, u32)> {
    let tables = [("tcp", LISTEN), ("tcp6", LISTEN), ("udp", UNCONNECTED), ("udp6", UNCONNECTED)];
    let socket = tables.iter().find_map(|(table, state)| {
        let table = std::fs::read_to_string(format!("/proc/net/{table}")).ok()?;
        listening_inode(&table, port, state)
    })?;
    let wanted = format!("socket:[{socket}]");
    let processes = std::fs::read_dir("/proc").ok()?.flatten().take(MOST_PROCESSES);
    let pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let has_it = |pid: &u32| {
        let Ok(files) = std::fs::read_dir(format!("/proc/{pid}/fd")) else { return false };
        files.flatten().any(|file| std::fs::read_link(file.path()).is_ok_and(|to| to.as_os_str() == &*wanted))
    };
    let pid = pids.into_iter().find(has_it)?;
    let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).ok()?;
    Some((name.trim().to_owned(), pid))
}

/// States of sockets in the tables of `/proc/net`: a listening one of TCP, and one of UDP without a peer.
const LISTEN: &str = "0A";
const UNCONNECTED: &str = "07";

/// The inode of the socket in this state on this port, in a table of `/proc/net`.
fn listening_inode(table: &str, port: u16, state: &str) -> Option<u64> {
    let wanted = format!(":{port:04X}");
    table.lines().skip(1).find_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let is_it = fields.get(1)?.ends_with(&wanted) && *fields.get(3)? == state;
        is_it.then(|| fields.get(9)?.parse().ok()).flatten()
    })
}

/// The interfaces that are up, except loopback, with their MTU.
fn interfaces(folder: &Path) -> Vec<(String, u32)> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let interface = |entry: std::fs::DirEntry| {
        let name = entry.file_name().into_string().ok().filter(|name| name != "lo")?;
        let read = |file: &str| std::fs::read_to_string(entry.path().join(file)).ok();
        let is_up = read("operstate")?.trim() == "up";
        is_up.then_some((name, read("mtu")?.trim().parse().ok()?))
    };
    entries.flatten().filter_map(interface).collect()
}

fn packets(interfaces: &[(String, u32)]) -> Vec<DoctorFinding> {
    let about = |name: &str| format!("interface {name}");
    let finding = |(name, mtu): &(String, u32)| match *mtu {
        USUAL_MTU => DoctorFinding::fine(about(name), "packets of 1500 bytes"),
        larger if larger > USUAL_MTU => {
            let found = format!(
                "packets of {larger} bytes: every switch and client of this network must have the same size"
            );
            let mend = format!(
                "`fourfold bench` finds lost packets; `sudo ip link set {name} mtu 1500` sets the usual size"
            );
            DoctorFinding::warning(about(name), found, mend)
        }
        smaller => {
            let found =
                format!("packets of {smaller} bytes, as in tunnels: transfers cost more processor time");
            let mend = format!("`sudo ip link set {name} mtu 1500`, unless it is a tunnel");
            DoctorFinding::warning(about(name), found, mend)
        }
    };
    interfaces.iter().map(finding).collect()
}

#[cfg(test)]
mod tests {
    use super::super::Level;
    use super::*;

    /// As Linux 6.1 writes it.
    const TCP: &str = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n\
        \u{20}  0: 00000000:01BD 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 24311 1 0000000000000000 100 0 0 10 0\n\
        \u{20}  1: 0100007F:0801 0100007F:BEEF 01 00000000:00000000 00:00000000 00000000     0        0 24312 1 0000000000000000 100 0 0 10 0\n";

    #[test]
    fn only_listening_sockets_hold_a_port() {
        assert_eq!(listening_inode(TCP, 445, LISTEN), Some(24311));
        assert_eq!(listening_inode(TCP, 2049, LISTEN), None, "a connection does not");
    }

    #[test]
    fn the_holder_of_a_port_is_named() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let (_, pid) = holder(listener.local_addr().unwrap().port()).unwrap();
        assert_eq!(pid, std::process::id());
    }

    fn at(port: u16, is_fixed: bool) -> Service {
        let addresses = vec![Ipv4Addr::LOCALHOST.into()];
        Service { protocol: Some(Protocol::Nfs), port, is_fixed, addresses }
    }

    #[test]
    fn a_taken_port_is_a_problem_if_the_settings_ask_for_it() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let taken = listener.local_addr().unwrap().port();
        let found = port(&at(taken, true), false);
        assert_eq!(found.level, Level::Problem);
        assert!(found.found.contains(&format!("(process {})", std::process::id())), "{found:?}");
        assert_eq!(port(&at(taken, false), false).level, Level::Warning);
        assert_eq!(port(&at(taken, true), true).level, Level::Fine, "our own server");
        drop(listener);
        assert_eq!(port(&at(taken, true), false).level, Level::Fine);
    }

    #[test]
    fn nfs_needs_its_port_of_udp_too() {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let found = port(&at(socket.local_addr().unwrap().port(), true), false);
        assert!(found.level == Level::Problem && found.found.contains("process"), "{found:?}");
    }

    #[test]
    fn servers_of_debian_are_stopped_by_their_units() {
        assert_eq!(unit("smbd"), Some("smbd"));
        assert_eq!(unit("ganesha.nfsd"), Some("nfs-ganesha"));
        assert_eq!(unit("my-server"), None);
    }

    #[test]
    fn unusual_packets_are_noted() {
        let folder = tempfile::tempdir().unwrap();
        for (name, state, mtu) in [
            ("lo", "unknown", "65536"),
            ("eth0", "up", "9000"),
            ("eth1", "up", "1500"),
            ("eth2", "down", "9000"),
        ] {
            let interface = folder.path().join(name);
            std::fs::create_dir(&interface).unwrap();
            std::fs::write(interface.join("operstate"), state).unwrap();
            std::fs::write(interface.join("mtu"), mtu).unwrap();
        }
        let mut found = interfaces(folder.path());
        found.sort();
        let levels: Vec<Level> = packets(&found).iter().map(|finding| finding.level).collect();
        assert_eq!((found.len(), levels), (2, vec![Level::Warning, Level::Fine]));
    }
}
