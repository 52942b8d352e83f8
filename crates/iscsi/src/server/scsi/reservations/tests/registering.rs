//! REGISTER, REGISTER AND IGNORE EXISTING KEY: SPC-4 tables 67 and 68; PERSISTENT RESERVE IN.

use super::*;

/// REGISTER with SPEC_I_PT.
fn naming(key: u64, action_key: u64, ports: &[&Host]) -> Vec<u8> {
    let ids: Vec<u8> = ports.iter().flat_map(|host| transport_id(&host.nexus.initiator)).collect();
    let mut list = basic(key, action_key, 0x08);
    list.extend((ids.len() as u32).to_be_bytes());
    list.extend(ids);
    list
}

#[tokio::test]
async fn register_behaves_as_in_spc_4_table_67() {
    let all = Cluster::new().await;
    // On an unregistered nexus.
    all.keys(&all.ada, REGISTER, 0, 0, 0).await.unwrap();
    assert_eq!((all.generation().await, all.registered().await), (0, vec![]));
    assert_eq!(all.keys(&all.ada, REGISTER, 0, 9, 1).await.unwrap_err(), CONFLICT);
    all.keys(&all.ada, REGISTER, 0, 0, 1).await.unwrap();
    assert_eq!((all.generation().await, all.registered().await), (1, vec![1]));
    // On a registered nexus.
    for wrong in [0, 9] {
        assert_eq!(all.keys(&all.ada, REGISTER, 0, wrong, 2).await.unwrap_err(), CONFLICT);
    }
    let refused = all.out(&all.ada, REGISTER, 0, &naming(1, 2, &[])).await.unwrap_err();
    assert_eq!(refused, check(Sense::in_parameters(20)));
    all.keys(&all.ada, REGISTER, 0, 1, 2).await.unwrap();
    assert_eq!(all.registered().await, [2]);
    all.keys(&all.ada, REGISTER, 0, 2, 0).await.unwrap();
    assert_eq!((all.generation().await, all.registered().await), (3, vec![]));
}

#[tokio::test]
async fn register_and_ignore_existing_key_behaves_as_in_spc_4_table_68() {
    let all = Cluster::new().await;
    all.keys(&all.ada, REGISTER_AND_IGNORE, 0, 9, 0).await.unwrap();
    assert_eq!((all.generation().await, all.registered().await), (0, vec![]));
    all.keys(&all.ada, REGISTER_AND_IGNORE, 0, 9, 1).await.unwrap();
    all.keys(&all.ada, REGISTER_AND_IGNORE, 0, 9, 2).await.unwrap();
    assert_eq!((all.generation().await, all.registered().await), (2, vec![2]));
    let refused = all.out(&all.ada, REGISTER_AND_IGNORE, 0, &naming(0, 3, &[&all.bob])).await.unwrap_err();
    assert_eq!(refused, check(Sense::in_parameters(20)));
    all.keys(&all.ada, REGISTER_AND_IGNORE, 0, 9, 0).await.unwrap();
    assert_eq!((all.generation().await, all.registered().await), (3, vec![]));
}

#[tokio::test]
async fn other_initiator_ports_are_registered_all_or_none() {
    let all = Cluster::new().await;
    all.out(&all.ada, REGISTER, 0, &naming(0, 5, &[&all.bob])).await.unwrap();
    assert_eq!((all.registered().await, all.generation().await), (vec![5, 5], 1));
    let refused = all.out(&all.eve, REGISTER, 0, &naming(0, 6, &[&all.bob])).await.unwrap_err();
    assert_eq!(refused, check(Sense::in_parameters(28)));
    assert_eq!(all.registered().await, [5, 5]);
    all.keys(&all.bob, REGISTER, 0, 5, 0).await.unwrap();
    assert_eq!(all.registered().await, [5]);
}

#[tokio::test]
async fn lists_of_transport_ids_that_lie_are_refused() {
    let all = Cluster::new().await;
    let good = naming(0, 5, &[&all.bob]);
    let mut too_long = good.clone();
    too_long.push(0);
    let mut truncated = good.clone();
    truncated[27] -= 4;
    for list in [&too_long[..], &truncated, &good[..24], &good[..27], &good[..good.len() - 4]] {
        let refused = all.out(&all.ada, REGISTER, 0, list).await.unwrap_err();
        assert_eq!(refused, check(Sense::illegal(Asc::PARAMETER_LIST_LENGTH_ERROR)));
    }
    let mut another_protocol = good.clone();
    another_protocol[28] = 0x46;
    let mut without_isid = basic(0, 5, 0x08);
    without_isid.extend([0, 0, 0, 24]);
    without_isid.extend(b"\x05\0\0\x14iqn.2026-11.a:b\0\0\0\0\0");
    for list in [&another_protocol, &without_isid] {
        let refused = all.out(&all.ada, REGISTER, 0, list).await.unwrap_err();
        assert_eq!(refused, check(Sense::in_parameters(28)));
    }
    assert_eq!(all.registered().await, []);
}

#[tokio::test]
async fn a_parameter_list_has_24_bytes_spc_4_6_16_1() {
    let all = Cluster::new().await;
    let error = check(Sense::illegal(Asc::PARAMETER_LIST_LENGTH_ERROR));
    for action in 0..9 {
        let cdb = [0x5f, action, 1, 0, 0, 0, 0, 0, 23, 0];
        assert_eq!(all.disk.send(&all.ada.nexus, &cdb, b"").await.unwrap_err(), error);
        let cdb = [0x5f, action, 1, 0, 0, 0xff, 0, 0, 24, 0];
        assert_eq!(all.disk.send(&all.ada.nexus, &cdb, b"").await.unwrap_err(), error);
        if action != MOVE {
            let longer = [basic(0, 1, 0), vec![0; 8]].concat();
            assert_eq!(all.out(&all.ada, action, 1, &longer).await.unwrap_err(), error, "action {action}");
        }
        if action != MOVE && action != REGISTER {
            let refused = all.out(&all.ada, action, 1, &naming(0, 1, &[&all.bob])).await.unwrap_err();
            assert_eq!(refused, check(Sense::in_parameters(20)), "action {action}");
        }
    }
}

#[tokio::test]
async fn more_than_can_be_registered_is_refused_as_a_whole() {
    let all = Cluster::new().await;
    let mut host = 0u16;
    let mut many = |count: usize, action_key| {
        let mut ids = Vec::new();
        for _ in 0..count {
            host += 1;
            let isid = [0x80, 0, 0, 0, (host >> 8) as u8, host as u8];
            ids.extend(transport_id(&InitiatorPort { name: "iqn.2026-11.a:b".into(), isid }));
        }
        let mut list = basic(0, action_key, 0x08);
        list.extend((ids.len() as u32).to_be_bytes());
        list.extend(ids);
        list
    };
    all.out(&all.ada, REGISTER, 0, &many(1000, 1)).await.unwrap();
    let refused = all.out(&all.bob, REGISTER, 0, &many(23, 2)).await.unwrap_err();
    assert_eq!(refused, check(Sense::illegal(Asc::INSUFFICIENT_REGISTRATION_RESOURCES)));
    assert_eq!(all.registered().await.len(), 1001);
    all.out(&all.bob, REGISTER, 0, &many(22, 2)).await.unwrap();
    let refused = all.keys(&all.eve, REGISTER, 0, 0, 3).await.unwrap_err();
    assert_eq!(refused, check(Sense::illegal(Asc::INSUFFICIENT_REGISTRATION_RESOURCES)));
}

#[tokio::test]
async fn a_new_key_changes_nothing_of_what_is_reserved() {
    let all = Cluster::new().await;
    all.register(&all.ada, 1).await;
    all.keys(&all.ada, RESERVE, 1, 1, 0).await.unwrap();
    all.keys(&all.ada, REGISTER, 0, 1, 4).await.unwrap();
    assert_eq!(all.reserved().await, Some((4, 1)));
}

#[tokio::test]
async fn unregistering_releases_the_reservation_spc_4_5_13_11_2_3() {
    for kind in TYPES {
        let all = Cluster::new().await;
        all.register(&all.ada, 1).await;
        all.register(&all.bob, 2).await;
        all.keys(&all.ada, RESERVE, kind, 1, 0).await.unwrap();
        all.keys(&all.ada, REGISTER, 0, 1, 0).await.unwrap();
        let still = (kind >= 7).then_some((0, kind));
        assert_eq!(all.reserved().await, still, "type {kind}");
        let told: &[Asc] = if kind == 5 || kind == 6 { &[Asc::RESERVATIONS_RELEASED] } else { &[] };
        assert_eq!(all.told(&all.bob), told, "type {kind}");
        all.keys(&all.bob, REGISTER, 0, 2, 0).await.unwrap();
        assert_eq!(all.reserved().await, None, "the last registered port");
    }
}

#[tokio::test]
async fn full_status_says_who_holds_what() {
    let all = Cluster::new().await;
    all.out(&all.ada, REGISTER, 0, &basic(0, 1, 0x04)).await.unwrap(); // ALL_TG_PT
    all.register(&all.bob, 2).await;
    all.keys(&all.bob, RESERVE, 6, 2, 0).await.unwrap();
    let status = all.read(3).await;
    let ada = transport_id(&all.ada.nexus.initiator);
    let mut expected = vec![0, 0, 0, 1, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, ada.len() as u8];
    expected.extend(&ada);
    expected.extend([0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 1, 6, 0, 0, 0, 0, 0, 1, 0, 0, 0, ada.len() as u8]);
    expected.extend(transport_id(&all.bob.nexus.initiator));
    assert_eq!(status[12..], expected);
    all.keys(&all.bob, RELEASE, 6, 2, 0).await.unwrap();
    all.keys(&all.bob, RESERVE, 8, 2, 0).await.unwrap();
    let status = all.read(3).await;
    assert_eq!((status[20], status[21]), (3, 8), "all registered ports hold it");
}

#[tokio::test]
async fn lengths_say_what_there_is_and_not_what_there_is_room_for() {
    let all = Cluster::new().await;
    all.register(&all.ada, 1).await;
    let keys = all.disk.send(&all.ada.nexus, &[0x5e, 0, 0, 0, 0, 0, 0, 0, 8, 0], b"").await.unwrap();
    assert_eq!(keys.bytes(), [0, 0, 0, 1, 0, 0, 0, 8]);
    let nothing = all.disk.send(&all.ada.nexus, &[0x5e, 3, 0, 0, 0, 0, 0, 0, 0, 0], b"").await.unwrap();
    assert_eq!(nothing.bytes(), []);
    assert_eq!(all.read(2).await, [0, 8, 0x9d, 0xc0, 0xea, 0x01, 0, 0]);
}
