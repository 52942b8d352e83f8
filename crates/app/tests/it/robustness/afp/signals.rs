//! Status, SIGHUP and SIGTERM while clients of AFP are connected.

use std::net::TcpStream;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use ::afp::client::{Client, ClientLogin};
use ::afp::wire::login::ChangePassword;
use ::afp::wire::{ResultCode, command, dsi};
use admin::Protocol;
use admin::control::Status;
use auth::AccountFile;
use rustix::process::Signal;

use super::Afp;
use super::client::{connect, is_closed_within};
use crate::robustness::server::{Server, USER, folder, open_to_all};
use crate::waiting::until_equal;

fn settings(top: &Path, shares: &[&str]) {
    let share = |name: &&str| format!("[[share]]\nname = \"{name}\"\npath = \"{name}\"\nguests = true\n");
    let account = format!("[[user]]\nname = \"{}\"\nuid = 1000\n", USER.0);
    let logins = "[server]\nafp-logins = [\"cleartext\"]\n".to_owned();
    let text: String = [logins].into_iter().chain(shares.iter().map(share)).chain([account]).collect();
    std::fs::write(top.join("fourfold.toml"), text).unwrap();
}

fn serve(top: &Path) -> Server {
    let user = format!("{}:{}", USER.0, USER.1);
    let ports = ["--nfs-port", "off", "--smb-port", "off", "--afp-port", "0"];
    Server::run(top, &[&ports[..], &["--user", &user]].concat())
}

fn status(top: &Path) -> Status {
    let fourfold = env!("CARGO_BIN_EXE_fourfold");
    let output =
        Command::new(fourfold).args(["status", "--json", "--state", "state"]).current_dir(top).output();
    serde_json::from_slice(&output.unwrap().stdout).unwrap()
}

#[test]
fn status_lists_sessions_and_the_owners_of_open_forks() {
    let (top, _) = folder();
    settings(top.path(), &["share"]);
    let server = serve(top.path());
    let mut afp = Afp::enter(server.afp_port);
    afp.make("notes", b"abc");
    let mut guest = Client::open(connect(server.afp_port).unwrap()).unwrap();
    guest.log_in("AFP3.4", &ClientLogin::Guest).unwrap();
    let status = status(top.path());
    let users: Vec<(Protocol, Option<&str>)> =
        status.sessions.iter().map(|session| (session.protocol, session.user.as_deref())).collect();
    assert!(users.contains(&(Protocol::Afp, Some(USER.0))), "{users:?}");
    assert!(users.contains(&(Protocol::Afp, Some("guest"))), "{users:?}");
    let open = &status.opens[0];
    assert_eq!((open.share.as_str(), open.owner.as_str()), ("share", "tester at 127.0.0.1"));
    assert_eq!(open.file.as_deref(), Some("notes"));
}

/// FPChangePassword by `Cleartxt Passwrd`: eight bytes of the old password, eight of the new one.
fn change_password(client: &mut Client<TcpStream>, old: &[u8; 8], new: &[u8; 8]) -> ResultCode {
    let info = [&old[..], new].concat();
    let request = ChangePassword { uam: b"Cleartxt Passwrd", user: b"", info: &info };
    client.call(command::CHANGE_PASSWORD, |w| request.encode(w)).unwrap().code()
}

fn log_in(port: u16, password: &str) -> Result<Client<TcpStream>, ResultCode> {
    let mut client = Client::open(connect(port).unwrap()).unwrap();
    let login = client.log_in("AFP3.4", &ClientLogin::Cleartext { name: "ada", password });
    login.map(|()| client).map_err(|error| error.code().expect("an answer"))
}

#[test]
fn a_password_that_somebody_changes_is_kept_and_counts_at_once() {
    let (top, _) = folder();
    settings(top.path(), &["share"]);
    let text = std::fs::read_to_string(top.path().join("fourfold.toml")).unwrap();
    let text = text.replace("[server]", "[server]\nafp-change-password = true");
    std::fs::write(top.path().join("fourfold.toml"), text).unwrap();
    let state = top.path().join("state");
    std::fs::create_dir(&state).unwrap();
    AccountFile::edit(&state, |file| file.add("ada", auth::Ids { uid: Some(1000), gid: None }, "old one"))
        .unwrap();
    let server = serve(top.path());
    let mut client = log_in(server.afp_port, "old one").unwrap();
    assert_eq!(change_password(&mut client, b"guessed\0", b"new one\0"), ResultCode::USER_NOT_AUTH);
    assert_eq!(change_password(&mut client, b"old one\0", b"new one\0"), ResultCode::NO_ERROR);
    until_equal(&true, || log_in(server.afp_port, "new one").is_ok());
    assert_eq!(log_in(server.afp_port, "old one").map(drop), Err(ResultCode::USER_NOT_AUTH));

    // The password of an account of the command line cannot be stored.
    let mut tester = Afp::enter(server.afp_port);
    let code = change_password(&mut tester.client, b"secret\0\0", b"new one\0");
    assert_ne!(code, ResultCode::NO_ERROR);
}

#[test]
fn sighup_brings_and_takes_volumes_without_dropping_a_client() {
    let (top, _) = folder();
    let second = top.path().join("second");
    std::fs::create_dir(&second).unwrap();
    open_to_all(&second);
    settings(top.path(), &["share"]);
    let server = serve(top.path());
    let mut afp = Afp::enter(server.afp_port);
    let file = afp.make("notes", b"abc");
    assert_eq!(afp.client.open_volume("second").unwrap_err().code(), Some(ResultCode::OBJECT_NOT_FOUND));

    settings(top.path(), &["share", "second"]);
    server.signal(Signal::HUP);
    until_equal(&true, || afp.client.open_volume("second").is_ok());
    assert_eq!(afp.client.read(file, 0, 100).unwrap(), b"abc"); // the same connection, the same fork

    settings(top.path(), &["second"]);
    server.signal(Signal::HUP);
    until_equal(&true, || {
        let mut other = Client::open(connect(server.afp_port).unwrap()).unwrap();
        other.log_in("AFP3.4", &ClientLogin::Guest).unwrap();
        other.open_volume("share").is_err()
    });
    // The session continues with its other volume.
    assert_eq!(afp.client.read(file, 0, 100).unwrap_err().code(), Some(ResultCode::PARAM_ERROR));
    assert!(afp.client.open_volume("second").is_ok());
}

/// Apple Filing Protocol Programming Guide, "DSIAttention": bit 15 announces a shutdown.
#[test]
fn sigterm_tells_clients_closes_their_connections_and_ends_with_0() {
    const GOES_DOWN: u16 = 0x8000;
    let (top, share) = folder();
    settings(top.path(), &["share"]);
    let server = serve(top.path());
    let mut afp = Afp::enter(server.afp_port);
    let file = afp.make("notes", b"abc");
    afp.client.flush(file).unwrap();
    server.signal(Signal::TERM);
    let mut told = Vec::new();
    while let Ok(frame) = afp.client.receive_any() {
        told.push((frame.header.command, frame.payload));
    }
    let down = told.iter().find(|(command, _)| *command == dsi::Command::ATTENTION);
    let (_, code) = down.unwrap_or_else(|| panic!("nothing but {told:?}"));
    assert_ne!(u16::from_be_bytes([code[0], code[1]]) & GOES_DOWN, 0);
    assert_eq!(server.exit_code(), Some(0));
    assert!(is_closed_within(afp.client.link(), Duration::from_secs(10)));
    assert_eq!(std::fs::read(share.join("notes")).unwrap(), b"abc");
}
