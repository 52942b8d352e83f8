//! EtherTalk on the two ends of a virtual cable.

use std::time::Instant;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::super::{EtherTalkLink, InterfaceMonitor, Link, LinkError};
use super::alone::{has_network, ip, lay_cable, wait_for_carrier};
use super::{LIMIT, next};
use crate::address::HardwareAddress;
use crate::wire::elap::{ElapContent, ElapFrame};

/// Two interfaces on one cable.
fn cable() -> (EtherTalkLink, EtherTalkLink) {
    lay_cable();
    (EtherTalkLink::open("east").unwrap(), EtherTalkLink::open("west").unwrap())
}

fn frame(from: &EtherTalkLink, to: HardwareAddress, data: &[u8]) -> Vec<u8> {
    let source = from.hardware_address().unwrap();
    ElapFrame { destination: to, source, content: ElapContent::Datagram(data) }.encode()
}

#[test]
fn frames_go_to_all_or_to_one_interface() {
    if !has_network("links::tests::ethertalk::frames_go_to_all_or_to_one_interface", &[]) {
        return;
    }
    let (mut east, mut west) = cable();
    let there = west.hardware_address().unwrap();
    let elsewhere = HardwareAddress([2, 0, 0, 0, 0, 9]);
    let longest = [7; 13 + 586];
    for (to, data) in
        [(HardwareAddress::EVERYONE, &b"all"[..]), (elsewhere, b"other"), (there, b"one"), (there, &longest)]
    {
        east.send(&frame(&east, to, data)).unwrap();
    }
    for data in [&b"all"[..], b"one", &longest] {
        assert_eq!(ElapFrame::decode(&next(&mut west)).unwrap().content, ElapContent::Datagram(data));
    }
    assert_eq!(west.receive().unwrap(), None);
    assert_eq!((east.counters().sent, west.counters().received), (4, 3));
    assert_eq!(east.receive().unwrap(), None, "its own frames do not come back");
}

#[test]
fn a_frame_that_is_too_long_is_not_sent() {
    if !has_network("links::tests::ethertalk::a_frame_that_is_too_long_is_not_sent", &[]) {
        return;
    }
    let (mut east, _west) = cable();
    let long = frame(&east, HardwareAddress::EVERYONE, &[0; 600]);
    assert!(matches!(east.send(&long), Err(LinkError::Unsendable { length: 622, most: 621, .. })));
}

#[test]
fn the_interface_receives_the_groups_of_zones() {
    if !has_network("links::tests::ethertalk::the_interface_receives_the_groups_of_zones", &[]) {
        return;
    }
    let (mut east, _west) = cable();
    let group = HardwareAddress::zone_group(0x2a);
    for _ in 0..2 {
        east.join(group).unwrap();
    }
    let listed = ip("maddr show dev east");
    for address in [HardwareAddress::EVERYONE, group] {
        assert!(listed.contains(&address.to_string()), "{listed}");
    }
    east.leave(group).unwrap();
    assert!(!ip("maddr show dev east").contains(&group.to_string()));
}

#[test]
fn a_network_that_was_down_works_again() {
    if !has_network("links::tests::ethertalk::a_network_that_was_down_works_again", &[]) {
        return;
    }
    let (mut east, mut west) = cable();
    let frame = frame(&east, HardwareAddress::EVERYONE, b"again");
    ip("link set east down");
    let error = east.send(&frame).unwrap_err();
    assert!(matches!(error, LinkError::Down { .. }) && !error.is_lasting(), "{error}");
    ip("link set east up");
    wait_for_carrier();
    while let Err(error) = east.send(&frame) {
        assert!(!error.is_lasting(), "{error}");
    }
    assert_eq!(next(&mut west), frame);
}

/// Waits until the monitor tells of changes that make the link as it is wanted.
fn until_changed(monitor: &InterfaceMonitor, mut is_as_wanted: impl FnMut() -> bool) {
    let deadline = Instant::now() + LIMIT;
    while Instant::now() < deadline {
        let timeout = Timespec { tv_sec: 1, tv_nsec: 0 };
        poll(&mut [PollFd::new(monitor, PollFlags::IN)], Some(&timeout)).unwrap();
        if monitor.take_change() && is_as_wanted() {
            return;
        }
    }
    panic!("nothing tells of the change: {}", ip("link"));
}

#[test]
fn a_cable_that_is_pulled_out_and_put_in_is_noticed() {
    if !has_network("links::tests::ethertalk::a_cable_that_is_pulled_out_and_put_in_is_noticed", &[]) {
        return;
    }
    let (mut east, _west) = cable();
    let monitor = InterfaceMonitor::open().unwrap();
    assert!(east.check().is_ok() && !monitor.take_change());
    ip("link set west down"); // the other end of the cable
    until_changed(&monitor, || matches!(east.check(), Err(LinkError::Down { .. })));
    ip("link set west up");
    until_changed(&monitor, || east.check().is_ok());
    ip("link del east");
    until_changed(&monitor, || matches!(east.check(), Err(LinkError::Gone { .. })));
}

#[test]
fn an_interface_that_is_removed_is_gone() {
    if !has_network("links::tests::ethertalk::an_interface_that_is_removed_is_gone", &[]) {
        return;
    }
    let (mut east, mut west) = cable();
    let frame = frame(&east, HardwareAddress::EVERYONE, b"gone");
    ip("link del east");
    let errors = [east.receive().map(drop).unwrap_err(), west.send(&frame).unwrap_err()];
    assert!(errors.iter().all(|error| matches!(error, LinkError::Gone { .. })), "{errors:?}");
}

#[test]
fn an_interface_that_cannot_be_used_says_what_can() {
    if !has_network("links::tests::ethertalk::an_interface_that_cannot_be_used_says_what_can", &[]) {
        return;
    }
    ip("link add east type veth peer name west");
    let why = EtherTalkLink::open("eth7").unwrap_err().to_string();
    assert!(why.starts_with("ethertalk:eth7: there is no network interface eth7"), "{why}");
    assert!(["lo", "east", "west"].iter().all(|name| why.contains(name)), "{why}");
    let why = EtherTalkLink::open("lo").unwrap_err();
    assert!(matches!(why, LinkError::NotEthernet { .. }) && why.is_lasting(), "{why}");
}

#[test]
fn a_missing_capability_is_named() {
    let without = ["setpriv", "--bounding-set", "-net_raw", "--"];
    if !has_network("links::tests::ethertalk::a_missing_capability_is_named", &without) {
        return;
    }
    let why = EtherTalkLink::open("lo").unwrap_err().to_string();
    assert!(why.contains("CAP_NET_RAW") && why.contains("AmbientCapabilities="), "{why}");
}
