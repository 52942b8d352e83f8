//! Forks, streams and access control lists, which the server finds by keys that differ at the destination.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use replicate::Options;
use vfs::backend::host::{Host, HostOptions};
use vfs::backend::{Found, Stability};
use vfs::state::{ClientId, Modes, Party, Stream};
use vfs::{Actor, Beside, Caller, OpenOptions, Volume, VolumeOptions};

use crate::scene::{Scene, at};

/// A share as the server sees it.
struct Share {
    volume: Arc<Volume>,
    root: Found,
    actor: Actor,
}

impl Share {
    fn open(folder: &Path) -> Self {
        let host = Host::open(folder, &HostOptions::default()).unwrap();
        let volume = Arc::new(Volume::new(Arc::new(host), VolumeOptions::default()));
        let root = volume.root().unwrap();
        Self { volume, root, actor: Actor::new(Caller::root(), Party::client(ClientId(1))) }
    }

    async fn stream(&self, name: &str, stream: Stream, create: bool) -> vfs::Result<vfs::Open> {
        let found = self.root.object.lookup(&Caller::root(), name.as_bytes()).unwrap();
        let place = Some(Beside { folder: &self.root.object, name: name.as_bytes() });
        let access = Modes::READ.union(Modes::WRITE);
        let options = OpenOptions { stream, create, place, ..OpenOptions::data(access) };
        self.volume.open(&self.actor, &found, options).await
    }

    async fn put(&self, name: &str, stream: Stream, bytes: &[u8]) {
        let open = self.stream(name, stream, true).await.unwrap();
        open.resize(0).await.unwrap();
        open.write_at(0, Bytes::copy_from_slice(bytes), Stability::Unstable).await.unwrap();
    }

    async fn get(&self, name: &str, stream: Stream) -> vfs::Result<Vec<u8>> {
        let open = self.stream(name, stream, false).await?;
        let mut bytes = Vec::new();
        open.read_at(0, 1 << 20).await?.payload.append_to(&mut bytes).unwrap();
        Ok(bytes)
    }
}

fn streams(mark: u8) -> Vec<(Stream, Vec<u8>)> {
    let long: String = "ä".repeat(126);
    vec![
        (Stream::Resource, vec![mark; 5000]),
        (Stream::Named("small".into()), vec![mark + 1; 10]),
        (Stream::Named("large/%".into()), vec![mark + 2; 200_000]),
        (Stream::Named(long.into()), vec![mark + 3; 30_000]),
    ]
}

fn forks(from: &str, to: &str) {
    let Some(scene) = Scene::new(from, to) else { return };
    let [source, _] = scene.datasets();
    let (here, there) = (scene.source(), scene.destination());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let share = Share::open(&here);
        for (name, mark) in [("film", 10), ("notes", 20), ("gone", 30)] {
            fs::write(here.join(name), name).unwrap();
            for (stream, bytes) in streams(mark) {
                share.put(name, stream, &bytes).await;
            }
        }
        source.create("one", at(100)).unwrap();
        assert_eq!(scene.replicate(&Options::default()), ["one"]);
        let all_are = async |share: &Share, name: &str, mark: u8| {
            for (stream, bytes) in streams(mark) {
                let shown = format!("{from} to {to}: {name} {stream:?}");
                assert_eq!(
                    share.get(name, stream).await.unwrap_or_else(|why| panic!("{shown}: {why}")),
                    bytes,
                    "{shown}"
                );
            }
        };
        for (name, mark) in [("film", 10), ("notes", 20), ("gone", 30)] {
            all_are(&Share::open(&there), name, mark).await;
        }
        let stored = || fs::read_dir(there.join(".fourfold-streams")).unwrap().count();
        let before = stored();

        // A program replaces a file: its forks are another file's now. Only a fork changes. A file goes.
        fs::write(here.join("new"), "another").unwrap();
        share.put("new", Stream::Named("large/%".into()), &vec![77; 150_000]).await;
        fs::rename(here.join("new"), here.join("film")).unwrap();
        fs::remove_file(here.join("._film")).unwrap();
        share.put("notes", Stream::Named("large/%".into()), &vec![99; 160_000]).await;
        fs::remove_file(here.join("gone")).unwrap();
        fs::remove_file(here.join("._gone")).unwrap();
        source.create("two", at(200)).unwrap();
        assert_eq!(scene.replicate(&Options::default()), ["two"]);
        let share = Share::open(&there);
        let large = |name: &'static str| share.get(name, Stream::Named("large/%".into()));
        assert_eq!(large("film").await.unwrap(), vec![77; 150_000]);
        assert_eq!(large("notes").await.unwrap(), vec![99; 160_000]);
        assert_eq!(share.get("notes", Stream::Resource).await.unwrap(), vec![20; 5000]);
        assert_eq!(fs::read(there.join("film")).unwrap(), b"another");
        assert!(!there.join("gone").exists());
        assert_eq!(stored(), before - 1, "the forks of a removed file go");
    });
}

#[test]
fn forks_arrive_from_btrfs() {
    forks("btrfs", "btrfs");
    forks("btrfs", "xfs");
}

#[test]
fn forks_arrive_from_xfs() {
    forks("xfs", "btrfs");
}
