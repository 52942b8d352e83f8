//! LToUDP on an interface that several programs share.

use std::net::{Ipv4Addr, SocketAddrV4, UdpSocket};

use super::super::{LToUdpLink, Link, LinkError};
use super::alone::{has_network, ip, lay_cable};
use super::next;

const ENQUIRY: &[u8] = &[12, 12, 0x81];
const REQUEST_TO_SEND: &[u8] = &[12, 9, 0x84];
const DATA: &[u8] = &[255, 9, 1, 0, 5, 2, 2, 4];

fn interface() -> &'static str {
    lay_cable();
    ip("addr add 192.0.2.1/24 dev east");
    "east"
}

#[test]
fn programs_on_one_interface_hear_each_other() {
    if !has_network("links::tests::ltoudp::programs_on_one_interface_hear_each_other", &[]) {
        return;
    }
    let name = interface();
    let [mut one, mut two] = [(); 2].map(|()| LToUdpLink::open(Some(name)).unwrap());
    for frame in [ENQUIRY, REQUEST_TO_SEND, DATA] {
        one.send(frame).unwrap();
    }
    assert_eq!([next(&mut two), next(&mut two)], [ENQUIRY, DATA], "the handshake is for hardware");
    two.send(DATA).unwrap();
    assert_eq!(next(&mut one), DATA, "it does not hear itself");
}

#[test]
fn other_datagrams_are_counted_and_dropped() {
    if !has_network("links::tests::ltoudp::other_datagrams_are_counted_and_dropped", &[]) {
        return;
    }
    let mut link = LToUdpLink::open(Some(interface())).unwrap();
    let socket = UdpSocket::bind((Ipv4Addr::new(192, 0, 2, 1), 0)).unwrap();
    let long = [&[1, 2, 3, 4, 255, 9, 1][..], &[0; 601]].concat();
    for datagram in [&b""[..], b"1234", &long, &[1, 2, 3, 4, 12, 12, 0x81]] {
        socket.send_to(datagram, SocketAddrV4::new(Ipv4Addr::new(239, 192, 76, 84), 1954)).unwrap();
    }
    assert_eq!(next(&mut link), ENQUIRY);
    assert_eq!((link.counters().malformed, link.counters().received), (3, 1));
}

#[test]
fn an_interface_that_was_replaced_is_noticed() {
    if !has_network("links::tests::ltoudp::an_interface_that_was_replaced_is_noticed", &[]) {
        return;
    }
    let name = interface();
    ip("route add 239.0.0.0/8 dev east");
    let mut links = [LToUdpLink::open(Some(name)).unwrap(), LToUdpLink::open(None).unwrap()];
    assert!(links.iter_mut().all(|link| link.check().is_ok()));
    ip("link del east");
    let is_gone = |link: &mut LToUdpLink| matches!(link.check(), Err(LinkError::Gone { .. }));
    assert!(links.iter_mut().all(is_gone));
    interface();
    assert!(is_gone(&mut links[0]), "an interface of the same name is another one");
    let mut again = LToUdpLink::open(Some(name)).unwrap();
    let mut other = LToUdpLink::open(Some(name)).unwrap();
    other.send(DATA).unwrap();
    assert_eq!(next(&mut again), DATA);
}

#[test]
fn a_host_without_a_route_is_told_to_name_an_interface() {
    if !has_network("links::tests::ltoudp::a_host_without_a_route_is_told_to_name_an_interface", &[]) {
        return;
    }
    let why = LToUdpLink::open(None).unwrap_err().to_string();
    assert!(why.contains("`ltoudp:eth0`"), "{why}");
    assert!(matches!(LToUdpLink::open(Some("eth7")), Err(LinkError::NoInterface { .. })));
}

#[test]
fn a_program_that_does_not_share_the_port_is_named() {
    if !has_network("links::tests::ltoudp::a_program_that_does_not_share_the_port_is_named", &[]) {
        return;
    }
    let _other = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 1954)).unwrap();
    let why = LToUdpLink::open(Some(interface())).unwrap_err().to_string();
    assert!(why.contains("`ss -ulpn 'sport = 1954'`"), "{why}");
}
