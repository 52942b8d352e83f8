//! A sender that does not keep to the stream: it is refused with a sentence, and nothing outside of the dataset changes.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;

use replicate::wire::{Begin, Entry, HEAD, Head, Kind, Message, Owner, Place, Stamp, VERSION};
use replicate::{Link, receive};
use snapshots::Dataset;
use wire::Writer;

use crate::scene::{Mounted, run, text};

fn frame(message: &Message) -> Vec<u8> {
    let (mut payload, mut w) = (Writer::new(), Writer::new());
    message.encode(&mut payload);
    let checksum = crc32c::crc32c(payload.as_bytes());
    Head { kind: message.kind(), length: payload.len() as u32, checksum }.encode(&mut w);
    w.put(payload.as_bytes());
    w.into_bytes()
}

fn hello(version: u16) -> Message {
    Message::Hello { version, name: "evil".into(), source: [6; 16] }
}

fn entry(path: &str, kind: Kind, mode: u32) -> Message {
    Message::Entry(Box::new(Entry {
        place: Place::Tree(path.into()),
        kind,
        mode,
        uid: 0,
        gid: 0,
        is_linked: false,
        accessed: Stamp::default(),
        modified: Stamp::default(),
        xattrs: Vec::new(),
        owner: Owner::Unset,
        forks: Some(Vec::new()),
        source: None,
    }))
}

/// What the receiver says to these bytes.
fn refusal(folder: &Path, bytes: &[u8]) -> String {
    let dataset = Dataset::find(folder).unwrap();
    let (mut ours, theirs) = UnixStream::pair().unwrap();
    std::thread::scope(|scope| {
        let received = scope
            .spawn(move || receive(&dataset, Link::new(theirs.try_clone().unwrap(), theirs), &mut |_| {}));
        let _ = ours.write_all(bytes).and_then(|()| ours.shutdown(std::net::Shutdown::Write));
        let _ = ours.read_to_end(&mut Vec::new());
        received.join().unwrap().unwrap_err().to_string()
    })
}

#[test]
fn a_hostile_sender_is_refused() {
    let Some(mounted) = Mounted::new("btrfs") else { return };
    let (folder, outside) = (mounted.root().join("replica"), mounted.root().join("outside"));
    assert!(run("btrfs", &["-q", "subvolume", "create", text(&folder)]));
    fs::create_dir(&outside).unwrap();
    let begin = Message::Begin(Begin {
        id: [1; 16],
        name: "x".into(),
        created: 0,
        base: None,
        verify: false,
        entries: 1,
        bytes: 1,
        native: Err(String::new()),
    });
    let session = |messages: &[Message]| {
        let all = [hello(VERSION), begin.clone()].into_iter().chain(messages.iter().cloned());
        refusal(&folder, &all.flat_map(|message| frame(&message)).collect::<Vec<u8>>())
    };
    let file = |size| Kind::File { size, base: None, checksum: None };
    let link = entry("link", Kind::Link(text(&outside).into()), 0o120_777);
    for inner in ["link/file", "link/deep/file"] {
        session(&[link.clone(), entry(inner, file(1), 0o100_644), Message::Turn]);
        assert_eq!(fs::read_dir(&outside).unwrap().count(), 0, "{inner}");
    }
    session(&[link.clone(), entry("link/folder", Kind::Folder, 0o40_755)]);
    session(&[link, Message::Names { folder: b"link".to_vec(), names: Vec::new(), is_last: true }]);
    assert!(outside.is_dir() && fs::read_dir(&outside).unwrap().count() == 0);
    let own = session(&[entry(".fourfold-snapshots/x", file(1), 0o100_644)]);
    assert!(own.contains("a folder of the server's own"), "{own}");
    let data = Message::Data { offset: 5, bytes: vec![1] };
    let behind = session(&[entry("file", file(1), 0o100_644), Message::Turn, Message::File(0), data]);
    assert!(behind.contains("data behind the end of a file"), "{behind}");
    let names = vec![b"b".to_vec(), b"a".to_vec()];
    let unordered = session(&[Message::Names { folder: Vec::new(), names, is_last: true }]);
    assert!(unordered.contains("not in their order"), "{unordered}");
    let many: Vec<Message> = (0..5000).map(|_| entry("", Kind::Folder, 0o40_755)).collect();
    assert!(session(&many).contains("a batch that is too large"));
    assert!(session(&[Message::Done, Message::Done, Message::Turn]).contains("does not belong here"));

    let version = refusal(&folder, &frame(&hello(VERSION + 1)));
    assert!(version.contains("version 4 of the stream, and this program version 3"), "{version}");
    let banner = refusal(&folder, b"Welcome to this host, which prints something at each login\n");
    assert!(banner.contains("start-up files must print nothing"), "{banner}");
    let mut damaged = frame(&hello(VERSION));
    damaged[HEAD + 20] ^= 1;
    assert!(refusal(&folder, &damaged).contains("its checksum differs"));
    let mut w = Writer::new();
    Head { kind: b'D', length: u32::MAX, checksum: 0 }.encode(&mut w);
    assert!(refusal(&folder, w.as_bytes()).contains("at most 8 MiB"));
    assert!(
        refusal(&folder, &frame(&hello(VERSION))[..20]).contains("the connection to the other side ended")
    );
}
