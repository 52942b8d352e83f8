//! The rules of chapter 7.

use super::*;

fn name(object: &str) -> EntityName {
    EntityName::from_text(object, "AFPServer", "*").unwrap()
}

fn tuple(node: u8, enumerator: u8, object: &str) -> NbpTuple {
    let endpoint = Endpoint::new(Address::new(9, node), 250);
    NbpTuple { endpoint, enumerator, name: name(object) }
}

fn reply(id: u8, tuples: Vec<NbpTuple>) -> NbpPacket {
    NbpPacket { function: NbpFunction::REPLY, id, tuples }
}

fn no_own(_: Address) -> bool {
    false
}

/// Lets time pass until no lookup runs: the requests, and what came of them.
fn run(table: &mut NameTable, now: &mut Instant) -> (Vec<LookupRequest>, Vec<NameOutcome>) {
    let (mut requests, mut outcomes) = (Vec::new(), Vec::new());
    while let Some(deadline) = table.deadline() {
        *now = deadline;
        let (sent, came) = table.tick(*now);
        requests.extend(sent);
        outcomes.extend(came);
    }
    (requests, outcomes)
}

#[test]
fn a_name_is_ours_after_four_unanswered_lookups() {
    let mut now = Instant::now();
    let mut table = NameTable::default();
    let id = table.register(name("Museum"), 200, now).unwrap();
    assert_eq!(table.matching(&name("=")).count(), 0, "it is not answered for before");
    let (requests, outcomes) = run(&mut table, &mut now);
    assert_eq!((requests.len(), outcomes), (4, vec![NameOutcome::Registered(id)]));
    assert!(requests.iter().all(|request| request.name == name("Museum") && request.node.is_none()));
    assert_eq!(table.matching(&name("=")).map(|own| own.socket).collect::<Vec<_>>(), [200]);
}

#[test]
fn a_name_of_another_node_cannot_be_registered() {
    let mut now = Instant::now();
    let mut table = NameTable::default();
    let id = table.register(name("Museum"), 200, now).unwrap();
    let (requests, _) = table.tick(now);
    table.receive_reply(&reply(requests[0].packet_id, vec![tuple(5, 1, "MUSEUM")]), no_own, now);
    let (_, outcomes) = run(&mut table, &mut now);
    assert_eq!(outcomes, [NameOutcome::Taken { id, by: Endpoint::new(Address::new(9, 5), 250) }]);
    assert!(table.names().is_empty());
}

#[test]
fn wildcards_and_second_names_are_refused() {
    let now = Instant::now();
    let mut table = NameTable::default();
    assert_eq!(table.register(name("="), 200, now), Err(NameError::Invalid));
    table.register(name("Museum"), 200, now).unwrap();
    assert_eq!(table.register(name("museum"), 201, now), Err(NameError::Taken));
    for number in 1..NAMES {
        table.register(name(&number.to_string()), 200, now).unwrap();
    }
    assert_eq!(table.register(name("more"), 200, now), Err(NameError::TooMany));
    let enumerators: std::collections::BTreeSet<u8> =
        table.names().iter().map(|own| own.enumerator).collect();
    assert_eq!(enumerators.len(), NAMES, "no two entries of a socket have the same");
}

#[test]
fn a_lookup_finds_each_name_once() {
    let mut now = Instant::now();
    let mut table = NameTable::default();
    let id = table.lookup(name("="), None, 10, now).unwrap();
    let (requests, _) = table.tick(now);
    let packet = reply(requests[0].packet_id, vec![tuple(5, 1, "Museum"), tuple(6, 1, "Attic")]);
    table.receive_reply(&packet, no_own, now);
    table.receive_reply(&packet, no_own, now);
    table.receive_reply(&reply(requests[0].packet_id, vec![tuple(5, 2, "Museum")]), no_own, now);
    table.receive_reply(
        &reply(requests[0].packet_id.wrapping_add(1), vec![tuple(7, 1, "Other")]),
        no_own,
        now,
    );
    let (_, outcomes) = run(&mut table, &mut now);
    let [NameOutcome::Found { id: found, names }] = &outcomes[..] else { panic!("{outcomes:?}") };
    let nodes: Vec<_> = names.iter().map(|at| (at.endpoint.address.node, at.enumerator)).collect();
    assert_eq!((*found, nodes), (id, vec![(5, 1), (6, 1), (5, 2)]));
}

#[test]
fn a_lookup_ends_when_it_has_found_enough() {
    let now = Instant::now();
    let mut table = NameTable::default();
    table.lookup(name("="), None, 1, now).unwrap();
    let (requests, _) = table.tick(now);
    let tuples = (1..10).map(|node| tuple(node, 1, "Museum")).collect();
    table.receive_reply(&reply(requests[0].packet_id, tuples), no_own, now);
    let (requests, outcomes) = table.tick(now);
    assert!(requests.is_empty());
    assert!(matches!(&outcomes[..], [NameOutcome::Found { names, .. }] if names.len() == 1));
}

#[test]
fn replies_about_other_names_are_ignored() {
    let mut now = Instant::now();
    let mut table = NameTable::default();
    let id = table.register(name("Museum"), 200, now).unwrap();
    let (requests, _) = table.tick(now);
    table.receive_reply(&reply(requests[0].packet_id, vec![tuple(5, 1, "Attic")]), no_own, now);
    assert_eq!(run(&mut table, &mut now).1, [NameOutcome::Registered(id)]);
}

#[test]
fn registered_names_are_checked_again_in_a_new_zone() {
    let mut now = Instant::now();
    let mut table = NameTable::default();
    let id = table.register(name("Museum"), 200, now).unwrap();
    run(&mut table, &mut now);
    let is_own = |address: Address| address.node == 8;
    table.check_again(now);
    let (requests, _) = table.tick(now);
    table.receive_reply(&reply(requests[0].packet_id, vec![tuple(8, 1, "Museum")]), is_own, now);
    assert!(run(&mut table, &mut now).1.is_empty(), "its own answer is no conflict, and nothing is new");
    assert_eq!(table.matching(&name("Museum")).count(), 1);
    table.check_again(now);
    let (requests, _) = table.tick(now);
    table.receive_reply(&reply(requests[0].packet_id, vec![tuple(9, 1, "Museum")]), is_own, now);
    assert!(matches!(run(&mut table, &mut now).1[..], [NameOutcome::Taken { id: taken, .. }] if taken == id));
}
