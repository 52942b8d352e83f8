//! Files and streams that are moved while they are open, and folders with something open in them.

#![allow(clippy::unwrap_used, reason = "a test")]

mod scene;

use std::sync::{Arc, Mutex};

use vfs::backend::{Found, NewKind, RenameMode};
use vfs::state::{Caching, ClientId, Modes, Party, Stream};
use vfs::{Access, Actor, Error, Kind, OpenOptions, Plan, Volume};

use scene::{RW, at, client, read, scenes, stream, write};

/// Ceph's library once waited for ever for the end of such a move, and checked the rights to search a file first.
#[tokio::test]
async fn a_missing_file_does_not_move_and_nothing_is_below_a_file() {
    for scene in scenes() {
        let file = scene.file("file");
        let rename = |to: &Found| {
            let (from, to) = ((&scene.root, &b"none"[..]), (to, &b"new"[..]));
            scene.volume.rename(&client(1), from, to, RenameMode::Replace).err()
        };
        assert_eq!(rename(&scene.root), Some(Error::NotFound));
        assert_eq!(scene.find("new").err(), Some(Error::NotFound));
        let make = |kind| scene.volume.create(&client(1), &file, b"new", kind, 0o644).err();
        assert_eq!(
            (make(NewKind::File), make(NewKind::Folder)),
            (Some(Error::NotFolder), Some(Error::NotFolder))
        );
        assert_eq!(scene.volume.remove(&client(1), &file, b"new", Kind::File).err(), Some(Error::NotFolder));
        // rename(2): EISDIR and ENOTDIR, whether or not the folder is empty.
        let folder = scene.folder("folder");
        scene.volume.create(&client(1), &folder, b"below", NewKind::File, 0o644).unwrap();
        let over = |from: &str, to: &str| {
            let (from, to) = ((&scene.root, from.as_bytes()), (&scene.root, to.as_bytes()));
            scene.volume.rename(&client(1), from, to, RenameMode::Replace).err()
        };
        assert_eq!(over("file", "folder"), Some(Error::IsFolder));
        assert_eq!(over("folder", "file"), Some(Error::NotFolder));
    }
}

#[tokio::test]
async fn an_open_file_moves_by_where_it_is_and_others_keep_it() {
    for scene in scenes() {
        scene.file("a");
        let folder = scene.folder("d");
        let (mine, theirs) = (scene.open(1, "a").await.unwrap(), scene.open(2, "a").await.unwrap());
        mine.rename_to(&folder, b"b", RenameMode::Keep).await.unwrap();
        for open in [&mine, &theirs] {
            let (at, name) = open.place().unwrap();
            assert_eq!((at.id(), &*name), (folder.object.id(), &b"b"[..]));
        }
        write(&theirs, 0, b"moved").await.unwrap();
        theirs.rename_to(&scene.root, b"c", RenameMode::Keep).await.unwrap(); // back, from there
        assert_eq!((scene.names(), read(&mine, 0, 9).await), (vec!["c".into(), "d".into()], b"moved".into()));
    }
}

#[tokio::test]
async fn a_name_that_is_taken_is_kept_or_replaced() {
    for scene in scenes() {
        let file = scene.file("a");
        scene.file("b");
        let open = scene.open(1, "a").await.unwrap();
        assert_eq!(open.rename_to(&scene.root, b"b", RenameMode::Keep).await, Err(Error::Exists));
        assert_eq!(&*open.place().unwrap().1, b"a");
        open.rename_to(&scene.root, b"b", RenameMode::Replace).await.unwrap();
        assert_eq!(scene.find("b").unwrap().object.key(), file.object.key());
        assert_eq!(scene.names(), ["b"]);
    }
}

#[tokio::test]
async fn denied_removal_denies_moving() {
    for scene in scenes() {
        let file = scene.file("a");
        scene.file("b");
        let mine = scene.open(1, "a").await.unwrap();
        let keeps = |name| OpenOptions { access: Modes::READ, deny: Modes::NONE, ..at(&scene.root, name) };
        let theirs = scene.volume.open(&client(2), &file, keeps("a")).await.unwrap();
        theirs.guard().change(Modes::READ, Modes::DELETE).unwrap_err(); // what the first one may do
        drop(mine);
        theirs.guard().change(Modes::READ, Modes::DELETE).unwrap();
        let refused = scene.open(1, "a").await.unwrap_err();
        assert_eq!(refused, Error::ShareConflict);
        // Nor may another file take its place.
        let other = scene.open(1, "b").await.unwrap();
        assert_eq!(other.rename_to(&scene.root, b"a", RenameMode::Replace).await, Err(Error::ShareConflict));
        drop(theirs);
        other.rename_to(&scene.root, b"a", RenameMode::Replace).await.unwrap();
    }
}

#[tokio::test]
async fn moving_needs_the_right_to_remove() {
    for scene in scenes() {
        let file = scene.file("a");
        let options = OpenOptions { access: RW, ..at(&scene.root, "a") };
        let open = scene.volume.open(&client(1), &file, options).await.unwrap();
        let moved = open.rename_to(&scene.root, b"b", RenameMode::Keep).await;
        assert_eq!(moved, Err(Error::AccessDenied));
    }
}

#[tokio::test]
async fn a_move_waits_for_the_caches_of_others() {
    for scene in scenes() {
        let file = scene.file("a");
        let theirs = Party::client(ClientId(2));
        let (lease, mut told) = scene.lease(&file.object, theirs, Caching::READ.union(Caching::HANDLE)).await;
        let (open, root) = (scene.open(1, "a").await.unwrap(), scene.root.clone());
        let moving = tokio::spawn(async move { open.rename_to(&root, b"b", RenameMode::Keep).await });
        assert_eq!(told.recv().await.unwrap().to, Caching::READ);
        assert!(!moving.is_finished());
        lease.acknowledge(Caching::READ).unwrap();
        assert_eq!(moving.await.unwrap(), Ok(()));
        assert_eq!(scene.names(), ["b"]);
    }
}

#[tokio::test]
async fn what_is_open_inside_a_folder_goes_along() {
    for scene in scenes() {
        let folder = scene.folder("d");
        let made = scene.volume.create(&client(1), &folder, b"f", NewKind::File, 0o644).unwrap().found;
        let inside = scene.volume.open(&client(2), &made, at(&folder, "f")).await.unwrap();
        let outside = scene.open(1, "d").await.unwrap();
        outside.rename_to(&scene.root, b"e", RenameMode::Keep).await.unwrap();
        write(&inside, 0, b"x").await.unwrap();
        inside.remove_on_close(true).await.unwrap();
        inside.close().await.unwrap();
        assert_eq!(folder.object.lookup(&client(1).caller, b"f").err(), Some(Error::NotFound));
    }
}

#[tokio::test]
async fn a_volume_knows_what_is_open_below_a_folder() {
    fn make(volume: &Volume, folder: &Found, name: &[u8], new: NewKind<'_>) -> Found {
        volume.create(&client(1), folder, name, new, 0o755).unwrap().found
    }
    for scene in scenes() {
        let (volume, above) = (&scene.volume, scene.folder("d"));
        let below = make(volume, &above, b"e", NewKind::Folder);
        let beside = scene.folder("f");
        let file = make(volume, &below, b"a", NewKind::File);
        let is_open = |folder: &Found| volume.caching_tree().open_below(&folder.object);
        let folder = scene.open(1, "d").await.unwrap();
        assert!(!is_open(&above)); // a folder is not inside itself
        assert!(is_open(&scene.root));
        let open = volume.open(&client(1), &file, at(&below, "a")).await.unwrap();
        assert!(is_open(&above) && is_open(&below) && !is_open(&beside));
        open.rename_to(&beside, b"a", RenameMode::Keep).await.unwrap();
        assert!(!is_open(&above) && !is_open(&below) && is_open(&beside));
        drop((open, folder));
        assert!(!is_open(&scene.root));
    }
}

#[tokio::test]
async fn what_is_open_below_a_folder_only_in_a_cache_is_closed_when_asked_for() {
    for scene in scenes() {
        let folder = scene.folder("d");
        let made = scene.volume.create(&client(1), &folder, b"f", NewKind::File, 0o644).unwrap().found;
        let mut kept = scene.volume.open(&client(2), &made, at(&folder, "f")).await.unwrap();
        let both = Caching::READ.union(Caching::HANDLE);
        let (lease, mut told) = scene.lease(&made.object, Party::client(ClientId(2)), both).await;
        kept.guard_mut().keep(lease);
        let (volume, node) = (scene.volume.clone(), folder.object.clone());
        let asking = tokio::spawn(async move { volume.caching_tree().recall_below(&client(1), &node).await });
        assert_eq!(told.recv().await.unwrap().to, Caching::READ);
        assert!(!asking.is_finished() && scene.volume.caching_tree().open_below(&folder.object));
        drop(kept);
        asking.await.unwrap();
        assert!(!scene.volume.caching_tree().open_below(&folder.object));
    }
}

#[tokio::test]
async fn what_those_who_are_away_have_open_below_a_folder_is_closed_when_asked_for() {
    for scene in scenes() {
        let folder = scene.folder("d");
        let made = scene.volume.create(&client(1), &folder, b"f", NewKind::File, 0o644).unwrap().found;
        for below in [true, false] {
            let open = scene.volume.open(&client(2), &made, at(&folder, "f")).await.unwrap();
            let held = Arc::new(Mutex::new(Some(open)));
            let theirs = held.clone();
            let give_way = move || drop(theirs.lock().unwrap().take());
            let _away = scene.volume.state().leave(ClientId(2), Arc::new(give_way));
            match below {
                true => scene.volume.caching_tree().recall_below(&client(1), &folder.object).await,
                false => {
                    let by = client(1);
                    let permitted = scene.volume.permit(&by, Plan::Use(&made, Access::WRITE)).unwrap();
                    permitted.recall_handles(&made.object).await;
                }
            }
            assert!(
                held.lock().unwrap().is_none() && !scene.volume.caching_tree().open_below(&folder.object)
            );
        }
    }
}

#[tokio::test]
async fn an_open_file_gets_another_name() {
    for scene in scenes() {
        let file = scene.file("a");
        let open = scene.open(1, "a").await.unwrap();
        open.link_to(&scene.root, b"b").await.unwrap();
        assert_eq!(open.link_to(&scene.root, b"b").await, Err(Error::Exists));
        assert_eq!(scene.find("b").unwrap().object.key(), file.object.key());
        assert_eq!(&*open.place().unwrap().1, b"a");
        scene.folder("d");
        let folder = scene.open(1, "d").await.unwrap();
        assert_eq!(folder.link_to(&scene.root, b"e").await, Err(Error::IsFolder));
    }
}

#[tokio::test]
async fn a_named_stream_gets_another_name() {
    for scene in scenes() {
        let file = scene.file("a");
        let named = |name: &str| stream(&scene.root, "a", name);
        let (me, other) = (client(1), client(2));
        let open = |who, name| scene.volume.open(who, &file, named(name));
        for length in [5_usize, 100_000] {
            // As an attribute, and as a file of the store.
            let first = open(&me, "first").await.unwrap();
            write(&first, 0, &vec![7; length]).await.unwrap();
            first.rename_stream("second", false).await.unwrap();
            assert_eq!(first.guard().stream(), Stream::Named("second".into()));
            assert_eq!(read(&first, 0, 200_000).await, vec![7; length]);
            assert_eq!(open(&other, "first").await.unwrap().size().await, Ok(0)); // a new one
            assert_eq!(first.rename_stream("first", false).await, Err(Error::Exists));
            let theirs = open(&other, "second").await.unwrap();
            assert_eq!(first.rename_stream("third", false).await, Err(Error::ShareConflict));
            drop(theirs);
            first.rename_stream("first", true).await.unwrap();
            assert_eq!(first.size().await, Ok(length as u64));
            assert_eq!(first.rename_stream("", true).await, Err(Error::NotSupported));
            first.truncate(0).await.unwrap();
        }
        let data = scene.open(1, "a").await.unwrap();
        assert_eq!(data.rename_stream("x", true).await, Err(Error::NotSupported));
    }
}

#[tokio::test]
async fn others_lose_the_listing_of_a_folder_whose_entries_change() {
    for scene in scenes() {
        let folder = scene.folder("d");
        let party = |client, key| Party { client: ClientId(client), key: Some([key; 16]) };
        let both = Caching::READ.union(Caching::HANDLE);
        let (own, mut own_told) = scene.lease(&scene.root.object, party(1, 9), both).await;
        let (lease, mut told) = scene.lease(&scene.root.object, party(2, 9), both).await;
        let (_lease_below, mut told_below) = scene.lease(&folder.object, party(2, 8), both).await;
        let me = Actor { party: party(1, 1), parent_key: Some([9; 16]), ..client(1) };
        scene.volume.create(&me, &scene.root, b"a", NewKind::File, 0o644).unwrap();
        assert_eq!(told.try_recv().unwrap().to, Caching::NONE);
        assert!(own_told.try_recv().is_err()); // the same cache knows it
        assert_eq!(own.caching(), both);
        lease.acknowledge(Caching::NONE).unwrap();
        // A move concerns both folders. Without the key, the client's other caches are told, too.
        let unaware = Actor { parent_key: None, ..me };
        scene.volume.rename(&unaware, (&scene.root, b"a"), (&folder, b"a"), RenameMode::Keep).unwrap();
        assert_eq!(own_told.try_recv().unwrap().to, Caching::NONE);
        assert_eq!(told_below.try_recv().unwrap().to, Caching::NONE);
    }
}

#[tokio::test]
async fn a_changed_file_changes_the_listing_when_it_is_closed() {
    for scene in scenes() {
        let file = scene.file("a");
        let (_lease, mut told) =
            scene.lease(&scene.root.object, Party::client(ClientId(2)), Caching::READ).await;
        drop(scene.volume.open(&client(1), &file, at(&scene.root, "a")).await.unwrap());
        assert!(told.try_recv().is_err());
        let open = scene.open(1, "a").await.unwrap();
        write(&open, 0, b"x").await.unwrap();
        assert!(told.try_recv().is_err());
        open.close().await.unwrap();
        assert_eq!(told.try_recv().unwrap().to, Caching::NONE);
    }
}
