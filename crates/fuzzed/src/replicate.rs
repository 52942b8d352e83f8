//! What the two sides of a replication send each other.

use replicate::wire::btrfs;
use replicate::wire::{HEAD, Head, MAX_PATH, Message, Place};
use wire::Writer;

/// A stream of frames. Their checksums are left out: with them no change of an input would reach the messages.
pub fn stream(mut data: &[u8]) {
    while let Some((head, rest)) = data.split_at_checked(HEAD) {
        let Ok(head) = Head::decode(head) else { return };
        let Some((payload, rest)) = rest.split_at_checked(head.length as usize) else { return };
        data = rest;
        let Ok(message) = Message::decode(head.kind, payload) else { continue };
        // What is understood is written as it was.
        let mut w = Writer::new();
        message.encode(&mut w);
        assert_eq!((message.kind(), w.as_bytes()), (head.kind, payload));
        if let Message::Entry(entry) = &message {
            let path = match &entry.place {
                Place::Tree(path) | Place::Fork(path, _) => &path[..],
                Place::SealKey => b"",
            };
            assert!(path.len() <= MAX_PATH && !path.starts_with(b"/"));
            assert!(
                path.split(|byte| *byte == b'/').all(|name| name != b".."),
                "it leads out of the dataset"
            );
        }
    }
}

/// A stream of `btrfs send`: its commands are read, and the first one gets another name.
pub fn btrfs_stream(data: &[u8]) {
    let Some((start, mut rest)) = data.split_at_checked(btrfs::START) else { return };
    if btrfs::start(start).is_err() {
        return;
    }
    while rest.len() >= btrfs::COMMAND_HEAD {
        let Ok(length) = btrfs::length(rest) else { return };
        assert!(length <= btrfs::COMMAND_HEAD + btrfs::MAX_COMMAND);
        let Some((command, others)) = rest.split_at_checked(length) else { return };
        rest = others;
        let Ok(_) = btrfs::command(command) else { continue };
        for name in [Some(&b"name"[..]), None] {
            if let Ok(rewritten) = btrfs::rewritten(command, name, |_| [0; 16]) {
                assert!(btrfs::command(&rewritten).is_ok());
            }
        }
    }
}
