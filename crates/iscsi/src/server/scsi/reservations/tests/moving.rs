//! REGISTER AND MOVE: SPC-4 table 70.

use super::*;

fn moving(key: u64, action_key: u64, flags: u8, to: &InitiatorPort) -> Vec<u8> {
    let id = transport_id(to);
    let mut list = key.to_be_bytes().to_vec();
    list.extend(action_key.to_be_bytes());
    list.extend([0, flags, 0, 1]);
    list.extend((id.len() as u32).to_be_bytes());
    list.extend(id);
    list
}

#[tokio::test]
async fn the_reservation_is_the_others_who_need_not_have_been_registered() {
    for (unregister, left) in [(0x00, vec![1, 5]), (0x02, vec![5])] {
        let all = Cluster::new().await;
        all.register(&all.ada, 1).await;
        all.keys(&all.ada, RESERVE, 6, 1, 0).await.unwrap();
        let list = moving(1, 5, unregister, &all.bob.nexus.initiator);
        all.out(&all.ada, MOVE, 0, &list).await.unwrap();
        assert_eq!((all.reserved().await, all.registered().await), (Some((5, 6)), left));
        assert_eq!(all.generation().await, 2);
        all.keys(&all.bob, RELEASE, 6, 5, 0).await.unwrap();
        assert_eq!(all.reserved().await, None);
    }
}

#[tokio::test]
async fn only_a_single_holder_may_move_it() {
    let all = Cluster::new().await;
    let to_eve = |key| moving(key, 5, 0, &all.eve.nexus.initiator);
    assert_eq!(all.out(&all.bob, MOVE, 0, &to_eve(2)).await.unwrap_err(), CONFLICT); // not registered
    all.register(&all.ada, 1).await;
    all.register(&all.bob, 2).await;
    assert_eq!(all.out(&all.ada, MOVE, 0, &to_eve(1)).await.unwrap_err(), check(Sense::in_cdb(1)));
    all.keys(&all.ada, RESERVE, 1, 1, 0).await.unwrap();
    assert_eq!(all.out(&all.ada, MOVE, 0, &to_eve(9)).await.unwrap_err(), CONFLICT);
    assert_eq!(all.out(&all.bob, MOVE, 0, &to_eve(2)).await.unwrap_err(), CONFLICT);
    all.keys(&all.ada, RELEASE, 1, 1, 0).await.unwrap();
    for kind in [7, 8] {
        all.keys(&all.ada, RESERVE, kind, 1, 0).await.unwrap();
        assert_eq!(all.out(&all.ada, MOVE, 0, &to_eve(1)).await.unwrap_err(), CONFLICT);
        all.keys(&all.ada, RELEASE, kind, 1, 0).await.unwrap();
    }
}

#[tokio::test]
async fn it_cannot_be_moved_to_oneself_to_no_port_or_without_a_key() {
    let all = Cluster::new().await;
    all.register(&all.ada, 1).await;
    all.keys(&all.ada, RESERVE, 1, 1, 0).await.unwrap();
    let good = moving(1, 5, 0, &all.bob.nexus.initiator);
    let mut another_target_port = good.clone();
    another_target_port[19] = 2;
    let mut another_protocol = good.clone();
    another_protocol[24] = 0x46;
    let to_self = moving(1, 5, 0, &all.ada.nexus.initiator);
    for list in [&another_target_port, &another_protocol, &to_self] {
        assert_eq!(all.out(&all.ada, MOVE, 0, list).await.unwrap_err(), check(Sense::in_parameters(24)));
    }
    let without_key = moving(1, 0, 0, &all.bob.nexus.initiator);
    assert_eq!(all.out(&all.ada, MOVE, 0, &without_key).await.unwrap_err(), check(Sense::in_parameters(8)));
    let mut too_long = good.clone();
    too_long.push(0);
    for list in [&too_long, &good[..good.len() - 4]] {
        let refused = all.out(&all.ada, MOVE, 0, list).await.unwrap_err();
        assert_eq!(refused, check(Sense::illegal(Asc::PARAMETER_LIST_LENGTH_ERROR)));
    }
    assert_eq!((all.reserved().await, all.registered().await), (Some((1, 1)), vec![1]));
}
