//! Clients that open files without end: others log in, open and read meanwhile.

use std::process::Command;

use ::afp::client::{Client as AfpClient, ClientLogin};
use ::afp::wire::ResultCode;
use ::smb::wire::create::{Disposition, ShareAccess};
use ::smb::wire::{FileKey, Status};
use serde_json::Value;

use crate::robustness::afp::{Afp, connect};
use crate::robustness::client::Client;
use crate::robustness::server::{Server, folder};
use crate::robustness::smb::Smb;

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
    guest.log_in("AFP3.4", &ClientLogin::Guest).unwrap();
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

/// Opens the files `f0`, `f1` … to read them, until that is refused.
fn readers(smb: &mut Smb) -> Vec<FileKey> {
    let open = |smb: &mut Smb, number: usize| {
        smb.open(&format!("f{number}"), |request| {
            request.desired_access = 0x81; // FILE_READ_DATA, FILE_READ_ATTRIBUTES
            request.share_access = ShareAccess(7);
            request.disposition = Disposition::OPEN;
        })
    };
    let mut files = Vec::new();
    loop {
        match open(smb, files.len()) {
            Ok(file) => files.push(file),
            Err(status) => {
                assert_eq!(status, Status::INSUFFICIENT_RESOURCES, "after {}", files.len());
                return files;
            }
        }
    }
}

/// The descriptors of files' data are closed when others need them. Root alone can open each of them again, on file systems of
/// this machine; elsewhere an open that reads counts as one that writes.
#[test]
fn files_that_are_only_read_take_half_and_stay_what_they_are() {
    const LOCAL: [u64; 5] = [0xef53, 0x0102_1994, 0x794c_7630, 0x9123_683e, 0x5846_5342];
    let (top, share) = folder();
    let kind = rustix::fs::statfs(&share).unwrap().f_type as u64;
    let gives_up = rustix::process::geteuid().is_root() && LOCAL.contains(&kind);
    for number in 0..120 {
        std::fs::write(share.join(format!("f{number}")), format!("content {number}")).unwrap();
    }
    let server = Server::start_for_guests(DESCRIPTORS, top.path(), &share);
    let mut guest = Smb::enter_as_guest(server.smb_port, 1);
    let mut ada = Smb::enter_as_machine(server.smb_port, 2);
    let (of_guest, of_ada) = (readers(&mut guest), readers(&mut ada));
    // The guest has one half of 50, Ada one half of what is left of 100: twice as many if one counts half.
    let expected = if gives_up { (50, 75) } else { (25, 37) };
    assert!((of_guest.len(), of_ada.len()) == expected || !gives_up, "{} {}", of_guest.len(), of_ada.len());
    // Another program removes the files: who has one open reads it on.
    (0..120).for_each(|number| std::fs::remove_file(share.join(format!("f{number}"))).unwrap());
    for (smb, files) in [(&mut guest, &of_guest), (&mut ada, &of_ada)] {
        for (number, file) in files.iter().enumerate() {
            assert_eq!(smb.content(*file).unwrap(), format!("content {number}").as_bytes());
        }
    }
    let held = std::fs::read_dir(format!("/proc/{}/fd", server.process())).unwrap().count();
    assert!(held < DESCRIPTORS as usize - 40, "{held} descriptors are in use");
    let connections: Vec<_> = (0..40).map(|_| Client::mount(server.port)).collect();
    assert_eq!(connections.len(), 40);
}
