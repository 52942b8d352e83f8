//! Searches in a volume with an index, which here proposes everything.

use std::sync::Weak;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use ::spotlight::message::{Value, decode, encode};
use vfs::{Candidate, Finder, FinderStatus, LastingKey, SearchPlace};

use super::*;

/// Proposes each entry of a volume, in the order of places.
struct Everything {
    volume: Weak<Volume>,
    asked: AtomicUsize,
    is_building: AtomicBool,
}

impl Everything {
    /// An index of the volume.
    fn of(volume: &Arc<Volume>) -> Arc<Self> {
        let (asked, is_building) = (AtomicUsize::new(0), AtomicBool::new(false));
        let index = Arc::new(Self { volume: Arc::downgrade(volume), asked, is_building });
        volume.searches().set_finder(Some(index.clone()));
        index
    }

    fn collect(volume: &Volume, folder: &LastingKey, all: &mut Vec<(SearchPlace, LastingKey)>) {
        let found = volume.searches().by_lasting_key(folder).unwrap();
        let mut below = Vec::new();
        volume
            .searches()
            .survey(&found, &mut |entry| {
                all.push((SearchPlace { folder: folder.to_bytes(), name: entry.name }, *folder));
                below.extend(entry.folder);
                true
            })
            .unwrap();
        below.iter().for_each(|folder| Self::collect(volume, folder, all));
    }
}

impl Finder for Everything {
    fn propose(
        &self,
        _query: &query::Query,
        after: Option<&SearchPlace>,
        each: &mut dyn FnMut(&Candidate<'_>) -> bool,
    ) -> vfs::Result<Option<SearchPlace>> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        let volume = self.volume.upgrade().unwrap();
        let mut all = Vec::new();
        let root = volume.lasting_key(&volume.root()?.object.key())?;
        Self::collect(&volume, &root, &mut all);
        all.sort_by(|one, other| one.0.cmp(&other.0));
        let contents = query::Facts::default();
        for (place, folder) in all.iter().filter(|(place, _)| after.is_none_or(|after| place > after)) {
            let candidate = Candidate {
                folder: *folder,
                name: &place.name,
                contents: &contents,
                text: &|_| false,
                read: None,
            };
            if !each(&candidate) {
                break;
            }
        }
        Ok(None)
    }

    fn owner_name(&self, _uid: u32) -> Option<String> {
        None
    }

    fn status(&self) -> FinderStatus {
        let building = self.is_building.load(Ordering::Relaxed).then_some((1, 2));
        FinderStatus { building, ..FinderStatus::default() }
    }
}

/// Forty folders with five files each, a folder of Bob's, and an index.
fn indexed_scene() -> (Server, Tree, Client, u16, Arc<Everything>) {
    let (server, tree, ada, volume) = scene();
    for at in 0..40 {
        let folder = tree.folder(&tree.root, &format!("folder {at}"), 0o755);
        (0..5).for_each(|file| drop(tree.file(&folder, &format!("Found {at} {file}"))));
    }
    let closed = tree.folder(&tree.root, "closed", 0o700);
    tree.file(&closed, "found by nobody");
    let index = Everything::of(&tree.volume);
    (server, tree, ada, volume, index)
}

#[tokio::test]
async fn an_index_answers_as_a_walk_does() {
    let (_server, tree, mut ada, volume, index) = indexed_scene();
    let searches = |matches| {
        [
            SearchRequest { matches, ..by_name(volume, b"found", true) },
            SearchRequest { matches, ..by_name(volume, b"FOUND 3 4", false) },
            SearchRequest { matches, files: FileBitmap::empty(), ..by_name(volume, b"older 1", true) },
            SearchRequest { matches, folders: DirBitmap::empty(), ..by_name(volume, b"1", true) },
            SearchRequest { matches, ..by_name(volume, b"nothing", true) },
        ]
    };
    for matches in [1, 7, 1000] {
        for (at, search) in searches(matches).into_iter().enumerate() {
            let by_index = find(&mut ada, search).await;
            tree.volume.searches().set_finder(None);
            assert_eq!(by_index, find(&mut ada, search).await, "{at}, {matches}");
            tree.volume.searches().set_finder(Some(index.clone()));
        }
    }
    assert!(index.asked.load(Ordering::Relaxed) > 0);
}

#[tokio::test]
async fn pages_of_an_index_stay_right_while_files_change() {
    let (_server, tree, mut ada, volume, _index) = indexed_scene();
    let search = SearchRequest { matches: 3, ..by_name(volume, b"found", true) };
    let first = ask(&mut ada, search).await;
    let (mut all, position) = names(SearchForm::Ext, &first);
    for at in 0..20 {
        tree.file(&tree.root, &format!("found later {at}"));
    }
    all.extend(find(&mut ada, SearchRequest { position, ..search }).await);
    let before: BTreeSet<&String> = all.iter().filter(|name| !name.contains("later")).collect();
    assert_eq!(before.len(), 200);
    assert_eq!(all.len(), all.iter().collect::<BTreeSet<_>>().len(), "each is found once");
}

#[tokio::test]
async fn a_walk_answers_while_the_index_is_built_and_where_no_name_is_asked_for() {
    let (_server, _tree, mut ada, volume, index) = indexed_scene();
    index.is_building.store(true, Ordering::Relaxed);
    assert_eq!(find(&mut ada, by_name(volume, b"found", true)).await.len(), 200);
    index.is_building.store(false, Ordering::Relaxed);
    let lower = Specification { data_length: 0, ..Specification::default() };
    let empty = looking(volume, FILES, RequestBitmap::DATA_LENGTH, (lower, Specification::default()));
    assert_eq!(find(&mut ada, empty).await.len(), 200);
    assert_eq!(index.asked.load(Ordering::Relaxed), 0);
}

fn spotlight_call(volume: u16, message: &[u8]) -> Vec<u8> {
    let mut body = vec![0];
    body.extend(volume.to_be_bytes());
    body.extend(b"\0\0\x80\x04\0\0\0\x03\0\0\0\0\0\0\0\0\0\0\0\0");
    body.extend(message);
    body
}

fn call(name: &str, arguments: Vec<Value>) -> Vec<u8> {
    let head = [Value::Text(name.into()), Value::Integer(1), Value::Integer(2)];
    encode(&Value::Array([Value::Array(head.to_vec())].into_iter().chain(arguments).collect()))
}

async fn spotlight(ada: &mut Client, volume: u16, message: &[u8]) -> Vec<Value> {
    let answer = ada.call(command::SPOTLIGHT_RPC, |w| w.put(&spotlight_call(volume, message))).await;
    assert_eq!(answer.code, ResultCode::NO_ERROR);
    match decode(&answer.payload[4..]).unwrap() {
        Value::Array(values) => values,
        other => vec![other],
    }
}

#[tokio::test]
async fn spotlight_finds_files_by_their_catalogue_numbers() {
    let (_server, tree, mut ada, volume, _index) = indexed_scene();
    let wanted = tree.file(&tree.root, "Été.pdf");
    let opened = ada
        .call(command::SPOTLIGHT_RPC, |w| {
            w.put(&[&[0, 0, volume as u8][..], b"\0\0\x80\x04\0\0\0\x01\0\0\0\0"].concat())
        })
        .await;
    assert_eq!(opened.payload, [&[0, 0, 0, volume as u8, 0, 0, 0, 0][..], b"/share\0"].concat());
    let text = |text: &str| Value::Text(text.into());
    let entries = [
        ("kMDQueryString", text("kMDItemContentTypeTree == \"com.adobe.pdf\"")),
        ("kMDScopeArray", Value::Array(vec![text("/share")])),
        ("kMDAttributeArray", Value::Array(vec![text("kMDItemPath")])),
    ];
    let entries = entries.map(|(name, value)| (name.to_owned(), value)).to_vec();
    let open = call("openQueryWithParams:forContext:", vec![Value::Dictionary(entries)]);
    assert_eq!(spotlight(&mut ada, volume, &open).await, [Value::Integer(0)]);
    let fetch = call("fetchQueryResultsForContext:", Vec::new());
    let mut results = Vec::new();
    crate::server::testing::until("a result", async || {
        results = spotlight(&mut ada, volume, &fetch).await;
        matches!(&results[..], [_, Value::Files(files), _] if !files.numbers.is_empty())
    })
    .await;
    let [_, Value::Files(files), Value::Metadata(Some(described))] = &results[..] else {
        panic!("{results:?}")
    };
    let id = ada.session().volumes.find(volume).unwrap().id_of(&wanted.object.key()).unwrap();
    assert_eq!(files.numbers, [u64::from(id.0)]);
    let path = Value::Array(vec![text("/share/E\u{301}te\u{301}.pdf")]);
    assert_eq!(**described, Value::Array(vec![Value::Nil, path]));
}

#[tokio::test]
async fn a_volume_without_an_index_does_not_know_spotlight() {
    let (_server, _tree, mut ada, volume) = scene();
    let message = call("fetchPropertiesForContext:", Vec::new());
    let answer = ada.call(command::SPOTLIGHT_RPC, |w| w.put(&spotlight_call(volume, &message))).await;
    assert_eq!(answer.code, ResultCode::CALL_NOT_SUPPORTED);
}
