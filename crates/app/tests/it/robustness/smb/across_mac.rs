//! A file's Mac metadata, written over one protocol and read over another: streams of SMB (protocol
//! of Windows' Services for Macintosh: AFP_AfpInfo, AFP_Resource), and the AppleDouble file
//! `._name` of macOS on NFS (RFC 1740).

use ::smb::wire::Status;
use ::smb::wire::create::Disposition;
use nfs::wire::v3::types::Status as NfsStatus;
use nfs::wire::v3::write::StableHow;

use super::Smb;
use crate::robustness::client::Client;
use crate::robustness::server::{Server, folder};

/// Type, creator, flags and place of an icon, then 16 bytes more.
const FINDER_INFO: &[u8; 32] = b"TEXTttxt\x01\x00\0\x10\0\x20\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";
const FORK: &[u8] = b"not quite a resource fork";

/// AFP_AfpInfo: signature, version 0x00000100, reserved, an unset backup time, Finder info, ProDOS
/// info, reserved.
fn afp_info(finder_info: &[u8; 32]) -> Vec<u8> {
    [&b"AFP\0\0\0\x01\0\0\0\0\0\x80\0\0\0"[..], finder_info, &[0; 12]].concat()
}

/// AppleDouble in macOS's layout: version 2, Finder info (9) at 50, resource fork (2) at 82.
fn apple_double(finder_info: &[u8; 32], fork: &[u8]) -> Vec<u8> {
    let row = |id: u32, offset: u32, length: u32| [id, offset, length].map(u32::to_be_bytes).concat();
    [
        &b"\0\x05\x16\x07\0\x02\0\0Mac OS X        \0\x02"[..],
        &row(9, 50, 32),
        &row(2, 82, fork.len() as u32),
        finder_info,
        fork,
    ]
    .concat()
}

/// An entry of an AppleDouble file.
fn entry(file: &[u8], id: u32) -> Option<&[u8]> {
    assert_eq!(file[..8], *b"\0\x05\x16\x07\0\x02\0\0");
    let word = |at: usize| u32::from_be_bytes(*file[at..].first_chunk().unwrap()) as usize;
    let count = u16::from_be_bytes([file[24], file[25]]) as usize;
    let row = (0..count).map(|number| 26 + number * 12).find(|at| word(*at) == id as usize)?;
    Some(&file[word(row + 4)..][..word(row + 8)])
}

fn scene() -> (tempfile::TempDir, Server, Smb, Client, Vec<u8>) {
    let (top, share) = folder();
    let server = Server::start_with_smb(top.path(), &share);
    let (mut smb, nfs) = (Smb::enter(server.smb_port), Client::mount(server.port));
    let file = smb.make("notes", b"data");
    smb.close(file).unwrap();
    let root = nfs.root.clone();
    (top, server, smb, nfs, root)
}

/// The content of a stream, in a single read as Macs do: AFP_AfpInfo has no parts.
fn stream(smb: &mut Smb, name: &str) -> Result<Vec<u8>, Status> {
    let file = smb.open(name, |request| request.disposition = Disposition::OPEN)?;
    let content = smb.read(file, 0, 1000);
    smb.close(file).unwrap();
    content
}

#[test]
fn finder_info_and_resource_fork_written_over_smb_are_seen_over_nfs() {
    let (_top, _server, mut smb, mut nfs, root) = scene();
    assert_eq!(nfs.lookup(&root, "._notes"), Err(NfsStatus::NOENT));
    for (name, content) in
        [("notes:AFP_AfpInfo", afp_info(FINDER_INFO)), ("notes:AFP_Resource", FORK.to_vec())]
    {
        let file = smb.make(name, &content);
        smb.close(file).unwrap();
    }
    let sidecar = nfs.lookup(&root, "._notes").unwrap();
    let content = nfs.content(&sidecar).unwrap();
    assert_eq!(entry(&content, 9).map(|info| &info[..32]), Some(&FINDER_INFO[..]));
    assert_eq!(entry(&content, 2), Some(FORK));
    assert!(!nfs.names(&root).unwrap().contains(&"._notes".to_owned()));
    let file = nfs.lookup(&root, "notes").unwrap();
    assert_eq!(nfs.content(&file).unwrap(), b"data");
}

#[test]
fn a_sidecar_written_over_nfs_is_seen_as_streams_over_smb() {
    let (_top, _server, mut smb, mut nfs, root) = scene();
    let sidecar = nfs.create(&root, "._notes").unwrap();
    nfs.write(&sidecar, 0, &apple_double(FINDER_INFO, FORK), StableHow::FILE_SYNC).unwrap();
    assert_eq!(stream(&mut smb, "notes:AFP_AfpInfo").unwrap(), afp_info(FINDER_INFO));
    assert_eq!(stream(&mut smb, "notes:AFP_Resource").unwrap(), FORK);

    // They stay with the file, whichever client moves it.
    nfs.rename(&root, "notes", "other").unwrap();
    assert_eq!(stream(&mut smb, "other:AFP_Resource").unwrap(), FORK);
    assert_eq!(stream(&mut smb, "notes:AFP_Resource"), Err(Status::OBJECT_NAME_NOT_FOUND));
    smb.remove("other").unwrap();
    assert_eq!(nfs.lookup(&root, "._other"), Err(NfsStatus::NOENT));
}

#[test]
fn a_file_saved_by_a_client_without_forks_keeps_what_a_mac_gave_it() {
    let (_top, _server, mut smb, mut nfs, root) = scene();
    for (name, content) in
        [("notes:AFP_AfpInfo", afp_info(FINDER_INFO)), ("notes:AFP_Resource", FORK.to_vec())]
    {
        let file = smb.make(name, &content);
        smb.close(file).unwrap();
    }
    // An editor on Linux: a new file over the old one.
    let new = nfs.create(&root, ".notes.swp").unwrap();
    nfs.write(&new, 0, b"second", StableHow::FILE_SYNC).unwrap();
    nfs.rename(&root, ".notes.swp", "notes").unwrap();
    // One on Windows: the old file gets another name, and the new one gets its name.
    for (version, by_moving) in [(&b"third"[..], true), (b"fourth", false)] {
        assert_eq!(stream(&mut smb, "notes:AFP_AfpInfo").unwrap(), afp_info(FINDER_INFO));
        assert_eq!(stream(&mut smb, "notes:AFP_Resource").unwrap(), FORK);
        if by_moving {
            let file = smb.make("new", version);
            smb.rename("notes", "old").unwrap();
            smb.close(file).unwrap();
            smb.rename("new", "notes").unwrap();
        } else {
            smb.rename("notes", "old").unwrap();
            let file = smb.make("notes", version);
            smb.close(file).unwrap();
        }
        smb.remove("old").unwrap();
        assert_eq!(stream(&mut smb, "notes").unwrap(), version);
    }
    assert_eq!(stream(&mut smb, "notes:AFP_Resource").unwrap(), FORK);
}
