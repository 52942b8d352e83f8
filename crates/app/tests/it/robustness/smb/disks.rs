//! Full, read-only and vanished disks, and files that the user may not access: MS-ERREF 2.3.1.

use std::os::unix::fs::PermissionsExt;

use ::smb::wire::create::{Disposition, Options};
use ::smb::wire::security::AccessMask;
use ::smb::wire::write::Flags;
use ::smb::wire::{FileKey, Status, create};

use super::{MIB, Smb};
use crate::robustness::disks::Disk;
use crate::robustness::server::{Server, USER, folder};

fn to_read(request: &mut create::Request<'_>) {
    request.desired_access = AccessMask::FILE_READ.0;
    request.disposition = Disposition::OPEN;
}

fn folder_to_make(request: &mut create::Request<'_>) {
    request.disposition = Disposition::CREATE;
    request.options = Options::DIRECTORY_FILE;
}

/// Writes until a write is refused; returns the number of written blocks, and the refusal.
fn fill(smb: &mut Smb, file: FileKey, flags: Flags) -> (u64, Status) {
    let block = vec![7; MIB as usize / 4];
    for number in 0.. {
        let written = smb.try_write(file, number * block.len() as u64, &block, flags).unwrap();
        if let Err(status) = written.and_then(|()| smb.try_flush(file).unwrap()) {
            return (number, status);
        }
    }
    unreachable!("a disk of 16 MiB takes everything")
}

#[test]
fn a_full_disk_is_disk_full_and_works_again_when_there_is_room() {
    let (top, share) = folder();
    let Some(_disk) = Disk::mount(top.path()) else { return };
    let server = Server::start_with_smb(top.path(), &share);
    let mut smb = Smb::enter(server.smb_port);
    let other = smb.make("other", b"kept");
    for flags in [Flags::NONE, Flags::WRITE_THROUGH] {
        let big = smb.make("big", b"");
        let (blocks, status) = fill(&mut smb, big, flags);
        assert_eq!(status, Status::DISK_FULL, "{flags:?}");
        assert!(blocks > 10, "{blocks}");
        assert_eq!(smb.read(big, 0, 4).unwrap(), [7; 4]);
        assert_eq!(smb.content(other).unwrap(), b"kept");
        smb.close(big).unwrap();
        smb.remove("big").unwrap();
    }
    let again = smb.make("again", b"");
    smb.try_write(again, 0, &vec![1; MIB as usize], Flags::WRITE_THROUGH).unwrap().unwrap();
}

#[test]
fn a_disk_without_room_for_names_is_disk_full() {
    let (top, share) = folder();
    let Some(_disk) = Disk::mount(top.path()) else { return };
    let server = Server::start_with_smb(top.path(), &share);
    let mut smb = Smb::enter(server.smb_port);
    let refused = (0..20_000).find_map(|number| match smb.open(&format!("file{number}"), |_| ()) {
        Ok(file) => {
            smb.close(file).unwrap();
            None
        }
        Err(status) => Some(status),
    });
    assert_eq!(refused, Some(Status::DISK_FULL)); // the file system has 4,096 inodes
    assert_eq!(smb.open("folder", folder_to_make), Err(Status::DISK_FULL));
    smb.remove("file0").unwrap();
    assert!(smb.open("folder", folder_to_make).is_ok());
}

#[test]
fn a_read_only_file_system_is_write_protected_and_can_be_read() {
    let (top, share) = folder();
    let Some(disk) = Disk::mount(top.path()) else { return };
    std::fs::write(share.join("notes"), b"abc").unwrap();
    std::fs::set_permissions(share.join("notes"), PermissionsExt::from_mode(0o666)).unwrap();
    disk.detach();
    assert!(disk.attach("ro"));
    let server = Server::start_with_smb(top.path(), &share);
    let mut smb = Smb::enter(server.smb_port);
    let file = smb.open("notes", to_read).unwrap();
    assert_eq!(smb.content(file).unwrap(), b"abc");
    let write = |request: &mut create::Request<'_>| request.disposition = Disposition::OPEN;
    let refused = smb.open("notes", write).and_then(|file| smb.write(file, 0, b"x"));
    assert_eq!(refused, Err(Status::MEDIA_WRITE_PROTECTED));
    assert_eq!(smb.open("new", |_| ()), Err(Status::MEDIA_WRITE_PROTECTED));
    assert_eq!(smb.open("new", folder_to_make), Err(Status::MEDIA_WRITE_PROTECTED));
    drop(server);
}

#[test]
fn a_share_served_read_only_can_be_read_and_no_more() {
    let (top, share) = folder();
    std::fs::write(share.join("notes"), b"abc").unwrap();
    std::fs::set_permissions(share.join("notes"), PermissionsExt::from_mode(0o666)).unwrap();
    let words = format!("share={}", share.display());
    let words = [&words[..], "--nfs-port", "off", "--smb-port", "0", "--read-only"];
    let server = Server::run_with_smb(top.path(), &words);
    let mut smb = Smb::enter(server.smb_port);
    let file = smb.open("notes", to_read).unwrap();
    assert_eq!(smb.content(file).unwrap(), b"abc");
    // The open has no right for writes, MS-SMB2 3.3.5.13.
    assert_eq!(smb.write(file, 0, b"x"), Err(Status::ACCESS_DENIED));
    for name in ["notes", "new"] {
        let refused = smb.open(name, |_| ()).unwrap_err();
        assert!(
            matches!(refused, Status::ACCESS_DENIED | Status::MEDIA_WRITE_PROTECTED),
            "{name}: {refused:?}"
        );
    }
    let refused = smb.remove("notes").unwrap_err();
    assert!(matches!(refused, Status::ACCESS_DENIED | Status::MEDIA_WRITE_PROTECTED), "{refused:?}");
    assert_eq!(std::fs::read_dir(&share).unwrap().count(), 1);
}

#[test]
fn a_vanished_folder_is_said_and_disturbs_no_other_share() {
    let (top, share) = folder();
    let second = top.path().join("second");
    std::fs::create_dir(&second).unwrap();
    std::fs::write(second.join("notes"), b"abc").unwrap();
    let shares = [format!("share={}", share.display()), format!("second={}", second.display())];
    let words = [&shares[0][..], &shares[1], "--nfs-port", "off", "--smb-port", "0"];
    let server = Server::run_with_smb(top.path(), &words);
    let mut smb = Smb::enter(server.smb_port);
    let file = smb.make("notes", b"abc");
    std::fs::remove_dir_all(&share).unwrap();

    assert_eq!(smb.content(file).unwrap(), b"abc"); // it is still open
    for name in ["notes", "new"] {
        let refused = smb.open(name, |_| ()).unwrap_err();
        println!("a file of a vanished folder: {refused:?}");
        assert!(
            matches!(
                refused,
                Status::FILE_DELETED | Status::OBJECT_NAME_NOT_FOUND | Status::VOLUME_DISMOUNTED
            ),
            "{name}: {refused:?}"
        );
    }
    smb.close(file).unwrap();
    assert_eq!(smb.connect_tree("share"), Err(Status::BAD_NETWORK_NAME));
    smb.tree = smb.connect_tree("second").unwrap();
    let file = smb.open("notes", to_read).unwrap();
    assert_eq!(smb.content(file).unwrap(), b"abc");
    let mut other = Smb::enter_share(server.smb_port, "second", USER).unwrap();
    let file = other.open("notes", to_read).unwrap();
    assert_eq!(other.content(file).unwrap(), b"abc");
}

#[test]
fn what_the_user_may_not_do_is_access_denied() {
    if !rustix::process::geteuid().is_root() {
        println!("skipped: as an ordinary user everything runs as that user");
        return;
    }
    let (top, share) = folder();
    std::fs::write(share.join("secret"), b"abc").unwrap(); // root's
    std::fs::set_permissions(share.join("secret"), PermissionsExt::from_mode(0o600)).unwrap();
    std::fs::create_dir(share.join("closed")).unwrap();
    std::fs::set_permissions(share.join("closed"), PermissionsExt::from_mode(0o700)).unwrap();
    let server = Server::start_with_smb(top.path(), &share);
    let mut smb = Smb::enter(server.smb_port);
    assert_eq!(smb.open("secret", to_read), Err(Status::ACCESS_DENIED));
    assert_eq!(smb.open("secret", |_| ()), Err(Status::ACCESS_DENIED));
    assert_eq!(smb.open("closed\\x", |_| ()), Err(Status::ACCESS_DENIED));
    assert_eq!(smb.open("closed", to_read), Err(Status::ACCESS_DENIED));
    let attributes = |request: &mut create::Request<'_>| {
        request.desired_access = AccessMask::READ_ATTRIBUTES.0;
        request.disposition = Disposition::OPEN;
    };
    assert!(smb.open("secret", attributes).is_ok());
    assert_eq!(std::fs::read(share.join("secret")).unwrap(), b"abc");
}
