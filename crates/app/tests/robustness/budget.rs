//! Clients that open files without end: others log in, open and read meanwhile.

use std::process::Command;

use ::afp::client::{Client as AfpClient, Login};
use ::afp::wire::ResultCode;
use ::smb::wire::{FileKey, Status};
use serde_json::Value;

use crate::afp::{Afp, connect};
use crate::client::Client;
use crate::server::{Server, folder};
use crate::smb::Smb;

/// With so many descriptors clients may have 100 files open, those without a login 50, and one of these 25.
const DESCRIPTORS: u32 = 400;

/// Opens files until that is refused.
fn greedy(smb: &mut Smb, name: &str) -> (Vec<FileKey>, Status) {
    let mut files = Vec::new();
    for number in 0..1000 {
        match smb.open(&format!("{name}{number}"), |_| ()) {
            Ok(file) => files.push(file),
            Err(status) => return (files, status),
        }
    }
    panic!("without end");
}

fn open_files(top: &std::path::Path) -> Value {
    let status = Command::new(env!("CARGO_BIN_EXE_fourfold"))
        .args(["status", "--json", "--state", "state"])
        .current_dir(top)
        .output()
        .unwrap();
    serde_json::from_slice::<Value>(&status.stdout).unwrap()["open_files"].clone()
}

#[test]
fn a_greedy_guest_leaves_descriptors_to_others() {
    let (top, share) = folder();
    let server = Server::start_for_guests(DESCRIPTORS, top.path(), &share);
    let (mut files, mut machines) = (Vec::new(), Vec::new());
    for number in 0..3 {
        let mut guest = Smb::enter_as_guest(server.smb_port, number);
        let (opened, refused) = greedy(&mut guest, &format!("guest{number}-"));
        assert_eq!(refused, Status::INSUFFICIENT_RESOURCES);
        files.extend(opened);
        machines.push(guest);
    }
    assert_eq!(files.len(), 25, "three machines that one address pretends to be are one client");

    // The same client over AFP, 5.1.13 of the AFP reference: kFPTooManyFilesOpen.
    let mut guest = AfpClient::open(connect(server.afp_port).unwrap()).unwrap();
    guest.log_in("AFP3.4", &Login::Guest).unwrap();
    let volume = guest.open_volume("share").unwrap();
    let refused = guest.open_data(volume, "guest0-0").unwrap_err();
    assert_eq!(refused.code(), Some(ResultCode::TOO_MANY_FILES_OPEN));

    // Users have room, and a client of NFSv3 has no opens.
    let mut ada = Smb::enter_as_machine(server.smb_port, 9);
    let file = ada.make("ada", b"abc");
    assert_eq!(ada.content(file).unwrap(), b"abc");
    let mut mac = Afp::enter(server.afp_port);
    mac.make("mac", b"xyz");
    assert_eq!(mac.content("mac", false).unwrap(), b"xyz");
    let mut nfs = Client::mount(server.port);
    let root = nfs.root.clone();
    let found = nfs.lookup(&root, "ada").unwrap();
    assert_eq!(nfs.content(&found).unwrap(), b"abc");

    let counts = open_files(top.path());
    assert_eq!(
        (&counts["limit"], &counts["guests_limit"], &counts["guests"]),
        (&100.into(), &50.into(), &25.into())
    );
    assert_eq!(counts["refused"], 4);

    machines[0].close(files[0]).unwrap();
    guest.open_data(volume, "guest0-0").unwrap();
}

#[test]
fn a_greedy_user_leaves_descriptors_to_connections_and_guests() {
    let (top, share) = folder();
    let server = Server::start_for_guests(DESCRIPTORS, top.path(), &share);
    let mut ada = Smb::enter_as_machine(server.smb_port, 1);
    let (files, refused) = greedy(&mut ada, "ada");
    assert_eq!((files.len(), refused), (50, Status::INSUFFICIENT_RESOURCES));
    let connections: Vec<_> = (0..100).map(|_| Client::mount(server.port)).collect();
    let mut guest = Smb::enter_as_guest(server.smb_port, 2);
    guest.open("guest", |_| ()).unwrap();
    drop(connections);
}
