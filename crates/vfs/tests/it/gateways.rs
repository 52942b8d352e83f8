//! Two servers of one folder, with a coordinator between them: what a client of one server has
//! binds the clients of the other one, and every client hears of every change.

use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::time::timeout;

use vfs::acl::{AclChange, Entries, Entry, Rights, Who};
use vfs::backend::{Found, NewKind, RenameMode};
use vfs::events::{ChangeKind, Event, EventScope, Filter};
use vfs::mac::{FileBits, Metadata};
use vfs::state::{
    Caching, ClientId, Flavour, Lock, LockKind, LockOwner, LockRefusal, Modes, Party, Range, Stream,
};
use vfs::{Beside, Error, Open, OpenOptions};

use crate::scene::servers::{TRAVEL, servers, settled};
use crate::scene::{Scene, assert_bound, at, client, read, write};
use crate::waiting::until_async;

async fn make(scene: &Scene, name: &str) {
    let create = || scene.volume.create(&client(1), &scene.root, name.as_bytes(), NewKind::File, 0o644);
    settled(scene, create).await.unwrap();
}

#[tokio::test]
async fn deny_modes_ranges_and_leases_bind_the_clients_of_the_other_server() {
    let [first, second] = servers();
    make(&first, "file").await;
    for (mine, other) in [(&first, &second), (&second, &first), (&first, &second)] {
        assert_bound(mine, other, "file").await;
    }
}

#[tokio::test]
async fn a_write_cache_is_given_back_before_the_other_server_opens_the_file() {
    let [first, second] = servers();
    make(&first, "file").await;
    let open = first.open(1, "file").await.unwrap();
    let wanted = Caching::READ | Caching::WRITE | Caching::HANDLE;
    let (lease, mut told) = first.lease(open.node(), Party::client(ClientId(1)), wanted).await;
    let reading = async {
        let open = second.open(2, "file").await.unwrap();
        read(&open, 0, 5).await
    };
    let holding = async {
        let notice = timeout(Duration::from_secs(10), told.recv()).await.unwrap().unwrap();
        assert_eq!(notice.to, Caching::READ | Caching::HANDLE);
        // The holder writes what it has in its cache. The state comes back for that.
        write(&open, 0, b"clean").await.unwrap();
        let answer = || lease.acknowledge(notice.to);
        assert_eq!(settled(&first, answer).await, Ok(notice.to));
    };
    let (data, ()) =
        timeout(Duration::from_secs(30), async { tokio::join!(reading, holding) }).await.unwrap();
    assert_eq!(data, b"clean");
}

#[tokio::test]
async fn a_file_is_removed_with_the_last_open_of_both_servers() {
    let servers = servers();
    for (mine, other) in [(&servers[0], &servers[1]), (&servers[1], &servers[0])] {
        make(mine, "file").await;
        let (open, theirs) = (mine.open(1, "file").await.unwrap(), other.open(2, "file").await.unwrap());
        open.remove_on_close(true).await.unwrap();
        open.close().await.unwrap();
        assert_eq!(other.open(3, "file").await.err(), Some(Error::BeingRemoved));
        assert!(mine.find("file").is_ok());
        theirs.close().await.unwrap();
        assert_eq!(mine.find("file").err(), Some(Error::NotFound));
    }
}

/// The removal is made by the server whose client has asked for it.
#[tokio::test]
async fn the_last_close_through_the_other_server_is_answered_after_the_removal() {
    let [first, second] = servers();
    make(&first, "file").await;
    let theirs = second.open(2, "file").await.unwrap();
    let open = first.open(1, "file").await.unwrap();
    open.remove_on_close(true).await.unwrap();
    open.close().await.unwrap();
    let file = theirs.node().id();
    drop(theirs);
    second.volume.closed_everywhere(file).await;
    assert_eq!(second.find("file").err(), Some(Error::NotFound));
}

/// The opens of one server follow the moves that clients of the other one make.
#[tokio::test]
async fn an_open_knows_its_place_after_a_move_through_the_other_server() {
    let [first, second] = servers();
    make(&first, "file").await;
    let folder =
        settled(&first, || first.volume.create(&client(1), &first.root, b"folder", NewKind::Folder, 0o755));
    let folder = folder.await.unwrap().found;
    let below = second.find("folder").unwrap();
    let moves = async |from: (&Found, &str), to: (&Found, &str)| {
        let (from, to) = ((from.0, from.1.as_bytes()), (to.0, to.1.as_bytes()));
        let rename = || second.volume.rename(&client(2), from, to, RenameMode::Keep);
        settled(&second, rename).await.unwrap();
    };
    let open = first.open(1, "file").await.unwrap();
    moves((&second.root, "file"), (&second.root, "second")).await;
    open.rename_to(&first.root, b"third", RenameMode::Keep).await.unwrap();
    assert!(!first.volume.caching_tree().open_below(&folder.object));
    moves((&second.root, "third"), (&below, "fourth")).await;
    assert!(first.volume.caching_tree().open_below(&folder.object));
    moves((&below, "fourth"), (&second.root, "fifth")).await;
    assert!(!first.volume.caching_tree().open_below(&folder.object));
    assert_eq!(&*open.place().unwrap().1, b"fifth");
    moves((&second.root, "fifth"), (&second.root, "last")).await;
    open.remove_on_close(true).await.unwrap();
    open.close().await.unwrap();
    assert_eq!(second.names(), ["folder"]);
}

#[tokio::test]
async fn a_folder_does_not_stay_still_while_a_client_of_the_other_server_has_something_open_in_it() {
    let [first, second] = servers();
    let make = async |name: &str| {
        let create = || first.volume.create(&client(1), &first.root, name.as_bytes(), NewKind::Folder, 0o755);
        settled(&first, create).await.unwrap().found
    };
    let (folder, beside) = (make("folder").await, make("beside").await);
    let create = || first.volume.create(&client(1), &folder, b"file", NewKind::File, 0o644);
    settled(&first, create).await.unwrap();
    let hold = async |folder: &Found| {
        first.volume.caching_tree().hold_below(&client(1), &folder.object).await.unwrap()
    };
    assert!(hold(&folder).await.is_some());
    let there = second.find("folder").unwrap();
    let found = second.volume.lookup(&client(2).caller, &there.object, b"file").unwrap();
    let (one, other) = (client(2), client(3));
    let mut known = second.volume.open(&one, &found, at(&there, "file")).await.unwrap();
    assert!(hold(&folder).await.is_none() && hold(&beside).await.is_some());
    // Its client keeps it open only in its cache, and closes it when it is asked for that.
    let both = Caching::READ.union(Caching::HANDLE);
    let (lease, mut told) = second.lease(&found.object, Party::client(ClientId(2)), both).await;
    known.guard_mut().keep(lease);
    let closes = async {
        assert_eq!(told.recv().await.unwrap().to, Caching::READ);
        drop(known);
    };
    let (held, ()) = tokio::join!(hold(&folder), closes);
    // New opens wait for the move, at both servers, and those elsewhere do not.
    let mut opens: [Pin<Box<dyn Future<Output = vfs::Result<Open>>>>; 2] = [
        Box::pin(second.volume.open(&one, &found, at(&there, "file"))),
        Box::pin(first.volume.open(&other, &found, at(&folder, "file"))),
    ];
    for opening in &mut opens {
        assert!(timeout(50 * TRAVEL, opening.as_mut()).await.is_err(), "the folder is held");
    }
    drop(second.open(2, "beside").await.unwrap());
    drop(held);
    for opening in opens {
        drop(opening.await.unwrap());
    }
}

/// It cannot be asked from the other server, which has the state of the file.
#[tokio::test]
async fn a_client_that_is_not_connected_gives_way_to_those_of_the_other_server() {
    let [first, second] = servers();
    make(&first, "file").await;
    let options = OpenOptions { deny: Modes::WRITE, ..at(&first.root, "file") };
    let open = first.volume.open(&client(1), &first.find("file").unwrap(), options).await.unwrap();
    assert_eq!(second.open(2, "file").await.err(), Some(Error::ShareConflict));
    let open = Mutex::new(Some(open));
    let give_way = Arc::new(move || drop(open.lock().unwrap().take()));
    let _absence = first.volume.state().leave(ClientId(1), give_way);
    until_async("the client does not give way", async || second.open(2, "file").await.is_ok()).await;
}

#[tokio::test]
async fn the_ranges_of_an_owner_are_released_when_the_state_comes() {
    let [first, second] = servers();
    make(&first, "file").await;
    let file = first.find("file").unwrap().object.id();
    let lock = |client: u64| Lock {
        owner: LockOwner::named(ClientId(client), b"owner"),
        range: Range::ALL,
        kind: LockKind::Exclusive,
        flavour: Flavour::Advisory,
    };
    let take = async |scene: &Scene, client: u64| {
        let take = || match scene.volume.state().lock(file, &Stream::Data, lock(client)) {
            Err(LockRefusal::Elsewhere(file)) => Err(Error::LeaseRecall(file)),
            other => Ok(other.is_ok()),
        };
        settled(scene, take).await.unwrap()
    };
    assert!(take(&first, 1).await);
    assert!(!take(&second, 2).await);
    first.volume.state().release_owner(file, &Stream::Data, &lock(1).owner);
    until_async("the range is not released", async || take(&second, 2).await).await;
}

#[tokio::test]
async fn changes_are_told_to_the_subscribers_of_both_servers() {
    let [first, second] = servers();
    let mut here = first.volume.subscribe(EventScope::Volume, Filter::ALL, 16).unwrap();
    let mut there =
        second.volume.subscribe(EventScope::Folder(second.root.object.id()), Filter::ALL, 16).unwrap();
    make(&first, "file").await;
    for told in [&mut here, &mut there] {
        let Some(Event::Changed(seen)) = told.try_next() else { panic!("not told") };
        assert_eq!((&*seen.change.name, &seen.change.what), (&b"file"[..], &ChangeKind::Created));
        assert_eq!((seen.change.by, told.try_next()), (Some(ClientId(1)), None));
    }
}

/// MS-SMB2 3.3.4.4: the folder is to be removed, and is not yet, as those that watch it have it open.
#[tokio::test]
async fn watchers_of_a_folder_hear_from_both_servers_that_it_is_going() {
    let [first, second] = servers();
    let make = || first.volume.create(&client(1), &first.root, b"folder", NewKind::Folder, 0o755);
    let folder = settled(&first, make).await.unwrap().found.object.id();
    let watch = |scene: &Scene| scene.volume.subscribe(EventScope::Folder(folder), Filter::ALL, 16).unwrap();
    let watching = [watch(&first), watch(&second)];
    let open = second.open(2, "folder").await.unwrap();
    let kept = first.open(1, "folder").await.unwrap();
    open.remove_on_close(true).await.unwrap();
    open.close().await.unwrap();
    for mut told in watching {
        assert_eq!(told.try_next(), Some(Event::Going));
    }
    kept.close().await.unwrap();
    assert_eq!(first.find("folder").err(), Some(Error::NotFound));
}

#[tokio::test]
async fn a_file_that_is_locked_at_one_server_is_locked_at_the_other_at_once() {
    let [first, second] = servers();
    make(&first, "file").await;
    let is_locked = |scene: &Scene| {
        let file = scene.find("file").unwrap();
        scene.volume.inhibits(&file.object).unwrap().contains(FileBits::LOCKED)
    };
    assert!(!is_locked(&second));
    for (mine, other) in [(&first, &second), (&second, &first)] {
        for locked in [true, false] {
            let file = mine.find("file").unwrap();
            let lock = || {
                let beside = Some(Beside { folder: &mine.root.object, name: b"file" });
                let change = |metadata: &mut Metadata| metadata.set_locked(locked);
                mine.volume.change_metadata(&client(1), &file, beside, change)
            };
            settled(mine, lock).await.unwrap();
            assert_eq!((is_locked(mine), is_locked(other)), (locked, locked));
        }
    }
}

/// The first ACL of a share comes with a key, which the other server does not know yet.
#[tokio::test]
async fn an_acl_that_is_stored_at_one_server_binds_at_the_other_at_once() {
    let [first, second] = servers();
    make(&first, "file").await;
    let read = |scene: &Scene| scene.volume.acl(&scene.find("file").unwrap()).unwrap();
    let before = read(&second);
    let list = vec![Entry::allow(Who::User(4711), Rights::READ_DATA)];
    let entries = Some(Entries { list, ..Entries::default() });
    let change = AclChange { entries, ..AclChange::default() };
    let file = first.find("file").unwrap();
    settled(&first, || first.volume.set_acl(&client(1), &file, &change)).await.unwrap();
    assert_ne!(read(&first), before);
    assert_eq!(read(&second), read(&first));
}

#[tokio::test]
async fn two_servers_that_use_one_file_at_once_both_make_progress() {
    let [first, second] = servers();
    make(&first, "file").await;
    let (one, other) = (first.open(1, "file").await.unwrap(), second.open(2, "file").await.unwrap());
    let write_all = |open: vfs::Open, offset: u64| async move {
        for turn in 0..50 {
            write(&open, offset + turn, b"x").await.unwrap();
        }
        open
    };
    let both = async { tokio::join!(write_all(one, 0), write_all(other, 50)) };
    let (one, _other) = timeout(Duration::from_secs(30), both).await.unwrap();
    assert_eq!(read(&one, 0, 200).await, [b'x'; 100]);
}
