//! Searches of Macs: crates/spotlight, crates/query/src/spotlight, and FPSpotlightRPC.

use std::sync::Arc;

use jiff::tz::TimeZone;
use query::language::Clock;
use query::{Facts, spotlight as language};
use spotlight::message::{Value, decode, encode};
use spotlight::{Client, ClientSearch, FoundFile, Store};
use wire::Reader;

fn clock() -> Clock {
    Clock { now: 1_715_774_400, zone: TimeZone::UTC }
}

/// What is read is written so that it is read again, unless a number is none.
pub fn messages(data: &[u8]) {
    let _ = afp::wire::spotlight::SpotlightRequest::decode(&mut Reader::new(data));
    let Ok(value) = decode(data) else { return };
    if data.len() < 4 << 10 && value == value.clone() {
        assert_eq!(decode(&encode(&value)).map(|again| same(&again, &value)), Ok(true));
    }
}

/// The same, but for what the bytes cannot say: purpose and context of no files.
fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Files(one), Value::Files(other)) => one.numbers == other.numbers,
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| same(one, other))
        }
        (Value::Dictionary(one), Value::Dictionary(other)) => {
            let mut pairs = one.iter().zip(other);
            one.len() == other.len() && pairs.all(|(one, other)| one.0 == other.0 && same(&one.1, &other.1))
        }
        (Value::Metadata(Some(one)), Value::Metadata(Some(other))) => same(one, other),
        (one, other) => one == other,
    }
}

/// A query is within its limits, and can be asked of a file.
pub fn queries(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Ok(query) = language::parse(text, &clock()) {
        assert!(query.is_within_limits());
        let _ = query.matches(&Facts::of_name("Annual Report.pdf", vfs::Kind::File, [0; 4]));
    }
}

/// A client's calls: messages with their lengths before them.
pub fn calls(data: &[u8]) {
    let mut client = Client::new(Arc::new(FuzzedStore));
    let mut r = Reader::new(data);
    while let Ok(length) = r.u16_le() {
        let Ok(message) = r.take(length.into()) else { return };
        if let Ok(answer) = client.answer(message, 4096) {
            assert!(decode(&answer).is_ok() && answer.len() < 64 << 10);
        }
    }
}

struct FuzzedStore;

impl Store for FuzzedStore {
    fn base(&self) -> String {
        "/share".into()
    }

    fn uuid(&self) -> [u8; 16] {
        [7; 16]
    }

    fn path_scope(&self) -> String {
        "/".into()
    }

    fn clock(&self) -> Clock {
        clock()
    }

    fn look(&self, search: Arc<ClientSearch>) {
        let time = vfs::Time { secs: 0, nanos: 0 };
        let file = |number| FoundFile {
            number,
            path: vec!["a".into(), "b.pdf".into()],
            is_folder: false,
            length: number,
            owner: 1,
            group: 2,
            modified: time,
            accessed: time,
            created: None,
        };
        search.deliver((0..3).map(file).collect(), None);
    }
}
