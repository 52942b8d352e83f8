//! SET_INFO, and its effect on QUERY_INFO.

use wire::{Reader, Writer};

use crate::client::Offer;
use crate::server::testing::{BOB, User, service};
use crate::wire::create::{Disposition, Options, ShareAccess};
use crate::wire::fscc::file_info::{self as info, Basic};
use crate::wire::fscc::file_name::Target;
use crate::wire::fscc::{FileAttributes, FileClass, ea};
use crate::wire::security::well_known::{self, Unix};
use crate::wire::security::{
    AccessMask, Ace, AceFlags, Acl, Control, SecurityDescriptor, SecurityInformation as Parts,
};
use crate::wire::time::NtTime;
use crate::wire::values::InfoType;
use crate::wire::{Command, FileKey, Status, error, query_info, set_info};

mod replacing;

const DAY: u64 = 24 * 3600 * 10_000_000;
/// 2020-01-01 00:00 UTC, MS-DTYP 2.3.3.
const THEN: NtTime = NtTime(132_223_104_000_000_000);

fn encoded(encode: impl FnOnce(&mut Writer)) -> Vec<u8> {
    let mut w = Writer::new();
    encode(&mut w);
    w.into_bytes()
}

async fn set_any(
    user: &mut User,
    file: FileKey,
    kind: InfoType,
    class: u8,
    more: u32,
    data: &[u8],
) -> Status {
    let request = set_info::Request {
        info_type: kind,
        information_class: class,
        additional_information: more,
        file,
        data,
    };
    user.call(Command::SET_INFO, |w| request.encode(w)).await.status()
}

async fn set(user: &mut User, file: FileKey, class: FileClass, data: &[u8]) -> Status {
    set_any(user, file, InfoType::FILE, class.0, 0, data).await
}

async fn set_basic(user: &mut User, file: FileKey, basic: Basic) -> Status {
    set(user, file, FileClass::BASIC, &encoded(|w| basic.encode(w))).await
}

async fn move_to(user: &mut User, file: FileKey, name: &str, replace_if_exists: bool) -> Status {
    let target = Target { replace_if_exists, root_directory: 0, name: name.encode_utf16().collect() };
    set(user, file, FileClass::RENAME, &encoded(|w| target.encode(w))).await
}

async fn ask(user: &mut User, request: query_info::Request<'_>) -> (Status, Vec<u8>) {
    let answer = user.call(Command::QUERY_INFO, |w| request.encode(w)).await;
    let data = match answer.status() {
        Status::SUCCESS | Status::BUFFER_OVERFLOW => {
            query_info::Response::decode(&answer.message).unwrap().data
        }
        _ => answer.message[64..].to_vec(),
    };
    (answer.status(), data)
}

fn about(file: FileKey, info_type: InfoType, class: u8) -> query_info::Request<'static> {
    query_info::Request {
        info_type,
        information_class: class,
        output_buffer_length: 4096,
        additional_information: 0,
        flags: query_info::Flags::NONE,
        file,
        input: &[],
    }
}

async fn basic(user: &mut User, file: FileKey) -> Basic {
    let (status, data) = ask(user, about(file, InfoType::FILE, FileClass::BASIC.0)).await;
    assert_eq!(status, Status::SUCCESS);
    Basic::decode(&mut Reader::new(&data)).unwrap()
}

async fn standard(user: &mut User, file: FileKey) -> info::Standard {
    let (_, data) = ask(user, about(file, InfoType::FILE, FileClass::STANDARD.0)).await;
    info::Standard::decode(&mut Reader::new(&data)).unwrap()
}

async fn folder(user: &mut User, name: &str) -> FileKey {
    user.open(name, |create| create.options = Options::DIRECTORY_FILE).await.unwrap().file
}

/// MS-FSCC 2.4.7.
#[tokio::test]
async fn times_and_attributes_of_zero_stay() {
    let mut ada = User::new(&service()).await;
    let file = ada.make("notes", b"abc").await;
    let given = Basic {
        creation_time: THEN,
        last_access_time: NtTime(THEN.0 + DAY),
        last_write_time: NtTime(THEN.0 + 2 * DAY),
        change_time: NtTime(THEN.0 + 3 * DAY),
        attributes: FileAttributes::HIDDEN,
    };
    assert_eq!(set_basic(&mut ada, file, given).await, Status::SUCCESS);
    assert_eq!(basic(&mut ada, file).await, given);
    assert_eq!(set_basic(&mut ada, file, Basic::default()).await, Status::SUCCESS);
    assert_eq!(basic(&mut ada, file).await, given);
    let plain = Basic { attributes: FileAttributes::NORMAL, ..Basic::default() };
    assert_eq!(set_basic(&mut ada, file, plain).await, Status::SUCCESS);
    assert_eq!(basic(&mut ada, file).await, Basic { attributes: FileAttributes::NORMAL, ..given });
}

/// MS-FSA 2.1.5.15.2.
#[tokio::test]
async fn a_file_does_not_become_a_folder_nor_a_folder_temporary() {
    let mut ada = User::new(&service()).await;
    let (file, folder) = (ada.make("file", b"").await, folder(&mut ada, "folder").await);
    let with = |attributes| Basic { attributes, ..Basic::default() };
    let wrong = Status::INVALID_PARAMETER;
    assert_eq!(set_basic(&mut ada, file, with(FileAttributes::DIRECTORY)).await, wrong);
    assert_eq!(set_basic(&mut ada, folder, with(FileAttributes::TEMPORARY)).await, wrong);
    let time = Basic { last_write_time: NtTime(u64::MAX - 2), ..Basic::default() };
    assert_eq!(set_basic(&mut ada, file, time).await, wrong);
    assert_eq!(set(&mut ada, file, FileClass::BASIC, &[0; 39]).await, Status::INFO_LENGTH_MISMATCH);
}

/// MS-FSCC 2.4.7: -1 stops, -2 goes on; MS-FSA 2.1.5.15.2: a time that was set stops, too.
#[tokio::test]
async fn a_time_of_change_that_was_set_stays_for_this_open_and_no_other() {
    let mut ada = User::new(&service()).await;
    let (file, other) = (ada.make("notes", b"abc").await, ada.make("notes", b"").await);
    let at = |last_write_time| Basic { last_write_time, ..Basic::default() };
    assert_eq!(set_basic(&mut ada, file, at(THEN)).await, Status::SUCCESS);
    ada.write(file, 0, b"mine").await;
    assert_eq!(basic(&mut ada, other).await.last_write_time, THEN);
    ada.write(other, 0, b"yours").await;
    let since = basic(&mut ada, file).await.last_write_time;
    assert!(since > THEN);
    ada.write(file, 0, b"mine").await;
    assert_eq!(basic(&mut ada, file).await.last_write_time, since);
    assert_eq!(set_basic(&mut ada, file, at(NtTime::THAWED)).await, Status::SUCCESS);
    ada.write(file, 0, b"mine").await;
    assert!(basic(&mut ada, file).await.last_write_time > since);
}

/// MS-FSA 2.1.5.15.1 and 2.1.5.15.4.
#[tokio::test]
async fn an_allocation_that_is_smaller_cuts_the_file_and_a_folder_has_no_end() {
    let mut ada = User::new(&service()).await;
    let (file, folder) = (ada.make("file", b"abcdef").await, folder(&mut ada, "folder").await);
    let bytes = 3u64.to_le_bytes();
    assert_eq!(set(&mut ada, file, FileClass::ALLOCATION, &bytes).await, Status::SUCCESS);
    assert_eq!(standard(&mut ada, file).await.end_of_file, 3);
    assert_eq!(set(&mut ada, file, FileClass::END_OF_FILE, &9u64.to_le_bytes()).await, Status::SUCCESS);
    assert_eq!(standard(&mut ada, file).await.end_of_file, 9);
    for class in [FileClass::END_OF_FILE, FileClass::ALLOCATION] {
        assert_eq!(set(&mut ada, folder, class, &bytes).await, Status::INVALID_PARAMETER);
    }
    let reads = |create: &mut crate::wire::create::Request<'_>| create.desired_access = 1;
    let reader = ada.open("file", reads).await.unwrap().file;
    assert_eq!(set(&mut ada, reader, FileClass::END_OF_FILE, &bytes).await, Status::ACCESS_DENIED);
}

/// MS-FSA 2.1.5.15.3.
#[tokio::test]
async fn what_is_read_only_or_not_empty_is_not_removed() {
    let mut ada = User::new(&service()).await;
    let (file, folder) = (ada.make("file", b"").await, folder(&mut ada, "folder").await);
    let inside = ada.make("folder\\file", b"").await;
    ada.close(inside).await;
    let read_only = Basic { attributes: FileAttributes::READONLY, ..Basic::default() };
    assert_eq!(set_basic(&mut ada, file, read_only).await, Status::SUCCESS);
    assert_eq!(set(&mut ada, file, FileClass::DISPOSITION, &[1]).await, Status::CANNOT_DELETE);
    assert_eq!(set(&mut ada, folder, FileClass::DISPOSITION, &[1]).await, Status::DIRECTORY_NOT_EMPTY);
    // FILE_DISPOSITION_DELETE | FILE_DISPOSITION_IGNORE_READONLY_ATTRIBUTE
    assert_eq!(set(&mut ada, file, FileClass::DISPOSITION_EX, &[0x11, 0, 0, 0]).await, Status::SUCCESS);
    let pending = standard(&mut ada, file).await;
    assert_eq!((pending.delete_pending, pending.number_of_links), (true, 0));
    ada.close(file).await;
    let opens = |create: &mut crate::wire::create::Request<'_>| create.disposition = Disposition::OPEN;
    assert_eq!(ada.open("file", opens).await.err(), Some(Status::OBJECT_NAME_NOT_FOUND));
}

/// Inside Macintosh: Files, "Locked": neither contents nor name change, and it stays.
#[tokio::test]
async fn what_a_mac_has_locked_is_neither_written_nor_moved_nor_removed() {
    let service = service();
    let mut ada = User::new(&service).await;
    let file = ada.make("file", b"abc").await;
    let tree = crate::server::testing::volume(&service, "share");
    let root = tree.root().unwrap();
    let found = tree.lookup(&vfs::Caller::root(), &root.object, b"file").unwrap();
    let actor =
        vfs::Actor::new(vfs::Caller::root(), vfs::state::Party::client(vfs::state::ClientId::unused()));
    let place = Some(vfs::Beside { folder: &root.object, name: b"file" });
    tree.change_metadata(&actor, &found, place, |metadata| metadata.set_locked(true)).unwrap();
    assert_eq!(move_to(&mut ada, file, "moved", false).await, Status::ACCESS_DENIED);
    // FILE_DISPOSITION_IGNORE_READONLY_ATTRIBUTE does not help either.
    assert_eq!(set(&mut ada, file, FileClass::DISPOSITION_EX, &[0x11, 0, 0, 0]).await, Status::ACCESS_DENIED);
    assert_eq!(set(&mut ada, file, FileClass::DISPOSITION, &[1]).await, Status::CANNOT_DELETE);
    ada.close(file).await;
    let opens = |create: &mut crate::wire::create::Request<'_>| create.disposition = Disposition::OPEN;
    assert_eq!(ada.open("file", opens).await.err(), Some(Status::ACCESS_DENIED), "to write");
    // A server that knows no DOS attributes leaves the Mac's alone.
    let alone = |metadata: &mut vfs::mac::Metadata| metadata.dos = vfs::mac::DosAttributes::ARCHIVE;
    tree.change_metadata(&actor, &found, place, alone).unwrap();
    assert_eq!(ada.open("file", opens).await.err(), Some(Status::ACCESS_DENIED), "to write");
}

/// MS-FSA 2.1.5.15.11.
#[tokio::test]
async fn a_move_replaces_only_what_may_be_replaced() {
    let mut ada = User::new(&service()).await;
    let file = ada.make("from", b"new").await;
    let denies = |create: &mut crate::wire::create::Request<'_>| create.share_access = ShareAccess::READ;
    let there = ada.open("there", denies).await.unwrap().file;
    let folder = folder(&mut ada, "folder").await;
    ada.close(folder).await; // an open that may remove the folder would be in the way
    assert_eq!(move_to(&mut ada, file, "there", false).await, Status::OBJECT_NAME_COLLISION);
    assert_eq!(move_to(&mut ada, file, "folder", true).await, Status::ACCESS_DENIED);
    assert_eq!(move_to(&mut ada, file, "there", true).await, Status::ACCESS_DENIED, "the open denies it");
    let read_only = Basic { attributes: FileAttributes::READONLY, ..Basic::default() };
    assert_eq!(set_basic(&mut ada, there, read_only).await, Status::SUCCESS);
    ada.close(there).await;
    assert_eq!(move_to(&mut ada, file, "there", true).await, Status::ACCESS_DENIED, "it is read-only");
    assert_eq!(move_to(&mut ada, file, "no\\there", true).await, Status::OBJECT_PATH_NOT_FOUND);
    assert_eq!(move_to(&mut ada, file, "a*", true).await, Status::OBJECT_NAME_INVALID);
    assert_eq!(move_to(&mut ada, file, "FROM", false).await, Status::SUCCESS);
    assert_eq!(move_to(&mut ada, file, "folder\\moved", false).await, Status::SUCCESS);
    let (_, name) = ask(&mut ada, about(file, InfoType::FILE, FileClass::NORMALIZED_NAME.0)).await;
    let expected: Vec<u8> = "folder\\moved".encode_utf16().flat_map(u16::to_le_bytes).collect();
    assert_eq!(name[4..], expected);
}

/// MS-FSA 2.1.5.15.6.
#[tokio::test]
async fn another_name_is_given_to_files_and_by_who_may_change_them() {
    let service = service();
    let mut ada = User::new(&service).await;
    let mut bob = User::with(&service, &Offer::default(), BOB, "share").await;
    let (file, folder) = (ada.make("file", b"abc").await, folder(&mut ada, "folder").await);
    let link = |name: &str| {
        let name = name.encode_utf16().collect();
        encoded(|w| Target { replace_if_exists: false, root_directory: 0, name }.encode(w))
    };
    assert_eq!(set(&mut ada, folder, FileClass::LINK, &link("x")).await, Status::FILE_IS_A_DIRECTORY);
    assert_eq!(set(&mut ada, file, FileClass::LINK, &link("folder")).await, Status::OBJECT_NAME_COLLISION);
    let reads = |create: &mut crate::wire::create::Request<'_>| {
        create.desired_access = AccessMask::READ_ATTRIBUTES.0;
        create.disposition = Disposition::OPEN;
    };
    let seen = bob.open("file", reads).await.unwrap().file;
    assert_eq!(set(&mut bob, seen, FileClass::LINK, &link("his")).await, Status::ACCESS_DENIED);
    assert_eq!(set(&mut ada, file, FileClass::LINK, &link("\\other")).await, Status::SUCCESS);
    assert_eq!(standard(&mut ada, file).await.number_of_links, 2);
}

/// MS-FSA 2.1.5.15.11: STATUS_ACCESS_DENIED when a child is open.
#[tokio::test]
async fn a_folder_stays_while_something_in_it_is_open() {
    let mut ada = User::new(&service()).await;
    let folder = folder(&mut ada, "folder").await;
    let inside = ada.make("folder\\file", b"").await;
    assert_eq!(move_to(&mut ada, folder, "moved", false).await, Status::ACCESS_DENIED);
    ada.close(inside).await;
    assert_eq!(move_to(&mut ada, folder, "moved", false).await, Status::SUCCESS);
}

/// MS-FSCC 2.4.16: an empty value removes. The Linux client compares names with case, so they come back as they were set;
/// Windows compares without.
#[tokio::test]
async fn extended_attributes_keep_the_case_of_their_names_and_are_found_without_it() {
    let mut ada = User::new(&service()).await;
    let file = ada.make("notes", b"abc").await;
    let full = |name: &str, value: &str| ea::FullEa {
        name: name.into(),
        value: value.into(),
        ..ea::FullEa::default()
    };
    let list = |eas: &[ea::FullEa]| encoded(|w| ea::encode(eas, w));
    let query = query_info::Request {
        flags: query_info::Flags::RESTART_SCAN,
        ..about(file, InfoType::FILE, FileClass::FULL_EA.0)
    };
    assert_eq!(ask(&mut ada, query).await.0, Status::NO_EAS_ON_FILE);
    let two = list(&[full("Author", "ada"), full("Year", "1843")]);
    assert_eq!(set(&mut ada, file, FileClass::FULL_EA, &two).await, Status::SUCCESS);
    assert_eq!(ask(&mut ada, query).await, (Status::SUCCESS, two));
    let narrow = query_info::Request { output_buffer_length: 20, ..query };
    assert_eq!(ask(&mut ada, narrow).await, (Status::BUFFER_OVERFLOW, list(&[full("Author", "ada")])));
    let onward = query_info::Request { flags: query_info::Flags::NONE, ..query };
    assert_eq!(ask(&mut ada, onward).await, (Status::SUCCESS, list(&[full("Year", "1843")])));
    assert_eq!(ask(&mut ada, onward).await.0, Status::NO_MORE_EAS);
    // FileGetEaInformation, MS-FSCC 2.4.16.1: a length, the name and its NUL.
    let by_name = query_info::Request { input: b"\0\0\0\0\x04YEAR\0", ..query };
    assert_eq!(ask(&mut ada, by_name).await, (Status::SUCCESS, list(&[full("Year", "1843")])));
    let again = list(&[full("YEAR", "1852")]);
    assert_eq!(set(&mut ada, file, FileClass::FULL_EA, &again).await, Status::SUCCESS);
    assert_eq!(set(&mut ada, file, FileClass::FULL_EA, &list(&[full("author", "")])).await, Status::SUCCESS);
    assert_eq!(ask(&mut ada, query).await, (Status::SUCCESS, list(&[full("Year", "1852")])));
}

const ALL: Parts = Parts(Parts::OWNER.0 | Parts::GROUP.0 | Parts::DACL.0);

async fn rights(user: &mut User, file: FileKey, parts: Parts, room: u32) -> (Status, Vec<u8>) {
    let request = query_info::Request {
        additional_information: parts.0,
        output_buffer_length: room,
        ..about(file, InfoType::SECURITY, 0)
    };
    ask(user, request).await
}

/// A file opened for everything.
async fn owned(user: &mut User, name: &str) -> FileKey {
    user.open(name, |create| create.desired_access = AccessMask::FILE_ALL.0).await.unwrap().file
}

/// MS-SMB2 3.3.5.20.3.
#[tokio::test]
async fn a_list_that_was_set_comes_back_and_tells_how_much_room_it_needs() {
    let mut ada = User::new(&service()).await;
    let file = owned(&mut ada, "notes").await;
    let group = "S-1-5-21-1-2-3-513".parse().unwrap();
    let aces = vec![
        Ace::deny(Unix::User(1001).sid(), AccessMask::WRITE_DATA, AceFlags::NONE),
        Ace::allow(well_known::EVERYONE, AccessMask::FILE_ALL, AceFlags::NONE),
    ];
    let descriptor = SecurityDescriptor {
        control: Control::SELF_RELATIVE | Control::DACL_PRESENT | Control::DACL_PROTECTED,
        owner: Some(Unix::User(1000).sid()),
        group: Some(group),
        sacl: None,
        dacl: Some(Acl::new(aces)),
    };
    let bytes = encoded(|w| descriptor.encode(w));
    let security = |parts: Parts| (InfoType::SECURITY, 0, parts.0);
    let (kind, class, parts) = security(ALL);
    assert_eq!(set_any(&mut ada, file, kind, class, parts, &bytes).await, Status::SUCCESS);
    let (status, data) = rights(&mut ada, file, ALL, 4096).await;
    assert_eq!((status, SecurityDescriptor::decode(&data)), (Status::SUCCESS, Ok(descriptor)));
    let (status, body) = rights(&mut ada, file, ALL, 10).await;
    let needs = encoded(|w| error::Response::required_length(bytes.len() as u32, true).encode(w));
    assert_eq!((status, body), (Status::BUFFER_TOO_SMALL, needs));
    let audit = security(Parts::SACL);
    assert_eq!(set_any(&mut ada, file, audit.0, audit.1, audit.2, &bytes).await, Status::PRIVILEGE_NOT_HELD);
}

/// MS-FSA 2.1.5.1.2.1: a list decides which rights a user has. MS-DTYP 2.5.3.2: the owner's rights.
#[tokio::test]
async fn a_list_counts_for_whoever_opens_the_file() {
    let service = service();
    let mut ada = User::new(&service).await;
    let mut bob = User::with(&service, &Offer::default(), BOB, "share").await;
    let file = owned(&mut ada, "notes").await;
    let aces = vec![Ace::allow(Unix::User(1001).sid(), AccessMask::READ_DATA, AceFlags::NONE)];
    let control = Control::SELF_RELATIVE | Control::DACL_PRESENT;
    let list = SecurityDescriptor { control, dacl: Some(Acl::new(aces)), ..Default::default() };
    let bytes = encoded(|w| list.encode(w));
    assert_eq!(set_any(&mut ada, file, InfoType::SECURITY, 0, Parts::DACL.0, &bytes).await, Status::SUCCESS);
    for (access, verdict) in [
        (AccessMask::READ_DATA, None),
        (AccessMask::WRITE_DATA, Some(Status::ACCESS_DENIED)),
        (AccessMask::WRITE_DAC, Some(Status::ACCESS_DENIED)),
    ] {
        let opened = bob.open("notes", |create| {
            create.desired_access = access.0;
            create.disposition = Disposition::OPEN;
        });
        assert_eq!(opened.await.err(), verdict, "{access:?}");
    }
    let owns = |create: &mut crate::wire::create::Request<'_>| {
        create.desired_access = AccessMask::WRITE_DAC.0;
        create.disposition = Disposition::OPEN;
    };
    assert!(ada.open("notes", owns).await.is_ok());
}

/// MS-SMB2 3.3.5.21: values that cannot be set on a file.
#[tokio::test]
async fn file_systems_and_quotas_are_not_for_clients_to_set() {
    let mut ada = User::new(&service()).await;
    let file = ada.make("notes", b"").await;
    for (kind, class, status) in [
        (InfoType::FILE_SYSTEM, 2, Status::ACCESS_DENIED),
        (InfoType::QUOTA, 0, Status::NOT_SUPPORTED),
        (InfoType::FILE, FileClass::VALID_DATA_LENGTH.0, Status::PRIVILEGE_NOT_HELD),
        (InfoType::FILE, FileClass::STANDARD.0, Status::INVALID_INFO_CLASS),
        (InfoType(9), 0, Status::INVALID_PARAMETER),
    ] {
        assert_eq!(set_any(&mut ada, file, kind, class, 0, &[0; 40]).await, status);
    }
}
