//! SIGHUP and SIGTERM while clients of SMB are connected.

use std::path::Path;
use std::time::Duration;

use ::smb::wire::Status;
use ::smb::wire::create::Disposition;
use rustix::process::Signal;

use super::Smb;
use crate::robustness::server::{Server, USER, folder, open_to_all};
use crate::waiting::until_equal;

fn settings(top: &Path, shares: &[&str]) {
    settings_with(top, shares, "");
}

/// Writes settings with more of them for the last share.
fn settings_with(top: &Path, shares: &[&str], more: &str) {
    let share = |name: &&str| format!("[[share]]\nname = \"{name}\"\npath = \"{name}\"\n");
    let account = format!("[[user]]\nname = \"{}\"\nuid = 1000\n", USER.0);
    let text: String = shares.iter().map(share).chain([more.into(), account]).collect();
    std::fs::write(top.join("fourfold.toml"), text).unwrap();
}

#[test]
fn sighup_brings_and_takes_shares_without_dropping_a_client() {
    let (top, _) = folder();
    let second = top.path().join("second");
    std::fs::create_dir(&second).unwrap();
    open_to_all(&second);
    settings(top.path(), &["share"]);
    let user = format!("{}:{}", USER.0, USER.1);
    let server = Server::run(top.path(), &["--nfs-port", "off", "--smb-port", "0", "--user", &user]);
    let mut smb = Smb::enter(server.smb_port);
    let file = smb.make("notes", b"abc");
    assert_eq!(smb.connect_tree("second"), Err(Status::BAD_NETWORK_NAME));

    settings(top.path(), &["share", "second"]);
    server.signal(Signal::HUP);
    until_equal(&true, || smb.connect_tree("second").is_ok());
    assert_eq!(smb.content(file).unwrap(), b"abc"); // the same connection, the same open

    settings(top.path(), &["second"]);
    server.signal(Signal::HUP);
    until_equal(&Err(Status::BAD_NETWORK_NAME), || smb.connect_tree("share").map(drop));
    assert!(smb.connect_tree("second").is_ok());
    until_equal(&Err(Status::NETWORK_NAME_DELETED), || smb.content(file)); // its opens end a moment later

    settings(top.path(), &["share", "second"]);
    server.signal(Signal::HUP);
    assert_eq!(smb.content(file), Err(Status::NETWORK_NAME_DELETED));
    until_equal(&Ok(()), || smb.connect_tree("share").map(|tree| smb.tree = tree));
    let again = smb.open("notes", |request| request.disposition = Disposition::OPEN).unwrap();
    assert_eq!(smb.content(again).unwrap(), b"abc");
}

#[test]
fn what_new_settings_forbid_ends_at_once() {
    let (top, share) = folder();
    settings(top.path(), &["share"]);
    let user = format!("{}:{}", USER.0, USER.1);
    let server = Server::run(top.path(), &["--nfs-port", "off", "--smb-port", "0", "--user", &user]);
    let mut smb = Smb::enter(server.smb_port);
    let ways = [
        ("read-only = true\n", Err(Status::ACCESS_DENIED)),
        ("client = [{ match = \"*\", access = \"ro\" }]\n", Err(Status::ACCESS_DENIED)),
        ("", Ok(())),
    ];
    for (more, makes) in ways {
        settings_with(top.path(), &["share"], more);
        server.signal(Signal::HUP);
        until_equal(&makes, || {
            smb.tree = smb.connect_tree("share").unwrap();
            smb.open("new", |request| request.disposition = Disposition::OPEN_IF).map(drop)
        });
    }
    let file = smb.make("notes", b"abc");
    settings_with(top.path(), &["share"], "users = [\"bob\"]\n");
    server.signal(Signal::HUP);
    until_equal(&Err(Status::NETWORK_NAME_DELETED), || smb.content(file).map(drop));
    assert_eq!(smb.connect_tree("share"), Err(Status::ACCESS_DENIED));
    assert_eq!(std::fs::read(share.join("notes")).unwrap(), b"abc");
}

#[test]
fn sigterm_ends_with_0_and_ends_its_connections() {
    let (top, share) = folder();
    let server = Server::start_with_smb(top.path(), &share);
    let mut clients: Vec<Smb> = (0..5).map(|_| Smb::enter(server.smb_port)).collect();
    let file = clients[0].make("notes", b"abc");
    clients[0].try_flush(file).unwrap().unwrap();
    server.signal(Signal::TERM);
    assert_eq!(server.exit_code(), Some(0));
    for mut smb in clients {
        assert!(smb.client.link.is_closed_within(Duration::from_secs(10)));
    }
    assert_eq!(std::fs::read(share.join("notes")).unwrap(), b"abc");
}
