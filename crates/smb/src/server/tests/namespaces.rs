//! Links that lead clients to other servers, MS-DFSC.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use ::namespace::{Link, Site, Table, Target, TargetOrder};
use vfs::Caller;
use vfs::backend::memory::Memory;
use vfs::backend::{Backend, NewKind};
use wire::{Reader, Writer};

use crate::client::Request;
use crate::server::testing::{User, open_request, service_with, share, share_of, volume};
use crate::server::{Service, ShareOptions};
use crate::wire::fsctl::{Code, dfs};
use crate::wire::header::Flags;
use crate::wire::{Command, FileKey, Status, create, ioctl, query_directory, text, tree_connect};

/// `studio` with the folder `docs`, `docs/archive` on two other servers, a link that has no target and an ordinary link; and
/// `plain`, which is no namespace.
fn namespace() -> Arc<Service> {
    let (memory, root) = (Memory::ticking(), Caller::root());
    let top = memory.root().unwrap().object;
    let docs = top.create(&root, b"docs", NewKind::Folder, 0o777).unwrap().object;
    let targets = NewKind::Link(br"msdfs:filer2\archive\old, \filer3/archive,nonsense");
    docs.create(&root, b"Archive", targets, 0o777).unwrap();
    docs.create(&root, b"broken", NewKind::Link(b"msdfs:"), 0o777).unwrap();
    top.create(&root, b"link", NewKind::Link(b"docs"), 0o777).unwrap();
    let studio = share_of("studio", Arc::new(memory), ShareOptions { dfs: true, ..ShareOptions::default() });
    service_with(|config| config.shares.extend([studio.clone(), share("plain", ShareOptions::default())]))
}

async fn ada(service: &Arc<Service>, share: &str) -> User {
    let mut ada = User::new(service).await;
    ada.tree = ada.enter(share).await.unwrap();
    ada
}

/// CREATE of a path of a namespace.
async fn open(ada: &mut User, path: &str) -> Status {
    let request = open_request(path);
    let mut request: Request = ada.request(Command::CREATE, |w| request.encode(w));
    request.header.flags |= Flags::DFS;
    ada.call_chain(vec![request]).await[0].status()
}

async fn refer(ada: &mut User, path: &str, level: u16, room: u32) -> (Status, Vec<u8>) {
    let request = ioctl::Request {
        control_code: Code::DFS_GET_REFERRALS,
        file: FileKey::ALL_ONES,
        input: 0..0,
        max_input_response: 0,
        max_output_response: room,
        flags: ioctl::Request::IS_FSCTL,
    };
    let mut w = Writer::new();
    dfs::Request { max_referral_level: level, path: text::of(path) }.encode(&mut w);
    let answer = ada.call(Command::IOCTL, |out| request.encode(w.as_bytes(), out)).await;
    let output = ioctl::Response::decode(&answer.message).map(|response| response.output).unwrap_or_default();
    (answer.status(), output)
}

/// The string at an offset, up to its NUL.
fn string(bytes: &[u8], at: usize) -> String {
    let units = bytes[at..].chunks_exact(2).map(|two| u16::from_le_bytes([two[0], two[1]]));
    String::from_utf16(&units.take_while(|unit| *unit != 0).collect::<Vec<_>>()).unwrap()
}

fn u16_at(bytes: &[u8], at: usize) -> usize {
    u16::from_le_bytes([bytes[at], bytes[at + 1]]).into()
}

// MS-DFSC 2.2.4 and 2.2.5.4: the head has 8 bytes, an entry of version 4 has 34; offsets count from its own beginning.
#[tokio::test]
async fn the_targets_of_a_link_and_the_part_of_the_path_that_they_stand_for() {
    let mut ada = ada(&namespace(), "IPC$").await;
    let (status, bytes) = refer(&mut ada, r"\server\STUDIO\docs\archive\1999\a", 4, 4096).await;
    assert_eq!(status, Status::SUCCESS);
    let consumed = r"\server\STUDIO\docs\archive";
    assert_eq!((u16_at(&bytes, 0), u16_at(&bytes, 2)), (consumed.len() * 2, 2));
    assert_eq!(bytes[4..8], [6, 0, 0, 0]); // StorageServers, TargetFailback
    for (number, target) in [r"\filer2\archive\old", r"\filer3\archive"].into_iter().enumerate() {
        let entry = &bytes[8 + number * 34..];
        assert_eq!((u16_at(entry, 0), u16_at(entry, 2), u16_at(entry, 4)), (4, 34, 0));
        assert_eq!(u16_at(entry, 6), 4); // TargetSetBoundary: each is less preferred than the one before it
        assert_eq!(entry[8..12], 300_u32.to_le_bytes());
        assert_eq!(string(entry, u16_at(entry, 12)), consumed);
        assert_eq!(string(entry, u16_at(entry, 14)), consumed);
        assert_eq!(string(entry, u16_at(entry, 16)), target);
        assert_eq!(entry[18..34], [0; 16]);
    }
    // 2.2.5.1: the string of version 1 is a part of the entry.
    let (_, bytes) = refer(&mut ada, r"\server\studio\docs\Archive", 1, 4096).await;
    let entry = &bytes[8..];
    let target = r"\filer2\archive\old";
    assert_eq!((u16_at(entry, 0), u16_at(entry, 2)), (1, 8 + target.len() * 2 + 2));
    assert_eq!(string(entry, 8), target);
    // 2.2.5.2: 22 bytes.
    let (_, bytes) = refer(&mut ada, r"\server\studio\docs\Archive", 2, 4096).await;
    let entry = &bytes[8..];
    assert_eq!((u16_at(entry, 0), u16_at(entry, 2)), (2, 22));
    assert_eq!(string(entry, u16_at(entry, 20)), target);
}

/// The table's link `docs/Archive`: `filer2` is at the site `berlin`.
fn table(order: TargetOrder) -> Table {
    let urls = ["smb://filer2/archive/old", "smb://filer3/archive"];
    let link = Link {
        path: "studio/docs/Archive".into(),
        targets: urls.iter().map(|url| Target::of_url(url).unwrap()).collect(),
        comment: String::new(),
        ttl: Duration::from_secs(60),
        order,
        failback: false,
        checked: true,
        credentials: None,
    };
    let berlin = Site { name: "Berlin".into(), networks: Vec::new(), servers: vec!["filer3".into()] };
    Table { links: vec![link], sites: vec![berlin] }
}

async fn refer_ex(ada: &mut User, path: &str, site: &str) -> Vec<u8> {
    let request = ioctl::Request {
        control_code: Code::DFS_GET_REFERRALS_EX,
        file: FileKey::ALL_ONES,
        input: 0..0,
        max_input_response: 0,
        max_output_response: 4096,
        flags: ioctl::Request::IS_FSCTL,
    };
    let mut w = Writer::new();
    dfs::RequestEx { max_referral_level: 4, path: text::of(path), site: Some(text::of(site)) }.encode(&mut w);
    let answer = ada.call(Command::IOCTL, |out| request.encode(w.as_bytes(), out)).await;
    ioctl::Response::decode(&answer.message).unwrap().output
}

/// The targets of a referral of version 4, each with its TargetSetBoundary.
fn entries(bytes: &[u8]) -> Vec<(String, bool)> {
    let entry = |number: usize| {
        let entry = &bytes[8 + number * 34..];
        (string(entry, u16_at(entry, 16)), u16_at(entry, 6) == 4)
    };
    (0..u16_at(bytes, 2)).map(entry).collect()
}

// MS-DFSC 2.2.4, 2.2.5.4 and 3.2.5.5: the order of targets, their sets, the time to live; failover to what is up.
#[tokio::test]
async fn the_table_orders_targets_by_site_and_leaves_out_those_that_are_down() {
    let service = namespace();
    let links = service.config().namespace.clone();
    let mut ada = ada(&service, "IPC$").await;
    let (path, [old, archive]) =
        (r"\server\studio\docs\archive\a", [r"\filer2\archive\old", r"\filer3\archive"].map(str::to_owned));
    // What is in the text of the symbolic link names the link of the table.
    let docs = &table(TargetOrder::Listed).links[0];
    let volume = volume(&service, "studio");
    let folder = volume.root().unwrap().object.lookup(&Caller::root(), b"docs").unwrap().object;
    folder.remove(&Caller::root(), b"Archive").unwrap();
    folder.create(&Caller::root(), b"Archive", NewKind::Link(docs.text().as_bytes()), 0o777).unwrap();

    links.set(table(TargetOrder::Listed));
    let (_, bytes) = refer(&mut ada, path, 4, 4096).await;
    assert_eq!((&bytes[4..8], &bytes[16..20]), (&[2, 0, 0, 0][..], &60_u32.to_le_bytes()[..]), "no failback");
    assert_eq!(entries(&bytes), [(old.clone(), true), (archive.clone(), true)]);
    let near = entries(&refer_ex(&mut ada, path, "berlin").await);
    assert_eq!(near, [(archive.clone(), true), (old.clone(), true)]);

    links.set(table(TargetOrder::Spread));
    let (_, first) = refer(&mut ada, path, 4, 4096).await;
    let (_, second) = refer(&mut ada, path, 4, 4096).await;
    let mut both = [entries(&first), entries(&second)];
    both.sort();
    assert_eq!(both[0], [(old.clone(), true), (archive.clone(), false)], "one set");
    assert_eq!(both[1], [(archive.clone(), true), (old.clone(), false)]);

    let filer3 = Target::of_url("smb://filer3/archive").unwrap();
    links.checked(&filer3, Err("no answer".into()), SystemTime::UNIX_EPOCH);
    let (_, bytes) = refer(&mut ada, path, 4, 4096).await;
    assert_eq!(entries(&bytes), [(old, true)]);
}

// MS-DFSC 3.2.5.4: a path without a link is on this server.
#[tokio::test]
async fn other_paths_are_here_and_what_is_no_namespace_has_no_referrals() {
    let service = namespace();
    let mut ada = ada(&service, "IPC$").await;
    for path in
        [r"\server\studio", r"\server\studio\docs", r"\server\studio\absent\a", r"\server\studio\docs\broken"]
    {
        let (status, bytes) = refer(&mut ada, path, 4, 4096).await;
        assert_eq!((status, &bytes[4..8]), (Status::SUCCESS, &[3, 0, 0, 0][..]), "{path}");
        assert_eq!((u16_at(&bytes, 0), u16_at(&bytes[8..], 4)), (r"\server\studio".len() * 2, 1));
        assert_eq!(string(&bytes[8..], u16_at(&bytes[8..], 16)), r"\server\studio");
    }
    for path in [r"\server\plain", r"\server\absent", r"\server\IPC$", r"\server", ""] {
        assert_eq!(refer(&mut ada, path, 4, 4096).await.0, Status::NOT_FOUND, "{path}");
    }
    let path = r"\server\studio\docs\archive";
    assert_eq!(refer(&mut ada, path, 4, 60).await.0, Status::BUFFER_OVERFLOW);
    assert_eq!(refer(&mut ada, path, 0, 4096).await.0, Status::INVALID_PARAMETER);
}

// MS-SMB2 3.3.5.9: STATUS_PATH_NOT_COVERED.
#[tokio::test]
async fn a_path_through_a_link_is_elsewhere_and_others_are_named_from_the_server_on() {
    let service = namespace();
    let mut ada = ada(&service, "studio").await;
    for path in [r"server\studio\docs\archive", r"\server\studio\docs\archive\1999\a"] {
        assert_eq!(open(&mut ada, path).await, Status::PATH_NOT_COVERED, "{path}");
    }
    assert_eq!(open(&mut ada, r"server\studio\docs\new").await, Status::SUCCESS);
    assert_eq!(open(&mut ada, r"server\studio\link\new too").await, Status::SUCCESS);
    assert_eq!(open(&mut ada, r"server\plain\docs").await, Status::OBJECT_PATH_NOT_FOUND);
    assert_eq!(open(&mut ada, "server").await, Status::OBJECT_PATH_NOT_FOUND);
    // Without the flag a name begins below the share, and the link is an ordinary one, which leads out of it.
    assert!(ada.open(r"docs\new", |_| ()).await.is_ok());
    assert!(ada.open(r"docs\archive\a", |_| ()).await.is_err());
}

#[tokio::test]
async fn the_share_says_that_it_is_a_namespace_and_lists_links_as_folders() {
    let service = namespace();
    let mut ada = ada(&service, "studio").await;
    let path = text::of(r"\\server\studio");
    let enter = tree_connect::Request { flags: tree_connect::RequestFlags::NONE, path };
    let answer = ada.call(Command::TREE_CONNECT, |w| enter.encode(w)).await;
    let entered = tree_connect::Response::decode(&answer.message).unwrap();
    assert_eq!((entered.share_flags.0 & 3, entered.capabilities.0), (3, 8));
    assert_eq!(ada.client.agreed.as_ref().unwrap().capabilities.0 & 1, 1);

    let docs =
        ada.open("docs", |request| request.options = create::Options::DIRECTORY_FILE).await.unwrap().file;
    let list = query_directory::Request {
        information_class: 2, // FileFullDirectoryInformation
        flags: query_directory::Flags::NONE,
        file_index: 0,
        file: docs,
        output_buffer_length: 4096,
        pattern: text::of("Archive"),
    };
    let answer = ada.call(Command::QUERY_DIRECTORY, |w| list.encode(w)).await;
    let output = query_directory::Response::decode(&answer.message).unwrap().data;
    // FileFullDirectoryInformation, MS-FSCC 2.4.17: the attributes, and the tag in EaSize.
    let mut r = Reader::new(&output);
    r.skip(56).unwrap();
    assert_eq!(r.u32_le().unwrap() & 0x410, 0x410, "a folder, a reparse point");
    r.skip(4).unwrap();
    assert_eq!(r.u32_le().unwrap(), 0x8000_000A); // IO_REPARSE_TAG_DFS
}
