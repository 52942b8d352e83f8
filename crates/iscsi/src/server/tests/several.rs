//! A server of a cluster: the ports of its targets, and initiators whose disk moves to another server or comes from one.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use vfs::backend::memory::Memory;

use crate::server::scsi::testing::Disk;
use crate::server::target::TargetLun;
use crate::server::testing::{Initiator, ScsiResult, Server, Way as Data};
use crate::server::{AccessState, Paths, RelayFuture, TargetPort, Way};
use crate::wire::pdu::Opcode;
use crate::wire::scsi::{Asc, Status};

const ADA: &str = "iqn.2026-11.test:ada";
const READY: [u8; 6] = [0; 6];
const WRITE: [u8; 10] = [0x2a, 0, 0, 0, 0, 0, 0, 0, 1, 0];
const ELSEWHERE: ([u8; 4], u16) = ([192, 0, 2, 50], 3260);

/// Port 1 at a virtual address, which is elsewhere, port 2 at this server, and port 3 at another one.
struct Cluster {
    way: Mutex<Way>,
    active: Mutex<u16>,
}

impl Cluster {
    fn new(way: Way) -> Arc<Self> {
        Arc::new(Self { way: Mutex::new(way), active: Mutex::new(3) })
    }
}

impl Paths for Cluster {
    fn port(&self, _: IpAddr) -> u16 {
        2
    }

    fn portals(&self, _: &str, local: SocketAddr) -> Vec<(SocketAddr, u16)> {
        vec![(local, 2), (([192, 0, 2, 8], 3260).into(), 3)]
    }

    fn ports(&self, _: &str) -> Vec<TargetPort> {
        let active = *self.active.lock();
        let own = |number| {
            let access = if number == active { AccessState::Active } else { AccessState::Standby };
            TargetPort { number, access }
        };
        vec![TargetPort { number: 1, access: AccessState::Active }, own(2), own(3)]
    }

    fn way(&self, _: &str, _: IpAddr) -> Way {
        *self.way.lock()
    }

    fn relay<'a>(&'a self, _: &'a str, _: u64, _: Vec<u8>) -> RelayFuture<'a> {
        Box::pin(std::future::ready(None))
    }

    fn tell(&self, _: u64, _: Vec<u8>) {}
}

async fn read(ada: &mut Initiator, cdb: &[u8]) -> Vec<u8> {
    let ended = ada.command(cdb, Data::In(255)).await;
    assert_eq!(ended.status, Status::GOOD, "{cdb:02x?}");
    ended.data
}

fn told(ended: &ScsiResult) -> Option<Asc> {
    ended.sense.map(|sense| sense.asc)
}

/// SPC-4 6.37, 7.8.6 and 7.8.14; RFC 7143 4.4.1: a port has one number everywhere.
#[tokio::test]
async fn initiators_learn_of_the_ports_and_groups_of_all_servers() {
    let server = Server::new().await;
    server.join(Cluster::new(Way::Here));
    let mut ada = server.log_in(ADA).await;
    let groups = read(&mut ada, &[0xa3, 0x0a, 0, 0, 0, 0, 0, 0, 0, 255, 0, 0]).await;
    let expected = [
        &[0, 0, 0, 36][..],
        &[0x00, 5, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1], // active and optimised; AO_SUP and S_SUP
        &[0x02, 5, 0, 2, 0, 0, 0, 1, 0, 0, 0, 2], // standby
        &[0x00, 5, 0, 3, 0, 0, 0, 1, 0, 0, 0, 3],
    ];
    assert_eq!(groups, expected.concat());
    let names = read(&mut ada, &[0x12, 1, 0x83, 0, 255, 0]).await;
    let has = |part: &[u8]| names.windows(part.len()).any(|window| window == part);
    assert!(has(b"\x51\x94\x00\x04\x00\x00\x00\x02") && has(b"\x51\x95\x00\x04\x00\x00\x00\x02"));
    assert!(has(b"iqn.2026-11.test:disk,t,0x0002\0"));
    let ports = read(&mut ada, &[0x12, 1, 0x88, 0, 255, 0]).await;
    assert_eq!(ports.len(), 4 + 3 * 48);
    assert_eq!([ports[7], ports[7 + 48], ports[7 + 96]], [1, 2, 3]);
    assert_eq!(read(&mut ada, &[0x12, 0, 0, 0, 255, 0]).await[6] & 0x10, 0x10); // MULTIP
}

/// RFC 7143 11.13.5 and 13.8: the portal group is omitted.
#[tokio::test]
async fn an_initiator_is_sent_to_the_address_of_its_disk() {
    let server = Server::new().await;
    server.join(Cluster::new(Way::Elsewhere(ELSEWHERE.into())));
    let mut ada = server.connect();
    ada.name = ADA.into();
    let (header, text) = ada.login_request("", 0, 1);
    ada.send(header, text.as_bytes()).await;
    let response = ada.receive().await;
    assert_eq!(response.head.opcode, Opcode::LOGIN_RESPONSE);
    assert_eq!(response.header[36..38], [1, 1]);
    assert_eq!(response.data, b"TargetAddress=192.0.2.50:3260\0");
    assert!(ada.is_ended().await);
    assert!(server.service.sessions().is_empty());
}

#[tokio::test]
async fn a_login_waits_for_a_disk_that_is_about_to_be_served() {
    let (server, cluster) = (Server::new().await, Cluster::new(Way::Soon));
    server.join(cluster.clone());
    let mut ada = server.connect();
    ada.name = ADA.into();
    let (header, text) = ada.login_request("", 0, 1);
    ada.send(header, text.as_bytes()).await;
    assert!(ada.hears_nothing().await);
    *cluster.way.lock() = Way::Here;
    assert_eq!(ada.receive().await.header[36..38], [0, 0]);
    assert_eq!(server.service.sessions().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_login_does_not_wait_for_ever() {
    let server = Server::new().await;
    server.join(Cluster::new(Way::Soon));
    let mut ada = server.connect();
    ada.name = ADA.into();
    let (header, text) = ada.login_request("", 0, 1);
    ada.send(header, text.as_bytes()).await;
    tokio::time::sleep(Duration::from_secs(11)).await;
    assert_eq!(ada.receive().await.header[36..38], [3, 1]); // service unavailable
}

#[tokio::test]
async fn a_session_whose_disk_has_moved_to_another_address_ends() {
    let (server, cluster) = (Server::new().await, Cluster::new(Way::Here));
    server.join(cluster.clone());
    let _ada = server.log_in(ADA).await;
    server.join(cluster.clone());
    assert_eq!(server.service.sessions().len(), 1);
    *cluster.way.lock() = Way::Elsewhere(ELSEWHERE.into());
    server.join(cluster);
    assert!(server.service.sessions().is_empty());
}

/// SPC-4 5.16.2.3: implicit transitions between access states are told to every nexus.
#[tokio::test]
async fn initiators_are_told_when_their_server_begins_or_ceases_to_serve_a_disk() {
    let server = Server::new().await;
    let policy = server.target.policy();
    let (kept, memory) = (Arc::default(), || Arc::new(Memory::ticking()));
    let [standby, active] =
        [Disk::shared(Arc::clone(&kept), memory(), false).await, Disk::shared(kept, memory(), true).await];
    let show = |disk: &Disk| {
        let lun = TargetLun { number: 0, unit: disk.unit.clone(), initiators: vec![], readers: vec![] };
        server.target.set(policy.clone(), vec![lun]);
    };
    show(&standby);
    server.join(Cluster::new(Way::Here));
    let mut ada = server.log_in(ADA).await;
    assert_eq!(told(&ada.command(&WRITE, Data::Out(&[1; 512])).await), Some(Asc::PORT_IN_STANDBY_STATE));
    show(&active);
    assert_eq!(told(&ada.command(&READY, Data::Nothing).await), Some(Asc::ASYMMETRIC_ACCESS_STATE_CHANGED));
    assert_eq!(ada.command(&WRITE, Data::Out(&[1; 512])).await.status, Status::GOOD);
    show(&standby);
    assert_eq!(told(&ada.command(&READY, Data::Nothing).await), Some(Asc::ASYMMETRIC_ACCESS_STATE_CHANGED));
    assert_eq!(told(&ada.command(&READY, Data::Nothing).await), Some(Asc::PORT_IN_STANDBY_STATE));
    // It moves between other servers.
    standby.unit.access_changed();
    assert_eq!(told(&ada.command(&READY, Data::Nothing).await), Some(Asc::ASYMMETRIC_ACCESS_STATE_CHANGED));
}
