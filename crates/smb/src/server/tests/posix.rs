//! The SMB3 POSIX extensions. The structures are those of Linux (fs/smb/client/smb2pdu.h), the behaviour is that of Samba's test
//! `smb3unix.py`.

use std::sync::Arc;

use vfs::backend::NewKind;
use vfs::{Caller, Kind, Volume};
use wire::{Reader, Writer};

use crate::client::Offer;
use crate::server::Service;
use crate::server::testing::{ADA, User, connect, service, service_with, volume};
use crate::wire::create::{self, Disposition, Options};
use crate::wire::create_context::RawContext;
use crate::wire::create_context::response::Context as Answer;
use crate::wire::fscc::directory::{self, Form, OwnedEntry};
use crate::wire::fscc::file_name::Target;
use crate::wire::fscc::posix::{FsPosix, PosixInfo};
use crate::wire::fscc::reparse::{Nfs, Reparse, SymlinkFlags, Tag};
use crate::wire::fscc::{FileAttributes, FileClass};
use crate::wire::fsctl::Code;
use crate::wire::negotiate_context::{Context, POSIX};
use crate::wire::security::well_known::{NOBODY, Unix};
use crate::wire::security::{
    AccessMask, Ace, AceFlags, Acl, Control, SecurityDescriptor, SecurityInformation, Sid, well_known,
};
use crate::wire::values::InfoType;
use crate::wire::{Command, Dialect, FileKey, Status, ioctl, query_directory, query_info, set_info};

const UID: u32 = 1000;
const GID: u32 = 100;

fn offer() -> Offer {
    Offer { posix: true, ..Offer::default() }
}

/// Ada, whose client has negotiated the extensions.
async fn ada(service: &Arc<Service>) -> User {
    User::with(service, &offer(), ADA, "share").await
}

/// The create context: the GUID of the extensions, and the mode as 32 bits.
fn asking(mode: u32) -> RawContext<'static> {
    let tag = b"\x93\xAD\x25\x50\x9C\xB4\x11\xE7\xB4\x23\x83\xDE\x96\x8B\xCD\x7C";
    RawContext { tag: tag[..].into(), data: mode.to_le_bytes().to_vec().into() }
}

/// Opens with the extensions.
async fn open(
    user: &mut User,
    name: &str,
    mode: u32,
    change: impl FnOnce(&mut create::Request<'_>),
) -> Result<create::Response<'static>, Status> {
    let about = |create: &mut create::Request<'_>| {
        create.contexts = vec![asking(mode)];
        change(create);
    };
    user.open(name, about).await
}

fn exists(create: &mut create::Request<'_>) {
    create.disposition = Disposition::OPEN;
}

/// As Linux asks for attributes.
fn looks(create: &mut create::Request<'_>) {
    create.disposition = Disposition::OPEN;
    create.desired_access = AccessMask::READ_ATTRIBUTES.0;
}

fn looks_at_itself(create: &mut create::Request<'_>) {
    looks(create);
    create.options |= Options::OPEN_REPARSE_POINT;
}

fn folder(create: &mut create::Request<'_>) {
    create.options |= Options::DIRECTORY_FILE;
}

/// QUERY_INFO of a class.
async fn query(user: &mut User, file: FileKey, kind: InfoType, class: u8) -> Result<Vec<u8>, Status> {
    let request = query_info::Request {
        info_type: kind,
        information_class: class,
        output_buffer_length: 4096,
        input: &[],
        additional_information: 0,
        flags: query_info::Flags::NONE,
        file,
    };
    let answer = user.call(Command::QUERY_INFO, |w| request.encode(w)).await;
    match answer.status() {
        Status::SUCCESS => Ok(query_info::Response::decode(&answer.message).unwrap().data),
        status => Err(status),
    }
}

async fn info(user: &mut User, file: FileKey) -> PosixInfo {
    let data = query(user, file, InfoType::FILE, 100).await.unwrap();
    let mut r = Reader::new(&data);
    let info = PosixInfo::decode(&mut r).unwrap();
    r.finish().unwrap();
    info
}

async fn set(user: &mut User, file: FileKey, what: (InfoType, u8, u32), data: &[u8]) -> Status {
    let (info_type, information_class, additional_information) = what;
    let request = set_info::Request { info_type, information_class, additional_information, file, data };
    user.call(Command::SET_INFO, |w| request.encode(w)).await.status()
}

async fn rename(user: &mut User, file: FileKey, name: &str) -> Status {
    let target = Target { replace_if_exists: true, root_directory: 0, name: name.encode_utf16().collect() };
    let mut w = Writer::new();
    target.encode(&mut w);
    set(user, file, (InfoType::FILE, FileClass::RENAME.0, 0), w.as_bytes()).await
}

/// All entries of the share's folder in class 100.
async fn listed(user: &mut User) -> Vec<OwnedEntry> {
    let file = open(user, "", 0, exists).await.unwrap().file;
    let request = query_directory::Request {
        information_class: 100,
        flags: query_directory::Flags::NONE,
        file_index: 0,
        file,
        output_buffer_length: 65536,
        pattern: "*".encode_utf16().collect(),
    };
    let answer = user.call(Command::QUERY_DIRECTORY, |w| request.encode(w)).await;
    let data = query_directory::Response::decode(&answer.message).unwrap().data;
    user.close(file).await;
    directory::decode(Form::Posix, &data).unwrap()
}

async fn control(user: &mut User, code: Code, file: FileKey, point: Option<&Reparse>) -> (Status, Vec<u8>) {
    let mut w = Writer::new();
    point.into_iter().for_each(|point| point.encode(&mut w));
    let request = ioctl::Request {
        control_code: code,
        file,
        input: 0..0,
        max_input_response: 0,
        max_output_response: 4096,
        flags: ioctl::Request::IS_FSCTL,
    };
    let answer = user.call(Command::IOCTL, |out| request.encode(w.as_bytes(), out)).await;
    let output = ioctl::Response::decode(&answer.message).map(|response| response.output).unwrap_or_default();
    (answer.status(), output)
}

/// The mode and the kind of an entry on the disk.
fn on_disk(volume: &Volume, name: &str) -> (u32, Kind) {
    let root = volume.root().unwrap();
    let found = root.object.lookup(&Caller::root(), name.as_bytes()).unwrap();
    (found.attributes.mode, found.attributes.kind)
}

#[tokio::test]
async fn the_context_is_answered_if_it_has_the_known_version() {
    let answered = |agreed: &crate::wire::negotiate::Response| {
        agreed.contexts.iter().filter(|context| **context == Context::Posix(POSIX.to_vec())).count()
    };
    for (dialect, posix, is_on, expected) in [
        (Dialect::SMB_3_1_1, true, true, 1),
        (Dialect::SMB_3_1_1, true, false, 0),
        (Dialect::SMB_3_1_1, false, true, 0),
        (Dialect::SMB_3_0_2, true, true, 0),
    ] {
        let service = service_with(|config| config.posix = is_on);
        let client = connect(&service, &Offer { posix, ..Offer::of(dialect) }).await;
        assert_eq!(answered(&client.agreed.unwrap()), expected, "{dialect:?} {posix} {is_on}");
    }
}

#[tokio::test]
async fn the_create_context_tells_links_mode_and_owners() {
    let mut ada = ada(&service()).await;
    let opened = open(&mut ada, "notes", 0o100_640, |_| ()).await.unwrap();
    let [RawContext { tag, data }] = &opened.contexts[..] else { panic!("one context") };
    assert_eq!(**tag, POSIX);
    // struct create_posix_rsp: nlink, reparse tag, mode; then S-1-22-1-1000 and S-1-22-2-100.
    let expected = b"\x01\0\0\0\0\0\0\0\xa0\x01\0\0\
        \x01\x02\0\0\0\0\0\x16\x01\0\0\0\xe8\x03\0\0\x01\x02\0\0\0\0\0\x16\x02\0\0\0\x64\0\0\0";
    assert_eq!(**data, expected[..]);
}

#[tokio::test]
async fn a_mode_is_given_with_setgid_and_sticky_but_without_a_type() {
    let service = service();
    let (volume, mut ada) = (volume(&service, "share"), ada(&service).await);
    for (name, mode, expected) in [("a", 0o100_600, 0o600), ("b", 0o4711, 0o4711), ("c", 0xFFFF, 0o644)] {
        open(&mut ada, name, mode, |_| ()).await.unwrap();
        assert_eq!(on_disk(&volume, name), (expected, Kind::File));
    }
    for (name, mode, expected) in [("d", 0o40_777, 0o777), ("e", 0o3770, 0o3770), ("f", u32::MAX, 0o755)] {
        open(&mut ada, name, mode, folder).await.unwrap();
        assert_eq!(on_disk(&volume, name), (expected, Kind::Folder));
    }
}

#[tokio::test]
async fn class_100_of_a_file_is_what_stat_says() {
    let mut ada = ada(&service()).await;
    let made = open(&mut ada, "notes", 0o640, |_| ()).await.unwrap();
    assert_eq!(ada.write(made.file, 0, b"four").await, Status::SUCCESS);
    let told = info(&mut ada, made.file).await;
    assert_eq!((told.facts.end_of_file, told.facts.reparse_tag), (4, 0));
    assert_eq!((told.posix.links, told.posix.mode), (1, 0o640));
    assert_eq!((told.posix.owner, told.posix.group), (Unix::User(UID).sid(), Unix::Group(GID).sid()));
    let number = query(&mut ada, made.file, InfoType::FILE, FileClass::INTERNAL.0).await.unwrap();
    assert_eq!(told.facts.file_id.to_le_bytes(), number[..]);
    let dir = open(&mut ada, "dir", 0o750, folder).await.unwrap();
    let told = info(&mut ada, dir.file).await;
    assert_eq!((told.posix.mode, told.facts.attributes), (0o750, FileAttributes::DIRECTORY));
}

#[tokio::test]
async fn opens_that_do_not_ask_for_the_extensions_do_not_have_them() {
    let mut ada = ada(&service()).await;
    let file = ada.make("Notes", b"").await;
    assert_eq!(query(&mut ada, file, InfoType::FILE, 100).await, Err(Status::NOT_SUPPORTED));
    assert_eq!(query(&mut ada, file, InfoType::FILE_SYSTEM, 100).await, Err(Status::INVALID_INFO_CLASS));
    assert!(ada.open("NOTES", exists).await.is_ok());
    assert_eq!(ada.open("a*", |_| ()).await, Err(Status::OBJECT_NAME_INVALID));
    // Nor do those of a connection that has not negotiated them.
    for service in [service(), service_with(|config| config.posix = false)] {
        let posix = !service.config().posix;
        let mut bob = User::with(&service, &Offer { posix, ..Offer::default() }, ADA, "share").await;
        let opened = open(&mut bob, "Notes", 0o600, |_| ()).await.unwrap();
        assert!(opened.contexts.is_empty());
        assert_eq!(on_disk(&volume(&service, "share"), "Notes").0, 0o644);
        assert!(open(&mut bob, "NOTES", 0, exists).await.is_ok());
    }
}

#[tokio::test]
async fn names_that_differ_in_case_are_different_names() {
    let service = service();
    let mut ada = ada(&service).await;
    let small = open(&mut ada, "xx", 0o644, |_| ()).await.unwrap().file;
    assert_eq!(open(&mut ada, "XX", 0, exists).await, Err(Status::OBJECT_NAME_NOT_FOUND));
    open(&mut ada, "XX", 0o644, |create| create.disposition = Disposition::CREATE).await.unwrap();
    assert_eq!(rename(&mut ada, small, "Xx").await, Status::SUCCESS);
    let names: Vec<_> =
        listed(&mut ada).await.iter().map(|one| String::from_utf16_lossy(&one.name)).collect();
    assert!(names.contains(&"XX".into()) && names.contains(&"Xx".into()) && !names.contains(&"xx".into()));
}

#[tokio::test]
async fn names_have_all_characters_but_separators_and_no_streams() {
    let service = service();
    let (volume, mut ada) = (volume(&service, "share"), ada(&service).await);
    let all =
        ["a ", "a  ", ". ", ".  ", "a.", ".a", ">", "<?", "a:b", ":a", "a:b:$DATA", "q*", "\u{1}", "|\""];
    for name in all {
        let made = open(&mut ada, name, 0o644, |create| create.disposition = Disposition::CREATE).await;
        let file = made.unwrap_or_else(|status| panic!("{name:?}: {status:?}")).file;
        assert_eq!(on_disk(&volume, name).1, Kind::File, "{name:?}");
        assert_eq!(ada.close(file).await, Status::SUCCESS);
    }
    let names: Vec<_> =
        listed(&mut ada).await.iter().map(|one| String::from_utf16_lossy(&one.name)).collect();
    for name in all {
        assert!(names.contains(&name.into()), "{name:?}");
    }
    let file = open(&mut ada, "q*", 0, exists).await.unwrap().file;
    assert_eq!(rename(&mut ada, file, "dir?:").await, Status::SUCCESS);
    assert_eq!(on_disk(&volume, "dir?:").1, Kind::File);
}

#[tokio::test]
async fn a_listing_of_class_100_has_modes_owners_and_tags() {
    let service = service();
    let (volume, mut ada) = (volume(&service, "share"), ada(&service).await);
    open(&mut ada, "file", 0o741, |_| ()).await.unwrap();
    open(&mut ada, "dir", 0o1770, folder).await.unwrap();
    let (root, owner) = (volume.root().unwrap().object, Caller::new(UID, GID, &[]));
    root.create(&owner, b"link", NewKind::Link(b"dir"), 0o777).unwrap();
    root.create(&owner, b"fifo", NewKind::Fifo, 0o620).unwrap();
    let entries = listed(&mut ada).await;
    let of = |name: &str| {
        let is = |entry: &&OwnedEntry| String::from_utf16_lossy(&entry.name) == name;
        let entry = entries.iter().find(is).unwrap();
        (entry.facts, entry.posix.unwrap())
    };
    let (file, dir, link, fifo) = (of("file"), of("dir"), of("link"), of("fifo"));
    assert_eq!((file.1.mode, file.1.links, file.0.reparse_tag), (0o741, 1, 0));
    assert_eq!((file.1.owner, file.1.group), (Unix::User(UID).sid(), Unix::Group(GID).sid()));
    assert_eq!((dir.1.mode, dir.0.attributes), (0o1770, FileAttributes::DIRECTORY));
    // A type has the bits 12 to 14: 2 is a link, 5 a FIFO. Linux would take a link with DIRECTORY for a folder.
    assert_eq!((link.1.mode & 0o70_000, link.0.reparse_tag), (0o20_000, 0xA000_000C));
    assert_eq!(link.0.attributes, FileAttributes::REPARSE_POINT);
    assert_eq!((fifo.1.mode, fifo.0.reparse_tag), (0o50_620, 0x8000_0014));
    assert!(fifo.0.attributes.contains(FileAttributes::REPARSE_POINT));
    // What is above the share is not told.
    let above = of("..");
    assert_eq!((above.0.file_id, above.1.owner, above.1.group), (0, NOBODY, NOBODY));
}

#[tokio::test]
async fn class_100_of_the_file_system_is_what_statfs_says() {
    let mut ada = ada(&service()).await;
    let root = open(&mut ada, "", 0, exists).await.unwrap().file;
    let data = query(&mut ada, root, InfoType::FILE_SYSTEM, 100).await.unwrap();
    assert_eq!(data.len(), 56);
    let told = FsPosix::decode(&mut Reader::new(&data)).unwrap();
    assert_eq!(told.file_system_id, 0x1234_5678);
    assert!(told.block_size >= 512 && told.total_blocks >= told.blocks_available);
}

fn mode_entry(mode: u32) -> Ace {
    let sid: Sid = format!("S-1-5-88-3-{mode}").parse().unwrap();
    Ace::allow(sid, AccessMask::NONE, AceFlags::NONE)
}

async fn set_list(user: &mut User, file: FileKey, aces: Vec<Ace>) -> Status {
    let descriptor = SecurityDescriptor {
        control: Control::SELF_RELATIVE | Control::DACL_PRESENT,
        dacl: Some(Acl::new(aces)),
        ..SecurityDescriptor::default()
    };
    let mut w = Writer::new();
    descriptor.encode(&mut w);
    set(user, file, (InfoType::SECURITY, 0, SecurityInformation::DACL.0), w.as_bytes()).await
}

/// Linux from 6.13 on sends one entry; before, with `modefromsid`, also one that gives signed-in users everything.
#[tokio::test]
async fn an_entry_with_a_mode_is_a_chmod_and_nothing_else_of_its_list_counts() {
    let service = service();
    let (volume, mut ada) = (volume(&service, "share"), ada(&service).await);
    let changes = |create: &mut create::Request<'_>| create.desired_access |= AccessMask::WRITE_DAC.0;
    let file = open(&mut ada, "notes", 0o644, changes).await.unwrap().file;
    assert_eq!(set_list(&mut ada, file, vec![mode_entry(0o4750)]).await, Status::SUCCESS);
    assert_eq!(on_disk(&volume, "notes").0, 0o4750);
    let all = Ace::allow(well_known::AUTHENTICATED_USERS, AccessMask::FILE_ALL, AceFlags::NONE);
    assert_eq!(set_list(&mut ada, file, vec![mode_entry(0o600), all]).await, Status::SUCCESS);
    assert_eq!(on_disk(&volume, "notes").0, 0o600);
    let found = volume.root().unwrap().object.lookup(&Caller::root(), b"notes").unwrap();
    assert!(!volume.acl(&found).unwrap().stored);
}

#[tokio::test]
async fn a_link_is_told_with_slashes_and_as_it_is() {
    let service = service();
    let (volume, mut ada) = (volume(&service, "share"), ada(&service).await);
    let (root, owner) = (volume.root().unwrap().object, Caller::new(UID, GID, &[]));
    root.create(&owner, b"link", NewKind::Link(b"../a:b/c"), 0o777).unwrap();
    assert_eq!(open(&mut ada, "link", 0, looks).await, Err(Status::STOPPED_ON_SYMLINK));
    let file = open(&mut ada, "link", 0, looks_at_itself).await.unwrap().file;
    let (status, output) = control(&mut ada, Code::GET_REPARSE_POINT, file, None).await;
    let name: Vec<u16> = "../a:b/c".encode_utf16().collect();
    let expected =
        Reparse::Symlink { substitute_name: name.clone(), print_name: name, flags: SymlinkFlags::RELATIVE };
    assert_eq!((status, Reparse::decode(&mut Reader::new(&output))), (Status::SUCCESS, Ok(expected)));
}

/// MS-FSA 2.1.5.1.2: a reparse point that the server does not follow.
#[tokio::test]
async fn special_files_are_reparse_points_that_are_opened_only_as_such() {
    let service = service();
    let (volume, mut ada) = (volume(&service, "share"), ada(&service).await);
    let (root, owner) = (volume.root().unwrap().object, Caller::new(UID, GID, &[]));
    root.create(&owner, b"fifo", NewKind::Fifo, 0o620).unwrap();
    assert_eq!(open(&mut ada, "fifo", 0, looks).await, Err(Status::IO_REPARSE_TAG_NOT_HANDLED));
    let opened = open(&mut ada, "fifo", 0, looks_at_itself).await.unwrap();
    let told = Answer::decode(&opened.contexts[0]).unwrap();
    assert!(matches!(told, Answer::Posix { reparse_tag: 0x8000_0014, mode: 0o50_620, .. }), "{told:?}");
    let (status, output) = control(&mut ada, Code::GET_REPARSE_POINT, opened.file, None).await;
    assert_eq!(status, Status::SUCCESS);
    assert_eq!(Reparse::decode(&mut Reader::new(&output)), Ok(Reparse::Nfs(Nfs::Fifo)));
}

/// Linux makes special files, and links, by an empty file that it sets a reparse point on, and asks for class 100 in the same chain.
#[tokio::test]
async fn a_reparse_point_that_is_set_makes_the_special_file() {
    let service = service();
    let (volume, mut ada) = (volume(&service, "share"), ada(&service).await);
    let name: Vec<u16> = "to/q?".encode_utf16().collect();
    let link =
        Reparse::Symlink { substitute_name: name.clone(), print_name: name, flags: SymlinkFlags::RELATIVE };
    let wsl = |tag| Reparse::Other { tag, data: Vec::new() };
    for (name, point, kind) in [
        ("fifo", Reparse::Nfs(Nfs::Fifo), Kind::Fifo),
        ("socket", Reparse::Nfs(Nfs::Socket), Kind::Socket),
        ("wsl fifo", wsl(Tag::LX_FIFO), Kind::Fifo),
        ("wsl socket", wsl(Tag::AF_UNIX), Kind::Socket),
        ("link", link, Kind::Link),
    ] {
        let makes = |create: &mut create::Request<'_>| {
            create.disposition = Disposition::CREATE;
            create.options |= Options::OPEN_REPARSE_POINT;
            let asked = AccessMask::DELETE | AccessMask::READ_ATTRIBUTES | AccessMask::WRITE_ATTRIBUTES;
            create.desired_access = asked.0;
        };
        let made = open(&mut ada, name, 0o640, makes).await.unwrap().file;
        let (status, _) = control(&mut ada, Code::SET_REPARSE_POINT, made, Some(&point)).await;
        assert_eq!((status, on_disk(&volume, name).1), (Status::SUCCESS, kind), "{name}");
        let told = info(&mut ada, made).await;
        let found = volume.root().unwrap().object.lookup(&Caller::root(), name.as_bytes()).unwrap();
        assert_eq!(told.facts.file_id, volume.number(found.attributes.id), "{name}");
        assert!(told.facts.attributes.contains(FileAttributes::REPARSE_POINT));
        ada.close(made).await;
        assert_eq!(on_disk(&volume, name).1, kind);
    }
    assert_eq!(on_disk(&volume, "fifo").0, 0o640);
    let link = volume.root().unwrap().object.lookup(&Caller::root(), b"link").unwrap();
    assert_eq!(link.object.read_link().unwrap(), b"to/q?");
}

#[tokio::test]
async fn attributes_of_dos_do_not_protect_a_file() {
    let mut ada = ada(&service()).await;
    let file = open(&mut ada, "notes", 0o444, |_| ()).await.unwrap().file;
    ada.close(file).await;
    let goes = |create: &mut create::Request<'_>| {
        create.disposition = Disposition::OPEN;
        create.desired_access = AccessMask::DELETE.0;
        create.options |= Options::DELETE_ON_CLOSE;
    };
    let file = open(&mut ada, "notes", 0, goes).await.unwrap().file;
    assert_eq!(ada.close(file).await, Status::SUCCESS);
    assert_eq!(open(&mut ada, "notes", 0, looks).await, Err(Status::OBJECT_NAME_NOT_FOUND));
}

/// Samba's test_delete_on_close: an open with the extensions loses its file's name, and takes it, at once.
#[tokio::test]
async fn a_removal_takes_the_name_although_others_have_the_file_open() {
    let service = service();
    let (volume, mut ada) = (volume(&service, "share"), ada(&service).await);
    let reader = open(&mut ada, "notes", 0o644, |_| ()).await.unwrap().file;
    assert_eq!(ada.write(reader, 0, b"kept").await, Status::SUCCESS);
    let goes = |create: &mut create::Request<'_>| {
        create.disposition = Disposition::OPEN;
        create.desired_access = AccessMask::DELETE.0;
        create.options |= Options::DELETE_ON_CLOSE;
    };
    let file = open(&mut ada, "notes", 0, goes).await.unwrap().file;
    assert_eq!(ada.close(file).await, Status::SUCCESS);
    assert_eq!(open(&mut ada, "notes", 0, looks).await, Err(Status::OBJECT_NAME_NOT_FOUND));
    let other = ada.make("notes", b"another").await;
    assert_eq!(ada.read(reader, 0, 9).await, Ok(b"kept".to_vec()));
    assert_eq!(ada.close(reader).await, Status::SUCCESS);
    assert_eq!(ada.read(other, 0, 9).await, Ok(b"another".to_vec()));
    assert_eq!(on_disk(&volume, "notes").1, Kind::File);
}

/// rename(2): ENOTEMPTY, ENOTDIR, EISDIR.
#[tokio::test]
async fn a_rename_says_why_it_fails() {
    let mut ada = ada(&service()).await;
    let mut made = Vec::new();
    for name in ["full", "full/in", "moved"] {
        made.push(open(&mut ada, name, 0o755, folder).await.unwrap().file);
    }
    let file = open(&mut ada, "file", 0o644, |_| ()).await.unwrap().file;
    assert_eq!(rename(&mut ada, made[2], "full").await, Status::DIRECTORY_NOT_EMPTY);
    assert_eq!(rename(&mut ada, made[2], "file").await, Status::NOT_A_DIRECTORY);
    assert_eq!(rename(&mut ada, file, "full").await, Status::FILE_IS_A_DIRECTORY);
}
