//! Files and streams that are removed with their last open: what all clients see meanwhile, and
//! what is left.

use vfs::backend::{NewKind, RenameMode, Stability};
use vfs::events::{Change, ChangeKind, Event, EventScope, Filter};
use vfs::state::{Caching, ClientId, Modes, Party, Stream, Totals};
use vfs::{Caller, Error, Kind, OpenOptions, Volume, VolumeOptions};

use crate::scene::{at, client, local_scenes, read, scenes, stream, write};

#[tokio::test]
async fn a_file_goes_when_the_last_who_has_it_open_closes_it() {
    for scene in scenes() {
        scene.file("a");
        let first = scene.open(1, "a").await.unwrap();
        let second = scene.open(2, "a").await.unwrap();
        write(&first, 0, b"still here").await.unwrap();
        first.remove_on_close(true).await.unwrap();
        assert!(first.is_being_removed() && second.is_being_removed());
        assert_eq!(scene.open(3, "a").await.unwrap_err(), Error::BeingRemoved);
        first.close().await.unwrap();
        // A stateless client finds and reads it until then.
        let found = scene.find("a").unwrap();
        assert_eq!(scene.volume.stateless().read(&client(4), &found, 0, 99).await.unwrap().payload.len(), 10);
        assert_eq!(read(&second, 0, 99).await, b"still here");
        drop(second);
        assert_eq!(scene.find("a").err(), Some(Error::NotFound));
        assert_eq!(scene.volume.state().totals(), Totals::default());
    }
}

#[tokio::test]
async fn a_cancelled_removal_keeps_the_file() {
    for scene in scenes() {
        scene.file("a");
        let open = scene.open(1, "a").await.unwrap();
        open.remove_on_close(true).await.unwrap();
        open.remove_on_close(false).await.unwrap();
        assert!(!open.is_being_removed());
        drop(scene.open(2, "a").await.unwrap());
        drop(open);
        assert_eq!(scene.names(), ["a"]);
    }
}

#[tokio::test]
async fn removal_asked_for_at_open_begins_when_that_open_is_closed() {
    for scene in scenes() {
        let file = scene.file("a");
        let options = OpenOptions { remove_on_close: true, ..at(&scene.root, "a") };
        let going = scene.volume.open(&client(1), &file, options).await.unwrap();
        let other = scene.open(2, "a").await.unwrap();
        assert!(!going.is_being_removed());
        drop(going);
        assert!(other.is_being_removed());
        assert_eq!(scene.open(3, "a").await.unwrap_err(), Error::BeingRemoved);
        assert_eq!(other.close().await, Ok(()));
        assert!(scene.names().is_empty());
    }
}

#[tokio::test]
async fn a_file_goes_from_where_it_is_by_then() {
    for scene in scenes() {
        scene.file("a");
        let folder = scene.folder("d");
        let open = scene.open(1, "a").await.unwrap();
        open.remove_on_close(true).await.unwrap();
        let (from, to) = ((&scene.root, &b"a"[..]), (&folder, &b"b"[..]));
        scene.volume.rename(&client(2), from, to, RenameMode::Replace).unwrap();
        scene.file("a"); // another file
        drop(open);
        assert_eq!(scene.names(), ["a", "d"]);
        assert_eq!(folder.object.lookup(&Caller::root(), b"b").err(), Some(Error::NotFound));
    }
}

#[tokio::test]
async fn another_file_of_the_same_name_stays() {
    for scene in scenes() {
        scene.file("a");
        let open = scene.open(1, "a").await.unwrap();
        open.remove_on_close(true).await.unwrap();
        scene.volume.remove(&client(2), &scene.root, b"a", Kind::File).unwrap();
        let new = scene.file("a");
        assert_eq!(open.close().await, Ok(()));
        assert_eq!(scene.find("a").unwrap().object.key(), new.object.key());
    }
}

#[tokio::test]
async fn of_a_file_with_two_names_the_opened_one_goes() {
    for scene in scenes() {
        let file = scene.file("a");
        scene.volume.link(&client(1), &file, &scene.root, b"b").unwrap();
        let first = scene.open(1, "a").await.unwrap();
        let second = scene.open(1, "b").await.unwrap();
        // The other name moves; the one it was opened by does not.
        let (from, to) = ((&scene.root, &b"b"[..]), (&scene.root, &b"c"[..]));
        scene.volume.rename(&client(2), from, to, RenameMode::Replace).unwrap();
        assert_eq!(&*first.place().unwrap().1, b"a");
        assert_eq!(&*second.place().unwrap().1, b"c");
        first.remove_on_close(true).await.unwrap();
        drop((first, second));
        assert_eq!(scene.names(), ["c"]);
    }
}

#[tokio::test]
async fn a_folder_must_be_empty_and_gains_nothing_any_more() {
    for scene in scenes() {
        let folder = scene.folder("d");
        let open = scene.open(1, "d").await.unwrap();
        let me = client(2);
        let make = |name: &[u8]| scene.volume.create(&me, &folder, name, NewKind::File, 0o644).map(drop);
        make(b"a").unwrap();
        assert_eq!(open.remove_on_close(true).await, Err(Error::NotEmpty));
        scene.volume.remove(&me, &folder, b"a", Kind::File).unwrap();
        open.remove_on_close(true).await.unwrap();
        assert_eq!(make(b"b"), Err(Error::BeingRemoved));
        let file = scene.file("f");
        let linked = scene.volume.link(&me, &file, &folder, b"c");
        assert_eq!(linked.map(drop), Err(Error::BeingRemoved));
        let moved = scene.volume.rename(&me, (&scene.root, b"f"), (&folder, b"c"), RenameMode::Replace);
        assert_eq!(moved.map(drop), Err(Error::BeingRemoved));
        drop(open);
        assert_eq!(scene.names(), ["f"]);
    }
}

#[tokio::test]
async fn a_full_folder_opened_to_go_stays() {
    for scene in scenes() {
        let folder = scene.folder("d");
        let options = OpenOptions { remove_on_close: true, ..at(&scene.root, "d") };
        let going = scene.volume.open(&client(1), &folder, options).await.unwrap();
        scene.volume.create(&client(2), &folder, b"a", NewKind::File, 0o644).unwrap();
        drop(going);
        assert_eq!(scene.names(), ["d"]);
        drop(scene.open(1, "d").await.unwrap());
    }
}

#[tokio::test]
async fn a_stream_goes_and_its_file_stays() {
    for scene in scenes() {
        let file = scene.file("a");
        let notes = scene.volume.open(&client(1), &file, stream(&scene.root, "a", "notes")).await.unwrap();
        write(&notes, 0, b"text").await.unwrap();
        notes.remove_on_close(true).await.unwrap();
        let other = client(2);
        let again = || scene.volume.open(&other, &file, stream(&scene.root, "a", "notes"));
        assert_eq!(again().await.unwrap_err(), Error::BeingRemoved);
        drop(scene.open(2, "a").await.unwrap());
        notes.close().await.unwrap();
        assert_eq!(again().await.unwrap().size().await, Ok(0));
        // The fork is a stream, too.
        let fork = OpenOptions { stream: Stream::Resource, ..at(&scene.root, "a") };
        let fork = scene.volume.open(&client(1), &file, fork).await.unwrap();
        write(&fork, 0, b"fork").await.unwrap();
        fork.remove_on_close(true).await.unwrap();
        drop(fork);
        let fork = OpenOptions { stream: Stream::Resource, ..at(&scene.root, "a") };
        assert_eq!(scene.volume.open(&client(1), &file, fork).await.unwrap().size().await, Ok(0));
    }
}

#[tokio::test]
async fn a_file_takes_its_streams_and_sidecar_along() {
    for scene in scenes() {
        let file = scene.file("a");
        let fork = OpenOptions { stream: Stream::Resource, ..at(&scene.root, "a") };
        let fork = scene.volume.open(&client(1), &file, fork).await.unwrap();
        write(&fork, 0, b"fork").await.unwrap();
        let open = scene.open(1, "a").await.unwrap();
        open.remove_on_close(true).await.unwrap();
        drop(open);
        assert_eq!(scene.names(), ["a"]); // its fork is open
        drop(fork);
        let names = scene.root.object.lookup(&Caller::root(), b"._a").err();
        assert_eq!((names, scene.names()), (Some(Error::NotFound), vec![]));
    }
}

#[tokio::test]
async fn a_removal_without_permission_fails_at_once() {
    for scene in scenes() {
        let file = scene.file("a");
        let looks = OpenOptions { access: Modes::READ, ..at(&scene.root, "a") };
        let open = scene.volume.open(&client(1), &file, looks.clone()).await.unwrap();
        assert_eq!(open.remove_on_close(true).await, Err(Error::AccessDenied));
        let going = OpenOptions { remove_on_close: true, ..looks };
        assert_eq!(scene.volume.open(&client(1), &file, going).await.unwrap_err(), Error::AccessDenied);
        let homeless = OpenOptions::data(Modes::ALL);
        let open = scene.volume.open(&client(1), &file, homeless).await.unwrap();
        assert_eq!(open.remove_on_close(true).await, Err(Error::Invalid));
    }
}

#[tokio::test]
async fn nothing_is_removed_from_a_share_for_reading() {
    use vfs::backend::{Backend, memory::Memory};
    let memory = Memory::ticking();
    let root = memory.root().unwrap();
    let file = root.object.create(&Caller::root(), b"a", NewKind::File, 0o644).unwrap();
    let options = VolumeOptions { read_only: true, ..VolumeOptions::default() };
    let volume = std::sync::Arc::new(Volume::new(std::sync::Arc::new(memory), options));
    assert_eq!(volume.open(&client(1), &file, at(&root, "a")).await.unwrap_err(), Error::ReadOnly);
}

#[tokio::test]
async fn the_permissions_are_those_of_who_asked_unless_the_protocol_granted_it() {
    for scene in scenes() {
        let file = scene.file("a");
        let stranger = vfs::Actor { caller: Caller::new(9, 9, &[]), ..client(2) };
        if !rustix::process::geteuid().is_root() && scene.dir.is_some() {
            continue;
        }
        let mode = vfs::SetAttributes { mode: Some(0o755), ..Default::default() };
        scene.root.object.set_attributes(&Caller::root(), &mode).unwrap();
        let options = OpenOptions { access: Modes::READ.union(Modes::DELETE), ..at(&scene.root, "a") };
        let open = scene.volume.open(&stranger, &file, options.clone()).await.unwrap();
        assert_eq!(open.remove_on_close(true).await, Err(Error::AccessDenied));
        drop(open);
        let granted = OpenOptions { granted: true, ..options };
        let open = scene.volume.open(&stranger, &file, granted).await.unwrap();
        open.remove_on_close(true).await.unwrap();
        open.close().await.unwrap();
        assert!(scene.names().is_empty());
    }
}

#[tokio::test]
async fn others_hear_of_it_by_name() {
    for scene in scenes() {
        scene.file("a");
        let scope = EventScope::Folder(scene.root.object.id());
        let mut told = scene.volume.subscribe(scope, Filter::ALL, 16).unwrap();
        let open = scene.open(7, "a").await.unwrap();
        open.remove_on_close(true).await.unwrap();
        drop(open);
        let Event::Changed(seen) = told.next().await else { panic!("a change") };
        let change = seen.change;
        assert_eq!((&*change.name, &change.what), (&b"a"[..], &ChangeKind::Removed));
        assert_eq!(change.by, Some(ClientId(7)));
    }
}

#[tokio::test]
async fn a_removed_file_is_identified_only_for_subscribers_that_want_it() {
    for scene in scenes() {
        let by_name = Filter { identifies_removed: false, ..Filter::ALL };
        let mut names = scene.volume.subscribe(EventScope::Volume, by_name, 16).unwrap();
        let mut removed = |kind| {
            let made = match kind {
                Kind::Folder => NewKind::Folder,
                _ => NewKind::File,
            };
            let (actor, root) = (client(7), &scene.root);
            let found = scene.volume.create(&actor, root, b"a", made, 0o700).unwrap().found;
            scene.volume.remove(&actor, root, b"a", kind).unwrap();
            let told = names.take_all().into_iter().map(|event| match event {
                Event::Changed(seen) => Change::clone(&seen.change),
                event => panic!("{event:?}"),
            });
            let told: Vec<Change> = told.collect();
            let [_, removed] = &told[..] else { panic!("two changes: {told:?}") };
            assert_eq!((&*removed.name, &removed.what, removed.of), (&b"a"[..], &ChangeKind::Removed, kind));
            assert_eq!(removed.by, Some(ClientId(7)));
            removed.file.map(|file| file == found.object.id())
        };
        assert_eq!((removed(Kind::File), removed(Kind::Folder)), (None, Some(true)));
        let all = scene.volume.subscribe(EventScope::Volume, Filter::ALL, 16).unwrap();
        assert_eq!(removed(Kind::File), Some(true));
        drop(all);
        assert_eq!(removed(Kind::File), None);
    }
}

#[tokio::test]
async fn a_handle_kept_in_a_cache_is_asked_for_first() {
    for scene in scenes() {
        let file = scene.file("a");
        let (lease, mut told) =
            scene.lease(&file.object, Party::client(ClientId(2)), Caching::READ.union(Caching::HANDLE)).await;
        let open = scene.open(1, "a").await.unwrap();
        let removing = tokio::spawn(async move {
            open.remove_on_close(true).await.unwrap();
        });
        let notice = told.recv().await.unwrap();
        assert_eq!(notice.to, Caching::READ);
        assert!(!removing.is_finished());
        lease.acknowledge(Caching::READ).unwrap();
        removing.await.unwrap();
        assert!(scene.names().is_empty());
    }
}

#[tokio::test]
async fn the_last_one_may_be_of_another_protocol() {
    for scene in scenes() {
        let file = scene.file("a");
        let open = scene.open(1, "a").await.unwrap();
        // As a lock manager holds a share reservation: no open of the volume's.
        let wanted = vfs::state::OpenRequest::new(Party::client(ClientId(2)), Modes::READ, Modes::NONE);
        let reserved = scene.volume.state().open(file.object.id(), Stream::Data, wanted).unwrap();
        open.remove_on_close(true).await.unwrap();
        write(&open, 0, b"x").await.unwrap();
        open.sync().await.unwrap();
        open.write_at(1, bytes::Bytes::from_static(b"y"), Stability::File).await.unwrap();
        drop(open);
        assert_eq!(scene.names(), ["a"]);
        drop(reserved);
        assert!(scene.names().is_empty());
    }
}

#[test]
fn scenes_are_of_both_backends() {
    let [memory, host] = local_scenes();
    assert!(memory.dir.is_none() && host.dir.is_some());
}

#[tokio::test]
async fn finder_info_opened_as_a_stream_goes_and_the_file_stays() {
    for scene in scenes() {
        let file = scene.file("a");
        let info = || OpenOptions { stream: Stream::Info, ..at(&scene.root, "a") };
        let none = scene.volume.open(&client(1), &file, info()).await;
        assert_eq!(none.unwrap_err(), Error::NoSuchAttribute);
        let made = OpenOptions { create: true, ..info() };
        let open = scene.volume.open(&client(1), &file, made).await.unwrap();
        // 60 bytes: signature, version, reserved, no backup time, Finder info, ProDOS, reserved.
        let mut bytes = b"AFP\0\0\0\x01\0\0\0\0\0\x80\0\0\0TEXTttxt".to_vec();
        bytes.resize(60, 0);
        write(&open, 0, &bytes).await.unwrap();
        assert_eq!((open.size().await, read(&open, 0, 99).await), (Ok(60), bytes));
        open.truncate(1).await.unwrap();
        assert_eq!(open.truncate(61).await, Err(Error::FileTooLarge));
        assert_eq!(scene.volume.metadata(&file, None).unwrap().finder_info.file_type(), *b"TEXT");
        open.remove_on_close(true).await.unwrap();
        drop(open);
        assert!(scene.volume.metadata(&file, None).unwrap().finder_info.is_none());
        assert_eq!(scene.names(), ["a"]);
    }
}
