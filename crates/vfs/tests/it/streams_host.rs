//! Streams on a real file system: what the memory backend does not show.

use std::sync::Arc;

use vfs::Caller;
use vfs::backend::host::{Host, HostOptions};
use vfs::backend::{Backend, NewKind, Object, RenameMode, Stability, Wait, XattrMode};
use vfs::mac::FinderInfo;
use vfs::streams::{File, SidecarView, Streams};

/// A fresh folder whose file system has extended attributes.
fn open() -> Option<(tempfile::TempDir, Arc<dyn Object>, Streams)> {
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let host = Arc::new(Host::open(dir.path(), &HostOptions::default()).unwrap());
    let root = host.root().unwrap().object;
    if root.set_xattr(&Caller::root(), b"user.test", b"", XattrMode::Set).is_err() {
        println!("skipped: no extended attributes here");
        return None;
    }
    Some((dir, root, Streams::new(host)))
}

fn me() -> Caller {
    Caller::root()
}

#[test]
fn a_pair_moves_and_goes_as_one() {
    let Some((dir, root, streams)) = open() else { return };
    let made = root.create(&me(), b"a", NewKind::File, 0o644).unwrap();
    let file = File { folder: &*root, name: b"a", object: &*made.object };
    let mut fork = streams.fork_to_write(&me(), &file).unwrap();
    fork.write_at(5_000_000_000, b"end", Stability::File).unwrap();
    assert_eq!(std::fs::metadata(dir.path().join("._a")).unwrap().len(), 82 + 5_000_000_003);
    root.create(&me(), b"sub", NewKind::Folder, 0o755).unwrap();
    let sub = root.lookup(&me(), b"sub").unwrap().object;
    streams.pairs().rename(&me(), (&*root, b"a"), (&*sub, b"b"), RenameMode::Replace).unwrap();
    assert!(!dir.path().join("._a").exists());
    let moved = sub.lookup(&me(), b"b").unwrap().object;
    let file = File { folder: &*sub, name: b"b", object: &*moved };
    let mut bytes = Vec::new();
    let fork = streams.fork(&me(), &file).unwrap().unwrap();
    fork.read_at(4_999_999_999, 9, &mut bytes, Wait::Allowed).unwrap();
    assert_eq!(bytes, b"\0end");
    streams.pairs().remove(&me(), &*sub, b"b", None).unwrap();
    assert_eq!(std::fs::read_dir(dir.path().join("sub")).unwrap().count(), 0);
}

/// Large attributes are in the server's own folder, and which files have some is remembered: not where another server writes there, too.
#[test]
fn what_another_server_puts_into_the_store_is_seen_at_once() {
    let Some((dir, root, here)) = open() else { return };
    let there = Streams::new(Arc::new(Host::open(dir.path(), &HostOptions::default()).unwrap())).shared(true);
    let here = here.shared(true);
    let large = vec![7; 100_000];
    for name in [&b"a"[..], b"b"] {
        let made = root.create(&me(), name, NewKind::File, 0o644).unwrap();
        let file = File { folder: &*root, name, object: &*made.object };
        assert_eq!(here.has_streams(&*made.object), Ok(false));
        there.write_stream(&me(), &file, b"large", 0, &large, Stability::Unstable).unwrap();
        assert_eq!(here.has_streams(&*made.object), Ok(true), "{}", name.escape_ascii());
        let mut bytes = Vec::new();
        here.read_stream(&me(), &file, b"large", (0, 1 << 20), &mut bytes).unwrap();
        assert!(bytes == large);
    }
}

#[test]
fn metadata_streams_and_view_are_on_the_disk() {
    let Some((dir, root, streams)) = open() else { return };
    let made = root.create(&me(), b"a", NewKind::File, 0o644).unwrap();
    let file = File { folder: &*root, name: b"a", object: &*made.object };
    let (mut metadata, _) = streams.load(&file).unwrap();
    let mut info = FinderInfo::NONE;
    info.set_type(*b"TEXT", *b"ttxt");
    metadata.set_finder_info(info);
    streams.store(&me(), &file, &metadata).unwrap();
    assert_eq!(streams.load(&file).unwrap().0.finder_info, info);
    // Larger than any host lets an attribute be, so that it goes to the store.
    let large = vec![7; 100_000];
    streams.write_stream(&me(), &file, b"small", 0, b"s", Stability::Unstable).unwrap();
    streams.write_stream(&me(), &file, b"large", 0, &large, Stability::Unstable).unwrap();
    streams.write_stream(&me(), &file, b"middle", 0, &large[..30_000], Stability::Unstable).unwrap();
    for (name, expected) in [(&b"large"[..], &large[..]), (b"middle", &large[..30_000]), (b"small", b"s")] {
        let mut bytes = Vec::new();
        streams.read_stream(&me(), &file, name, (0, 1 << 20), &mut bytes).unwrap();
        assert!(bytes == expected, "{}", name.escape_ascii());
    }
    let SidecarView::Synthesized(seen) = streams.sidecar_files().view(&me(), &*root, b"._a").unwrap() else {
        panic!("a synthesized sidecar");
    };
    assert_eq!(&seen.bytes[50..58], b"TEXTttxt");
    streams.sidecar_files().materialize(&me(), &*root, b"._a").unwrap().unwrap();
    assert_eq!(std::fs::read(dir.path().join("._a")).unwrap(), seen.bytes);
    assert_eq!(streams.sidecar_files().remove_view(&me(), &*root, b"._a"), Ok(true));
    assert!(streams.load(&file).unwrap().0.finder_info.is_none());
}
