//! A server in this process, with a disk that can stall.

use std::collections::HashMap;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use ::iscsi::server::{
    Identity, LogicalUnit, Service, Target, TargetConfig, TargetLun, UnitOptions, UnitStateStore,
    serve_stream,
};
use auth::{Account, Accounts, LoginGuard, Refusal};
use conn::Watchdog;
use tokio::runtime::Runtime;
use tokio::sync::watch;
use vfs::backend::NewKind;
use vfs::backend::faulty::Faulty;
use vfs::backend::memory::Memory;
use vfs::state::{ClientId, Modes, Party};
use vfs::{Actor, Caller, FileId, OpenOptions, Volume, VolumeOptions};

use super::client::{BLOCKS, TARGET};

/// As many threads as `fourfold serve` has on two processors.
const THREADS: usize = 16;
/// As many as wait for disks by design.
const DISK_THREADS: usize = 128;

/// A target with two disks: number 0 always answers, number 1 will stall.
pub(crate) struct Inside {
    _runtime: Runtime,
    _stop: watch::Sender<bool>,
    pub(crate) disk: Arc<Faulty>,
    pub(crate) ill: FileId,
    pub(crate) port: u16,
}

impl Inside {
    pub(crate) fn start() -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(THREADS)
            .max_blocking_threads(DISK_THREADS)
            .enable_all()
            .build()
            .unwrap();
        let disk = Arc::new(Faulty::new(Memory::ticking()));
        let volume = Arc::new(Volume::new(disk.clone(), VolumeOptions::default()));
        let (units, ids): (Vec<_>, Vec<_>) =
            (0..2).map(|number| runtime.block_on(unit(&volume, number))).unzip();
        let target = Target::new(TARGET, "disk");
        let luns = units.into_iter().zip(0..);
        let luns = luns.map(|(unit, number)| TargetLun { number, unit, initiators: vec![], readers: vec![] });
        target.set(auth::SharePolicy::for_guests(), luns.collect());
        let login_guard = Arc::new(LoginGuard::default());
        let service = Service::new(TargetConfig {
            targets: vec![target],
            accounts: Arc::new(Nobody),
            own_secret: None,
            login_guard,
            paths: None,
        });
        let entered = runtime.enter();
        let listener = conn::bind_tcp(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).unwrap();
        let port = listener.local_addr().unwrap().port();
        let (stop, stopping) = watch::channel(false);
        let watchdog = Watchdog::start("iSCSI");
        let serve = move |stream, peer| serve_stream(service.clone(), stream, peer, watchdog.clone());
        runtime.spawn(conn::Server::new(100, Arc::default()).run(listener, stopping, serve));
        drop(entered);
        Self { _runtime: runtime, _stop: stop, disk, ill: ids[1], port }
    }

    /// Waits until this many calls hang on the stalled disk.
    pub(crate) fn until_waiting(&self, count: usize) {
        let deadline = Instant::now() + Duration::from_secs(10);
        while self.disk.plan().waiting() < count {
            assert!(Instant::now() < deadline, "{} of {count} wait", self.disk.plan().waiting());
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

async fn unit(volume: &Arc<Volume>, number: u64) -> (Arc<LogicalUnit>, FileId) {
    let actor = Actor::new(Caller::root(), Party::client(ClientId(1)));
    let root = volume.root().unwrap();
    let name = format!("disk{number}");
    let made = volume.create(&actor, &root, name.as_bytes(), NewKind::File, 0o600).unwrap();
    let access = Modes::READ.union(Modes::WRITE);
    let options = OpenOptions { granted: true, ..OpenOptions::data(access) };
    let open = volume.open(&actor, &made.found, options).await.unwrap();
    open.truncate(BLOCKS * 512).await.unwrap();
    let identity = Identity { naa: 0x3000_0000_0000_0001 + number, name };
    let options = UnitOptions { block_size: 512, read_only: false };
    let id = open.node().id();
    (LogicalUnit::new(identity, options, open, BLOCKS * 512, Arc::new(MemoryKeeper::default())), id)
}

#[derive(Default)]
struct MemoryKeeper(Mutex<HashMap<u64, Vec<u8>>>);

impl UnitStateStore for MemoryKeeper {
    fn load(&self, naa: u64) -> io::Result<Option<Vec<u8>>> {
        Ok(self.0.lock().unwrap().get(&naa).cloned())
    }

    fn keep(&self, naa: u64, bytes: &[u8]) -> io::Result<()> {
        self.0.lock().unwrap().insert(naa, bytes.to_vec());
        Ok(())
    }
}

struct Nobody;

impl Accounts for Nobody {
    fn find(&self, _name: &str) -> Option<Account> {
        None
    }

    fn verify(&self, _: &str, _: &str) -> Result<Account, Refusal> {
        Err(Refusal::Unknown)
    }
}
