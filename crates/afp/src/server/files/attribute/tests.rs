use vfs::backend::{NewKind, XattrMode};
use vfs::mac::FinderInfo;
use vfs::state::{ClientId, Modes, Party, Stream};
use vfs::{Actor, Beside, Caller, OpenOptions};
use wire::Reader;

use crate::server::Version;
use crate::server::testing::{ADA, BOB, Client, Server};
use crate::wire::attribute::{Bitmap, Get, List, Remove, Reply, Set};
use crate::wire::{Path, ResultCode, command};

const ROOT: u32 = 2;
const NONE: Bitmap = Bitmap(0);

struct AttributeFixture {
    server: Server,
    client: Client,
    volume: u16,
}

impl AttributeFixture {
    /// A file "notes" and a folder "box" of ada's.
    fn new(version: Version) -> Self {
        let server = Server::new();
        let tree = server.volume("share");
        let root = tree.root().unwrap();
        tree.create(&actor(), &root, b"notes", NewKind::File, 0o644).unwrap();
        tree.create(&actor(), &root, b"box", NewKind::Folder, 0o755).unwrap();
        let client = server.log_in(ADA, version);
        let volume = client.open_volume("share");
        Self { server, client, volume }
    }

    async fn set(&mut self, file: &str, bitmap: Bitmap, name: &str, bytes: &[u8]) -> ResultCode {
        let (volume, path) = (self.volume, Path::utf8(file.as_bytes()));
        let name = name.as_bytes();
        let set = Set { volume, directory: ROOT, bitmap, offset: 0, path, name, bytes };
        self.client.call(command::SET_EXT_ATTR, |w| set.encode(w)).await.code
    }

    async fn get(&mut self, file: &str, name: &str, max_reply: u32) -> Result<Vec<u8>, ResultCode> {
        let (volume, path, count) = (self.volume, Path::utf8(file.as_bytes()), u64::MAX);
        let name = name.as_bytes();
        let get = Get { volume, directory: ROOT, bitmap: NONE, offset: 0, count, max_reply, path, name };
        let answer = self.client.call(command::GET_EXT_ATTR, |w| get.encode(w)).await;
        if answer.code != ResultCode::NO_ERROR {
            return Err(answer.code);
        }
        let reply = Reply::decode(&mut Reader::new(&answer.payload)).unwrap();
        Ok(match reply.bytes {
            Some(bytes) => bytes.to_vec(),
            None => format!("{} bytes", reply.length).into_bytes(),
        })
    }

    async fn remove(&mut self, file: &str, name: &str) -> ResultCode {
        let (volume, path, name) = (self.volume, Path::utf8(file.as_bytes()), name.as_bytes());
        let remove = Remove { volume, directory: ROOT, bitmap: NONE, path, name };
        self.client.call(command::REMOVE_EXT_ATTR, |w| remove.encode(w)).await.code
    }

    async fn list(&mut self, file: &str, max_reply: u32) -> (u32, Vec<String>) {
        let (volume, path) = (self.volume, Path::utf8(file.as_bytes()));
        let list = List { volume, directory: ROOT, bitmap: NONE, count: 0, index: 0, max_reply, path };
        let payload = self.client.call(command::LIST_EXT_ATTRS, |w| list.encode(w)).await.well();
        let reply = Reply::decode(&mut Reader::new(&payload)).unwrap();
        let bytes = reply.bytes.unwrap_or_default();
        let names = bytes.split(|byte| *byte == 0).filter(|name| !name.is_empty());
        let mut names: Vec<_> = names.map(|name| String::from_utf8(name.to_vec()).unwrap()).collect();
        names.sort();
        (reply.length, names)
    }
}

fn actor() -> Actor {
    Actor::new(Caller::new(ADA.2, 100, &[]), Party::client(ClientId::unused()))
}

#[tokio::test]
async fn an_attribute_is_made_replaced_and_removed() {
    let mut tried = AttributeFixture::new(Version::V3_4);
    for file in ["notes", "box"] {
        let (create, replace) = (Bitmap::CREATE, Bitmap::REPLACE);
        assert_eq!(tried.set(file, replace, "a", b"1").await, ResultCode::ITEM_NOT_FOUND);
        assert_eq!(tried.set(file, create, "a", b"1234567890").await, ResultCode::NO_ERROR);
        assert_eq!(tried.set(file, create, "a", b"2").await, ResultCode::OBJECT_EXISTS);
        assert_eq!(tried.get(file, "a", 4096).await.unwrap(), b"1234567890");
        assert_eq!(tried.set(file, replace, "a", b"short").await, ResultCode::NO_ERROR);
        assert_eq!(tried.get(file, "a", 4096).await.unwrap(), b"short");
        assert_eq!(tried.set(file, NONE, "a", b"").await, ResultCode::NO_ERROR);
        assert_eq!(tried.get(file, "a", 0).await.unwrap(), b"0 bytes");
        assert_eq!(tried.remove(file, "a").await, ResultCode::NO_ERROR);
        assert_eq!(tried.get(file, "a", 4096).await, Err(ResultCode::ITEM_NOT_FOUND));
        assert_eq!(tried.remove(file, "a").await, ResultCode::MISC_ERROR);
    }
}

/// A Mac's own server answers the same, according to Netatalk's tests (FPGetExtAttr, test 432): a
/// reply never has a part of the value.
#[tokio::test]
async fn a_reply_has_room_for_the_whole_attribute_and_six_bytes_or_is_refused() {
    let mut tried = AttributeFixture::new(Version::V3_4);
    tried.set("notes", NONE, "a", b"1234567890").await;
    assert_eq!(tried.get("notes", "a", 0).await.unwrap(), b"10 bytes");
    for too_short in [1, 6, 7, 15] {
        assert_eq!(tried.get("notes", "a", too_short).await, Err(ResultCode::PARAM_ERROR));
    }
    assert_eq!(tried.get("notes", "a", 16).await.unwrap(), b"1234567890");
}

/// Before AFP 3.4 there is no separate result for this case.
#[tokio::test]
async fn older_clients_are_told_of_a_missing_attribute_in_their_words() {
    let mut tried = AttributeFixture::new(Version::V3_2);
    assert_eq!(tried.get("notes", "a", 4096).await, Err(ResultCode::MISC_ERROR));
    assert_eq!(tried.set("notes", Bitmap::REPLACE, "a", b"1").await, ResultCode::MISC_ERROR);
    assert_eq!(tried.get("nothing", "a", 4096).await, Err(ResultCode::OBJECT_NOT_FOUND));
}

#[tokio::test]
async fn all_names_are_listed_and_what_has_commands_of_its_own_among_them() {
    let mut tried = AttributeFixture::new(Version::V3_4);
    assert_eq!(tried.list("notes", 4096).await, (0, Vec::new()));
    tried.set("notes", NONE, "com.apple.quarantine", b"q").await;
    tried.set("notes", NONE, "b", b"2").await;
    let names = ["b", "com.apple.quarantine"].map(String::from);
    assert_eq!(tried.list("notes", 4096).await, (2 + 21, names.to_vec()));
    assert_eq!(tried.list("notes", 0).await, (2 + 21, Vec::new()));
    let tree = tried.server.volume("share");
    let root = tree.root().unwrap();
    let notes = tree.lookup(&Caller::root(), &root.object, b"notes").unwrap();
    let place = Beside { folder: &root.object, name: b"notes" };
    let mut info = FinderInfo::NONE;
    info.set_type(*b"TEXT", *b"ttxt");
    tree.change_metadata(&actor(), &notes, Some(place), |metadata| metadata.finder_info = info).unwrap();
    let (_, names) = tried.list("notes", 4096).await;
    assert_eq!(names, ["b", "com.apple.FinderInfo", "com.apple.quarantine"]);
    assert_eq!(tried.get("notes", "com.apple.FinderInfo", 4096).await, Err(ResultCode::ITEM_NOT_FOUND));
    assert_eq!(tried.set("notes", NONE, "com.apple.ResourceFork", b"r").await, ResultCode::PARAM_ERROR);
}

#[tokio::test]
async fn an_attribute_is_the_stream_that_other_protocols_see_under_its_composed_name() {
    let mut tried = AttributeFixture::new(Version::V3_4);
    let (decomposed, composed) = ("com.apple.metadata:cafe\u{301}", "com.apple.metadata:caf\u{e9}");
    let value = vec![7; 100_000]; // too long for the host, and for Macs before 10.5
    assert_eq!(tried.set("notes", NONE, decomposed, &value).await, ResultCode::NO_ERROR);
    assert_eq!(tried.get("notes", composed, 200_000).await.unwrap(), value);
    let tree = tried.server.volume("share");
    let root = tree.root().unwrap();
    let notes = tree.lookup(&Caller::root(), &root.object, b"notes").unwrap();
    let options = OpenOptions {
        stream: Stream::Named(composed.into()),
        place: Some(Beside { folder: &root.object, name: b"notes" }),
        ..OpenOptions::data(Modes::READ)
    };
    let open = tree.open(&actor(), &notes, options).await.unwrap();
    assert_eq!(open.size().await, Ok(100_000));
}

#[tokio::test]
async fn an_attribute_whose_name_another_client_stored_decomposed_is_found_and_not_made_twice() {
    let mut tried = AttributeFixture::new(Version::V3_4);
    let (decomposed, composed) = ("cafe\u{301}", "caf\u{e9}");
    let tree = tried.server.volume("share");
    let root = tree.root().unwrap();
    let notes = tree.lookup(&Caller::root(), &root.object, b"notes").unwrap();
    let xattr = format!("user.{decomposed}");
    let set = notes.object.set_xattr(&Caller::root(), xattr.as_bytes(), b"1", XattrMode::Set);
    set.unwrap();
    assert_eq!(tried.get("notes", decomposed, 4096).await.unwrap(), b"1");
    assert_eq!(tried.set("notes", NONE, composed, b"2").await, ResultCode::NO_ERROR);
    assert_eq!(tried.list("notes", 4096).await.1, [decomposed]);
    assert_eq!(tried.remove("notes", composed).await, ResultCode::NO_ERROR);
    assert_eq!(tried.get("notes", decomposed, 4096).await, Err(ResultCode::ITEM_NOT_FOUND));
}

#[tokio::test]
async fn attributes_are_not_set_without_the_right_to_write() {
    let mut tried = AttributeFixture::new(Version::V3_4);
    tried.set("notes", NONE, "a", b"1").await;
    tried.client = tried.server.log_in(BOB, Version::V3_4);
    tried.volume = tried.client.open_volume("share");
    assert_eq!(tried.set("notes", NONE, "a", b"2").await, ResultCode::ACCESS_DENIED);
    assert_eq!(tried.remove("notes", "a").await, ResultCode::ACCESS_DENIED);
    assert_eq!(tried.get("notes", "a", 4096).await.unwrap(), b"1");
}
