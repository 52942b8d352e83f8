//! Full, read-only and vanished disks, and files that the user may not access: Apple Filing
//! Protocol Reference, "AFP Result Codes".

use std::os::unix::fs::PermissionsExt;

use ::afp::client::{Error, ForkId, ROOT};
use ::afp::wire::ResultCode;

use super::{Afp, MIB};
use crate::robustness::disks::Disk;
use crate::robustness::server::{Server, folder};

fn code<T: std::fmt::Debug>(outcome: Result<T, Error>) -> ResultCode {
    outcome.expect_err("refused").code().expect("an answer")
}

/// Writes until a write is refused; returns the number of written blocks, and the refusal.
fn fill(afp: &mut Afp, fork: ForkId) -> (i64, ResultCode) {
    let block = vec![7; MIB as usize / 4];
    for number in 0.. {
        let written = afp.client.write(fork, number * block.len() as i64, &block);
        if let Err(error) = written.and_then(|()| afp.client.flush(fork)) {
            return (number, error.code().expect("an answer"));
        }
    }
    unreachable!("a disk of 16 MiB takes everything")
}

#[test]
fn a_full_disk_is_disk_full_and_works_again_when_there_is_room() {
    let (top, share) = folder();
    let Some(_disk) = Disk::mount(top.path()) else { return };
    let server = Server::start_with_afp(top.path(), &share);
    let mut afp = Afp::enter(server.afp_port);
    let other = afp.make("other", b"kept");
    let big = afp.make("big", b"");
    let (blocks, refused) = fill(&mut afp, big);
    assert_eq!(refused, ResultCode::DISK_FULL);
    assert!(blocks > 10, "{blocks}");
    assert_eq!(afp.client.read(big, 0, 4).unwrap(), [7; 4]);
    assert_eq!(afp.client.read(other, 0, 10).unwrap(), b"kept");
    afp.client.close(big).unwrap();
    afp.client.delete(afp.volume, ROOT, "big").unwrap();
    let again = afp.make("again", b"");
    afp.client.write(again, 0, &vec![1; MIB as usize / 2]).unwrap();
    afp.client.flush(again).unwrap();
}

#[test]
fn a_read_only_file_system_is_volume_locked_and_can_be_read() {
    let (top, share) = folder();
    let Some(disk) = Disk::mount(top.path()) else { return };
    std::fs::write(share.join("notes"), b"abc").unwrap();
    std::fs::set_permissions(share.join("notes"), PermissionsExt::from_mode(0o666)).unwrap();
    disk.detach();
    assert!(disk.attach("ro"));
    let server = Server::start_with_afp(top.path(), &share);
    let mut afp = Afp::enter(server.afp_port);
    assert_eq!(afp.content("notes", false).unwrap(), b"abc");
    let volume = afp.volume;
    assert_eq!(code(afp.client.create(volume, "new")), ResultCode::VOLUME_LOCKED);
    assert_eq!(code(afp.client.create_folder(volume, ROOT, "new")), ResultCode::VOLUME_LOCKED);
    assert_eq!(code(afp.client.delete(volume, ROOT, "notes")), ResultCode::VOLUME_LOCKED);
    assert_eq!(code(afp.client.rename(volume, ROOT, "notes", "other")), ResultCode::VOLUME_LOCKED);
    drop(server);
}

#[test]
fn a_share_served_read_only_can_be_read_and_no_more() {
    let (top, share) = folder();
    std::fs::write(share.join("notes"), b"abc").unwrap();
    std::fs::set_permissions(share.join("notes"), PermissionsExt::from_mode(0o666)).unwrap();
    let words = format!("share={}", share.display());
    let server =
        Server::run_with_afp(top.path(), &[&words, "--nfs-port", "off", "--afp-port", "0", "--read-only"]);
    let mut afp = Afp::enter(server.afp_port);
    let volume = afp.volume;
    assert_eq!(afp.content("notes", false).unwrap(), b"abc");
    assert_eq!(code(afp.client.open_data(volume, "notes")), ResultCode::VOLUME_LOCKED);
    assert_eq!(code(afp.client.create(volume, "new")), ResultCode::VOLUME_LOCKED);
    assert_eq!(code(afp.client.delete(volume, ROOT, "notes")), ResultCode::VOLUME_LOCKED);
    assert_eq!(std::fs::read_dir(&share).unwrap().count(), 1);
}

#[test]
fn a_vanished_folder_is_said_and_disturbs_no_other_share() {
    let (top, share) = folder();
    let second = top.path().join("second");
    std::fs::create_dir(&second).unwrap();
    std::fs::write(second.join("notes"), b"abc").unwrap();
    let shares = [format!("share={}", share.display()), format!("second={}", second.display())];
    let server =
        Server::run_with_afp(top.path(), &[&shares[0], &shares[1], "--nfs-port", "off", "--afp-port", "0"]);
    let mut afp = Afp::enter(server.afp_port);
    let file = afp.make("notes", b"abc");
    std::fs::remove_dir_all(&share).unwrap();
    assert_eq!(afp.client.read(file, 0, 10).unwrap(), b"abc"); // it is still open
    let volume = afp.volume;
    for name in ["notes", "new"] {
        let refused = code(afp.client.open_data(volume, name));
        println!("a file of a vanished folder: {refused:?}");
        assert_eq!(refused, ResultCode::OBJECT_NOT_FOUND);
    }
    let mut other = Afp::enter_with(server.afp_port, "AFP3.4", "second");
    assert_eq!(other.content("notes", false).unwrap(), b"abc");
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
    let server = Server::start_with_afp(top.path(), &share);
    let mut afp = Afp::enter(server.afp_port);
    let volume = afp.volume;
    assert_eq!(afp.content("secret", false), Err(ResultCode::ACCESS_DENIED));
    assert_eq!(code(afp.client.open_data(volume, "secret")), ResultCode::ACCESS_DENIED);
    assert_eq!(code(afp.client.create(volume, "closed\0x")), ResultCode::ACCESS_DENIED);
    assert_eq!(std::fs::read(share.join("secret")).unwrap(), b"abc");
}
