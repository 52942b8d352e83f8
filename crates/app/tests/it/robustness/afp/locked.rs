//! Locked means locked: a file that a client of one protocol has locked or made read-only is that
//! to the clients of the others.

use ::afp::client::ROOT;
use ::afp::wire::{DirBitmap, FileBitmap, ResultCode, SetParameters};
use ::smb::client::open_request;
use ::smb::wire::create::Disposition;
use ::smb::wire::fscc::file_info::Basic;
use ::smb::wire::fscc::file_name::Target;
use ::smb::wire::fscc::{FileAttributes, FileClass};
use ::smb::wire::security::AccessMask;
use ::smb::wire::time::NtTime;
use ::smb::wire::{Command, InfoType, Status, create, set_info};
use nfs::wire::v3::types::{Sattr3, SetTime, Status as NfsStatus};
use nfs::wire::v3::write::StableHow;
use wire::{Reader, Writer};

use super::Afp;
use super::mac_facts::{Scene, scene, set};
use crate::robustness::smb::{Smb, ok};

/// The three bits of the Finder's lock, AFP reference, "File Bitmap": write, rename, delete inhibit.
const LOCKED: u16 = 0x01A0;
const WRITE_INHIBIT: u16 = 0x0020;
/// In the word that a client sends: set the bits, else clear them.
const SET: u16 = 0x8000;

fn lock_over_afp(afp: &mut Afp, bits: u16, on: bool) {
    let attributes = Some(bits | if on { SET } else { 0 });
    set(afp, "notes", SetParameters { attributes, ..SetParameters::default() });
}

fn locked_over_afp(afp: &mut Afp) -> u16 {
    let of = (afp.volume, ROOT, "notes");
    let (_, bytes) = afp.client.parameters(of, FileBitmap::ATTRIBUTES, DirBitmap::ATTRIBUTES).unwrap();
    Reader::new(&bytes).u16_be().unwrap() & LOCKED
}

fn code<T>(result: ::afp::client::Result<T>) -> Result<T, ResultCode> {
    result.map_err(|error| error.code().expect("an answer"))
}

fn change(smb: &mut Smb, access: AccessMask, class: FileClass, data: &[u8]) -> Result<(), Status> {
    let file = smb.open("notes", |request| {
        request.disposition = Disposition::OPEN;
        request.desired_access = access.0;
    })?;
    let request = set_info::Request {
        info_type: InfoType::FILE,
        information_class: class.0,
        additional_information: 0,
        file,
        data,
    };
    let changed = ok(&smb.call(Command::SET_INFO, |w| request.encode(w)));
    smb.close(file)?;
    changed
}

fn set_over_smb(smb: &mut Smb, attributes: FileAttributes) -> Result<(), Status> {
    let mut w = Writer::new();
    let zero = NtTime::UNCHANGED;
    Basic {
        creation_time: zero,
        last_access_time: zero,
        last_write_time: zero,
        change_time: zero,
        attributes,
    }
    .encode(&mut w);
    change(smb, AccessMask::WRITE_ATTRIBUTES, FileClass::BASIC, w.as_bytes())
}

fn rename_over_smb(smb: &mut Smb, name: &str) -> Result<(), Status> {
    let mut w = Writer::new();
    let name = name.encode_utf16().collect();
    Target { replace_if_exists: false, root_directory: 0, name }.encode(&mut w);
    change(smb, AccessMask::DELETE, FileClass::RENAME, w.as_bytes())
}

fn is_readonly_over_smb(smb: &mut Smb) -> bool {
    let mut request = open_request("notes");
    request.disposition = Disposition::OPEN;
    request.desired_access = AccessMask::READ_ATTRIBUTES.0;
    let answer = smb.call(Command::CREATE, |w| request.encode(w));
    ok(&answer).unwrap();
    let response = create::Response::decode(&answer.message).unwrap();
    smb.close(response.file).unwrap();
    FileAttributes(response.info.file_attributes).contains(FileAttributes::READONLY)
}

fn mode(mode: u32) -> Sattr3 {
    let keep = SetTime::DontChange;
    Sattr3 { mode: Some(mode), uid: None, gid: None, size: None, atime: keep, mtime: keep }
}

impl Scene {
    fn mode_over_nfs(&mut self) -> u32 {
        let file = self.nfs.lookup(&self.root, "notes").unwrap();
        self.nfs.getattr(&file).unwrap().mode & 0o777
    }

    /// It is immutable to NFS, and none of this can be done over AFP.
    fn assert_locked(&mut self) {
        assert_eq!(self.mode_over_nfs() & 0o222, 0);
        let file = self.nfs.lookup(&self.root, "notes").unwrap();
        let written = self.nfs.write(&file, 0, b"new", StableHow::FILE_SYNC);
        assert_eq!(written.err(), Some(NfsStatus::PERM));
        assert_eq!(self.nfs.setattr(&file, mode(0o644)), Err(NfsStatus::PERM));
        assert_eq!(self.nfs.rename(&self.root, "notes", "other"), Err(NfsStatus::PERM));
        assert_eq!(self.nfs.remove(&self.root, "notes"), Err(NfsStatus::PERM));
        self.assert_locked_to_macs();
        assert!(is_readonly_over_smb(&mut self.smb));
        assert_eq!(self.smb.remove("notes"), Err(Status::CANNOT_DELETE));
    }

    fn assert_locked_to_macs(&mut self) {
        let (volume, locked) = (self.afp.volume, Some(ResultCode::OBJECT_LOCKED));
        assert_eq!(code(self.afp.client.delete(volume, ROOT, "notes")).err(), locked);
        assert_eq!(code(self.afp.client.rename(volume, ROOT, "notes", "other")).err(), locked);
        self.assert_read_only_to_macs();
    }

    /// It is shown as locked, and cannot be written over AFP.
    fn assert_read_only_to_macs(&mut self) {
        let (volume, locked) = (self.afp.volume, Some(ResultCode::OBJECT_LOCKED));
        assert_eq!(locked_over_afp(&mut self.afp), LOCKED);
        assert_eq!(code(self.afp.client.open_data(volume, "notes")).err(), locked);
    }

    fn assert_free(&mut self) {
        assert_eq!(self.mode_over_nfs() & 0o200, 0o200);
        assert_eq!(locked_over_afp(&mut self.afp), 0);
        assert!(!is_readonly_over_smb(&mut self.smb));
        let file = self.nfs.lookup(&self.root, "notes").unwrap();
        self.nfs.write(&file, 0, b"data", StableHow::FILE_SYNC).unwrap();
        self.nfs.rename(&self.root, "notes", "other").unwrap();
        let volume = self.afp.volume;
        self.afp.client.rename(volume, ROOT, "other", "notes").unwrap();
    }
}

#[test]
fn windows_read_only_attribute_binds_macs_and_nfs_and_lets_windows_rename() {
    let mut scene = scene();
    set_over_smb(&mut scene.smb, FileAttributes::READONLY).unwrap();
    scene.assert_locked();
    // MS-FSA 2.1.5.15.11 knows no read-only file that may not be renamed.
    rename_over_smb(&mut scene.smb, "moved").unwrap();
    assert_eq!(scene.nfs.rename(&scene.root, "moved", "notes"), Err(NfsStatus::PERM));
    let moved = scene.smb.open("moved", |request| {
        request.disposition = Disposition::OPEN;
        request.desired_access = AccessMask::READ_ATTRIBUTES.0;
    });
    let moved = moved.unwrap();
    scene.smb.close(moved).unwrap();
    let volume = scene.afp.volume;
    let unlocked = SetParameters { attributes: Some(LOCKED), ..SetParameters::default() };
    set(&mut scene.afp, "moved", unlocked);
    scene.afp.client.rename(volume, ROOT, "moved", "notes").unwrap();
    scene.assert_free();
}

#[test]
fn a_macs_lock_binds_windows_and_nfs_until_either_takes_it_away() {
    let mut scene = scene();
    lock_over_afp(&mut scene.afp, LOCKED, true);
    scene.assert_locked();
    assert_eq!(rename_over_smb(&mut scene.smb, "moved"), Err(Status::ACCESS_DENIED));
    set_over_smb(&mut scene.smb, FileAttributes::NORMAL).unwrap();
    scene.assert_free();
    lock_over_afp(&mut scene.afp, LOCKED, true);
    scene.assert_locked();
    lock_over_afp(&mut scene.afp, LOCKED, false);
    scene.assert_free();
    // A Mac may forbid writing only: the other two are its own bits.
    lock_over_afp(&mut scene.afp, WRITE_INHIBIT, true);
    assert_eq!(locked_over_afp(&mut scene.afp), WRITE_INHIBIT);
    assert!(is_readonly_over_smb(&mut scene.smb));
    scene.nfs.rename(&scene.root, "notes", "other").unwrap();
    scene.nfs.remove(&scene.root, "other").unwrap();
}

#[test]
fn a_file_without_rights_to_write_in_its_mode_is_locked_to_all_but_nfs() {
    let mut scene = scene();
    let file = scene.nfs.lookup(&scene.root, "notes").unwrap();
    scene.nfs.setattr(&file, mode(0o444)).unwrap();
    scene.assert_read_only_to_macs();
    assert!(is_readonly_over_smb(&mut scene.smb));
    assert_eq!(scene.smb.remove("notes"), Err(Status::CANNOT_DELETE));
    // What clients send back of what they were shown changes nothing.
    set_over_smb(&mut scene.smb, FileAttributes::READONLY | FileAttributes::ARCHIVE).unwrap();
    lock_over_afp(&mut scene.afp, LOCKED, true);
    scene.nfs.rename(&scene.root, "notes", "other").unwrap();
    // As with Netatalk, the rights of the folder decide on moving and removing.
    let volume = scene.afp.volume;
    scene.afp.client.rename(volume, ROOT, "other", "notes").unwrap();
    set_over_smb(&mut scene.smb, FileAttributes::ARCHIVE).unwrap();
    assert_eq!(scene.mode_over_nfs(), 0o644);
    scene.assert_free();
    scene.nfs.setattr(&file, mode(0o400)).unwrap();
    scene.assert_read_only_to_macs();
    lock_over_afp(&mut scene.afp, LOCKED, false);
    assert_eq!(scene.mode_over_nfs(), 0o600);
    scene.nfs.setattr(&file, mode(0o444)).unwrap();
    scene.afp.client.delete(volume, ROOT, "notes").unwrap();
}
