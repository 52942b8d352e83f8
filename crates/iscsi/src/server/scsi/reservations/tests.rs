mod conflicts;
mod keeping;
mod moving;
mod preempting;
mod registering;
mod reserving;

use std::sync::{Arc, Weak};

use parking_lot::Mutex;

use crate::server::scsi::testing::Disk;
use crate::server::scsi::{CommandRefusal, Ending, InitiatorPort, LogicalUnit, Nexus, Outcome, UnitSession};
use crate::wire::Writer;
use crate::wire::scsi::{Asc, Sense, Status, TransportId};

const REGISTER: u8 = 0;
const RESERVE: u8 = 1;
const RELEASE: u8 = 2;
const CLEAR: u8 = 3;
const PREEMPT: u8 = 4;
const PREEMPT_AND_ABORT: u8 = 5;
const REGISTER_AND_IGNORE: u8 = 6;
const MOVE: u8 = 7;
const REPLACE_LOST: u8 = 8;

const CONFLICT: CommandRefusal = CommandRefusal::Status(Status::RESERVATION_CONFLICT);

/// All types, SPC-4 table 206.
const TYPES: [u8; 6] = [1, 3, 5, 6, 7, 8];

/// An initiator with a session at a disk.
struct Host {
    nexus: Arc<Nexus>,
    aborted: Mutex<u32>,
    spared: Mutex<bool>,
}

impl UnitSession for Host {
    fn initiator(&self) -> &InitiatorPort {
        &self.nexus.initiator
    }

    fn port(&self) -> u16 {
        self.nexus.port
    }

    fn abort_tasks(&self, _: &LogicalUnit, except: Option<u32>) -> Ending {
        *self.aborted.lock() += 1;
        *self.spared.lock() = except.is_some();
        Box::pin(std::future::ready(()))
    }
}

/// A disk and three initiators.
struct Cluster {
    disk: Disk,
    ada: Arc<Host>,
    bob: Arc<Host>,
    eve: Arc<Host>,
}

impl Cluster {
    async fn new() -> Self {
        Self::of(Disk::new(64).await)
    }

    fn of(disk: Disk) -> Self {
        let host = |name: &str| {
            let nexus = disk.nexus(&format!("iqn.2026-11.test:{name}"));
            let host = Arc::new(Host { nexus, aborted: Mutex::new(0), spared: Mutex::new(false) });
            let weak: Weak<Host> = Arc::downgrade(&host);
            disk.unit.holders.arrive(weak);
            host
        };
        let (ada, bob, eve) = (host("ada"), host("bob"), host("eve"));
        Self { disk, ada, bob, eve }
    }

    /// PERSISTENT RESERVE OUT.
    async fn out(&self, host: &Host, action: u8, kind: u8, list: &[u8]) -> Outcome {
        let [a, b, c, d] = (list.len() as u32).to_be_bytes();
        self.disk.send(&host.nexus, &[0x5f, action, kind, 0, 0, a, b, c, d, 0], list).await
    }

    /// PERSISTENT RESERVE OUT with two keys and nothing else.
    async fn keys(&self, host: &Host, action: u8, kind: u8, key: u64, action_key: u64) -> Outcome {
        self.out(host, action, kind, &basic(key, action_key, 0)).await
    }

    /// Registers an initiator, whatever its current key is.
    async fn register(&self, host: &Host, key: u64) {
        self.keys(host, REGISTER_AND_IGNORE, 0, 0, key).await.unwrap();
    }

    /// PERSISTENT RESERVE IN, whose additional length must be right.
    async fn read(&self, action: u8) -> Vec<u8> {
        let reader = self.disk.nexus("iqn.2026-11.test:reader");
        let bytes = self.disk.send(&reader, &[0x5e, action, 0, 0, 0, 0, 0, 0xff, 0xff, 0], b"").await;
        let bytes = bytes.unwrap().bytes();
        if action != 2 {
            assert_eq!(bytes[4..8], (bytes.len() as u32 - 8).to_be_bytes());
        }
        bytes
    }

    async fn generation(&self) -> u8 {
        self.read(0).await[3]
    }

    /// The registered keys, which are small.
    async fn registered(&self) -> Vec<u8> {
        self.read(0).await[8..].chunks(8).map(|key| key[7]).collect()
    }

    /// Key of the holder, and type.
    async fn reserved(&self) -> Option<(u8, u8)> {
        let bytes = self.read(1).await;
        (bytes.len() > 8).then(|| (bytes[15], bytes[21]))
    }

    /// All pending unit attentions of an initiator.
    fn told(&self, host: &Host) -> Vec<Asc> {
        std::iter::from_fn(|| self.disk.unit.attentions.take(&host.nexus)).collect()
    }
}

fn basic(key: u64, action_key: u64, flags: u8) -> Vec<u8> {
    let mut list = key.to_be_bytes().to_vec();
    list.extend(action_key.to_be_bytes());
    list.extend([0, 0, 0, 0, flags, 0, 0, 0]);
    list
}

fn transport_id(port: &InitiatorPort) -> Vec<u8> {
    let mut w = Writer::new();
    TransportId { name: port.name.to_string(), isid: Some(port.isid) }.encode(&mut w);
    w.into_bytes()
}

fn check(sense: Sense) -> CommandRefusal {
    CommandRefusal::Check(sense)
}
