use super::bench::{ALL, bench, pass, v4};
use crate::server::outgoing::CallEndpoint;
use crate::server::testing::Outgoing;
use crate::wire::nlm::{NlmStat, Procedure, TestRequest};
use crate::wire::xdr::arguments;
use wire::Reader;

fn granted(call: &Outgoing) -> TestRequest<'_> {
    arguments(&mut Reader::new(&call.arguments)).unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_waiting_client_is_told_of_its_lock() {
    let bench = bench().await;
    assert_eq!(bench.lock(&bench.one, ALL.range(0, 100)).await, NlmStat::GRANTED);
    assert_eq!(bench.lock(&bench.two, ALL.by(9).range(50, 10).waiting()).await, NlmStat::BLOCKED);
    pass(60).await;
    assert_eq!(bench.told(Procedure::GRANTED), []);
    assert_eq!(bench.unlock(&bench.one, ALL.range(0, 100)).await, NlmStat::GRANTED);
    pass(1).await;
    let told = bench.told(Procedure::GRANTED);
    assert_eq!(told.len(), 1);
    // The port comes from the client's portmapper. The lock is named as the client named it.
    assert_eq!(told[0].to, CallEndpoint::Tcp("192.0.2.2:4045".parse().unwrap()));
    assert_eq!(told[0].procedure, v4(Procedure::GRANTED));
    let request = granted(&told[0]);
    assert!(request.exclusive);
    assert_eq!(request.lock, ALL.by(9).range(50, 10).lock(&bench.handle));
    assert_eq!(bench.lock(&bench.one, ALL).await, NlmStat::DENIED);
    pass(600).await;
    assert_eq!(bench.told(Procedure::GRANTED).len(), 1);
    assert_eq!((bench.totals(), bench.service.locks.blocked.len()), ((1, 0), 0));
}

#[tokio::test(start_paused = true)]
async fn a_request_that_is_asked_again_waits_once() {
    let bench = bench().await;
    bench.lock(&bench.one, ALL).await;
    for _ in 0..5 {
        assert_eq!(bench.lock(&bench.two, ALL.waiting()).await, NlmStat::BLOCKED);
        pass(10).await;
    }
    assert_eq!(bench.totals(), (1, 1));
    bench.unlock(&bench.one, ALL).await;
    pass(1).await;
    assert_eq!(bench.told(Procedure::GRANTED).len(), 1);
    assert_eq!(bench.lock(&bench.two, ALL.waiting()).await, NlmStat::GRANTED);
}

#[tokio::test(start_paused = true)]
async fn the_first_to_wait_is_the_first_to_get() {
    let bench = bench().await;
    bench.lock(&bench.one, ALL.shared()).await;
    assert_eq!(bench.lock(&bench.two, ALL.waiting()).await, NlmStat::BLOCKED);
    // Later requests for shared locks do not starve this client.
    assert_eq!(bench.lock(&bench.one, ALL.by(2).shared().waiting()).await, NlmStat::BLOCKED);
    bench.unlock(&bench.one, ALL).await;
    pass(1).await;
    let told = bench.told(Procedure::GRANTED);
    assert_eq!(told.len(), 1);
    assert_eq!(granted(&told[0]).lock.svid, 1);
    bench.unlock(&bench.two, ALL).await;
    pass(1).await;
    assert_eq!(granted(&bench.told(Procedure::GRANTED)[1]).lock.svid, 2);
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_wait_ends() {
    let bench = bench().await;
    bench.lock(&bench.one, ALL).await;
    assert_eq!(bench.cancel(&bench.two, ALL).await, NlmStat::DENIED); // it does not wait
    assert_eq!(bench.lock(&bench.two, ALL.waiting()).await, NlmStat::BLOCKED);
    assert_eq!(bench.cancel(&bench.two, ALL.range(0, 1)).await, NlmStat::DENIED); // not for this
    assert_eq!(bench.cancel(&bench.two, ALL).await, NlmStat::GRANTED);
    bench.unlock(&bench.one, ALL).await;
    pass(60).await;
    assert_eq!(bench.told(Procedure::GRANTED), []);
    assert_eq!((bench.totals(), bench.service.locks.blocked.len()), ((0, 0), 0));
}

#[tokio::test(start_paused = true)]
async fn a_lock_cancelled_before_its_client_heard_of_it_is_given_back() {
    let bench = bench().await;
    *bench.says.lock() = None;
    bench.lock(&bench.one, ALL).await;
    bench.lock(&bench.two, ALL.waiting()).await;
    bench.unlock(&bench.one, ALL).await;
    pass(2).await;
    assert_eq!(bench.totals(), (1, 0)); // granted, and the client does not answer
    assert_eq!(bench.cancel(&bench.two, ALL).await, NlmStat::GRANTED);
    assert_eq!(bench.totals(), (0, 0));
    let calls = bench.told(Procedure::GRANTED).len();
    pass(600).await;
    assert_eq!(bench.told(Procedure::GRANTED).len(), calls);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_does_not_want_the_lock_does_not_keep_it_from_others() {
    let bench = bench().await;
    *bench.says.lock() = Some(NlmStat::DENIED);
    bench.lock(&bench.one, ALL).await;
    bench.lock(&bench.two, ALL.waiting()).await;
    bench.unlock(&bench.one, ALL).await;
    pass(1).await;
    assert_eq!(bench.told(Procedure::GRANTED).len(), 1);
    assert_eq!((bench.totals(), bench.service.locks.blocked.len()), ((0, 0), 0));
}

#[tokio::test(start_paused = true)]
async fn a_client_that_never_answers_is_asked_a_few_times_and_then_loses_the_lock() {
    let bench = bench().await;
    *bench.says.lock() = None;
    bench.lock(&bench.one, ALL).await;
    bench.lock(&bench.two, ALL.waiting()).await;
    bench.unlock(&bench.one, ALL).await;
    pass(20).await;
    assert_eq!(bench.lock(&bench.one, ALL).await, NlmStat::DENIED);
    pass(100).await;
    assert_eq!(bench.told(Procedure::GRANTED).len(), 6);
    assert_eq!(bench.lock(&bench.one, ALL).await, NlmStat::GRANTED);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_asks_again_for_what_it_got_has_heard_of_it() {
    let bench = bench().await;
    *bench.says.lock() = None;
    bench.lock(&bench.one, ALL).await;
    bench.lock(&bench.two, ALL.waiting()).await;
    bench.unlock(&bench.one, ALL).await;
    pass(2).await;
    assert_eq!(bench.lock(&bench.two, ALL.waiting()).await, NlmStat::GRANTED);
    pass(600).await;
    assert_eq!(bench.lock(&bench.one, ALL).await, NlmStat::DENIED);
}
