//! The network: ports that other programs have, firewalls, the sizes of packets.

use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::process::Command;

use admin::settings::candidates;
use admin::{Port, Protocol, Settings};

use super::Finding;
use crate::here;

/// Interfaces are named below it.
const INTERFACES: &str = "/sys/class/net";
/// The usual size of packets on Ethernet.
const USUAL_MTU: u32 = 1500;
/// Processes whose sockets are looked at.
const MOST_PROCESSES: usize = 20_000;

/// Looks at the ports that these settings need, at the firewall and at the interfaces.
pub(super) fn look(settings: Option<&Settings>) -> Vec<Finding> {
    let mut findings = Vec::new();
    if let Some(settings) = settings {
        let is_ours = is_running(&settings.server.state);
        findings.extend(ports(settings, is_ours));
        findings.extend(firewall(&wanted(settings), &rules()));
    }
    findings.extend(packets(&interfaces(Path::new(INTERFACES))));
    findings
}

/// A server of this state folder runs, and has the ports.
fn is_running(state: &Path) -> bool {
    admin::control::status(state).is_ok()
}

/// The protocols that are on, with the port that each takes first.
fn wanted(settings: &Settings) -> Vec<(Protocol, u16)> {
    let first = |protocol: Protocol| {
        let port = settings.server.ports.of(protocol);
        candidates(port, protocol, here::privileged()).into_iter().find(|port| *port != 0)
    };
    Protocol::ALL.into_iter().filter_map(|protocol| Some((protocol, first(protocol)?))).collect()
}

fn ports(settings: &Settings, is_ours: bool) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (protocol, port) in wanted(settings) {
        let about = format!("{} port {port}", protocol.title());
        if is_ours {
            findings.push(Finding::fine(about, "the running server of this state folder has it"));
            continue;
        }
        let taken = settings.server.listen.iter().find_map(|address| {
            let refused = conn_refused(SocketAddr::new(*address, port))?;
            Some((*address, refused))
        });
        findings.push(match taken {
            None => Finding::fine(about, "free"),
            Some((address, Refused::InUse)) => in_use(settings, about, (protocol, port), address),
            Some((address, Refused::Other(why))) => {
                let mend = format!("choose another port or address: --{}-port, --listen", protocol.word());
                Finding::problem(about, format!("the server cannot listen on {address}: {why}"), mend)
            }
        });
    }
    findings
}

/// Another program has the port. It is a problem only if the settings ask for this very port.
fn in_use(settings: &Settings, about: String, (protocol, port): (Protocol, u16), address: IpAddr) -> Finding {
    let holder = holder(port)
        .map_or_else(|| "another program".to_owned(), |(name, pid)| format!("{name} (process {pid})"));
    let found = format!("{holder} listens on {address}");
    let stop = service(&holder)
        .map_or_else(|| "stop it".to_owned(), |unit| format!("systemctl disable --now {unit}"));
    let mend = format!("{stop}, or choose another port: --{}-port", protocol.word());
    if protocol == Protocol::Portmap {
        return Finding::fine(about, format!("{found}; the server registers with it"));
    }
    match settings.server.ports.of(protocol) {
        Port::Number(_) => Finding::problem(about, found, mend),
        _ => Finding::warning(
            about,
            format!("{found}: the server takes another port, which clients must be told"),
            mend,
        ),
    }
}

/// The unit by which Debian starts a server.
fn service(holder: &str) -> Option<&'static str> {
    let units = [
        ("smbd", "smbd"),
        ("afpd", "netatalk"),
        ("netatalk", "netatalk"),
        ("ganesha", "nfs-ganesha"),
        ("nfsd", "nfs-server"),
        ("tgtd", "tgt"),
        ("rpcbind", "rpcbind"),
    ];
    units.into_iter().find(|(program, _)| holder.starts_with(program)).map(|(_, unit)| unit)
}

enum Refused {
    InUse,
    Other(String),
}

/// Why the server could not listen there; `None`: it can, or the host has no such kind of address.
fn conn_refused(at: SocketAddr) -> Option<Refused> {
    match std::net::TcpListener::bind(at) {
        Ok(_) => None,
        Err(error) if error.kind() == std::io::ErrorKind::AddrInUse => Some(Refused::InUse),
        Err(_) if at.ip().is_ipv6() && at.ip().is_unspecified() => None, // a host without IPv6
        Err(error) => Some(Refused::Other(error.to_string())),
    }
}

/// The program that listens on a port of TCP, and its process, if this user may see it.
fn holder(port: u16) -> Option<(String, u32)> {
    let tables =
        ["/proc/net/tcp", "/proc/net/tcp6"].map(|path| std::fs::read_to_string(path).unwrap_or_default());
    let socket = tables.iter().find_map(|table| listening_inode(table, port))?;
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

/// The inode of the socket that listens on this port, in a table of `/proc/net`.
fn listening_inode(table: &str, port: u16) -> Option<u64> {
    const LISTEN: &str = "0A";
    let wanted = format!(":{port:04X}");
    table.lines().skip(1).find_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let is_it = fields.get(1)?.ends_with(&wanted) && *fields.get(3)? == LISTEN;
        is_it.then(|| fields.get(9)?.parse().ok()).flatten()
    })
}

/// The rules of the firewall, if this user may see them and there are any.
fn rules() -> String {
    let list = Command::new("nft").args(["list", "ruleset"]).output();
    list.ok()
        .filter(|list| list.status.success())
        .map(|list| String::from_utf8_lossy(&list.stdout).into_owned())
        .unwrap_or_default()
}

/// A chain that drops what arrives and does not name a port probably keeps clients out.
fn firewall(wanted: &[(Protocol, u16)], rules: &str) -> Option<Finding> {
    let drops = rules.lines().any(|line| {
        line.contains("hook input") && (line.contains("policy drop") || line.contains("policy reject"))
    });
    if !drops {
        return Some(Finding::fine("firewall", "no chain drops what arrives, as far as this user may see"));
    }
    let words: Vec<&str> = rules.split(|c: char| !c.is_ascii_alphanumeric()).collect();
    let names = |protocol: Protocol| match protocol {
        Protocol::Nfs => "nfs",
        Protocol::Smb => "microsoft",
        Protocol::Afp => "afpovertcp",
        Protocol::Iscsi => "iscsi",
        Protocol::Portmap => "sunrpc",
    };
    let closed: Vec<String> = wanted
        .iter()
        .filter(|(protocol, port)| !words.contains(&&*port.to_string()) && !words.contains(&names(*protocol)))
        .map(|(_, port)| port.to_string())
        .collect();
    Some(if closed.is_empty() {
        Finding::fine("firewall", "it drops what arrives, and names the ports of the server")
    } else {
        let found = format!("it drops what arrives, and has no rule for TCP ports {}", closed.join(", "));
        let mend = format!(
            "nft add rule inet filter input tcp dport {{ {} }} accept (or `ufw allow …`)",
            closed.join(", ")
        );
        Finding::warning("firewall", found, mend)
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

fn packets(interfaces: &[(String, u32)]) -> Vec<Finding> {
    let about = |name: &str| format!("interface {name}");
    let finding = |(name, mtu): &(String, u32)| match *mtu {
        USUAL_MTU => Finding::fine(about(name), "packets of 1500 bytes"),
        larger if larger > USUAL_MTU => {
            let found = format!(
                "packets of {larger} bytes: every switch and client of this network must have the same"
            );
            let mend = format!(
                "`fourfold bench` finds packets that vanish; `ip link set {name} mtu 1500` is the usual size"
            );
            Finding::warning(about(name), found, mend)
        }
        smaller => {
            let found = format!("packets of {smaller} bytes only, as in tunnels: streams cost more");
            Finding::warning(
                about(name),
                found,
                format!("`ip link set {name} mtu 1500`, unless it is a tunnel"),
            )
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
        assert_eq!(listening_inode(TCP, 445), Some(24311));
        assert_eq!(listening_inode(TCP, 2049), None, "a connection does not");
    }

    #[test]
    fn the_holder_of_a_port_is_named() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let (_, pid) = holder(listener.local_addr().unwrap().port()).unwrap();
        assert_eq!(pid, std::process::id());
    }

    #[test]
    fn a_firewall_that_drops_must_name_the_ports() {
        let wanted = [(Protocol::Smb, 445), (Protocol::Nfs, 2049)];
        let level = |rules: &str| firewall(&wanted, rules).unwrap().level;
        assert_eq!(level(""), Level::Fine);
        let chain = "chain input { type filter hook input priority filter; policy drop;\n";
        let closed = firewall(&wanted, &format!("{chain} tcp dport 445 accept }}")).unwrap();
        assert_eq!(closed.level, Level::Warning);
        assert!(closed.mend.contains("{ 2049 }"), "{}", closed.mend);
        assert_eq!(level(&format!("{chain} tcp dport {{ 445, nfs }} accept }}")), Level::Fine);
        assert_eq!(level("type filter hook input priority filter; policy accept;"), Level::Fine);
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
