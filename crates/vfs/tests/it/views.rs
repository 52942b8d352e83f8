//! One file, through any volume: two volumes of one folder, a volume inside another one.

use std::sync::Arc;
use std::time::Duration;

use vfs::backend::host::{Host, HostOptions};
use vfs::events::{ChangeKind, Event, EventScope, Filter};
use vfs::mac::FileBits;
use vfs::state::{ClientId, Modes};
use vfs::{Beside, Error, OpenOptions, Site, Volume, VolumeOptions};

use crate::scene::{self, RWD, Scene, assert_bound, at, client, local_scenes, read, write};

/// `outer` and `again` are the same folder, `inner` is a folder in it.
struct Views {
    outer: Scene,
    again: Scene,
    inner: Scene,
}

fn volume(path: &std::path::Path, site: &Arc<Site>) -> Scene {
    let host = Host::open(path, &HostOptions::default()).unwrap();
    let volume = Arc::new(Volume::in_site(Arc::new(host), VolumeOptions::default(), site.clone()));
    Scene { root: volume.root().unwrap(), volume, dir: None }
}

impl Views {
    fn new() -> Self {
        let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        std::fs::create_dir(dir.path().join("inner")).unwrap();
        let site = Arc::default();
        let inner = volume(&dir.path().join("inner"), &site);
        let again = volume(dir.path(), &site);
        let outer = volume(dir.path(), &site);
        let outer = Scene { dir: Some(dir), ..outer };
        Self { outer, again, inner }
    }

    /// The folder `inner` as the other two see it, and as it sees itself.
    fn places(&self) -> [Scene; 3] {
        let inside = |scene: &Scene| Scene {
            volume: scene.volume.clone(),
            root: scene.find("inner").unwrap(),
            dir: None,
        };
        let inner = Scene { volume: self.inner.volume.clone(), root: self.inner.root.clone(), dir: None };
        [inside(&self.outer), inside(&self.again), inner]
    }
}

/// Each way from one place to another.
fn pairs(places: &[Scene]) -> impl Iterator<Item = (&Scene, &Scene)> {
    places.iter().enumerate().flat_map(move |(index, a)| {
        places.iter().enumerate().filter(move |(other, _)| *other != index).map(move |(_, b)| (a, b))
    })
}

#[tokio::test]
async fn deny_modes_ranges_and_leases_bind_through_every_volume() {
    let views = Views::new();
    let places = views.places();
    places[0].file("file");
    for (mine, other) in pairs(&places) {
        assert_bound(mine, other, "file").await;
    }
}

#[tokio::test]
async fn changes_are_told_through_every_volume_that_shows_the_folder() {
    let views = Views::new();
    let places = views.places();
    let aside =
        volume(tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap().path(), views.outer.volume.site());
    let mut elsewhere = aside.volume.subscribe(EventScope::Volume, Filter::ALL, 16).unwrap();
    for (number, (mine, other)) in pairs(&places).enumerate() {
        let name = format!("file{number}");
        let mut folder =
            other.volume.subscribe(EventScope::Folder(other.root.object.id()), Filter::ALL, 16).unwrap();
        let mut whole = other.volume.subscribe(EventScope::Volume, Filter::ALL, 16).unwrap();
        mine.file(&name);
        for told in [&mut folder, &mut whole] {
            let Some(Event::Changed(seen)) = told.try_next() else { panic!("{number}: not told") };
            assert_eq!((&*seen.change.name, &seen.change.what), (name.as_bytes(), &ChangeKind::Created));
            assert_eq!((seen.change.by, told.try_next()), (Some(ClientId(1)), None));
        }
    }
    // Subscribers to all of `inner` do not get changes outside of `inner`.
    let mut inner = views.inner.volume.subscribe(EventScope::Volume, Filter::ALL, 16).unwrap();
    views.outer.file("outside");
    assert_eq!((inner.try_next(), elsewhere.try_next()), (None, None));
}

#[tokio::test]
async fn a_watch_hears_once_of_what_clients_of_another_volume_do() {
    let views = Views::new();
    let places = views.places();
    let root = places[2].root.clone();
    let depth = vfs::events::Depth::Entries;
    let mut watching = places[2].volume.watch(&client(1).caller, &root, depth, Filter::ALL, 16).unwrap();
    places[0].file("file");
    let next = tokio::time::timeout(Duration::from_secs(10), watching.next()).await.unwrap();
    let Event::Changed(seen) = next else { panic!("a change") };
    assert_eq!((seen.change.by, &seen.change.what), (Some(ClientId(1)), &ChangeKind::Created));
    // The host tells of it, too, within the time in which events gather.
    let more = tokio::time::timeout(Duration::from_millis(600), watching.next()).await;
    assert!(more.is_err(), "{more:?}");
}

#[tokio::test]
async fn removal_on_close_waits_for_the_opens_of_every_volume() {
    let views = Views::new();
    let places = views.places();
    for (mine, other) in pairs(&places) {
        mine.file("file");
        let (open, theirs) = (mine.open(1, "file").await.unwrap(), other.open(2, "file").await.unwrap());
        open.remove_on_close(true).await.unwrap();
        drop(open);
        assert_eq!(other.open(3, "file").await.err(), Some(Error::BeingRemoved));
        assert!(mine.find("file").is_ok());
        drop(theirs);
        assert_eq!(mine.find("file").err(), Some(Error::NotFound));
    }
}

#[tokio::test]
async fn large_streams_are_found_through_every_volume_and_by_the_next_server() {
    let views = Views::new();
    let places = views.places();
    // Larger than an attribute can be on any host.
    let large = vec![7; 100_000];
    for (number, (mine, other)) in pairs(&places).enumerate() {
        let name = format!("file{number}");
        mine.file(&name);
        let open = |scene: &Scene| {
            let (volume, root, name) = (scene.volume.clone(), scene.root.clone(), name.clone());
            let found = scene.find(&name).unwrap();
            async move { volume.open(&client(1), &found, scene::stream(&root, &name, "large")).await.unwrap() }
        };
        write(&open(mine).await, 0, &large).await.unwrap();
        assert_eq!(read(&open(other).await, 0, 200_000).await, large, "{number}");
        write(&open(other).await, 0, b"first").await.unwrap();
        assert_eq!(read(&open(mine).await, 0, 5).await, b"first", "{number}");
    }
    // A server that shares only the folder inside, or only the one around it, still has them.
    let path = views.outer.dir.as_ref().unwrap().path().to_owned();
    for only in [path.clone(), path.join("inner")] {
        let scene = volume(&only, &Arc::default());
        let root = if only == path { scene.find("inner").unwrap() } else { scene.root.clone() };
        for number in 0..6 {
            let name = format!("file{number}");
            let found = scene.volume.lookup(&client(1).caller, &root.object, name.as_bytes()).unwrap();
            let open =
                scene.volume.open(&client(1), &found, scene::stream(&root, &name, "large")).await.unwrap();
            assert_eq!(read(&open, 0, 200_000).await.len(), large.len(), "{only:?} {name}");
        }
    }
}

#[tokio::test]
async fn a_file_locked_through_one_volume_is_locked_in_all() {
    let views = Views::new();
    let places = views.places();
    for (number, (mine, other)) in pairs(&places).enumerate() {
        let name = format!("file{number}");
        let file = mine.file(&name);
        let place = Some(Beside { folder: &mine.root.object, name: name.as_bytes() });
        mine.volume
            .change_metadata(&client(1), &file, place, |metadata| metadata.bits = FileBits::DELETE_INHIBIT)
            .unwrap();
        let removed = other.volume.remove(&client(2), &other.root, name.as_bytes(), vfs::Kind::File);
        assert_eq!(removed.err(), Some(Error::Locked), "{number}");
    }
    // It is noted where the next server looks, also if it shares only the folder inside.
    let path = views.outer.dir.as_ref().unwrap().path().join("inner");
    views.outer.volume.tend();
    let scene = volume(&path, &Arc::default());
    let removed = scene.volume.remove(&client(2), &scene.root, b"file0", vfs::Kind::File);
    assert_eq!(removed.err(), Some(Error::Locked));
}

#[tokio::test]
async fn a_volume_that_comes_later_is_one_of_them() {
    let views = Views::new();
    views.outer.file("file");
    let options = OpenOptions { deny: RWD, access: Modes::READ, ..at(&views.outer.root, "file") };
    let open =
        views.outer.volume.open(&client(1), &views.outer.find("file").unwrap(), options).await.unwrap();
    let later = volume(views.outer.dir.as_ref().unwrap().path(), views.outer.volume.site());
    assert_eq!(later.open(2, "file").await.err(), Some(Error::ShareConflict));
    drop(open);
    later.open(2, "file").await.unwrap();
    // Volumes of different sites, as in two processes, have nothing in common.
    let [memory, _] = local_scenes();
    memory.file("file");
    memory.open(1, "file").await.unwrap();
}
