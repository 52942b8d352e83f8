use std::sync::Arc;

use crate::server::service::Service;
use crate::server::testing::{User, service};
use crate::wire::aapl::{Caps, Fields, Request, Response, ServerQuery, VolumeCaps};
use crate::wire::create::{self, Disposition};
use crate::wire::create_context::RawContext;
use crate::wire::fscc::directory::{self, Form, OwnedEntry};
use crate::wire::fscc::readdirattr::ReadDirAttrVersion;
use crate::wire::fscc::{FileAttributes, FileClass};
use crate::wire::security::AccessMask;
use crate::wire::values::InfoType;
use crate::wire::{Command, FileKey, Status, flush, query_directory, query_info};

mod corpus;
mod streams;

/// The capabilities of macOS 15.
const NEW: Caps = Caps(0x3F);
/// The capabilities of a macOS that does not know the second form of listings.
const OLD: Caps = Caps(0x0F);
const ALL_FIELDS: Fields = Fields(7);

async fn asks(user: &mut User, request: Request) -> Option<Response> {
    let mut data = wire::Writer::new();
    request.encode(&mut data);
    let data = data.into_bytes();
    let context = RawContext { tag: b"AAPL".into(), data: data.into() };
    let about = |create: &mut create::Request<'_>| {
        create.desired_access = AccessMask::READ_ATTRIBUTES.0;
        create.disposition = Disposition::OPEN;
        create.contexts = vec![context];
    };
    let opened = user.open("", about).await.unwrap();
    assert_eq!(user.close(opened.file).await, Status::SUCCESS);
    opened.contexts.iter().find(|context| &*context.tag == b"AAPL").map(|context| {
        Response::decode(&context.data).unwrap() // Apple's client reads it in this way
    })
}

async fn introduces_itself(user: &mut User, client_caps: Caps) -> ServerQuery {
    match asks(user, Request::ServerQuery { fields: ALL_FIELDS, client_caps }).await {
        Some(Response::ServerQuery(answer)) => answer,
        other => panic!("{other:?}"),
    }
}

/// A Mac that has sent its AAPL request.
async fn mac(service: &Arc<Service>) -> User {
    let mut user = User::new(service).await;
    introduces_itself(&mut user, NEW).await;
    user
}

async fn listed(user: &mut User, form: Form, class: FileClass, pattern: &str) -> Vec<OwnedEntry> {
    let folder = |create: &mut create::Request<'_>| create.disposition = Disposition::OPEN;
    let file = user.open("", folder).await.unwrap().file;
    let request = query_directory::Request {
        information_class: class.0,
        flags: query_directory::Flags::NONE,
        file_index: 0,
        file,
        output_buffer_length: 65536,
        pattern: pattern.encode_utf16().collect(),
    };
    let answer = user.call(Command::QUERY_DIRECTORY, |w| request.encode(w)).await;
    user.close(file).await;
    match answer.status() {
        Status::SUCCESS => {
            let data = query_directory::Response::decode(&answer.message).unwrap().data;
            directory::decode(form, &data).unwrap()
        }
        Status::NO_SUCH_FILE => Vec::new(),
        other => panic!("{other:?}"),
    }
}

/// A new Mac's view of one entry.
async fn entry(user: &mut User, name: &str) -> OwnedEntry {
    let mut found = listed(user, Form::IdBothMac, FileClass::ID_BOTH_DIRECTORY, name).await;
    assert_eq!(found.len(), 1, "{name}");
    found.remove(0)
}

#[tokio::test]
async fn a_mac_is_told_what_it_asks_for_every_time_it_asks() {
    let service = service();
    let mut ada = User::new(&service).await;
    for _ in 0..2 {
        let answer = introduces_itself(&mut ada, NEW).await;
        let caps = Caps::READ_DIR_ATTR_V2 | Caps::OSX_COPYFILE | Caps::UNIX_BASED | Caps::NFS_ACE;
        assert_eq!(answer.server_caps, Some(caps));
        assert_eq!(answer.volume_caps, Some(VolumeCaps::FULL_SYNC));
        assert_eq!(answer.model, Some("MacSamba".encode_utf16().collect()));
    }
    let only_model = Request::ServerQuery { fields: Fields::MODEL, client_caps: NEW };
    let Some(Response::ServerQuery(answer)) = asks(&mut ada, only_model).await else { panic!() };
    assert!(answer.server_caps.is_none() && answer.volume_caps.is_none() && answer.model.is_some());
}

#[tokio::test]
async fn an_older_mac_gets_the_first_form_of_listings_and_never_both() {
    let service = service();
    let mut ada = User::new(&service).await;
    let answer = introduces_itself(&mut ada, OLD).await;
    let caps = Caps::READ_DIR_ATTR | Caps::OSX_COPYFILE | Caps::UNIX_BASED | Caps::NFS_ACE;
    assert_eq!((answer.server_caps, answer.volume_caps), (Some(caps), Some(VolumeCaps::NONE)));
    let file = ada.make("notes", b"abc").await;
    ada.close(file).await;
    assert_eq!(entry(&mut ada, "notes").await.mac.unwrap().version, ReadDirAttrVersion::V1);
}

#[tokio::test]
async fn being_a_mac_is_a_matter_of_the_session() {
    let service = service();
    let mut mac = mac(&service).await;
    let file = mac.make("notes", b"abc").await;
    mac.close(file).await;
    let mut other = User::new(&service).await;
    let seen = listed(&mut other, Form::IdBoth, FileClass::ID_BOTH_DIRECTORY, "notes").await.remove(0);
    assert!(seen.facts.file_id != 0 && seen.facts.ea_size == 0 && seen.short_name.is_empty());
    assert_eq!(entry(&mut mac, "notes").await.facts.file_id, 0);
}

#[tokio::test]
async fn a_listing_tells_a_mac_access_mode_fork_and_finder_info() {
    let service = service();
    let mut ada = mac(&service).await;
    let file = ada.make("plain", b"abc").await;
    ada.close(file).await;
    let plain = entry(&mut ada, "plain").await.mac.unwrap();
    assert_eq!(plain.version, ReadDirAttrVersion::V2 { has_no_xattrs: true });
    assert_eq!((plain.mode, plain.resource_fork_len), (0o100_644, 0));
    let writes = AccessMask::READ_DATA | AccessMask::WRITE_DATA | AccessMask::DELETE;
    assert!(plain.maximal_access.contains(writes) && !plain.maximal_access.contains(AccessMask::WRITE_OWNER));

    streams::put(&mut ada, "rich:AFP_Resource", b"fork").await;
    streams::put(&mut ada, "rich:AFP_AfpInfo", &streams::info(b"TEXTttxt")).await;
    let rich = entry(&mut ada, "rich").await.mac.unwrap();
    assert_eq!(rich.version, ReadDirAttrVersion::V2 { has_no_xattrs: false });
    assert_eq!(rich.resource_fork_len, 4);
    assert_eq!(&rich.finder_info.0[..12], b"TEXTttxt\0\0\0\0");

    let mut bob =
        User::with(&service, &crate::client::Offer::default(), crate::server::testing::BOB, "share").await;
    introduces_itself(&mut bob, NEW).await;
    let access = entry(&mut bob, "plain").await.mac.unwrap().maximal_access;
    assert!(access.contains(AccessMask::READ_DATA) && !access.contains(AccessMask::WRITE_DATA));
}

#[tokio::test]
async fn a_mode_that_is_not_the_whole_truth_is_not_told() {
    let service = service();
    let mut ada = mac(&service).await;
    let file = ada.make("notes", b"abc").await;
    ada.close(file).await;
    assert_eq!(entry(&mut ada, "notes").await.mac.unwrap().mode, 0o100_644);
    let volume = crate::server::testing::volume(&service, "share");
    let root = volume.root().unwrap();
    let found = volume.lookup(&vfs::Caller::root(), &root.object, b"notes").unwrap();
    let party = vfs::state::Party::client(vfs::state::ClientId::unused());
    let list = vec![vfs::acl::Entry::allow(vfs::acl::Who::Everyone, vfs::acl::Rights::READ_DATA)];
    let entries = Some(vfs::acl::Entries { list, ..Default::default() });
    let change = vfs::acl::AclChange { entries, ..Default::default() };
    volume.set_acl(&vfs::Actor::new(vfs::Caller::root(), party), &found, &change).unwrap();
    let seen = entry(&mut ada, "notes").await.mac.unwrap();
    assert_eq!(seen.mode, 0);
    assert!(!seen.maximal_access.contains(AccessMask::WRITE_DATA));
}

#[tokio::test]
async fn names_with_a_dot_are_marked_as_hidden() {
    let service = service();
    let mut ada = User::new(&service).await;
    let opened = ada.open(".profile", |_| ()).await.unwrap();
    assert!(FileAttributes(opened.info.file_attributes).contains(FileAttributes::HIDDEN));
    let seen = listed(&mut ada, Form::IdBoth, FileClass::ID_BOTH_DIRECTORY, "*").await;
    let hidden = |entry: &&OwnedEntry| entry.facts.attributes.contains(FileAttributes::HIDDEN);
    let names: Vec<String> = seen.iter().filter(hidden).map(|e| String::from_utf16_lossy(&e.name)).collect();
    assert_eq!(names, [".profile"]);
}

#[tokio::test]
async fn an_open_file_is_found_by_its_number() {
    let service = service();
    let mut ada = User::new(&service).await;
    let file = ada.make("notes", b"abc").await;
    let number = listed(&mut ada, Form::IdBoth, FileClass::ID_BOTH_DIRECTORY, "notes").await[0].facts.file_id;
    let path = "notes".encode_utf16().collect();
    let found = Some(Response::ResolveId { status: Status::SUCCESS, path });
    assert_eq!(asks(&mut ada, Request::ResolveId { file: number }).await, found);
    ada.close(file).await;
    let gone = Some(Response::ResolveId { status: Status::OBJECT_NAME_NOT_FOUND, path: Vec::new() });
    assert_eq!(asks(&mut ada, Request::ResolveId { file: number }).await, gone);
}

#[tokio::test]
async fn a_full_sync_is_a_flush() {
    let service = service();
    let mut ada = mac(&service).await;
    let file = ada.make("notes", b"abc").await;
    let request = flush::Request { reserved: flush::Request::FULL_SYNC, file };
    assert_eq!(ada.call(Command::FLUSH, |w| request.encode(w)).await.status(), Status::SUCCESS);
}

/// FileStreamInformation: names and sizes.
async fn stream_list(user: &mut User, file: FileKey) -> Vec<(String, u64)> {
    let request = query_info::Request {
        info_type: InfoType::FILE,
        information_class: FileClass::STREAM.0,
        output_buffer_length: 65536,
        additional_information: 0,
        flags: query_info::Flags::NONE,
        file,
        input: &[],
    };
    let answer = user.call(Command::QUERY_INFO, |w| request.encode(w)).await;
    assert_eq!(answer.status(), Status::SUCCESS);
    let data = query_info::Response::decode(&answer.message).unwrap().data;
    let all = crate::wire::fscc::stream::decode(&mut wire::Reader::new(&data)).unwrap();
    let mut all: Vec<_> =
        all.iter().map(|stream| (String::from_utf16_lossy(&stream.name), stream.size)).collect();
    all.sort();
    all
}
