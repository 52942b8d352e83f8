//! Delegations that clients wait for, RFC 8881 18.16.3, 18.49, 20.5 and 20.7.

use std::time::Duration;

use super::delegations::{Calls, callable, give_back, two};
use super::*;
use crate::wire::v4::types::Status;

/// OPEN4_SHARE_ACCESS_WANT_SIGNAL_DELEG_WHEN_RESRC_AVAIL and _PUSH_DELEG_WHEN_UNCONTENDED.
const SIGNAL: u32 = 0x1_0000;
const PUSH: u32 = 0x2_0000;

/// WANT_DELEGATION by CLAIM_FH: what follows SEQUENCE and PUTFH.
async fn wants(session: &Session, handle: &[u8], what: u32) -> Vec<u8> {
    let put = [words(&[22]), opaque(handle)].concat();
    let (status, reply) = session.later(&[put, words(&[56, what, 4])]).await;
    assert_eq!((status, &reply[..16]), (0, &words(&[22, 0, 56, 0])[..]));
    reply[16..].to_vec()
}

/// The calls after CB_NULL: the number of the second operation of each, after CB_SEQUENCE, and its arguments.
fn called(calls: &Calls) -> Vec<(u32, Vec<u8>)> {
    let operation = |call: &[u8]| u32::from_be_bytes(call[56..60].try_into().unwrap());
    calls.lock()[1..].iter().map(|(_, call)| (operation(call), call[60..].to_vec())).collect()
}

async fn pass(seconds: u64) {
    tokio::time::sleep(Duration::from_secs(seconds)).await;
}

#[tokio::test(start_paused = true)]
async fn a_delegation_is_pushed_when_no_other_client_uses_the_file() {
    let (one, other) = two(&client_1());
    let (holder, calls) = callable(&one, b"holder", Status::OK).await;
    let rival = Session::of(&other, b"rival", 1);
    let (state, handle) = rival.opened(b"o", (3, 0), b"plan");
    // OPEN4_NONE_EXT, WND4_CONTENTION, and whether a delegation is pushed later.
    assert_eq!(wants(&holder, &handle, 0x100).await, words(&[3, 1, 0]));
    assert_eq!(wants(&holder, &handle, 0x100 | SIGNAL).await, words(&[3, 1, 0]));
    assert_eq!(wants(&holder, &handle, 0x100 | PUSH).await, words(&[3, 1, 1]));
    pass(3).await;
    assert_eq!(called(&calls), [], "it is open for writing");
    assert_eq!(rival.at(&handle, &[close_1(&state)]).0, 0);
    pass(3).await;
    let [(7, pushed)] = &called(&calls)[..] else { panic!("CB_PUSH_DELEG once") };
    // CB_PUSH_DELEG4args: the handle, OPEN_DELEGATE_READ, the stateid, not recalled, an entry that allows no user anything.
    let at = opaque(&handle).len();
    assert_eq!(pushed[..at], opaque(&handle));
    assert_eq!((&pushed[at..at + 4], &pushed[at + 20..]), (&words(&[1])[..], &words(&[0, 0, 0, 0, 0])[..]));
    let state = pushed[at + 4..at + 20].to_vec();
    assert_eq!(holder.at(&handle, &[read_1(&state)]).0, 0);
    // It is one like others: an OPEN for writing recalls it.
    let open = open_1(b"o", (2, 0), &words(&[0]), b"plan");
    assert_eq!(rival.later(&[words(&[24]), look_up(b"docs"), open]).await.0, 10008);
    assert_eq!(called(&calls)[1].0, 4);
    assert_eq!(holder.at(&handle, &[give_back(&state)]).0, 0);
}

#[tokio::test(start_paused = true)]
async fn an_open_waits_for_a_delegation_until_the_client_cancels_it() {
    let (one, other) = two(&client_1());
    let (holder, calls) = callable(&one, b"holder", Status::OK).await;
    let rival = Session::of(&other, b"rival", 1);
    let (state, handle) = rival.opened(b"o", (3, 0), b"plan");
    let opened = |access: u32| {
        let open = open_1(b"o", (access, 0), &words(&[0]), b"plan");
        let holder = &holder;
        async move { holder.later(&[words(&[24]), look_up(b"docs"), open]).await.1 }
    };
    let none = |why: &[u32]| words(&[&[3], why].concat());
    assert!(opened(1 | 0x100 | PUSH).await.ends_with(&none(&[1, 1])));
    assert!(opened(1 | 0x500).await.ends_with(&none(&[7])), "WND4_CANCELLED");
    assert_eq!(rival.at(&handle, &[close_1(&state)]).0, 0);
    pass(3).await;
    assert_eq!(called(&calls), []);
}

#[tokio::test(start_paused = true)]
async fn a_client_may_take_a_pushed_delegation_later_or_not_at_all() {
    for (answer, again) in [(Status::DELAY, true), (Status::REJECT_DELEG, false), (Status::NOTSUPP, false)] {
        let (one, other) = two(&client_1());
        let (holder, calls) = callable(&one, b"holder", answer).await;
        let rival = Session::of(&other, b"rival", 1);
        let (state, handle) = rival.opened(b"o", (3, 0), b"plan");
        assert_eq!(wants(&holder, &handle, 0x100 | PUSH).await, words(&[3, 1, 1]));
        assert_eq!(rival.at(&handle, &[close_1(&state)]).0, 0);
        pass(5).await;
        let pushed = called(&calls);
        assert!(pushed.iter().all(|(operation, _)| *operation == 7));
        assert_eq!(pushed.len() > 1, again, "{answer:?}");
        // It holds none: an OPEN for writing recalls nothing.
        assert_eq!(rival.opened(b"o", (3, 0), b"plan").1, handle);
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_is_told_when_there_are_delegations_again() {
    let (one, other) = two(&client_1());
    let (holder, calls) = callable(&one, b"holder", Status::OK).await;
    let rival = Session::of(&other, b"rival", 1);
    let mut held = Vec::new();
    for number in 0..64 {
        let name = format!("file {number}");
        let (state, handle) = rival.opened(b"o", (3, 0), name.as_bytes());
        assert_eq!(rival.at(&handle, &[close_1(&state)]).0, 0);
        let reply = wants(&holder, &handle, 0x100).await;
        assert_eq!(reply[..4], words(&[1]), "{name}");
        held.push((reply[4..20].to_vec(), handle));
        tokio::task::yield_now().await; // tokio lets no task go on for ever
    }
    let (state, handle) = rival.opened(b"o", (3, 0), b"plan");
    assert_eq!(rival.at(&handle, &[close_1(&state)]).0, 0);
    // OPEN4_NONE_EXT, WND4_RESOURCE, and whether the client is told later.
    assert_eq!(wants(&holder, &handle, 0x100).await, words(&[3, 2, 0]));
    assert_eq!(wants(&holder, &handle, 0x100 | PUSH).await, words(&[3, 2, 0]));
    assert_eq!(wants(&holder, &handle, 0x100 | SIGNAL).await, words(&[3, 2, 1]));
    // GET_DIR_DELEGATION with gdda_signal_deleg_avail: GDD4_UNAVAIL.
    let folder = words(&[46, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    let (_, reply) = holder.later(&[words(&[24]), look_up(b"docs"), folder]).await;
    assert_eq!(reply[16..], words(&[46, 0, 1, 1]));
    for (state, handle) in held.drain(..3) {
        assert_eq!(holder.at(&handle, &[give_back(&state)]).0, 0);
    }
    pass(3).await;
    assert_eq!(called(&calls), [], "a few are not worth a call");
    let (state, of) = held.pop().unwrap();
    assert_eq!(holder.at(&of, &[give_back(&state)]).0, 0);
    pass(3).await;
    // CB_RECALLABLE_OBJ_AVAIL4args: how many, and the kinds: to read, to write, of folders.
    assert_eq!(called(&calls), [(9, words(&[4, 1, 0b111]))]);
    assert_eq!(wants(&holder, &handle, 0x100).await[..4], words(&[1]));
    pass(3).await;
    assert_eq!(called(&calls).len(), 1);
}
