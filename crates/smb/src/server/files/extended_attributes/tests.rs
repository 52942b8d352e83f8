use std::sync::Arc;

use vfs::backend::memory::Memory;
use vfs::backend::{NewKind, XattrMode};
use vfs::state::{ClientId, Modes, Party};
use vfs::{Actor, Beside, Caller, OpenOptions, VolumeOptions};

use super::*;

/// A file in a share that has nothing else.
struct Scene {
    open: vfs::Open,
    file: Found,
}

impl Scene {
    async fn new() -> Self {
        let volume = Arc::new(Volume::new(Arc::new(Memory::ticking()), VolumeOptions::default()));
        let actor = Actor::new(Caller::root(), Party::client(ClientId(7)));
        let root = volume.root().unwrap();
        let file = volume.create(&actor, &root, b"a", NewKind::File, 0o644).unwrap().found;
        let place = Some(Beside { folder: &root.object, name: b"a" });
        let options = OpenOptions { place, ..OpenOptions::data(Modes::READ.union(Modes::WRITE)) };
        Self { open: volume.open(&actor, &file, options).await.unwrap(), file }
    }

    async fn set(&self, changes: &[(&[u8], &[u8])]) -> std::result::Result<(), Status> {
        let full = |(name, value): &(&[u8], &[u8])| FullEa {
            name: name.to_vec(),
            value: value.to_vec(),
            ..FullEa::default()
        };
        set(&self.open, &changes.iter().map(full).collect::<Vec<_>>()).await
    }

    fn all(&self) -> Vec<String> {
        let text = |one: &Xattr| format!("{}={}", one.name.escape_ascii(), one.value.escape_ascii());
        of(self.open.volume(), &self.file).unwrap().iter().map(text).collect()
    }

    /// What earlier versions of this server stored.
    fn store_in_capitals(&self) {
        let object = &self.file.object;
        object.set_xattr(&Caller::root(), b"user.fourfold.ea.ONE", b"1", XattrMode::Set).unwrap();
    }
}

#[tokio::test]
async fn names_ignore_case_and_stay_below_their_limits() {
    let scene = Scene::new().await;
    assert!(scene.all().is_empty());
    scene.set(&[(b".type", b"text"), (b"Note", b"\0\xff")]).await.unwrap();
    assert_eq!(scene.all(), [".type=text", "Note=\\x00\\xff"]);
    scene.set(&[(b"NOTE", b"n"), (b".TYPE", b""), (b"none", b"")]).await.unwrap();
    assert_eq!(scene.all(), ["Note=n"]);
    assert_eq!(scene.set(&[(b"", b"x")]).await, Err(Status::INVALID_EA_NAME));
    assert_eq!(scene.set(&[(&[b'x'; Xattr::MAX_NAME + 1], b"")]).await, Err(Status::INVALID_EA_NAME));
    let too_much = scene.set(&[(b"Ok", b"x"), (b"big", &vec![1; 65_535])]).await;
    assert_eq!(too_much, Err(Status::EA_TOO_LARGE));
    assert_eq!(scene.all(), ["Note=n"], "none of them, if not all");
}

/// Earlier versions stored every name in capitals.
#[tokio::test]
async fn one_in_capitals_is_found_and_takes_the_case_in_which_it_is_set_next() {
    let scene = Scene::new().await;
    scene.store_in_capitals();
    scene.set(&[(b"one", b"2")]).await.unwrap();
    assert_eq!(scene.all(), ["one=2"]);
    assert_eq!(scene.file.object.xattr(b"user.fourfold.ea.ONE").err(), Some(Error::NoSuchAttribute));
    scene.set(&[(b"ONE", b"3")]).await.unwrap();
    assert_eq!(scene.all(), ["one=3"]);
    // What a crash between setting the new name and removing the old one leaves.
    scene.store_in_capitals();
    scene.set(&[(b"other", b"")]).await.unwrap();
    assert_eq!(scene.all(), ["one=3"]);
    scene.set(&[(b"One", b"")]).await.unwrap();
    assert!(scene.all().is_empty(), "both are removed");
}
