//! Calls of a client, with a store that finds what the test says.

use std::sync::Mutex;

use formats::Time;
use jiff::tz::TimeZone;
use vfs::SearchPlace;

use super::*;

/// Finds one page after the other, when the test says so.
struct TestStore {
    looked: Mutex<Vec<Arc<ClientSearch>>>,
}

impl TestStore {
    fn new() -> Arc<Self> {
        Arc::new(Self { looked: Mutex::new(Vec::new()) })
    }

    fn last(&self) -> Arc<ClientSearch> {
        self.looked.lock().unwrap().last().expect("a search").clone()
    }

    fn looked(&self) -> usize {
        self.looked.lock().unwrap().len()
    }
}

impl Store for TestStore {
    fn base(&self) -> String {
        "/music".into()
    }

    fn uuid(&self) -> [u8; 16] {
        *b"0123456789abcdef"
    }

    fn path_scope(&self) -> String {
        "/".into()
    }

    fn clock(&self) -> Clock {
        Clock { now: 1_715_774_400, zone: TimeZone::UTC }
    }

    fn look(&self, search: Arc<ClientSearch>) {
        self.looked.lock().unwrap().push(search);
    }
}

fn file(number: u64, name: &str) -> FoundFile {
    let time = Time { secs: 978_307_200, nanos: 0 };
    FoundFile {
        number,
        path: vec![name.into()],
        is_folder: false,
        length: number,
        owner: 1000,
        group: 100,
        modified: time,
        accessed: time,
        created: None,
    }
}

fn text(text: &str) -> Value {
    Value::Text(text.into())
}

fn call(name: &str, number: u64, arguments: Vec<Value>) -> Vec<u8> {
    let head = Value::Array(vec![text(name), Value::Integer(number), Value::Integer(9)]);
    encode(&Value::Array([head].into_iter().chain(arguments).collect()))
}

fn open(number: u64, query: &str, scope: Value) -> Vec<u8> {
    let entries = [
        ("kMDQueryString", text(query)),
        ("kMDScopeArray", Value::Array(vec![scope])),
        ("kMDAttributeArray", Value::Array(vec![text("kMDItemFSName"), text("kMDItemAlbum")])),
    ];
    let entries = entries.map(|(name, value)| (name.to_owned(), value)).to_vec();
    call("openQueryWithParams:forContext:", number, vec![Value::Dictionary(entries)])
}

fn answer(client: &mut Client, message: &[u8]) -> Vec<Value> {
    let answer = client.answer(message, 64 << 10).unwrap();
    match decode(&answer).unwrap() {
        Value::Array(values) => values,
        other => vec![other],
    }
}

fn fetch(client: &mut Client, number: u64) -> Vec<Value> {
    answer(client, &call("fetchQueryResultsForContext:", number, Vec::new()))
}

fn second() -> SearchPlace {
    SearchPlace { folder: b"key".to_vec(), name: b"m".to_vec() }
}

const QUERY: &str = "kMDItemFSName==\"a*\"cd";

#[test]
fn a_search_is_opened_fetched_and_closed() {
    let store = TestStore::new();
    let mut client = Client::new(store.clone());
    assert_eq!(answer(&mut client, &open(5, QUERY, text("/music"))), [Value::Integer(0)]);
    let nothing = FileNumbers { purpose: FileNumbers::FOUND, context: 9, numbers: Vec::new() };
    // A list without numbers has neither purpose nor context on the wire.
    let nothing_read = Value::Files(FileNumbers { purpose: 0, context: 0, ..nothing.clone() });
    assert_eq!(fetch(&mut client, 5), [Value::Integer(0x23), nothing_read.clone(), Value::Metadata(None)]);
    store.last().deliver(vec![file(7, "a")], None);
    let found = FileNumbers { numbers: vec![7], ..nothing };
    let values = Value::Array(vec![Value::Nil, Value::Array(vec![text("a"), Value::Nil])]);
    let expected = [Value::Integer(0), Value::Files(found), Value::Metadata(Some(Box::new(values)))];
    assert_eq!(fetch(&mut client, 5), expected);
    assert_eq!(fetch(&mut client, 5), [Value::Integer(0), nothing_read, Value::Metadata(None)]);
    let closed = answer(&mut client, &call("closeQueryForContext:", 5, Vec::new()));
    assert_eq!(
        (closed, fetch(&mut client, 5)),
        (vec![Value::Integer(u64::MAX)], vec![Value::Integer(u64::MAX)])
    );
}

#[test]
fn the_next_page_is_looked_for_when_all_was_fetched() {
    let store = TestStore::new();
    let mut client = Client::new(store.clone());
    answer(&mut client, &open(5, QUERY, text("/music")));
    assert_eq!(store.last().place(), None);
    store.last().deliver((0..150).map(|number| file(number, "a")).collect(), Some(second()));
    fetch(&mut client, 5);
    assert_eq!(store.looked(), 1, "50 results wait");
    assert_eq!(fetch(&mut client, 5)[0], Value::Integer(0x23));
    assert_eq!((store.looked(), store.last().place()), (2, Some(second())));
    store.last().fail();
    assert_eq!(fetch(&mut client, 5), [Value::Integer(u64::MAX)]);
}

#[test]
fn an_answer_stays_in_its_room() {
    let store = TestStore::new();
    let mut client = Client::new(store.clone());
    answer(&mut client, &open(5, QUERY, text("/music")));
    store.last().deliver((0..100).map(|number| file(number, &"a".repeat(200))).collect(), None);
    let message = call("fetchQueryResultsForContext:", 5, Vec::new());
    let mut fetched = 0;
    while fetched < 100 {
        let answer = client.answer(&message, 4096).unwrap();
        assert!(answer.len() <= 4096, "{}", answer.len());
        let Value::Array(values) = decode(&answer).unwrap() else { panic!("no array") };
        let Value::Files(files) = &values[1] else { panic!("no files") };
        assert!(!files.numbers.is_empty());
        fetched += files.numbers.len();
    }
}

#[test]
fn a_search_that_cannot_be_done_is_refused() {
    let mut client = Client::new(TestStore::new());
    let refused = [Value::Integer(u64::MAX)];
    assert_eq!(answer(&mut client, &open(5, "kMDItemFSName==", text("/music"))), refused);
    assert_eq!(answer(&mut client, &open(5, QUERY, text("/musical"))), refused, "another share");
    assert_eq!(answer(&mut client, &open(5, QUERY, text("/music/../other"))), refused);
    assert_eq!(answer(&mut client, &call("openQueryWithParams:forContext:", 5, Vec::new())), refused);
    assert!(client.answer(&call("formatDisk:", 5, Vec::new()), 4096).is_err());
}

#[test]
fn a_scope_is_a_path_below_the_share() {
    let store = TestStore::new();
    let mut client = Client::new(store.clone());
    for (scope, expected) in [
        (text("/music"), vec![]),
        (text("/"), vec![]),
        (text("/music/a/b/"), vec!["a", "b"]),
        (Value::Array(vec![Value::WideText("/music/a".into())]), vec!["a"]),
    ] {
        assert_eq!(answer(&mut client, &open(5, QUERY, scope)), [Value::Integer(0)]);
        assert_eq!(store.last().scope, expected);
    }
}

#[test]
fn attributes_of_found_files_can_be_asked_for() {
    let store = TestStore::new();
    let mut client = Client::new(store.clone());
    answer(&mut client, &open(5, QUERY, text("/music")));
    store.last().deliver(vec![file(7, "a")], None);
    fetch(&mut client, 5);
    let ask = |number| {
        let files = FileNumbers { purpose: FileNumbers::FOUND, context: 3, numbers: vec![number] };
        let path = Value::Array(vec![text("kMDItemPath")]);
        call("fetchAttributes:forOIDArray:context:", 6, vec![path, Value::Files(files)])
    };
    let known = answer(&mut client, &ask(7));
    let path = Value::Array(vec![Value::Nil, Value::Array(vec![text("/music/a")])]);
    assert_eq!((&known[0], &known[2]), (&Value::Integer(0), &Value::Metadata(Some(Box::new(path)))));
    let unknown = Value::Metadata(Some(Box::new(Value::Array(vec![Value::Nil, Value::Nil]))));
    assert_eq!(answer(&mut client, &ask(8))[2], unknown);
}

#[test]
fn the_oldest_search_gives_way() {
    let mut client = Client::new(TestStore::new());
    for number in 0..20 {
        answer(&mut client, &open(number, QUERY, text("/music")));
    }
    assert_eq!(fetch(&mut client, 3), [Value::Integer(u64::MAX)]);
    assert_eq!(fetch(&mut client, 4)[0], Value::Integer(0x23));
}
