//! Searches of Macs through the pipe.

use query::language::Clock;
use spotlight::message::{FileNumbers, Value, decode, encode};
use spotlight::{ClientSearch, FoundFile, Store};

use super::*;

/// A share that has one file, whatever is asked.
pub(super) struct OneFile;

impl Store for OneFile {
    fn base(&self) -> String {
        "/music".into()
    }

    fn uuid(&self) -> [u8; 16] {
        [7; 16]
    }

    fn path_scope(&self) -> String {
        "/".into()
    }

    fn clock(&self) -> Clock {
        Clock { now: 1_715_774_400, zone: jiff::tz::TimeZone::UTC }
    }

    fn look(&self, search: Arc<ClientSearch>) {
        let time = vfs::Time { secs: 0, nanos: 0 };
        let file = FoundFile {
            number: 42,
            path: vec!["song.mp3".into()],
            is_folder: false,
            length: 3,
            owner: 1000,
            group: 100,
            modified: time,
            accessed: time,
            created: None,
        };
        search.deliver(vec![file], None);
    }
}

fn text(text: &str) -> Vec<u8> {
    let length = text.len() as u32 + 1;
    let mut bytes = [1025u32.to_le_bytes(), [0; 4], length.to_le_bytes()].concat();
    bytes.extend(text.as_bytes());
    bytes.resize(bytes.len() + 1, 0);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

fn open(pipe: &mut Pipe, share: &str) -> Vec<u8> {
    let numbers = [9u32, 23, 0].map(u32::to_le_bytes).concat();
    call(pipe, 0, &[numbers, text("/Volumes/music"), text(share)].concat()).unwrap()
}

/// What follows the path in the answer to an open.
fn handle(opened: &[u8]) -> Vec<u8> {
    opened[opened.len() - 20..].to_vec()
}

fn command(pipe: &mut Pipe, handle: &[u8], message: &[u8]) -> Result<Vec<u8>, Fault> {
    let mut stub = handle.to_vec();
    let length = message.len() as u32;
    let numbers = [0, 9, 23, 0, 0x6b00_0001, length, length, 1, length, 0, length];
    stub.extend(numbers.map(u32::to_le_bytes).concat());
    stub.extend(message);
    stub.resize(stub.len().next_multiple_of(4), 0);
    stub.extend([0, 64 << 10, 1, 64 << 10, 0, 0].map(u32::to_le_bytes).concat());
    call(pipe, 2, &stub)
}

fn asked(name: &str, arguments: Vec<Value>) -> Vec<u8> {
    let head = vec![Value::Text(name.into()), Value::Integer(5), Value::Integer(6)];
    encode(&Value::Array([Value::Array(head)].into_iter().chain(arguments).collect()))
}

/// The message in the answer to a command, whose status is success.
fn message(answer: &[u8]) -> Value {
    assert_eq!((&answer[..4], &answer[answer.len() - 4..]), (&[0; 4][..], &[0; 4][..]));
    let length = u32::from_le_bytes(answer[4..8].try_into().unwrap()) as usize;
    decode(&answer[28..28 + length]).unwrap()
}

/// The layout of Samba's description (mdssvc.idl): the path is in an array of 1,025 bytes.
#[test]
fn a_share_is_opened_by_its_name() {
    let mut pipe = bound(BIND_MDSSVC, CallerRank::User);
    let opened = open(&mut pipe, "music");
    let path = b"\x09\0\0\0\x17\0\0\0\0\0\0\0\x01\x04\0\0\0\0\0\0\x07\0\0\0/music\0\0";
    assert_eq!(opened[..32], path[..]);
    assert_eq!(opened.len(), 32 + 20);
    let handle = handle(&opened);
    let flags = call(&mut pipe, 1, &[&handle[..], &[0; 24]].concat()).unwrap();
    assert_eq!(flags, [0, 0x6b00_0001, 0].map(u32::to_le_bytes).concat());
    let closed = call(&mut pipe, 3, &[&handle[..], &[0; 16]].concat()).unwrap();
    assert_eq!(closed, [&handle[..], &[0; 4]].concat());
    assert_eq!(call(&mut pipe, 3, &[&handle[..], &[0; 16]].concat()), Err(Fault::PROTOCOL));
}

/// As macOS and Samba answer: no path, no handle, and no failure.
#[test]
fn a_share_that_cannot_be_searched_has_no_handle() {
    let mut pipe = bound(BIND_MDSSVC, CallerRank::User);
    let opened = open(&mut pipe, "other");
    assert_eq!(opened[12..28], *b"\x01\x04\0\0\0\0\0\0\x01\0\0\0\0\0\0\0");
    assert_eq!(handle(&opened), [0; 20]);
    assert_eq!(call(&mut pipe, 1, &[0; 44]), Ok(vec![0; 12]));
    assert_eq!(command(&mut pipe, &[0; 20], b""), Ok(vec![0; 20]));
    assert_eq!(command(&mut pipe, &[7; 20], b""), Err(Fault::PROTOCOL));
}

#[test]
fn a_search_finds_files_and_their_paths() {
    let mut pipe = bound(BIND_MDSSVC, CallerRank::User);
    let handle = handle(&open(&mut pipe, "music"));
    let text = |text: &str| Value::Text(text.into());
    let entries = [
        ("kMDQueryString", text("kMDItemFSName == \"*\"")),
        ("kMDScopeArray", Value::Array(vec![text("/music")])),
        ("kMDAttributeArray", Value::Array(vec![text("kMDItemFSName")])),
    ];
    let entries = entries.map(|(name, value)| (name.to_owned(), value)).to_vec();
    let open = asked("openQueryWithParams:forContext:", vec![Value::Dictionary(entries)]);
    let answer = command(&mut pipe, &handle, &open).unwrap();
    assert_eq!(message(&answer), Value::Array(vec![Value::Integer(0)]));
    let answer = command(&mut pipe, &handle, &asked("fetchQueryResultsForContext:", Vec::new())).unwrap();
    let files = FileNumbers { purpose: FileNumbers::FOUND, context: 6, numbers: vec![42] };
    let names = Value::Array(vec![Value::Nil, Value::Array(vec![text("song.mp3")])]);
    let expected =
        vec![Value::Integer(0), Value::Files(files.clone()), Value::Metadata(Some(Box::new(names)))];
    assert_eq!(message(&answer), Value::Array(expected));
    let attributes = asked(
        "fetchAttributes:forOIDArray:context:",
        vec![Value::Array(vec![text("kMDItemPath")]), Value::Files(files)],
    );
    let Value::Array(described) = message(&command(&mut pipe, &handle, &attributes).unwrap()) else {
        panic!()
    };
    let path = Value::Array(vec![Value::Nil, Value::Array(vec![text("/music/song.mp3")])]);
    assert_eq!(described[2], Value::Metadata(Some(Box::new(path))));
}

#[test]
fn a_command_that_is_none_has_no_message_and_a_status() {
    let mut pipe = bound(BIND_MDSSVC, CallerRank::User);
    let handle = handle(&open(&mut pipe, "music"));
    let failed = [0, 0, 0, 0, u32::MAX].map(u32::to_le_bytes).concat();
    for message in [&b""[..], b"432130dm", &asked("formatDisk:", Vec::new())] {
        assert_eq!(command(&mut pipe, &handle, message), Ok(failed.clone()));
    }
}

#[test]
fn a_client_may_have_few_shares_open() {
    let mut pipe = bound(BIND_MDSSVC, CallerRank::User);
    for _ in 0..16 {
        open(&mut pipe, "music");
    }
    let numbers = [9u32, 23, 0].map(u32::to_le_bytes).concat();
    let one_more = [numbers, text("/"), text("music")].concat();
    assert_eq!(call(&mut pipe, 0, &one_more), Err(Fault::NO_MEMORY));
}
