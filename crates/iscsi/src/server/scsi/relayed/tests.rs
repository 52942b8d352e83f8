//! A disk at two servers of a cluster: port 1 is at the virtual address, port 2 at the server that serves it first, port 3 at the
//! other one.

use std::net::{IpAddr, SocketAddr};

use auth::{Account, Accounts};
use parking_lot::Mutex;
use vfs::backend::memory::Memory;

use super::*;
use crate::server::config::TargetConfig;
use crate::server::paths::{AccessState, Paths, RelayFuture, TargetPort, Way};
use crate::server::scsi::testing::{Disk, MemoryKeeper};
use crate::wire::scsi::Status;

const ADA: &str = "iqn.2026-11.test:ada";
const BOB: &str = "iqn.2026-11.test:bob";
const WRITE: [u8; 10] = [0x2a, 0, 0, 0, 0, 0, 0, 0, 1, 0];
const REGISTER: u8 = 0;
const RESERVE: u8 = 1;
const PREEMPT: u8 = 4;
const ALL_TG_PT: u8 = 0x04;
const CONFLICT: CommandRefusal = CommandRefusal::Status(Status::RESERVATION_CONFLICT);

/// What a server knows of the other one.
#[derive(Default)]
struct PairPaths {
    active: Mutex<Option<Arc<LogicalUnit>>>,
    others: Mutex<Vec<Arc<LogicalUnit>>>,
}

impl Paths for PairPaths {
    fn port(&self, _: IpAddr) -> u16 {
        1
    }

    fn portals(&self, _: &str, local: SocketAddr) -> Vec<(SocketAddr, u16)> {
        vec![(local, 1)]
    }

    fn ports(&self, _: &str) -> Vec<TargetPort> {
        [1, 2, 3].map(|number| TargetPort { number, access: AccessState::Active }).into()
    }

    fn way(&self, _: &str, _: IpAddr) -> Way {
        Way::Here
    }

    fn relay<'a>(&'a self, _: &'a str, naa: u64, command: Vec<u8>) -> RelayFuture<'a> {
        let active = self.active.lock().clone();
        Box::pin(async move {
            let relayed = active?.relayed(&command, &[1, 2, 3]).await?;
            relayed.attentions.into_iter().for_each(|message| self.tell(naa, message));
            Some(relayed.answer)
        })
    }

    fn tell(&self, _: u64, attentions: Vec<u8>) {
        self.others.lock().iter().for_each(|other| other.attend(&attentions));
    }
}

struct NoAccounts;

impl Accounts for NoAccounts {
    fn find(&self, _: &str) -> Option<Account> {
        None
    }

    fn verify(&self, _: &str, _: &str) -> Result<Account, auth::Refusal> {
        Err(auth::Refusal::Unknown)
    }
}

struct ServerPair {
    active: Disk,
    standby: Disk,
    between: Arc<PairPaths>,
    /// A target knows its settings only as long as they are there.
    _configs: [Arc<TargetConfig>; 2],
}

impl ServerPair {
    async fn new() -> Self {
        let kept: Arc<MemoryKeeper> = Arc::default();
        let active = Disk::shared(kept.clone(), Arc::new(Memory::ticking()), true).await;
        let standby = Disk::shared(kept, Arc::new(Memory::ticking()), false).await;
        let between = Arc::new(PairPaths::default());
        *between.active.lock() = Some(active.unit.clone());
        *between.others.lock() = vec![standby.unit.clone()];
        let config = |disk: &Disk| {
            let (accounts, login_guard) = (Arc::new(NoAccounts), Arc::default());
            let (targets, paths) = (vec![disk.target.clone()], Some(between.clone() as Arc<dyn Paths>));
            let config = Arc::new(TargetConfig { targets, accounts, own_secret: None, login_guard, paths });
            disk.target.join(&config);
            config
        };
        let configs = [config(&active), config(&standby)];
        Self { active, standby, between, _configs: configs }
    }

    /// The disk as a session at this port sees it.
    fn disk(&self, port: u16) -> &Disk {
        if port == 3 { &self.standby } else { &self.active }
    }

    /// PERSISTENT RESERVE OUT without APTPL: service action, type, two keys.
    async fn out(
        &self,
        (name, port): (&str, u16),
        (action, kind): (u8, u8),
        keys: [u8; 2],
        flags: u8,
    ) -> Result<(), CommandRefusal> {
        let mut list = [0; 24];
        [list[7], list[15]] = keys;
        list[20] = flags;
        let disk = self.disk(port);
        let done = disk.send(&nexus(name, port), &[0x5f, action, kind, 0, 0, 0, 0, 0, 24, 0], &list).await;
        done.map(drop)
    }

    async fn write(&self, name: &str, port: u16) -> Result<(), CommandRefusal> {
        self.disk(port).send(&nexus(name, port), &WRITE, &[1; 512]).await.map(drop)
    }

    /// READ FULL STATUS at a port: of each descriptor the key, ALL_TG_PT and R_HOLDER, and the target port.
    async fn status(&self, port: u16) -> Vec<(u8, u8, u8)> {
        full_status(self.disk(port), port).await
    }
}

async fn full_status(disk: &Disk, port: u16) -> Vec<(u8, u8, u8)> {
    let good = disk.send(&nexus(ADA, port), &[0x5e, 3, 0, 0, 0, 0, 0, 4, 0, 0], b"").await;
    let bytes = good.unwrap().bytes();
    let (mut rest, mut found) = (&bytes[8..], Vec::new());
    while !rest.is_empty() {
        found.push((rest[7], rest[12], rest[19])); // SPC-4 table 211
        rest = &rest[24 + usize::from(rest[23])..];
    }
    found
}

fn nexus(name: &str, port: u16) -> Arc<Nexus> {
    let initiator = InitiatorPort { name: name.into(), isid: [0x40, 0, 0, 0, 0, 1] };
    Arc::new(Nexus { initiator, host: [127, 0, 0, 1].into(), port })
}

/// SPC-4 5.13.1 and 5.13.7: a registration is that of an I_T nexus.
#[tokio::test]
async fn each_path_of_an_initiator_is_registered_by_itself_also_in_standby() {
    let two = ServerPair::new().await;
    two.out((ADA, 2), (REGISTER, 0), [0, 7], 0).await.unwrap();
    two.out((ADA, 3), (REGISTER, 0), [0, 7], 0).await.unwrap();
    assert_eq!(
        two.out((ADA, 3), (REGISTER, 0), [0, 8], 0).await,
        Err(CONFLICT),
        "the answer is relayed, too"
    );
    for port in [2, 3] {
        assert_eq!(two.status(port).await, [(7, 0, 2), (7, 0, 3)]);
    }
    two.out((ADA, 3), (RESERVE, 5), [7, 0], 0).await.unwrap(); // write exclusive, registrants only
    assert_eq!(two.status(2).await, [(7, 0, 2), (7, 1, 3)]);
    two.write(ADA, 2).await.unwrap();
    assert_eq!(two.write(ADA, 1).await, Err(CONFLICT), "not registered at port 1");
    assert_eq!(two.write(BOB, 2).await, Err(CONFLICT));
}

#[tokio::test]
async fn what_was_registered_in_standby_binds_at_the_next_server() {
    let two = ServerPair::new().await;
    for port in [2, 3] {
        two.out((ADA, port), (REGISTER, 0), [0, 7], 0).await.unwrap();
    }
    two.out((ADA, 3), (RESERVE, 1), [7, 0], 0).await.unwrap(); // write exclusive
    assert_eq!(two.write(ADA, 2).await, Err(CONFLICT), "port 3 is the holder");
    let next = Disk::shared(two.active.kept.clone(), Arc::new(Memory::ticking()), true).await;
    assert_eq!(full_status(&next, 3).await, [(7, 0, 2), (7, 1, 3)]);
    next.send(&nexus(ADA, 3), &WRITE, &[1; 512]).await.unwrap();
    let refused = next.send(&nexus(ADA, 1), &WRITE, &[1; 512]).await.unwrap_err();
    assert_eq!(refused, CONFLICT);
}

/// SPC-4 5.16.2.4: the state is in transition while no server answers.
#[tokio::test]
async fn without_an_answer_the_access_state_is_in_transition() {
    let two = ServerPair::new().await;
    *two.between.active.lock() = None;
    let refused = CommandRefusal::Check(Sense::new(Key::NOT_READY, Asc(0x04, 0x0a)));
    assert_eq!(two.out((ADA, 3), (REGISTER, 0), [0, 7], 0).await, Err(refused));
    *two.between.active.lock() = Some(two.standby.unit.clone()); // it does not serve it either
    assert_eq!(two.out((ADA, 3), (REGISTER, 0), [0, 7], 0).await, Err(refused));
    assert_eq!(two.status(2).await, []);
}

/// SPC-4 5.13.11.2.4: those that are preempted are told, wherever their sessions are.
#[tokio::test]
async fn unit_attentions_come_to_sessions_at_other_servers() {
    for port in [2, 3] {
        let two = ServerPair::new().await;
        let bob = nexus(BOB, 3);
        let _session = two.standby.session(&bob);
        two.out((BOB, 3), (REGISTER, 0), [0, 2], 0).await.unwrap();
        two.out((ADA, port), (REGISTER, 0), [0, 1], 0).await.unwrap();
        two.out((ADA, port), (PREEMPT, 1), [1, 2], 0).await.unwrap();
        assert_eq!(two.standby.unit.attentions.take(&bob), Some(Asc::REGISTRATIONS_PREEMPTED));
        assert_eq!(two.standby.unit.attentions.take(&bob), None);
    }
}

/// SPC-4 6.16.3, table 211.
#[tokio::test]
async fn all_target_ports_are_those_of_all_servers() {
    let two = ServerPair::new().await;
    two.out((ADA, 3), (REGISTER, 0), [0, 7], ALL_TG_PT).await.unwrap();
    assert_eq!(two.status(2).await, [(7, 2, 1)]);
    let keys = two.active.send(&nexus(ADA, 2), &[0x5e, 0, 0, 0, 0, 0, 0, 0, 255, 0], b"").await;
    assert_eq!(keys.unwrap().bytes().len(), 8 + 3 * 8, "a key for each I_T nexus, SPC-4 6.15.2");
    two.out((ADA, 2), (RESERVE, 1), [7, 0], 0).await.unwrap();
    assert_eq!(two.status(3).await, [(7, 0, 1), (7, 1, 2), (7, 0, 3)]);
    two.out((ADA, 1), (REGISTER, 0), [7, 0], 0).await.unwrap(); // unregisters this one
    assert_eq!(two.status(3).await, [(7, 1, 2), (7, 0, 3)]);
    // As if the request came through each port: that of port 1 has no key.
    assert_eq!(two.out((ADA, 2), (REGISTER, 0), [7, 8], ALL_TG_PT).await, Err(CONFLICT));
    two.out((ADA, 2), (6, 0), [0, 0], ALL_TG_PT).await.unwrap(); // ignores the keys, and unregisters all
    assert_eq!(two.status(3).await, []);
    two.write(BOB, 2).await.unwrap();
}

#[tokio::test]
async fn a_malformed_command_of_another_server_is_refused() {
    let two = ServerPair::new().await;
    let answer = two.active.unit.relayed(b"?", &[1]).await.unwrap().answer;
    let failed = Sense::new(Key::HARDWARE_ERROR, Asc::INTERNAL_TARGET_FAILURE);
    assert_eq!(Answer::decode(&answer), Ok(Answer::Check(failed)));
    two.standby.unit.attend(b"?");
}
