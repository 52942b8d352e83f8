//! Files that clients save by putting a new one in their place, when they know nothing of Mac metadata.

use vfs::backend::{NewKind, RenameMode};
use vfs::events::{Aspects, ChangeKind, Event, EventScope, Filter};
use vfs::mac::FinderInfo;
use vfs::state::Stream;
use vfs::{Actor, Beside, ClientProfile, Kind, OpenOptions, SetAttributes, Volume, VolumeOptions};

use crate::scene::{RW, Scene, at, client, local_scenes, read, write};
use crate::waiting::until;

const TAGS: &str = "com.apple.metadata:_kMDItemUserTags";

/// A client that knows nothing of Mac metadata.
fn blind() -> Actor {
    client(2).with_profile(ClientProfile { is_blind_to_forks: true, ..ClientProfile::default() })
}

fn scene() -> Scene {
    let [_, host] = local_scenes(); // whose times are those of the clock
    host
}

async fn put(scene: &Scene, name: &str, stream: Stream, bytes: &[u8]) {
    let found = scene.find(name).unwrap();
    let options = OpenOptions { stream, create: true, access: RW, ..at(&scene.root, name) };
    let open = scene.volume.open(&client(1), &found, options).await.unwrap();
    write(&open, 0, bytes).await.unwrap();
}

async fn get(scene: &Scene, name: &str, stream: Stream) -> Vec<u8> {
    let found = scene.find(name).unwrap();
    let options = OpenOptions { stream, access: vfs::state::Modes::READ, ..at(&scene.root, name) };
    match scene.volume.open(&client(1), &found, options).await {
        Ok(open) => read(&open, 0, 10_000).await,
        Err(_) => Vec::new(),
    }
}

/// A file that a Mac has made: all that is kept of it.
async fn of_a_mac(scene: &Scene, name: &str, fork: &[u8]) {
    scene.file(name);
    put(scene, name, Stream::Data, b"the first version").await;
    put(scene, name, Stream::Resource, fork).await;
    put(scene, name, Stream::Named("tag".into()), b"not of a Mac").await;
    let found = scene.find(name).unwrap();
    let place = Beside { folder: &scene.root.object, name: name.as_bytes() };
    let describe = |metadata: &mut vfs::mac::Metadata| {
        metadata.comment = b"a comment".to_vec();
        let mut info = FinderInfo::from_prefix(b"TEXTttxt");
        info.set_label(6);
        metadata.set_finder_info(info);
        metadata.times.created = Some(vfs::Time { secs: 1_000_000_000, nanos: 0 });
    };
    scene.volume.change_metadata(&client(1), &found, Some(place), describe).unwrap();
}

/// A new file with the second version.
async fn saved(scene: &Scene, actor: &Actor, name: &str) {
    scene.volume.create(actor, &scene.root, name.as_bytes(), NewKind::File, 0o644).unwrap();
    put(scene, name, Stream::Data, b"the second one").await;
}

fn moves(scene: &Scene, actor: &Actor, from: &str, to: &str) {
    let (from, to) = ((&scene.root, from.as_bytes()), (&scene.root, to.as_bytes()));
    scene.volume.rename(actor, from, to, RenameMode::Replace).unwrap();
}

async fn assert_kept(scene: &Scene, name: &str, fork: &[u8]) {
    assert_eq!(get(scene, name, Stream::Data).await, b"the second one");
    assert_eq!(get(scene, name, Stream::Resource).await, fork);
    assert!(get(scene, name, Stream::Named("tag".into())).await.is_empty(), "it is not for Macs alone");
    let found = scene.find(name).unwrap();
    let place = Some(Beside { folder: &scene.root.object, name: name.as_bytes() });
    let metadata = scene.volume.metadata(&found, place).unwrap();
    assert_eq!(metadata.finder_info.file_type(), *b"TEXT");
    assert_eq!((metadata.finder_info.label(), &*metadata.comment), (6, &b"a comment"[..]));
    assert_eq!(scene.volume.mac_tree().tags(&found, place).unwrap(), ["Red\n6"]);
    assert_eq!(metadata.created(&found.attributes).secs, 1_000_000_000);
}

fn is_plain(scene: &Scene, name: &str) -> bool {
    let found = scene.find(name).unwrap();
    let place = Beside { folder: &scene.root.object, name: name.as_bytes() };
    scene.volume.metadata(&found, Some(place)).unwrap().finder_info == FinderInfo::NONE
        && scene.volume.fork_len(&found, place).unwrap() == 0
}

#[tokio::test]
async fn a_file_that_replaces_another_one_keeps_what_macs_know_of_it() {
    let scene = scene();
    for fork in [&b"a fork"[..], &[7; 9_000]] {
        of_a_mac(&scene, "plan", fork).await;
        let mut events = scene.volume.subscribe(EventScope::Volume, Filter::ALL, 64).unwrap();
        saved(&scene, &blind(), ".plan.new").await;
        moves(&scene, &blind(), ".plan.new", "plan");
        assert_kept(&scene, "plan", fork).await;
        let mut told = Vec::new();
        while let Some(event) = events.try_next() {
            if let Event::Changed(seen) = event {
                told.push((seen.change.name.to_vec(), seen.change.what.clone()));
            }
        }
        let is_it = |(name, what): &(Vec<u8>, ChangeKind)| {
            name == b"plan"
                && matches!(what, ChangeKind::Modified(aspects) if aspects.contains(Aspects::STREAM))
        };
        assert!(told.iter().any(is_it), "{told:?}");
        moves(&scene, &client(1), "plan", "kept");
        scene.volume.remove(&client(1), &scene.root, b"kept", vfs::Kind::File).unwrap();
    }
}

#[tokio::test]
async fn so_does_one_that_gets_the_name_of_a_file_just_moved_away() {
    let scene = scene();
    of_a_mac(&scene, "letter", b"a fork").await;
    saved(&scene, &blind(), "~WRD0001.tmp").await;
    moves(&scene, &blind(), "letter", "~WRL0002.tmp");
    moves(&scene, &blind(), "~WRD0001.tmp", "letter");
    assert_kept(&scene, "letter", b"a fork").await;
    assert_eq!(get(&scene, "~WRL0002.tmp", Stream::Resource).await, b"a fork", "a backup has it, too");
    // And one that is made under the name.
    moves(&scene, &blind(), "letter", "letter~");
    saved(&scene, &blind(), "letter").await;
    assert_kept(&scene, "letter", b"a fork").await;
    // The name is remembered for one file.
    moves(&scene, &client(1), "letter", "other");
    saved(&scene, &blind(), "letter").await;
    assert!(is_plain(&scene, "letter"));
}

#[tokio::test]
async fn what_the_client_wrote_itself_and_other_moves_stay_as_they_are() {
    let scene = scene();
    of_a_mac(&scene, "plan", b"a fork").await;
    // A file with Finder info of its own.
    saved(&scene, &blind(), "own").await;
    put(&scene, "own", Stream::Named(TAGS.into()), b"").await;
    put(&scene, "own", Stream::Resource, b"its fork").await;
    moves(&scene, &blind(), "own", "plan");
    assert_eq!(get(&scene, "plan", Stream::Resource).await, b"its fork");
    // A Mac.
    of_a_mac(&scene, "second", b"a fork").await;
    saved(&scene, &client(3), "by a Mac").await;
    moves(&scene, &client(3), "by a Mac", "second");
    assert!(is_plain(&scene, "second"));
    // A file of another folder, and one that is older than the file it replaces.
    let folder = scene.folder("folder");
    scene.volume.create(&blind(), &folder, b"elsewhere", NewKind::File, 0o644).unwrap();
    saved(&scene, &blind(), "old").await;
    let modified = |name: &str| scene.find(name).unwrap().attributes.modified;
    until("the host's clock stands still", || {
        scene.file("probe");
        let has_gone_on = modified("probe") > modified("old");
        scene.volume.remove(&blind(), &scene.root, b"probe", Kind::File).unwrap();
        has_gone_on
    });
    of_a_mac(&scene, "third", b"a fork").await;
    moves(&scene, &blind(), "old", "third");
    assert!(is_plain(&scene, "third"));
    of_a_mac(&scene, "fourth", b"a fork").await;
    let to = (&scene.root, &b"fourth"[..]);
    scene.volume.rename(&blind(), (&folder, b"elsewhere"), to, RenameMode::Replace).unwrap();
    assert!(is_plain(&scene, "fourth"));
}

#[tokio::test]
async fn nothing_is_given_to_a_user_who_may_not_read_it() {
    let scene = scene();
    of_a_mac(&scene, "secret", b"a fork").await;
    let owner_only = SetAttributes { mode: Some(0o600), ..SetAttributes::default() };
    scene.volume.set_attributes(&client(1), &scene.find("secret").unwrap(), &owner_only).unwrap();
    let open_to_all = SetAttributes { mode: Some(0o777), ..SetAttributes::default() };
    scene.volume.set_attributes(&client(1), &scene.root, &open_to_all).unwrap();
    if client(1).caller.uid != 0 {
        return; // without root all callers are the user of the test
    }
    let other = Actor { caller: vfs::Caller::new(61_234, 61_234, &[]), ..blind() };
    saved(&scene, &other, "new").await;
    moves(&scene, &other, "new", "secret");
    assert!(is_plain(&scene, "secret"));
}

#[tokio::test]
async fn a_volume_can_do_without() {
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let host = vfs::backend::host::Host::open(dir.path(), &vfs::backend::host::HostOptions::default());
    let options = VolumeOptions { safe_save: false, ..VolumeOptions::default() };
    let volume = std::sync::Arc::new(Volume::new(std::sync::Arc::new(host.unwrap()), options));
    let scene = Scene { root: volume.root().unwrap(), volume, dir: Some(dir) };
    of_a_mac(&scene, "plan", b"a fork").await;
    saved(&scene, &blind(), "new").await;
    moves(&scene, &blind(), "new", "plan");
    assert!(is_plain(&scene, "plan"));
}

#[tokio::test]
async fn what_only_macs_know_of_stays_when_others_overwrite() {
    let scene = scene();
    let tag = Stream::Named("tag".into());
    for (stream, stays) in [
        (Stream::Resource, true),
        (Stream::Info, true),
        (Stream::Named(TAGS.into()), true),
        (tag.clone(), false),
    ] {
        assert_eq!(scene.volume.caching_tree().keeps_overwritten(&blind(), &stream), stays, "{stream:?}");
        assert!(!scene.volume.caching_tree().keeps_overwritten(&client(1), &stream), "a Mac brings its own");
    }
    // What does not stay goes with an event.
    of_a_mac(&scene, "plan", b"a fork").await;
    let mut events = scene.volume.subscribe(EventScope::Volume, Filter::ALL, 64).unwrap();
    let found = scene.find("plan").unwrap();
    let place = Beside { folder: &scene.root.object, name: b"plan" };
    for (stream, aspect) in [(tag, Aspects::STREAM), (Stream::Info, Aspects::ATTRIBUTES)] {
        scene.volume.remove_stream(&blind(), &found, place, &stream).await.unwrap();
        let Some(Event::Changed(seen)) = events.try_next() else { panic!("no event of {stream:?}") };
        assert_eq!(seen.change.what, ChangeKind::Modified(aspect), "{stream:?}");
    }
}
