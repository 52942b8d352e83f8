//! Mount lines: the commands with which clients reach a share.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

use crate::control::{MountLine, ShareStatus};
use crate::settings::{Protocol, ServerSettings, Settings, ShareSettings};

/// The server's address for NFS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reach {
    /// The address clients should use, see [`address`].
    pub host: IpAddr,
    /// The NFS port.
    pub port: u16,
    /// Portmap on port 111, the only one that kernels ask, has this server's lock service.
    pub locks_found: bool,
    /// Portmap on port 111 has this server's NFS and MOUNT: clients find them without a port in the
    /// command.
    pub files_found: bool,
    /// A client rule of the share requires a source port below 1024.
    pub secure: bool,
}

/// The servers' addresses; `None`: the protocol is off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Reachable {
    /// NFS. Its `secure` is set per share, from the client rules.
    pub nfs: Option<Reach>,
    /// SMB: address and port.
    pub smb: Option<(IpAddr, u16)>,
    /// AFP: address and port.
    pub afp: Option<(IpAddr, u16)>,
    /// iSCSI: address and port.
    pub iscsi: Option<(IpAddr, u16)>,
}

/// The client that a line is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Client {
    /// mount(8) and nfs(5) of Linux.
    Linux,
    /// mount_nfs(8) of macOS.
    Mac,
}

/// A command, and an explanation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// The command.
    pub command: String,
    /// The explanation, if the command needs one.
    pub why: Option<&'static str>,
}

/// Every share with its mount lines.
#[must_use]
pub fn shares(settings: &Settings, reach: Reachable) -> Vec<ShareStatus> {
    let shown = |share: &ShareSettings, protocol| share.protocols.contains(&protocol);
    settings
        .shares
        .iter()
        .map(|share| {
            let smb = reach.smb.filter(|_| shown(share, Protocol::Smb));
            let nfs = reach.nfs.filter(|_| shown(share, Protocol::Nfs));
            let afp = reach.afp.filter(|_| shown(share, Protocol::Afp));
            let smb = smb.map(|(host, port)| smb_lines(&share.flat_name(), host, port));
            let afp = afp.map(|(host, port)| afp_lines(&share.flat_name(), host, port));
            let nfs = nfs.map(|reach| lines(&settings.server, share, reach));
            ShareStatus {
                name: share.name.clone(),
                path: share.written_path(),
                read_only: share.read_only,
                mounts: smb.into_iter().chain(afp).chain(nfs).flatten().collect(),
            }
        })
        .collect()
}

/// The standard port of SMB, the only one that Windows uses by default.
const SMB_PORT: u16 = 445;

fn smb_lines(share: &str, host: IpAddr, port: u16) -> Vec<MountLine> {
    let line = |client: &str, line: String, why: Option<&str>| MountLine {
        protocol: Protocol::Smb,
        client: client.into(),
        line,
        why: why.map(Into::into),
    };
    let mac = line("macOS", format!("open {}", url("smb", share, host, (port, SMB_PORT))), None);
    let path = format!(r"\\{}\{share}", unc_host(host));
    let windows = match port {
        SMB_PORT => line("Windows", path, None), // for the Explorer's address bar: no quotes
        _ => line(
            "Windows",
            format!("net use {} /TCPPORT:{port}", windows_quote(&path)),
            Some("another port than 445 needs Windows 11 24H2 or Windows Server 2025"),
        ),
    };
    let port_option = if port == SMB_PORT { String::new() } else { format!(",port={port}") };
    let (from, to) = (quote(&format!("//{host}/{share}")), quote(&format!("/mnt/{share}")));
    // In dialects before 3.1.1 the server cannot distinguish Linux from other clients, and Linux
    // 6.1 crashes when it caches folders under leases.
    let linux = format!("sudo mount -t cifs -o username=NAME,nohandlecache{port_option} {from} {to}");
    vec![mac, windows, line("Linux", linux, None)]
}

/// The standard port of AFP.
const AFP_PORT: u16 = 548;

fn afp_lines(share: &str, host: IpAddr, port: u16) -> Vec<MountLine> {
    let line = |client: &str, line: String, why: Option<&str>| MountLine {
        protocol: Protocol::Afp,
        client: client.into(),
        line,
        why: why.map(Into::into),
    };
    let mac = line("macOS", format!("open {}", url("afp", share, host, (port, AFP_PORT))), None);
    // Macs before Mac OS X have no IPv6.
    let IpAddr::V4(host) = host else { return vec![mac] };
    let chooser = "Chooser, AppleShare, Server IP Address...:";
    let classic = match port {
        AFP_PORT => line("classic", format!("{chooser} {host}"), None),
        _ => {
            let why = "without a port a Mac asks port 548, which only root can give it";
            line("classic", format!("{chooser} {host}:{port}"), Some(why))
        }
    };
    vec![mac, classic]
}

/// The address of a share, with its port unless that is the standard one.
pub(crate) fn url(scheme: &str, share: &str, host: IpAddr, (port, standard): (u16, u16)) -> String {
    let at = match host {
        IpAddr::V4(v4) => v4.to_string(),
        IpAddr::V6(v6) => format!("[{v6}]"),
    };
    let colon_port = if port == standard { String::new() } else { format!(":{port}") };
    let encoded: String = share.bytes().map(percent_encoded).collect();
    format!("{scheme}://{at}{colon_port}/{encoded}")
}

/// An IPv6 address has colons, which are not allowed in a UNC path: it is written as a name of
/// `ipv6-literal.net`, which Windows decodes itself.
pub(crate) fn unc_host(host: IpAddr) -> String {
    match host {
        IpAddr::V4(v4) => v4.to_string(),
        IpAddr::V6(v6) => format!("{}.ipv6-literal.net", v6.to_string().replace(':', "-")),
    }
}

fn percent_encoded(byte: u8) -> String {
    match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => char::from(byte).to_string(),
        other => format!("%{other:02X}"),
    }
}

/// The standard port of iSCSI.
const ISCSI_PORT: u16 = 3260;

/// The address of a LUN in the form of libiscsi and qemu; for long lists.
#[must_use]
pub fn lun_url(name: &str, target: &str, number: u16, (host, port): (IpAddr, u16)) -> MountLine {
    MountLine {
        protocol: Protocol::Iscsi,
        client: name.into(),
        line: format!("iscsi://{}/{target}/{number}", SocketAddr::new(host, port)),
        why: Some("`fourfold lun show` has the lines for Linux, Windows and libiscsi's programs".into()),
    }
}

/// The commands with which initiators reach a LUN: its target's name and its number there.
/// `guests`: logins need no account.
#[must_use]
pub fn lun(target: &str, number: u16, (host, port): (IpAddr, u16), guests: bool) -> Vec<MountLine> {
    let line = |client: &str, line: String, why: Option<&str>| MountLine {
        protocol: Protocol::Iscsi,
        client: client.into(),
        line,
        why: why.map(Into::into),
    };
    let at = SocketAddr::new(host, port);
    let account = if guests { "" } else { "NAME%SECRET@" };
    let chap =
        "NAME and SECRET are those of an account with a CHAP secret: `fourfold user add NAME --chap-secret`";
    let chap = Some(chap).filter(|_| !guests);
    // Without guests, discovery returns targets only to authenticated initiators; a node record
    // needs no discovery.
    let node = format!("sudo iscsiadm -m node -T {target} -p {at}");
    let begin = match guests {
        true => format!("sudo iscsiadm -m discovery -t sendtargets -p {at}"),
        false => {
            let set = ["authmethod -v CHAP", "username -v NAME", "password -v SECRET"]
                .map(|set| format!(" && {node} -o update -n node.session.auth.{set}"));
            format!("{node} -o new{}", set.concat())
        }
    };
    let linux = format!("{begin} && {node} --login");
    let port = if port == ISCSI_PORT { String::new() } else { format!(" -TargetPortalPortNumber {port}") };
    let proof =
        if guests { "" } else { " -AuthenticationType ONEWAYCHAP -ChapUsername NAME -ChapSecret SECRET" };
    let windows = format!(
        "New-IscsiTargetPortal -TargetPortalAddress {host}{port}{proof}; Connect-IscsiTarget -NodeAddress {target} \
         -IsPersistent $true{proof}"
    );
    vec![
        line("Linux", linux, chap),
        line("Windows", windows, chap),
        line(
            "libiscsi",
            format!("iscsi-inq {}", quote(&format!("iscsi://{account}{at}/{target}/{number}"))),
            chap,
        ),
    ]
}

fn lines(server: &ServerSettings, share: &ShareSettings, reach: Reach) -> Vec<MountLine> {
    let reach = Reach { secure: share.clients.iter().any(|rule| rule.secure), ..reach };
    [(Client::Linux, "Linux"), (Client::Mac, "macOS")]
        .map(|(client, title)| {
            let Line { command, why } = nfs(client, NfsVersion::of(client, server), &share.name, reach);
            MountLine {
                protocol: Protocol::Nfs,
                client: title.into(),
                line: command,
                why: why.map(Into::into),
            }
        })
        .into()
}

/// The standard port of NFS.
const NFS_PORT: u16 = 2049;

/// The version of NFS that a line names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NfsVersion {
    /// 3.
    Three,
    /// 4 with this minor version.
    Four(u32),
}

impl NfsVersion {
    /// The best one of those that are served: for Linux the newest, for a Mac 3, which all of them have, and for which the
    /// server keeps what a Mac writes into `._name`.
    #[must_use]
    pub fn of(client: Client, server: &ServerSettings) -> Self {
        let minors = server.nfs_4.iter().copied();
        let minor = match client {
            Client::Mac if server.nfs_3 => None,
            Client::Mac => minors.min(),
            Client::Linux => minors.max(),
        };
        minor.map_or(Self::Three, Self::Four)
    }
}

/// The command that mounts the share `name` over this version of NFS. It has ports that a client would not find itself.
#[must_use]
pub fn nfs(client: Client, version: NfsVersion, share: &str, reach: Reach) -> Line {
    let host = match reach.host {
        IpAddr::V4(v4) => v4.to_string(),
        IpAddr::V6(v6) => format!("[{v6}]"),
    };
    let mut options = match version {
        NfsVersion::Three => "vers=3,tcp".to_owned(),
        NfsVersion::Four(minor) => format!("vers=4.{minor}"),
    };
    match version {
        NfsVersion::Three if reach.port == NFS_PORT && reach.files_found => {}
        NfsVersion::Three => {
            options.push_str(&format!(",port={0},mountport={0}", reach.port));
            options.push_str(if client == Client::Linux { ",mountproto=tcp" } else { "" });
        }
        // All of version 4 goes to one port, and no portmapper is asked.
        NfsVersion::Four(_) if reach.port == NFS_PORT => {}
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

/// A word of a shell command, quoted if the shell would split it.
#[must_use]
pub fn quote(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "@%+=:,./-_[]".contains(c);
    let glob = word.contains('[') && !word.starts_with('[');
    if !word.is_empty() && word.chars().all(plain) && !glob {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// A word of a command for PowerShell and cmd, quoted if they would split it. Only PowerShell has
/// quotes in which `$`, a backtick and typographic quotation marks are literal.
pub(crate) fn windows_quote(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || r"\/.-_:".contains(c);
    let expands = |c: char| "$`\u{201c}\u{201d}\u{201e}".contains(c);
    if word.chars().all(plain) {
        word.to_owned()
    } else if word.strip_suffix('$').unwrap_or(word).contains(expands) {
        let doubled =
            |c: char| if "'\u{2018}\u{2019}\u{201a}\u{201b}".contains(c) { vec![c, c] } else { vec![c] };
        format!("'{}'", word.chars().flat_map(doubled).collect::<String>())
    } else {
        format!("\"{word}\"")
    }
}

/// The displayed address of a listener: its own, or, if it listens on all addresses, one that other
/// hosts can reach.
#[must_use]
pub fn address(listening: &[IpAddr]) -> IpAddr {
    let any = listening.iter().find(|address| address.is_unspecified());
    match (any, listening.first()) {
        (Some(any), _) => outward(listening.contains(&IpAddr::V4(Ipv4Addr::UNSPECIFIED)) || any.is_ipv4()),
        (None, Some(first)) => *first,
        (None, None) => IpAddr::V4(Ipv4Addr::LOCALHOST),
    }
}

/// The machine's own address on the default route, or loopback without a route. Connecting a UDP
/// socket sends nothing: it only makes the kernel choose a route. The destinations are reserved for
/// documentation (RFC 5737, RFC 3849).
fn outward(v4: bool) -> IpAddr {
    let by_route = |any: IpAddr, to: IpAddr| {
        let socket = UdpSocket::bind(SocketAddr::new(any, 0)).ok()?;
        socket.connect(SocketAddr::new(to, 9)).ok()?;
        socket.local_addr().ok().map(|local| local.ip()).filter(|ip| !ip.is_unspecified())
    };
    let four = || by_route(Ipv4Addr::UNSPECIFIED.into(), Ipv4Addr::new(192, 0, 2, 1).into());
    let six =
        || by_route(Ipv6Addr::UNSPECIFIED.into(), Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1).into());
    let found = if v4 { four().or_else(six) } else { six() };
    found.unwrap_or(if v4 { Ipv4Addr::LOCALHOST.into() } else { Ipv6Addr::LOCALHOST.into() })
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOST: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 168, 1, 10));

    fn reach(port: u16, locks_found: bool) -> Reach {
        Reach { host: HOST, port, locks_found, files_found: locks_found, secure: false }
    }

    #[test]
    fn smb_is_shown_as_an_address_for_macs_a_path_for_windows_and_a_mount_line_for_linux() {
        let lines: Vec<String> = smb_lines("My Work", HOST, 445).into_iter().map(|line| line.line).collect();
        assert_eq!(lines[0], "open smb://192.168.1.10/My%20Work");
        assert_eq!(lines[1], r"\\192.168.1.10\My Work");
        assert_eq!(
            lines[2],
            "sudo mount -t cifs -o username=NAME,nohandlecache '//192.168.1.10/My Work' '/mnt/My Work'"
        );
        let other = smb_lines("A", "fd00::1".parse().unwrap(), 10445);
        assert_eq!(other[0].line, "open smb://[fd00::1]:10445/A");
        assert_eq!(other[1].line, r"net use \\fd00--1.ipv6-literal.net\A /TCPPORT:10445");
        assert!(other[2].line.contains("port=10445") && other[1].why.is_some());
    }

    #[test]
    fn afp_is_shown_as_an_address_for_macos_and_as_what_to_type_in_the_chooser_for_older_macs() {
        let lines = |port| -> Vec<String> {
            afp_lines("My Work", HOST, port).into_iter().map(|line| line.line).collect()
        };
        let chooser = "Chooser, AppleShare, Server IP Address...: 192.168.1.10";
        assert_eq!(lines(548), ["open afp://192.168.1.10/My%20Work", chooser]);
        assert_eq!(
            lines(10548),
            ["open afp://192.168.1.10:10548/My%20Work".to_owned(), format!("{chooser}:10548")]
        );
        assert!(afp_lines("A", HOST, 10548)[1].why.as_ref().is_some_and(|why| why.contains("548")));
        assert_eq!(afp_lines("A", "fd00::1".parse().unwrap(), 548).len(), 1);
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
    fn a_share_name_is_quoted_for_windows_as_powershell_and_cmd_have_it() {
        let line = |share: &str| smb_lines(share, HOST, 10445).remove(1).line;
        assert_eq!(line("Music"), r"net use \\192.168.1.10\Music /TCPPORT:10445");
        assert_eq!(line("My Work"), r#"net use "\\192.168.1.10\My Work" /TCPPORT:10445"#);
        assert_eq!(line("R&D"), r#"net use "\\192.168.1.10\R&D" /TCPPORT:10445"#);
        assert_eq!(line("Ada's"), r#"net use "\\192.168.1.10\Ada's" /TCPPORT:10445"#);
        assert_eq!(line("Hidden$"), r#"net use "\\192.168.1.10\Hidden$" /TCPPORT:10445"#);
        assert_eq!(line("a$home's"), r"net use '\\192.168.1.10\a$home''s' /TCPPORT:10445");
        assert_eq!(
            line("\u{201c}x\u{2019}"),
            "net use '\\\\192.168.1.10\\\u{201c}x\u{2019}\u{2019}' /TCPPORT:10445"
        );
    }

    #[test]
    fn a_mac_uses_a_reserved_port_only_where_a_rule_wants_one() {
        let line =
            nfs(Client::Mac, NfsVersion::Three, "Music", Reach { secure: true, ..reach(12049, false) });
        assert!(line.command.contains(",resvport,locallocks "), "{}", line.command);
    }

    #[test]
    fn names_a_shell_would_take_apart_are_quoted() {
        let line = nfs(Client::Linux, NfsVersion::Three, "Ada's notes", reach(2049, true));
        assert!(
            line.command.ends_with(r"'192.168.1.10:/Ada'\''s notes' '/mnt/Ada'\''s notes'"),
            "{}",
            line.command
        );
        assert_eq!(quote("Fotos_2026"), "Fotos_2026");
        assert_eq!(quote("a$b"), "'a$b'");
        assert_eq!(quote("a[1]"), "'a[1]'");
        assert_eq!(quote(""), "''");
    }

    #[test]
    fn a_lun_is_reached_with_a_secret_unless_its_share_lets_guests_in() {
        let lines = |port, guests| -> Vec<String> {
            let lines = lun("iqn.2026-11.test:a.b", 3, (HOST, port), guests);
            lines.into_iter().map(|line| line.line).collect()
        };
        assert_eq!(
            lines(3260, true),
            [
                "sudo iscsiadm -m discovery -t sendtargets -p 192.168.1.10:3260 && sudo iscsiadm -m node -T \
                 iqn.2026-11.test:a.b -p 192.168.1.10:3260 --login",
                "New-IscsiTargetPortal -TargetPortalAddress 192.168.1.10; Connect-IscsiTarget -NodeAddress \
                 iqn.2026-11.test:a.b -IsPersistent $true",
                "iscsi-inq iscsi://192.168.1.10:3260/iqn.2026-11.test:a.b/3",
            ]
        );
        let lines = lines(13260, false);
        assert!(lines[0].contains("-n node.session.auth.username -v NAME"), "{}", lines[0]);
        let begin = "sudo iscsiadm -m node -T iqn.2026-11.test:a.b -p 192.168.1.10:13260 -o new && ";
        assert!(lines[0].starts_with(begin), "{}", lines[0]);
        assert_eq!(lines[1].matches(" -AuthenticationType ONEWAYCHAP ").count(), 2, "{}", lines[1]);
        assert!(
            lines[1].contains("-TargetPortalPortNumber 13260") && lines[1].contains("-ChapUsername NAME")
        );
        assert_eq!(lines[2], "iscsi-inq iscsi://NAME%SECRET@192.168.1.10:13260/iqn.2026-11.test:a.b/3");
    }

    #[test]
    fn an_ipv6_address_stands_in_brackets() {
        let host = "fd00::1".parse().unwrap();
        let line = nfs(Client::Linux, NfsVersion::Three, "A", Reach { host, ..reach(2049, true) });
        assert!(line.command.contains(" [fd00::1]:/A "), "{}", line.command);
    }

    #[test]
    fn a_listener_on_one_address_is_shown_with_it_and_one_on_all_with_a_real_one() {
        assert_eq!(address(&[HOST]), HOST);
        let any = address(&["::".parse().unwrap(), "0.0.0.0".parse().unwrap()]);
        assert!(!any.is_unspecified(), "{any}");
    }
}
