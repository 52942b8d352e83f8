//! The commands that each initiator may send: SPC-4 tables 65 and 66, SPC-2 table 9.

use super::*;
use crate::server::scsi::Conflict;

const HOLDER: usize = 0;
const REGISTERED: usize = 1;
const STRANGER: usize = 2;

/// SPC-4 table 65: the type, then whether the holder, a registered and an unregistered initiator
/// may read and write.
const TABLE_65: [(u8, [(bool, bool); 3]); 6] = [
    (1, [(true, true), (true, false), (true, false)]),
    (3, [(true, true), (false, false), (false, false)]),
    (5, [(true, true), (true, true), (true, false)]),
    (6, [(true, true), (true, true), (false, false)]),
    (7, [(true, true), (true, true), (true, false)]),
    (8, [(true, true), (true, true), (false, false)]),
];

#[tokio::test]
async fn reading_and_writing_are_allowed_as_in_spc_4_table_65() {
    for (kind, rows) in TABLE_65 {
        let all = Cluster::new().await;
        all.register(&all.ada, 1).await;
        all.register(&all.bob, 2).await;
        all.keys(&all.ada, RESERVE, kind, 1, 0).await.unwrap();
        for who in [HOLDER, REGISTERED, STRANGER] {
            let host = [&all.ada, &all.bob, &all.eve][who];
            let may =
                |conflict, cdb: &[u8]| all.disk.unit.reservations.check(&host.nexus, conflict, cdb).is_ok();
            let (reads, writes) = rows[who];
            assert_eq!(may(Conflict::Reads, &[]), reads, "type {kind}, {who} reads");
            assert_eq!(may(Conflict::Writes, &[]), writes, "type {kind}, {who} writes");
            assert!(may(Conflict::Never, &[]), "type {kind}, {who}");
            assert!(may(Conflict::Reserve, &[]), "type {kind}, {who}: TEST UNIT READY");
            assert!(may(Conflict::Persistent, &[]), "type {kind}, {who}: PERSISTENT RESERVE IN");
            assert!(may(Conflict::START_STOP, &[0x1b, 0, 0, 0, 0x01, 0]), "type {kind}, {who} starts");
            assert_eq!(may(Conflict::START_STOP, &[0x1b, 0, 0, 0, 0x00, 0]), writes, "{kind}, {who} stops");
            assert_eq!(may(Conflict::START_STOP, &[0x1b, 0, 0, 0, 0x21, 0]), writes, "{kind}, {who} idles");
            assert!(may(Conflict::PREVENT_ALLOW, &[0x1e, 0, 0, 0, 0, 0]), "type {kind}, {who} allows");
            assert_eq!(
                may(Conflict::PREVENT_ALLOW, &[0x1e, 0, 0, 0, 1, 0]),
                writes,
                "{kind}, {who} prevents"
            );
        }
    }
}

#[tokio::test]
async fn service_actions_are_allowed_as_in_spc_4_table_66() {
    for kind in TYPES {
        for (action, from_registered) in [
            (CLEAR, true),
            (PREEMPT, true),
            (PREEMPT_AND_ABORT, true),
            (REGISTER, true),
            (REGISTER_AND_IGNORE, true),
            (MOVE, false),
            (RELEASE, true),
            (RESERVE, false),
        ] {
            let all = Cluster::new().await;
            all.register(&all.ada, 1).await;
            all.register(&all.bob, 2).await;
            all.keys(&all.ada, RESERVE, kind, 1, 0).await.unwrap();
            let list = |key| {
                let mut list = basic(key, 2, 0);
                if action == MOVE {
                    let id = transport_id(&all.eve.nexus.initiator);
                    list[19] = 1;
                    list[23] = id.len() as u8;
                    list.extend(id);
                }
                list
            };
            // Another type than the reserved one: all registered initiators hold a reservation of
            // type "all registrants".
            let other = if kind == 1 { 3 } else { 1 };
            let key = if action == REGISTER { 0 } else { 2 };
            let stranger = all.out(&all.eve, action, other, &list(key)).await;
            let is_for_anybody = [REGISTER, REGISTER_AND_IGNORE].contains(&action);
            assert_eq!(
                stranger.is_ok(),
                is_for_anybody,
                "type {kind}, action {action} by an unregistered initiator"
            );
            let registered = all.out(&all.bob, action, kind, &list(2)).await;
            let holds_it = kind >= 7 && action == RESERVE;
            assert_eq!(registered.is_ok(), from_registered || holds_it, "type {kind}, action {action}");
        }
    }
}

#[tokio::test]
async fn release_by_another_initiator_than_the_holder_changes_nothing() {
    for kind in [1, 3, 5, 6] {
        let all = Cluster::new().await;
        all.register(&all.ada, 1).await;
        all.register(&all.bob, 2).await;
        all.keys(&all.ada, RESERVE, kind, 1, 0).await.unwrap();
        all.keys(&all.bob, RELEASE, kind, 2, 0).await.unwrap();
        assert_eq!(all.reserved().await, Some((1, kind)));
    }
}

#[tokio::test]
async fn what_reserve_has_reserved_conflicts_as_in_spc_2_table_9() {
    let all = Cluster::new().await;
    let may = |host: &Host, conflict, cdb: &[u8]| {
        all.disk.unit.reservations.check(&host.nexus, conflict, cdb).is_ok()
    };
    all.disk.send(&all.ada.nexus, &[0x16, 0, 0, 0, 0, 0], b"").await.unwrap();
    for conflict in [Conflict::Reserve, Conflict::Reads, Conflict::Writes] {
        assert!(may(&all.ada, conflict, &[]) && !may(&all.bob, conflict, &[]), "{conflict:?}");
    }
    assert!(may(&all.bob, Conflict::Never, &[]));
    assert!(may(&all.bob, Conflict::PREVENT_ALLOW, &[0x1e, 0, 0, 0, 0, 0]));
    assert!(!may(&all.bob, Conflict::PREVENT_ALLOW, &[0x1e, 0, 0, 0, 1, 0]));
    // SPC-2 5.5.1: regardless of the initiator.
    for host in [&all.ada, &all.bob] {
        assert_eq!(all.keys(host, REGISTER, 0, 0, 1).await.unwrap_err(), CONFLICT);
        let refused = all.disk.send(&host.nexus, &[0x5e, 0, 0, 0, 0, 0, 0, 0, 8, 0], b"").await;
        assert_eq!(refused.unwrap_err(), CONFLICT);
    }
}
