//! Writes whose beginning is written before the rest has arrived: what others see of them, and what stops them.

use std::sync::Arc;

use bytes::Bytes;
use vfs::backend::Stability;
use vfs::backend::faulty::{Call, Faulty};
use vfs::backend::memory::Memory;
use vfs::events::{Event, EventScope, Filter};
use vfs::state::{Caching, ClientId, LockKind, Modes, Party, Range};
use vfs::{EarlyWrite, Error, Open, OpenOptions, Volume, VolumeOptions};

use crate::scene::{Scene, client, local_scenes, read, write};

const PAGE: usize = 4096;
/// The length of the write.
const LENGTH: usize = 10 * PAGE;

/// A file with other bytes than the write has, as a client has it open.
async fn opened(scene: &Scene) -> Open {
    scene.file("a");
    let open = scene.open(2, "a").await.unwrap();
    write(&open, 0, &[1; LENGTH + PAGE]).await.unwrap();
    open
}

/// Begins the write at this offset. Half of it arrives.
fn half(open: &Open, offset: u64) -> EarlyWrite {
    let mut early = open.begin_early(offset, LENGTH as u64).unwrap();
    assert!(open.write_early(&mut early, &[2; LENGTH / 2]));
    early
}

async fn rest(open: &Open, offset: u64, early: &EarlyWrite) -> vfs::Result<()> {
    open.write_rest(offset, Bytes::from_static(&[2; LENGTH]), Stability::Unstable, Some(early)).await
}

/// How many bytes from the start are those of the write.
async fn written(open: &Open) -> usize {
    read(open, 0, LENGTH).await.iter().take_while(|byte| **byte == 2).count()
}

#[tokio::test]
async fn what_has_arrived_is_written_in_whole_pages() {
    for scene in local_scenes() {
        let open = opened(&scene).await;
        let mut early = open.begin_early(100, LENGTH as u64).unwrap();
        for (arrived, end) in [(10, 100), (PAGE, PAGE), (2 * PAGE - 101, PAGE), (5 * PAGE, 5 * PAGE)] {
            assert!(open.write_early(&mut early, &vec![2; arrived]));
            let bytes = read(&open, 0, LENGTH).await;
            assert!(bytes[100..end].iter().all(|byte| *byte == 2), "{arrived}");
            assert!(bytes[end..].iter().all(|byte| *byte == 1), "{arrived}");
        }
        rest(&open, 100, &early).await.unwrap();
        let bytes = read(&open, 0, LENGTH + PAGE).await;
        assert!(bytes[100..][..LENGTH].iter().all(|byte| *byte == 2));
        assert!(bytes[..100].iter().chain(&bytes[100 + LENGTH..]).all(|byte| *byte == 1));
    }
}

#[tokio::test]
async fn no_more_is_written_than_the_write_has() {
    let [scene, _] = local_scenes();
    let open = opened(&scene).await;
    let mut early = open.begin_early(0, 100).unwrap();
    assert!(open.write_early(&mut early, &[2; LENGTH]));
    assert!(open.write_early(&mut early, &[2; LENGTH]));
    assert_eq!(written(&open).await, 100);
}

#[tokio::test]
async fn an_open_that_may_not_write_writes_nothing_early() {
    for scene in local_scenes() {
        drop(opened(&scene).await);
        let file = scene.find("a").unwrap();
        let reader = scene.volume.open(&client(2), &file, OpenOptions::data(Modes::READ)).await.unwrap();
        assert!(reader.begin_early(0, LENGTH as u64).is_none());
        let writer = scene.volume.open(&client(2), &file, OpenOptions::data(Modes::WRITE)).await.unwrap();
        assert!(writer.begin_early(u64::MAX - 1, LENGTH as u64).is_none(), "there is no such range");
    }
}

#[tokio::test]
async fn a_range_of_another_client_refuses_the_write_before_any_byte() {
    for scene in local_scenes() {
        let (open, other) = (opened(&scene).await, scene.open(3, "a").await.unwrap());
        // In the part that has not arrived.
        other.lock(Range::new(LENGTH as u64 - 1, 1).unwrap(), LockKind::Exclusive).await.unwrap();
        let mut early = open.begin_early(0, LENGTH as u64).unwrap();
        assert!(!open.write_early(&mut early, &[2; LENGTH / 2]));
        assert_eq!(rest(&open, 0, &early).await, Err(Error::RangeLocked));
        assert_eq!(written(&other).await, 0);
    }
}

#[tokio::test]
async fn a_range_that_is_locked_meanwhile_stops_the_write() {
    for scene in local_scenes() {
        let (open, other) = (opened(&scene).await, scene.open(3, "a").await.unwrap());
        let mut early = half(&open, 0);
        let range = Range::new(0, 1).unwrap();
        other.lock(range, LockKind::Exclusive).await.unwrap();
        assert!(!open.write_early(&mut early, &[2; LENGTH - PAGE]));
        assert_eq!(written(&other).await, LENGTH / 2);
        assert_eq!(rest(&open, 0, &early).await, Err(Error::RangeLocked));
        assert_eq!(written(&other).await, LENGTH / 2);
    }
}

#[tokio::test]
async fn a_range_that_came_and_went_lets_all_be_written_again() {
    for scene in local_scenes() {
        let (open, other) = (opened(&scene).await, scene.open(3, "a").await.unwrap());
        let mut early = half(&open, 0);
        let range = Range::new(0, PAGE as u64).unwrap();
        other.lock(range, LockKind::Exclusive).await.unwrap();
        write(&other, 0, &[3; PAGE]).await.unwrap();
        other.unlock(range).await.unwrap();
        assert!(!open.write_early(&mut early, &[2; LENGTH - PAGE]), "what it locked must not be torn");
        rest(&open, 0, &early).await.unwrap();
        assert_eq!(written(&open).await, LENGTH);
    }
}

#[tokio::test]
async fn what_another_client_may_have_changed_in_its_cache_is_awaited() {
    for scene in local_scenes() {
        drop(opened(&scene).await);
        let (actor, found) = (client(2), scene.find("a").unwrap());
        let caching = Caching::READ | Caching::WRITE;
        let (lease, mut notices) = scene.lease(&found.object, Party::client(ClientId(3)), caching).await;
        let mut early = scene.volume.begin_early(&actor, &found, (0, LENGTH as u64)).unwrap();
        let tree = scene.volume.stateless();
        assert!(!tree.write_early(&actor, &found, &mut early, &[2; LENGTH / 2]));
        let notice = notices.recv().await.unwrap();
        lease.acknowledge(notice.to).unwrap();
        tree.recalled(found.object.id()).await;
        let data = Bytes::from_static(&[2; LENGTH]);
        tree.write_only(&actor, &found, 0, data, Stability::Unstable, Some(&early)).await.unwrap();
        assert_eq!(written(&scene.open(2, "a").await.unwrap()).await, LENGTH);
    }
}

#[tokio::test]
async fn what_another_client_reads_in_its_cache_ends_with_each_piece() {
    for scene in local_scenes() {
        let open = opened(&scene).await;
        let mut early = open.begin_early(0, LENGTH as u64).unwrap();
        for arrived in [LENGTH / 2, LENGTH - PAGE] {
            let party = Party::client(ClientId(3));
            let (_lease, mut notices) = scene.lease(open.node(), party, Caching::READ).await;
            assert!(open.write_early(&mut early, &vec![2; arrived]));
            assert!(notices.recv().await.is_some());
        }
    }
}

#[tokio::test]
async fn subscribers_are_told_once_of_all_of_it() {
    for scene in local_scenes() {
        let open = opened(&scene).await;
        let scope = EventScope::Folder(scene.root.object.id());
        let mut events = scene.volume.subscribe(scope, Filter::ALL, 16).unwrap();
        let mut changes = move || {
            std::iter::from_fn(|| events.try_next())
                .filter(|event| matches!(event, Event::Changed(_)))
                .count()
        };
        let mut early = half(&open, 0);
        assert!(open.write_early(&mut early, &[2; LENGTH - PAGE]));
        assert_eq!(changes(), 0);
        rest(&open, 0, &early).await.unwrap();
        drop(early);
        assert_eq!(changes(), 1);
        drop(half(&open, 0));
        assert_eq!(changes(), 1, "the connection ended before the rest came");
    }
}

#[tokio::test]
async fn it_counts_once_and_what_is_lost_counts_as_far_as_it_came() {
    for scene in local_scenes() {
        let (open, site) = (opened(&scene).await, scene.volume.site().clone());
        let before = site.traffic();
        let counted = || {
            let now = site.traffic();
            (now.writes - before.writes, now.written_bytes - before.written_bytes)
        };
        let early = half(&open, 0);
        rest(&open, 0, &early).await.unwrap();
        drop(early);
        assert_eq!(counted(), (1, LENGTH as u64));
        drop(half(&open, 0));
        assert_eq!(counted(), (2, LENGTH as u64 * 3 / 2));
    }
}

#[tokio::test]
async fn an_error_of_a_piece_is_the_error_of_the_write() {
    let disk = Arc::new(Faulty::new(Memory::ticking()));
    let volume = Arc::new(Volume::new(disk.clone(), VolumeOptions::default()));
    let root = volume.root().unwrap();
    let scene = Scene { volume, root, dir: None };
    let open = opened(&scene).await;
    let mut early = half(&open, 0);
    disk.plan().fail(1, Some(Call::WriteAt), Error::NoSpace);
    assert!(!open.write_early(&mut early, &[2; LENGTH - PAGE]));
    assert_eq!(rest(&open, 0, &early).await, Err(Error::NoSpace));
    assert_eq!(written(&open).await, LENGTH / 2);
}

#[tokio::test]
async fn another_write_than_the_one_that_began_is_written_whole() {
    let [scene, _] = local_scenes();
    let open = opened(&scene).await;
    let early = half(&open, 0);
    rest(&open, PAGE as u64, &early).await.unwrap();
    assert_eq!(read(&open, PAGE as u64, LENGTH).await, [2; LENGTH]);
}
