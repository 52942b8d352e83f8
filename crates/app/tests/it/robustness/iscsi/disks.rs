//! Full, read-only and vanished disks below a LUN: SBC-3 4.7.3.6, SPC-4 annex F.

use std::os::unix::fs::PermissionsExt;

use ::iscsi::client::Error;
use ::iscsi::wire::scsi::{Asc, Key};

use super::MIB;
use super::client::{Iscsi, enter, enter_with, login};
use crate::robustness::disks::Disk;
use crate::robustness::server::{Server, folder, write_iscsi_settings};

const CHUNK: u64 = MIB / 4;

fn chunk(number: u64) -> Vec<u8> {
    vec![number as u8 + 1; CHUNK as usize]
}

fn write(client: &mut Iscsi, number: u64, data: &[u8]) -> Result<(), Error> {
    // Unit attentions may come first: the space is low.
    loop {
        let written = client.write(0, number * CHUNK / 512, data, true);
        match written.as_ref().map_err(Error::sense) {
            Err(Some((Key::UNIT_ATTENTION, _))) => {}
            _ => return written,
        }
    }
}

/// A LUN of 64 MiB on a file system of 16.
#[test]
fn a_full_disk_is_said_to_be_and_loses_nothing_and_works_again_when_there_is_room() {
    let (top, share) = folder();
    let Some(_disk) = Disk::mount(top.path()) else { return };
    let server = Server::start_with_iscsi(top.path(), &share);
    std::fs::write(share.join("ballast"), vec![0; 2 * MIB as usize]).unwrap();
    let mut client = enter(server.iscsi_port);
    let mut written = 0;
    let refused = loop {
        match write(&mut client, written, &chunk(written)) {
            Ok(()) => written += 1,
            Err(error) => break error,
        }
    };
    assert_eq!(refused.sense(), Some((Key::DATA_PROTECT, Asc::SPACE_ALLOCATION_FAILED)), "{refused}");
    assert!(written > 20, "{written} chunks");
    let intact = |client: &mut Iscsi, what: &str| {
        for number in 0..written {
            let read = loop {
                match client.read(0, number * CHUNK / 512, (CHUNK / 512) as u32) {
                    Ok(read) => break read,
                    Err(error) => {
                        assert_eq!(error.sense().map(|sense| sense.0), Some(Key::UNIT_ATTENTION), "{error}")
                    }
                }
            };
            assert!(read == chunk(number), "{what}: chunk {number}");
        }
    };
    intact(&mut client, "when it is full");
    // Existing blocks can be overwritten, and another session can still read the disk.
    write(&mut client, 0, &chunk(0)).unwrap();
    intact(&mut enter(server.iscsi_port), "over another session");
    std::fs::remove_file(share.join("ballast")).unwrap();
    write(&mut client, written, &chunk(written)).unwrap();
    server.kill();
    let server = Server::start_with_iscsi(top.path(), &share);
    intact(&mut enter(server.iscsi_port), "after a restart");
}

#[test]
fn a_read_only_lun_can_be_read_and_no_more() {
    let (top, share) = folder();
    write_iscsi_settings(top.path(), &share, "guests = true\n", "size = \"64 MiB\"\nread-only = true\n");
    let server = Server::run_with_iscsi(top.path(), 0);
    let mut client = enter(server.iscsi_port);
    assert_eq!(client.read(0, 0, 1).unwrap(), [0; 512]);
    let refused = client.write(0, 0, &[1; 512], false).unwrap_err();
    assert_eq!(refused.sense(), Some((Key::DATA_PROTECT, Asc::WRITE_PROTECTED)));
    client.synchronize(0).unwrap();
}

/// The file system below becomes read-only, as in Linux after an error of the disk.
#[test]
fn a_file_system_that_becomes_read_only_is_an_error_of_each_write() {
    let (top, share) = folder();
    let Some(_disk) = Disk::mount(top.path()) else { return };
    let server = Server::start_with_iscsi(top.path(), &share);
    let mut client = enter(server.iscsi_port);
    client.write(0, 0, &[1; 4096], true).unwrap();
    let held = std::process::Command::new("mount").args(["-o", "remount,ro"]).arg(&share).output().unwrap();
    if held.status.success() {
        write(&mut client, 40, &chunk(0)).unwrap_err();
    } // otherwise it is busy: the LUN's file is open for writing
    assert_eq!(client.read(0, 0, 8).unwrap(), [1; 4096]);
}

#[test]
fn a_vanished_folder_takes_nothing_from_a_disk_that_is_open() {
    let (top, share) = folder();
    let server = Server::start_with_iscsi(top.path(), &share);
    let mut client = enter(server.iscsi_port);
    client.write(0, 0, &[1; 512], true).unwrap();
    std::fs::remove_dir_all(&share).unwrap();
    assert_eq!(client.read(0, 0, 1).unwrap(), [1; 512]);
    client.write(0, 0, &[2; 512], true).unwrap();
    assert_eq!(enter(server.iscsi_port).read(0, 0, 1).unwrap(), [2; 512]);
}

/// SPC-4 annex F: a truncated file is a disk with errors, not with zeros.
#[test]
fn a_disk_file_truncated_by_a_local_process_gives_errors_or_zeros() {
    let (top, share) = folder();
    let server = Server::start_with_iscsi(top.path(), &share);
    let mut client = enter_with(server.iscsi_port, &login()).unwrap();
    client.write(0, 2048, &[1; 512], true).unwrap();
    let image = share.join(".fourfold-luns/disk.img");
    std::fs::set_permissions(&image, PermissionsExt::from_mode(0o600)).unwrap();
    std::fs::OpenOptions::new().write(true).open(&image).unwrap().set_len(4096).unwrap();
    match client.read(0, 2048, 1) {
        Ok(read) => assert_eq!(read, [0; 512]), // the file has a hole there now
        Err(error) => assert!(error.sense().is_some(), "{error}"),
    }
    client.ping(b"there?").unwrap();
    client.write(0, 0, &[3; 512], true).unwrap();
}
