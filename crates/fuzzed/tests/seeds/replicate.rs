//! One of each message of a replication.

use replicate::wire::{
    Begin, Entry, Head, Kind, Message, Native, Owner, Place, Receiving, Row, Stamp, State, StreamFormat,
    VERSION, Want,
};
use wire::Writer;

use super::Seed;

fn frames(messages: &[Message]) -> Vec<u8> {
    let mut w = Writer::new();
    for message in messages {
        let mut payload = Writer::new();
        message.encode(&mut payload);
        Head { kind: message.kind(), length: payload.len() as u32, checksum: 0 }.encode(&mut w);
        w.put(payload.as_bytes());
    }
    w.into_bytes()
}

fn entry(place: Place, kind: Kind, mode: u32) -> Message {
    Message::Entry(Box::new(Entry {
        place,
        kind,
        mode,
        uid: 1000,
        gid: 100,
        is_linked: false,
        accessed: Stamp { seconds: -1, nanoseconds: 999_999_999 },
        modified: Stamp { seconds: 1_700_000_000, nanoseconds: 5 },
        xattrs: vec![(b"user.tag".to_vec(), b"red".to_vec())],
        owner: Owner::Sibling,
        forks: Some(vec![b"s.notes".to_vec()]),
        source: Some(b"docs/source".to_vec()),
    }))
}

pub(super) fn seeds() -> Vec<Seed> {
    let tree = |path: &str| Place::Tree(path.into());
    let base = Some((b"docs/old".to_vec(), 9, Stamp::default()));
    let file = Kind::File { size: 70_000, base, checksum: Some([7; 32]) };
    let entries = [
        entry(tree(""), Kind::Folder, 0o40755),
        entry(tree("inner"), Kind::Boundary, 0o40755),
        entry(tree("docs/film"), file, 0o100_644),
        entry(tree("docs/same"), Kind::Same(b"docs/film".to_vec()), 0o100_644),
        entry(tree("link"), Kind::Link(b"../elsewhere".to_vec()), 0o120_777),
        entry(tree("null"), Kind::Special { device: 259 }, 0o20666),
        entry(Place::Fork(b"docs/film".to_vec(), b"s.notes".to_vec()), Kind::Folder, 0o100_600),
        entry(Place::SealKey, Kind::File { size: 16, base: None, checksum: None }, 0o100_600),
        Message::Names { folder: b"docs".to_vec(), names: vec![b"a".to_vec(), b"b".to_vec()], is_last: true },
        Message::Turn,
    ];
    let data = [
        Message::Wants(vec![Want { index: 2, from: 65_536, is_delta: false }]),
        Message::File(2),
        Message::Data { offset: 65_536, bytes: vec![1; 40] },
        Message::Zeros { offset: 0, length: 4096 },
        Message::End([9; 32]),
        Message::Done,
        Message::Finished(vec!["older stays".into()]),
    ];
    let receiving = Some(Receiving { id: [3; 16], base: Some([1; 16]), is_suspect: false });
    let begin = Begin {
        id: [3; 16],
        name: "monday".into(),
        created: 1_700_000_000_000_000_000,
        base: Some([1; 16]),
        verify: true,
        entries: 4,
        bytes: 70_000,
        native: Ok(()),
    };
    let by_files = Begin { native: Err("the source is on ZFS".into()), ..begin.clone() };
    let native = Native::Ready(StreamFormat::Zfs, vec![[1; 16]]);
    let rows = vec![Row { id: [3; 16], name: "monday".into(), held: vec!["legal".into()] }];
    let session = [
        Message::Hello { version: VERSION, name: "studio".into(), source: [8; 16] },
        Message::State(State { version: VERSION, snapshots: vec![[1; 16], [2; 16]], receiving, native }),
        Message::State(State::default()),
        Message::Begin(begin),
        Message::Stream(vec![5; 30]),
        Message::StreamEnd("it failed".into()),
        Message::Begin(by_files),
        Message::Snapshots { rows, keep: false },
        Message::Failed("the disk is full".into()),
    ];
    let seed =
        |name, messages: &[Message]| Seed { target: "replicate_stream", name, bytes: frames(messages) };
    let btrfs = Seed { target: "replicate_btrfs", name: "rename", bytes: BTRFS.to_vec() };
    vec![seed("entries", &entries), seed("data", &data), seed("session", &session), btrfs]
}

/// The beginning of a stream of btrfs-progs 6.2: a snapshot, then `rename a c`.
const BTRFS: &[u8] = &[
    0x62, 0x74, 0x72, 0x66, 0x73, 0x2d, 0x73, 0x74, 0x72, 0x65, 0x61, 0x6d, 0, 1, 0, 0, 0, 0x47, 0, 0, 0, 2,
    0, 0x60, 0x67, 0xfd, 0xbc, 0x0f, 0, 3, 0, 0x74, 0x77, 0x6f, 1, 0, 0x10, 0, 0x6a, 0xb4, 0x06, 0xfc, 0xe2,
    0x85, 0xc8, 0x43, 0x88, 0x6c, 0xc3, 0x9f, 0xa8, 0xbe, 0x9d, 0x2b, 2, 0, 8, 0, 8, 0, 0, 0, 0, 0, 0, 0,
    0x14, 0, 0x10, 0, 0xb5, 0x30, 0xa8, 0x8d, 0x82, 0x14, 0xf4, 0x40, 0xb0, 0x07, 0x77, 0xe5, 0x44, 0xcc,
    0xe2, 0x52, 0x15, 0, 8, 0, 7, 0, 0, 0, 0, 0, 0, 0, 0x0a, 0, 0, 0, 9, 0, 0x25, 0x75, 0x6b, 0xf3, 0x0f, 0,
    1, 0, 0x61, 0x10, 0, 1, 0, 0x63,
];
