//! Files that exchange their contents.

use vfs::events::{Aspects, ChangeKind, Event, EventScope, Filter};
use vfs::mac::{FinderInfo, Metadata};
use vfs::state::{Modes, Stream};
use vfs::{Beside, Error, OpenOptions, SetAttributes, Time};

use crate::scene::{RW, Scene, at, client, local_scenes, read, scenes, write};

/// The bytes that a test writes into a file's streams: those of the contents, and one that stays.
async fn fill(scene: &Scene, name: &str, text: &str) {
    scene.file(name);
    let open = scene.open(1, name).await.unwrap();
    write(&open, 0, text.as_bytes()).await.unwrap();
    for (stream, text) in [
        (Stream::Resource, format!("the fork of {text}")),
        (Stream::Named("tag".into()), format!("the tag of {name}")),
    ] {
        write(&open_stream(scene, name, stream).await, 0, text.as_bytes()).await.unwrap();
    }
    let found = scene.find(name).unwrap();
    let place = Beside { folder: &scene.root.object, name: name.as_bytes() };
    scene
        .volume
        .change_metadata(&client(1), &found, Some(place), |metadata| {
            metadata.comment = format!("about {name}").into_bytes();
            metadata.set_finder_info(FinderInfo::from_prefix(format!("{name:4}ttxt").as_bytes()));
        })
        .unwrap();
}

async fn open_stream(scene: &Scene, name: &str, stream: Stream) -> vfs::Open {
    let found = scene.find(name).unwrap();
    let options = OpenOptions { stream, create: true, access: RW, ..at(&scene.root, name) };
    scene.volume.open(&client(1), &found, options).await.unwrap()
}

async fn content(scene: &Scene, name: &str) -> [String; 3] {
    let mut all = Vec::new();
    for stream in [Stream::Data, Stream::Resource, Stream::Named("tag".into())] {
        let bytes = read(&open_stream(scene, name, stream).await, 0, 100).await;
        all.push(String::from_utf8(bytes).unwrap());
    }
    all.try_into().unwrap()
}

fn about(scene: &Scene, name: &str) -> (String, [u8; 4]) {
    let place = Beside { folder: &scene.root.object, name: name.as_bytes() };
    let metadata = scene.volume.metadata(&scene.find(name).unwrap(), Some(place)).unwrap();
    (String::from_utf8(metadata.comment.clone()).unwrap(), metadata.finder_info.file_type())
}

fn created(scene: &Scene, name: &str) -> i64 {
    let (found, place) =
        (scene.find(name).unwrap(), Beside { folder: &scene.root.object, name: name.as_bytes() });
    scene.volume.metadata(&found, Some(place)).unwrap().created(&found.attributes).secs
}

async fn exchange(scene: &Scene, one: &str, other: &str) -> vfs::Result<()> {
    let at = |name: &str| (scene.root.clone(), name.to_owned());
    let (one, other) = (at(one), at(other));
    scene
        .volume
        .mac_tree()
        .exchange(&client(1), (&one.0, one.1.as_bytes()), (&other.0, other.1.as_bytes()))
        .await
}

#[tokio::test]
async fn contents_go_and_everything_else_stays_with_the_name() {
    for scene in local_scenes() {
        fill(&scene, "a", "red").await;
        fill(&scene, "b", "blue").await;
        scene.file("bare");
        let before = created(&scene, "b");
        let found = scene.find("a").unwrap();
        let place = Beside { folder: &scene.root.object, name: b"a" };
        let long_ago = Time { secs: 1_000_000_000, nanos: 0 };
        let set = |metadata: &mut Metadata| metadata.times.created = Some(long_ago);
        scene.volume.change_metadata(&client(1), &found, Some(place), set).unwrap();
        let mode = SetAttributes { mode: Some(0o640), ..SetAttributes::default() };
        scene.volume.set_attributes(&client(1), &scene.find("a").unwrap(), &mode).unwrap();
        exchange(&scene, "a", "b").await.unwrap();
        assert_eq!(content(&scene, "a").await, ["blue", "the fork of blue", "the tag of a"]);
        assert_eq!(content(&scene, "b").await, ["red", "the fork of red", "the tag of b"]);
        let place = Beside { folder: &scene.root.object, name: b"a" };
        let found = scene.find("a").unwrap();
        let metadata = scene.volume.metadata(&found, Some(place)).unwrap();
        let fork_len = scene.volume.fork_len(&found, place).unwrap();
        assert_eq!((&*metadata.comment, fork_len), (&b"about a"[..], 16)); // "the fork of blue"
        assert_eq!(about(&scene, "a"), ("about a".into(), *b"a   "));
        assert_eq!(about(&scene, "b"), ("about b".into(), *b"b   "));
        assert_eq!((created(&scene, "a"), created(&scene, "b")), (long_ago.secs, before));
        let mode = |name| scene.find(name).unwrap().attributes.mode;
        assert_eq!((mode("a"), mode("b")), (0o640, 0o644));
        // With one that has nothing, both ways.
        exchange(&scene, "a", "bare").await.unwrap();
        assert_eq!(content(&scene, "bare").await, ["blue", "the fork of blue", ""]);
        assert_eq!(content(&scene, "a").await, ["", "", "the tag of a"]);
        assert_eq!(about(&scene, "bare"), (String::new(), [0; 4]));
    }
}

#[tokio::test]
async fn an_open_keeps_its_contents() {
    for scene in local_scenes() {
        fill(&scene, "a", "red").await;
        fill(&scene, "b", "blue").await;
        let open = scene.open(2, "a").await.unwrap();
        let fork = open_stream(&scene, "a", Stream::Resource).await;
        exchange(&scene, "a", "b").await.unwrap();
        write(&open, 0, b"new").await.unwrap();
        assert_eq!(read(&fork, 0, 100).await, b"the fork of red");
        assert_eq!(&*open.place().unwrap().1, b"b");
        assert_eq!(content(&scene, "b").await[0], "new");
    }
}

#[tokio::test]
async fn only_files_are_exchanged_and_only_by_who_may_write_both() {
    for scene in scenes() {
        fill(&scene, "a", "red").await;
        scene.folder("d");
        assert_eq!(exchange(&scene, "a", "d").await, Err(Error::IsFolder));
        assert_eq!(exchange(&scene, "a", "none").await, Err(Error::NotFound));
        // Nothing is done if an open denies it.
        let keeps = OpenOptions { access: Modes::READ, deny: Modes::DELETE, ..at(&scene.root, "a") };
        let found = scene.find("a").unwrap();
        let theirs = scene.volume.open(&client(2), &found, keeps).await.unwrap();
        fill(&scene, "b", "blue").await;
        assert_eq!(exchange(&scene, "a", "b").await, Err(Error::ShareConflict));
        drop(theirs);
        assert_eq!(content(&scene, "a").await[0], "red");
    }
}

#[tokio::test]
async fn a_watch_of_the_folder_gets_both_changes() {
    let [scene, _] = local_scenes();
    fill(&scene, "a", "red").await;
    fill(&scene, "b", "blue").await;
    let scope = EventScope::Folder(scene.root.object.id());
    let mut subscribed = scene.volume.subscribe(scope, Filter::ALL, 16).unwrap();
    exchange(&scene, "a", "b").await.unwrap();
    let mut names = Vec::new();
    while let Some(event) = subscribed.try_next() {
        if let Event::Changed(change) = event {
            assert_eq!(change.change.what, ChangeKind::Modified(Aspects::ALL));
            names.push(change.change.name.to_vec());
        }
    }
    names.sort();
    assert_eq!(names, [b"a", b"b"]);
}
