//! The rules of chapter 5.

use super::*;

const ROUTER: Address = Address::new(3, 128);
const OTHER: Address = Address::new(3, 129);

fn range(first: u16, last: u16) -> NetworkRange {
    NetworkRange::new(first, last).unwrap()
}

fn tuple(network: u16, distance: u8) -> RoutingTuple {
    RoutingTuple { range: range(network, network), is_extended: false, distance }
}

fn data(sender: Address, tuples: Vec<RoutingTuple>) -> RouterPacket {
    RouterPacket { sender, range: Some(range(3, 5)), tuples }
}

/// A router with the networks 3-5 at port 0 and 7 at port 1.
fn table(now: Instant) -> RoutingTable {
    let mut table = RoutingTable::new(now);
    table.attach(0, range(3, 5), true, &[]);
    table.attach(1, range(7, 7), false, &[]);
    table
}

fn route(table: &RoutingTable, network: u16) -> Option<(u8, Option<Address>, RouteState)> {
    table.find(network).map(|entry| (entry.distance, entry.next, entry.state))
}

#[test]
fn a_new_network_is_one_hop_further_than_its_router_says() {
    let mut table = table(Instant::now());
    let added = table.receive(&data(ROUTER, vec![tuple(20, 0), tuple(21, 4)]), 0);
    assert_eq!(added, [RouteChange::Added(range(20, 20)), RouteChange::Added(range(21, 21))]);
    assert_eq!(route(&table, 20), Some((1, Some(ROUTER), RouteState::Good)));
    assert_eq!(route(&table, 21), Some((5, Some(ROUTER), RouteState::Good)));
}

#[test]
fn a_way_that_is_not_longer_replaces_the_old_one() {
    let mut table = table(Instant::now());
    table.receive(&data(ROUTER, vec![tuple(20, 3)]), 0);
    table.receive(&data(OTHER, vec![tuple(20, 4)]), 0);
    assert_eq!(route(&table, 20), Some((4, Some(ROUTER), RouteState::Good)), "longer");
    table.receive(&data(OTHER, vec![tuple(20, 3)]), 0);
    assert_eq!(route(&table, 20), Some((4, Some(OTHER), RouteState::Good)), "as long");
    table.receive(&data(ROUTER, vec![tuple(20, 1)]), 0);
    assert_eq!(route(&table, 20), Some((2, Some(ROUTER), RouteState::Good)), "shorter");
}

#[test]
fn the_router_of_a_way_may_make_it_longer() {
    let mut table = table(Instant::now());
    table.receive(&data(ROUTER, vec![tuple(20, 3)]), 0);
    table.receive(&data(ROUTER, vec![tuple(20, 14)]), 0);
    assert_eq!(route(&table, 20), Some((15, Some(ROUTER), RouteState::Good)));
    let lost = table.receive(&data(ROUTER, vec![tuple(20, 15)]), 0);
    assert_eq!(lost, [RouteChange::Lost(range(20, 20))]);
    assert_eq!(route(&table, 20), None);
}

#[test]
fn networks_of_own_ports_and_overlapping_ones_are_not_learned() {
    let mut table = table(Instant::now());
    let overlapping = RoutingTuple { range: range(5, 9), is_extended: true, distance: 0 };
    table.receive(&data(ROUTER, vec![tuple(7, 0), overlapping, tuple(0xff00, 1)]), 0);
    assert_eq!(table.entries().len(), 2);
    assert_eq!(route(&table, 7), Some((0, None, RouteState::Good)));
}

#[test]
fn a_route_ages_in_eighty_seconds() {
    let mut now = Instant::now();
    let mut table = table(now);
    table.receive(&data(ROUTER, vec![tuple(20, 0)]), 0);
    for state in [RouteState::Suspect, RouteState::Bad, RouteState::Worst] {
        now += VALIDITY;
        assert!(table.tick(now).is_empty());
        assert_eq!(route(&table, 20).unwrap().2, state);
    }
    assert_eq!(table.tick(now + VALIDITY), [RouteChange::Lost(range(20, 20))]);
    assert_eq!(table.entries().len(), 2, "networks of own ports do not age");
}

#[test]
fn a_confirmed_route_does_not_age() {
    let mut now = Instant::now();
    let mut table = table(now);
    for _ in 0..20 {
        table.receive(&data(ROUTER, vec![tuple(20, 0)]), 0);
        now += VALIDITY;
        table.tick(now);
    }
    assert_eq!(route(&table, 20), Some((1, Some(ROUTER), RouteState::Suspect)));
}

#[test]
fn a_lost_way_is_told_as_31_and_only_its_router_can_say_so() {
    let mut table = table(Instant::now());
    table.receive(&data(ROUTER, vec![tuple(20, 0)]), 0);
    table.receive(&data(OTHER, vec![tuple(20, 31)]), 0);
    assert_eq!(route(&table, 20).unwrap().2, RouteState::Good);
    table.receive(&data(ROUTER, vec![tuple(20, 31)]), 0);
    assert_eq!(route(&table, 20).unwrap().2, RouteState::Bad);
    let told = table.tuples(1, true);
    assert!(told.contains(&RoutingTuple { range: range(20, 20), is_extended: false, distance: 31 }));
    table.receive(&data(OTHER, vec![tuple(20, 9)]), 0);
    assert_eq!(
        route(&table, 20),
        Some((10, Some(OTHER), RouteState::Good)),
        "any way is better than a bad one"
    );
}

#[test]
fn split_horizon_hides_what_the_port_leads_to() {
    let mut table = table(Instant::now());
    table.receive(&data(ROUTER, vec![tuple(20, 0)]), 0);
    let networks = |port, split| -> Vec<u16> {
        table.tuples(port, split).iter().map(|tuple| tuple.range.first()).collect()
    };
    assert_eq!(networks(0, true), [7]);
    assert_eq!(networks(1, true), [3, 20]);
    assert_eq!(networks(0, false), [3, 7, 20]);
}

#[test]
fn a_router_cannot_fill_the_table_without_end() {
    let mut table = table(Instant::now());
    for network in 100..2_000 {
        table.receive(&data(ROUTER, vec![tuple(network, 0)]), 0);
    }
    assert_eq!(table.entries().len(), ROUTES);
}
