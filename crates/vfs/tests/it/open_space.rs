//! The space of open files, and copies between them.

use vfs::backend::XattrMode;
use vfs::mac::Metadata;
use vfs::mac::layout::NETATALK_METADATA;
use vfs::state::{LockKind, Modes, Range, Stream};
use vfs::{AllocatedRanges, Error, Open, OpenOptions, Time};

use crate::scene::{Scene, at, client, local_scenes, read, scenes, stream, write};

const MIB: u64 = 1 << 20;
/// The place of attributes of the old kind.
const OLD: &[u8] = b"user.fourfold.ea.KEY";

async fn filled(scene: &Scene, name: &str, length: usize) -> Open {
    scene.file(name);
    let open = scene.open(1, name).await.unwrap();
    write(&open, 0, &pattern(0, length)).await.unwrap();
    open
}

/// Bytes that contain their own position.
fn pattern(from: usize, length: usize) -> Vec<u8> {
    (from..from + length).map(|at| (at / 7) as u8).collect()
}

#[tokio::test]
async fn a_punched_range_reads_as_zeros_and_the_size_stays() {
    for scene in scenes() {
        let open = filled(&scene, "a", 100_000).await;
        open.punch(10, 50_000).await.unwrap();
        open.punch(90_000, 1_000_000).await.unwrap();
        assert_eq!(open.size().await, Ok(100_000));
        let mut expected = pattern(0, 100_000);
        expected[10..50_010].fill(0);
        expected[90_000..].fill(0);
        assert_eq!(read(&open, 0, 60_000).await, expected[..60_000]);
        assert_eq!(read(&open, 60_000, 60_000).await, expected[60_000..]);
        let notes = scene.find("a").unwrap();
        let notes = scene.volume.open(&client(1), &notes, stream(&scene.root, "a", "s")).await.unwrap();
        write(&notes, 0, b"abcdef").await.unwrap();
        notes.punch(2, 2).await.unwrap();
        notes.punch(5, 100).await.unwrap();
        assert_eq!(read(&notes, 0, 9).await, b"ab\0\0e\0");
    }
}

#[tokio::test]
async fn what_is_allocated_is_told_a_bounded_number_at_a_time() {
    for scene in local_scenes() {
        // CephFS knows no holes
        scene.file("a");
        let open = scene.open(1, "a").await.unwrap();
        open.truncate(10 * MIB).await.unwrap();
        assert_eq!(open.allocated(0, 10 * MIB, 9).await.unwrap(), AllocatedRanges::default());
        for at in [1, 3, 5] {
            write(&open, at * MIB, &[1; 65_536]).await.unwrap();
        }
        let three = vec![(MIB, 65_536), (3 * MIB, 65_536), (5 * MIB, 65_536)];
        let all = open.allocated(0, 10 * MIB, 3).await.unwrap();
        assert_eq!(all, AllocatedRanges { ranges: three.clone(), more: false });
        let some = open.allocated(0, 10 * MIB, 2).await.unwrap();
        assert_eq!(some, AllocatedRanges { ranges: three[..2].to_vec(), more: true });
        // Cut to the range of the request.
        let part = open.allocated(MIB + 4096, 2 * MIB, 9).await.unwrap();
        assert_eq!(part.ranges, [(MIB + 4096, 65_536 - 4096), (3 * MIB, 4096)]);
        assert_eq!(open.allocated(20 * MIB, MIB, 9).await.unwrap(), AllocatedRanges::default());
    }
}

#[tokio::test]
async fn space_is_made_sure_of_without_a_longer_file() {
    for scene in scenes() {
        let open = filled(&scene, "a", 10).await;
        open.allocate(MIB).await.unwrap();
        assert_eq!(open.size().await, Ok(10));
        if scene.dir.is_some() {
            assert!(open.attributes().unwrap().allocated >= MIB);
        }
        assert!(matches!(open.allocate(u64::MAX).await, Err(Error::NoSpace | Error::FileTooLarge)));
        open.allocate(0).await.unwrap();
    }
}

#[tokio::test]
async fn a_reserved_range_reads_as_zeros_and_makes_the_file_longer() {
    for scene in scenes() {
        let open = filled(&scene, "a", 10).await;
        open.reserve(4, 3).await.unwrap();
        assert_eq!((open.size().await, read(&open, 0, 10).await), (Ok(10), pattern(0, 10)));
        open.reserve(8 * MIB, MIB).await.unwrap();
        assert_eq!(open.size().await, Ok(9 * MIB));
        assert_eq!(read(&open, 5, 10).await, [&pattern(5, 5)[..], &[0; 5]].concat());
        if scene.dir.is_some() {
            let allocated = open.attributes().unwrap().allocated;
            assert!((MIB..2 * MIB).contains(&allocated), "{allocated}"); // not the hole before the range
        }
        assert!(matches!(open.reserve(1, u64::MAX - 2).await, Err(Error::NoSpace | Error::FileTooLarge)));
        assert_eq!(open.size().await, Ok(9 * MIB));
    }
}

#[tokio::test]
async fn a_range_is_copied_from_file_to_file() {
    for scene in scenes() {
        let source = filled(&scene, "a", 3_000_000).await;
        let target = filled(&scene, "b", 10).await;
        assert_eq!(target.copy_from(&source, 1000, 5, 2_500_000).await, Ok(2_500_000));
        assert_eq!(target.size().await, Ok(2_500_005));
        assert_eq!(read(&target, 0, 10).await, [&pattern(0, 5)[..], &pattern(1000, 5)].concat());
        assert_eq!(read(&target, 2_499_995, 99).await, pattern(2_500_990, 10));
        // No more than there is.
        assert_eq!(target.copy_from(&source, 2_999_999, 0, 100).await, Ok(1));
        assert_eq!(target.copy_from(&source, 5_000_000, 0, 100).await, Ok(0));
    }
}

#[tokio::test]
async fn a_file_is_copied_onto_itself_as_if_its_bytes_were_read_first() {
    for scene in scenes() {
        for (from, to) in [(0_u64, 1000_u64), (1000, 0)] {
            let length = 3_000_000_usize;
            let name = format!("from{from}");
            let open = filled(&scene, &name, length + 1000).await;
            assert_eq!(open.copy_from(&open, from, to, length as u64).await, Ok(length as u64));
            for at in [0, 1_048_000, 1_048_570, 2_000_000, length - 5000] {
                let now = read(&open, to + at as u64, 5000).await;
                assert_eq!(now, pattern(from as usize + at, 5000), "{from} to {to} at {at}");
            }
        }
    }
}

#[tokio::test]
async fn copies_go_between_volumes_and_streams() {
    let [memory, host] = local_scenes();
    let source = filled(&memory, "a", 1_500_000).await;
    let target = filled(&host, "b", 1).await;
    assert_eq!(target.copy_from(&source, 0, 0, 1_500_000).await, Ok(1_500_000));
    assert_eq!(read(&target, 1_400_000, 9999).await, pattern(1_400_000, 9999));
    let file = host.find("b").unwrap();
    let notes = host.volume.open(&client(1), &file, stream(&host.root, "b", "s")).await.unwrap();
    assert_eq!(notes.copy_from(&target, 7, 0, 100).await, Ok(100));
    assert_eq!(read(&notes, 0, 999).await, pattern(7, 100));
}

#[tokio::test]
async fn locks_and_rights_of_both_files_count() {
    for scene in scenes() {
        let (source, target) = (filled(&scene, "a", 100).await, filled(&scene, "b", 100).await);
        let range = Range::new(50, 10).unwrap();
        let theirs = scene.open(2, "a").await.unwrap();
        theirs.lock(range, LockKind::Exclusive).await.unwrap();
        assert_eq!(target.copy_from(&source, 45, 0, 10).await, Err(Error::RangeLocked));
        assert_eq!(target.clone_from(&source, 45, 0, 10).await, Err(Error::RangeLocked));
        assert_eq!(target.copy_from(&source, 0, 0, 10).await, Ok(10));
        let theirs = scene.open(2, "b").await.unwrap();
        theirs.lock(range, LockKind::Shared).await.unwrap();
        assert_eq!(target.copy_from(&source, 0, 45, 10).await, Err(Error::RangeLocked));
        assert_eq!(target.punch(45, 10).await, Err(Error::RangeLocked));
        let file = scene.find("a").unwrap();
        let writes = OpenOptions::data(Modes::WRITE);
        let writer = scene.volume.open(&client(1), &file, writes).await.unwrap();
        assert_eq!(target.copy_from(&writer, 0, 0, 10).await, Err(Error::AccessDenied));
        let reads = scene.volume.open(&client(1), &file, OpenOptions::data(Modes::READ)).await.unwrap();
        assert_eq!(reads.copy_from(&target, 0, 0, 10).await, Err(Error::AccessDenied));
        assert_eq!(reads.punch(0, 1).await, Err(Error::AccessDenied));
        assert_eq!(reads.allocate(1).await, Err(Error::AccessDenied));
    }
}

#[tokio::test]
async fn blocks_are_shared_or_nothing_is_done() {
    for scene in scenes() {
        let (source, target) = (filled(&scene, "a", 65_536).await, filled(&scene, "b", 10).await);
        match target.clone_from(&source, 0, 0, 65_536).await {
            Ok(()) => assert_eq!(read(&target, 0, 65_536).await, pattern(0, 65_536)),
            Err(error) => {
                assert_eq!(error, Error::NotSupported);
                assert_eq!(read(&target, 0, 99).await, pattern(0, 10));
            }
        }
    }
}

#[tokio::test]
async fn a_copy_gets_the_fork_the_streams_and_the_metadata() {
    for scene in scenes() {
        let (source, target) = (filled(&scene, "a", 10).await, filled(&scene, "b", 10).await);
        let file = scene.find("a").unwrap();
        let fork = |name| OpenOptions { stream: Stream::Resource, ..at(&scene.root, name) };
        let resource = scene.volume.open(&client(1), &file, fork("a")).await.unwrap();
        write(&resource, 0, &pattern(0, 1_200_000)).await.unwrap();
        let notes = scene.volume.open(&client(1), &file, stream(&scene.root, "a", "s")).await.unwrap();
        write(&notes, 0, b"notes").await.unwrap();
        let own = scene.find("b").unwrap();
        let older = scene.volume.open(&client(1), &own, stream(&scene.root, "b", "s")).await.unwrap();
        write(&older, 0, b"longer notes").await.unwrap();
        let mut metadata = Metadata::default();
        metadata.comment = b"a comment".to_vec();
        metadata.times.created = Some(Time { secs: 1_000_000_000, nanos: 0 });
        // 402 bytes, as Netatalk has them.
        for (name, value) in [(NETATALK_METADATA, metadata.to_netatalk()), (OLD, b"v".to_vec())] {
            file.object.set_xattr(&client(1).caller, name, &value, XattrMode::Set).unwrap();
        }
        target.copy_streams_from(&source).await.unwrap();
        let copied = scene.volume.open(&client(1), &own, fork("b")).await.unwrap();
        assert_eq!(copied.size().await, Ok(1_200_000));
        assert_eq!(read(&copied, 1_100_000, 9999).await, pattern(1_100_000, 9999));
        assert_eq!(read(&older, 0, 99).await, b"notes");
        for name in [NETATALK_METADATA, OLD] {
            assert_eq!(own.object.xattr(name), file.object.xattr(name));
        }
    }
}
