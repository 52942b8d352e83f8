//! The rules of chapter 2, with frames as figure 3-5 has them.

use super::*;
use crate::address::NetworkRange;
use crate::candidates::RandomNumbers;

const OURS: HardwareAddress = HardwareAddress([2, 0, 0, 0, 0, 1]);
const THEIRS: HardwareAddress = HardwareAddress([2, 0, 0, 0, 0, 2]);
const UNKNOWN: HardwareAddress = HardwareAddress([0; 6]);
const OWN: Address = Address::new(3, 7);
const OTHER: Address = Address::new(3, 9);

fn packet(function: AarpFunction, source: Address, target: Address) -> AarpPacket {
    AarpPacket { function, source_hardware: THEIRS, source, target_hardware: UNKNOWN, target }
}

fn candidates() -> AddressCandidates {
    AddressCandidates::extended(NetworkRange::new(3, 3).unwrap(), Some(OWN), &mut RandomNumbers::new(1))
}

fn contents(frames: &[Vec<u8>]) -> Vec<(HardwareAddress, AarpPacket)> {
    let decoded = frames.iter().filter_map(|bytes| ElapFrame::decode(bytes).ok());
    let packet = |frame: ElapFrame<'_>| match frame.content {
        ElapContent::Aarp(content) => Some((frame.destination, AarpPacket::decode(content).unwrap())),
        ElapContent::Datagram(_) => None,
    };
    decoded.filter_map(packet).collect()
}

/// A resolver that owns `OWN`, and the time then.
fn owner() -> (AddressResolver, Instant) {
    let mut now = Instant::now();
    let mut resolver = AddressResolver::new(OURS, candidates(), now);
    let mut frames = Vec::new();
    while let Some(deadline) = resolver.deadline() {
        now = deadline;
        resolver.tick(now, &mut frames);
    }
    assert_eq!(resolver.address(), Some(OWN));
    (resolver, now)
}

#[test]
fn an_address_is_ours_after_ten_unanswered_probes() {
    let begin = Instant::now();
    let mut resolver = AddressResolver::new(OURS, candidates(), begin);
    let (mut frames, mut now) = (Vec::new(), begin);
    while let Some(deadline) = resolver.deadline() {
        now = deadline;
        resolver.tick(now, &mut frames);
    }
    let probe = AarpPacket { source_hardware: OURS, ..packet(AarpFunction::PROBE, OWN, OWN) };
    assert_eq!(contents(&frames), vec![(HardwareAddress::EVERYONE, probe); 10]);
    assert_eq!(now - begin, Duration::from_secs(2));
}

#[test]
fn an_answered_probe_leads_to_another_address() {
    let now = Instant::now();
    let mut resolver = AddressResolver::new(OURS, candidates(), now);
    let mut frames = Vec::new();
    resolver.tick(now, &mut frames);
    assert_eq!(resolver.receive(&packet(AarpFunction::RESPONSE, OWN, OWN), now, &mut frames), None);
    let probes = contents(&frames);
    assert_eq!((probes.len(), probes[0].1.target), (2, OWN));
    assert_ne!(probes[1].1.target, OWN);
}

#[test]
fn two_that_probe_for_one_address_both_give_way() {
    let now = Instant::now();
    let mut resolver = AddressResolver::new(OURS, candidates(), now);
    let mut frames = Vec::new();
    resolver.tick(now, &mut frames);
    resolver.receive(&packet(AarpFunction::PROBE, OWN, OWN), now, &mut frames);
    let probes = contents(&frames);
    assert!(probes.iter().all(|(_, packet)| packet.function == AarpFunction::PROBE), "it does not answer");
    assert_ne!(probes[1].1.target, OWN);
}

#[test]
fn requests_and_probes_for_the_own_address_are_answered() {
    let (mut resolver, now) = owner();
    for (function, source) in [(AarpFunction::REQUEST, OTHER), (AarpFunction::PROBE, OWN)] {
        let mut frames = Vec::new();
        resolver.receive(&packet(function, source, OWN), now, &mut frames);
        let response = AarpPacket {
            function: AarpFunction::RESPONSE,
            source_hardware: OURS,
            source: OWN,
            target_hardware: THEIRS,
            target: source,
        };
        assert_eq!(contents(&frames), [(THEIRS, response)]);
    }
    let mut frames = Vec::new();
    resolver.receive(&packet(AarpFunction::REQUEST, OTHER, Address::new(3, 8)), now, &mut frames);
    assert!(frames.is_empty());
}

#[test]
fn a_datagram_waits_until_its_station_is_known() {
    let (mut resolver, now) = owner();
    let mut frames = Vec::new();
    resolver.send(OTHER, vec![1], now, &mut frames);
    resolver.send(OTHER, vec![2], now, &mut frames);
    let asked = contents(&frames);
    assert_eq!(asked.len(), 1, "one request for both");
    assert_eq!(
        (asked[0].1.function, asked[0].1.source, asked[0].1.target),
        (AarpFunction::REQUEST, OWN, OTHER)
    );
    frames.clear();
    resolver.receive(&packet(AarpFunction::RESPONSE, OTHER, OWN), now, &mut frames);
    let sent: Vec<_> = frames.iter().map(|frame| ElapFrame::decode(frame).unwrap()).collect();
    assert!(sent.iter().all(|frame| frame.destination == THEIRS && frame.source == OURS));
    assert_eq!(sent[0].content, ElapContent::Datagram(&[1]));
    assert_eq!(sent[1].content, ElapContent::Datagram(&[2]));
}

#[test]
fn a_node_that_does_not_answer_is_asked_eight_times() {
    let (mut resolver, mut now) = owner();
    let mut frames = Vec::new();
    resolver.send(OTHER, vec![1], now, &mut frames);
    while let Some(deadline) = resolver.deadline() {
        now = deadline;
        resolver.tick(now, &mut frames);
    }
    assert_eq!(frames.len(), 8);
}

#[test]
fn mappings_are_gleaned_but_not_from_probes() {
    let (mut resolver, now) = owner();
    let mut frames = Vec::new();
    resolver.receive(&packet(AarpFunction::PROBE, OTHER, OTHER), now, &mut frames);
    resolver.send(OTHER, vec![1], now, &mut frames);
    assert_eq!(contents(&frames).len(), 1, "it has to ask");
    frames.clear();
    resolver.learn(OTHER, THEIRS, now, &mut frames);
    assert_eq!(frames.len(), 1, "what waited is sent");
    resolver.receive(&packet(AarpFunction::PROBE, OTHER, OTHER), now, &mut frames);
    frames.clear();
    resolver.send(OTHER, vec![1], now, &mut frames);
    assert_eq!(contents(&frames).len(), 1, "a probe makes the mapping doubtful");
}

#[test]
fn a_mapping_ages() {
    let (mut resolver, now) = owner();
    let mut frames = Vec::new();
    resolver.learn(OTHER, THEIRS, now, &mut frames);
    resolver.send(OTHER, vec![1], now + Duration::from_secs(59), &mut frames);
    assert!(contents(&frames).is_empty());
    resolver.send(OTHER, vec![1], now + Duration::from_secs(60), &mut frames);
    assert_eq!(contents(&frames).len(), 1);
}

#[test]
fn a_flood_fills_neither_table() {
    let (mut resolver, now) = owner();
    let mut frames = Vec::new();
    for number in 0..2_000_u16 {
        let address = Address::new(100 + number, 1);
        resolver.receive(&packet(AarpFunction::REQUEST, address, OTHER), now, &mut frames);
        for _ in 0..20 {
            resolver.send(Address::new(5_000 + number, 1), vec![0; 599], now, &mut frames);
        }
    }
    assert_eq!(resolver.mappings.len(), AARP_ENTRIES);
    assert_eq!(resolver.unresolved.len(), AARP_UNRESOLVED);
    assert!(resolver.unresolved.values().all(|one| one.datagrams.len() == AARP_WAITING));
}

#[test]
fn another_station_with_the_own_address_is_reported() {
    let (mut resolver, now) = owner();
    let change = resolver.receive(&packet(AarpFunction::REQUEST, OWN, OTHER), now, &mut Vec::new());
    assert_eq!(change, Some(AddressChange::Contested(OWN, THEIRS)));
}

#[test]
fn the_best_router_of_a_network_is_forgotten_after_40_seconds() {
    let (mut resolver, now) = owner();
    resolver.learn_router(20, THEIRS, now);
    assert_eq!(resolver.best_router(20, now + Duration::from_secs(39)), Some(THEIRS));
    assert_eq!(resolver.best_router(20, now + Duration::from_secs(40)), None);
    assert_eq!(resolver.best_router(21, now), None);
    (100..1_000).for_each(|network| resolver.learn_router(network, THEIRS, now));
    assert_eq!(resolver.best_routers.len(), BEST_ROUTERS);
}
