//! Sessions over AppleTalk, with the harness. Limits are those of *Inside AppleTalk*, "AppleTalk Session Protocol": eight packets of
//! 578 bytes are 4,624 bytes. The strings of versions are those of the Apple Filing Protocol Reference, "AFP Version Strings".

use super::*;
use crate::server::config::LoginMethods;
use crate::server::files::fork::tests::{BOTH, User, make};
use crate::server::testing::{ADA, Server};
use crate::wire::directory::Place;
use crate::wire::enumerate::{Enumerate, EnumerateForm};
use crate::wire::fork::{Width, Write};
use crate::wire::login::{CLEARTXT_PASSWRD, Login, NO_USER_AUTHENT};
use crate::wire::server_info::{ServerInfo, flags};
use crate::wire::{DirBitmap, FileBitmap, Path, ResultCode, command};

const MOST: usize = 4624;

/// A user over AppleTalk with an open volume.
fn user(server: &Server, version: Version) -> User {
    let client = server.log_in_over(Transport::AppleTalk, ADA, version);
    let volume = client.open_volume("share");
    User { client, volume }
}

/// The result of a guest's login with this version.
async fn guest(server: &Server, transport: Transport, version: &[u8]) -> ResultCode {
    let mut client = server.connect_over(transport);
    client.open_session().await.well();
    let login = Login { version, uam: NO_USER_AUTHENT, user: b"", info: b"" };
    client.call(command::LOGIN, |w| login.encode(w)).await.code
}

#[tokio::test]
async fn each_transport_has_the_versions_of_its_clients() {
    let server = Server::new();
    let (yes, no) = (ResultCode::NO_ERROR, ResultCode::BAD_VERSION);
    for (version, over_appletalk, over_tcp) in [
        (&b"AFPVersion 1.1"[..], yes, no),
        (b"AFPVersion 2.0", yes, no),
        (b"AFPVersion 2.1", yes, yes),
        (b"AFP2.2", yes, yes),
        (b"AFP2.3", no, yes),
        (b"AFP3.4", no, yes),
    ] {
        assert_eq!(guest(&server, Transport::AppleTalk, version).await, over_appletalk, "{version:?}");
        assert_eq!(guest(&server, Transport::Tcp, version).await, over_tcp, "{version:?}");
    }
}

#[tokio::test]
async fn the_chooser_is_told_what_appletalk_has() {
    let server = Server::with(|config| {
        config.logins = LoginMethods { cleartext: true, ..LoginMethods::default() };
    });
    let block = server.service.appletalk_status("Museum");
    assert!(block.len() <= MOST);
    let info = ServerInfo::decode(&block).unwrap();
    assert_eq!(info.name, b"Museum");
    assert_eq!(info.versions, [&b"AFPVersion 1.1"[..], b"AFPVersion 2.0", b"AFPVersion 2.1", b"AFP2.2"]);
    assert_eq!(info.uams, [&b"DHX2"[..], b"Cleartxt Passwrd", b"No User Authent"], "SRP is of AFP 3");
    assert!(info.icon.is_some());
    // Copy, messages, signature. Without an address of TCP a client need not look for one.
    assert_eq!((info.flags, info.utf8_name), (0x0019, None));
    server.service.set_addresses(vec!["192.0.2.7:548".parse().unwrap()]);
    let block = server.service.appletalk_status("Museum");
    assert_eq!(ServerInfo::decode(&block).unwrap().flags, 0x0019 | flags::TCP);
}

#[tokio::test]
async fn a_password_in_the_clear_counts_where_it_is_allowed() {
    let info = *b"Passwort";
    let login = Login { version: b"AFPVersion 2.0", uam: CLEARTXT_PASSWRD, user: b"ada", info: &info };
    for (cleartext, code) in [(false, ResultCode::BAD_UAM), (true, ResultCode::NO_ERROR)] {
        let server = Server::with(|config| config.logins.cleartext = cleartext);
        let mut client = server.connect_over(Transport::AppleTalk);
        client.open_session().await.well();
        assert_eq!(client.call(command::LOGIN, |w| login.encode(w)).await.code, code);
    }
}

#[tokio::test]
async fn a_read_gives_no_more_than_eight_packets() {
    let server = Server::new();
    let content: Vec<u8> = (0..10_000_u32).map(|at| at as u8).collect();
    make(&server.volume("share"), "notes", &content).await;
    let mut ada = user(&server, Version::V2_0);
    let open = crate::wire::fork::OpenFork { path: Path::long(b"notes"), ..ada.request("notes", BOTH) };
    let fork = ada.open_as(open).await.unwrap();
    assert_eq!(ada.read(fork, 0, 10_000).await, (ResultCode::NO_ERROR, content[..MOST].to_vec()));
    assert_eq!(ada.read(fork, 9_000, 4_000).await, (ResultCode::EOF_ERROR, content[9_000..].to_vec()));
}

#[tokio::test]
async fn a_write_takes_what_came_and_says_how_much_that_was() {
    let server = Server::new();
    make(&server.volume("share"), "notes", b"").await;
    let mut ada = user(&server, Version::V1_1);
    let open = crate::wire::fork::OpenFork { path: Path::long(b"notes"), ..ada.request("notes", BOTH) };
    let fork = ada.open_as(open).await.unwrap();
    let write = Write { from_end: false, fork, offset: 10, count: 100_000 };
    assert_eq!(ada.write(Width::Bits32, write, &[7; MOST]).await, Ok(10 + MOST as i64));
    assert_eq!(ada.read(fork, 4_630, 10).await, (ResultCode::EOF_ERROR, vec![7; 4]));
}

#[tokio::test]
async fn a_listing_ends_with_the_entry_that_fits() {
    let server = Server::new();
    for number in 0..300 {
        make(&server.volume("share"), &format!("a rather long name of {number:08}"), b"").await;
    }
    let mut ada = user(&server, Version::V2_1);
    let (files, folders) = (FileBitmap::LONG_NAME | FileBitmap::FINDER_INFO, DirBitmap::LONG_NAME);
    let (mut start, mut listed) = (1, 0);
    loop {
        let place = Place { volume: ada.volume, folder: 2, path: Path::long(b"") };
        let asked = Enumerate { place, files, folders, count: 300, start, max_reply: 60_000 };
        let answer = ada.client.call(command::ENUMERATE, |w| asked.encode(EnumerateForm::Plain, w)).await;
        if answer.code == ResultCode::OBJECT_NOT_FOUND {
            break;
        }
        let payload = answer.well();
        assert!(payload.len() <= MOST, "{}", payload.len());
        let count = u32::from(u16::from_be_bytes([payload[4], payload[5]]));
        (start, listed) = (start + count, listed + count);
    }
    assert_eq!(listed, 300);
}

#[tokio::test]
async fn messages_go_to_clients_that_know_them() {
    let server = Server::new();
    let versions = [Version::V1_1, Version::V2_0, Version::V2_1, Version::V2_2];
    let clients = versions.map(|version| server.log_in_over(Transport::AppleTalk, ADA, version));
    assert_eq!(server.service.say("Backup at noon"), 2);
    drop(clients);
}
