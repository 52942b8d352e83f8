//! Frames of two Cisco routers, from a public capture of AppleTalk phase 2 (N. Russo, "Legacy Protocol Packet Captures"):
//! a stack in the place of the second router sends the same bytes.

use std::time::Duration;

use super::network::{Network, seeded};
use crate::address::{Address, HardwareAddress};
use crate::name::EntityName;
use crate::stack::{LinkKind, PortConfig, PortId};

const PROBE: &str = "090007ffffff c20250e00000 0024 aaaa03 00000080f3 0001809b0604 0003 \
    c20250e00000 0003a5e0 000000000000 0003a5e0 00000000000000000000";
const GET_NET_INFO: &str = "090007ffffff c20250e00000 001f aaaa03 080007809b \
    0017 e9eb 0000 03a5 ff e0 06 06 06 05 0000000000 0357414e 000000000000000000000000000000";
const LOOKUP: &str = "090007000064 c20250e00000 003f aaaa03 080007809b \
    0037 4b5a 0000 03a5 ff e0 02 02 02 21 02 03a5 e0 02 00 \
    12 52322e4661737445746865726e6574302f30 0b 636973636f526f75746572 03 57414e";
const ROUTES: &str = "090007ffffff c20250e00000 0025 aaaa03 080007809b \
    001d 79e1 0000 03a5 ff e0 01 01 01 03a5 08 e0 0384 80 03e7 82 00c8 80 012b 82 000000000000000000";
const REQUEST: &str = "090007ffffff c20250e00000 0024 aaaa03 00000080f3 0001809b0604 0001 \
    c20250e00000 0003a5e0 000000000000 0003cff0 00000000000000000000";

fn bytes(text: &str) -> Vec<u8> {
    let digits: String = text.split_whitespace().collect();
    wire::hex::decode_any(&digits).unwrap()
}

/// The second router: 900-999 in the zone WAN, and 200-299 behind it. Its address was 933.224.
fn router(network: &mut Network) -> usize {
    let port = |station, hint| {
        let link = LinkKind::EtherTalk(HardwareAddress([0xc2, 2, 0x50, 0xe0, 0, station]));
        PortConfig { label: "eth".into(), link, hint, seed: None }
    };
    let outer = seeded(port(0, Some(Address::new(933, 224))), 900, 999, &["WAN"]);
    let inner = seeded(port(1, Some(Address::new(224, 218))), 200, 299, &["LAN"]);
    network.add(&[(0, outer), (1, inner)], Some("WAN"), true)
}

fn sent(network: &Network) -> Vec<&[u8]> {
    network.sent.iter().filter(|((_, port), _)| *port == 0).map(|(_, frame)| &frame[..]).collect()
}

#[test]
fn probe_question_and_routes_are_those_of_the_capture() {
    let mut network = Network::new(1);
    router(&mut network);
    network.seconds(40);
    let sent = sent(&network);
    assert_eq!(sent[..10], vec![&bytes(PROBE)[..]; 10]);
    assert_eq!(sent[10], bytes(GET_NET_INFO));
    assert!(sent.contains(&&bytes(ROUTES)[..]));
}

#[test]
fn a_lookup_is_that_of_the_capture() {
    let mut network = Network::new(1);
    let node = router(&mut network);
    network.seconds(40);
    let stack = &mut network.stacks[node];
    // The capture's lookup has the number 2.
    stack.confirm(EntityName::from_text("x", "y", "*").unwrap(), Address::new(933, 1), network.now).unwrap();
    let socket = stack.open_socket(None).unwrap();
    let name = EntityName::from_text("R2.FastEthernet0/0", "ciscoRouter", "*").unwrap();
    stack.register(name, socket, network.now).unwrap();
    network.sent.clear();
    network.seconds(1);
    assert!(sent(&network).contains(&&bytes(LOOKUP)[..]));
}

#[test]
fn the_question_of_the_other_router_is_answered() {
    let mut network = Network::new(1);
    let node = router(&mut network);
    network.seconds(40);
    network.sent.clear();
    let question = "090007ffffff c20150d10000 001f aaaa03 080007809b \
        0017 ea19 0000 03cf ff f0 06 06 06 05 0000000000 0357414e 000000000000000000000000000000";
    let now = network.now;
    network.stacks[node].receive(PortId(0), &bytes(question), now);
    network.run(Duration::from_millis(10));
    // The capture has no answer. Figure 8-4: 900-999, WAN, the group of its lookups, one zone; to the station of the question.
    let answer = "c20150d10000 c20250e00000 0026 aaaa03 080007809b \
        001e f301 03cf 03a5 f0 e0 06 06 06 06 20 0384 03e7 0357414e 06 090007000064 0000000000000000";
    assert_eq!(sent(&network), [&bytes(answer)[..]]);
}

#[test]
fn an_echo_to_the_inner_port_is_answered_as_in_the_capture() {
    let mut network = Network::new(1);
    let node = router(&mut network);
    network.seconds(40);
    network.sent.clear();
    let data = format!("000002b3 0000000000123c74 {}", "00".repeat(74));
    let request = "c20250e00000 c20150d10000 006c aaaa03 080007809b 0064 74e3 00e0 03cf da f0 04 fd 04 01";
    let reply = "c20150d10000 c20250e00000 006c aaaa03 080007809b 0064 f761 03cf 00e0 f0 da fd 04 04 02";
    let now = network.now;
    network.stacks[node].receive(PortId(0), &bytes(&format!("{request}{data}")), now);
    network.run(Duration::from_millis(10));
    assert_eq!(sent(&network), [&bytes(&format!("{reply}{data}"))[..]]);
}

#[test]
fn an_unknown_station_is_asked_for_as_in_the_capture() {
    let mut network = Network::new(1);
    let node = router(&mut network);
    network.seconds(40);
    network.sent.clear();
    let name = EntityName::from_text("=", "ciscoRouter", "*").unwrap();
    network.stacks[node].confirm(name, Address::new(975, 240), network.now).unwrap();
    network.run(Duration::from_millis(10));
    assert_eq!(sent(&network), [&bytes(REQUEST)[..]]);
}
