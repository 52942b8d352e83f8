use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use parking_lot::Mutex;
use wire::Reader;

use super::{HostTable, InMemory, IndexHostTable, notify_hosts};
use crate::server::outgoing::CallEndpoint;
use crate::server::testing::{Client, Fake, Outgoing, encoded};
use crate::server::{Company, HandleSecret, LostServers, Service};
use crate::wire::nsm::{MonId, MonRequest, MyId, NotifyRequest, Procedure, Res, StatRequest, StatRes, State};
use crate::wire::rpc::Outcome;
use crate::wire::xdr::{Opaque, arguments};
use crate::wire::{nsm, portmap};

fn v1(procedure: Procedure) -> (u32, u32, u32) {
    (nsm::PROGRAM, 1, procedure.0)
}

fn service(network: Arc<Fake>, hosts: Arc<dyn HostTable>, epoch: u64) -> Arc<Service> {
    let grace = Duration::from_secs(45);
    let company = Company { network, hosts, epoch, grace, name: "server".into(), ..Company::default() };
    Service::in_company(Vec::new(), HandleSecret::new([1; 16]), SystemTime::UNIX_EPOCH, company)
}

fn alone() -> Client {
    Client::new(&service(Fake::silent(), Arc::new(InMemory::default()), 5))
}

async fn state(client: &Client) -> i32 {
    let id = MyId { my_name: Opaque::new(b"me"), my_prog: 1, my_vers: 1, my_proc: 1 };
    client.call(v1(Procedure::UNMON_ALL), &id).await.value::<State>().state
}

#[tokio::test]
async fn the_state_is_odd_and_another_one_in_each_life() {
    let mut seen = Vec::new();
    for epoch in [1, 2, 3, 1 << 21, (1 << 22) - 1] {
        let client = Client::new(&service(Fake::silent(), Arc::new(InMemory::default()), epoch));
        let state = state(&client).await;
        assert!(state > 0 && state % 2 == 1, "{state}"); // XNFS: even while it is down
        assert!(!seen.contains(&state));
        seen.push(state);
    }
}

#[tokio::test]
async fn it_is_nobody_elses_monitor() {
    let client = alone();
    let my_id = MyId { my_name: Opaque::new(b"me"), my_prog: 1, my_vers: 1, my_proc: 1 };
    let mon_id = MonId { mon_name: Opaque::new(b"them"), my_id };
    let answer = client.call(v1(Procedure::MON), &MonRequest { mon_id, private: [0; 16] }).await;
    assert_eq!(answer.value::<StatRes>().res, Res::STAT_FAIL);
    let answer = client.call(v1(Procedure::UNMON), &mon_id).await;
    assert_eq!(answer.value::<State>().state, state(&client).await);
    let answer = client.call(v1(Procedure::STAT), &StatRequest { mon_name: Opaque::new(b"them") }).await;
    assert_eq!(answer.value::<StatRes>().res, Res::STAT_FAIL);
}

#[tokio::test]
async fn stat_knows_who_holds_locks_by_name_and_by_address() {
    let client = alone();
    client.service.monitor.watch([192, 0, 2, 7].into(), b"seven").await.unwrap();
    for name in ["seven", "192.0.2.7"] {
        let request = StatRequest { mon_name: Opaque::new(name.as_bytes()) };
        let answer = client.call(v1(Procedure::STAT), &request).await;
        assert_eq!(answer.value::<StatRes>().res, Res::STAT_SUCC);
    }
}

#[tokio::test]
async fn only_this_host_may_simulate_a_crash() {
    let client = alone();
    let before = state(&client).await;
    let answer = client.call_raw(v1(Procedure::SIMU_CRASH), &[]).await.unwrap();
    assert_eq!((answer.outcome, state(&client).await), (Outcome::ProcUnavail, before));
    let answer = client.clone().at([127, 0, 0, 1]).call_raw(v1(Procedure::SIMU_CRASH), &[]).await.unwrap();
    assert_eq!(answer.outcome, Outcome::Success);
    let after = state(&client).await;
    assert!(after != before && after % 2 == 1);
}

/// Whether 192.0.2.1 answers, and 192.0.2.2 once `two_is_up` is set.
fn up(call: &Outgoing, two_is_up: &AtomicBool) -> Option<Vec<u8>> {
    let (CallEndpoint::Udp(to) | CallEndpoint::Tcp(to)) = &call.to else { return None };
    let there = to.ip().to_string() == "192.0.2.1" || two_is_up.load(Ordering::Relaxed);
    match call.procedure.0 {
        portmap::PROGRAM => there.then(|| encoded(&662u32)),
        _ => there.then(Vec::new),
    }
}

#[tokio::test(start_paused = true)]
async fn after_a_restart_each_former_host_is_told_until_it_hears() {
    let two_is_up = Arc::new(AtomicBool::new(false));
    let answers = two_is_up.clone();
    let network = Fake::new(move |call| up(call, &answers));
    let hosts = Arc::new(InMemory::default());
    hosts.add(b"192.0.2.1", b"one").unwrap();
    hosts.add(b"192.0.2.2", b"two").unwrap();
    hosts.add(b"not an address", b"").unwrap();
    let service = service(network.clone(), hosts.clone(), 5);
    let telling = service.clone();
    let telling = tokio::spawn(async move { notify_hosts(&telling).await });
    let told = |host: &str| -> Vec<(String, i32)> {
        let calls = network.calls().into_iter().filter(|call| {
            call.procedure == v1(Procedure::NOTIFY)
                && call.to == CallEndpoint::Udp(format!("{host}:662").parse().unwrap())
        });
        let decoded = calls.map(|call| {
            let request: NotifyRequest<'_> = arguments(&mut Reader::new(&call.arguments)).unwrap();
            (String::from_utf8(request.mon_name.to_vec()).unwrap(), request.state)
        });
        decoded.collect()
    };
    tokio::time::sleep(Duration::from_secs(1)).await;
    let state = service.monitor.state();
    let both_names = [("server".to_string(), state), ("192.0.2.200".to_string(), state)];
    assert_eq!(told("192.0.2.1"), both_names);
    assert_eq!(told("192.0.2.2"), []);
    two_is_up.store(true, Ordering::Relaxed);
    service.monitor.watch([192, 0, 2, 1].into(), b"one").await.unwrap(); // it takes a lock back
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert_eq!(told("192.0.2.1").len(), 2); // once is enough
    assert_eq!(told("192.0.2.2"), both_names);
    telling.await.unwrap();
    // A host that has locked nothing since then gets no notice after the next restart.
    assert!(!service.monitor.in_grace());
    let kept: Vec<_> = hosts.all().unwrap().into_iter().map(|(host, _)| host).collect();
    assert_eq!(kept, [&b"192.0.2.1"[..], b"not an address"]);
}

#[tokio::test(start_paused = true)]
async fn hosts_of_a_lost_server_are_told_by_its_names_and_with_a_later_state() {
    let two_is_up = AtomicBool::new(false);
    let network = Fake::new(move |call| up(call, &two_is_up));
    let service = service(network.clone(), Arc::new(InMemory::default()), 5);
    let before = service.monitor.state();
    let hosts = vec![(b"192.0.2.1".to_vec(), b"one".to_vec())];
    let names = vec![b"gate1".to_vec(), b"198.51.100.7".to_vec()];
    let lost = LostServers { hosts, names, epoch: 9, tells: true, ..LostServers::default() };
    service.take_over(&LostServers { tells: false, ..lost.clone() });
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(network.calls().len(), 0, "another server tells them");
    service.take_over(&lost);
    tokio::time::sleep(Duration::from_secs(1)).await;
    let calls = network.calls();
    let told = calls.iter().filter(|call| call.procedure == v1(Procedure::NOTIFY)).map(|call| {
        let request: NotifyRequest<'_> = arguments(&mut Reader::new(&call.arguments)).unwrap();
        assert!(request.state > before && request.state % 2 == 1);
        String::from_utf8(request.mon_name.to_vec()).unwrap()
    });
    assert_eq!(told.collect::<Vec<_>>(), ["gate1", "198.51.100.7", "192.0.2.200"]);
}

#[tokio::test(start_paused = true)]
async fn a_host_that_is_gone_for_good_is_not_told_for_ever() {
    let hosts = Arc::new(InMemory::default());
    hosts.add(b"192.0.2.9", b"nine").unwrap();
    let network = Fake::silent();
    let service = service(network.clone(), hosts.clone(), 5);
    notify_hosts(&service).await;
    assert_eq!(network.calls().len(), 2 * 6); // portmap by UDP and TCP, six times
    assert_eq!(hosts.all().unwrap(), []);
}

/// RFC 7530 9.6.2 lets the server choose the length; knfsd doubles it for clients that still reclaim.
#[tokio::test(start_paused = true)]
async fn the_grace_period_lasts_while_clients_reclaim_but_not_for_ever() {
    let hosts = Arc::new(InMemory::default());
    hosts.add(b"192.0.2.1", b"one").unwrap();
    let service = service(Fake::silent(), hosts, 5);
    let (monitor, start) = (&service.monitor, tokio::time::Instant::now());
    let period = monitor.period;
    tokio::time::sleep(period - Duration::from_secs(1)).await;
    monitor.note_reclaim();
    tokio::time::sleep(Duration::from_millis(1500)).await;
    assert!(monitor.in_grace());
    while monitor.in_grace() {
        monitor.note_reclaim();
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    assert!(start.elapsed() >= 2 * period && start.elapsed() < 2 * period + Duration::from_secs(2));
    monitor.note_reclaim();
    assert!(!monitor.in_grace());
    monitor.grace_ended().await;
}

/// A table on a disk that fails.
struct FailingTable(Mutex<u32>);

impl HostTable for FailingTable {
    fn add(&self, _: &[u8], _: &[u8]) -> io::Result<()> {
        *self.0.lock() += 1;
        Err(io::ErrorKind::StorageFull.into())
    }

    fn remove(&self, _: &[u8]) -> io::Result<()> {
        Err(io::ErrorKind::StorageFull.into())
    }

    fn all(&self) -> io::Result<Vec<(Vec<u8>, Vec<u8>)>> {
        Err(io::ErrorKind::StorageFull.into())
    }
}

#[tokio::test]
async fn a_host_that_cannot_be_remembered_is_not_watched() {
    let table = Arc::new(FailingTable(Mutex::new(0)));
    let service = service(Fake::silent(), table.clone(), 5);
    let host = [192, 0, 2, 7].into();
    assert_eq!(service.monitor.watch(host, b"seven").await, Err(()));
    assert_eq!(service.monitor.watch(host, b"seven").await, Err(())); // a second call tries again
    assert_eq!(*table.0.lock(), 2);
}

#[tokio::test]
async fn hosts_are_kept_in_the_index_of_the_state_folder() {
    let folder = tempfile::tempdir().unwrap();
    {
        let index = vfs::index::Index::open(folder.path()).unwrap();
        let service = service(
            Fake::silent(),
            Arc::new(IndexHostTable::new(index.clone()).unwrap()),
            index.boot_epoch(),
        );
        assert!(!service.monitor.in_grace());
        service.monitor.watch([192, 0, 2, 7].into(), b"seven").await.unwrap();
    }
    let index = vfs::index::Index::open(folder.path()).unwrap();
    let service =
        service(Fake::silent(), Arc::new(IndexHostTable::new(index.clone()).unwrap()), index.boot_epoch());
    assert!(service.monitor.in_grace());
    assert!(service.monitor.may_reclaim([192, 0, 2, 7].into()));
}
