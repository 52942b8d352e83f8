//! Reserved streams of a real folder: their files are read ahead, and what others have passed leaves the memory.

use std::sync::Arc;
use std::time::Instant;

use vfs::backend::faulty::Faulty;
use vfs::backend::host::{Host, HostOptions};
use vfs::backend::{Backend, Call, Found, NextRead, Stability};
use vfs::reserved::{StreamFilter, StreamReservation};
use vfs::state::{ClientId, Party};
use vfs::{Access, Actor, Caller, Error, Payload, Volume, VolumeOptions};

use crate::waiting::until_async;

const MIB: u64 = 1 << 20;
/// The length of the files.
const LENGTH: u64 = 24 * MIB;

struct Scene {
    _folder: tempfile::TempDir,
    volume: Volume,
    actor: Actor,
}

impl Scene {
    /// A share with two files that are on the disk and not in memory. A stream of 8 MiB/s is reserved.
    fn new() -> Self {
        Self::of(Arc::new)
    }

    /// The same with another backend around that of the host.
    fn of<B: Backend + 'static>(around: impl FnOnce(Host) -> Arc<B>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["clip", "copy"] {
            let file = std::fs::File::create(folder.path().join(name)).unwrap();
            std::io::Write::write_all(&mut &file, &vec![7; LENGTH as usize]).unwrap();
            file.sync_all().unwrap();
        }
        let host = Host::open(folder.path(), &HostOptions::default()).unwrap();
        let caller =
            Caller::new(rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw(), &[]);
        let volume = Volume::new(around(host), VolumeOptions::default());
        let of = StreamFilter { views: vec![volume.view()], ..StreamFilter::default() };
        let reservation = StreamReservation { id: 1, speed: 8 * MIB, streams: 1, of };
        volume.site().reserved().keep(vec![reservation], None);
        Self { _folder: folder, volume, actor: Actor::new(caller, Party::client(ClientId(1))) }
    }

    /// A file, ready to be read, of which nothing is in memory.
    fn cold(&self, name: &[u8]) -> Found {
        let found = self.volume.root().unwrap().object.lookup(&self.actor.caller, name).unwrap();
        found.object.prepare(&self.actor.caller, &found.attributes, Access::READ, false).unwrap();
        found.object.expect(0, LENGTH, NextRead::Never);
        found
    }

    async fn read(&self, of: &Found, offset: u64) {
        let read = self.volume.stateless().read(&self.actor, of, offset, MIB as usize).await.unwrap();
        assert_eq!(read.payload.len(), MIB as usize);
    }

    async fn write(&self, of: &Found, offset: u64, length: u64) {
        let (stateless, data) = (self.volume.stateless(), vec![1; length as usize].into());
        stateless.write(&self.actor, of, offset, data, Stability::Unstable).await.unwrap();
    }

    fn is_in_memory(&self, of: &Found, at: u64) -> bool {
        self.volume.is_resident(of, at, MIB as usize)
    }
}

/// Whether this kernel tells what is in memory, and this file system can forget it.
fn can_tell(scene: &Scene, of: &Found) -> bool {
    let is_cold = !scene.is_in_memory(of, LENGTH / 2);
    let mut bytes = Vec::new();
    of.object.read_at(LENGTH / 2, MIB as usize, &mut bytes, vfs::backend::Wait::Allowed).unwrap();
    let is_warm = scene.is_in_memory(of, LENGTH / 2);
    of.object.expect(0, LENGTH, NextRead::Never);
    if !(is_cold && is_warm) {
        println!("skipped: the kernel does not tell what of a file is in memory");
    }
    is_cold && is_warm
}

#[tokio::test]
async fn the_file_of_a_reserved_stream_is_read_ahead() {
    let scene = Scene::new();
    let clip = scene.cold(b"clip");
    if !can_tell(&scene, &clip) {
        return;
    }
    scene.read(&clip, 0).await;
    scene.read(&clip, MIB).await;
    until_async("a second of the stream is in memory", async || {
        (2..9).all(|number| scene.is_in_memory(&clip, number * MIB))
    })
    .await;
}

#[tokio::test]
async fn what_others_have_passed_leaves_the_memory_while_a_stream_is_read() {
    let scene = Scene::new();
    let (clip, copy) = (scene.cold(b"clip"), scene.cold(b"copy"));
    if !can_tell(&scene, &clip) {
        return;
    }
    for number in 0..3 {
        scene.read(&clip, number * MIB).await;
    }
    assert!(scene.volume.site().reserved().is_read(Instant::now()));
    // The only stream that is reserved is that of the other file. What the kernel reads ahead needs no read of the disk.
    for number in 0..LENGTH / MIB {
        copy.object.expect(number * MIB, MIB, NextRead::Never);
        scene.read(&copy, number * MIB).await;
    }
    assert!(!scene.is_in_memory(&copy, 0) && !scene.is_in_memory(&copy, 8 * MIB));
    assert!(scene.is_in_memory(&clip, 0), "what the stream has read stays");
}

#[tokio::test]
async fn what_others_write_in_long_pieces_leaves_the_memory_for_the_disk() {
    let scene = Scene::new();
    let (clip, copy) = (scene.cold(b"clip"), scene.cold(b"copy"));
    if !can_tell(&scene, &clip) {
        return;
    }
    copy.object.prepare(&scene.actor.caller, &copy.attributes, Access::WRITE, false).unwrap();
    scene.write(&copy, 0, MIB).await;
    assert!(scene.is_in_memory(&copy, 0), "no stream is read");
    for number in 0..3 {
        scene.read(&clip, number * MIB).await;
    }
    scene.write(&copy, 2 * MIB, MIB).await;
    scene.write(&copy, 4 * MIB, MIB / 2).await;
    until_async("it is on the disk", async || scene.volume.site().reserved().backlog().bytes() == 0).await;
    assert!(!scene.is_in_memory(&copy, 2 * MIB));
    let mut bytes = Vec::new();
    let short = copy.object.read_at(4 * MIB, MIB as usize / 2, &mut bytes, vfs::backend::Wait::Never);
    assert_eq!(short, Ok(MIB as usize / 2), "short files are read again soon");
}

#[tokio::test]
async fn pages_that_still_arrive_are_waited_for_by_the_pool() {
    let mut disk = None;
    let scene = Scene::of(|host| disk.insert(Arc::new(Faulty::new(host))).clone());
    let disk = disk.unwrap();
    let clip = scene.cold(b"clip");
    if !can_tell(&scene, &clip) {
        return;
    }
    let sends = async || {
        let read = scene.volume.stateless().read(&scene.actor, &clip, 4 * MIB, MIB as usize).await.unwrap();
        match read.payload {
            Payload::File { .. } => true,
            Payload::Bytes(bytes) => {
                assert_eq!(bytes, vec![7; MIB as usize]);
                false
            }
        }
    };
    scene.read(&clip, 4 * MIB).await;
    assert!(sends().await, "all of it is in memory");
    // The kernel counts a page as there from the moment that it begins to read it. A read that may not wait tells the difference.
    disk.plan().fail(1, Some(Call::ReadAt), Error::WouldBlock);
    assert!(!sends().await, "sendfile would block the thread of all connections");
    assert!(sends().await);
}
