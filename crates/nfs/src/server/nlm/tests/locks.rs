use super::bench::{ALL, bench, bench_after, file, pass, superuser, v4, volume};
use crate::server::export::Rule;
use crate::server::testing::{Client, SHARE, TAG};
use crate::server::{Export, ExportOptions};
use crate::wire::nlm::{Holder, NetObj, NlmStat, Procedure, TestReply, TestRequest, TestRes};
use crate::wire::xdr::Encode;
use vfs::Kind;
use vfs::backend::NewKind;

#[tokio::test]
async fn an_exclusive_lock_keeps_everybody_else_out_and_shared_ones_go_together() {
    let bench = bench().await;
    assert_eq!(bench.lock(&bench.one, ALL.range(0, 10)).await, NlmStat::GRANTED);
    for (client, ask) in [(&bench.two, ALL), (&bench.two, ALL.shared()), (&bench.one, ALL.by(2).shared())] {
        assert_eq!(bench.lock(client, ask.range(9, 1)).await, NlmStat::DENIED);
        assert_eq!(bench.lock(client, ask.range(10, 1)).await, NlmStat::GRANTED);
        assert_eq!(bench.unlock(client, ask.range(10, 1)).await, NlmStat::GRANTED);
    }
    // The owner's last request.
    assert_eq!(bench.lock(&bench.one, ALL.shared().range(0, 10)).await, NlmStat::GRANTED);
    assert_eq!(bench.lock(&bench.two, ALL.shared().range(0, 10)).await, NlmStat::GRANTED);
    assert_eq!(bench.lock(&bench.one, ALL.range(0, 10)).await, NlmStat::DENIED);
}

#[tokio::test]
async fn a_length_of_0_reaches_to_the_end_and_any_part_may_be_unlocked() {
    let bench = bench().await;
    assert_eq!(bench.lock(&bench.one, ALL.range(100, 0)).await, NlmStat::GRANTED);
    assert_eq!(bench.lock(&bench.two, ALL.range(u64::MAX, 1)).await, NlmStat::DENIED);
    assert_eq!(bench.unlock(&bench.one, ALL.range(200, 100)).await, NlmStat::GRANTED);
    assert_eq!(bench.lock(&bench.two, ALL.range(200, 100)).await, NlmStat::GRANTED);
    assert_eq!(bench.lock(&bench.two, ALL.range(300, 1)).await, NlmStat::DENIED);
    assert_eq!(bench.totals().0, 3);
    assert_eq!(bench.unlock(&bench.one, ALL).await, NlmStat::GRANTED);
    assert_eq!(bench.totals().0, 1);
    assert_eq!(bench.unlock(&bench.one, ALL).await, NlmStat::GRANTED); // no mistake
}

#[tokio::test]
async fn a_range_past_the_last_offset_is_too_big() {
    let bench = bench().await;
    assert_eq!(bench.lock(&bench.one, ALL.range(u64::MAX, 2)).await, NlmStat::FBIG);
    assert_eq!(bench.lock(&bench.one, ALL.range(1, u64::MAX)).await, NlmStat::GRANTED);
}

#[tokio::test]
async fn test_names_who_is_in_the_way() {
    let bench = bench().await;
    assert_eq!(bench.lock(&bench.one, ALL.by(77).range(5, 0)).await, NlmStat::GRANTED);
    let lock = ALL.range(0, 6).lock(&bench.handle);
    let request = TestRequest { cookie: NetObj::new(b"cook"), exclusive: false, lock };
    let answer = bench.two.call(v4(Procedure::TEST), &request).await;
    let owner = NetObj::new(b"owner");
    let holder = Holder { exclusive: true, svid: 77, owner, offset: 5, len: 0 };
    let expected = TestRes { cookie: NetObj::new(b"cook"), reply: TestReply::Denied(holder) };
    assert_eq!(answer.value::<TestRes<'_>>(), expected);
    assert_eq!(bench.test(&bench.two, ALL.range(0, 5)).await, NlmStat::GRANTED);
    assert_eq!(bench.test(&bench.one, ALL.by(77)).await, NlmStat::GRANTED);
}

#[tokio::test]
async fn handles_are_judged_as_by_nfs() {
    let mut bench = bench().await;
    let root = bench.one.mount("/share").await.unwrap();
    let good = std::mem::replace(&mut bench.handle, root);
    assert_eq!(bench.lock(&bench.one, ALL).await, NlmStat::FAILED); // a folder
    for bad in [&b""[..], b"x", &[0; 64], &[0; 1000], &good[..good.len() - 1]] {
        bench.handle = bad.to_vec();
        assert_eq!(bench.lock(&bench.one, ALL).await, NlmStat::STALE_FH);
        assert_eq!(bench.test(&bench.one, ALL).await, NlmStat::STALE_FH);
        assert_eq!(bench.unlock(&bench.one, ALL).await, NlmStat::STALE_FH);
        assert_eq!(bench.cancel(&bench.one, ALL).await, NlmStat::STALE_FH);
    }
}

#[tokio::test]
async fn sharing_needs_permission_to_read_and_excluding_to_write_but_the_owner_may() {
    let mut bench = bench().await;
    let other = bench.one.clone().user(2000);
    assert_eq!(bench.lock(&other, ALL).await, NlmStat::FAILED);
    assert_eq!(bench.lock(&other, ALL.shared()).await, NlmStat::GRANTED);
    bench.handle = file(&bench.service, &bench.one, "secret", 0).await;
    assert_eq!(bench.lock(&other, ALL.shared()).await, NlmStat::FAILED);
    assert_eq!(bench.lock(&bench.one, ALL).await, NlmStat::GRANTED);
}

#[tokio::test]
async fn where_nothing_may_be_written_nothing_is_locked_exclusively() {
    let bench = bench().await;
    let rules = vec![Rule { writable: false, ..Rule::everybody() }];
    let options = ExportOptions { rules, ..ExportOptions::default() };
    let export = Export { name: SHARE.into(), tag: TAG, volume: volume(&bench.service), options };
    bench.service.set_exports(vec![export]);
    assert_eq!(bench.lock(&bench.one, ALL).await, NlmStat::ROFS);
    assert_eq!(bench.lock(&bench.one, ALL.shared()).await, NlmStat::GRANTED);
}

#[tokio::test(start_paused = true)]
async fn in_the_grace_period_only_former_hosts_lock_and_only_what_they_had() {
    let bench = bench_after(&["192.0.2.1"]).await;
    assert_eq!(bench.lock(&bench.one, ALL).await, NlmStat::DENIED_GRACE_PERIOD);
    assert_eq!(bench.test(&bench.one, ALL).await, NlmStat::DENIED_GRACE_PERIOD);
    assert_eq!(bench.lock(&bench.two, ALL).await, NlmStat::DENIED_GRACE_PERIOD);
    assert_eq!(bench.lock(&bench.two, ALL.reclaimed()).await, NlmStat::DENIED_GRACE_PERIOD);
    assert_eq!(bench.lock(&bench.one, ALL.reclaimed()).await, NlmStat::GRANTED);
    pass(46).await;
    assert_eq!(bench.lock(&bench.two, ALL).await, NlmStat::DENIED);
    assert_eq!(bench.unlock(&bench.one, ALL).await, NlmStat::GRANTED);
    assert_eq!(bench.lock(&bench.one, ALL.reclaimed()).await, NlmStat::DENIED_GRACE_PERIOD);
    assert_eq!(bench.lock(&bench.two, ALL).await, NlmStat::GRANTED);
}

#[tokio::test]
async fn without_former_hosts_there_is_no_grace_period() {
    let bench = bench().await;
    assert_eq!(bench.lock(&bench.one, ALL.reclaimed()).await, NlmStat::DENIED_GRACE_PERIOD);
    assert_eq!(bench.lock(&bench.one, ALL).await, NlmStat::GRANTED);
}

#[tokio::test]
async fn a_file_removed_while_it_is_locked_keeps_its_number_until_it_is_unlocked() {
    let mut bench = bench().await;
    let volume = volume(&bench.service);
    assert_eq!(bench.lock(&bench.one, ALL).await, NlmStat::GRANTED);
    let (root, by) = (volume.root().unwrap(), superuser());
    volume.remove(&by, &root, b"file", Kind::File).unwrap();
    let made = volume.create(&by, &root, b"new", NewKind::File, 0o666).unwrap();
    assert!(volume.state().quiet(made.found.object.id()));
    assert_eq!(bench.unlock(&bench.one, ALL).await, NlmStat::GRANTED);
    assert_eq!(bench.totals(), (0, 0));
    assert_eq!(bench.unlock(&bench.one, ALL).await, NlmStat::STALE_FH);
    bench.handle = file(&bench.service, &bench.one, "again", 0o666).await;
    assert_eq!(bench.lock(&bench.two, ALL).await, NlmStat::GRANTED);
}

#[tokio::test]
async fn a_call_that_comes_twice_is_done_once() {
    let bench = bench().await;
    let once = |procedure: Procedure, arguments: &dyn Fn(&mut wire::Writer)| {
        let header = crate::wire::rpc::CallHeader {
            xid: 0xFFFF_0000 + procedure.0,
            program: crate::wire::nlm::PROGRAM,
            version: 4,
            procedure: procedure.0,
            credential: crate::wire::rpc::Credential::None,
            verifier: crate::wire::rpc::AuthFlavor::AUTH_NONE,
        };
        let mut w = wire::Writer::new();
        header.encode(&mut w);
        arguments(&mut w);
        bytes::Bytes::from(w.into_bytes())
    };
    let shared = ALL.shared().request(&bench.handle);
    let lock = once(Procedure::LOCK, &|w| shared.encode(w));
    let first = bench.one.send(lock.clone()).await.unwrap();
    assert_eq!(bench.totals().0, 1);
    let nobody: Client = bench.one.clone().nobody();
    assert_eq!(bench.unlock(&nobody, ALL).await, NlmStat::GRANTED);
    assert_eq!(bench.one.send(lock).await.unwrap(), first); // late
    assert_eq!(bench.totals().0, 0);
}

#[tokio::test]
async fn a_sidecar_is_locked_apart_from_its_file() {
    let mut bench = bench().await;
    let named = crate::server::handle::HandleContent::open(&bench.service.secret, &bench.handle).unwrap();
    let view = crate::server::handle::HandleView::Sidecar;
    let sidecar = crate::server::handle::HandleContent { view, ..named }.seal(&bench.service.secret);
    assert_eq!(bench.lock(&bench.one, ALL).await, NlmStat::GRANTED);
    let file = std::mem::replace(&mut bench.handle, sidecar.as_bytes().to_vec());
    assert_eq!(bench.lock(&bench.two, ALL.shared()).await, NlmStat::GRANTED);
    assert_eq!(bench.lock(&bench.one, ALL).await, NlmStat::DENIED);
    assert_eq!(bench.unlock(&bench.two, ALL).await, NlmStat::GRANTED);
    assert_eq!(bench.lock(&bench.one, ALL).await, NlmStat::GRANTED);
    bench.handle = file;
    assert_eq!(bench.unlock(&bench.one, ALL).await, NlmStat::GRANTED);
    assert_eq!(bench.totals(), (1, 0));
}
