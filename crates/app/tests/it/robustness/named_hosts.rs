//! Client rules that name hosts, over each protocol: a name and a pattern let a host in, and a look-up that fails lets nobody in.

use std::path::Path;
use std::process::Command;

use crate::robustness::server::{Server, USER, folder};

fn server(top: &Path, share: &Path, rules: &[(&str, &str)], more: &[&str]) -> Server {
    let (user, password) = USER;
    let mut text = format!(
        "[server]\nafp-logins = [\"cleartext\"]\n\n[[user]]\nname = \"{user}\"\nuid = 1000\n\n[[share]]\nname = \"share\"\npath = \"{}\"\n",
        share.display()
    );
    for (hosts, access) in rules {
        text.push_str(&format!("\n[[share.client]]\nmatch = \"{hosts}\"\naccess = \"{access}\"\n"));
    }
    std::fs::write(top.join("fourfold.toml"), text).unwrap();
    let user = format!("{user}:{password}");
    let words = ["--nfs-port", "0", "--smb-port", "0", "--afp-port", "0", "--user", &user];
    Server::run(top, &[&words[..], more].concat())
}

/// The protocols by which the share can be listed.
fn admitted(rules: &[(&str, &str)]) -> Vec<&'static str> {
    let (top, share) = folder();
    listed(&server(top.path(), &share, rules, &[]))
}

fn listed(server: &Server) -> Vec<&'static str> {
    let ((user, password), nfs) = (USER, server.port);
    let urls = [
        ("smb", format!("smb://{user}:{password}@127.0.0.1:{}/share", server.smb_port)),
        ("afp", format!("afp://{user}:{password}@127.0.0.1:{}/share?login=cleartext", server.afp_port)),
        ("nfs3", format!("nfs://127.0.0.1:{nfs}/share?mountport={nfs}&uid=1000")),
        ("nfs3 over UDP", format!("nfs://127.0.0.1:{nfs}/share?mountport={nfs}&uid=1000&proto=udp")),
        ("nfs4", format!("nfs://127.0.0.1:{nfs}/share?vers=4&uid=1000")),
    ];
    let lists = |url: &String| {
        let words = ["ls", url];
        Command::new(env!("CARGO_BIN_EXE_fourfold")).args(words).output().unwrap().status.success()
    };
    urls.iter().filter(|(_, url)| lists(url)).map(|(name, _)| *name).collect()
}

#[test]
fn a_host_that_nobody_names_gets_nothing_over_nfs_and_the_log_says_so_once() {
    let (top, share) = folder();
    let named = server(top.path(), &share, &[], &["--nfs-clients", "127.0.0.1"]);
    assert_eq!(listed(&named), ["smb", "afp", "nfs3", "nfs3 over UDP", "nfs4"]);
    drop(named);
    let other = server(top.path(), &share, &[], &["--nfs-clients", "192.0.2.0/24"]);
    assert_eq!(listed(&other), ["smb", "afp"]);
    let log = std::fs::read_to_string(top.path().join("log")).unwrap();
    assert_eq!(log.matches("serve with `--nfs-clients 127.0.0.1`").count(), 1, "{log}");
}

const ALL: [&str; 5] = ["smb", "afp", "nfs3", "nfs3 over UDP", "nfs4"];

#[test]
fn a_name_and_a_pattern_let_a_host_in_over_every_protocol() {
    // RFC 6761 6.3: localhost is the loopback address everywhere.
    assert_eq!(admitted(&[("localhost", "ro")]), ALL);
    assert_eq!(admitted(&[("local*", "ro")]), ALL);
    assert!(admitted(&[("localhost", "none"), ("*", "rw")]).is_empty());
}

#[test]
fn a_look_up_that_fails_lets_nobody_in_who_might_be_denied() {
    // RFC 6761 6.4: no name below invalid exists.
    assert!(admitted(&[("host.invalid", "none"), ("*", "rw")]).is_empty());
    assert!(admitted(&[("host.invalid", "rw")]).is_empty());
    assert_eq!(admitted(&[("127.0.0.1", "ro"), ("host.invalid", "none")]), ALL);
}
