use super::bench::{ALL, bench, pass, v4};
use crate::server::outgoing::CallEndpoint;
use crate::server::testing::Outgoing;
use crate::wire::nlm::{NetObj, NlmStat, Procedure, Res, TestRequest};
use crate::wire::rpc::Outcome;
use crate::wire::xdr::{Decode, arguments};
use wire::Reader;

fn decoded<'a, T: Decode<'a>>(call: &'a Outgoing) -> T {
    arguments(&mut Reader::new(&call.arguments)).unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_message_has_an_empty_reply_and_is_answered_by_a_message() {
    let bench = bench().await;
    let answer = bench.one.call(v4(Procedure::LOCK_MSG), &ALL.request(&bench.handle)).await;
    assert_eq!((answer.outcome, answer.results), (Outcome::Success, Vec::new()));
    pass(1).await;
    let told = bench.told(Procedure::LOCK_RES);
    assert_eq!(told.len(), 1);
    assert_eq!(told[0].to, CallEndpoint::Tcp("192.0.2.1:4045".parse().unwrap()));
    let expected = Res { cookie: NetObj::new(b"cook"), stat: NlmStat::GRANTED };
    assert_eq!(decoded::<Res<'_>>(&told[0]), expected);
    assert_eq!(bench.lock(&bench.two, ALL).await, NlmStat::DENIED);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_waits_by_message_is_told_until_it_answers() {
    let bench = bench().await;
    bench.lock(&bench.one, ALL).await;
    bench.two.call(v4(Procedure::LOCK_MSG), &ALL.waiting().request(&bench.handle)).await;
    pass(1).await;
    assert_eq!(decoded::<Res<'_>>(&bench.told(Procedure::LOCK_RES)[0]).stat, NlmStat::BLOCKED);
    bench.unlock(&bench.one, ALL).await;
    pass(10).await;
    let told = bench.told(Procedure::GRANTED_MSG);
    assert!(told.len() > 1);
    let request: TestRequest<'_> = decoded(&told[0]);
    assert_eq!(request.lock, ALL.lock(&bench.handle));
    let res = Res { cookie: request.cookie, stat: NlmStat::GRANTED };
    let answer = bench.one.call(v4(Procedure::GRANTED_RES), &res).await; // another client's answer
    assert_eq!(answer.outcome, Outcome::Success);
    assert_eq!(bench.service.locks.blocked.len(), 1);
    bench.two.call(v4(Procedure::GRANTED_RES), &res).await;
    pass(600).await;
    assert_eq!(bench.service.locks.blocked.len(), 0);
    assert_eq!(bench.lock(&bench.one, ALL).await, NlmStat::DENIED);
    assert_eq!(bench.told(Procedure::GRANTED), []);
}

#[tokio::test]
async fn a_server_waits_for_nobodys_lock_and_takes_no_answers() {
    let bench = bench().await;
    let (cookie, lock) = (NetObj::new(b"cook"), ALL.lock(&bench.handle));
    let request = TestRequest { cookie, exclusive: true, lock };
    assert_eq!(bench.call(&bench.one, Procedure::GRANTED, &request).await, NlmStat::DENIED);
    for procedure in [Procedure::GRANTED_MSG, Procedure::TEST_RES, Procedure::LOCK_RES] {
        let answer = bench.one.call(v4(procedure), &request).await;
        assert_eq!((answer.outcome, answer.results), (Outcome::Success, Vec::new()));
    }
    for unknown in [16, 19, 24, 1000] {
        let answer = bench.one.call(v4(Procedure(unknown)), &request).await;
        assert_eq!(answer.outcome, Outcome::ProcUnavail);
    }
}

#[tokio::test]
async fn only_version_4_is_spoken() {
    let bench = bench().await;
    for version in [1, 3, 5] {
        let answer = bench.one.call_raw((100_021, version, 0), &[]).await.unwrap();
        assert_eq!(answer.outcome, Outcome::ProgMismatch { low: 4, high: 4 });
    }
}
