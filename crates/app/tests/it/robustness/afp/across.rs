//! Holds and writes of an AFP client apply to clients of SMB and NFS, and vice versa, on one folder
//! in one process.

use ::afp::client::ROOT;
use ::afp::wire::directory::{Place, SetParms};
use ::afp::wire::fork::{AccessMode, Width};
use ::afp::wire::lock::ByteRangeLock;
use ::afp::wire::{DirBitmap, FileBitmap, Path, ResultCode, SetParameters, command};
use ::smb::wire::Status;
use ::smb::wire::create::{Disposition, ShareAccess};
use nfs::wire::v3::types::Status as NfsStatus;
use nfs::wire::v3::write::StableHow;

use super::Afp;
use crate::robustness::client::Client;
use crate::robustness::server::{Server, folder};
use crate::robustness::smb::Smb;

/// Type, creator, a label, a position.
const FINDER_INFO: &[u8; 32] = b"TEXTttxt\x01\x0C\0\x10\0\x20\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";
const FORK: &[u8] = b"not quite a resource fork";

struct Scene {
    afp: Afp,
    smb: Smb,
    nfs: Client,
    root: Vec<u8>,
    server: Server,
    top: tempfile::TempDir,
}

/// One server, a client of each protocol, and a file that all of them have looked up.
fn scene() -> Scene {
    let (top, share) = folder();
    let server = Server::start_with_afp(top.path(), &share);
    let (mut afp, smb, nfs) =
        (Afp::enter(server.afp_port), Smb::enter(server.smb_port), Client::mount(server.port));
    let fork = afp.make("notes", b"data");
    afp.client.close(fork).unwrap();
    let root = nfs.root.clone();
    Scene { afp, smb, nfs, root, server, top }
}

/// AFP_AfpInfo of Windows' Services for Macintosh: signature, version, reserved, backup time, Finder info, ProDOS info.
fn afp_info(finder_info: &[u8; 32]) -> Vec<u8> {
    [&b"AFP\0\0\0\x01\0\0\0\0\0\x80\0\0\0"[..], finder_info, &[0; 12]].concat()
}

fn set(afp: &mut Afp, name: &str, parameters: SetParameters) {
    let place = Place { volume: afp.volume, folder: ROOT, path: Path::utf8(name.as_bytes()) };
    let request = SetParms { place, bitmap: parameters.bitmap(), parameters: &parameters.to_bytes() };
    afp.client.call(command::SET_FILE_DIR_PARMS, |w| request.encode(w)).unwrap().well().unwrap();
}

fn finder_info(afp: &mut Afp, name: &str) -> Vec<u8> {
    let of = (afp.volume, ROOT, name);
    afp.client.parameters(of, FileBitmap::FINDER_INFO, DirBitmap::FINDER_INFO).unwrap().1
}

fn stream(smb: &mut Smb, name: &str) -> Result<Vec<u8>, Status> {
    let file = smb.open(name, |request| request.disposition = Disposition::OPEN)?;
    let content = smb.read(file, 0, 1000);
    smb.close(file).unwrap();
    content
}

#[test]
fn what_a_mac_writes_over_afp_is_seen_over_smb_and_nfs() {
    let Scene { mut afp, mut smb, mut nfs, root, server: _server, top: _top, .. } = scene();
    set(&mut afp, "notes", SetParameters { finder_info: Some(*FINDER_INFO), ..SetParameters::default() });
    let fork = afp.client.open_resource(afp.volume, "notes").unwrap();
    afp.client.write(fork, 0, FORK).unwrap();
    afp.client.close(fork).unwrap();

    assert_eq!(stream(&mut smb, "notes").unwrap(), b"data");
    assert_eq!(stream(&mut smb, "notes:AFP_AfpInfo").unwrap()[16..48], FINDER_INFO[..]);
    assert_eq!(stream(&mut smb, "notes:AFP_Resource").unwrap(), FORK);
    let file = nfs.lookup(&root, "notes").unwrap();
    assert_eq!(nfs.content(&file).unwrap(), b"data");
    let sidecar = nfs.lookup(&root, "._notes").unwrap();
    let content = nfs.content(&sidecar).unwrap();
    assert!(content.windows(32).any(|part| part == FINDER_INFO));
    assert!(content.ends_with(FORK));
}

#[test]
fn what_is_written_over_smb_is_seen_over_afp() {
    let Scene { mut afp, mut smb, server: _server, top: _top, .. } = scene();
    for (name, content) in
        [("notes:AFP_AfpInfo", afp_info(FINDER_INFO)), ("notes:AFP_Resource", FORK.to_vec())]
    {
        let file = smb.make(name, &content);
        smb.close(file).unwrap();
    }
    assert_eq!(finder_info(&mut afp, "notes"), FINDER_INFO);
    assert_eq!(afp.content("notes", true).unwrap(), FORK);
    let file = smb.make("from Windows", b"text");
    smb.close(file).unwrap();
    assert_eq!(afp.content("from Windows", false).unwrap(), b"text");
}

#[test]
fn what_is_written_over_nfs_is_seen_over_afp() {
    let Scene { mut afp, mut nfs, root, server: _server, top: _top, .. } = scene();
    let file = nfs.create(&root, "from UNIX: a name").unwrap();
    nfs.write(&file, 0, b"text", StableHow::FILE_SYNC).unwrap();
    assert_eq!(afp.content("from UNIX/ a name", false).unwrap(), b"text"); // `:` there is `/` for a Mac
    nfs.rename(&root, "from UNIX: a name", "moved").unwrap();
    assert_eq!(afp.content("moved", false).unwrap(), b"text");
    assert_eq!(afp.content("from UNIX/ a name", false), Err(ResultCode::OBJECT_NOT_FOUND));
}

#[test]
fn names_are_decomposed_for_macs_and_composed_for_others() {
    let Scene { mut afp, mut nfs, root, server: _server, top: _top, .. } = scene();
    afp.client.create(afp.volume, "se\u{6e}\u{303}or").unwrap();
    assert!(nfs.names(&root).unwrap().contains(&"se\u{f1}or".to_owned()));
    let of = (afp.volume, ROOT, "se\u{f1}or");
    let (_, bytes) = afp.client.parameters(of, FileBitmap::UTF8_NAME, DirBitmap::empty()).unwrap();
    assert!(bytes.ends_with("se\u{6e}\u{303}or".as_bytes()));
}

#[test]
fn a_deny_mode_of_afp_binds_smb_and_nfs_and_the_other_way_round() {
    let Scene { mut afp, mut smb, mut nfs, root, server: _server, top: _top, .. } = scene();
    let of = (afp.volume, ROOT, "notes");
    let deny = AccessMode(AccessMode::READ.0 | AccessMode::DENY_WRITE.0);
    let fork = afp.client.open_fork(of, false, deny).unwrap();
    let refused = smb.open("notes", |request| request.disposition = Disposition::OPEN);
    assert_eq!(refused, Err(Status::SHARING_VIOLATION));
    let file = nfs.lookup(&root, "notes").unwrap();
    assert_eq!(nfs.write(&file, 0, b"x", StableHow::FILE_SYNC), Err(NfsStatus::ACCES));
    assert_eq!(nfs.content(&file).unwrap(), b"data");
    afp.client.close(fork).unwrap();

    let alone = smb.open("notes", |request| {
        request.disposition = Disposition::OPEN;
        request.share_access = ShareAccess::NONE;
    });
    let refused = afp.client.open_fork(of, false, AccessMode::READ).unwrap_err();
    assert_eq!(refused.code(), Some(ResultCode::DENY_CONFLICT));
    smb.close(alone.unwrap()).unwrap();
    afp.client.open_fork(of, false, AccessMode::READ).unwrap();
}

/// MS-FSA 2.1.5.1.2.2: an open for removal needs that the other opens share it. AFP knows no such
/// share, so a Mac that denies writing denies removal (`deny-modes = "strict"`).
#[test]
fn a_mac_that_denies_writing_denies_removing_and_renaming_to_smb_and_nfs() {
    let Scene { mut afp, mut smb, mut nfs, root, server, top: _top, .. } = scene();
    let of = (afp.volume, ROOT, "notes");
    let other = smb.make("other", b"");
    smb.close(other).unwrap();
    let deny = AccessMode(AccessMode::READ.0 | AccessMode::DENY_WRITE.0);
    let fork = afp.client.open_fork(of, false, deny).unwrap();
    assert_eq!(smb.remove("notes"), Err(Status::SHARING_VIOLATION));
    assert_eq!(nfs.remove(&root, "notes"), Err(NfsStatus::ACCES));
    assert_eq!(nfs.rename(&root, "notes", "elsewhere"), Err(NfsStatus::ACCES));
    assert_eq!(nfs.rename(&root, "notes", ".nfs0001"), Err(NfsStatus::ACCES));
    assert_eq!(nfs.rename(&root, "other", "notes"), Err(NfsStatus::ACCES), "it would replace the file");
    // Macs rename open files, also those of other Macs: the Apple Filing Protocol Reference has no
    // error for an open file in FPRename. It has kFPFileBusy in FPDelete.
    let mut another = Afp::enter(server.afp_port);
    another.client.rename(another.volume, ROOT, "notes", "renamed").unwrap();
    let refused = another.client.delete(another.volume, ROOT, "renamed").unwrap_err();
    assert_eq!(refused.code(), Some(ResultCode::FILE_BUSY));
    afp.client.rename(afp.volume, ROOT, "renamed", "notes").unwrap();
    // A Mac that denies reading only, or nothing, denies no removal.
    afp.client.close(fork).unwrap();
    let fork = afp.client.open_fork(of, false, AccessMode::READ).unwrap();
    nfs.rename(&root, "notes", "elsewhere").unwrap();
    nfs.remove(&root, "elsewhere").unwrap();
    assert_eq!(afp.client.read(fork, 0, 4).unwrap(), b"data");
    afp.client.close(fork).unwrap();
}

#[test]
fn a_range_locked_over_afp_is_locked_over_smb_and_nfs() {
    let Scene { mut afp, mut smb, mut nfs, root, server: _server, top: _top, .. } = scene();
    let fork = afp.client.open_data(afp.volume, "notes").unwrap();
    let lock = ByteRangeLock { unlock: false, from_end: false, fork: fork.0, offset: 1, length: 2 };
    afp.client.call(command::BYTE_RANGE_LOCK_EXT, |w| lock.encode(Width::Bits64, w)).unwrap().well().unwrap();
    let file = smb.open("notes", |request| {
        request.disposition = Disposition::OPEN;
        request.share_access = ShareAccess(7);
    });
    let file = file.unwrap();
    assert_eq!(smb.read(file, 0, 4), Err(Status::FILE_LOCK_CONFLICT));
    assert_eq!(smb.read(file, 3, 1).unwrap(), b"a");
    let handle = nfs.lookup(&root, "notes").unwrap();
    assert_eq!(nfs.write(&handle, 1, b"x", StableHow::FILE_SYNC), Err(NfsStatus::ACCES));
    afp.client.close(fork).unwrap();
    assert_eq!(smb.read(file, 0, 4).unwrap(), b"data");
}
