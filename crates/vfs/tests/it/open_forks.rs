//! Resource forks as clients have them open: what a read costs, and that it never returns bytes
//! that are no longer there.

use std::sync::Arc;

use crate::scene::{self, RW, Scene, at, client, scenes};
use bytes::Bytes;
use vfs::backend::faulty::{Call, Faulty};
use vfs::backend::memory::Memory;
use vfs::backend::{Found, NewKind, RenameMode, Stability, XattrMode};
use vfs::mac::{FinderInfo, sidecar};
use vfs::state::{Caching, ClientId, LeaseRequest, LockKind, Modes, Party, Range, Stream, Style};
use vfs::{
    Beside, Caller, Error, Kind, LookupResult, Open, OpenOptions, Payload, Result, SetAttributes, Volume,
    VolumeOptions,
};

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
        let looked = scene.volume.stateless().look(&actor.caller, &scene.root, b"._a").unwrap();
        let LookupResult::File(sidecar) = looked else { panic!("a fork is on the disk") };
        // AppleDouble with Finder info: the fork begins at 82.
        let data = Bytes::from_static(b"RES");
        scene.volume.stateless().write(&actor, &sidecar, 82, data, Stability::Unstable).await.unwrap();
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

/// The sidecar of "a" as a client without forks reads and writes it, and where the fork begins in it.
struct Sidecar<'a> {
    scene: &'a Scene,
    start: u64,
}

impl<'a> Sidecar<'a> {
    /// RFC 1740 appendix B: the table of entries begins at 26; the fork is entry 2.
    async fn of(scene: &'a Scene) -> Self {
        let mut sidecar = Self { scene, start: 0 };
        let head = sidecar.read(0, 50).await.unwrap();
        let rows = head[26..].chunks_exact(12).map(|row| row.chunks_exact(4).collect::<Vec<_>>());
        let fork = rows.into_iter().find(|row| row[0] == [0, 0, 0, 2]).unwrap();
        sidecar.start = u64::from(u32::from_be_bytes(fork[1].try_into().unwrap()));
        sidecar
    }

    async fn read(&self, offset: u64, length: usize) -> Result<Vec<u8>> {
        let (volume, by) = (&self.scene.volume, client(2));
        let data = match volume.stateless().look(&by.caller, &self.scene.root, b"._a")? {
            LookupResult::File(found) => volume.stateless().read(&by, &found, offset, length).await?,
            LookupResult::Sidecar(made) => {
                let found = Found { object: made.owner, attributes: made.attributes };
                volume.stateless().read_sidecar(&by, (&found, &made.bytes), offset, length)?
            }
        };
        let mut bytes = Vec::new();
        data.payload.append_to(&mut bytes)?;
        Ok(bytes)
    }

    /// The file on the disk, put there if need be.
    fn file(&self) -> Found {
        let (volume, by) = (&self.scene.volume, client(2));
        match volume.stateless().look(&by.caller, &self.scene.root, b"._a").unwrap() {
            LookupResult::File(found) => found,
            LookupResult::Sidecar(made) => volume.stateless().materialize(&by.caller, &made.owner).unwrap(),
        }
    }

    async fn write(&self, offset: u64, data: &[u8]) -> Result<()> {
        let data = Bytes::copy_from_slice(data);
        let (by, file) = (client(2), self.file());
        self.scene.volume.stateless().write(&by, &file, offset, data, Stability::Unstable).await.map(drop)
    }

    fn cut(&self, size: u64) -> Result<()> {
        let changes = SetAttributes { size: Some(size), ..SetAttributes::default() };
        self.scene.volume.set_attributes(&client(2), &self.file(), &changes).map(drop)
    }

    fn rename(&self, from: &str, to: &str) -> Result<()> {
        let root = &self.scene.root;
        let (from, to) = ((root, from.as_bytes()), (root, to.as_bytes()));
        self.scene.volume.rename(&client(2), from, to, RenameMode::Replace).map(drop)
    }

    fn remove(&self) -> Result<()> {
        self.scene.volume.remove(&client(2), &self.scene.root, b"._a", Kind::File).map(drop)
    }

    /// Of a client that has the sidecar open, as it has any file.
    async fn through_an_open(&self, offset: u64) -> (Result<()>, Result<()>) {
        let file = self.file();
        let opened = self.scene.volume.open(&client(2), &file, at(&self.scene.root, "._a")).await.unwrap();
        let read = opened.read_at(offset, 4).await.map(drop);
        let written = opened.write_at(offset, Bytes::from_static(b"x"), Stability::Unstable).await;
        (read, written)
    }
}

const FORK: &[u8] = b"0123456789abcdef";

/// "a" with a fork: in a sidecar of ours, in one that another server has written, or in an attribute (Netatalk's).
async fn with_forks() -> Vec<Scene> {
    let own = scenes();
    let (head, _) = sidecar::synthesize(&FinderInfo::NONE, &[(&b"color"[..], b"red")], FORK.len() as u64);
    let others = scenes();
    let attributes = scenes();
    for scene in own.iter().chain(&others).chain(&attributes) {
        scene.file("a");
    }
    for scene in &own {
        write(&open(scene, 1).await, 0, FORK).await;
    }
    for scene in &others {
        let made = scene.root.object.create(&Caller::root(), b"._a", NewKind::File, 0o644).unwrap();
        let bytes = [&head[..], FORK].concat();
        made.object.write_at(&Caller::root(), 0, &bytes, Stability::Unstable).unwrap();
    }
    for scene in &attributes {
        let file = scene.find("a").unwrap().object;
        let name = b"user.org.netatalk.ResourceFork";
        file.set_xattr(&Caller::root(), name, FORK, XattrMode::Set).unwrap();
    }
    own.into_iter().chain(others).chain(attributes).collect()
}

fn mine<'a>(scene: &'a Scene, access: Modes, deny: Modes) -> OpenOptions<'a> {
    OpenOptions { stream: Stream::Resource, access, deny, ..at(&scene.root, "a") }
}

#[tokio::test]
async fn what_others_deny_of_a_fork_binds_the_sidecar() {
    for scene in with_forks().await {
        let (by, file, sidecar) = (client(1), scene.find("a").unwrap(), Sidecar::of(&scene).await);
        let start = sidecar.start;
        let open = |access, deny| scene.volume.open(&by, &file, mine(&scene, access, deny));
        let refused = Err(Error::ShareConflict);

        let fork = open(RW, RW).await.unwrap();
        assert_eq!(sidecar.read(start, 4).await, Err(Error::ShareConflict));
        assert_eq!(sidecar.read(0, 4096).await.unwrap().len() as u64, start, "the rest is not the fork");
        assert_eq!(sidecar.write(start + 2, b"x").await, refused);
        assert_eq!(sidecar.write(32, &[7]).await, Ok(()), "of the Finder info");
        let head = sidecar.read(0, start as usize).await.unwrap();
        assert_eq!(sidecar.write(0, &head).await, Ok(()), "it says what it said");
        let shorter = head.windows(4).rposition(|at| at == (FORK.len() as u32).to_be_bytes()).unwrap();
        assert_eq!(sidecar.write(shorter as u64, &[0, 0, 0, 3]).await, refused);
        assert_eq!((sidecar.cut(0), sidecar.cut(start + 3)), (refused, refused));
        assert_eq!((sidecar.remove(), sidecar.rename("._a", "b")), (refused, refused));
        scene.file("c");
        assert_eq!(sidecar.rename("c", "._a"), refused);
        assert_eq!(sidecar.through_an_open(start).await, (refused, refused));
        assert_eq!(
            sidecar.through_an_open(0).await,
            (Ok(()), refused),
            "what the beginning will say is not known"
        );
        assert_eq!(read(&fork, 0, 16).await, FORK);
        fork.close().await.unwrap();

        let fork = open(Modes::READ, Modes::WRITE).await.unwrap();
        assert_eq!(sidecar.read(start, 16).await.as_deref(), Ok(FORK));
        assert_eq!(sidecar.write(start, b"x").await, refused);
        fork.close().await.unwrap();

        let fork = open(Modes::READ, Modes::NONE).await.unwrap();
        assert_eq!(sidecar.write(start + 1, b"x").await, Ok(()));
        assert_eq!(read(&fork, 0, 16).await, b"0x23456789abcdef");
        assert_eq!(sidecar.cut(start + 8), Ok(()));
        assert_eq!(fork.size().await, Ok(8));
        assert_eq!(sidecar.remove(), Ok(()));
        assert_eq!(fork.size().await, Ok(0));
    }
}

#[tokio::test]
async fn a_locked_range_of_a_fork_is_locked_in_the_sidecar() {
    for scene in with_forks().await {
        let (file, sidecar) = (scene.find("a").unwrap(), Sidecar::of(&scene).await);
        let start = sidecar.start;
        let fork = scene.volume.open(&client(1), &file, mine(&scene, RW, Modes::NONE)).await.unwrap();
        fork.lock(Range::new(0, 8).unwrap(), LockKind::Exclusive).await.unwrap();
        let refused = Err(Error::RangeLocked);
        assert_eq!(sidecar.read(start + 7, 2).await, Err(Error::RangeLocked));
        assert_eq!(sidecar.read(start + 8, 2).await.as_deref(), Ok(&b"89"[..]));
        assert_eq!(
            (sidecar.write(start, b"x").await, sidecar.write(start + 8, b"x").await),
            (refused, Ok(()))
        );
        assert_eq!((sidecar.cut(start + 7), sidecar.cut(start + 8)), (refused, Ok(())));
        assert_eq!(sidecar.remove(), Err(Error::ShareConflict), "the lock may stay for long");
        fork.close().await.unwrap();
        assert_eq!(sidecar.remove(), Ok(()));
    }
}

#[tokio::test]
async fn what_is_cached_of_a_fork_is_recalled_for_the_sidecar() {
    for scene in with_forks().await {
        let (file, sidecar) = (scene.find("a").unwrap(), Sidecar::of(&scene).await);
        let (id, party) = (file.object.id(), Party::client(ClientId(1)));
        let _fork = scene.volume.open(&client(1), &file, mine(&scene, RW, Modes::NONE)).await.unwrap();
        let (notices, mut told) = tokio::sync::mpsc::unbounded_channel();
        let want = Caching::READ | Caching::WRITE;
        let request = LeaseRequest { party, want, style: Style::Bits, notices };
        let lease = scene.volume.state().lease(id, &Stream::Resource, &request).unwrap();
        assert!(sidecar.read(0, sidecar.start as usize).await.is_ok(), "nothing of the fork");
        assert!(told.try_recv().is_err());
        assert_eq!(sidecar.read(sidecar.start, 4).await, Err(Error::LeaseRecall(id)));
        assert!(told.try_recv().is_ok());
        drop(lease);
        assert_eq!(sidecar.read(sidecar.start, 4).await.as_deref(), Ok(&b"0123"[..]));
    }
}

/// A Mac renames the sidecar after the file, which is done already then.
#[tokio::test]
async fn a_sidecar_that_has_moved_with_its_file_may_be_moved_there() {
    for scene in with_forks().await.into_iter().take(2) {
        let (file, sidecar) = (scene.find("a").unwrap(), Sidecar::of(&scene).await);
        let denying = mine(&scene, Modes::READ, Modes::WRITE);
        let _fork = scene.volume.open(&client(1), &file, denying).await.unwrap();
        assert_eq!(sidecar.rename("a", "b"), Ok(()));
        assert_eq!(sidecar.rename("._a", "._b"), Ok(()));
        scene.file("c");
        assert_eq!(sidecar.rename("c", "._b"), Err(Error::ShareConflict));
    }
}
