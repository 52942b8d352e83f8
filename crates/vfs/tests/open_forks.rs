//! Resource forks as clients have them open: what a read costs, and that it never returns bytes
//! that are no longer there.

#![allow(clippy::unwrap_used, reason = "a test")]

mod scene;

use std::sync::Arc;

use bytes::Bytes;
use scene::{Scene, client, scenes};
use vfs::backend::Stability;
use vfs::backend::faulty::{Call, Faulty};
use vfs::backend::memory::Memory;
use vfs::state::{Modes, Stream};
use vfs::{Beside, Looked, Open, OpenOptions, Payload, Volume, VolumeOptions};

async fn open(scene: &Scene, number: u64) -> Open {
    let file = scene.volume.lookup(&client(number).caller, &scene.root.object, b"a").unwrap();
    let place = Some(Beside { folder: &scene.root.object, name: b"a" });
    let both = Modes::READ.union(Modes::WRITE);
    let options = OpenOptions { stream: Stream::Resource, place, ..OpenOptions::data(both) };
    scene.volume.open(&client(number), &file, options).await.unwrap()
}

async fn read(open: &Open, offset: u64, length: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    open.read_at(offset, length).await.unwrap().payload.append_to(&mut bytes).unwrap();
    bytes
}

async fn write(open: &Open, offset: u64, data: &'static [u8]) {
    open.write_at(offset, Bytes::from_static(data), Stability::Unstable).await.unwrap();
}

#[tokio::test]
async fn a_fork_that_nobody_changes_is_read_with_two_calls() {
    let disk = Arc::new(Faulty::new(Memory::ticking()));
    let volume = Arc::new(Volume::new(disk.clone(), VolumeOptions::default()));
    let scene = Scene { root: volume.root().unwrap(), volume, dir: None };
    scene.file("a");
    let fork = open(&scene, 1).await;
    write(&fork, 0, b"0123456789").await;
    assert_eq!(read(&fork, 0, 4).await, b"0123");
    let before = disk.plan().calls(None);
    assert_eq!(read(&fork, 4, 4).await, b"4567");
    assert_eq!(disk.plan().calls(None) - before, 2);
    assert_eq!(fork.size().await, Ok(10));
    assert_eq!(disk.plan().calls(None) - before, 3);
    assert_eq!(read(&fork, 8, 4).await, b"89");
    disk.plan().fail(1, Some(Call::ReadAt), vfs::Error::WouldBlock); // not in memory: it is waited for
    assert_eq!(read(&fork, 8, 4).await, b"89");
}

#[tokio::test]
async fn what_others_do_to_a_fork_is_seen_by_the_next_read() {
    for scene in scenes() {
        scene.file("a");
        let (reader, writer) = (open(&scene, 1).await, open(&scene, 2).await);
        assert_eq!(read(&reader, 0, 10).await, b"");
        for (offset, data, expected) in
            [(0, &b"first"[..], &b"first"[..]), (0, b"F", b"First"), (5, b" and more", b"First and more")]
        {
            write(&writer, offset, data).await;
            assert_eq!(read(&reader, 0, 100).await, expected);
            assert_eq!(read(&reader, 0, 100).await, expected);
            assert_eq!(reader.size().await, Ok(expected.len() as u64));
        }
        writer.truncate(3).await.unwrap();
        assert_eq!(read(&reader, 0, 100).await, b"Fir");
        writer.truncate(0).await.unwrap(); // the sidecar goes
        assert_eq!(read(&reader, 0, 100).await, b"");
        assert_eq!(reader.size().await, Ok(0));
        write(&writer, 0, b"again").await;
        assert_eq!(read(&reader, 0, 100).await, b"again");
        drop(writer);
        let fork = || Stream::Resource;
        let place = Beside { folder: &scene.root.object, name: b"a" };
        let file = scene.volume.lookup(&client(1).caller, &scene.root.object, b"a").unwrap();
        scene.volume.remove_stream(&client(3), &file, place, &fork()).await.unwrap();
        assert_eq!(read(&reader, 0, 100).await, b"");
    }
}

#[tokio::test]
async fn what_is_written_to_the_sidecar_as_a_file_is_seen_by_the_next_read() {
    for scene in scenes() {
        scene.file("a");
        let reader = open(&scene, 1).await;
        write(&reader, 0, b"resource").await;
        assert_eq!(read(&reader, 0, 100).await, b"resource");
        let actor = client(2);
        let looked = scene.volume.look(&actor.caller, &scene.root, b"._a").unwrap();
        let Looked::File(sidecar) = looked else { panic!("a fork is on the disk") };
        // AppleDouble with Finder info: the fork begins at 82.
        let data = Bytes::from_static(b"RES");
        scene.volume.write(&actor, &sidecar, 82, data, Stability::Unstable).await.unwrap();
        assert_eq!(read(&reader, 0, 100).await, b"RESource");
        let Some(dir) = &scene.dir else { continue };
        let sidecar = dir.path().join("._a");
        let mut bytes = std::fs::read(&sidecar).unwrap();
        bytes.truncate(82 + 3);
        let length = bytes.len() - 82;
        let row = bytes.windows(4).position(|id| id == [0, 0, 0, 2]).unwrap();
        bytes[row + 8..row + 12].copy_from_slice(&(length as u32).to_be_bytes());
        std::fs::write(&sidecar, &bytes).unwrap(); // a local process, in place
        assert_eq!(read(&reader, 0, 100).await, b"RES");
        std::fs::write(dir.path().join("new"), [&bytes[..82], b"new"].concat()).unwrap();
        std::fs::rename(dir.path().join("new"), &sidecar).unwrap(); // and by replacing it
        assert_eq!(read(&reader, 0, 100).await, b"new");
    }
}

#[tokio::test]
async fn a_long_fork_is_read_whole() {
    for scene in scenes() {
        scene.file("a");
        let fork = open(&scene, 1).await;
        let data: Vec<u8> = (0..300_000_u32).map(|number| (number % 251) as u8).collect();
        fork.write_at(0, data.clone().into(), Stability::Unstable).await.unwrap();
        for _ in 0..2 {
            let payload = fork.read_at(100, 1 << 20).await.unwrap().payload;
            let Payload::Bytes(bytes) = payload else { panic!("a fork is copied") };
            assert!(bytes == data[100..]);
        }
    }
}

/// A stream in an attribute is read, changed and written back. A file's second name must not let another client in between.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn two_names_of_a_file_lose_no_writes_to_its_streams() {
    const WRITES: u64 = 150;
    for scene in scenes() {
        let file = scene.file("a");
        scene.volume.link(&client(1), &file, &scene.root, b"b").unwrap();
        let writers = ["a", "b"].map(|name| {
            let (volume, root, file) = (scene.volume.clone(), scene.root.clone(), file.clone());
            tokio::spawn(async move {
                let number = u64::from(name == "b");
                let open =
                    volume.open(&client(number), &file, scene::stream(&root, name, "notes")).await.unwrap();
                for write in 0..WRITES {
                    scene::write(&open, 2 * write + number, name.as_bytes()).await.unwrap();
                }
            })
        });
        for writer in writers {
            writer.await.unwrap();
        }
        let open =
            scene.volume.open(&client(3), &file, scene::stream(&scene.root, "a", "notes")).await.unwrap();
        assert_eq!(scene::read(&open, 0, 1000).await, b"ab".repeat(WRITES as usize));
    }
}
