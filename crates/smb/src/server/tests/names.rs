//! Names of entries. MS-FSCC 2.1.5 says nothing about normal forms, and Windows treats them as
//! different names. Here they are one name, because the same tree has clients that compose and
//! clients that decompose what the user typed.

use std::sync::Arc;

use vfs::backend::NewKind;
use vfs::backend::memory::Memory;
use vfs::names::Characters;
use vfs::{Caller, Volume, VolumeOptions};

use crate::server::config::{Share, ShareKind, ShareOptions};
use crate::server::testing::{User, service, service_with, volume};
use crate::wire::aapl::{Caps, Fields, Request as Aapl};
use crate::wire::create::{self, Disposition, Options};
use crate::wire::create_context::RawContext;
use crate::wire::fscc::FileClass;
use crate::wire::fscc::directory::{self, Form};
use crate::wire::fscc::file_name::Target;
use crate::wire::values::InfoType;
use crate::wire::{Command, FileKey, Status, query_directory, set_info};

const NFC: &str = "caf\u{e9}";
const NFD: &str = "cafe\u{301}";

/// The names in the share that this pattern finds.
async fn listed(user: &mut User, pattern: &str) -> Vec<String> {
    let folder = |create: &mut create::Request<'_>| create.disposition = Disposition::OPEN;
    let file = user.open("", folder).await.unwrap().file;
    let request = query_directory::Request {
        information_class: FileClass::NAMES.0,
        flags: query_directory::Flags::NONE,
        file_index: 0,
        file,
        output_buffer_length: 65536,
        pattern: pattern.encode_utf16().collect(),
    };
    let answer = user.call(Command::QUERY_DIRECTORY, |w| request.encode(w)).await;
    user.close(file).await;
    if answer.status() == Status::NO_SUCH_FILE {
        return Vec::new();
    }
    let data = query_directory::Response::decode(&answer.message).unwrap().data;
    let entries = directory::decode(Form::Names, &data).unwrap().into_iter();
    let mut names: Vec<String> = entries.map(|entry| String::from_utf16(&entry.name).unwrap()).collect();
    names.retain(|name| !matches!(&**name, "." | ".."));
    names.sort();
    names
}

async fn named(user: &mut User, file: FileKey, class: FileClass, name: &str) -> Status {
    let target = Target { replace_if_exists: true, root_directory: 0, name: name.encode_utf16().collect() };
    let mut w = wire::Writer::new();
    target.encode(&mut w);
    let data = w.into_bytes();
    let request = set_info::Request {
        info_type: InfoType::FILE,
        information_class: class.0,
        additional_information: 0,
        file,
        data: &data,
    };
    user.call(Command::SET_INFO, |w| request.encode(w)).await.status()
}

/// Sends the AAPL request of a Mac.
async fn become_mac(user: &mut User) {
    let mut w = wire::Writer::new();
    Aapl::ServerQuery { fields: Fields(7), client_caps: Caps(0x3F) }.encode(&mut w);
    let data = w.into_bytes();
    let context = RawContext { tag: b"AAPL".into(), data: data.into() };
    let about = |create: &mut create::Request<'_>| {
        create.disposition = Disposition::OPEN;
        create.contexts = vec![context];
    };
    let opened = user.open("", about).await.unwrap().file;
    user.close(opened).await;
}

fn exists(create: &mut create::Request<'_>) {
    create.disposition = Disposition::CREATE;
}

fn opens(create: &mut create::Request<'_>) {
    create.disposition = Disposition::OPEN;
}

#[tokio::test]
async fn a_name_keeps_its_normal_form_and_another_form_of_it_is_the_same_file() {
    let mut ada = User::new(&service()).await;
    let made = ada.make(NFD, b"abc").await;
    assert_eq!(listed(&mut ada, "*").await, [NFD]);
    assert_eq!(listed(&mut ada, NFC).await, [NFD]);
    assert_eq!(listed(&mut ada, "CAF\u{c9}").await, [NFD]);
    assert_eq!(ada.open(NFC, exists).await.err(), Some(Status::OBJECT_NAME_COLLISION));
    let same = ada.open(NFC, opens).await.unwrap().file;
    assert_eq!(ada.read(same, 0, 10).await.unwrap(), b"abc");
    ada.close(same).await;
    // The file's own name in the other form, and back.
    for name in [NFC, NFD] {
        assert_eq!(named(&mut ada, made, FileClass::RENAME, name).await, Status::SUCCESS);
        assert_eq!(listed(&mut ada, "*").await, [name]);
    }
    ada.close(made).await;
    // Another file in its place.
    let other = ada.make("other", b"new").await;
    assert_eq!(named(&mut ada, other, FileClass::RENAME, NFC).await, Status::SUCCESS);
    ada.close(other).await;
    assert_eq!(listed(&mut ada, "*").await, [NFC]);
    let linked = ada.make("linked", b"link").await;
    assert_eq!(named(&mut ada, linked, FileClass::LINK, NFD).await, Status::SUCCESS);
    ada.close(linked).await;
    assert_eq!(listed(&mut ada, "*").await, [NFD, "linked"]);
    let folder = ada.open("fo\u{308}lder", |create| create.options = Options::DIRECTORY_FILE).await.unwrap();
    ada.close(folder.file).await;
    let inside = ada.make("f\u{f6}lder\\inside", b"x").await;
    assert_eq!(ada.close(inside).await, Status::SUCCESS);
    assert_eq!(listed(&mut ada, "f*").await, ["fo\u{308}lder"]);
}

#[tokio::test]
async fn what_a_mac_sends_is_stored_composed() {
    let service = service();
    let (mut ada, mut mac) = (User::new(&service).await, User::new(&service).await);
    become_mac(&mut mac).await;
    let made = mac.make(NFD, b"abc").await;
    assert_eq!(listed(&mut ada, "*").await, [NFC]);
    assert_eq!(named(&mut mac, made, FileClass::RENAME, "no\u{308}te").await, Status::SUCCESS);
    mac.close(made).await;
    assert_eq!(listed(&mut ada, "*").await, ["n\u{f6}te"]);
    let stream = mac.make("note:cafe\u{301}", b"x").await;
    assert_eq!(mac.close(stream).await, Status::SUCCESS);
    let same = ada.open("note:caf\u{e9}", opens).await.unwrap().file;
    assert_eq!(ada.close(same).await, Status::SUCCESS);
    // A name that another client stored decomposed stays decomposed.
    let made = ada.make(NFD, b"abc").await;
    ada.close(made).await;
    let same = mac.open(NFD, |create| create.disposition = Disposition::OPEN_IF).await.unwrap().file;
    assert_eq!(mac.read(same, 0, 10).await.unwrap(), b"abc");
    mac.close(same).await;
    assert_eq!(listed(&mut ada, "caf*").await, [NFD]);
}

fn make_locally(volume: &Volume, name: &str) {
    let root = volume.root().unwrap();
    root.object.create(&Caller::root(), name.as_bytes(), NewKind::Folder, 0o700).unwrap();
}

/// The server's own folders, in any case, and their sidecars.
#[tokio::test]
async fn the_names_of_the_servers_own_folders_are_refused() {
    let service = service();
    let mut ada = User::new(&service).await;
    make_locally(&volume(&service, "share"), ".fourfold-streams");
    let file = ada.make("file", b"abc").await;
    for name in [".fourfold-streams", ".FOURFOLD-streams", ".fourfold-luns", "._.fourfold-streams"] {
        for disposition in [Disposition::OPEN, Disposition::CREATE, Disposition::OVERWRITE_IF] {
            for options in [Options::DIRECTORY_FILE, Options::NON_DIRECTORY_FILE, Options::DELETE_ON_CLOSE] {
                if (disposition, options) == (Disposition::OVERWRITE_IF, Options::DIRECTORY_FILE) {
                    continue; // MS-SMB2 2.2.13: refused whatever the name
                }
                let asks = |create: &mut create::Request<'_>| {
                    (create.disposition, create.options) = (disposition, options);
                };
                assert_eq!(ada.open(name, asks).await.err(), Some(Status::ACCESS_DENIED), "{name}");
            }
        }
        for class in [FileClass::RENAME, FileClass::LINK] {
            assert_eq!(named(&mut ada, file, class, name).await, Status::ACCESS_DENIED, "{name}");
        }
        assert_eq!(ada.open(&format!("{name}:stream"), |_| ()).await.err(), Some(Status::ACCESS_DENIED));
        assert_eq!(ada.open(&format!("{name}\\x"), |_| ()).await.err(), Some(Status::ACCESS_DENIED));
    }
    assert_eq!(listed(&mut ada, "*").await, ["file"]);
}

/// A user of a share that stores and shows names as Samba does with these settings.
async fn of_samba(private_names: bool, mappings: &str) -> (User, Arc<Volume>) {
    let characters = Characters::parse(mappings).unwrap();
    let options = VolumeOptions { private_names, kept: characters.kept(), ..VolumeOptions::default() };
    let volume = Arc::new(Volume::new(Arc::new(Memory::ticking()), options));
    let created = vfs::Time { secs: 1_500_000_000, nanos: 0 };
    let kind = ShareKind::Disk { volume: volume.clone(), serial: 1, created };
    let options = ShareOptions { characters, ..ShareOptions::default() };
    let share = Arc::new(Share { name: "samba".into(), comment: String::new(), kind, options });
    let mut ada = User::new(&service_with(|config| config.shares.push(share))).await;
    ada.tree = ada.enter("samba").await.unwrap();
    (ada, volume)
}

fn stored(volume: &Volume) -> Vec<String> {
    let page = volume.list(&Caller::root(), &volume.root().unwrap(), 0).unwrap();
    let names = page.entries().iter().map(|entry| String::from_utf8(entry.name().to_vec()).unwrap());
    let mut names: Vec<String> = names.filter(|name| !matches!(&**name, "." | "..")).collect();
    names.sort();
    names
}

#[tokio::test]
async fn new_names_are_stored_as_samba_stores_them() {
    let (mut ada, volume) = of_samba(true, "").await;
    for name in ["a\u{f022}b", "etc\u{f029}", "plain"] {
        let made = ada.make(name, b"abc").await;
        ada.close(made).await;
    }
    assert_eq!(stored(&volume), ["a\u{f022}b", "etc\u{f029}", "plain"]);
    assert_eq!(listed(&mut ada, "*").await, ["a\u{f022}b", "etc\u{f029}", "plain"]);
    assert_eq!(listed(&mut ada, "A\u{f022}*").await, ["a\u{f022}b"]);
    // One that an NFS client has made.
    let root = volume.root().unwrap().object;
    root.create(&Caller::root(), b"1:2", NewKind::File, 0o666).unwrap();
    assert_eq!(ada.open("1\u{f022}2", exists).await.err(), Some(Status::OBJECT_NAME_COLLISION));
    let same = ada.open("1\u{f022}2", opens).await.unwrap().file;
    assert_eq!(named(&mut ada, same, FileClass::RENAME, "1\u{f025}2").await, Status::SUCCESS);
    ada.close(same).await;
    assert_eq!(stored(&volume), ["1\u{f025}2", "a\u{f022}b", "etc\u{f029}", "plain"]);
}

/// smbd 4.17 with `vfs objects = catia fruit streams_xattr` and `catia:mappings = 0x3a:0xf7`.
#[tokio::test]
async fn what_a_table_names_is_stored_as_itself_beside_private_code_points() {
    let (mut ada, volume) = of_samba(true, "0x3a:0xf7").await;
    for name in ["a\u{f7}b", "c\u{f025}d"] {
        let made = ada.make(name, b"abc").await;
        ada.close(made).await;
    }
    assert_eq!(stored(&volume), ["a:b", "c\u{f025}d"]);
    assert_eq!(listed(&mut ada, "*").await, ["a\u{f7}b", "c\u{f025}d"]);
}

#[tokio::test]
async fn a_name_stored_beside_a_table_is_found_in_each_form() {
    let (mut ada, volume) = of_samba(true, "0x3a:0xf7").await;
    let made = ada.make("a\u{f7}b\u{f025}c", b"abc").await;
    ada.close(made).await;
    assert_eq!(stored(&volume), ["a:b\u{f025}c"]);
    // As NFS looks names up, with case.
    let (root, caller) = (volume.root().unwrap(), Caller::root());
    for form in ["a:b?c", "a\u{f022}b\u{f025}c", "a:b\u{f025}c", "a:2fb?c"] {
        assert!(volume.lookup(&caller, &root.object, form.as_bytes()).is_ok(), "{form}");
    }
    assert_eq!(volume.lookup(&caller, &root.object, b"A:b?c").err(), Some(vfs::Error::NotFound));
}

#[tokio::test]
async fn a_stored_private_code_point_is_the_character_that_clients_send() {
    let service = service();
    let (mut ada, volume) = (User::new(&service).await, volume(&service, "share"));
    let root = volume.root().unwrap().object;
    root.create(&Caller::root(), "a\u{f022}b".as_bytes(), NewKind::File, 0o666).unwrap();
    assert_eq!(listed(&mut ada, "*").await, ["a\u{f022}b"]);
    let same = ada.open("A\u{f022}B", opens).await.unwrap().file;
    assert_eq!(named(&mut ada, same, FileClass::RENAME, "c\u{f022}d").await, Status::SUCCESS);
    ada.close(same).await;
    assert_eq!(stored(&volume), ["c:d"]);
}

/// The table of vfs_catia(8).
#[tokio::test]
async fn characters_are_shown_as_others_by_a_table_of_samba() {
    let (mut ada, volume) = of_samba(false, "0x22:0xa8,0x3a:0xf7,0x20:0xb1").await;
    let made = ada.make("a\u{f7}b\u{b1}c", b"abc").await;
    assert_eq!(named(&mut ada, made, FileClass::RENAME, "\u{a8}a\u{f7}b c").await, Status::SUCCESS);
    ada.close(made).await;
    assert_eq!(stored(&volume), ["\"a:b c"]);
    assert_eq!(listed(&mut ada, "*").await, ["\u{a8}a\u{f7}b\u{b1}c"]);
    assert_eq!(listed(&mut ada, "\u{a8}A\u{f7}*").await, ["\u{a8}a\u{f7}b\u{b1}c"]);
    // The character itself, which Samba could not open.
    let root = volume.root().unwrap().object;
    root.create(&Caller::root(), "1\u{f7}2".as_bytes(), NewKind::File, 0o666).unwrap();
    let shown = "1\u{efc3}\u{efb7}2";
    assert_eq!(listed(&mut ada, "1*").await, [shown]);
    let same = ada.open(shown, opens).await.unwrap().file;
    assert_eq!(ada.close(same).await, Status::SUCCESS);
    assert_eq!(ada.open("1\u{f7}2", opens).await.err(), Some(Status::OBJECT_NAME_NOT_FOUND));
}
