//! A stream of btrfs that was not made by `btrfs send`: its paths lead out of the folder that it is received in.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Stdio};

use replicate::wire::{Begin, Head, Message, VERSION};
use replicate::{Link, receive};
use snapshots::Dataset;
use wire::Writer;

use crate::scene::{Mounted, run, text};

// Kinds of commands and types of attributes (btrfs documentation, "Send stream format").
const SUBVOLUME: u16 = 1;
const SNAPSHOT: u16 = 2;
const MAKE_FILE: u16 = 3;
const SYMLINK: u16 = 8;
const RENAME: u16 = 9;
const LINK: u16 = 10;
const UNLINK: u16 = 11;
const WRITE: u16 = 15;
const CLONE: u16 = 16;
const END: u16 = 21;
const UUID: u16 = 1;
const GENERATION: u16 = 2;
const INODE: u16 = 3;
const PATH: u16 = 15;
const PATH_TO: u16 = 16;
const PATH_LINK: u16 = 17;
const OFFSET: u16 = 18;
const DATA: u16 = 19;
const CLONE_UUID: u16 = 20;
const CLONE_GENERATION: u16 = 21;
const CLONE_PATH: u16 = 22;
const CLONE_OFFSET: u16 = 23;
const CLONE_LENGTH: u16 = 24;

const ID: [u8; 16] = [7; 16];
const ZERO: &[u8] = &[0; 8];
/// From the received subvolume to the root of the file system.
const UP: &str = "../../../..";

fn command(kind: u16, attributes: &[(u16, &[u8])]) -> Vec<u8> {
    let mut values = Writer::new();
    for (attribute, value) in attributes {
        values.u16_le(*attribute);
        values.u16_le(value.len() as u16);
        values.put(value);
    }
    let mut w = Writer::new();
    w.u32_le(values.as_bytes().len() as u32);
    w.u16_le(kind);
    w.u32_le(0);
    w.put(values.as_bytes());
    let mut bytes = w.into_bytes();
    // The checksum begins with 0 and is not inverted, unlike that of the library.
    let sum = !crc32c::crc32c_append(!0, &bytes);
    bytes[6..10].copy_from_slice(&sum.to_le_bytes());
    bytes
}

fn subvolume(path: &str) -> Vec<u8> {
    command(SUBVOLUME, &[(PATH, path.as_bytes()), (UUID, &ID), (GENERATION, &1u64.to_le_bytes())])
}

/// A command with a path and perhaps a second one.
fn named(kind: u16, path: &str, second: &[(u16, &str)]) -> Vec<u8> {
    let inode = 257u64.to_le_bytes();
    let mut attributes = vec![(PATH, path.as_bytes()), (INODE, &inode[..])];
    attributes.extend(second.iter().map(|(attribute, path)| (*attribute, path.as_bytes())));
    command(kind, &attributes)
}

fn written(path: &str) -> Vec<u8> {
    command(WRITE, &[(PATH, path.as_bytes()), (OFFSET, ZERO), (DATA, b"evil")])
}

/// A subvolume as the host identifies it.
struct Foreign {
    id: [u8; 16],
    generation: u64,
}

impl Foreign {
    fn of(path: &Path) -> Self {
        let shown = Command::new("btrfs").args(["subvolume", "show", text(path)]).output().unwrap();
        let shown = String::from_utf8(shown.stdout).unwrap();
        let value = |name: &str| {
            shown
                .lines()
                .find_map(|line| line.trim().strip_prefix(name))
                .unwrap_or_default()
                .trim()
                .to_owned()
        };
        let id = wire::hex::decode(&value("UUID:").replace('-', "")).unwrap();
        Self { id, generation: value("Generation:").parse().unwrap() }
    }

    /// A stream that is the difference to it, and one that clones a file of it.
    fn attacks(&self) -> [(&'static str, Vec<u8>); 2] {
        let start = [&b"btrfs-stream\0"[..], &1u32.to_le_bytes()].concat();
        let based = command(
            SNAPSHOT,
            &[
                (PATH, b"new"),
                (UUID, &ID),
                (GENERATION, &1u64.to_le_bytes()),
                (CLONE_UUID, &self.id),
                (CLONE_GENERATION, &self.generation.to_le_bytes()),
            ],
        );
        let cloned = cloned("a", "a", (&self.id, self.generation));
        [
            ("the difference to a foreign subvolume", [start, based, command(END, &[])].concat()),
            ("clone from a foreign subvolume", stream(&[named(MAKE_FILE, "a", &[]), cloned])),
        ]
    }
}

fn cloned(path: &str, from: &str, (id, generation): (&[u8; 16], u64)) -> Vec<u8> {
    command(
        CLONE,
        &[
            (PATH, path.as_bytes()),
            (OFFSET, ZERO),
            (CLONE_LENGTH, &4096u64.to_le_bytes()),
            (CLONE_UUID, id),
            (CLONE_GENERATION, &generation.to_le_bytes()),
            (CLONE_PATH, from.as_bytes()),
            (CLONE_OFFSET, ZERO),
        ],
    )
}

fn stream(commands: &[Vec<u8>]) -> Vec<u8> {
    let start = [&b"btrfs-stream\0"[..], &1u32.to_le_bytes()].concat();
    [start, subvolume("new"), commands.concat(), command(END, &[])].concat()
}

fn frame(message: &Message) -> Vec<u8> {
    let (mut payload, mut w) = (Writer::new(), Writer::new());
    message.encode(&mut payload);
    let checksum = crc32c::crc32c(payload.as_bytes());
    Head { kind: message.kind(), length: payload.len() as u32, checksum }.encode(&mut w);
    w.put(payload.as_bytes());
    w.into_bytes()
}

/// Has a replica receive a stream, after which the source is gone.
fn received(folder: &Path, stream: Vec<u8>) {
    let begin = Begin {
        id: ID,
        name: "x".into(),
        created: 0,
        base: None,
        verify: false,
        entries: 1,
        bytes: 1,
        native: Ok(()),
    };
    let hello = Message::Hello { version: VERSION, name: "evil".into(), source: [6; 16] };
    let messages = [hello, Message::Begin(begin), Message::Stream(stream), Message::StreamEnd(String::new())];
    let dataset = Dataset::find(folder).unwrap();
    let (mut ours, theirs) = UnixStream::pair().unwrap();
    std::thread::scope(|scope| {
        let received = scope
            .spawn(move || receive(&dataset, Link::new(theirs.try_clone().unwrap(), theirs), &mut |_| {}));
        let _ = ours.write_all(&messages.iter().flat_map(frame).collect::<Vec<u8>>());
        let _ = ours.shutdown(std::net::Shutdown::Write);
        let _ = ours.read_to_end(&mut Vec::new());
        assert!(received.join().unwrap().is_err(), "the source has ended");
    });
}

/// Has the program receive a stream as it does without `-C`.
fn received_without_chroot(folder: &Path, stream: &[u8]) {
    let mut program = Command::new("btrfs")
        .args(["receive", "-q", text(folder)])
        .stdin(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let _ = program.stdin.take().unwrap().write_all(stream);
    program.wait().unwrap();
}

/// Streams that write, rename, link, remove or read outside.
fn attacks(outside: &Path) -> Vec<(&'static str, Vec<u8>)> {
    let (up, absolute) = (|name: &str| format!("{UP}/outside/{name}"), |name| outside.join(name));
    let file = |path: &str| [named(MAKE_FILE, path, &[]), written(path)].concat();
    let symlink = |to: &str| named(SYMLINK, "link", &[(PATH_LINK, to)]);
    vec![
        ("..", stream(&[file(&up("file"))])),
        ("absolute", stream(&[file(text(&absolute("file")))])),
        ("a symbolic link", stream(&[symlink(text(outside)), file("link/file")])),
        ("a relative symbolic link", stream(&[symlink(&up("")), file("link/file")])),
        ("a symbolic link to a file", stream(&[symlink(text(&absolute("secret"))), written("link")])),
        ("overwrite", stream(&[written(&up("secret"))])),
        ("rename", stream(&[file("a"), named(RENAME, "a", &[(PATH_TO, &up("file"))])])),
        ("take away", stream(&[named(RENAME, &up("secret"), &[(PATH_TO, "a")])])),
        ("link", stream(&[file("a"), named(LINK, &up("file"), &[(PATH_LINK, "a")])])),
        ("remove", stream(&[named(UNLINK, &up("secret"), &[])])),
        ("a second subvolume", stream(&[subvolume("../../../outside/new")])),
        ("clone from outside", stream(&[named(MAKE_FILE, "a", &[]), cloned("a", &up("secret"), (&ID, 1))])),
    ]
}

#[test]
fn a_hostile_stream_changes_and_reads_nothing_outside() {
    let Some(mounted) = Mounted::new("btrfs") else { return };
    let at = |name: &str| mounted.root().join(name);
    let (folder, outside, plain) = (at("replica"), at("outside"), at("a/b/c"));
    assert!(run("btrfs", &["-q", "subvolume", "create", text(&folder)]));
    fs::create_dir(&outside).unwrap();
    fs::create_dir_all(&plain).unwrap();
    let secret = vec![b's'; 4096];
    fs::write(outside.join("secret"), &secret).unwrap();

    // Another dataset on the same disk, which its users have to themselves.
    let foreign = at("foreign");
    assert!(run("btrfs", &["-q", "subvolume", "create", text(&foreign)]));
    fs::write(foreign.join("a"), &secret).unwrap();
    assert!(run("btrfs", &["property", "set", text(&foreign), "ro", "true"]));
    let foreign = Foreign::of(&foreign);

    for (name, stream) in attacks(&outside).into_iter().chain(foreign.attacks()) {
        received(&folder, stream);
        assert_eq!(fs::read(outside.join("secret")).unwrap(), secret, "{name}");
        assert_eq!(fs::read_dir(&outside).unwrap().count(), 1, "{name}");
        let own: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(own, [".fourfold-snapshots"], "{name}: the live tree has nothing from the stream");
        let kept = folder.join(".fourfold-snapshots/.received").join("07".repeat(16)).join("a");
        assert!(fs::read(kept).unwrap_or_default() != secret, "{name}");
        let mut inside = fs::read_dir(folder.join(".fourfold-snapshots/.received")).unwrap();
        inside.all(|copy| run("btrfs", &["-q", "subvolume", "delete", text(&copy.unwrap().path())]));
    }

    // The bytes are right: a stream without an attack arrives, and without the chroot attacks have an effect.
    received(&folder, stream(&[named(MAKE_FILE, "a", &[]), written("a")]));
    let kept = folder.join(".fourfold-snapshots/.received").join("07".repeat(16)).join("a");
    assert_eq!(fs::read(kept).unwrap(), b"evil");
    let effective = |(name, stream): (&'static str, Vec<u8>)| {
        received_without_chroot(&plain, &stream);
        let files = fs::read_dir(&outside).unwrap().count();
        let is_kept = fs::read(outside.join("secret")).is_ok_and(|bytes| bytes == secret);
        let is_read = fs::read(plain.join("new/a")).is_ok_and(|bytes| bytes == secret);
        for copy in [plain.join("new"), outside.join("new")].iter().filter(|copy| copy.exists()) {
            run("btrfs", &["-q", "subvolume", "delete", text(copy)]);
        }
        let _ = fs::remove_file(outside.join("file"));
        fs::write(outside.join("secret"), &secret).unwrap();
        (files != 1 || !is_kept || is_read).then_some(name)
    };
    let all = attacks(&outside).into_iter().chain(foreign.attacks());
    let effective: Vec<_> = all.filter_map(effective).collect();
    // The host refuses the others itself: they would join two subvolumes, or are no paths from the root.
    let expected = [
        "..",
        "a symbolic link",
        "a relative symbolic link",
        "a symbolic link to a file",
        "overwrite",
        "remove",
        "clone from outside",
        "the difference to a foreign subvolume",
    ];
    assert_eq!(effective, expected);
}
