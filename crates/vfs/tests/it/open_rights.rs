//! Rights are those at open; a wait can be called off.

use std::time::Duration;

use vfs::backend::NewKind;
use vfs::state::{Caching, ClientId, LockKind, LockOutcome, Modes, Party, Range, Stream, Totals};
use vfs::{Actor, Caller, Error, Kind, OpenOptions, Payload, SetAttributes};

use crate::scene::{RW, at, client, read, scenes, stream, write};

fn anna() -> Actor {
    Actor { caller: Caller::new(5001, 5001, &[]), ..client(7) }
}

#[tokio::test]
async fn what_was_allowed_at_open_stays_so() {
    for scene in scenes() {
        let file = scene.file("a");
        let give = SetAttributes { uid: Some(5001), mode: Some(0o600), ..Default::default() };
        if file.object.set_attributes(&Caller::root(), &give).is_err() {
            continue; // only the superuser gives files away
        }
        let file = scene.find("a").unwrap();
        let open = scene.volume.open(&anna(), &file, OpenOptions::data(RW)).await.unwrap();
        let options = OpenOptions { access: RW, ..stream(&scene.root, "a", "s") };
        let notes = scene.volume.open(&anna(), &file, options).await.unwrap();
        let take = SetAttributes { uid: Some(0), gid: Some(0), mode: Some(0), ..Default::default() };
        file.object.set_attributes(&Caller::root(), &take).unwrap();
        for open in [&open, &notes] {
            write(open, 0, b"hello").await.unwrap();
            assert_eq!(read(open, 0, 9).await, b"hello");
            open.truncate(2).await.unwrap();
            assert_eq!(open.size().await, Ok(2));
        }
        open.punch(0, 2).await.unwrap();
        assert_eq!(read(&open, 0, 9).await, [0, 0]);
        let again = scene.volume.open(&anna(), &scene.find("a").unwrap(), OpenOptions::data(RW)).await;
        assert_eq!(again.unwrap_err(), Error::AccessDenied);
    }
}

#[tokio::test]
async fn what_the_protocol_has_granted_the_mode_does_not_refuse() {
    for scene in scenes() {
        let file = scene.file("a");
        let lock_up = SetAttributes { mode: Some(0), ..Default::default() };
        file.object.set_attributes(&Caller::root(), &lock_up).unwrap();
        let file = scene.find("a").unwrap();
        if !rustix::process::geteuid().is_root() && scene.dir.is_some() {
            continue;
        }
        let options = OpenOptions { granted: true, access: RW, ..at(&scene.root, "a") };
        let open = scene.volume.open(&anna(), &file, options.clone()).await.unwrap();
        write(&open, 0, b"granted").await.unwrap();
        assert_eq!(read(&open, 0, 9).await, b"granted");
        let notes = OpenOptions { stream: Stream::Named("s".into()), create: true, ..options };
        let notes = scene.volume.open(&anna(), &file, notes).await.unwrap();
        write(&notes, 0, b"x").await.unwrap();
    }
}

#[tokio::test]
async fn a_large_read_comes_from_the_page_cache_and_ends_with_the_file() {
    for scene in scenes() {
        scene.file("a");
        let open = scene.open(1, "a").await.unwrap();
        write(&open, 0, &vec![5; 200_000]).await.unwrap();
        let data = open.read_at(10, 1 << 20).await.unwrap();
        assert_eq!((data.payload.len(), data.end), (199_990, true));
        if let Payload::File { offset, .. } = data.payload {
            assert_eq!(offset, 10);
        }
        assert_eq!(read(&open, 199_000, 60_000).await.len(), 1000);
        assert_eq!(read(&open, 1 << 40, 10).await.len(), 0);
        assert_eq!(open.read_at(1 << 40, 1 << 20).await.unwrap().payload.len(), 0);
        // The file ends in the middle of a block, and at the end of one.
        for size in [100_352, 100_353] {
            open.truncate(size).await.unwrap();
            assert_eq!(read(&open, 100_000, 40_000).await.len() as u64, size - 100_000);
        }
    }
}

#[tokio::test]
async fn an_open_that_is_given_up_while_it_waits_leaves_nothing() {
    for scene in scenes() {
        let file = scene.file("a");
        let holder = Party::client(ClientId(2));
        let (lease, mut told) = scene.lease(&file.object, holder, Caching::ALL).await;
        let before = scene.volume.state().totals();
        let me = client(1);
        let options = OpenOptions { remove_on_close: true, ..at(&scene.root, "a") };
        let opening = scene.volume.open(&me, &file, options);
        assert!(tokio::time::timeout(Duration::from_millis(20), opening).await.is_err());
        assert_eq!(told.recv().await.unwrap().to, Caching::READ.union(Caching::HANDLE));
        assert_eq!(scene.volume.state().totals(), before);
        assert_eq!(scene.names(), ["a"]);
        // The holder still answers, and the next client need not wait.
        lease.acknowledge(Caching::READ).unwrap();
        drop(scene.open(1, "a").await.unwrap());
        drop(lease);
        assert_eq!(scene.volume.state().totals(), Totals::default());
    }
}

#[tokio::test]
async fn an_open_that_waits_for_a_cached_handle_can_be_given_up() {
    for scene in scenes() {
        let file = scene.file("a");
        let denies = OpenOptions { deny: Modes::ALL, ..OpenOptions::data(Modes::READ) };
        let mut theirs = scene.volume.open(&client(2), &file, denies).await.unwrap();
        let (lease, mut told) =
            scene.lease(&file.object, Party::client(ClientId(2)), Caching::READ.union(Caching::HANDLE)).await;
        theirs.guard_mut().keep(lease);
        let before = scene.volume.state().totals();
        let me = client(1);
        let opening = scene.volume.open(&me, &file, at(&scene.root, "a"));
        assert!(tokio::time::timeout(Duration::from_millis(20), opening).await.is_err());
        assert_eq!(told.recv().await.unwrap().to, Caching::READ);
        assert_eq!(scene.volume.state().totals(), before);
        drop(theirs);
        drop(scene.open(1, "a").await.unwrap());
        assert_eq!(scene.volume.state().totals(), Totals::default());
    }
}

#[tokio::test]
async fn a_lock_that_is_waited_for_can_be_given_up() {
    for scene in scenes() {
        scene.file("a");
        let (mine, theirs) = (scene.open(1, "a").await.unwrap(), scene.open(2, "a").await.unwrap());
        let range = Range::new(0, 10).unwrap();
        theirs.lock(range, LockKind::Exclusive).await.unwrap();
        let waiting = async {
            match mine.wait_lock(range, LockKind::Exclusive).await.unwrap() {
                LockOutcome::Later(waiter) => waiter.await.unwrap(),
                LockOutcome::Now => panic!("it is locked"),
            }
        };
        assert!(tokio::time::timeout(Duration::from_millis(20), waiting).await.is_err());
        assert_eq!(scene.volume.state().totals().waiters, 0);
        assert_eq!(theirs.unlock(range).await, Ok(true));
        assert_eq!(scene.volume.state().totals().ranges, 0);
    }
}

#[tokio::test]
async fn a_folder_is_opened_with_its_place() {
    for scene in scenes() {
        scene.folder("d");
        let open = scene.open(1, "d").await.unwrap();
        assert_eq!(open.node().kind(), Kind::Folder);
        assert_eq!(open.place().unwrap().0.id(), scene.root.object.id());
        let inside = scene.volume.create(&client(1), &scene.find("d").unwrap(), b"a", NewKind::File, 0o600);
        assert!(inside.is_ok());
        assert!(open.read_at(0, 10).await.is_err());
    }
}

#[tokio::test]
async fn an_open_asks_the_host_for_bytes_and_nothing_else() {
    use vfs::backend::faulty::{Call, Faulty};
    use vfs::backend::{Backend, memory::Memory};
    let faulty = std::sync::Arc::new(Faulty::new(Memory::ticking()));
    let (plan, root) = (faulty.plan(), faulty.root().unwrap());
    let volume = std::sync::Arc::new(vfs::Volume::new(faulty.clone(), Default::default()));
    let file = volume.create(&anna(), &root, b"a", NewKind::File, 0o644).unwrap().found;
    let open = volume.open(&anna(), &file, OpenOptions::data(RW)).await.unwrap();
    let before = plan.calls(None);
    write(&open, 0, &[1; 65_536]).await.unwrap();
    assert_eq!((plan.calls(None) - before, plan.calls(Some(Call::WriteAt))), (1, 1));
    read(&open, 0, 65_536).await;
    assert_eq!((plan.calls(None) - before, plan.calls(Some(Call::ReadAt))), (2, 1));
}
