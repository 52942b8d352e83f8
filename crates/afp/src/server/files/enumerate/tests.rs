use std::collections::BTreeSet;

use vfs::backend::{Found, NewKind};
use vfs::mac::FinderInfo;
use vfs::state::{ClientId, Party};
use vfs::{Actor, Beside, Caller, Kind, SetAttributes, Volume};
use wire::Reader;

use super::*;
use crate::server::testing::{ADA, Answer, Client, Server};
use crate::wire::bitmap::{DirBitmap, FileBitmap};
use crate::wire::directory::Place;
use crate::wire::{Path, Version, strings};

/// Direct access to the tree of a share.
struct Tree {
    volume: std::sync::Arc<Volume>,
    root: Found,
    actor: Actor,
}

impl Tree {
    fn of(server: &Server) -> Self {
        let volume = server.volume("share");
        let root = volume.root().unwrap();
        Self { volume, root, actor: Actor::new(Caller::root(), Party::client(ClientId(1))) }
    }

    fn make(&self, folder: &Found, name: &str, kind: NewKind<'_>) -> Found {
        self.volume.create(&self.actor, folder, name.as_bytes(), kind, 0o755).unwrap().found
    }

    fn files(&self, names: impl IntoIterator<Item = String>) {
        names.into_iter().for_each(|name| drop(self.make(&self.root, &name, NewKind::File)));
    }

    fn remove(&self, name: &str) {
        self.volume.remove(&self.actor, &self.root, name.as_bytes(), Kind::File).unwrap();
    }
}

/// Long names of files and folders.
const NAMES: (FileBitmap, DirBitmap) = (FileBitmap::LONG_NAME, DirBitmap::LONG_NAME);

fn request(volume: u16, (files, folders): (FileBitmap, DirBitmap)) -> Enumerate<'static> {
    let place = Place { volume, folder: 2, path: Path::long(b"") };
    Enumerate { place, files, folders, count: 100, start: 1, max_reply: 8000 }
}

async fn ask(client: &mut Client, form: EnumerateForm, request: Enumerate<'_>) -> Answer {
    let number = match form {
        EnumerateForm::Plain => command::ENUMERATE,
        EnumerateForm::Ext => command::ENUMERATE_EXT,
        EnumerateForm::Ext2 => command::ENUMERATE_EXT2,
    };
    client.call(number, |w| request.encode(form, w)).await
}

/// The entries of a reply: whether each is a folder, and its parameters.
fn entries(form: EnumerateForm, answer: Answer) -> Vec<(bool, Vec<u8>)> {
    let payload = answer.well();
    let reply = enumerate::Reply::decode(&mut Reader::new(&payload)).unwrap();
    let entries: Vec<_> = form.framing().entries(reply.entries).map(Result::unwrap).collect();
    assert_eq!(entries.len(), usize::from(reply.count));
    entries.iter().map(|entry| (entry.is_folder, entry.parameters.to_vec())).collect()
}

/// The names in parameters that are only a long name.
fn names(form: EnumerateForm, answer: Answer) -> Vec<String> {
    let name = |parameters: &[u8]| {
        assert_eq!(parameters[..2], [0, 2], "the name is right after its offset");
        String::from_utf8(strings::pascal::read(&mut Reader::new(&parameters[2..])).unwrap().to_vec())
            .unwrap()
    };
    entries(form, answer).iter().map(|(_, parameters)| name(parameters)).collect()
}

#[tokio::test]
async fn all_three_tell_names_and_what_is_a_folder() {
    let server = Server::new();
    let tree = Tree::of(&server);
    tree.files(["a file".into()]);
    tree.make(&tree.root, "folder", NewKind::Folder);
    let mut ada = server.log_in(ADA, Version::V3_4);
    let volume = ada.open_volume("share");
    // Reference, FPEnumerate: bitmaps, count, then entries: length, flag, parameters; of even lengths.
    let short = b"\0\x40\0\x40\0\x02\x0c\0\0\x02\x06a file\0\x0c\x80\0\x02\x06folder\0";
    assert_eq!(ask(&mut ada, EnumerateForm::Plain, request(volume, NAMES)).await.well(), short);
    let long = b"\0\x40\0\x40\0\x02\0\x0e\0\0\0\x02\x06a file\0\0\x0e\x80\0\0\x02\x06folder\0";
    assert_eq!(ask(&mut ada, EnumerateForm::Ext, request(volume, NAMES)).await.well(), long);
    assert_eq!(ask(&mut ada, EnumerateForm::Ext2, request(volume, NAMES)).await.well(), long);
}

#[tokio::test]
async fn what_a_mac_asks_of_each_entry_is_told() {
    let server = Server::new();
    let tree = Tree::of(&server);
    let file = tree.make(&tree.root, "f", NewKind::File);
    let place = Some(Beside { folder: &tree.root.object, name: b"f" });
    let info = FinderInfo::new(*b"TEXTttxt\x40\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0");
    tree.volume.change_metadata(&tree.actor, &file, place, |m| m.set_finder_info(info)).unwrap();
    let size = SetAttributes { size: Some(5), ..SetAttributes::default() };
    tree.volume.set_attributes(&tree.actor, &file, &size).unwrap();
    let folder = tree.make(&tree.root, "g", NewKind::Folder);
    tree.make(&folder, "in it", NewKind::File);
    let mut ada = server.log_in(ADA, Version::V3_4);
    let volume = ada.open_volume("share");
    let wanted = (
        FileBitmap::ATTRIBUTES
            | FileBitmap::PARENT_ID
            | FileBitmap::FINDER_INFO
            | FileBitmap::FILE_NUMBER
            | FileBitmap::EXTENDED_DATA_LENGTH
            | FileBitmap::UTF8_NAME
            | FileBitmap::UNIX_PRIVILEGES,
        DirBitmap::PARENT_ID
            | DirBitmap::DIR_ID
            | DirBitmap::OFFSPRING_COUNT
            | DirBitmap::ACCESS_RIGHTS
            | DirBitmap::UTF8_NAME,
    );
    let told =
        entries(EnumerateForm::Ext2, ask(&mut ada, EnumerateForm::Ext2, request(volume, wanted)).await);
    let mut expected = b"\0\x01\0\0\0\x02".to_vec(); // invisible (Finder); in the root
    expected.extend(info.as_bytes());
    expected.extend(b"\0\0\0\x11\0\0\0\0\0\0\0\x05"); // 17 is the first number of a volume
    expected.extend(b"\0\x48\0\0\0\0"); // the offset of the name
    // Owned by root, with mode 0755: ada may see and search it, like all users.
    expected.extend(b"\0\0\0\0\0\0\0\0\0\0\x81\xed\x03\x03\x03\x07");
    expected.extend(b"\x08\0\x01\x03\0\x01f\0");
    assert_eq!(told[0], (false, expected));
    let expected = b"\0\0\0\x02\0\0\0\x12\0\x01\x03\x03\x03\x07\0\x14\0\0\0\0\x08\0\x01\x03\0\x01g\0";
    assert_eq!(told[1], (true, expected.to_vec()));
}

#[tokio::test]
async fn without_a_bitmap_files_or_folders_are_not_told_of_nor_counted() {
    let server = Server::new();
    let tree = Tree::of(&server);
    for at in 0..5 {
        tree.make(&tree.root, &format!("d{at}"), NewKind::Folder);
        tree.files([format!("f{at}")]);
    }
    let mut ada = server.log_in(ADA, Version::V3_4);
    let volume = ada.open_volume("share");
    let files = request(volume, (FileBitmap::LONG_NAME, DirBitmap::empty()));
    let folders = request(volume, (FileBitmap::empty(), DirBitmap::LONG_NAME));
    assert_eq!(
        names(EnumerateForm::Ext, ask(&mut ada, EnumerateForm::Ext, files).await),
        ["f0", "f1", "f2", "f3", "f4"]
    );
    assert_eq!(
        names(EnumerateForm::Ext, ask(&mut ada, EnumerateForm::Ext, Enumerate { start: 4, ..folders }).await),
        ["d3", "d4"]
    );
    // So an invalid index counts among all entries: the seventh of ten is d3 (each d was made
    // before its f).
    let seventh = Enumerate { start: 7, ..folders };
    assert_eq!(names(EnumerateForm::Ext, ask(&mut ada, EnumerateForm::Ext, seventh).await), ["d3", "d4"]);
    let none = request(volume, (FileBitmap::empty(), DirBitmap::empty()));
    assert_eq!(ask(&mut ada, EnumerateForm::Ext, none).await.code, ResultCode::BITMAP_ERROR);
}

#[tokio::test]
async fn a_reply_is_never_longer_than_asked_for_and_too_little_for_one_entry_is_refused() {
    let server = Server::new();
    let tree = Tree::of(&server);
    tree.files((0..10).map(|at| format!("file {at}")));
    let mut ada = server.log_in(ADA, Version::V3_4);
    let volume = ada.open_volume("share");
    // A header of six bytes; each entry has 4 bytes of header, 2 of offset, one of length, 6 of
    // name and one of padding.
    let with = |max_reply| Enumerate { max_reply, ..request(volume, NAMES) };
    for (max_reply, fits) in [(20, 1), (33, 1), (34, 2), (6 + 14 * 9 + 13, 9), (6 + 14 * 10, 10)] {
        let answer = ask(&mut ada, EnumerateForm::Ext2, with(max_reply)).await;
        assert!(answer.payload.len() <= max_reply as usize);
        assert_eq!(names(EnumerateForm::Ext2, answer).len(), fits, "{max_reply}");
    }
    for too_little in [0, 5, 6, 19] {
        assert_eq!(ask(&mut ada, EnumerateForm::Ext2, with(too_little)).await.code, ResultCode::PARAM_ERROR);
    }
}

#[tokio::test]
async fn nothing_is_left_is_object_not_found_and_absurd_places_are_refused() {
    let server = Server::new();
    let tree = Tree::of(&server);
    let mut ada = server.log_in(ADA, Version::V3_4);
    let volume = ada.open_volume("share");
    let all = request(volume, NAMES);
    assert_eq!(
        ask(&mut ada, EnumerateForm::Ext2, all).await.code,
        ResultCode::OBJECT_NOT_FOUND,
        "an empty folder"
    );
    tree.files(["a".into(), "b".into()]);
    for (start, code) in [
        (0, ResultCode::PARAM_ERROR),
        (2, ResultCode::NO_ERROR),
        (3, ResultCode::OBJECT_NOT_FOUND),
        (u32::MAX, ResultCode::OBJECT_NOT_FOUND),
    ] {
        assert_eq!(
            ask(&mut ada, EnumerateForm::Ext2, Enumerate { start, ..all }).await.code,
            code,
            "{start}"
        );
    }
    let nothing = Enumerate { count: 0, ..all };
    assert_eq!(ask(&mut ada, EnumerateForm::Ext2, nothing).await.code, ResultCode::OBJECT_NOT_FOUND);
    let at = |folder, path| Enumerate { place: Place { volume, folder, path: Path::long(path) }, ..all };
    assert_eq!(ask(&mut ada, EnumerateForm::Ext, at(2, b"a")).await.code, ResultCode::OBJECT_TYPE_ERROR);
    assert_eq!(ask(&mut ada, EnumerateForm::Ext, at(2, b"none")).await.code, ResultCode::DIR_NOT_FOUND);
    assert_eq!(ask(&mut ada, EnumerateForm::Ext, at(99, b"")).await.code, ResultCode::DIR_NOT_FOUND);
    assert_eq!(ask(&mut ada, EnumerateForm::Ext, at(1, b"")).await.code, ResultCode::OBJECT_NOT_FOUND);
    let elsewhere = request(volume + 1, NAMES);
    assert_eq!(ask(&mut ada, EnumerateForm::Ext, elsewhere).await.code, ResultCode::PARAM_ERROR);
}

#[tokio::test]
async fn later_forms_came_with_later_versions() {
    let server = Server::new();
    Tree::of(&server).files(["a".into()]);
    for (version, works) in [
        (Version::V2_2, [true, false, false]),
        (Version::V3_0, [true, true, false]),
        (Version::V3_1, [true, true, true]),
    ] {
        let mut ada = server.log_in(ADA, version);
        let volume = ada.open_volume("share");
        for (form, works) in
            [EnumerateForm::Plain, EnumerateForm::Ext, EnumerateForm::Ext2].into_iter().zip(works)
        {
            let code = ask(&mut ada, form, request(volume, NAMES)).await.code;
            assert_eq!(code == ResultCode::NO_ERROR, works, "{version:?} {form:?}");
        }
    }
}

#[tokio::test]
async fn a_continued_listing_has_each_entry_once_while_entries_come_and_go() {
    let server = Server::new();
    let tree = Tree::of(&server);
    tree.files((0..100).map(|at| format!("file {at:03}")));
    let mut ada = server.log_in(ADA, Version::V3_4);
    let volume = ada.open_volume("share");
    let (mut start, mut seen) = (1, Vec::new());
    for round in 0..100 {
        let page = Enumerate { start, count: 7, ..request(volume, NAMES) };
        let answer = ask(&mut ada, EnumerateForm::Ext2, page).await;
        if answer.code == ResultCode::OBJECT_NOT_FOUND {
            break;
        }
        let page = names(EnumerateForm::Ext2, answer);
        start += page.len() as u32;
        seen.extend(page);
        // Two of the listed entries go; new ones come.
        if round < 14 {
            tree.remove(&seen[round * 7]);
            tree.remove(&seen[round * 7 + 3]);
            tree.files([format!("new {round:03}")]);
        }
    }
    let old: Vec<_> = seen.iter().filter(|name| name.starts_with("file")).collect();
    assert_eq!(
        old,
        (0..100).map(|at| format!("file {at:03}")).collect::<Vec<_>>().iter().collect::<Vec<_>>()
    );
    assert_eq!(seen.iter().collect::<BTreeSet<_>>().len(), seen.len());
    // From the start, a client gets the folder's current state.
    let now = names(EnumerateForm::Ext2, ask(&mut ada, EnumerateForm::Ext2, request(volume, NAMES)).await);
    assert!(!now.contains(&"file 000".to_owned()) && now.contains(&"file 001".to_owned()));
}

#[tokio::test]
async fn sidecars_and_the_books_of_others_are_not_told_of() {
    let server = Server::new();
    let tree = Tree::of(&server);
    tree.make(&tree.root, "file", NewKind::File);
    let caller = Caller::root();
    let sidecar = tree.root.object.create(&caller, b"._file", NewKind::File, 0o644).unwrap();
    // RFC 1740: a resource fork of 5 bytes at 38.
    let bytes =
        b"\x00\x05\x16\x07\x00\x02\x00\x00Mac OS X        \x00\x01\0\0\0\x02\0\0\0\x26\0\0\0\x05fork!";
    sidecar.object.prepare(&caller, &sidecar.attributes, vfs::Access::WRITE, true).unwrap();
    sidecar.object.write_at(&caller, 0, bytes, vfs::backend::Stability::Unstable).unwrap();
    tree.make(&tree.root, ".AppleDouble", NewKind::Folder);
    tree.files([".profile".into()]);
    let mut ada = server.log_in(ADA, Version::V3_4);
    let volume = ada.open_volume("share");
    let listed = names(EnumerateForm::Ext2, ask(&mut ada, EnumerateForm::Ext2, request(volume, NAMES)).await);
    assert_eq!(listed, ["file", ".profile"]);
    let wanted = (FileBitmap::RESOURCE_LENGTH, DirBitmap::empty());
    let lengths =
        entries(EnumerateForm::Ext2, ask(&mut ada, EnumerateForm::Ext2, request(volume, wanted)).await);
    assert_eq!(lengths[0], (false, vec![0, 0, 0, 5]));
}

#[tokio::test]
async fn a_folder_that_the_caller_may_not_list_is_refused() {
    let server = Server::new();
    let tree = Tree::of(&server);
    for (name, mode) in [("closed", 0o711), ("names only", 0o744)] {
        let folder =
            tree.volume.create(&tree.actor, &tree.root, name.as_bytes(), NewKind::Folder, mode).unwrap();
        tree.make(&folder.found, "file", NewKind::File);
    }
    let mut ada = server.log_in(ADA, Version::V3_4);
    let volume = ada.open_volume("share");
    for name in [&b"closed"[..], b"names only"] {
        let place = Place { volume, folder: 2, path: Path::long(name) };
        let answer = ask(&mut ada, EnumerateForm::Ext2, Enumerate { place, ..request(volume, NAMES) }).await;
        assert_eq!(answer.code, ResultCode::ACCESS_DENIED);
    }
}

#[test]
fn a_session_remembers_a_bounded_number_of_places() {
    let listings = Listings::default();
    let of = |folder| ListingKey { volume: 1, folder: FileId::new(0, folder), files: true, folders: true };
    for folder in 0..1000 {
        listings.note(Bookmark { of: of(folder), index: 8, cookie: folder });
        listings.note(Bookmark { of: of(folder), index: 8, cookie: folder + 1 });
    }
    assert_eq!(listings.places.lock().len(), MAX_LISTINGS);
    assert_eq!((listings.nearest(of(999), 8), listings.nearest(of(999), 20)), ((8, 1000), (8, 1000)));
    assert_eq!((listings.nearest(of(999), 7), listings.nearest(of(0), 8)), ((1, 0), (1, 0)));
    assert_eq!((listings.nearest(of(999), 1), listings.nearest(of(999), 8)), ((1, 0), (1, 0)), "begun anew");
}
