use std::sync::Arc;

use super::bench::{ALL, Bench, bench, pass, superuser, v4, volume};
use crate::server::HostTable;
use crate::server::testing::{Client, TAG};
use crate::wire::nlm::{FreeAllRequest, NlmStat, Procedure};
use crate::wire::nsm::{self, NotifyRequest};
use crate::wire::rpc::Outcome;
use crate::wire::xdr::Opaque;

async fn notify(client: &Client, state: i32) {
    let request = NotifyRequest { mon_name: Opaque::new(b"client"), state };
    let notify = (nsm::PROGRAM, 1, nsm::Procedure::NOTIFY.0);
    let answer = client.call(notify, &request).await;
    assert_eq!((answer.outcome, answer.results), (Outcome::Success, Vec::new()));
}

fn kept(bench: &Bench) -> Vec<String> {
    let all = bench.hosts.all().unwrap();
    all.into_iter().map(|(host, _)| String::from_utf8(host).unwrap()).collect()
}

#[tokio::test(start_paused = true)]
async fn a_host_that_locks_is_remembered_for_the_next_life() {
    let bench = bench().await;
    assert_eq!(bench.test(&bench.one, ALL).await, NlmStat::GRANTED);
    assert_eq!(kept(&bench), [""; 0]);
    assert_eq!(bench.lock(&bench.one, ALL).await, NlmStat::GRANTED);
    assert_eq!(bench.hosts.all().unwrap(), [(b"192.0.2.1".to_vec(), b"client".to_vec())]);
    let unmonitored = ALL.range(0, 0).by(3).request(&bench.handle);
    assert_eq!(bench.call(&bench.two, Procedure::NM_LOCK, &unmonitored).await, NlmStat::DENIED);
    assert_eq!(kept(&bench), ["192.0.2.1"]);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_has_restarted_holds_and_waits_for_nothing() {
    let bench = bench().await;
    bench.lock(&bench.one, ALL.range(0, 10)).await;
    bench.lock(&bench.one, ALL.by(2).range(20, 10)).await;
    bench.lock(&bench.two, ALL.range(50, 1)).await;
    bench.lock(&bench.one, ALL.range(50, 1).waiting()).await;
    assert_eq!(bench.lock(&bench.two, ALL.range(0, 1).waiting()).await, NlmStat::BLOCKED);
    notify(&bench.one.clone().on_port(1023).datagram(), 7).await;
    pass(1).await;
    assert_eq!(bench.totals(), (2, 0));
    assert_eq!(bench.told(Procedure::GRANTED).len(), 1);
    assert_eq!(bench.service.locks.blocked.len(), 0);
    assert_eq!(kept(&bench), ["192.0.2.2"]);
    assert_eq!(bench.lock(&bench.two, ALL).await, NlmStat::GRANTED);
}

#[tokio::test(start_paused = true)]
async fn a_notice_of_the_state_in_which_a_client_locked_is_late() {
    let bench = bench().await;
    let mut ask = ALL;
    ask.state = 7;
    bench.lock(&bench.one, ask).await;
    notify(&bench.one, 7).await;
    assert_eq!(bench.totals().0, 1);
    notify(&bench.one, 9).await;
    assert_eq!(bench.totals().0, 0);
    notify(&bench.two, 9).await; // a host without locks
}

#[tokio::test(start_paused = true)]
async fn free_all_is_the_notice_of_a_client_without_a_monitor() {
    let bench = bench().await;
    bench.lock(&bench.one, ALL.range(0, 1)).await;
    bench.lock(&bench.two, ALL.range(1, 1)).await;
    let request = FreeAllRequest { name: Opaque::new(b"client"), state: 0 };
    let answer = bench.one.call(v4(Procedure::FREE_ALL), &request).await;
    assert_eq!((answer.outcome, answer.results), (Outcome::Success, Vec::new()));
    assert_eq!(bench.totals().0, 1);
    assert_eq!(bench.lock(&bench.two, ALL.range(0, 2)).await, NlmStat::GRANTED);
}

/// A disk that was removed can only be unmounted when nothing of it is held.
#[tokio::test(start_paused = true)]
async fn nothing_is_kept_of_an_export_that_is_gone() {
    let bench = bench().await;
    assert_eq!(bench.lock(&bench.one, ALL).await, NlmStat::GRANTED);
    assert_eq!(bench.lock(&bench.two, ALL.waiting()).await, NlmStat::BLOCKED);
    let key = {
        let volume = volume(&bench.service);
        let root = volume.root().unwrap();
        volume.lookup(&superuser().caller, &root.object, b"file").unwrap().object.key()
    };
    let (locks, weak) = (&bench.service.locks, Arc::downgrade(&volume(&bench.service)));
    assert!(locks.files.node(TAG, key).is_some());
    bench.service.set_exports(Vec::new());
    pass(1).await;
    assert!(locks.files.node(TAG, key).is_none());
    assert_eq!(weak.strong_count(), 0);
    assert_eq!(locks.blocked.len(), 0);
    assert!(bench.told(Procedure::GRANTED).is_empty());
    assert_eq!(bench.test(&bench.two, ALL).await, NlmStat::STALE_FH);
}
