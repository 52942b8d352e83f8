//! PREEMPT and PREEMPT AND ABORT: SPC-4 table 72.

use super::*;

/// Ada, Bob and Eve are registered with 1, 2 and 2, and Ada has reserved.
async fn reserved(kind: u8) -> Cluster {
    let all = Cluster::new().await;
    all.register(&all.ada, 1).await;
    all.register(&all.bob, 2).await;
    all.register(&all.eve, 2).await;
    all.keys(&all.ada, RESERVE, kind, 1, 0).await.unwrap();
    all
}

#[tokio::test]
async fn the_key_of_the_holder_replaces_the_reservation() {
    for kind in [1, 3, 5, 6] {
        for new in TYPES {
            let all = reserved(kind).await;
            all.keys(&all.bob, PREEMPT, new, 2, 1).await.unwrap();
            assert_eq!(all.reserved().await, Some((if new >= 7 { 0 } else { 2 }, new)));
            assert_eq!(all.registered().await, [2, 2]);
            assert_eq!(all.told(&all.ada), [Asc::REGISTRATIONS_PREEMPTED]);
            assert_eq!(all.told(&all.bob), []);
            let told: &[Asc] = if new == kind { &[] } else { &[Asc::RESERVATIONS_RELEASED] };
            assert_eq!(all.told(&all.eve), told, "from {kind} to {new}");
            assert_eq!(all.generation().await, 4);
            assert_eq!(*all.ada.aborted.lock(), 0);
        }
    }
}

#[tokio::test]
async fn another_key_removes_registrations_and_nothing_else() {
    for kind in TYPES {
        let all = reserved(kind).await;
        all.keys(&all.ada, PREEMPT, 1, 1, 2).await.unwrap();
        assert_eq!(all.reserved().await, Some((if kind >= 7 { 0 } else { 1 }, kind)));
        assert_eq!(all.registered().await, [1]);
        assert_eq!(all.told(&all.bob), [Asc::REGISTRATIONS_PREEMPTED]);
        assert_eq!(all.told(&all.eve), [Asc::REGISTRATIONS_PREEMPTED]);
        assert_eq!(all.told(&all.ada), []);
        assert_eq!(all.keys(&all.ada, PREEMPT, 1, 1, 2).await.unwrap_err(), CONFLICT);
        assert_eq!(all.generation().await, 4);
    }
}

#[tokio::test]
async fn zero_means_all_others_where_all_hold_it() {
    for kind in [7, 8] {
        let all = reserved(kind).await;
        all.keys(&all.bob, PREEMPT, 3, 2, 0).await.unwrap();
        assert_eq!((all.reserved().await, all.registered().await), (Some((2, 3)), vec![2]));
        assert_eq!(all.told(&all.ada), [Asc::REGISTRATIONS_PREEMPTED]);
        assert_eq!(all.told(&all.eve), [Asc::REGISTRATIONS_PREEMPTED]);
        assert_eq!(all.told(&all.bob), []);
    }
    for kind in [1, 3, 5, 6] {
        let all = reserved(kind).await;
        let refused = all.keys(&all.bob, PREEMPT, 3, 2, 0).await.unwrap_err();
        assert_eq!(refused, check(Sense::in_parameters(8)));
    }
    let all = Cluster::new().await;
    all.register(&all.ada, 1).await;
    assert_eq!(all.keys(&all.ada, PREEMPT, 3, 1, 0).await.unwrap_err(), check(Sense::in_parameters(8)));
}

#[tokio::test]
async fn a_holder_may_preempt_itself_and_stays_registered() {
    let all = reserved(1).await;
    all.keys(&all.ada, PREEMPT, 6, 1, 1).await.unwrap();
    assert_eq!((all.reserved().await, all.registered().await), (Some((1, 6)), vec![1, 2, 2]));
    assert_eq!(all.told(&all.bob), [Asc::RESERVATIONS_RELEASED]);
    assert_eq!(all.told(&all.ada), []);
}

#[tokio::test]
async fn preempting_the_own_key_without_a_reservation_unregisters() {
    let all = reserved(1).await;
    all.keys(&all.bob, PREEMPT, 1, 2, 2).await.unwrap();
    assert_eq!((all.reserved().await, all.registered().await), (Some((1, 1)), vec![1]));
    assert_eq!(all.told(&all.eve), [Asc::REGISTRATIONS_PREEMPTED]);
    assert_eq!(all.told(&all.bob), []);
    // The last of the ports that all held it.
    let all = Cluster::new().await;
    all.register(&all.ada, 1).await;
    all.keys(&all.ada, RESERVE, 7, 1, 0).await.unwrap();
    all.keys(&all.ada, PREEMPT, 7, 1, 1).await.unwrap();
    assert_eq!((all.reserved().await, all.registered().await), (None, vec![]));
}

#[tokio::test]
async fn without_a_reservation_registrations_are_removed() {
    let all = Cluster::new().await;
    all.register(&all.ada, 1).await;
    all.register(&all.bob, 2).await;
    all.keys(&all.bob, PREEMPT, 3, 2, 1).await.unwrap();
    assert_eq!((all.reserved().await, all.registered().await), (None, vec![2]));
    assert_eq!(all.told(&all.ada), [Asc::REGISTRATIONS_PREEMPTED]);
}

#[tokio::test]
async fn preempt_and_abort_calls_off_the_commands_of_those_shut_out() {
    let both = [Asc::REGISTRATIONS_PREEMPTED, Asc::COMMANDS_CLEARED_BY_ANOTHER_INITIATOR];
    let all = reserved(5).await;
    all.keys(&all.bob, PREEMPT_AND_ABORT, 6, 2, 1).await.unwrap();
    assert_eq!(all.told(&all.ada), both);
    assert_eq!(all.told(&all.eve), [Asc::RESERVATIONS_RELEASED]);
    assert_eq!((*all.ada.aborted.lock(), *all.bob.aborted.lock(), *all.eve.aborted.lock()), (1, 0, 0));
    // Also ports without the reservation.
    let all = reserved(1).await;
    all.keys(&all.ada, PREEMPT_AND_ABORT, 1, 1, 2).await.unwrap();
    assert_eq!((all.told(&all.bob), all.told(&all.eve)), (both.to_vec(), both.to_vec()));
    assert_eq!((*all.ada.aborted.lock(), *all.bob.aborted.lock(), *all.eve.aborted.lock()), (0, 1, 1));
}

#[tokio::test]
async fn the_senders_own_commands_are_called_off_with_those_of_all_registrants_but_not_this_one() {
    let all = reserved(7).await;
    all.keys(&all.bob, PREEMPT_AND_ABORT, 7, 2, 0).await.unwrap();
    for host in [&all.ada, &all.bob, &all.eve] {
        assert_eq!(*host.aborted.lock(), 1);
    }
    assert!(*all.bob.spared.lock() && !*all.ada.spared.lock());
    assert_eq!(all.told(&all.bob), []);
    // SPC-4 5.13.11.2.6: regardless of the holder of the reservation.
    let all = reserved(1).await;
    all.keys(&all.bob, PREEMPT_AND_ABORT, 1, 2, 2).await.unwrap();
    assert_eq!((*all.ada.aborted.lock(), *all.bob.aborted.lock(), *all.eve.aborted.lock()), (0, 1, 1));
}
