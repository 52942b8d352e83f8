//! What a client says about a file is seen by the clients of the other protocols: the date of its
//! creation, Finder info of folders, large attributes.

use ::afp::client::ROOT;
use ::afp::wire::directory::{Place, SetParms};
use ::afp::wire::{DirBitmap, FileBitmap, Path, SetParameters, command};
use ::smb::client::open_request;
use ::smb::wire::create::{Disposition, Options};
use ::smb::wire::fscc::file_info::Basic;
use ::smb::wire::fscc::{FileAttributes, FileClass, stream};
use ::smb::wire::time::NtTime;
use ::smb::wire::{
    Command, FileKey, InfoType, NetworkOpen, Status, create, query_directory, query_info, set_info,
};
use nfs::wire::v3::types::Status as NfsStatus;
use nfs::wire::v3::write::StableHow;
use wire::{Reader, Writer};

use super::Afp;
use crate::robustness::client::Client;
use crate::robustness::server::{Server, folder};
use crate::robustness::smb::{Smb, ok};

/// A window rectangle, flags with a label, a position and a view: DInfo, and 16 bytes more.
const FOLDER_INFO: &[u8; 32] =
    b"\0\x28\0\x50\x01\0\x02\0\x01\x0C\0\x10\0\x20\0\x03\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";
/// 2001-09-09 01:46:40 UTC, which is 1,000,000,000 s after 1970: 100 ns since 1601, and seconds since 2000.
const BILLION: (NtTime, i32) = (NtTime(126_444_736_000_000_000), 53_315_200);

pub(super) struct Scene {
    pub(super) afp: Afp,
    pub(super) smb: Smb,
    pub(super) nfs: Client,
    pub(super) root: Vec<u8>,
    pub(super) _server: Server,
    pub(super) _top: tempfile::TempDir,
}

/// One server, a client of each protocol, a file and a folder.
pub(super) fn scene() -> Scene {
    let (top, share) = folder();
    let server = Server::start_with_afp(top.path(), &share);
    let (mut afp, smb, nfs) =
        (Afp::enter(server.afp_port), Smb::enter(server.smb_port), Client::mount(server.port));
    let fork = afp.make("notes", b"data");
    afp.client.close(fork).unwrap();
    afp.client.create_folder(afp.volume, ROOT, "folder").unwrap();
    let root = nfs.root.clone();
    Scene { afp, smb, nfs, root, _server: server, _top: top }
}

pub(super) fn set(afp: &mut Afp, name: &str, parameters: SetParameters) {
    let place = Place { volume: afp.volume, folder: ROOT, path: Path::utf8(name.as_bytes()) };
    let request = SetParms { place, bitmap: parameters.bitmap(), parameters: &parameters.to_bytes() };
    afp.client.call(command::SET_FILE_DIR_PARMS, |w| request.encode(w)).unwrap().well().unwrap();
}

fn created_over_afp(afp: &mut Afp, name: &str) -> i32 {
    let of = (afp.volume, ROOT, name);
    let (_, bytes) = afp.client.parameters(of, FileBitmap::CREATED, DirBitmap::CREATED).unwrap();
    Reader::new(&bytes).i32_be().unwrap()
}

pub(super) fn finder_info_over_afp(afp: &mut Afp, name: &str) -> Vec<u8> {
    let of = (afp.volume, ROOT, name);
    afp.client.parameters(of, FileBitmap::FINDER_INFO, DirBitmap::FINDER_INFO).unwrap().1
}

/// Opens what is there, and gives the answer to CREATE with it.
pub(super) fn open(smb: &mut Smb, name: &str) -> Result<(FileKey, NetworkOpen), Status> {
    let mut request = open_request(name);
    request.disposition = Disposition::OPEN;
    let answer = smb.call(Command::CREATE, |w| request.encode(w));
    ok(&answer)?;
    let response = create::Response::decode(&answer.message).unwrap();
    Ok((response.file, response.info))
}

fn query(smb: &mut Smb, file: FileKey, class: FileClass) -> Vec<u8> {
    let request = query_info::Request {
        info_type: InfoType::FILE,
        information_class: class.0,
        output_buffer_length: 65536,
        additional_information: 0,
        flags: query_info::Flags::NONE,
        file,
        input: &[],
    };
    let answer = smb.call(Command::QUERY_INFO, |w| request.encode(w));
    ok(&answer).unwrap();
    query_info::Response::decode(&answer.message).unwrap().data
}

/// Sets the date of creation and nothing else, MS-FSCC 2.4.7.
fn set_created(smb: &mut Smb, file: FileKey, creation_time: NtTime) {
    let mut w = Writer::new();
    let zero = NtTime::UNCHANGED;
    Basic {
        creation_time,
        last_access_time: zero,
        last_write_time: zero,
        change_time: zero,
        attributes: FileAttributes::NONE,
    }
    .encode(&mut w);
    let data = w.into_bytes();
    let request = set_info::Request {
        info_type: InfoType::FILE,
        information_class: FileClass::BASIC.0,
        additional_information: 0,
        file,
        data: &data,
    };
    ok(&smb.call(Command::SET_INFO, |w| request.encode(w))).unwrap();
}

/// The dates of creation that SMB tells: by QUERY_INFO, by CREATE, and by a listing.
fn created_over_smb(smb: &mut Smb, name: &str) -> [NtTime; 3] {
    let (file, facts) = open(smb, name).unwrap();
    let basic = Basic::decode(&mut Reader::new(&query(smb, file, FileClass::BASIC))).unwrap();
    smb.close(file).unwrap();
    [basic.creation_time, NtTime(facts.creation_time), listed(smb, "", name)]
}

/// The date of creation that a listing of a folder has of a name in it.
fn listed(smb: &mut Smb, above: &str, name: &str) -> NtTime {
    let (folder, _) = open(smb, above).unwrap();
    let request = query_directory::Request {
        information_class: FileClass::FULL_DIRECTORY.0,
        flags: query_directory::Flags::NONE,
        file_index: 0,
        file: folder,
        output_buffer_length: 65536,
        pattern: name.encode_utf16().collect(),
    };
    let answer = smb.call(Command::QUERY_DIRECTORY, |w| request.encode(w));
    ok(&answer).unwrap();
    smb.close(folder).unwrap();
    let data = query_directory::Response::decode(&answer.message).unwrap().data;
    // FileFullDirectoryInformation, MS-FSCC 2.4.16: the date of creation is at 8.
    NtTime(u64::from_le_bytes(*data[8..].first_chunk().unwrap()))
}

pub(super) fn stream_of(smb: &mut Smb, name: &str) -> Result<Vec<u8>, Status> {
    let (file, _) = open(smb, name)?;
    let content = smb.content(file);
    smb.close(file).unwrap();
    content
}

#[test]
fn a_date_of_creation_set_over_smb_reads_back_and_is_seen_over_afp() {
    let Scene { mut afp, mut smb, _server, _top, .. } = scene();
    let (nt, mac) = BILLION;
    for name in ["notes", "folder"] {
        created_over_smb(&mut smb, name); // so that the server has an older one in its caches
        let (file, _) = open(&mut smb, name).unwrap();
        set_created(&mut smb, file, nt);
        let basic = Basic::decode(&mut Reader::new(&query(&mut smb, file, FileClass::BASIC))).unwrap();
        assert_eq!(basic.creation_time, nt, "{name}");
        smb.close(file).unwrap();
        assert_eq!(created_over_smb(&mut smb, name), [nt; 3], "{name}");
        assert_eq!(created_over_afp(&mut afp, name), mac, "{name}");
    }
    assert_eq!(listed(&mut smb, "folder", "."), nt);
    assert_eq!(stream_of(&mut smb, "notes").unwrap(), b"data");
}

#[test]
fn a_date_of_creation_set_over_afp_is_seen_over_smb() {
    let Scene { mut afp, mut smb, _server, _top, .. } = scene();
    let (nt, mac) = BILLION;
    for name in ["notes", "folder"] {
        created_over_smb(&mut smb, name);
        set(&mut afp, name, SetParameters { created: Some(mac), ..SetParameters::default() });
        assert_eq!(created_over_smb(&mut smb, name), [nt; 3], "{name}");
        assert_eq!(created_over_afp(&mut afp, name), mac);
        // A later date over SMB counts, and the other way round.
        let (file, _) = open(&mut smb, name).unwrap();
        set_created(&mut smb, file, NtTime(nt.0 + 10_000_000));
        smb.close(file).unwrap();
        assert_eq!(created_over_afp(&mut afp, name), mac + 1);
        set(&mut afp, name, SetParameters { created: Some(mac - 1), ..SetParameters::default() });
        assert_eq!(created_over_smb(&mut smb, name), [NtTime(nt.0 - 10_000_000); 3], "{name}");
    }
}

#[test]
fn finder_info_of_a_folder_set_over_afp_is_seen_over_smb_and_nfs() {
    let Scene { mut afp, mut smb, mut nfs, root, _server, _top } = scene();
    assert_eq!(stream_of(&mut smb, "folder:AFP_AfpInfo"), Err(Status::OBJECT_NAME_NOT_FOUND));
    set(&mut afp, "folder", SetParameters { finder_info: Some(*FOLDER_INFO), ..SetParameters::default() });
    assert_eq!(stream_of(&mut smb, "folder:AFP_AfpInfo").unwrap()[16..48], FOLDER_INFO[..]);
    let (file, _) = open(&mut smb, "folder").unwrap();
    let streams = query(&mut smb, file, FileClass::STREAM);
    let streams = stream::decode(&mut Reader::new(&streams)).unwrap();
    let named: Vec<_> = streams.iter().map(|one| (String::from_utf16_lossy(&one.name), one.size)).collect();
    assert!(named.contains(&(":AFP_AfpInfo:$DATA".to_owned(), 60)), "{named:?}");
    smb.close(file).unwrap();
    let sidecar = nfs.lookup(&root, "._folder").unwrap();
    assert_eq!(nfs.content(&sidecar).unwrap()[50..82], FOLDER_INFO[..]);
}

#[test]
fn finder_info_of_a_folder_set_over_nfs_or_smb_is_seen_over_the_others() {
    let Scene { mut afp, mut smb, mut nfs, root, _server, _top } = scene();
    assert_eq!(nfs.lookup(&root, "._folder"), Err(NfsStatus::NOENT));
    let sidecar = nfs.create(&root, "._folder").unwrap();
    // RFC 1740: an AppleDouble file with Finder info (9) at 50 and an empty fork (2) at 82.
    let rows = [9_u32, 50, 32, 2, 82, 0].map(u32::to_be_bytes).concat();
    let head = [&b"\0\x05\x16\x07\0\x02\0\0Mac OS X        \0\x02"[..], &rows, FOLDER_INFO].concat();
    nfs.write(&sidecar, 0, &head, StableHow::FILE_SYNC).unwrap();
    assert_eq!(stream_of(&mut smb, "folder:AFP_AfpInfo").unwrap()[16..48], FOLDER_INFO[..]);
    assert_eq!(finder_info_over_afp(&mut afp, "folder"), FOLDER_INFO);

    let mut other = *FOLDER_INFO;
    other[9] = 0x06;
    let info = [&b"AFP\0\0\0\x01\0\0\0\0\0\x80\0\0\0"[..], &other, &[0; 12]].concat();
    let file = smb.make("folder:AFP_AfpInfo", &info);
    smb.close(file).unwrap();
    assert_eq!(finder_info_over_afp(&mut afp, "folder"), other);
    let sidecar = nfs.lookup(&root, "._folder").unwrap();
    assert_eq!(nfs.content(&sidecar).unwrap()[50..82], other);
}

#[test]
fn attributes_of_a_megabyte_are_in_the_sidecar_that_nfs_sees() {
    let Scene { mut smb, mut nfs, root, _server, _top, .. } = scene();
    let large: Vec<u8> = (0..61_000_u32).flat_map(|n| n.to_be_bytes()).collect();
    for name in ["notes", "folder"] {
        let file = smb.make(&format!("{name}:com.apple.large"), b"");
        for (at, part) in large.chunks(60_000).enumerate() {
            smb.write(file, at as u64 * 60_000, part).unwrap();
        }
        smb.close(file).unwrap();
        let sidecar = nfs.lookup(&root, &format!("._{name}")).unwrap();
        let content = nfs.content(&sidecar).unwrap();
        assert!(content.windows(large.len()).any(|part| part == large), "{name}");
    }
}

#[test]
fn a_named_stream_of_a_folder_has_its_size_over_smb() {
    let Scene { mut smb, _server, _top, .. } = scene();
    let made = smb.make("folder:com.apple.x", b"twelve bytes");
    let all = |smb: &mut Smb, file| {
        let standard = query(smb, file, FileClass::STANDARD);
        let size = u64::from_le_bytes(*standard[8..].first_chunk().unwrap());
        let open = query(smb, file, FileClass::NETWORK_OPEN);
        (size, u64::from_le_bytes(*open[40..].first_chunk().unwrap()))
    };
    assert_eq!(all(&mut smb, made), (12, 12));
    smb.close(made).unwrap();
    let (file, facts) = open(&mut smb, "folder:com.apple.x").unwrap();
    assert_eq!(facts.end_of_file, 12);
    assert_eq!(all(&mut smb, file), (12, 12));
    smb.close(file).unwrap();
    let is_folder = smb.open("folder:com.apple.x", |request| {
        request.disposition = Disposition::OPEN;
        request.options = Options::DIRECTORY_FILE;
    });
    assert_eq!(is_folder, Err(Status::NOT_A_DIRECTORY)); // MS-FSA 2.1.5.1: a data stream is no directory
}

/// A large fork is kept beside the file, so a program on the host that moves the file leaves it behind.
#[test]
fn a_fork_follows_a_file_that_a_program_on_the_host_moves() {
    let (top, share) = folder();
    let server = Server::start_with_afp(top.path(), &share);
    let (mut afp, mut smb) = (Afp::enter(server.afp_port), Smb::enter(server.smb_port));
    let mut nfs = Client::mount(server.port);
    let root = nfs.root.clone();
    let fork: Vec<u8> = (0..50_000_u32).flat_map(|n| n.to_be_bytes()).collect();
    let data = afp.make("notes", b"data");
    afp.client.close(data).unwrap();
    let resource = afp.client.open_resource(afp.volume, "notes").unwrap();
    afp.client.write(resource, 0, &fork).unwrap();
    afp.client.close(resource).unwrap();
    std::fs::create_dir(share.join("inner")).unwrap();

    std::fs::rename(share.join("notes"), share.join("other")).unwrap();
    assert!(stream_of(&mut smb, "other:AFP_Resource").unwrap() == fork);
    std::fs::rename(share.join("other"), share.join("third")).unwrap();
    assert!(afp.content("third", true).unwrap() == fork);
    std::fs::rename(share.join("third"), share.join("inner/fourth")).unwrap();
    let inner = nfs.lookup(&root, "inner").unwrap();
    let sidecar = nfs.lookup(&inner, "._fourth").unwrap();
    assert!(nfs.content(&sidecar).unwrap().ends_with(&fork));
    let left: Vec<_> = std::fs::read_dir(&share).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(!left.iter().any(|name| name.to_string_lossy().starts_with("._")), "{left:?}");
}
