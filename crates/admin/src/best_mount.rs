//! The best mount command of each client system for each share, with the reason for each option. The lines of
//! [`crate::recipe`] are the shortest that work; these also get the most out of client and server.

use std::net::IpAddr;

use crate::control::{BestMount, ShareMounts};
use crate::recipe::{self, Client, NfsVersion, Reach, Reachable, quote, unc_host, url, windows_quote};
use crate::settings::{AfpLogin, Encryption, Protocol, ServerSettings, Settings, ShareSettings};

/// The standard ports, which clients use by themselves.
const SMB_PORT: u16 = 445;
const AFP_PORT: u16 = 548;
/// The longest read and write of NFSv3 here, and of Linux and macOS.
const NFS_SIZE: &str = "1048576";

/// The shares with the best command of each client system, the better protocol first.
#[must_use]
pub fn all(settings: &Settings, reach: Reachable) -> Vec<ShareMounts> {
    let of = |share: &ShareSettings| ShareMounts {
        share: share.name.clone(),
        mounts: share_mounts(&settings.server, share, reach),
    };
    settings.shares.iter().map(of).collect()
}

fn share_mounts(server: &ServerSettings, share: &ShareSettings, reach: Reachable) -> Vec<BestMount> {
    let shown = |protocol| share.protocols.contains(&protocol);
    let mut mounts = Vec::new();
    let smb = reach.smb.filter(|_| shown(Protocol::Smb));
    let afp = reach.afp.filter(|_| shown(Protocol::Afp));
    let nfs = reach.nfs.filter(|_| shown(Protocol::Nfs));
    if let Some(at) = smb {
        mounts.extend([mac_smb(server, share, at), windows(server, share, at), linux_smb(server, share, at)]);
    }
    if let Some(reach) = nfs {
        let reach = Reach { secure: share.clients.iter().any(|rule| rule.secure), ..reach };
        mounts.extend([
            nfs_mount(Client::Linux, server, share, reach),
            nfs_mount(Client::Mac, server, share, reach),
        ]);
    }
    if let Some(at) = afp {
        mounts.push(mac_afp(share, at));
        mounts.extend(classic(server, share, at));
    }
    mounts
}

fn best(client: &str, command: String, reasons: &[(&str, &str)]) -> BestMount {
    let reasons =
        reasons.iter().map(|(option, reason)| ((*option).to_owned(), (*reason).to_owned())).collect();
    BestMount { client: client.into(), command, reasons }
}

/// Whether all that SMB clients send must be encrypted.
fn must_encrypt(server: &ServerSettings, share: &ShareSettings) -> bool {
    server.smb_encryption == Encryption::Required || share.encryption_required
}

fn mac_smb(server: &ServerSettings, share: &ShareSettings, (host, port): (IpAddr, u16)) -> BestMount {
    let command = format!("open {}", url("smb", &share.flat_name(), host, (port, SMB_PORT)));
    let mut reasons = vec![
        (
            "smb://",
            "the protocol that macOS 10.9 and later are made for: listings carry Finder info and forks at once",
        ),
        ("open", "mounts below /Volumes as the user who is logged in, and asks for the password"),
    ];
    if port != SMB_PORT {
        reasons.push(("port", "the server does not listen at 445, which clients use without one"));
    }
    if share.time_machine {
        reasons.push(("Time Machine", "backs up to this share over SMB; macOS 27 has no AFP"));
    }
    if must_encrypt(server, share) {
        reasons.push(("encryption", "is required here; the Mac does it without an option"));
    } else if server.smb_signing_required {
        reasons.push(("signing", "is required here; the Mac does it without an option"));
    }
    best("macOS (SMB)", command, &reasons)
}

fn windows(server: &ServerSettings, share: &ShareSettings, (host, port): (IpAddr, u16)) -> BestMount {
    let path = windows_quote(&format!(r"\\{}\{}", unc_host(host), share.flat_name()));
    let port_option = if port == SMB_PORT { String::new() } else { format!(" /TCPPORT:{port}") };
    let mut reasons = vec![
        ("Z:", "programs that do not know network paths need a letter"),
        ("/USER", "the account here; Windows asks for the password"),
        (
            "/PERSISTENT:YES",
            "the share is there again after a restart, and a durable open survives a short loss of the network",
        ),
    ];
    if port != SMB_PORT {
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

fn linux_smb(server: &ServerSettings, share: &ShareSettings, (host, port): (IpAddr, u16)) -> BestMount {
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
    if port != SMB_PORT {
        options.push_str(&format!(",port={port}"));
        reasons.push(("port", "the server does not listen at 445"));
    }
    reasons.push(("no rsize, wsize", "the client takes the most that the server offers"));
    let name = share.flat_name();
    let (from, to) = (quote(&format!("//{host}/{name}")), quote(&format!("/mnt/{name}")));
    best("Linux (SMB)", format!("sudo mount -t cifs -o {options} {from} {to}"), &reasons)
}

/// The options of the shortest line that works, and those for speed.
fn nfs_mount(client: Client, server: &ServerSettings, share: &ShareSettings, reach: Reach) -> BestMount {
    let version = NfsVersion::of(client, server);
    let line = recipe::nfs(client, version, &share.name, reach);
    let loops = server.threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
    let mut more = vec![
        (
            "hard",
            "a program waits while the server restarts; `soft` makes it fail, and loses what was written",
        ),
        ("rsize, wsize", "the longest that NFS has here: fewer requests for large files"),
    ];
    let mut options = format!("hard,rsize={NFS_SIZE},wsize={NFS_SIZE}");
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
    if share.read_only {
        options.push_str(",ro");
        reasons.push(("ro", "the share is read-only; programs then find it out at once"));
    }
    let command = line.command.replacen("-o ", &format!("-o {options},"), 1);
    best(if client == Client::Linux { "Linux (NFS)" } else { "macOS (NFS)" }, command, &reasons)
}

fn mac_afp(share: &ShareSettings, (host, port): (IpAddr, u16)) -> BestMount {
    let command = format!("open {}", url("afp", &share.flat_name(), host, (port, AFP_PORT)));
    let reasons = [("afp://", "for Mac OS X 10.4 to 10.8, which are made for it; macOS 27 has no AFP")];
    best("Mac OS X (AFP)", command, &reasons)
}

/// Macs before Mac OS X. They have no IPv6.
fn classic(server: &ServerSettings, share: &ShareSettings, (host, port): (IpAddr, u16)) -> Option<BestMount> {
    let IpAddr::V4(host) = host else { return None };
    let colon_port = if port == AFP_PORT { String::new() } else { format!(":{port}") };
    let old = [AfpLogin::Dhx, AfpLogin::Cleartext, AfpLogin::Randnum, AfpLogin::TwoWayRandnum];
    let login = if server.afp_logins.iter().any(|login| old.contains(login)) {
        "an account can log in: `afp-logins` has a method that these Macs know"
    } else if share.guests {
        "guests only: `afp-logins` has no method that these Macs know; `dhx` or `randnum` is the least bad one"
    } else {
        "impossible now: `afp-logins` has no method that these Macs know (`dhx` or `randnum` is the least bad one), and guests \
         may not enter"
    };
    let mut reasons = vec![
        ("AFP over TCP", "the only protocol of Mac OS 8 and 9 here; needs AppleShare client 3.7 or later"),
        ("login", login),
    ];
    if port != AFP_PORT {
        reasons.push(("port", "without it a Mac asks port 548, which only root can give the server"));
    }
    Some(best(
        "classic Mac OS (AFP)",
        format!("Chooser, AppleShare, Server IP Address...: {host}{colon_port}"),
        &reasons,
    ))
}

#[cfg(test)]
mod tests {
    use crate::settings::Arguments;

    use super::*;

    fn settings(server: &str, share: &str) -> Settings {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("a")).unwrap();
        let text =
            format!("[server]\nthreads = 2\n{server}\n[[share]]\nname = \"A b\"\npath = \"a\"\n{share}\n");
        std::fs::write(folder.path().join("fourfold.toml"), text).unwrap();
        Settings::load(&Arguments::new(false, folder.path().into())).unwrap()
    }

    fn reach(standard: bool) -> Reachable {
        let host: IpAddr = [192, 0, 2, 7].into();
        let port = |port: u16| if standard { port } else { port + 10_000 };
        let nfs =
            Reach { host, port: port(2049), locks_found: standard, files_found: standard, secure: false };
        Reachable { nfs: Some(nfs), smb: Some((host, port(445))), afp: Some((host, port(548))), iscsi: None }
    }

    fn command(settings: &Settings, reach: Reachable, client: &str) -> String {
        let all = all(settings, reach);
        all[0].mounts.iter().find(|mount| mount.client == client).unwrap().command.clone()
    }

    #[test]
    fn commands_have_the_options_that_the_settings_ask_for() {
        let plain = settings("", "");
        let linux = "sudo mount -t nfs -o hard,rsize=1048576,wsize=1048576,nconnect=2,vers=4.2 '192.0.2.7:/A b' '/mnt/A b'";
        assert_eq!(command(&plain, reach(true), "Linux (NFS)"), linux);
        assert_eq!(
            command(&plain, reach(true), "Windows (SMB)"),
            "net use Z: \"\\\\192.0.2.7\\A b\" /USER:NAME /PERSISTENT:YES"
        );
        assert_eq!(command(&plain, reach(true), "macOS (SMB)"), "open smb://192.0.2.7/A%20b");
        let old = settings("nfs-versions = [\"3\"]", "");
        assert_eq!(command(&old, reach(true), "Linux (NFS)"), linux.replace("vers=4.2", "vers=3,tcp"));
        let sealed = settings("smb-encryption = \"required\"", "read-only = true");
        let smb = command(&sealed, reach(false), "Linux (SMB)");
        assert!(smb.contains("vers=3.1.1,uid=$(id -u),gid=$(id -g),seal,port=10445 "), "{smb}");
        let nfs = command(&sealed, reach(false), "macOS (NFS)");
        assert!(
            nfs.contains("readahead=64,ro,vers=3,tcp,port=12049,mountport=12049,noresvport,locallocks "),
            "{nfs}"
        );
    }

    #[test]
    fn every_option_has_a_reason() {
        for (settings, standard) in [(settings("", ""), true), (settings("", "guests = true"), false)] {
            for mount in &all(&settings, reach(standard))[0].mounts {
                assert!(
                    !mount.reasons.is_empty() && mount.reasons.iter().all(|(_, why)| why.len() > 10),
                    "{mount:?}"
                );
                let Some(options) = mount.command.split(" -o ").nth(1) else { continue };
                for option in options
                    .split(' ')
                    .next()
                    .unwrap()
                    .split(',')
                    .filter(|option| option.contains(char::is_alphabetic))
                {
                    let name = option.split('=').next().unwrap();
                    let said = mount.reasons.iter().any(|(option, _)| option.contains(name));
                    let known = ["username", "mountproto", "gid", "mountport"].contains(&name);
                    assert!(said || known || name.starts_with('-'), "{name} of {mount:?}");
                }
            }
        }
    }

    #[test]
    fn classic_macs_are_told_which_login_they_have() {
        let login = |server: &str, share: &str| {
            let all = all(&settings(server, share), reach(true));
            all[0].mounts.iter().find(|mount| mount.client.starts_with("classic")).unwrap().reasons[1]
                .1
                .clone()
        };
        assert!(login("", "").starts_with("impossible now"));
        assert!(login("", "guests = true").starts_with("guests only"));
        assert!(login("afp-logins = [\"dhx2\", \"randnum\"]", "").starts_with("an account can log in"));
    }
}
