//! RESERVE and RELEASE of SPC-2, and RESERVE, RELEASE and CLEAR of SPC-4.

use super::*;

const RESERVE_6: &[u8] = &[0x16, 0, 0, 0, 0, 0];
const RELEASE_6: &[u8] = &[0x17, 0, 0, 0, 0, 0];
const RESERVE_10: &[u8] = &[0x56, 0, 0, 0, 0, 0, 0, 0, 0, 0];
const RELEASE_10: &[u8] = &[0x57, 0, 0, 0, 0, 0, 0, 0, 0, 0];

#[tokio::test]
async fn a_unit_is_reserved_for_one_until_that_one_releases_it() {
    for (reserve, release) in [(RESERVE_6, RELEASE_6), (RESERVE_10, RELEASE_10)] {
        let all = Cluster::new().await;
        all.disk.send(&all.ada.nexus, reserve, b"").await.unwrap();
        all.disk.send(&all.ada.nexus, reserve, b"").await.unwrap();
        assert_eq!(all.disk.send(&all.bob.nexus, reserve, b"").await.unwrap_err(), CONFLICT);
        all.disk.send(&all.bob.nexus, release, b"").await.unwrap();
        assert_eq!(all.disk.send(&all.bob.nexus, reserve, b"").await.unwrap_err(), CONFLICT);
        all.disk.send(&all.ada.nexus, release, b"").await.unwrap();
        all.disk.send(&all.bob.nexus, reserve, b"").await.unwrap();
    }
}

#[tokio::test]
async fn the_end_of_the_session_and_resets_end_it() {
    let all = Cluster::new().await;
    let reservations = &all.disk.unit.reservations;
    all.disk.send(&all.ada.nexus, RESERVE_6, b"").await.unwrap();
    reservations.nexus_lost(&all.bob.nexus.initiator);
    assert_eq!(all.disk.send(&all.bob.nexus, RESERVE_6, b"").await.unwrap_err(), CONFLICT);
    reservations.nexus_lost(&all.ada.nexus.initiator);
    all.disk.send(&all.bob.nexus, RESERVE_6, b"").await.unwrap();
    reservations.reset();
    all.disk.send(&all.ada.nexus, RESERVE_6, b"").await.unwrap();
}

#[tokio::test]
async fn what_is_obsolete_in_reserve_is_refused() {
    let all = Cluster::new().await;
    for (cdb, byte) in [
        (&[0x16, 0x10, 0, 0, 0, 0][..], 1),
        (&[0x17, 0x01, 0, 0, 0, 0], 1),
        (&[0x16, 0, 0, 0, 1, 0], 3),
        (&[0x56, 0, 0, 0, 0, 0, 0, 0, 8, 0], 7),
    ] {
        let refused = all.disk.send(&all.ada.nexus, cdb, b"").await.unwrap_err();
        assert_eq!(refused, check(Sense::in_cdb(byte)), "{cdb:02x?}");
    }
}

#[tokio::test]
async fn with_registrations_reserve_does_nothing_for_those_who_may_write_spc_4_5_13_3() {
    for kind in TYPES {
        let all = Cluster::new().await;
        all.register(&all.ada, 1).await;
        all.register(&all.bob, 2).await;
        for cdb in [RESERVE_6, RELEASE_6] {
            // SPC-2 5.5.1: an initiator is registered, and nothing is reserved.
            assert_eq!(all.disk.send(&all.ada.nexus, cdb, b"").await.unwrap_err(), CONFLICT);
        }
        all.keys(&all.ada, RESERVE, kind, 1, 0).await.unwrap();
        for cdb in [RESERVE_6, RELEASE_6, RESERVE_10, RELEASE_10] {
            all.disk.send(&all.ada.nexus, cdb, b"").await.unwrap();
            assert_eq!(all.disk.send(&all.bob.nexus, cdb, b"").await.is_ok(), kind >= 5, "type {kind}");
            assert_eq!(all.disk.send(&all.eve.nexus, cdb, b"").await.unwrap_err(), CONFLICT);
        }
        assert_eq!(all.reserved().await.map(|(_, kind)| kind), Some(kind));
        all.keys(&all.bob, CLEAR, 0, 2, 0).await.unwrap();
        all.disk.send(&all.eve.nexus, RESERVE_6, b"").await.unwrap();
    }
}

#[tokio::test]
async fn a_holder_may_reserve_the_same_again_and_nothing_else() {
    for kind in TYPES {
        let all = Cluster::new().await;
        all.register(&all.ada, 1).await;
        assert_eq!(all.keys(&all.ada, RESERVE, kind, 2, 0).await.unwrap_err(), CONFLICT); // another key
        all.keys(&all.ada, RESERVE, kind, 1, 0).await.unwrap();
        all.keys(&all.ada, RESERVE, kind, 1, 0).await.unwrap();
        for other in TYPES.into_iter().filter(|other| *other != kind) {
            assert_eq!(all.keys(&all.ada, RESERVE, other, 1, 0).await.unwrap_err(), CONFLICT);
            let refused = all.keys(&all.ada, RELEASE, other, 1, 0).await.unwrap_err();
            assert_eq!(refused, check(Sense::illegal(Asc::INVALID_RELEASE_OF_PERSISTENT_RESERVATION)));
        }
        // SPC-4 5.13.10: a reservation of all registrants has the key zero.
        assert_eq!(all.reserved().await, Some((if kind >= 7 { 0 } else { 1 }, kind)));
        assert_eq!(all.generation().await, 1); // RESERVE does not count, SPC-4 table 213
    }
}

#[tokio::test]
async fn a_release_is_told_to_those_who_shared_it() {
    for kind in TYPES {
        let all = Cluster::new().await;
        all.register(&all.ada, 1).await;
        all.register(&all.bob, 2).await;
        all.keys(&all.ada, RESERVE, kind, 1, 0).await.unwrap();
        all.keys(&all.ada, RELEASE, kind, 1, 0).await.unwrap();
        assert_eq!(all.reserved().await, None);
        assert_eq!(all.registered().await, [1, 2]);
        let told: &[Asc] = if kind >= 5 { &[Asc::RESERVATIONS_RELEASED] } else { &[] };
        assert_eq!(all.told(&all.bob), told, "type {kind}");
        assert_eq!(all.told(&all.ada), []);
        assert_eq!(all.told(&all.eve), []);
        all.keys(&all.ada, RELEASE, kind, 1, 0).await.unwrap(); // nothing is reserved
    }
}

#[tokio::test]
async fn clear_removes_all_and_tells_the_others() {
    let all = Cluster::new().await;
    all.register(&all.ada, 1).await;
    all.register(&all.bob, 2).await;
    all.keys(&all.ada, RESERVE, 3, 1, 0).await.unwrap();
    all.keys(&all.bob, CLEAR, 0x2f, 2, 9).await.unwrap(); // scope and type are ignored
    assert_eq!((all.reserved().await, all.registered().await), (None, vec![]));
    assert_eq!(all.told(&all.ada), [Asc::RESERVATIONS_PREEMPTED]);
    assert_eq!((all.told(&all.bob), all.told(&all.eve)), (vec![], vec![]));
    assert_eq!(all.generation().await, 3);
    assert_eq!(all.keys(&all.bob, CLEAR, 0, 2, 0).await.unwrap_err(), CONFLICT);
}

#[tokio::test]
async fn there_is_no_other_scope_and_no_other_type() {
    let all = Cluster::new().await;
    all.register(&all.ada, 1).await;
    for action in [RESERVE, RELEASE, PREEMPT, PREEMPT_AND_ABORT, REPLACE_LOST] {
        for wrong in [0x13, 0x21, 0x00, 0x02, 0x04, 0x09, 0x0f] {
            let cdb = [0x5f, action, wrong, 0, 0, 0, 0, 0, 24, 0];
            let refused = all.disk.send(&all.ada.nexus, &cdb, b"").await.unwrap_err();
            assert_eq!(refused, check(Sense::in_cdb(2)), "action {action}, {wrong:02x}");
        }
    }
}

#[tokio::test]
async fn other_service_actions_are_invalid_fields() {
    let all = Cluster::new().await;
    for (opcode, first) in [(0x5e, 4), (0x5f, 9)] {
        for action in first..0x20 {
            let cdb = [opcode, action, 1, 0, 0, 0, 0, 0, 24, 0];
            let refused = all.disk.send(&all.ada.nexus, &cdb, b"").await.unwrap_err();
            assert_eq!(refused, check(Sense::in_cdb(1)), "{cdb:02x?}");
        }
    }
}
