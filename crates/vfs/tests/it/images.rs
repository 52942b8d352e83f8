//! The file system in a disk image as a volume: names, identity, forks, rights; and a copy of it in another volume.

use std::collections::BTreeMap;
use std::sync::Arc;

use images::memory::MemoryFiles;
use images::tree::{FileSystem, NodeId};
use vfs::backend::image::{Image, ImageOptions, ShownModes};
use vfs::backend::memory::Memory;
use vfs::backend::{Found, NewKind, Stability};
use vfs::mac::FinderInfo;
use vfs::state::{ClientId, Modes, Party, Stream};
use vfs::{
    Access, Actor, Beside, Caller, Error, Kind, OpenOptions, Restore, RestoreObserver, RestoreOptions,
    RestoreOutcome, SetAttributes, Time, Volume, VolumeOptions, image_at,
};

use crate::scene;

const ADA: u32 = 4001;

fn ada() -> Caller {
    Caller::new(ADA, ADA, &[])
}

fn volume(files: MemoryFiles, modes: ShownModes) -> Arc<Volume> {
    let image = Image::new(Arc::new(files), ImageOptions { identity: 77, owner: (ADA, ADA), modes });
    Arc::new(Volume::new(Arc::new(image), VolumeOptions::default()))
}

fn find(volume: &Volume, path: &str) -> vfs::Result<Found> {
    let names = path.split('/').filter(|name| !name.is_empty());
    names.into_iter().try_fold(volume.root()?, |at, name| volume.lookup(&ada(), &at.object, name.as_bytes()))
}

fn names(volume: &Volume, folder: &Found) -> Vec<String> {
    let page = volume.list(&ada(), folder, 0).unwrap();
    assert!(page.complete);
    let mut names: Vec<String> =
        page.named().map(|entry| String::from_utf8(entry.name().to_vec()).unwrap()).collect();
    names.sort();
    names
}

/// A file with all that a Mac keeps of it, in a folder.
fn rich() -> (MemoryFiles, NodeId) {
    let mut files = MemoryFiles::new("Disk");
    let folder = files.folder(files.root(), "Letters");
    let file = files.file(folder, "to Grace", b"Dear Grace");
    files.set_resource(file, &b"fork ".repeat(100_000));
    files.set_attribute(file, "com.apple.quarantine", b"0081;x");
    files.change(file, |node| node.finder_info[..8].copy_from_slice(b"TEXTttxt"));
    files.symbolic_link(folder, "link", "to Grace");
    (files, file)
}

/// The data, the resource fork, an attribute and the Finder information of the file of [`rich`].
async fn read_rich(volume: &Arc<Volume>, caller: Caller) -> (Vec<u8>, Vec<u8>, Vec<u8>, FinderInfo) {
    let folder = find(volume, "Letters").unwrap();
    let file = volume.lookup(&caller, &folder.object, b"to Grace").unwrap();
    let place = Beside { folder: &folder.object, name: b"to Grace" };
    let actor = Actor::new(caller, Party::client(ClientId(1)));
    let mut all = Vec::new();
    for stream in [Stream::Data, Stream::Resource, Stream::Named("com.apple.quarantine".into())] {
        let options = OpenOptions { stream, place: Some(place), ..OpenOptions::data(Modes::READ) };
        let open = volume.open(&actor, &file, options).await.unwrap();
        let (mut bytes, mut at) = (Vec::new(), 0);
        loop {
            let more = scene::read(&open, at, 1 << 16).await;
            at += more.len() as u64;
            bytes.extend_from_slice(&more);
            if more.is_empty() {
                break;
            }
        }
        all.push(bytes);
    }
    let info = volume.metadata(&file, Some(place)).unwrap().finder_info;
    let [data, fork, tag] = <[Vec<u8>; 3]>::try_from(all).unwrap();
    (data, fork, tag, info)
}

#[tokio::test]
async fn forks_finder_info_and_attributes_are_read() {
    let volume = volume(rich().0, ShownModes::Private);
    let (data, fork, tag, info) = read_rich(&volume, ada()).await;
    assert_eq!((&data[..], &tag[..]), (&b"Dear Grace"[..], &b"0081;x"[..]));
    assert_eq!(fork, b"fork ".repeat(100_000));
    assert_eq!((info.file_type(), info.creator()), (*b"TEXT", *b"ttxt"));
    let folder = find(&volume, "Letters").unwrap();
    assert_eq!(names(&volume, &folder), ["link", "to Grace"], "the sidecar is not listed");
    let link = find(&volume, "Letters/link").unwrap();
    assert_eq!(link.object.read_link().unwrap(), b"to Grace");
    let times = find(&volume, "Letters/to Grace").unwrap().attributes;
    assert_eq!((times.created.unwrap().secs, times.modified.secs), (1_000_000_000, 1_100_000_000));
}

#[test]
fn names_are_composed_whole_and_without_slashes() {
    let mut files = MemoryFiles::new("Disk").case_sensitive();
    let long = "ä".repeat(200);
    for name in ["Cafe\u{301}", "either:or", "plain", &long] {
        files.file(files.root(), name, name.as_bytes());
    }
    let volume = volume(files, ShownModes::Private);
    let root = volume.root().unwrap();
    let mut expected = vec!["Caf\u{e9}", "either:or", "plain", &long];
    expected.sort_unstable();
    assert_eq!(names(&volume, &root), expected);
    for name in expected {
        let found = find(&volume, name).unwrap();
        let again = volume.node(&found.object.key()).unwrap();
        assert_eq!(again.object.id(), found.object.id(), "{name}");
    }
    assert_eq!(find(&volume, "PLAIN").err(), Some(Error::NotFound));
}

#[test]
fn case_counts_for_clients_that_heed_it() {
    let mut files = MemoryFiles::new("Disk");
    files.file(files.root(), "Notes", b"");
    let volume = volume(files, ShownModes::Private);
    assert!(find(&volume, "Notes").is_ok());
    assert_eq!(find(&volume, "notes").err(), Some(Error::NotFound));
}

#[test]
fn a_linked_folder_is_another_one_at_each_place() {
    let mut files = MemoryFiles::new("Backups");
    let (first, second) =
        (files.folder(files.root(), "2026-11-20"), files.folder(files.root(), "2026-11-27"));
    let users = files.folder(first, "Users");
    let ada = files.folder(users, "ada");
    let file = files.file(ada, "diary", b"same");
    files.hard_link(second, "Users", users);
    files.hard_link(second, "diary", file);
    let volume = volume(files, ShownModes::Private);
    let [one, other] =
        ["2026-11-20", "2026-11-27"].map(|day| find(&volume, &format!("{day}/Users/ada")).unwrap());
    assert_ne!(one.object.id(), other.object.id());
    for (day, found) in [("2026-11-20", &one), ("2026-11-27", &other)] {
        let users = found.object.parent().unwrap();
        assert_eq!(users.object.id(), find(&volume, &format!("{day}/Users")).unwrap().object.id());
        assert_eq!(users.object.parent().unwrap().object.id(), find(&volume, day).unwrap().object.id());
        let again = volume.node(&found.object.key()).unwrap();
        assert_eq!(again.object.id(), found.object.id());
    }
    let [one, other] =
        ["2026-11-20/Users/ada/diary", "2026-11-27/diary"].map(|path| find(&volume, path).unwrap());
    assert_eq!(one.object.id(), other.object.id(), "a file with several names is one file");
    assert_eq!(one.attributes.links, 2);
}

#[test]
fn listings_go_on_after_each_cookie() {
    let mut files = MemoryFiles::new("Disk");
    for number in 0..700 {
        let file = files.file(files.root(), &format!("f{number:03}"), b"");
        if number % 100 == 7 {
            files.set_resource(file, b"fork");
        }
    }
    let image = Image::new(
        Arc::new(files),
        ImageOptions { identity: 1, owner: (ADA, ADA), modes: ShownModes::Private },
    );
    let root = vfs::backend::Backend::root(&image).unwrap().object;
    let mut all: Vec<(Vec<u8>, u64)> = Vec::new();
    root.list(0, &mut |entry| {
        all.push((entry.name.to_vec(), entry.cookie));
        true
    })
    .unwrap();
    assert_eq!(all.len(), 2 + 700 + 7);
    assert!(all.windows(2).all(|two| two[0].1 < two[1].1));
    for step in [1, 3, 256] {
        let (mut seen, mut cookie) = (Vec::new(), 0);
        loop {
            let mut taken = 0;
            let ended = root.list(cookie, &mut |entry| {
                if taken == step {
                    return false;
                }
                (taken, cookie) = (taken + 1, entry.cookie);
                seen.push((entry.name.to_vec(), entry.cookie));
                true
            });
            if ended.unwrap() {
                break;
            }
        }
        assert!(seen == all, "{step} at a time");
    }
}

#[test]
fn nobody_else_sees_it_and_nobody_changes_it() {
    let volume = volume(rich().0, ShownModes::Private);
    let (root, grace) = (volume.root().unwrap(), Caller::new(4002, 4002, &[ADA]));
    assert_eq!(volume.list(&grace, &root, 0).err(), Some(Error::AccessDenied));
    assert_eq!(volume.lookup(&grace, &root.object, b"Letters").err(), Some(Error::AccessDenied));
    let file = find(&volume, "Letters/to Grace").unwrap();
    let all = Access::READ.union(Access::WRITE).union(Access::EXECUTE);
    assert_eq!(volume.access(&grace, &file, all).unwrap(), Access::NONE);
    assert_eq!(volume.access(&ada(), &file, all).unwrap(), Access::READ);
    for caller in [ada(), Caller::root()] {
        let actor = Actor::new(caller.clone(), Party::client(ClientId(1)));
        let folder = find(&volume, "Letters").unwrap();
        let is_refused = |error: Error| {
            assert!(matches!(error, Error::ReadOnly | Error::AccessDenied), "{error:?}");
        };
        is_refused(volume.create(&actor, &folder, b"new", NewKind::File, 0o644).err().unwrap());
        is_refused(volume.remove(&actor, &folder, b"to Grace", Kind::File).err().unwrap());
        let mode = SetAttributes { mode: Some(0o777), ..SetAttributes::default() };
        is_refused(volume.set_attributes(&actor, &file, &mode).err().unwrap());
        is_refused(file.object.write_at(&caller, 0, b"x", Stability::File).err().unwrap());
    }
}

#[derive(Default)]
struct Outcomes(BTreeMap<Vec<u8>, RestoreOutcome>);

impl RestoreObserver for Outcomes {
    fn done(&mut self, path: &[u8], what: RestoreOutcome) {
        self.0.insert(path.to_vec(), what);
    }

    fn bytes(&mut self, _: u64) -> bool {
        true
    }
}

#[test]
fn a_copy_keeps_forks_dates_and_attributes() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let (mut files, file) = rich();
    files.change(file, |node| node.mode = 0o4640);
    let from = volume(files, ShownModes::Stored);
    let to = Arc::new(Volume::new(Arc::new(Memory::ticking()), VolumeOptions::default()));
    let mut told = Outcomes::default();
    {
        let _entered = runtime.enter();
        let options = RestoreOptions { past_damage: true, ..RestoreOptions::default() };
        let mut restore = Restore::new(&from, &to, options, &mut told);
        assert!(restore.run(&[b"Letters"], &[b"Letters"]).unwrap());
        restore.remove_staging();
    }
    assert!(told.0.values().all(|what| *what == RestoreOutcome::Restored), "{:?}", told.0);
    let all = to.root().unwrap().object;
    let mut left = Vec::new();
    all.list(0, &mut |entry| {
        left.push(entry.name.to_vec());
        true
    })
    .unwrap();
    assert_eq!(left.len(), 3, "nothing of the server's own stays: {left:?}");
    let copied = runtime.block_on(read_rich(&to, ada()));
    assert_eq!(copied, runtime.block_on(read_rich(&from, ada())));
    let there = find(&to, "Letters/to Grace").unwrap();
    assert_eq!((there.attributes.mode, there.attributes.uid), (0o640, ADA), "it runs as no other user");
    assert_eq!(there.attributes.modified, Time { secs: 1_100_000_000, nanos: 0 });
    let folder = find(&to, "Letters").unwrap();
    let place = Beside { folder: &folder.object, name: b"to Grace" };
    let created = to.metadata(&there, Some(place)).unwrap().times.created;
    assert_eq!(created, Some(Time { secs: 1_000_000_000, nanos: 0 }));
}

#[test]
fn an_image_is_opened_by_those_who_may_read_it_and_stale_once_changed() {
    let volume = Arc::new(Volume::new(Arc::new(Memory::ticking()), VolumeOptions::default()));
    let actor = Actor::new(ada(), Party::client(ClientId(1)));
    let root = volume.root().unwrap();
    let bundle = volume.create(&actor, &root, b"b.sparsebundle", NewKind::Folder, 0o700).unwrap().found;
    let bands = volume.create(&actor, &bundle, b"bands", NewKind::Folder, 0o700).unwrap().found;
    let band = volume.create(&actor, &bands, b"a1", NewKind::File, 0o600).unwrap().found.object;
    band.write_at(&ada(), 0, b"band", Stability::File).unwrap();
    assert_eq!(image_at(&volume, &Caller::new(4002, 4002, &[]), &bundle).err(), Some(Error::AccessDenied));
    let images::Source::Bundle(files) = image_at(&volume, &ada(), &bundle).unwrap() else {
        panic!("a bundle")
    };
    assert_eq!(files.list("bands").unwrap(), ["a1"]);
    assert_eq!(files.open("bands/a2").err(), Some(images::Error::NotFound));
    assert!(files.open("../b.sparsebundle/bands/a1").is_err());
    let mut bytes = [0; 4];
    let open = files.open("bands/a1").unwrap();
    open.read_at(0, &mut bytes).unwrap();
    assert_eq!((&bytes, open.length()), (b"band", 4));
    assert!(open.read_at(1, &mut bytes).is_err(), "beyond its end");
    band.write_at(&ada(), 4, b"more", Stability::File).unwrap();
    let stale = Some(images::Error::Source(Error::Stale));
    assert_eq!(open.read_at(0, &mut bytes).err(), stale);
    assert_eq!(files.open("bands/a1").err(), stale);
}
