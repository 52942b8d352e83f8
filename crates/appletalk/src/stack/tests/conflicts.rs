//! A router does not seed a network that has another idea of itself. "Inside AppleTalk" chapter 5, "Initialization", and
//! chapter 8, "Zones list assignment".

use super::network::{Network, ether, local, range, seeded, zone};
use crate::stack::{ConfigError, PortConfig, PortId, SeedConflict, Stack, StackConfig, StackEvent};

/// A second router comes to the network of a first one, whose address is given back with the conflict that it met.
fn second_router(first: PortConfig, second: PortConfig) -> (Network, usize, Option<SeedConflict>) {
    let mut network = Network::new(1);
    network.add(&[(0, first)], None, true);
    network.seconds(30);
    let node = network.add(&[(0, second)], None, true);
    network.seconds(60);
    let refused = network.events.iter().find_map(|(at, event)| match event {
        StackEvent::SeedRefused { heard, .. } if *at == node => Some(heard.clone()),
        _ => None,
    });
    (network, node, refused)
}

#[test]
fn equal_seeds_are_no_conflict() {
    let seed = |station| seeded(ether(station), 3, 5, &["Hall", "Attic"]);
    let (network, node, refused) = second_router(seed(1), seed(2));
    assert_eq!(refused, None);
    assert!(network.stacks[node].ports()[0].is_seeded);
}

#[test]
fn another_range_is_refused_and_the_heard_one_is_used() {
    for (first, second, heard) in [
        (seeded(ether(1), 3, 5, &["Hall"]), seeded(ether(2), 3, 6, &["Hall"]), range(3, 5)),
        (seeded(local(), 7, 7, &["Hall"]), seeded(local(), 8, 8, &["Hall"]), range(7, 7)),
    ] {
        let (network, node, refused) = second_router(first, second);
        let by = network.stacks[0].ports()[0].address.unwrap();
        assert_eq!(refused, Some(SeedConflict::Range { by, heard }));
        let port = &network.stacks[node].ports()[0];
        assert_eq!((port.network, port.is_seeded, port.is_ready), (Some(heard), false, true));
        assert!(heard.contains(port.address.unwrap().network), "it has an address of that network");
        assert_eq!(port.zone, Some(zone("Hall")));
        assert_eq!(network.stacks[0].ports()[0].network, Some(heard), "the first is not disturbed");
    }
}

#[test]
fn other_zones_are_refused() {
    let first = seeded(ether(1), 3, 5, &["Hall", "Attic"]);
    let (network, node, refused) = second_router(first, seeded(ether(2), 3, 5, &["Hall", "Cellar"]));
    let by = network.stacks[0].ports()[0].address.unwrap();
    assert_eq!(refused, Some(SeedConflict::Zones { by, heard: vec![zone("Hall"), zone("Attic")] }));
    let route = &network.stacks[node].routes()[0];
    assert_eq!(route.zones, [zone("Hall"), zone("Attic")]);
}

#[test]
fn another_zone_of_a_localtalk_is_refused() {
    let (network, node, refused) =
        second_router(seeded(local(), 7, 7, &["Hall"]), seeded(local(), 7, 7, &["Cellar"]));
    assert!(matches!(refused, Some(SeedConflict::Zones { heard, .. }) if heard == [zone("Hall")]));
    assert_eq!(network.stacks[node].ports()[0].zone, Some(zone("Hall")));
}

#[test]
fn another_default_zone_is_refused() {
    let first = seeded(ether(1), 3, 5, &["Hall"]);
    let (_, _, refused) = second_router(first, seeded(ether(2), 3, 5, &["Attic"]));
    assert!(matches!(refused, Some(SeedConflict::DefaultZone { heard, .. }) if heard == zone("Hall")));
}

#[test]
fn numbers_of_a_network_elsewhere_are_refused() {
    let mut network = Network::new(1);
    network.add(
        &[(0, seeded(ether(1), 3, 5, &["Hall"])), (1, seeded(local(), 7, 7, &["Cellar"]))],
        None,
        true,
    );
    network.seconds(30);
    // Its LocalTalk is another one, but has the number of the first.
    let node = network.add(&[(0, ether(2)), (2, seeded(local(), 7, 7, &["Attic"]))], None, true);
    network.seconds(60);
    let heard = SeedConflict::Elsewhere { heard: range(7, 7), port: PortId(0) };
    let refused = StackEvent::SeedRefused { port: PortId(1), heard };
    assert!(network.has_event(node, |event| *event == refused));
    assert_eq!(network.stacks[node].ports()[1].network, None);
}

#[test]
fn a_router_that_comes_later_with_another_idea_is_ignored() {
    let mut network = Network::new(1);
    let first = network.add(&[(0, seeded(ether(1), 3, 5, &["Hall"]))], None, true);
    let node = network.end_node(0, ether(9));
    network.seconds(30);
    // It spoke on a link of its own until somebody plugged both together: it does not verify again.
    let other = network.add(&[(1, seeded(ether(2), 20, 22, &["Roof"]))], None, true);
    network.seconds(30);
    network.sent.clear();
    network.seconds(11);
    let data: Vec<Vec<u8>> =
        network.sent.iter().filter(|((node, _), _)| *node == other).map(|(_, frame)| frame.clone()).collect();
    for frame in data.iter().cycle().take(100) {
        network.stacks[first].receive(PortId(0), frame, network.now);
        network.stacks[node].receive(PortId(0), frame, network.now);
    }
    network.seconds(1);
    let by = network.stacks[other].ports()[0].address.unwrap();
    let heard = SeedConflict::Range { by, heard: range(20, 22) };
    let contested = StackEvent::SeedContested { port: PortId(0), heard: heard.clone() };
    assert_eq!(network.events.iter().filter(|(_, event)| *event == contested).count(), 1, "told once");
    let port = &network.stacks[first].ports()[0];
    assert_eq!((port.network, port.conflict.clone()), (Some(range(3, 5)), Some(heard)));
    assert_eq!(network.stacks[node].ports()[0].network, Some(range(3, 5)), "nodes stay where they are");
}

#[test]
fn seeds_that_contradict_themselves_are_refused_at_the_start() {
    let error = |ports: Vec<PortConfig>, is_router| {
        let config = StackConfig { ports, zone: None, is_router, random_seed: 1 };
        Stack::new(config, std::time::Instant::now()).err()
    };
    let label = |text: &str| text.to_owned();
    let hall = &["Hall"];
    assert_eq!(error(vec![], true), Some(ConfigError::PortCount));
    let seed = || seeded(ether(1), 3, 5, hall);
    assert_eq!(error(vec![seed()], false), Some(ConfigError::SeedWithoutRouter(label("ethertalk:1"))));
    let reserved = ConfigError::ReservedRange(label("ethertalk:1"));
    assert_eq!(error(vec![seeded(ether(1), 0xff00, 0xff00, hall)], true), Some(reserved));
    let two = ConfigError::LocalTalkSeed(label("ltoudp"));
    assert_eq!(error(vec![seeded(local(), 7, 8, hall)], true), Some(two));
    for zones in [&[][..], &["Hall", "HALL"], &["*"], &[""]] {
        let wrong = ConfigError::Zones(label("ethertalk:1"));
        assert_eq!(error(vec![seeded(ether(1), 3, 5, zones)], true), Some(wrong), "{zones:?}");
    }
    let overlap = ConfigError::Overlap(label("ethertalk:1"), label("ltoudp"));
    assert_eq!(error(vec![seed(), seeded(local(), 5, 5, hall)], true), Some(overlap));
}
