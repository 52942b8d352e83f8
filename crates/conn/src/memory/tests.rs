//! Budgets and allowances, with a clock that the tests set.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::time::{advance, timeout};

use super::*;

const MIB: usize = 1 << 20;

fn client(budget: &Arc<Budget>, number: u16) -> Arc<Allowance> {
    let client = budget.admit(([192, 0, 2, 1], number).into());
    client.logged_in(true);
    client
}

/// Holds so much that waits for the client.
fn owing(client: &Arc<Allowance>, bytes: usize) -> Reservation {
    let mut reserved = client.try_reserve(bytes).unwrap();
    reserved.begin_owing();
    reserved
}

async fn waits(client: &Arc<Allowance>, bytes: usize) -> bool {
    timeout(Duration::from_millis(1), client.reserve(bytes)).await.is_err()
}

#[tokio::test(start_paused = true)]
async fn what_is_reserved_is_given_back() {
    let budget = Budget::new(64 * MIB);
    let ada = client(&budget, 1);
    let reserved = ada.reserve(MIB).await.unwrap();
    assert_eq!((budget.used(), reserved.bytes()), (MIB, MIB));
    let mut owed = OutboxCharge::new(ada.clone());
    owed.take_over(reserved);
    owed.settle(MIB / 2);
    assert_eq!((budget.used(), ada.owed()), (MIB / 2, MIB / 2));
    owed.settle(2 * MIB); // the reply took more: it is there, and counts
    assert_eq!((budget.used(), ada.owed()), (2 * MIB, 2 * MIB));
    drop(owed);
    assert_eq!((budget.used(), ada.owed(), ada.held()), (0, 0, 0));
}

#[tokio::test(start_paused = true)]
async fn small_replies_are_not_reserved() {
    let budget = Budget::new(64 * MIB);
    let reserved = client(&budget, 1).try_reserve(SMALL).unwrap();
    assert_eq!((budget.used(), reserved.bytes()), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_client_has_an_eighth_of_the_budget_and_256_kib_before_its_login() {
    let budget = Budget::new(64 * MIB);
    let ada = client(&budget, 1);
    let first = ada.reserve(8 * MIB).await.unwrap();
    assert!(waits(&ada, MIB).await);
    drop(first);
    assert!(!waits(&ada, MIB).await);

    let stranger = budget.admit(([192, 0, 2, 1], 2).into());
    let first = stranger.reserve(200 * 1024).await.unwrap();
    assert!(waits(&stranger, 100 * 1024).await);
    assert_eq!(stranger.reserve_up_to(MIB).1, SMALL);
    drop(first);
    let (reserved, room) = stranger.reserve_up_to(MIB);
    assert_eq!((reserved.bytes(), room), (256 * 1024, 256 * 1024));
}

#[tokio::test(start_paused = true)]
async fn requests_wait_in_the_order_of_their_arrival() {
    let budget = Budget::new(64 * MIB);
    let holders: Vec<_> = (0..4).map(|number| client(&budget, number)).collect();
    let mut held: Vec<_> = holders.iter().map(|holder| holder.try_reserve(8 * MIB).unwrap()).collect();
    let order = Arc::new(AtomicUsize::new(0));
    let waiting: Vec<_> = (0..3)
        .map(|number| {
            let (client, order) = (client(&budget, 10 + number), order.clone());
            tokio::spawn(async move {
                let reserved = client.reserve(8 * MIB).await.unwrap();
                (order.fetch_add(1, Ordering::Relaxed), reserved)
            })
        })
        .collect();
    advance(Duration::from_millis(10)).await;
    tokio::task::yield_now().await;
    for (number, waiting) in waiting.into_iter().enumerate() {
        held.remove(0);
        let (place, reserved) = waiting.await.unwrap();
        assert_eq!(place, number);
        held.push(reserved);
    }
}

#[tokio::test(start_paused = true)]
async fn clients_that_take_nothing_leave_half_of_the_budget_to_those_at_work() {
    let budget = Budget::new(64 * MIB);
    let greedy: Vec<_> = (0..4).map(|number| client(&budget, number)).collect();
    let _held: Vec<_> = greedy.iter().map(|greedy| owing(greedy, 8 * MIB)).collect();
    let newcomer = client(&budget, 10);
    assert!(waits(&newcomer, MIB).await);
    let at_work = client(&budget, 11);
    at_work.has_moved(4 * MIB);
    assert!(!waits(&at_work, 8 * MIB).await);
    at_work.try_reserve(MIB).unwrap();
}

#[tokio::test(start_paused = true)]
async fn stalled_clients_end_for_waiting_ones_the_largest_first() {
    let budget = Budget::new(64 * MIB);
    let ended = Arc::new(parking_lot::Mutex::new(Vec::new()));
    let holders: Vec<_> = [6, 8, 7, 8]
        .into_iter()
        .zip(0..)
        .map(|(mib, number)| {
            let client = client(&budget, number);
            let held = Arc::new(parking_lot::Mutex::new(Some(owing(&client, mib * MIB))));
            let ended = ended.clone();
            client.on_end(move || {
                ended.lock().push(mib);
                held.lock().take();
            });
            client
        })
        .collect();
    // This one is slow, and receives.
    let slow = &holders[1];
    let waiting = client(&budget, 10);
    let waiting = tokio::spawn(async move { waiting.reserve(8 * MIB).await.unwrap() });
    for _ in 0..30 {
        slow.has_moved(MIB / 2);
        advance(Duration::from_millis(100)).await;
        tokio::task::yield_now().await;
    }
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert!(waiting.is_finished());
    assert_eq!(*ended.lock(), [8], "one of the two that hold most: the other one receives");
}

#[tokio::test(start_paused = true)]
async fn no_client_is_ended_while_there_is_memory() {
    let budget = Budget::new(64 * MIB);
    let holder = client(&budget, 1);
    let _held = owing(&holder, 8 * MIB);
    holder.on_end(|| panic!("ended"));
    advance(Duration::from_secs(3600)).await;
    assert!(!waits(&client(&budget, 2), 8 * MIB).await);
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_waits_for_the_server_is_not_the_clients_fault() {
    let budget = Budget::new(64 * MIB);
    let clients: Vec<_> = (0..4).map(|number| client(&budget, number)).collect();
    clients.iter().for_each(|client| client.on_end(|| panic!("ended")));
    let mut held: Vec<_> = clients.iter().map(|client| client.try_reserve(8 * MIB).unwrap()).collect();
    let waiting = client(&budget, 10);
    let waiting = tokio::spawn(async move { waiting.reserve(8 * MIB).await.is_some() });
    tokio::time::sleep(Duration::from_secs(20)).await;
    held.pop();
    assert!(waiting.await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn a_wait_ends_with_its_connection_and_holds_up_no_other() {
    let budget = Budget::new(64 * MIB);
    let holders: Vec<_> = (0..4).map(|number| client(&budget, number)).collect();
    let mut held: Vec<_> = holders.iter().map(|holder| holder.try_reserve(8 * MIB).unwrap()).collect();
    let (gone, other) = (client(&budget, 10), client(&budget, 11));
    let first = tokio::spawn({
        let gone = gone.clone();
        async move { gone.reserve(8 * MIB).await.is_none() }
    });
    tokio::time::sleep(Duration::from_millis(10)).await;
    let second = tokio::spawn(async move { other.reserve(4 * MIB).await.is_some() });
    tokio::time::sleep(Duration::from_millis(10)).await;
    gone.over();
    held.pop();
    assert!(first.await.unwrap() && second.await.unwrap());
    assert_eq!(budget.used(), 24 * MIB, "what the second one had was dropped with it");
}

/// A call of many fragments is taken however long its protocol lets it become: before a login, too.
#[tokio::test(start_paused = true)]
async fn a_message_that_grows_waits_only_for_what_else_its_client_holds() {
    let budget = Budget::new(64 * MIB);
    let ada = budget.admit(([192, 0, 2, 1], 1).into());
    let mut message = ada.reserve_more(BEFORE_LOGIN, &Reservation::default()).await.unwrap();
    message.join(ada.reserve_more(MIB, &message).await.unwrap());
    assert_eq!(
        (message.bytes(), ada.held(), budget.used()),
        (BEFORE_LOGIN + MIB, BEFORE_LOGIN + MIB, BEFORE_LOGIN + MIB)
    );
    let reply = budget.admit(([192, 0, 2, 1], 2).into()).reserve(MIB).await.unwrap();
    assert_eq!(reply.bytes(), MIB, "another client's reply does not wait");
    drop(message);
    let reply = ada.reserve(MIB).await.unwrap();
    assert!(timeout(Duration::from_millis(1), ada.reserve_more(MIB, &Reservation::default())).await.is_err());
    drop(reply);
    assert_eq!(ada.held(), 0);
}
