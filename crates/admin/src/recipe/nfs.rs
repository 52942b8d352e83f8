//! How clients of NFS reach a share.

use std::net::IpAddr;

use super::{MountRecipe, Reachable, best};
use crate::control::{BestMount, MountLine};
use crate::settings::{HostAudience, Protocol, ServerSettings, ShareSettings};
use crate::shell::quote;

pub(super) const RECIPE: MountRecipe = MountRecipe { protocol: Protocol::Nfs, lines, best: best_mounts };

/// The standard port.
const PORT: u16 = Protocol::Nfs.standard_port();
/// The longest read and write of NFSv3 here, and of Linux and macOS.
const LONGEST: &str = "1048576";

/// The server's address for a share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Reach {
    /// The address clients should use, see `address`.
    host: IpAddr,
    /// The NFS port.
    port: u16,
    /// Portmap on port 111, the only one that kernels ask, has this server's lock service.
    locks_found: bool,
    /// Portmap on port 111 has this server's NFS and MOUNT: clients find them without a port in the
    /// command.
    files_found: bool,
    /// A client rule of the share requires a source port below 1024.
    secure: bool,
}

/// The client that a line is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Client {
    /// mount(8) and nfs(5) of Linux.
    Linux,
    /// mount_nfs(8) of macOS.
    Mac,
}

/// A command, and an explanation.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Line {
    /// The command.
    command: String,
    /// The explanation, if the command needs one.
    why: Option<&'static str>,
}

impl Reach {
    fn of(share: &ShareSettings, reach: Reachable, port: u16) -> Self {
        Self {
            host: reach.host,
            port,
            locks_found: reach.portmap.locks,
            files_found: reach.portmap.files,
            secure: share.clients.iter().any(|rule| rule.secure),
        }
    }
}

fn lines(server: &ServerSettings, share: &ShareSettings, reach: Reachable, port: u16) -> Vec<MountLine> {
    let reach = Reach::of(share, reach, port);
    [(Client::Linux, "Linux"), (Client::Mac, "macOS")]
        .map(|(client, title)| {
            let Line { command, why } = nfs(client, NfsVersion::of(client, server), &share.name, reach);
            let whys: Vec<&str> = audience(server, share).into_iter().chain(why).collect();
            let why = (!whys.is_empty()).then(|| whys.join("; "));
            MountLine { protocol: Protocol::Nfs, client: title.into(), line: command, why }
        })
        .into()
}

/// Which hosts the command works from, if not from all by right.
fn audience(server: &ServerSettings, share: &ShareSettings) -> Option<&'static str> {
    match server.audience(share) {
        HostAudience::Rules => None,
        HostAudience::Guests => Some("every user is a guest; those of hosts in `nfs-clients` are not"),
        HostAudience::AllAsBefore => Some(
            "every host may, with any user number, as before an upgrade: `nfs-clients` in [server] says which hosts may",
        ),
        HostAudience::Hosts(hosts) if !hosts.is_empty() => None,
        HostAudience::Hosts(_) if server.has_logins_of_hosts() => Some(
            "only with a login, by Kerberos (sec=krb5p) or TLS with a certificate; hosts that you trust need none with \
             `--nfs-clients 192.168.1.0/24`, or `nfs-clients` in [server]",
        ),
        HostAudience::Hosts(_) => Some(
            "refused until you name the hosts that you trust: `--nfs-clients 192.168.1.0/24`, or `nfs-clients` in [server]",
        ),
    }
}

/// The version of NFS that a line names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NfsVersion {
    /// 3.
    Three,
    /// 4 with this minor version.
    Four(u32),
}

impl NfsVersion {
    /// The best one of those that are served: for Linux the newest, for a Mac 3, which all of them have, and for which the
    /// server keeps what a Mac writes into `._name`.
    fn of(client: Client, server: &ServerSettings) -> Self {
        let minors = server.protocols.nfs.minor_versions.iter().copied();
        let minor = match client {
            Client::Mac if server.protocols.nfs.version_3 => None,
            Client::Mac => minors.min(),
            Client::Linux => minors.max(),
        };
        minor.map_or(Self::Three, Self::Four)
    }
}

/// The command that mounts the share `name` over this version of NFS. It has ports that a client would not find itself.
fn nfs(client: Client, version: NfsVersion, share: &str, reach: Reach) -> Line {
    let host = match reach.host {
        IpAddr::V4(v4) => v4.to_string(),
        IpAddr::V6(v6) => format!("[{v6}]"),
    };
    let mut options = match version {
        NfsVersion::Three => "vers=3,tcp".to_owned(),
        NfsVersion::Four(minor) => format!("vers=4.{minor}"),
    };
    match version {
        NfsVersion::Three if reach.port == PORT && reach.files_found => {}
        NfsVersion::Three => {
            options.push_str(&format!(",port={0},mountport={0}", reach.port));
            options.push_str(if client == Client::Linux { ",mountproto=tcp" } else { "" });
        }
        // All of version 4 goes to one port, and no portmapper is asked.
        NfsVersion::Four(_) if reach.port == PORT => {}
        NfsVersion::Four(_) => options.push_str(&format!(",port={}", reach.port)),
    }
    options.push_str(match client {
        Client::Linux => "",
        Client::Mac if reach.secure => ",resvport",
        Client::Mac => ",noresvport",
    });
    let why = match version {
        NfsVersion::Three => lock_option(client, reach, &mut options),
        NfsVersion::Four(_) => None,
    };
    let (folder, proto) = match client {
        Client::Linux => ("/mnt", "sudo mount -t nfs -o"),
        Client::Mac => ("/Volumes", "sudo mount -t nfs -o"),
    };
    let target = format!("{folder}/{}", share.replace('/', "_"));
    let (from, to) = (quote(&format!("{host}:/{share}")), quote(&target));
    Line { command: format!("{proto} {options} {from} {to}"), why }
}

/// Kernels find the lock service only through portmap on port 111; without it, locks must stay on
/// the client.
fn lock_option(client: Client, reach: Reach, options: &mut String) -> Option<&'static str> {
    if reach.locks_found {
        return None;
    }
    options.push_str(match client {
        Client::Linux => ",nolock",
        Client::Mac => ",locallocks",
    });
    Some(
        "locks stay on the client: a kernel looks for the lock service through portmap on port 111, which does not name ours here",
    )
}

fn best_mounts(
    server: &ServerSettings,
    share: &ShareSettings,
    reach: Reachable,
    port: u16,
) -> Vec<BestMount> {
    let reach = Reach::of(share, reach, port);
    [Client::Linux, Client::Mac].map(|client| nfs_mount(client, server, share, reach)).into()
}

/// The options of the shortest line that works, and those for speed.
fn nfs_mount(client: Client, server: &ServerSettings, share: &ShareSettings, reach: Reach) -> BestMount {
    let version = NfsVersion::of(client, server);
    let line = nfs(client, version, &share.name, reach);
    let loops = server.threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
    let mut more = vec![
        (
            "hard",
            "a program waits while the server restarts; `soft` makes it fail, and loses what was written",
        ),
        ("rsize, wsize", "the longest that NFS has here: fewer requests for large files"),
    ];
    let mut options = format!("hard,rsize={LONGEST},wsize={LONGEST}");
    match client {
        Client::Linux if loops > 1 => {
            options.push_str(&format!(",nconnect={}", loops.min(4)));
            more.push((
                "nconnect",
                "each connection is served by another processor of the server; Linux 5.3 and later",
            ));
        }
        Client::Linux => {
            more.push(("no nconnect", "the server has one event loop, so more connections bring nothing"))
        }
        Client::Mac => {
            options.push_str(",readahead=64");
            more.push((
                "readahead",
                "macOS reads 16 blocks ahead by default; with more a stream does not wait for the network",
            ));
        }
    }
    let mut reasons = match version {
        NfsVersion::Three => vec![
            ("vers=3", "the version that all clients know well; without it clients try others first"),
            ("tcp", "UDP loses whole blocks with one packet"),
        ],
        NfsVersion::Four(_) => vec![(
            "vers=4",
            "opens, locks and copies go to the server, and delegations let the client keep files in its cache",
        )],
    };
    reasons.extend(more);
    let words = [
        (",mountport=", "port, mountport", "portmap on port 111 does not name this server"),
        (",port=", "port", "the server does not listen at 2049, which clients use without one"),
        ("noresvport", "noresvport", "a port below 1024 is not required here, and there are few of them"),
        (",resvport", "resvport", "a client rule of the share requires a port below 1024"),
        ("nolock", "nolock", "portmap does not name the lock service, so locks count on this client only"),
        (
            "locallocks",
            "locallocks",
            "portmap does not name the lock service, so locks count on this client only",
        ),
    ];
    let names_both = line.command.contains(",mountport=");
    let has =
        words.iter().filter(|(word, ..)| line.command.contains(word) && !(names_both && *word == ",port="));
    reasons.extend(has.map(|(_, option, reason)| (*option, *reason)));
    reasons.extend(audience(server, share).map(|why| ("nfs-clients", why)));
    if share.read_only {
        options.push_str(",ro");
        reasons.push(("ro", "the share is read-only; programs then find it out at once"));
    }
    let command = line.command.replacen("-o ", &format!("-o {options},"), 1);
    best(if client == Client::Linux { "Linux (NFS)" } else { "macOS (NFS)" }, command, &reasons)
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    const HOST: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 168, 1, 10));

    fn reach(port: u16, locks_found: bool) -> Reach {
        Reach { host: HOST, port, locks_found, files_found: locks_found, secure: false }
    }

    #[test]
    fn linux_gets_both_ports_so_that_it_asks_no_portmapper() {
        let line = nfs(Client::Linux, NfsVersion::Three, "Music", reach(12049, false));
        assert_eq!(
            line.command,
            "sudo mount -t nfs -o vers=3,tcp,port=12049,mountport=12049,mountproto=tcp,nolock \
             192.168.1.10:/Music /mnt/Music"
        );
        assert!(line.why.unwrap().contains("port 111"));
    }

    #[test]
    fn locks_go_to_the_server_when_portmap_has_its_standard_port() {
        let line = nfs(Client::Linux, NfsVersion::Three, "Music", reach(2049, true));
        assert!(!line.command.contains("nolock") && line.why.is_none());
    }

    #[test]
    fn a_port_is_only_named_where_a_client_would_not_find_it() {
        let options = |client, reach| {
            let command = nfs(client, NfsVersion::Three, "Music", reach).command;
            command.split(' ').nth(5).unwrap().to_owned()
        };
        assert_eq!(options(Client::Linux, reach(2049, true)), "vers=3,tcp");
        assert_eq!(options(Client::Mac, reach(2049, true)), "vers=3,tcp,noresvport");
        // rpcbind has another server's NFS, or only its lock service.
        let other = Reach { files_found: false, ..reach(2049, true) };
        assert_eq!(options(Client::Linux, other), "vers=3,tcp,port=2049,mountport=2049,mountproto=tcp");
        let locks = Reach { files_found: true, ..reach(2049, false) };
        assert_eq!(options(Client::Linux, locks), "vers=3,tcp,nolock");
        let moved = options(Client::Linux, reach(12049, true));
        assert_eq!(moved, "vers=3,tcp,port=12049,mountport=12049,mountproto=tcp");
    }

    #[test]
    fn version_4_needs_one_port_and_keeps_locks_on_the_server() {
        let line = |client, version, reach| nfs(client, version, "Music", reach);
        let linux = line(Client::Linux, NfsVersion::Four(2), reach(12049, false));
        assert_eq!(linux.command, "sudo mount -t nfs -o vers=4.2,port=12049 192.168.1.10:/Music /mnt/Music");
        assert_eq!(linux.why, None);
        let linux = line(Client::Linux, NfsVersion::Four(2), reach(2049, false));
        assert_eq!(linux.command, "sudo mount -t nfs -o vers=4.2 192.168.1.10:/Music /mnt/Music");
        let mac = line(Client::Mac, NfsVersion::Four(0), reach(12049, false));
        assert!(mac.command.contains("-o vers=4.0,port=12049,noresvport 192."), "{}", mac.command);
    }

    #[test]
    fn a_mac_uses_a_reserved_port_only_where_a_rule_wants_one() {
        let line =
            nfs(Client::Mac, NfsVersion::Three, "Music", Reach { secure: true, ..reach(12049, false) });
        assert!(line.command.contains(",resvport,locallocks "), "{}", line.command);
    }

    #[test]
    fn an_ipv6_address_stands_in_brackets() {
        let host = "fd00::1".parse().unwrap();
        let line = nfs(Client::Linux, NfsVersion::Three, "A", Reach { host, ..reach(2049, true) });
        assert!(line.command.contains(" [fd00::1]:/A "), "{}", line.command);
    }

    #[test]
    fn names_that_a_shell_would_split_are_quoted() {
        let line = nfs(Client::Linux, NfsVersion::Three, "Ada's notes", reach(2049, true));
        assert!(
            line.command.ends_with(r"'192.168.1.10:/Ada'\''s notes' '/mnt/Ada'\''s notes'"),
            "{}",
            line.command
        );
    }
}
