//! What the tests of opens share: a volume on either backend, its clients, their leases.

#![allow(
    clippy::unwrap_used,
    dead_code,
    missing_docs,
    unreachable_pub,
    reason = "tests, each of which uses some of it"
)]

pub mod servers;

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use bytes::Bytes;
use cephfs::Place;
use tokio::sync::mpsc;

use vfs::backend::Backend;
use vfs::backend::ceph::{Ceph, CephOptions};
use vfs::backend::host::{Host, HostOptions};
use vfs::backend::memory::Memory;
use vfs::backend::{Found, NewKind, Stability};
use vfs::state::{
    BreakNotice, Caching, ClientId, LeaseRequest, LockKind, Modes, Party, Range, Stream, Style,
};
use vfs::{
    Actor, Beside, Caller, Error, Node, Open, OpenOptions, Payload, SetAttributes, Volume, VolumeOptions,
};

pub const RW: Modes = Modes(3);
pub const RWD: Modes = Modes::ALL;

pub struct Scene {
    pub volume: Arc<Volume>,
    pub root: Found,
    pub dir: Option<tempfile::TempDir>,
}

/// The same volume in memory, in a folder of the host, and in a folder of CephFS if there is a cluster.
pub fn scenes() -> Vec<Scene> {
    let ceph = ceph().map(|ceph| scene(Volume::new(Arc::new(ceph), VolumeOptions::default()), None));
    local_scenes().into_iter().chain(ceph).collect()
}

/// The same volume in memory and in a folder of the host.
pub fn local_scenes() -> [Scene; 2] {
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let host = Host::open(dir.path(), &HostOptions::default()).unwrap();
    let memory = Volume::new(Arc::new(Memory::ticking()), VolumeOptions::default());
    let host = Volume::new(Arc::new(host), VolumeOptions::default());
    [scene(memory, None), scene(host, Some(dir))]
}

fn scene(volume: Volume, dir: Option<tempfile::TempDir>) -> Scene {
    let root = volume.root().unwrap();
    Scene { volume: Arc::new(volume), root, dir }
}

/// The settings of a cluster whose file system `fs1` tests may fill: `cargo xtask interop ceph` sets it.
pub const CEPH: &str = "FOURFOLD_TEST_CEPH_CONF";

/// A new folder of CephFS, if there is a cluster.
pub fn ceph() -> Option<Ceph> {
    static FOLDERS: AtomicU32 = AtomicU32::new(0);
    let conf = std::env::var_os(CEPH)?;
    cephfs::set_conf(conf.as_ref());
    cephfs::set_identity("tests of vfs"); // programs of tests run one after the other
    let place = |folder: &str| Place { source: "cephfs:fs1".parse().unwrap(), folder: folder.into() };
    let open = |folder: &str| Ceph::open(&place(folder), &CephOptions::default()).unwrap();
    let name = format!("scene-{}-{}", std::process::id(), FOLDERS.fetch_add(1, Ordering::Relaxed));
    let root = open("").root().unwrap().object;
    root.create(&Caller::root(), name.as_bytes(), NewKind::Folder, 0o755).unwrap();
    Some(open(&name))
}

/// A caller to which the host allows everything.
pub fn client(number: u64) -> Actor {
    let (uid, gid) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    Actor::new(Caller::new(uid, gid, &[]), Party::client(ClientId(number)))
}

impl Scene {
    pub fn file(&self, name: &str) -> Found {
        self.volume.create(&client(1), &self.root, name.as_bytes(), NewKind::File, 0o644).unwrap().found
    }

    pub fn folder(&self, name: &str) -> Found {
        self.volume.create(&client(1), &self.root, name.as_bytes(), NewKind::Folder, 0o755).unwrap().found
    }

    pub fn names(&self) -> Vec<String> {
        let page = self.volume.list(&client(1).caller, &self.root, 0).unwrap();
        let mut names: Vec<String> =
            page.entries().iter().map(|entry| String::from_utf8_lossy(entry.name()).into()).collect();
        names.retain(|name| name != "." && name != "..");
        names.sort();
        names
    }

    pub fn find(&self, name: &str) -> vfs::Result<Found> {
        self.volume.lookup(&client(1).caller, &self.root.object, name.as_bytes())
    }

    /// With its place, to be read, written and removed.
    pub async fn open(&self, number: u64, name: &str) -> vfs::Result<Open> {
        let found = self.find(name)?;
        self.volume.open(&client(number), &found, at(&self.root, name)).await
    }

    pub async fn lease(&self, of: &Node, party: Party, want: Caching) -> (vfs::state::Lease, Notices) {
        let (notices, told) = mpsc::unbounded_channel();
        let request = LeaseRequest { party, want, style: Style::Bits, notices };
        let lease = || self.volume.state().lease(of.id(), &Stream::Data, &request);
        (self.volume.once_recalled(Duration::from_secs(10), lease).await.unwrap(), told)
    }
}

pub type Notices = mpsc::UnboundedReceiver<BreakNotice>;

pub fn at<'a>(folder: &'a Found, name: &'a str) -> OpenOptions<'a> {
    let place = Some(Beside { folder: &folder.object, name: name.as_bytes() });
    OpenOptions { place, ..OpenOptions::data(RWD) }
}

pub fn stream<'a>(folder: &'a Found, name: &'a str, stream: &str) -> OpenOptions<'a> {
    OpenOptions { stream: Stream::Named(stream.into()), create: true, ..at(folder, name) }
}

pub async fn read(open: &Open, offset: u64, length: usize) -> Vec<u8> {
    match open.read_at(offset, length).await.unwrap().payload {
        Payload::Bytes(bytes) => bytes,
        Payload::File { .. } => panic!("short reads are copied"),
    }
}

pub async fn write(open: &Open, offset: u64, data: &[u8]) -> vfs::Result<()> {
    open.write_at(offset, Bytes::copy_from_slice(data), Stability::Unstable).await
}

/// What a client has of a file through one volume binds another client that reaches it through another one: deny modes of
/// each kind, a locked range, and each part of a lease.
pub async fn assert_bound(mine: &Scene, other: &Scene, name: &str) {
    for (deny, access) in
        [(Modes::READ, Modes::READ), (Modes::WRITE, Modes::WRITE), (Modes::DELETE, Modes::DELETE)]
    {
        let file = mine.find(name).unwrap();
        let options = OpenOptions { deny, access: Modes::READ, ..at(&mine.root, name) };
        let open = mine.volume.open(&client(1), &file, options).await.unwrap();
        let theirs = |access| {
            let (volume, found, root) = (other.volume.clone(), other.find(name).unwrap(), other.root.clone());
            async move {
                let options = OpenOptions { access, ..at(&root, name) };
                volume.open(&client(2), &found, options).await.map(drop)
            }
        };
        assert_eq!(theirs(access).await, Err(Error::ShareConflict), "{deny:?}");
        open.close().await.unwrap();
        assert_eq!(theirs(access).await, Ok(()), "{deny:?}");
    }

    let (open, theirs) = (mine.open(1, name).await.unwrap(), other.open(2, name).await.unwrap());
    open.lock(Range::new(0, 10).unwrap(), LockKind::Exclusive).await.unwrap();
    assert_eq!(write(&theirs, 0, b"x").await, Err(Error::RangeLocked));
    assert_eq!(write(&theirs, 10, b"x").await, Ok(()));
    assert!(theirs.lock(Range::new(5, 10).unwrap(), LockKind::Shared).await.is_err());
    open.close().await.unwrap();
    assert_eq!(write(&theirs, 0, b"x").await, Ok(()));
    theirs.close().await.unwrap();

    let changes = SetAttributes { size: Some(3), ..SetAttributes::default() };
    for want in [Caching::READ, Caching::READ | Caching::WRITE, Caching::READ | Caching::HANDLE] {
        let file = mine.find(name).unwrap();
        let (lease, mut told) = mine.lease(&file.object, Party::client(ClientId(1)), want).await;
        let (by, found) = (client(2), other.find(name).unwrap());
        let change = || other.volume.set_attributes(&by, &found, &changes);
        let done = other.volume.once_recalled(Duration::from_millis(50), change).await;
        let recalled = Err(Error::LeaseRecall(file.object.id()));
        // What is only read is told of the change; data that a client may have written are asked for first.
        if want.contains(Caching::WRITE) {
            assert_eq!(done.map(drop), recalled, "{want:?}");
        }
        told.recv().await.unwrap();
        drop(lease);
    }
}
