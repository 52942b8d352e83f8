use std::collections::BTreeSet;
use std::sync::Arc;

use vfs::backend::{Found, NewKind};
use vfs::mac::{FileBits, FinderInfo, Metadata};
use vfs::state::{ClientId, Party};
use vfs::{Actor, Beside, Caller, SetAttributes, SetTime, Time, Volume};
use wire::Reader;

use super::*;
use crate::server::testing::{ADA, Answer, Client, Server};
use crate::wire::search::{RequestBitmap, SearchRequest, Specification};
use crate::wire::{Path, Version, strings};

mod indexed;

struct Tree {
    volume: Arc<Volume>,
    root: Found,
    actor: Actor,
}

impl Tree {
    fn of(server: &Server) -> Self {
        let volume = server.volume("share");
        let root = volume.root().unwrap();
        Self { volume, root, actor: Actor::new(Caller::root(), Party::client(ClientId(1))) }
    }

    fn file(&self, folder: &Found, name: &str) -> Found {
        let made = self.volume.create(&self.actor, folder, name.as_bytes(), NewKind::File, 0o644);
        made.unwrap().found
    }

    fn folder(&self, folder: &Found, name: &str, mode: u32) -> Found {
        let made = self.volume.create(&self.actor, folder, name.as_bytes(), NewKind::Folder, mode);
        made.unwrap().found
    }

    fn describe(&self, file: &Found, name: &str, change: impl FnOnce(&mut Metadata)) {
        let place = Some(Beside { folder: &self.root.object, name: name.as_bytes() });
        self.volume.change_metadata(&self.actor, file, place, change).unwrap();
    }
}

const BOTH: (FileBitmap, DirBitmap) = (FileBitmap::LONG_NAME, DirBitmap::LONG_NAME);
const FILES: (FileBitmap, DirBitmap) = (FileBitmap::LONG_NAME, DirBitmap::empty());
const FOLDERS: (FileBitmap, DirBitmap) = (FileBitmap::empty(), DirBitmap::LONG_NAME);

fn looking<'a>(
    volume: u16,
    (files, folders): (FileBitmap, DirBitmap),
    bitmap: RequestBitmap,
    (lower, upper): (Specification<'a>, Specification<'a>),
) -> SearchRequest<'a> {
    SearchRequest { volume, matches: 1000, position: [0; 16], files, folders, bitmap, lower, upper }
}

fn by_name(volume: u16, name: &[u8], is_partial: bool) -> SearchRequest<'_> {
    let bit = if is_partial { RequestBitmap::PARTIAL_NAME.0 } else { 0 };
    let lower = Specification { utf8_name: (Path::HINT_UTF8, name), ..Specification::default() };
    let bitmap = RequestBitmap(RequestBitmap::UTF8_NAME.0 | bit);
    looking(volume, BOTH, bitmap, (lower, Specification::default()))
}

async fn ask(client: &mut Client, search: SearchRequest<'_>) -> Answer {
    client.call(command::CAT_SEARCH_EXT, |w| search.encode(SearchForm::Ext, w)).await
}

/// The long names in a reply, and the position for the next request.
fn names(form: SearchForm, answer: &Answer) -> (Vec<String>, [u8; 16]) {
    let reply = search::Reply::decode(&mut Reader::new(&answer.payload)).unwrap();
    let name = |entry: crate::wire::enumerate::Entry<'_>| {
        let name = strings::pascal::read(&mut Reader::new(&entry.parameters[2..])).unwrap();
        String::from_utf8_lossy(name).into_owned()
    };
    let found: Vec<_> = form.framing().entries(reply.entries).map(|entry| name(entry.unwrap())).collect();
    assert_eq!(found.len() as u32, reply.count);
    (found, reply.position)
}

/// All results of a search, over several requests.
async fn find(client: &mut Client, mut search: SearchRequest<'_>) -> Vec<String> {
    let mut all = Vec::new();
    for _ in 0..10_000 {
        let answer = ask(client, search).await;
        let (found, position) = names(SearchForm::Ext, &answer);
        all.extend(found);
        match answer.code {
            ResultCode::NO_ERROR => search.position = position,
            ResultCode::EOF_ERROR => break,
            other => panic!("{other:?}"),
        }
    }
    all.sort();
    all
}

fn scene() -> (Server, Tree, Client, u16) {
    let server = Server::new();
    let tree = Tree::of(&server);
    let ada = server.log_in(ADA, Version::V3_4);
    let volume = ada.open_volume("share");
    (server, tree, ada, volume)
}

#[tokio::test]
async fn names_are_found_whole_or_in_part_whatever_their_case_and_form() {
    let (_server, tree, mut ada, volume) = scene();
    let folder = tree.folder(&tree.root, "Data", 0o755);
    let below = tree.folder(&folder, "deeper", 0o755);
    tree.file(&below, "my data.txt");
    tree.file(&below, "\u{c9}t\u{e9}");
    tree.file(&tree.root, "a:b");
    assert_eq!(find(&mut ada, by_name(volume, b"DATA", false)).await, ["Data"]);
    assert_eq!(find(&mut ada, by_name(volume, b"DATA", true)).await, ["Data", "my data.txt"]);
    assert_eq!(find(&mut ada, by_name(volume, b".", true)).await, ["my data.txt"]);
    assert_eq!(find(&mut ada, by_name(volume, b"none", true)).await, [""; 0]);
    assert_eq!(find(&mut ada, by_name(volume, "e\u{301}T".as_bytes(), true)).await.len(), 1);
    assert_eq!(find(&mut ada, by_name(volume, "e\u{301}te\u{301}".as_bytes(), false)).await.len(), 1);
    assert_eq!(find(&mut ada, by_name(volume, b"A/B", false)).await, ["a/b"]);
    let long_name = |name| {
        let lower = Specification { long_name: name, ..Specification::default() };
        looking(volume, BOTH, RequestBitmap::LONG_NAME, (lower, Specification::default()))
    };
    assert_eq!(find(&mut ada, long_name(b"\x8et\x8e")).await.len(), 1, "MacRoman");
    assert_eq!(
        find(&mut ada, SearchRequest { folders: DirBitmap::empty(), ..long_name(b"data") }).await,
        [""; 0]
    );
}

#[tokio::test]
async fn a_search_pauses_when_enough_is_found_and_goes_on_from_its_position() {
    let (_server, tree, mut ada, volume) = scene();
    for at in 0..40 {
        let folder = tree.folder(&tree.root, &format!("folder {at}"), 0o755);
        (0..5).for_each(|file| drop(tree.file(&folder, &format!("found {at} {file}"))));
    }
    for matches in [1, 7, 1000] {
        let all = find(&mut ada, SearchRequest { matches, ..by_name(volume, b"found", true) }).await;
        assert_eq!((all.len(), all.iter().collect::<BTreeSet<_>>().len()), (200, 200), "{matches}");
    }
    let three = SearchRequest { matches: 3, ..by_name(volume, b"found", true) };
    let first = ask(&mut ada, three).await;
    let (found, position) = names(SearchForm::Ext, &first);
    assert_eq!((first.code, found.len()), (ResultCode::NO_ERROR, 3));
    assert_eq!(ask(&mut ada, SearchRequest { position, ..three }).await.code, ResultCode::NO_ERROR);
    // A used position is invalid, as is one that never existed.
    for position in [position, [7; 16]] {
        assert_eq!(
            ask(&mut ada, SearchRequest { position, ..three }).await.code,
            ResultCode::CATALOG_CHANGED
        );
    }
}

#[tokio::test]
async fn a_session_keeps_a_bounded_number_of_searches() {
    let (_server, tree, mut ada, volume) = scene();
    (0..10).for_each(|at| drop(tree.file(&tree.root, &format!("found {at}"))));
    let one = SearchRequest { matches: 1, ..by_name(volume, b"found", true) };
    let mut positions = Vec::new();
    for _ in 0..MAX_SEARCHES + 1 {
        positions.push(names(SearchForm::Ext, &ask(&mut ada, one).await).1);
    }
    let oldest = SearchRequest { position: positions[0], ..one };
    assert_eq!(ask(&mut ada, oldest).await.code, ResultCode::CATALOG_CHANGED);
    for position in &positions[1..] {
        assert_eq!(
            ask(&mut ada, SearchRequest { position: *position, ..one }).await.code,
            ResultCode::NO_ERROR
        );
    }
}

#[tokio::test]
async fn attributes_and_finder_information_are_compared_under_their_masks() {
    let (_server, tree, mut ada, volume) = scene();
    let (text, other) = (tree.file(&tree.root, "text"), tree.file(&tree.root, "other"));
    let info = FinderInfo::new(*b"TEXTttxt\0\x0c\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0");
    tree.describe(&text, "text", |metadata| metadata.set_finder_info(info));
    tree.describe(&other, "other", |metadata| metadata.bits = FileBits::LOCKED);
    let all = Specification::default();
    let attributes = |value, mask| {
        let (lower, upper) =
            (Specification { attributes: value, ..all }, Specification { attributes: mask, ..all });
        looking(volume, FILES, RequestBitmap::ATTRIBUTES, (lower, upper))
    };
    assert_eq!(find(&mut ada, attributes(0x0020, 0x0020)).await, ["other"]);
    assert_eq!(find(&mut ada, attributes(0, 0x0020)).await, ["text"]);
    assert_eq!(find(&mut ada, attributes(0x01a0, 0)).await, ["other", "text"], "nothing is compared");
    let finder_info = |value: &[u8], mask: &[u8]| {
        let padded = |bytes: &[u8]| {
            let mut padded = [0; 32];
            padded[..bytes.len()].copy_from_slice(bytes);
            Specification { finder_info: padded, ..all }
        };
        looking(volume, FILES, RequestBitmap::FINDER_INFO, (padded(value), padded(mask)))
    };
    assert_eq!(find(&mut ada, finder_info(b"TEXT", b"\xff\xff\xff\xff")).await, ["text"]);
    let label = b"\0\0\0\0\0\0\0\0\0\x0c";
    let of_label = b"\0\0\0\0\0\0\0\0\0\x0e";
    assert_eq!(find(&mut ada, finder_info(label, of_label)).await, ["text"]);
    assert_eq!(find(&mut ada, finder_info(b"APPL", b"\xff\xff\xff\xff")).await, [""; 0]);
}

#[tokio::test]
async fn dates_lengths_parents_and_counts_are_within_their_bounds() {
    let (_server, tree, mut ada, volume) = scene();
    let file = tree.file(&tree.root, "file");
    tree.file(&tree.root, "empty");
    // 1,000,000,000 is 53,315,200 seconds after the beginning of 2000.
    let at = Time { secs: 1_000_000_000, nanos: 0 };
    let changes = SetAttributes { size: Some(500), modified: SetTime::To(at), ..SetAttributes::default() };
    tree.volume.set_attributes(&tree.actor, &file, &changes).unwrap();
    tree.describe(&file, "file", |metadata| metadata.times.backup = Some(at));
    let all = Specification::default();
    let between = |of, bitmap, lower, upper| looking(volume, of, bitmap, (lower, upper));
    let modified = |from, to| {
        let spec = |modified| Specification { modified, ..all };
        between(FILES, RequestBitmap::MODIFIED, spec(from), spec(to))
    };
    assert_eq!(find(&mut ada, modified(53_315_200, 53_315_200)).await, ["file"]);
    assert_eq!(find(&mut ada, modified(53_315_201, 53_315_300)).await, [""; 0]);
    let backup = |from, to| {
        let spec = |backup| Specification { backup, ..all };
        between(FILES, RequestBitmap::BACKUP, spec(from), spec(to))
    };
    assert_eq!(find(&mut ada, backup(0, i32::MAX)).await, ["file"], "the other has no backup date");
    let lengths = |from, to| {
        let spec = |data_length| Specification { data_length, ..all };
        between(FILES, RequestBitmap::DATA_LENGTH, spec(from), spec(to))
    };
    assert_eq!(find(&mut ada, lengths(1, 500)).await, ["file"]);
    assert_eq!(find(&mut ada, lengths(501, u32::MAX)).await, [""; 0]);
    let folder = tree.folder(&tree.root, "folder", 0o755);
    tree.file(&folder, "in it");
    let counts = |from, to| {
        let spec = |offspring| Specification { offspring, ..all };
        between(FOLDERS, RequestBitmap::OFFSPRING_COUNT, spec(from), spec(to))
    };
    assert_eq!(find(&mut ada, counts(1, 1)).await, ["folder"]);
    assert_eq!(find(&mut ada, counts(2, 9)).await, [""; 0]);
    let parent = |parent| {
        let spec = Specification { parent, ..all };
        between(BOTH, RequestBitmap::PARENT_ID, spec, spec)
    };
    assert_eq!(find(&mut ada, parent(2)).await, ["empty", "file", "folder"]);
}

#[tokio::test]
async fn what_the_searcher_may_not_see_is_not_told() {
    let (_server, tree, mut ada, volume) = scene();
    for (name, mode) in [("open", 0o755), ("closed", 0o700), ("names only", 0o744), ("passage", 0o711)] {
        let folder = tree.folder(&tree.root, name, mode);
        tree.file(&folder, &format!("secret of {name}"));
        let below = tree.folder(&folder, "below", 0o755);
        tree.file(&below, &format!("secret below {name}"));
    }
    let found = find(&mut ada, by_name(volume, b"secret", true)).await;
    assert_eq!(found, ["secret below open", "secret of open"]);
}

#[tokio::test]
async fn bitmaps_that_mean_nothing_are_refused() {
    let (_server, _tree, mut ada, volume) = scene();
    let all = Specification::default();
    let nobody =
        looking(volume, (FileBitmap::empty(), DirBitmap::empty()), RequestBitmap::ATTRIBUTES, (all, all));
    assert_eq!(ask(&mut ada, nobody).await.code, ResultCode::BITMAP_ERROR);
    for (of, bit) in [(BOTH, 9), (BOTH, 7), (FILES, 12), (FOLDERS, 10), (BOTH, 30)] {
        let unknown = looking(volume, of, RequestBitmap(1 << bit), (all, all));
        assert_eq!(ask(&mut ada, unknown).await.code, ResultCode::BITMAP_ERROR, "{bit}");
    }
    let none = SearchRequest { matches: 0, ..by_name(volume, b"x", true) };
    assert_eq!(ask(&mut ada, none).await.code, ResultCode::PARAM_ERROR);
    let elsewhere = by_name(volume + 1, b"x", true);
    assert_eq!(ask(&mut ada, elsewhere).await.code, ResultCode::PARAM_ERROR);
}

#[tokio::test]
async fn the_older_form_tells_long_names_and_parents_alone() {
    let server = Server::new();
    let tree = Tree::of(&server);
    tree.file(&tree.root, "Read Me");
    let mut ada = server.log_in(ADA, Version::V2_2);
    let volume = ada.open_volume("share");
    let lower = Specification { long_name: b"read", ..Specification::default() };
    let bitmap = RequestBitmap(RequestBitmap::LONG_NAME.0 | RequestBitmap::PARTIAL_NAME.0);
    let asked = (FileBitmap(0x0142), DirBitmap(0x0142));
    let search = looking(volume, asked, bitmap, (lower, Specification::default()));
    let answer = ada.call(command::CAT_SEARCH, |w| search.encode(SearchForm::Plain, w)).await;
    assert_eq!(answer.code, ResultCode::EOF_ERROR);
    // Reference, FPCatSearch: position, bitmaps, count; the length of a result counts neither itself nor the flag.
    let mut expected = vec![0; 16];
    expected.extend(b"\0\x42\0\x42\0\0\0\x01\x0e\0\0\0\0\x02\0\x06\x07Read Me");
    assert_eq!(answer.payload, expected);
    let newer = ada.call(command::CAT_SEARCH_EXT, |w| search.encode(SearchForm::Ext, w)).await;
    assert_eq!(newer.code, ResultCode::CALL_NOT_SUPPORTED);
}

#[tokio::test]
async fn with_room_for_few_folders_everything_is_still_found_once() {
    let (_server, tree, mut ada, volume) = scene();
    for at in 0..9 {
        let folder = tree.folder(&tree.root, &format!("folder {at}"), 0o755);
        for below in 0..9 {
            let folder = tree.folder(&folder, &format!("below {below}"), 0o755);
            tree.file(&folder, &format!("found {at} {below}"));
        }
    }
    for (most, matches) in [(1, 1000), (1, 1), (3, 1), (3, 1000), (20, 2)] {
        let walk = SearchRest::Walked(SearchWalk { most, ..SearchWalk::of(tree.root.object.key()) });
        let position = ada.session().searches.keep(volume, walk).encode();
        let search = SearchRequest { position, matches, ..by_name(volume, b"found", true) };
        let all = find(&mut ada, search).await;
        assert_eq!((all.len(), all.iter().collect::<BTreeSet<_>>().len()), (81, 81), "{most} {matches}");
    }
}
