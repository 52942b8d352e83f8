//! How clients of SMB reach a share.

use std::net::IpAddr;

use super::{MountRecipe, Reachable, best, unc_host, url};
use crate::control::{BestMount, MountLine};
use crate::settings::{Protocol, ServerSettings, ShareSettings};
use crate::shell::{quote, windows_quote};

pub(super) const RECIPE: MountRecipe = MountRecipe { protocol: Protocol::Smb, lines, best: best_mounts };

/// The standard port, the only one that Windows uses by default.
const PORT: u16 = Protocol::Smb.standard_port();

fn lines(_: &ServerSettings, share: &ShareSettings, reach: Reachable, port: u16) -> Vec<MountLine> {
    mount_lines(&share.flat_name(), reach.host, port)
}

fn mount_lines(share: &str, host: IpAddr, port: u16) -> Vec<MountLine> {
    let line = |client: &str, line: String, why: Option<&str>| MountLine {
        protocol: Protocol::Smb,
        client: client.into(),
        line,
        why: why.map(Into::into),
    };
    let mac = line("macOS", format!("open {}", url("smb", share, host, (port, PORT))), None);
    let path = format!(r"\\{}\{share}", unc_host(host));
    let windows = match port {
        PORT => line("Windows", path, None), // for the Explorer's address bar: no quotes
        _ => line(
            "Windows",
            format!("net use {} /TCPPORT:{port}", windows_quote(&path)),
            Some("another port than 445 needs Windows 11 24H2 or Windows Server 2025"),
        ),
    };
    let port_option = if port == PORT { String::new() } else { format!(",port={port}") };
    let (from, to) = (quote(&format!("//{host}/{share}")), quote(&format!("/mnt/{share}")));
    // In dialects before 3.1.1 the server cannot distinguish Linux from other clients, and Linux
    // 6.1 crashes when it caches folders under leases.
    let linux = format!("sudo mount -t cifs -o username=NAME,nohandlecache{port_option} {from} {to}");
    vec![mac, windows, line("Linux", linux, None)]
}

fn best_mounts(
    server: &ServerSettings,
    share: &ShareSettings,
    reach: Reachable,
    port: u16,
) -> Vec<BestMount> {
    let at = (reach.host, port);
    vec![mac(server, share, at), windows(server, share, at), linux(server, share, at)]
}

/// Whether all that SMB clients send must be encrypted.
fn must_encrypt(server: &ServerSettings, share: &ShareSettings) -> bool {
    server.requires_encryption() || share.encryption_required
}

fn mac(server: &ServerSettings, share: &ShareSettings, (host, port): (IpAddr, u16)) -> BestMount {
    let command = format!("open {}", url("smb", &share.flat_name(), host, (port, PORT)));
    let mut reasons = vec![
        (
            "smb://",
            "the protocol that macOS 10.9 and later are made for: listings carry Finder info and forks at once",
        ),
        ("open", "mounts below /Volumes as the user who is logged in, and asks for the password"),
    ];
    if port != PORT {
        reasons.push(("port", "the server does not listen at 445, which clients use without one"));
    }
    if share.time_machine {
        reasons.push(("Time Machine", "backs up to this share over SMB; macOS 27 has no AFP"));
    }
    if must_encrypt(server, share) {
        reasons.push(("encryption", "is required here; the Mac does it without an option"));
    } else if server.protocols.smb.signing_required {
        reasons.push(("signing", "is required here; the Mac does it without an option"));
    }
    best("macOS (SMB)", command, &reasons)
}

fn windows(server: &ServerSettings, share: &ShareSettings, (host, port): (IpAddr, u16)) -> BestMount {
    let path = windows_quote(&format!(r"\\{}\{}", unc_host(host), share.flat_name()));
    let port_option = if port == PORT { String::new() } else { format!(" /TCPPORT:{port}") };
    let mut reasons = vec![
        ("Z:", "programs that do not know network paths need a letter"),
        ("/USER", "the account here; Windows asks for the password"),
        (
            "/PERSISTENT:YES",
            "the share is there again after a restart, and a durable open survives a short loss of the network",
        ),
    ];
    if port != PORT {
        reasons.push((
            "/TCPPORT",
            "the server does not listen at 445; needs Windows 11 24H2 or Windows Server 2025",
        ));
    }
    if share.guests && !must_encrypt(server, share) {
        reasons.push(("guests", "may enter, but Windows 11 refuses guests by default: use an account"));
    }
    if must_encrypt(server, share) {
        reasons.push(("encryption", "is required here, and needs Windows 8 or later"));
    }
    best("Windows (SMB)", format!("net use Z: {path} /USER:NAME /PERSISTENT:YES{port_option}"), &reasons)
}

fn linux(server: &ServerSettings, share: &ShareSettings, (host, port): (IpAddr, u16)) -> BestMount {
    let mut options = "username=NAME,vers=3.1.1,uid=$(id -u),gid=$(id -g)".to_owned();
    let mut reasons = vec![
        (
            "vers=3.1.1",
            "the newest dialect: logins that nobody can alter on the way, and the fastest signatures",
        ),
        ("uid, gid", "files belong to you, as SMB tells the server's users by names only"),
    ];
    if must_encrypt(server, share) {
        options.push_str(",seal");
        reasons.push(("seal", "encryption is required here"));
    } else {
        reasons.push(("no seal", "encryption is not required, and costs processor time on both sides"));
    }
    if port != PORT {
        options.push_str(&format!(",port={port}"));
        reasons.push(("port", "the server does not listen at 445"));
    }
    reasons.push(("no rsize, wsize", "the client takes the most that the server offers"));
    let name = share.flat_name();
    let (from, to) = (quote(&format!("//{host}/{name}")), quote(&format!("/mnt/{name}")));
    best("Linux (SMB)", format!("sudo mount -t cifs -o {options} {from} {to}"), &reasons)
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    const HOST: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 168, 1, 10));

    #[test]
    fn smb_is_shown_as_an_address_for_macs_a_path_for_windows_and_a_mount_line_for_linux() {
        let lines: Vec<String> =
            mount_lines("My Work", HOST, 445).into_iter().map(|line| line.line).collect();
        assert_eq!(lines[0], "open smb://192.168.1.10/My%20Work");
        assert_eq!(lines[1], r"\\192.168.1.10\My Work");
        assert_eq!(
            lines[2],
            "sudo mount -t cifs -o username=NAME,nohandlecache '//192.168.1.10/My Work' '/mnt/My Work'"
        );
        let other = mount_lines("A", "fd00::1".parse().unwrap(), 10445);
        assert_eq!(other[0].line, "open smb://[fd00::1]:10445/A");
        assert_eq!(other[1].line, r"net use \\fd00--1.ipv6-literal.net\A /TCPPORT:10445");
        assert!(other[2].line.contains("port=10445") && other[1].why.is_some());
    }

    #[test]
    fn a_share_name_is_quoted_for_windows_as_powershell_and_cmd_have_it() {
        let line = |share: &str| mount_lines(share, HOST, 10445).remove(1).line;
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
}
