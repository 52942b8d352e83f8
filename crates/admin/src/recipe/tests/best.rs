//! The best commands.

use crate::recipe::*;
use crate::settings::Arguments;

fn settings(server: &str, share: &str) -> Settings {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("a")).unwrap();
    let text = format!("[server]\nthreads = 2\n{server}\n[[share]]\nname = \"A b\"\npath = \"a\"\n{share}\n");
    std::fs::write(folder.path().join("fourfold.toml"), text).unwrap();
    Settings::load(&Arguments::new(false, folder.path().into())).unwrap()
}

fn reach(standard: bool) -> Reachable {
    let port = |protocol: Protocol| {
        let port = protocol.standard_port();
        Protocol::OF_FILES.contains(&protocol).then_some(if standard { port } else { port + 10_000 })
    };
    Reachable {
        host: [192, 0, 2, 7].into(),
        ports: BoundPorts::by(port),
        portmap: PortmapServices { locks: standard, files: standard },
    }
}

fn command(settings: &Settings, reach: Reachable, client: &str) -> String {
    let all = best_mounts(settings, reach);
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
        for mount in &best_mounts(&settings, reach(standard))[0].mounts {
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
        let all = best_mounts(&settings(server, share), reach(true));
        all[0].mounts.iter().find(|mount| mount.client.starts_with("classic")).unwrap().reasons[1].1.clone()
    };
    assert!(login("", "").starts_with("impossible now"));
    assert!(login("", "guests = true").starts_with("guests only"));
    assert!(login("afp-logins = [\"dhx2\", \"randnum\"]", "").starts_with("an account can log in"));
}

#[test]
fn a_line_says_from_which_hosts_it_works() {
    let why = |server: &str, share: &str| {
        let shares = shares(&settings(server, share), reach(true));
        let line = shares[0].mounts.iter().find(|mount| mount.protocol == Protocol::Nfs).unwrap();
        line.why.clone().unwrap_or_default()
    };
    assert!(why("", "").starts_with("refused until you name the hosts"));
    for (server, share) in [
        ("nfs-clients = [\"192.168.1.0/24\"]", ""),
        ("", "guests = true"),
        ("", "[[share.client]]\nmatch = \"10.0.0.1\""),
    ] {
        assert_eq!(why(server, share), "");
    }
}
