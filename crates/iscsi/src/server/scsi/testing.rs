//! Disks for tests of commands: in memory, without sessions.
//!
//! ```text
//! let disk = Disk::new(128).await;                               // blocks of 512 bytes
//! let ada = disk.nexus("iqn.2026-11.test:ada");
//! let good = disk.send(&ada, &[0x12, 0, 0, 0, 36, 0], b"").await.unwrap();
//! assert_eq!(good.bytes()[0], 0);
//! ```

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use parking_lot::Mutex;
use vfs::backend::memory::Memory;
use vfs::backend::{Backend, NewKind};
use vfs::state::{ClientId, Modes, Party};
use vfs::{Actor, Caller, Open, OpenOptions, Volume, VolumeOptions};

use super::holders::Ending;
use super::{
    CommandContext, Good, Identity, InitiatorPort, LogicalUnit, Needs, Nexus, Outcome, UnitOptions,
    UnitSession, UnitStateStore,
};
use crate::server::target::{Target, TargetLun};

/// The stored state of units, for restarts; and whether storing fails.
#[derive(Default)]
pub(crate) struct MemoryKeeper {
    pub(crate) records: Mutex<HashMap<u64, Vec<u8>>>,
    pub(crate) fails: AtomicBool,
}

impl UnitStateStore for MemoryKeeper {
    fn load(&self, naa: u64) -> io::Result<Option<Vec<u8>>> {
        self.works()?;
        Ok(self.records.lock().get(&naa).cloned())
    }

    fn keep(&self, naa: u64, bytes: &[u8]) -> io::Result<()> {
        self.works()?;
        self.records.lock().insert(naa, bytes.to_vec());
        Ok(())
    }
}

impl MemoryKeeper {
    fn works(&self) -> io::Result<()> {
        if self.fails.load(Ordering::Relaxed) { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) }
    }
}

/// A target with one unit, number 0.
pub(crate) struct Disk {
    pub(crate) target: Arc<Target>,
    pub(crate) unit: Arc<LogicalUnit>,
    pub(crate) kept: Arc<MemoryKeeper>,
}

impl Disk {
    /// A disk with this many blocks of 512 bytes.
    pub(crate) async fn new(blocks: u64) -> Self {
        Self::on(Arc::new(Memory::ticking()), blocks, UnitOptions { block_size: 512, read_only: false }).await
    }

    /// A disk on another store, or with other options.
    pub(crate) async fn on(backend: Arc<dyn Backend>, blocks: u64, options: UnitOptions) -> Self {
        Self::that_kept(Arc::default(), backend, blocks, options).await
    }

    /// A disk after a restart, with this stored state.
    pub(crate) async fn that_kept(
        kept: Arc<MemoryKeeper>,
        backend: Arc<dyn Backend>,
        blocks: u64,
        options: UnitOptions,
    ) -> Self {
        Self::of(unit(backend, 0, blocks, options, kept.clone()).await, kept)
    }

    /// A disk of 64 blocks of a cluster, with this stored state. `is_active`: this server serves it.
    pub(crate) async fn shared(kept: Arc<MemoryKeeper>, backend: Arc<dyn Backend>, is_active: bool) -> Self {
        let size = 64 * 512;
        let open = if is_active { Some(file(backend, 0, size).await) } else { None };
        let options = UnitOptions { block_size: 512, read_only: false };
        Self::of(LogicalUnit::shared(identity(0), options, open, size, kept.clone()), kept)
    }

    fn of(unit: Arc<LogicalUnit>, kept: Arc<MemoryKeeper>) -> Self {
        let target = Target::new("iqn.2026-11.test:disk", "test");
        let lun = TargetLun { number: 0, unit: unit.clone(), initiators: vec![], readers: vec![] };
        target.set(auth::SharePolicy::for_guests(), vec![lun]);
        Self { target, unit, kept }
    }

    /// An initiator with a new session.
    pub(crate) fn nexus(&self, name: &str) -> Arc<Nexus> {
        let initiator = InitiatorPort { name: name.into(), isid: [0x40, 0, 0, 0, 0, 1] };
        Arc::new(Nexus { initiator, host: [127, 0, 0, 1].into(), port: 1 })
    }

    /// A session of this initiator, which receives the events of unit 0 until it is dropped.
    pub(crate) fn session(&self, nexus: &Nexus) -> Arc<dyn UnitSession> {
        let session: Arc<dyn UnitSession> = Arc::new(Session(nexus.initiator.clone(), nexus.port));
        self.unit.holders.arrive(Arc::downgrade(&session));
        session
    }

    /// Sends a command to unit 0, with the data that it needs.
    pub(crate) async fn send(&self, nexus: &Arc<Nexus>, cdb: &[u8], data: &[u8]) -> Outcome {
        self.send_to(Some(self.unit.clone()), nexus, cdb, data).await
    }

    /// A command before any check.
    pub(crate) fn command(
        &self,
        unit: Option<Arc<LogicalUnit>>,
        nexus: &Arc<Nexus>,
        cdb: &[u8],
    ) -> CommandContext {
        let mut padded = cdb.to_vec();
        padded.resize(cdb.len().max(16), 0);
        let read_only = unit.as_ref().is_some_and(|unit| unit.options.read_only);
        let seen = self.target.seen_by(&nexus.initiator.name, nexus.host).into();
        let (target, nexus, cdb) = (self.target.clone(), nexus.clone(), Bytes::from(padded));
        CommandContext {
            target,
            unit,
            nexus,
            cdb,
            data: Bytes::new(),
            read_only,
            tag: 1,
            seen,
            aborted: Arc::default(),
        }
    }

    /// As [`Disk::send`], to another unit or to none.
    pub(crate) async fn send_to(
        &self,
        unit: Option<Arc<LogicalUnit>>,
        nexus: &Arc<Nexus>,
        cdb: &[u8],
        data: &[u8],
    ) -> Outcome {
        let mut command = self.command(unit, nexus, cdb);
        let (supported, needs) = super::needs(&command)?;
        match needs {
            Needs::Nothing => assert!(data.is_empty(), "the command takes no data"),
            Needs::Parameters(length) | Needs::Exactly(length) => {
                let has_fewer = matches!(needs, Needs::Parameters(_)) && data.len() < length;
                assert!(has_fewer || data.len() == length, "the command takes other data");
                command.data = Bytes::copy_from_slice(data);
            }
            Needs::Blocks { offset, length } => {
                assert_eq!(data.len() as u64, length, "the command takes other data");
                command.unit()?.write(offset, Bytes::copy_from_slice(data)).await?;
            }
        }
        super::run(supported, &command).await
    }
}

/// A session without commands.
struct Session(InitiatorPort, u16);

impl UnitSession for Session {
    fn initiator(&self) -> &InitiatorPort {
        &self.0
    }

    fn port(&self) -> u16 {
        self.1
    }

    fn abort_tasks(&self, _: &LogicalUnit, _: Option<u32>) -> Ending {
        Box::pin(std::future::ready(()))
    }
}

impl Good {
    /// The data.
    pub(crate) fn bytes(self) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.data.append_to(&mut bytes).unwrap();
        bytes
    }
}

/// A unit that is all zeros.
pub(crate) async fn unit(
    backend: Arc<dyn Backend>,
    number: u64,
    blocks: u64,
    options: UnitOptions,
    kept: Arc<MemoryKeeper>,
) -> Arc<LogicalUnit> {
    let size = blocks * u64::from(options.block_size);
    LogicalUnit::new(identity(number), options, file(backend, number, size).await, size, kept)
}

fn identity(number: u64) -> Identity {
    Identity { naa: 0x3000_0000_0000_0001 + number, name: format!("test/disk{number}") }
}

/// A new file of zeros.
async fn file(backend: Arc<dyn Backend>, number: u64, size: u64) -> Open {
    let volume = Arc::new(Volume::new(backend, VolumeOptions::default()));
    let actor = Actor::new(Caller::root(), Party::client(ClientId(1)));
    let root = volume.root().unwrap();
    let made =
        volume.create(&actor, &root, format!("disk{number}").as_bytes(), NewKind::File, 0o600).unwrap();
    let access = Modes::READ.union(Modes::WRITE);
    let open = volume
        .open(&actor, &made.found, OpenOptions { granted: true, ..OpenOptions::data(access) })
        .await
        .unwrap();
    open.truncate(size).await.unwrap();
    open
}

#[tokio::test]
async fn an_unknown_command_is_refused_as_an_invalid_operation_code() {
    let disk = Disk::new(8).await;
    let refused = disk.send(&disk.nexus("iqn.2026-11.test:ada"), &[0xff; 16], b"").await.unwrap_err();
    assert_eq!(
        refused,
        super::CommandRefusal::Check(crate::wire::scsi::Sense::illegal(
            crate::wire::scsi::Asc::INVALID_OPERATION_CODE
        ))
    );
}
